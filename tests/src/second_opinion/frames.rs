//! Reads the file, line and inlined functions of an address with addr2line. Lists all rows of an
//! address with gimli, because addr2line only has the last one.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

use addr2line::Loader;
use gimli::{Dwarf, DwarfSections, EndianSlice, LineProgramHeader, RunTimeEndian, Unit};
use object::{Object as _, ObjectSection as _};
use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::resolve::{Marker, Site};

use super::Case;
use super::names::{is_same_file, short};

type Error = Box<dyn std::error::Error>;

/// The debug information of a file.
pub(super) struct Frames {
    loader: Loader,
    bytes: Vec<u8>,
    /// All rows of each address in the line tables: file and line.
    rows: OnceCell<HashMap<u64, Vec<(String, u32)>>>,
    /// The file and line of each function's declaration, by short name.
    declarations: OnceCell<HashMap<String, Vec<(String, u32)>>>,
}

/// Why the chain and the line differ; `None` if they agree.
pub(super) struct Judgement {
    pub(super) chain: Option<Case>,
    pub(super) line: Option<Case>,
}

/// A function, and the place in it of the next inner call; for the innermost function, the row of
/// the address.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Frame {
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
}

impl Frames {
    pub(super) fn load(path: &Path) -> Result<Self, Error> {
        let (loader, bytes) = (Loader::new(path)?, fs::read(path)?);
        Ok(Self { loader, bytes, rows: OnceCell::new(), declarations: OnceCell::new() })
    }

    fn at(&self, address: u64) -> Result<Vec<Frame>, Error> {
        let mut frames = self.loader.find_frames(address)?;
        let mut found = Vec::new();
        while let Some(frame) = frames.next()? {
            let name = frame.function.map(|name| Ok::<_, Error>(name.raw_name()?.into_owned())).transpose()?;
            let location = frame.location;
            found.push(Frame {
                function: name,
                file: location.as_ref().and_then(|location| location.file).map(str::to_owned),
                line: location.and_then(|location| location.line),
            });
        }
        Ok(found)
    }

    /// Compares a site. `aliases` are all names of its function in the symbol table.
    pub(super) fn judge(
        &self,
        address: Vaddr,
        marker: &Marker,
        site: &Site,
        aliases: &[String],
    ) -> Result<Judgement, String> {
        let here = self.at(address.0).map_err(|error| error.to_string())?;
        let before = address.0.checked_sub(1).map(|before| self.at(before)).transpose();
        let before = before.map_err(|error| error.to_string())?.unwrap_or_default();
        let none = |frames: &[Frame]| frames.iter().all(|frame| frame.function.is_none());
        if none(&here) && none(&before) {
            return Ok(Judgement {
                chain: Some(Case::NoDebugInfo),
                line: self.line(address, marker, (&here, &before)),
            });
        }
        let chain = chain(site, aliases, &here, &before)?;
        if chain.is_some_and(|case| case != Case::Folded) {
            self.is_written_in(marker, site, here.iter().chain(&before))?;
        }
        Ok(Judgement { chain, line: self.line(address, marker, (&here, &before)) })
    }

    /// Checks that the innermost function of a site is the one around the marker's line. No other
    /// function that addr2line has at the address or before it, or that the resolver has, may be
    /// declared between that function and the marker.
    fn is_written_in<'f>(
        &self,
        marker: &Marker,
        site: &Site,
        frames: impl Iterator<Item = &'f Frame>,
    ) -> Result<(), String> {
        let declarations = self.declarations.get_or_init(|| declarations(&self.bytes).unwrap_or_default());
        let ours = site.inlined.iter().map(|inlined| &*inlined.function).chain(site.function.as_deref()).map(short);
        let ours: Vec<_> = ours.collect();
        let theirs = frames.filter_map(|frame| frame.function.as_deref()).map(short);
        // Closures share a name, so it may have several declarations before the marker.
        let lines = |name: &String| {
            let declared = declarations.get(name).into_iter().flatten();
            declared
                .filter(|(file, line)| *line <= marker.line && is_same_file(file, &marker.file))
                .map(|(_, line)| *line)
        };
        let own = ours.first().and_then(|name| lines(name).max());
        match theirs.chain(ours.iter().cloned()).find(|name| lines(name).min() > own) {
            Some(nearer) => Err(format!("in {ours:?}, and {nearer} is declared between that and the marker")),
            None => Ok(()),
        }
    }

    /// Compares the marker's line with the line of the address and of the byte before it.
    fn line(&self, address: Vaddr, marker: &Marker, (here, before): (&[Frame], &[Frame])) -> Option<Case> {
        let is_own = |file: Option<&str>, line: Option<u32>| {
            line == Some(marker.line) && file.is_some_and(|file| is_same_file(file, &marker.file))
        };
        let is_first = |frames: &[Frame]| frames.first().is_some_and(|frame| is_own(frame.file.as_deref(), frame.line));
        if is_first(here) {
            return None;
        }
        let rows = self
            .rows
            .get_or_init(|| rows(&self.bytes).unwrap_or_default())
            .get(&address.0)
            .map_or(&[][..], Vec::as_slice);
        match rows.iter().any(|(file, line)| is_own(Some(file), Some(*line))) {
            true => Some(Case::RowReplaced),
            false if is_first(before) => Some(Case::ArgumentsBefore),
            false => Some(Case::NoRow),
        }
    }
}

/// Compares the inlined functions of a site with those at its address and before it.
fn chain(site: &Site, aliases: &[String], here: &[Frame], before: &[Frame]) -> Result<Option<Case>, String> {
    let all = Chain { site, aliases: &[], skipped: 0 };
    if all.is(here) {
        return Ok(None);
    }
    if all.ends(here) {
        return Ok(Some(Case::InlinedBehind));
    }
    match (site.scope_ended, all.ends(before)) {
        (true, true) => return Ok(Some(Case::ScopeEnded)),
        (false, true) => return Ok(Some(Case::ByLine)),
        _ => {}
    }
    let enclosing = |skipped| Chain { site, aliases: &[], skipped };
    let is_empty = |skipped| enclosing(skipped).ends(here) || enclosing(skipped).ends(before);
    if site.scope_ended && (1..=site.inlined.len()).any(is_empty) {
        return Ok(Some(Case::EmptyScope));
    }
    if (Chain { site, aliases, skipped: 0 }).is(here) {
        return Ok(Some(Case::Folded));
    }
    Err(format!("in {:?} of {:?}; addr2line: {here:?}, before it {before:?}", site.inlined, site.function))
}

/// The inlined functions of a site, without the first `skipped`.
struct Chain<'a> {
    site: &'a Site,
    /// Other names of the function that is not inlined.
    aliases: &'a [String],
    skipped: usize,
}

impl Chain<'_> {
    /// Whether the frames are these functions with these calls.
    fn is(&self, frames: &[Frame]) -> bool {
        let Some((outer, inlined)) = frames.split_last() else { return false };
        let ours = self.site.inlined.get(self.skipped..).unwrap_or_default();
        let is_outer = outer.function.as_deref().is_some_and(|theirs| {
            let ours = [&self.site.function, &self.site.symbol];
            let ours = ours.into_iter().flatten().map(|name| &**name).chain(self.aliases.iter().map(String::as_str));
            ours.clone().any(|name| short(name) == short(theirs))
        });
        let calls = ours.iter().zip(frames.iter().skip(1)).all(|(ours, theirs)| {
            let file = match (&ours.call_file, &theirs.file) {
                (Some(ours), Some(theirs)) => is_same_file(ours, theirs),
                _ => true,
            };
            file && ours.call_line == theirs.line
        });
        let ours = ours.iter().map(|inlined| Some(short(&inlined.function)));
        is_outer && calls && inlined.iter().map(|frame| frame.function.as_deref().map(short)).eq(ours)
    }

    /// Whether the frames are the outermost of these functions.
    fn ends(&self, frames: &[Frame]) -> bool {
        (0..frames.len()).any(|skipped| frames.get(skipped..).is_some_and(|frames| self.is(frames)))
    }
}

/// The file and line of each function's declaration, by short name.
fn declarations(bytes: &[u8]) -> Result<HashMap<String, Vec<(String, u32)>>, Error> {
    let mut found: HashMap<String, Vec<(String, u32)>> = HashMap::new();
    with_dwarf(bytes, |dwarf, unit| {
        let mut entries = unit.entries();
        while let Some((_, entry)) = entries.next_dfs()? {
            if entry.tag() != gimli::DW_TAG_subprogram {
                continue;
            }
            let (Some(name), Some(line)) = (entry.attr_value(gimli::DW_AT_name)?, entry.attr(gimli::DW_AT_decl_line)?)
            else {
                continue;
            };
            let name = short(&dwarf.attr_string(unit, name)?.to_string_lossy());
            let line = line.udata_value().and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
            let Some(gimli::AttributeValue::FileIndex(file)) = entry.attr_value(gimli::DW_AT_decl_file)? else {
                continue;
            };
            let header = unit.line_program.as_ref().map(gimli::IncompleteLineProgram::header);
            let file = header.and_then(|header| file_name(dwarf, unit, header, file)).unwrap_or_default();
            found.entry(name).or_default().push((file, line));
        }
        Ok(())
    })?;
    Ok(found)
}

/// All rows of all line tables: file and line, by address.
fn rows(bytes: &[u8]) -> Result<HashMap<u64, Vec<(String, u32)>>, Error> {
    let mut rows: HashMap<u64, Vec<(String, u32)>> = HashMap::new();
    with_dwarf(bytes, |dwarf, unit| {
        let Some(program) = unit.line_program.clone() else { return Ok(()) };
        let mut names = HashMap::new();
        let mut program = program.rows();
        while let Some((header, row)) = program.next_row()? {
            let Some(line) = row.line().filter(|_| !row.end_sequence()) else { continue };
            let name = names.entry(row.file_index());
            let name = name.or_insert_with(|| file_name(dwarf, unit, header, row.file_index()).unwrap_or_default());
            rows.entry(row.address()).or_default().push((name.clone(), u32::try_from(line.get()).unwrap_or(0)));
        }
        Ok(())
    })?;
    Ok(rows)
}

type Reader<'a> = EndianSlice<'a, RunTimeEndian>;

fn file_name(
    dwarf: &Dwarf<Reader<'_>>,
    unit: &Unit<Reader<'_>>,
    header: &LineProgramHeader<Reader<'_>>,
    index: u64,
) -> Option<String> {
    let file = header.file(index)?;
    let folder = file.directory(header).and_then(|folder| dwarf.attr_string(unit, folder).ok());
    let name = dwarf.attr_string(unit, file.path_name()).ok()?;
    let folder = folder.map_or(String::new(), |folder| format!("{}/", folder.to_string_lossy()));
    Some(folder + &name.to_string_lossy())
}

fn with_dwarf(
    bytes: &[u8],
    mut each: impl FnMut(&Dwarf<Reader<'_>>, &Unit<Reader<'_>>) -> Result<(), Error>,
) -> Result<(), Error> {
    let file = object::File::parse(bytes)?;
    let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let sections = DwarfSections::load(|id| {
        let section = file.section_by_name(id.name());
        section.map_or(Ok(Cow::Borrowed(&[][..])), |section| section.uncompressed_data())
    })?;
    let dwarf = sections.borrow(|section| EndianSlice::new(section, endian));
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        each(&dwarf, &dwarf.unit(header)?)?;
    }
    Ok(())
}
