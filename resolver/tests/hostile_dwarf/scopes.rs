//! Entries that describe scopes, types and names: cycles, deep nesting and floods.

use images::dwarf::section;
use images::{Linked, Strings, declaration};
use simple_markers_resolver::record::site::Site;
use simple_markers_resolver::resolve::Verdict;

use super::unit::Unit;
use super::unit::abbreviation::*;
use super::{STATIC, arguments, errors, find, image, look, said};

#[test]
fn types_in_circles() {
    let mut unit = Unit::new();
    unit.function(&[0x9c]);
    let names = unit.next();
    unit.entry(TYPEDEF, &[&(names + 5).to_le_bytes()]);
    unit.entry(TYPEDEF, &[&names.to_le_bytes()]);
    let holder = unit.entry(STRUCTURE, &[&[8]]);
    unit.entry(MEMBER, &[b"a\0", &holder.to_le_bytes(), &[0]]);
    unit.entry(UNNAMED_MEMBER, &[&holder.to_le_bytes(), &[0]]);
    unit.end();
    let array = unit.next();
    unit.entry(ARRAY, &[&array.to_le_bytes()]);
    unit.entry(SUBRANGE, &[&[3]]);
    unit.end();
    let pointer = unit.next();
    unit.entry(POINTER, &[&pointer.to_le_bytes()]);
    for (name, of) in [("names", names), ("holder", holder), ("array", array), ("pointer", pointer)] {
        unit.variable(name, of, STATIC);
    }
    let args = "names, holder, holder.a.a.a, holder.none, array, array[1][1], pointer, ***pointer";
    let said = said(&arguments(args, unit.finish(1)));
    let expected = format!(
        "names: Some(Unsupported): .debug_info at {names:#x}: a type that is defined by itself\n\
         holder: Some(Live): in *0x2000\n"
    );
    assert!(said.starts_with(&expected[..expected.find("holder").unwrap()]), "{said}");
    assert!(said.contains("\nholder.a.a.a: Some(Live)"), "{said}");
    assert!(said.contains("a structure that is nested too deep"), "{said}");
    assert!(
        said.contains(&format!("array: Some(Unsupported): .debug_info at {array:#x}: a type that is nested too deep"))
    );
    assert!(said.contains("\npointer: Some(Live)") && said.contains("***pointer: Some(Live)"), "{said}");
}

#[test]
fn origins_in_circles() {
    let mut unit = Unit::new();
    let int = unit.function(&[0x9c]);
    unit.variable("good", int, STATIC);
    let first = unit.next();
    unit.entry(VARIABLE_OF_ORIGIN, &[&(first + 5).to_le_bytes()]);
    unit.entry(VARIABLE_OF_SPECIFICATION, &[&first.to_le_bytes()]);
    let itself = unit.next();
    unit.entry(VARIABLE_OF_ORIGIN, &[&itself.to_le_bytes()]);
    // Their names are unknown, so any of them may hide the good one.
    let said = said(&arguments("good", unit.finish(1)));
    assert!(said.starts_with("good: Some(Unsupported): .debug_info at 0x"), "{said}");
    assert!(said.contains("a chain of DW_AT_abstract_origin and DW_AT_specification that does not end"), "{said}");
    // Imports in a cycle are not followed.
    let mut unit = Unit::new();
    unit.entry(IMPORTED_UNIT, &[&11u32.to_le_bytes()]);
    let int = unit.function(&[0x9c]);
    unit.variable("good", int, STATIC);
    assert!(super::said(&arguments("good, missing", unit.finish(1))).starts_with("good: Some(Live)"));
    // Instances that are instances of each other.
    let mut unit = Unit::new();
    unit.function(&[0x9c]);
    let at = unit.next();
    unit.inlined(at, 0x1000, 0x100);
    let image = look(&super::image("x", &[0x1018], unit.finish(2)));
    assert!(super::errors(&image).contains(&format!("{at:#x}")), "{image:#?}");
}

fn a_million_blocks(are_nested: bool) {
    let mut unit = Unit::new();
    let int = unit.function(&[0x9c]);
    unit.variable("outer", int, STATIC);
    for _ in 0..1_000_000 {
        unit.entry(BLOCK, &[]);
        if !are_nested {
            unit.end();
        }
    }
    unit.variable("inner", int, STATIC);
    let open = if are_nested { 1_000_001 } else { 1 };
    let image = find(&image("outer, inner, missing", &[0x1018], unit.finish(open)));
    assert_eq!(image.markers[0].sites.len(), 1);
}

#[test]
fn a_million_blocks_in_one_another() {
    a_million_blocks(true);
}

#[test]
fn a_million_blocks_side_by_side() {
    a_million_blocks(false);
}

#[test]
fn blocks_with_the_same_addresses_in_one_another() {
    let mut unit = Unit::new();
    let int = unit.function(&[0x9c]);
    for _ in 0..100_000 {
        unit.block(0x1000, 0x100);
    }
    unit.variable("inner", int, STATIC);
    look(&image("inner, missing", &[0x1018, 0x1020], unit.finish(100_001)));
}

#[test]
fn instances_with_the_same_addresses_in_one_another() {
    let mut unit = Unit::new();
    let inner = unit.entry(INLINE_SUBPROGRAM, &[b"g\0", &[1, 3, 1]]);
    unit.end();
    unit.function(&[0x9c]);
    for _ in 0..100_000 {
        unit.inlined(inner, 0x1000, 0x100);
    }
    let image = look(&image("x", &(0x1000..0x1010).collect::<Vec<_>>(), unit.finish(100_001)));
    assert_eq!(image.markers[0].sites.len(), 16);
}

#[test]
fn namespaces_in_one_another() {
    let mut unit = Unit::new();
    let int = unit.function(&[0x9c]);
    unit.end();
    for _ in 0..100_000 {
        unit.entry(NAMESPACE, &[b"n\0"]);
    }
    unit.variable("deep", int, STATIC);
    look(&image("deep, n::n::deep", &[0x1018], unit.finish(100_000)));
}

#[test]
fn ranges_of_everything_backwards_and_over_each_other() {
    let mut unit = Unit::new();
    let int = unit.function(&[0x9c]);
    let mut ranges = Vec::new();
    unit.variable("x", int, STATIC);
    unit.entry(BLOCK_WITH_RANGES, &[&0u32.to_le_bytes()]);
    for (begin, end) in [(0u64, u64::MAX), (0x2000, 0x1000), (u64::MAX - 2, 1), (0, 0x100), (8, 8)] {
        ranges.extend(begin.to_le_bytes());
        ranges.extend(end.to_le_bytes());
    }
    for index in 1..100_000u64 {
        ranges.extend((index % 0x80).to_le_bytes());
        ranges.extend((0x80 + index % 0x7f).to_le_bytes());
    }
    ranges.extend([0; 16]);
    let mut sections = unit.finish(2);
    sections.push((".debug_ranges", ranges));
    assert!(said(&arguments("x", sections)).contains("x: Some(Live)"));
    // A function that covers all addresses, before many that end at once.
    let mut unit = Unit::new();
    let all = |unit: &mut Unit, start: u64, length: u32| {
        unit.subprogram("g", start, length, &[]);
        unit.end();
    };
    all(&mut unit, 2, u32::MAX);
    for index in 0..50_000 {
        all(&mut unit, 0x1000 + index % 0x20, 0x100);
    }
    look(&image("x", &(0x1000..0x1040).collect::<Vec<_>>(), unit.finish(0)));
}

#[test]
fn names_of_a_megabyte() {
    let mut unit = Unit::new();
    let int = unit.function(&[0x9c]);
    for _ in 0..20_000 {
        unit.entry(VARIABLE_OF_STRING, &[&0u32.to_le_bytes(), &int.to_le_bytes(), &[0]]);
    }
    unit.variable("x", int, STATIC);
    let mut sections = unit.finish(1);
    sections.push((".debug_str", vec![b'n'; 1 << 20].into_iter().chain([0]).collect()));
    look(&image("x, nn", &[0x1018], sections));
}

#[test]
fn declared_structures_in_a_large_unit() {
    let mut unit = Unit::new();
    unit.function(&[0x9c]);
    let mut declared = Vec::new();
    unit.end();
    for _ in 0..20_000 {
        declared.push(unit.entry(DECLARED_STRUCTURE, &[b"s\0"]));
    }
    unit.subprogram("g", 0x1000, 0x100, &[]);
    for of in declared {
        unit.variable("x", of, STATIC);
    }
    look(&image(&["x"; 30].join(", "), &[0x1018, 0x1019, 0x101a], unit.finish(1)));
}

#[test]
fn a_site_in_each_of_ten_thousand_units() {
    let (mut info, mut sections) = (Vec::new(), Vec::new());
    for index in 0..10_000u64 {
        let start = 0x1000 + index * 16;
        let mut unit = Unit::at(start, start + 16);
        unit.subprogram("f", start, 16, &[]);
        unit.variable("x", unit.int, STATIC);
        let mut written = unit.finish(1);
        // All units have the same abbreviations.
        info.append(section(&mut written, ".debug_info"));
        sections = written;
    }
    *section(&mut sections, ".debug_info") = info;
    let at: Vec<u64> = (0..10_000).map(|index| 0x1004 + index * 16).collect();
    let image = find(&image("x", &at, sections));
    let live = image.markers[0].sites.iter().filter(|site| site.args[0].verdict == Some(Verdict::Live)).count();
    assert_eq!(live, 10_000, "{}", errors(&image));
}

/// The budget grows with the number of sites, and sites share intermediate results.
#[test]
fn twenty_thousand_sites_in_a_small_unit() {
    let mut unit = Unit::new();
    let int = unit.function(&[0x9c]);
    unit.block(0x1000, 0x80);
    unit.variable("x", int, STATIC);
    let mut strings = Strings::default();
    let first = strings.site(0, 5, ["a:b", "a.c", "", "x", ""]);
    let sites: Vec<Site> = (0..20_000u32)
        .map(|index| Site { pc: 0x1001 + u64::from(index % 0x7e), line: 3 + index / 0x7e % 4, column: index, ..first })
        .collect();
    let declarations: Vec<Vec<u8>> = (3..7).map(|line| declaration("a:b", "a.c", line, "", "x")).collect();
    let image = Linked::new().markers(&declarations, &sites, strings);
    let image = find(&image.sections(unit.finish(2)).build());
    let verdicts = || image.markers.iter().flat_map(|marker| &marker.sites).map(|site| site.args[0].verdict);
    assert_eq!(verdicts().count(), 20_000);
    assert!(verdicts().all(|verdict| verdict == Some(Verdict::Live)), "{}", errors(&image));
}
