//! Line programs, tables and headers: floods, lies and offsets to nowhere.

use images::dwarf::section;
use images::{Linked, Strings, declaration};
use simple_markers_resolver::resolve::Verdict;

use super::unit::abbreviation::*;
use super::unit::{Unit, leb, with_length};
use super::{ROWS, STATIC, arguments, errors, find, image, lines, look, said};

#[test]
fn line_programs_of_floods_and_lies() {
    let good = || {
        let mut unit = Unit::new();
        let int = unit.function(&[0x9c]);
        unit.variable("x", int, STATIC);
        unit.finish(1)
    };
    let with = |line: Vec<u8>| {
        let mut sections = good();
        *section(&mut sections, ".debug_line") = line;
        look(&image("x", &[0x1018], sections.clone()));
        // Without site records, lines are searched.
        let declarations = [declaration("a:b", "a.c", 5, "", "x"), declaration("a:b", "a.c", 8, "", "x")];
        let strings = Strings::default();
        find(&Linked::new().markers(&declarations, &[], strings).sections(sections).build());
    };
    // A row for each byte, all at one address; a row of DW_LNS_const_add_pc and copies; advances
    // beyond all addresses.
    with(lines(&[1].repeat(1_000_000)));
    with(lines(&[8, 1].repeat(500_000)));
    with(lines(
        &[
            &[2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1].repeat(1000)[..],
            &[3, 0x80, 0x80, 0x80, 0x80, 0x78, 1],
        ]
        .concat(),
    ));
    for version in [0u8, 1, 6, 0xff] {
        let mut line = lines(ROWS);
        line[4] = version;
        with(line);
    }
    // Version 5: counts of 2^60 files and of 2^60 directories.
    for (directories, files) in
        [(&[0xff; 8][..], &[0x7f][..]), (&[1][..], &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f])]
    {
        let mut header = vec![1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];
        header.extend([1, 1, 0x08]);
        header.extend(directories);
        header.extend(b"/\0");
        header.extend([1, 1, 0x08]);
        header.extend(files);
        header.extend(b"a.c\0");
        let bytes = [&[5, 0, 8, 0][..], &with_length(&header), ROWS].concat();
        with(with_length(&bytes));
    }
    // Line ranges of 0, and a million files.
    let mut line = lines(ROWS);
    line[14] = 0;
    with(line);
    let mut header = vec![1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0];
    header.extend(b"a.c\0\0\0\0".repeat(300_000));
    header.push(0);
    with(with_length(&[&[4, 0][..], &with_length(&header), ROWS].concat()));
}

#[test]
fn offsets_to_nowhere() {
    let mut unit = Unit::new();
    let int = unit.function(&[0x9c]);
    unit.entry(VARIABLE_OF_STRING, &[&u32::MAX.to_le_bytes(), &int.to_le_bytes(), &[0]]);
    unit.variable("x", int, STATIC);
    let said = said(&arguments("x", unit.finish(1)));
    assert!(said.starts_with("x: Some(Unsupported): .debug_info at 0x"), "{said}");
    let mut unit = Unit::new();
    unit.function(&[0x9c]);
    unit.variable("x", 0xffff, STATIC);
    unit.variable("y", 0xffff_fff0, STATIC);
    unit.entry(VARIABLE_WITH_LIST, &[b"z\0", &int.to_le_bytes(), &0xffff_0000u32.to_le_bytes()]);
    let said = super::said(&arguments("x, y, z", unit.finish(1)));
    assert_eq!(said.matches("Unsupported").count(), 3, "{said}");
    assert_eq!(said.matches(".debug_info at 0x").count(), 3, "{said}");
}

#[test]
fn aranges_that_lead_nowhere() {
    let header = |unit: u32| {
        let mut set = vec![2, 0];
        set.extend(unit.to_le_bytes());
        set.extend([8, 0, 0, 0, 0, 0]);
        for (start, length) in [(0x1000u64, 0x100u64), (u64::MAX, u64::MAX), (0, 0)] {
            set.extend(start.to_le_bytes());
            set.extend(length.to_le_bytes());
        }
        with_length(&set)
    };
    // A million pairs of zeros, of two bytes each.
    let zeros = with_length(&[&[2, 0, 0, 0, 0, 0, 1, 0][..], &[0; 2_000_000]].concat());
    for aranges in [zeros, header(7), header(0xffff_ffff), header(0), header(0)[..20].to_vec()] {
        let mut unit = Unit::new();
        let int = unit.function(&[0x9c]);
        unit.variable("x", int, STATIC);
        let mut sections = unit.finish(1);
        sections.push((".debug_aranges", aranges));
        look(&image("x", &[0x1018], sections));
    }
}

#[test]
fn lengths_of_units_that_lie() {
    for length in [0xffff_ffffu32, 0xffff_fff0, 0x7fff_ffff, 0, 1] {
        let mut unit = Unit::new();
        let int = unit.function(&[0x9c]);
        unit.variable("x", int, STATIC);
        let mut sections = unit.finish(1);
        let info = section(&mut sections, ".debug_info");
        let start = info.len();
        let mut broken = info.clone();
        broken[..4].copy_from_slice(&length.to_le_bytes());
        info.append(&mut broken);
        let image = look(&super::image("x", &[0x1018], sections));
        // Data before it is still read.
        assert_eq!(image.markers[0].sites[0].args[0].verdict, Some(Verdict::Live), "{length:#x}");
        let errors = errors(&image);
        assert!(length < 2 || errors.contains(&format!("{start:#x}")), "{length:#x}: {errors}");
    }
}

#[test]
fn units_of_types_with_one_signature() {
    let mut unit = Unit::new();
    let (type_unit, structure) = (unit.entries.code(TYPE_UNIT), unit.entries.code(STRUCTURE));
    let mut types = Vec::new();
    for _ in 0..20_000 {
        let mut unit = vec![4, 0, 0, 0, 0, 0, 8];
        unit.extend(0x1122_3344_5566_7788u64.to_le_bytes());
        unit.extend(25u32.to_le_bytes());
        unit.extend([type_unit, 0x0c]);
        unit.extend([structure, 4, 0, 0]);
        types.extend(with_length(&unit));
    }
    unit.function(&[0x9c]);
    for (name, signature) in [("x\0", 0x1122_3344_5566_7788u64), ("y\0", 0x1122_3344_5566_7788), ("z\0", 1)] {
        let (signature, size) = (signature.to_le_bytes(), leb(STATIC.len()));
        unit.entry(VARIABLE_OF_SIGNATURE, &[name.as_bytes(), &signature, &size, STATIC]);
    }
    let mut sections = unit.finish(1);
    sections.push((".debug_types", types));
    let said = said(&arguments(&["x, y, z"; 8].join(", "), sections));
    assert_eq!((said.matches("Live").count(), said.matches("leads nowhere").count()), (16, 8), "{said}");
}

#[test]
fn abbreviations_that_cost_nothing_to_use() {
    // 100,000 attributes with constants in the abbreviation, in each of as many entries.
    let mut unit = Unit::new();
    unit.function(&[0x9c]);
    unit.entries.info().extend([0x70].repeat(100_000));
    let mut sections = unit.finish(1);
    let table = section(&mut sections, ".debug_abbrev");
    table.pop();
    table.extend([0x70, 0x34, 0]);
    table.extend([0x3a, 0x21, 1].repeat(100_000));
    table.extend([0, 0, 0]);
    let image = look(&image("x", &[0x1018], sections));
    assert!(errors(&image).contains(".debug_abbrev at 0x0"), "{}", errors(&image));
    // Units whose abbreviation tables are tails of the same table.
    let mut sections = Unit::new().finish(0);
    section(&mut sections, ".debug_abbrev").splice(0..0, [1, 0x11, 0, 0, 0].repeat(40_000));
    let info = section(&mut sections, ".debug_info");
    info.clear();
    for index in 0..20_000u32 {
        info.extend(with_length(&[&[4, 0][..], &(index * 5).to_le_bytes(), &[8, 1]].concat()));
    }
    look(&super::image("x", &[0x1018], sections));
}
