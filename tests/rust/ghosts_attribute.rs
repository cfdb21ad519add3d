//! `#[simple_markers::ghosts]` in every construct: it changes no loaded byte, and the variables of a
//! block are in the debug information, in the block that they stand for.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use gimli::{DebuggingInformationEntry, EndianSlice, LittleEndian};
use object::{Object as _, ObjectSection as _};
use simple_markers_record::ghost::Hash;
use simple_markers_tests::matrix::{Markers, TOOLCHAIN};
use simple_markers_tests::tools::run;

use crate::ghosts::{assert_same, remapped};

/// A ghost is on a line of its own. A brace that opens a block ends a line, and one that closes a block
/// starts one.
const SOURCE: &str = include_str!("ghosts_attribute/program.rs");

/// The ghosts without a variable in their block: whole expressions, and one of a constant.
const EXPRESSIONS: [&str; 3] = ["g:value", "g:note", "g:limit"];

/// The lines of the ghosts in a block, and behind them those of the blocks around it in its function.
type Chain = Vec<BTreeSet<u32>>;

/// The blocks of the source that have ghosts.
fn written() -> BTreeSet<Chain> {
    // Each block with the block around it in its function, and the lines of its ghosts.
    let mut blocks: Vec<(Option<usize>, BTreeSet<u32>)> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for (line, text) in (1..).zip(SOURCE.lines().map(str::trim)) {
        if text.starts_with('}') {
            open.pop();
        }
        if text.contains("simple_mark!(") && !EXPRESSIONS.iter().any(|name| text.contains(name)) {
            blocks[*open.last().expect("a block")].1.insert(line);
        }
        if text.ends_with('{') {
            let is_function = text.contains("fn ") || text.contains("|y: u32|");
            open.push(blocks.len());
            blocks.push((open.iter().rev().nth(1).copied().filter(|_| !is_function), BTreeSet::new()));
        }
    }
    let around = |of: &usize| blocks[*of].0;
    let with_ghosts = (0..blocks.len()).filter(|&block| !blocks[block].1.is_empty());
    let chains = with_ghosts.map(|block| std::iter::successors(Some(block), around).map(|of| blocks[of].1.clone()));
    chains.map(|chain| chain.filter(|ghosts| !ghosts.is_empty()).collect()).collect()
}

/// A scope of the debug information.
#[derive(Default)]
struct Scope {
    depth: isize,
    is_block: bool,
    /// The lines of the ghosts that have a variable of their block in it.
    ghosts: BTreeSet<u32>,
}

/// The blocks with ghosts in the debug information, in a program without relocations.
fn described(image: &Path) -> BTreeSet<Chain> {
    let data = fs::read(image).expect("the image");
    let file = object::File::parse(&*data).expect("an ELF file");
    let section = |id: gimli::SectionId| -> Result<_, gimli::Error> {
        let data = file.section_by_name(id.name()).map_or(&[][..], |section| section.data().expect("its bytes"));
        Ok(EndianSlice::new(data, LittleEndian))
    };
    let dwarf = gimli::Dwarf::load(section).expect("debug information");
    let mut chains = BTreeSet::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next().expect("a unit") {
        let unit = dwarf.unit(header).expect("a unit");
        let is_ghost = |entry: &DebuggingInformationEntry<'_, '_, EndianSlice<'_, LittleEndian>>| {
            let name = entry.attr_value(gimli::DW_AT_name).expect("an attribute");
            let name = name.map(|name| dwarf.attr_string(&unit, name).expect("a name"));
            entry.tag() == gimli::DW_TAG_variable && name.and_then(|name| Hash::from_block(name.slice())).is_some()
        };
        let mut scopes: Vec<Scope> = Vec::new();
        let close = |scopes: &mut Vec<Scope>, depth: isize, chains: &mut BTreeSet<Chain>| {
            while scopes.last().is_some_and(|scope| scope.depth >= depth) {
                let around = scopes.iter().rposition(|scope| !scope.is_block).map_or(0, |function| function + 1);
                let chain = scopes[around..].iter().rev().map(|scope| &scope.ghosts);
                if scopes.last().is_some_and(|scope| !scope.ghosts.is_empty()) {
                    chains.insert(chain.filter(|ghosts| !ghosts.is_empty()).cloned().collect());
                }
                scopes.pop();
            }
        };
        let mut entries = unit.entries();
        let mut depth = 0;
        while let Some((deeper, entry)) = entries.next_dfs().expect("an entry") {
            depth += deeper;
            close(&mut scopes, depth, &mut chains);
            if is_ghost(entry) {
                let line = entry.attr(gimli::DW_AT_decl_line).expect("an attribute").expect("a line");
                let line = line.udata_value().and_then(|line| line.try_into().ok()).expect("a line");
                scopes.last_mut().expect("a scope").ghosts.insert(line);
            }
            scopes.push(Scope { depth, is_block: entry.tag() == gimli::DW_TAG_lexical_block, ghosts: BTreeSet::new() });
        }
        close(&mut scopes, 0, &mut chains);
    }
    chains
}

#[test(cases = ["2", "1", "3", "s", "z"], desk = [0])]
fn the_attribute_changes_no_byte_and_describes_the_blocks(level: &str) {
    let build = |source: &str, options: &[&str]| {
        let build = TOOLCHAIN.build(Markers::On);
        let path = build.folder().join("program.rs");
        fs::write(&path, source).expect("the source");
        let options = [options, &["--crate-type=bin", "--emit=link", "-Ccodegen-units=1", "-Cdebuginfo=2"]].concat();
        run(build.compilation(&path, &options).arg(remapped(&build)));
        let image = build.folder().join("program");
        (build, image)
    };
    const EMPTY: &str = "macro_rules! simple_mark { ($($marker:tt)*) => { () } }";
    let empty = SOURCE.replace("use simple_markers::{ghosts, simple_mark};", EMPTY);
    let empty = empty.replace("#[ghosts]", "").replace("simple_markers::simple_mark!", "simple_mark!");
    let option = format!("-Copt-level={level}");
    let ((_ghosts, ghosts), (_empty, empty)) = (build(SOURCE, &[&option]), build(&empty, &[&option]));
    assert_same(level, &ghosts, &empty);
    assert_eq!(described(&ghosts), written(), "{level}");
}
