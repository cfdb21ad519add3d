//! Scopes, names and lines of debug information that is made in memory.

use gimli::constants as dw;
use images::dwarf::{DwarfBuilder, Written, name};

use super::super::test_dwarf::open;
use super::super::{DebugInfo, Lookup, Sections};
use super::*;

/// Functions, calls and blocks of a scope in short.
fn chain(sections: &Sections<'_>, pc: u64, line: u32) -> (String, bool, Option<Doubt>) {
    let info = DebugInfo::new(sections);
    let scope = info.scope_at(Vaddr(pc), "a.c", line).unwrap().unwrap();
    let frame = |frame: &ScopeFrame| {
        let call = frame.call_line.map_or_else(String::new, |line| format!("@{line}"));
        format!("{}{call}/{}", frame.function.as_deref().unwrap_or("?"), frame.blocks.len())
    };
    (scope.frames.iter().map(frame).collect::<Vec<_>>().join(" "), scope.ended, scope.doubt)
}

/// The line of declaration of what a name means; 0 where it is not placed.
fn line_of(sections: &Sections<'_>, pc: u64, line: u32, name: &str) -> Result<u32, Lookup> {
    let info = DebugInfo::new(sections);
    let scope = info.scope_at(Vaddr(pc), "a.c", line).unwrap().unwrap();
    match info.lookup(&scope, &[name], "a.c", line).unwrap() {
        Lookup::Found { is_placed: false, .. } => Ok(0),
        Lookup::Found { variable, .. } => Ok(info.lines.declared(variable).unwrap().unwrap().1),
        other => Err(other),
    }
}

/// `outer` (line 10, 0x1000..0x1040) with `inner` (line 1) inlined into it twice, and into that
/// `leaf` (line 5).
fn nested() -> Written {
    let mut dwarf = DwarfBuilder::new(5);
    let root = dwarf.root();
    let inner = dwarf.named(root, dw::DW_TAG_subprogram, "inner", 1);
    let x = dwarf.named(inner, dw::DW_TAG_formal_parameter, "x", 1);
    let _gone = dwarf.named(inner, dw::DW_TAG_variable, "gone", 2);
    let leaf = dwarf.named(root, dw::DW_TAG_subprogram, "leaf", 5);
    let outer = dwarf.named(root, dw::DW_TAG_subprogram, "outer", 10);
    dwarf.at(outer, &[(0x1000, 0x1040)]);
    dwarf.named(outer, dw::DW_TAG_variable, "x", 11);
    let first = dwarf.inlined(outer, inner, 12, &[(0x1004, 0x1010), (0x1030, 0x1038)]);
    dwarf.completing(first, dw::DW_TAG_formal_parameter, x);
    dwarf.inlined(first, leaf, 3, &[(0x1008, 0x100c)]);
    let entry = dwarf.add(first, dw::DW_TAG_entry_point);
    dwarf.named(entry, dw::DW_TAG_formal_parameter, "entry", 1);
    let second = dwarf.inlined(outer, inner, 13, &[(0x1020, 0x1030)]);
    dwarf.completing(second, dw::DW_TAG_formal_parameter, x);
    dwarf.rows(&[
        (0x1000, 11),
        (0x1004, 2),
        (0x1008, 6),
        (0x100c, 3),
        (0x1010, 14),
        (0x1020, 2),
        (0x1030, 3),
        (0x1038, 15),
        (0x1040, 0),
    ]);
    dwarf.write()
}

#[test]
fn the_function_of_the_line_is_chosen_among_nested_ones() {
    let written = nested();
    let sections = open(&written);
    let inner = |ended| ("inner@12/0 outer/0".to_owned(), ended, None);
    assert_eq!(chain(&sections, 0x1006, 2), inner(false));
    assert_eq!(chain(&sections, 0x1009, 6), ("leaf@3/0 inner@12/0 outer/0".to_owned(), false, None));
    assert_eq!(chain(&sections, 0x1009, 3), inner(false), "code of leaf follows, the marker is in inner");
    assert_eq!(chain(&sections, 0x1009, 12), ("outer/0".to_owned(), false, None));
    assert_eq!(chain(&sections, 0x1010, 4), inner(true), "the last thing of inner");
    assert_eq!(chain(&sections, 0x1010, 14), ("outer/0".to_owned(), false, None));
    assert_eq!(chain(&sections, 0x1034, 3), inner(false), "its second range");
    // Where one instance ends and the other starts.
    let (_, _, doubt) = chain(&sections, 0x1030, 3);
    assert_eq!(doubt, Some(Doubt::Several));
    assert!(matches!(line_of(&sections, 0x1030, 3, "x"), Err(Lookup::Several(several)) if several.len() == 2));
    // Inner has no code there.
    assert_eq!(chain(&sections, 0x1002, 3), ("outer/0".to_owned(), false, Some(Doubt::NotThere)));
    assert_eq!(line_of(&sections, 0x1002, 3, "x"), Err(Lookup::NoScope));
    let info = DebugInfo::new(&sections);
    assert!(info.scope_at(Vaddr(0x2000), "a.c", 3).unwrap().is_none());
}

#[test]
fn names_stop_at_the_function() {
    let written = nested();
    let sections = open(&written);
    assert_eq!(line_of(&sections, 0x1006, 2, "x"), Ok(1));
    assert_eq!(line_of(&sections, 0x1009, 12, "x"), Ok(11));
    assert_eq!(line_of(&sections, 0x1009, 6, "x"), Err(Lookup::Absent { similar: Vec::new() }), "leaf has no x");
    assert_eq!(line_of(&sections, 0x1006, 2, "gone"), Ok(0), "only the abstract instance has it");
    assert!(matches!(line_of(&sections, 0x1006, 2, "entry"), Err(Lookup::Absent { .. })));
    assert_eq!(line_of(&sections, 0x1006, 2, "other"), Err(Lookup::Absent { similar: Vec::new() }));
    assert_eq!(line_of(&sections, 0x1006, 2, "gome"), Err(Lookup::Absent { similar: vec!["gone".to_owned()] }));
}

#[test]
fn the_last_declaration_before_the_marker_counts() {
    let mut dwarf = DwarfBuilder::new(4);
    let root = dwarf.root();
    let function = dwarf.named(root, dw::DW_TAG_subprogram, "f", 1);
    dwarf.at(function, &[(0x1000, 0x1100)]);
    dwarf.named(function, dw::DW_TAG_variable, "x", 2);
    let block = dwarf.block(function, &[(0x1010, 0x1040)]);
    dwarf.named(block, dw::DW_TAG_variable, "x", 5);
    dwarf.named(block, dw::DW_TAG_variable, "x", 7);
    dwarf.named(block, dw::DW_TAG_variable, "later", 7);
    let empty = dwarf.block(block, &[(0x1020, 0x1020)]);
    dwarf.named(empty, dw::DW_TAG_variable, "kept", 6);
    dwarf.named(root, dw::DW_TAG_variable, "x", 0);
    let global = dwarf.named(root, dw::DW_TAG_variable, "global", 20);
    dwarf.set(global, dw::DW_AT_external, gimli::write::AttributeValue::Flag(true));
    dwarf.rows(&[(0x1000, 2), (0x1010, 6), (0x1030, 8), (0x1040, 10), (0x1100, 0)]);
    let written = dwarf.write();
    let sections = open(&written);
    let line = |pc, line, name| line_of(&sections, pc, line, name);
    assert_eq!(line(0x1008, 3, "x"), Ok(2));
    assert_eq!(line(0x1020, 6, "x"), Ok(5));
    assert_eq!(line(0x1020, 8, "x"), Ok(7));
    assert_eq!(line(0x1020, 6, "kept"), Ok(6), "a block that is empty at the place");
    assert_eq!(line(0x1020, 6, "later"), Err(Lookup::DeclaredLater { line: 7 }));
    assert_eq!(line(0x1010, 6, "x"), Ok(5), "lines of the block on both sides");
    assert_eq!(line(0x1040, 11, "x"), Ok(2), "the function went on in between");
    assert!(matches!(line(0x1040, 9, "x"), Err(Lookup::Several(several)) if several.len() == 2), "nothing tells");
    assert_eq!(line(0x1008, 3, "global"), Ok(20));
}

#[test]
fn a_closure_is_left_when_the_function_around_it_went_on() {
    let mut dwarf = DwarfBuilder::new(4);
    let root = dwarf.root();
    let outer = dwarf.named(root, dw::DW_TAG_subprogram, "outer", 10);
    dwarf.at(outer, &[(0x1000, 0x1100)]);
    dwarf.named(outer, dw::DW_TAG_variable, "x", 11);
    let space = dwarf.entry(root, dw::DW_TAG_namespace, &[name("outer")]);
    let closure = dwarf.named(space, dw::DW_TAG_subprogram, "{closure#0}", 12);
    let captured = dwarf.named(closure, dw::DW_TAG_variable, "x", 11);
    let inlined = dwarf.inlined(outer, closure, 15, &[(0x1020, 0x1040)]);
    dwarf.completing(inlined, dw::DW_TAG_variable, captured);
    dwarf.rows(&[(0x1000, 11), (0x1020, 13), (0x1040, 20), (0x1100, 0)]);
    let written = dwarf.write();
    let sections = open(&written);
    let inner = "outer::{closure#0}@15/0 outer/0";
    assert_eq!(chain(&sections, 0x1030, 13).0, inner);
    assert_eq!(chain(&sections, 0x1040, 16), ("outer/0".to_owned(), false, None), "the call stands before it");
    assert_eq!(chain(&sections, 0x1040, 14).2, Some(Doubt::Several));
    assert_eq!(chain(&sections, 0x1060, 14), ("outer/0".to_owned(), false, None));
}

#[test]
fn hostile_entries_end() {
    let mut dwarf = DwarfBuilder::new(5);
    let root = dwarf.root();
    let function = dwarf.named(root, dw::DW_TAG_subprogram, "f", 1);
    dwarf.at(function, &[(0x1000, 0x1100)]);
    dwarf.set(function, dw::DW_AT_abstract_origin, gimli::write::AttributeValue::UnitRef(function));
    let written = dwarf.write();
    let sections = open(&written);
    let info = DebugInfo::new(&sections);
    assert!(info.scope_at(Vaddr(0x1000), "a.c", 2).is_err(), "an origin that is itself");

    let mut dwarf = DwarfBuilder::new(5);
    let root = dwarf.root();
    let function = dwarf.named(root, dw::DW_TAG_subprogram, "f", 1);
    dwarf.at(function, &[(u64::MAX - 8, u64::MAX - 4)]);
    dwarf.set(function, dw::DW_AT_high_pc, gimli::write::AttributeValue::Udata(u64::MAX));
    let written = dwarf.write();
    let sections = open(&written);
    let info = DebugInfo::new(&sections);
    assert!(info.scope_at(Vaddr(0x1000), "a.c", 2).unwrap().is_none(), "a length past the address space");
}

#[test]
fn a_line_has_a_site_in_each_copy() {
    let written = nested();
    let sections = open(&written);
    let info = DebugInfo::new(&sections);
    let sites = |line| {
        let found = info.sites_of_line("src/a.c", line).unwrap();
        let sites: Vec<_> = found.sites.iter().map(|site| (site.address.0, site.line, site.is_exact)).collect();
        (sites, found.problem)
    };
    assert_eq!(sites(2), (vec![(0x1004, 2, true), (0x1020, 2, true)], None));
    assert_eq!(sites(12), (vec![(0x1010, 14, false)], None));
    assert_eq!(sites(16), (Vec::new(), Some(crate::resolve::LineProblem::NothingBelow)));
    let other = info.sites_of_line("b.c", 2).unwrap();
    assert_eq!(other.problem, Some(crate::resolve::LineProblem::NoSuchFile));
}
