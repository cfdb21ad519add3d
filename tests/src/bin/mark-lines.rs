//! Adds markers to lines of an image, as C code of 2008 had them, to measure how readers find them:
//! `mark-lines IMAGE COUNT OUT [UNITS]`.
//!
//! It adds `COUNT` declarations without site records. Each is on a line with code, and has two
//! variables of the surrounding function as arguments. The program reads the debug information
//! itself, and chooses evenly from all C units, or from `UNITS` of them. `OUT` is a copy with the
//! section, made by objcopy. `OUT.lines` lists the lines: name, file, line, both variables, and the
//! function's start, end and offset in `.debug_info`, separated by tabs.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::Command;

use gimli::{AttributeValue, EndianSlice, RunTimeEndian, constants as dw};
use object::{Object as _, ObjectSection as _};
use simple_markers_record::DECLARATIONS;
use simple_markers_record::declaration::Declaration;
use simple_markers_tests::tools;

type Reader<'a> = EndianSlice<'a, RunTimeEndian>;

/// A line that can have a marker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    file: String,
    line: u64,
    variables: [String; 2],
    /// The start and end of its function, and the offset of its entry in `.debug_info`.
    function: [u64; 3],
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (image, count, out, units) = match arguments.as_slice() {
        [image, count, out] => (image, count, out, "0"),
        [image, count, out, units] => (image, count, out, units.as_str()),
        _ => {
            eprintln!("usage: mark-lines IMAGE COUNT OUT [UNITS]");
            std::process::exit(2);
        }
    };
    let count: usize = count.parse().expect("COUNT is a number");
    let units: usize = units.parse().expect("UNITS is a number");
    let bytes = std::fs::read(image).unwrap_or_else(|error| panic!("{image}: {error}"));
    let mut by_unit = lines(&bytes);
    assert!(!by_unit.is_empty(), "{image} has no line with two variables");
    if units != 0 {
        by_unit = spread(&by_unit, units);
    }
    let lines = choose(&by_unit, count);
    let (mut declarations, mut listing) = (Vec::new(), String::new());
    for (index, Line { file, line, variables, function }) in lines.iter().enumerate() {
        let name = format!("lines:event{index}");
        let declaration = Declaration {
            offset: 0,
            name: name.as_bytes(),
            file: file.as_bytes(),
            line: u32::try_from(*line).expect("a line number"),
            is_ghost: false,
            format: b"first %ld, second %p",
            args: format!("{}, {}", variables[0], variables[1]).into_bytes().leak(),
        };
        declaration.write(&mut declarations);
        let [first, second] = variables;
        let [start, end, entry] = function;
        writeln!(listing, "{name}\t{file}\t{line}\t{first}\t{second}\t{start:#x}\t{end:#x}\t{entry:#x}")
            .expect("a string grows");
    }
    let section = format!("{out}.declarations");
    for (path, contents) in [(&section, &declarations[..]), (&format!("{out}.lines"), listing.as_bytes())] {
        std::fs::write(path, contents).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    tools::run(
        Command::new("objcopy").arg("--add-section").arg(format!("{DECLARATIONS}={section}")).args([image, out]),
    );
    eprintln!("{} lines of {} units", lines.len(), by_unit.len());
}

/// Chooses `count` items, evenly spread.
fn spread<T: Clone>(all: &[T], count: usize) -> Vec<T> {
    let count = count.min(all.len());
    (0..count).map(|index| all[index * all.len() / count].clone()).collect()
}

/// Chooses `count` lines, one from each unit in turn; from evenly spread units if there are more
/// units than lines.
fn choose(by_unit: &[Vec<Line>], count: usize) -> Vec<Line> {
    if count <= by_unit.len() {
        let chosen = spread(by_unit, count);
        return chosen.into_iter().map(|lines| lines[lines.len() / 2].clone()).collect();
    }
    let (mut chosen, mut left) = (Vec::new(), count);
    for (index, lines) in by_unit.iter().enumerate() {
        let lines = spread(lines, left.div_ceil(by_unit.len() - index));
        left -= lines.len();
        chosen.extend(lines);
    }
    chosen
}

/// The usable lines of each unit that has any.
fn lines(bytes: &[u8]) -> Vec<Vec<Line>> {
    let file = object::File::parse(bytes).expect("an ELF image");
    let load = |id: gimli::SectionId| {
        let section = file.section_by_name(id.name());
        let data = section.map_or(Ok(std::borrow::Cow::Borrowed(&[][..])), |section| section.uncompressed_data());
        data.map(|data| &*Box::leak(data.into_owned().into_boxed_slice()))
    };
    let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let dwarf =
        gimli::Dwarf::load(|id| load(id).map(|data| EndianSlice::new(data, endian))).expect("debug information");
    let mut headers = Vec::new();
    let mut iterator = dwarf.units();
    while let Some(header) = iterator.next().expect("a unit header") {
        headers.push(header);
    }
    let mut root = None;
    let mut by_unit = Vec::new();
    for header in headers {
        let Ok(unit) = dwarf.unit(header) else { continue };
        by_unit.extend(lines_of(&dwarf, &unit, &mut root).filter(|lines| !lines.is_empty()));
    }
    let root = root.unwrap_or_default();
    let mut seen = BTreeSet::new();
    for lines in &mut by_unit {
        for line in &mut *lines {
            // The path that a build system would use: relative to the common folder of all sources.
            line.file.replace_range(..root.len(), "");
        }
        lines.retain(|line| seen.insert((line.file.clone(), line.line)));
    }
    by_unit.retain(|lines: &Vec<Line>| !lines.is_empty());
    by_unit
}

/// The usable lines of a C unit. `root` becomes the longest common folder of the sources of all
/// units.
fn lines_of(
    dwarf: &gimli::Dwarf<Reader<'_>>,
    unit: &gimli::Unit<Reader<'_>>,
    root: &mut Option<String>,
) -> Option<Vec<Line>> {
    let mut entries = unit.entries();
    let (_, first) = entries.next_dfs().ok()??;
    let language = first.attr_value(dw::DW_AT_language).ok()?;
    let c = [dw::DW_LANG_C89, dw::DW_LANG_C, dw::DW_LANG_C99, dw::DW_LANG_C11, dw::DW_LANG_C17];
    if !c.into_iter().any(|c| language == Some(AttributeValue::Language(c))) {
        return None;
    }
    let text = |reader: Reader<'_>| String::from_utf8_lossy(reader.slice()).into_owned();
    let (name, folder) = (text(unit.name?), text(unit.comp_dir?));
    let file = if name.starts_with('/') { name } else { format!("{folder}/{name}") };
    if file.contains("/.") {
        return None;
    }
    let common =
        root.as_ref().map_or(file.len(), |root| root.bytes().zip(file.bytes()).take_while(|(a, b)| a == b).count());
    *root = Some(file[..file[..common].rfind('/').map_or(0, |slash| slash + 1)].to_owned());
    // The file numbers of the unit's own source.
    let program = unit.line_program.clone()?;
    let header = program.header().clone();
    let is_own = |number: u64| {
        let Some(entry) = header.file(number) else { return false };
        let string = |value| dwarf.attr_string(unit, value).map(text).unwrap_or_default();
        let path = string(entry.path_name());
        let path = match entry.directory(&header).map(string) {
            Some(directory) if !path.starts_with('/') => format!("{directory}/{path}"),
            _ => path,
        };
        path == file || format!("{folder}/{path}") == file
    };
    let numbers: BTreeSet<u64> = (0..=header.file_names().len() as u64).filter(|number| is_own(*number)).collect();
    // The rows at which a breakpoint may be set, by address.
    let mut rows = Vec::new();
    let mut state = program.rows();
    while let Ok(Some((_, row))) = state.next_row() {
        if let (Some(line), true, true, false) =
            (row.line(), row.is_stmt(), numbers.contains(&row.file_index()), row.end_sequence())
        {
            rows.push((row.address(), line.get()));
        }
    }
    rows.sort_unstable();
    let unit_start = unit.header.offset().as_debug_info_offset()?.0;
    let mut lines = BTreeSet::new();
    let mut tree = unit.entries_tree(None).ok()?;
    let mut functions = tree.root().ok()?.children();
    while let Ok(Some(function)) = functions.next() {
        let entry = function.entry();
        let described_at = unit_start.saturating_add(entry.offset().0) as u64;
        if entry.tag() != dw::DW_TAG_subprogram {
            continue;
        }
        let (Ok(Some(low)), Ok(Some(high)), Ok(Some(AttributeValue::FileIndex(number)))) = (
            entry.attr_value(dw::DW_AT_low_pc),
            entry.attr_value(dw::DW_AT_high_pc),
            entry.attr_value(dw::DW_AT_decl_file),
        ) else {
            continue;
        };
        let Ok(Some(low)) = dwarf.attr_address(unit, low) else { continue };
        let Some(size) = high.udata_value().filter(|_| numbers.contains(&number)) else { continue };
        let mut variables: Vec<(String, u64)> = Vec::new();
        let mut children = function.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            if !matches!(entry.tag(), dw::DW_TAG_variable | dw::DW_TAG_formal_parameter) {
                continue;
            }
            let name =
                entry.attr_value(dw::DW_AT_name).ok().flatten().and_then(|name| dwarf.attr_string(unit, name).ok());
            let line = entry.attr_value(dw::DW_AT_decl_line).ok().flatten().and_then(|line| line.udata_value());
            if let (Some(name), Some(line)) = (name, line) {
                variables.push((text(name), line));
            }
        }
        let function = [low, low.saturating_add(size), described_at];
        let first = rows.partition_point(|(address, _)| *address <= function[0]);
        for &(_, line) in rows[first..].iter().take_while(|(address, _)| *address < function[1]) {
            let declared: Vec<&String> =
                variables.iter().filter(|(_, declared)| *declared < line).map(|(name, _)| name).collect();
            if let [one, .., other] = declared.as_slice() {
                let variables = [(*one).clone(), (*other).clone()];
                lines.insert(Line { file: file.clone(), line, variables, function });
            }
        }
    }
    Some(lines.into_iter().collect())
}
