//! Malicious debug information: cycles, deep nesting, floods and lies. The resolver must always
//! answer, with work in proportion to the size of the file, and report malformed data with its
//! offset.

use std::fmt::Write as _;

use images::dwarf::{SectionBytes, section};
use images::{Linked, Strings, declaration};
use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::record::site::Site;
use simple_markers_resolver::report::{Layout, Verbosity, json, list};
use simple_markers_resolver::resolve::{Argument, ResolvedImage, Severity, SitePlace, Verdict, resolve};

use self::unit::abbreviation::*;
use self::unit::{Unit, leb, with_length};

mod unit;

/// A line program of `a.c` with the operations `rows` from 0x1000 on.
fn lines(rows: &[u8]) -> Vec<u8> {
    let mut header = vec![1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];
    header.extend(b"\0a.c\0\0\0\0\0");
    let mut bytes = vec![4, 0];
    bytes.extend(with_length(&header));
    bytes.extend([0, 9, 2]);
    bytes.extend(0x1000u64.to_le_bytes());
    bytes.extend(rows);
    bytes.extend([2, 1, 0, 1, 1]);
    with_length(&bytes)
}

/// Rows of lines 2 to 9, 16 bytes each.
const ROWS: &[u8] = &[3, 1, 1, 2, 16, 3, 1, 1, 2, 16, 3, 5, 1, 2, 16, 3, 1, 1, 2, 0x40];

/// An image with this debug information and one marker on line 5 of `a.c`, at each of the
/// addresses.
fn image(args: &str, at: &[u64], sections: Vec<SectionBytes>) -> Vec<u8> {
    let mut strings = Strings::default();
    let first = strings.site(0, 5, ["a:b", "a.c", "", args, ""]);
    let sites: Vec<Site> = at.iter().map(|pc| Site { pc: *pc, ..first }).collect();
    Linked::new().markers(&[declaration("a:b", "a.c", 5, "", args)], &sites, strings).sections(sections).build()
}

/// Resolves an image.
fn find(image: &[u8]) -> ResolvedImage {
    let mut resolution = resolve("a", image);
    let [_] = resolution.images.as_slice() else { panic!("one image: {:?}", resolution.failures) };
    resolution.images.remove(0)
}

/// Resolves an image and prints it in every format.
fn look(image: &[u8]) -> ResolvedImage {
    let mut resolution = resolve("a", image);
    let mut out = Vec::new();
    list::write(&mut out, &resolution.rows(), Layout { colour: false, width: None, verbosity: Verbosity::Full })
        .unwrap();
    json::write(&mut out, &resolution, &|_| true).unwrap();
    assert!(out.len() < 64 << 20, "{} bytes are printed", out.len());
    let [_] = resolution.images.as_slice() else { panic!("one image: {:?}", resolution.failures) };
    resolution.images.remove(0)
}

/// The arguments of the first site.
fn arguments(args: &str, sections: Vec<SectionBytes>) -> Vec<Argument> {
    let image = look(&image(args, &[0x1018], sections));
    let site = image.markers[0].sites.first().expect("the site is there for any debug information");
    assert_eq!(site.place, Some(SitePlace::Address(Vaddr(0x1018))));
    site.args.clone()
}

/// Verdict and reason, or the location, of each argument. Omits arguments without a verdict.
fn said(arguments: &[Argument]) -> String {
    let mut said = String::new();
    for argument in arguments {
        let why = argument.reason.as_ref().map(ToString::to_string);
        let why = why.as_deref().or(argument.location_text.as_deref());
        let _ = writeln!(said, "{}: {:?}: {}", argument.text, argument.verdict, why.unwrap_or("?"));
    }
    said
}

fn errors(image: &ResolvedImage) -> String {
    let errors = image.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    errors.map(|diagnostic| format!("{diagnostic}\n")).collect()
}

/// `DW_OP_addr 0x2000`.
const STATIC: &[u8] = &[3, 0, 0x20, 0, 0, 0, 0, 0, 0];

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
    assert!(said.contains("\npointer: Some(Live)") && said.contains("***pointer: Some(Doubtful)"), "{said}");
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
    assert!(self::said(&arguments("good, missing", unit.finish(1))).starts_with("good: Some(Live)"));
    // Instances that are instances of each other.
    let mut unit = Unit::new();
    unit.function(&[0x9c]);
    let at = unit.next();
    unit.inlined(at, 0x1000, 0x100);
    let image = look(&self::image("x", &[0x1018], unit.finish(2)));
    assert!(self::errors(&image).contains(&format!("{at:#x}")), "{image:#?}");
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

fn location(location: &[u8]) -> String {
    let mut unit = Unit::new();
    let int = unit.function(&[0x9c]);
    unit.variable("x", int, location);
    unit.variable("y", int, &[&[0x99][..], &unit.next().to_le_bytes()].concat());
    said(&arguments("x, y", unit.finish(1))).lines().next().unwrap_or_default().to_owned()
}

#[test]
fn location_programs_that_loop_or_grow() {
    let refused = |bytes: &[u8], why: &str| {
        let said = location(bytes);
        assert!(said.starts_with("x: Some(Unsupported)") && said.contains(why), "{said}");
    };
    refused(&[0x30, 0x2f, 0xfc, 0xff], "DW_OP_skip");
    refused(&[0x30, 0x28, 0xfd, 0xff], "DW_OP_bra");
    // dup and plus double a value each time; dup alone fills the stack.
    refused(&[&[0x70, 0][..], &[0x12, 0x22].repeat(100_000)].concat(), "steps");
    refused(&[&[0x70, 0][..], &[0x12].repeat(1_000_000)].concat(), "steps");
    refused(&[0x50, 0x93, 1].repeat(1_000_000), "steps");
    refused(&[&[0x70, 0][..], &[0x06].repeat(1_000_000)].concat(), "steps");
    refused(&[0x93, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], "steps");
    // A value of 2^63 bytes, and one of a megabyte for an `int`.
    refused(&[0x9e, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], "malformed");
    let large = location(&[&[0x9e][..], &leb(1 << 20), &[7; 1 << 20]].concat());
    assert!(large.starts_with("x: Some(Constant)"), "{large}");
    // Indices whose place in the table is beyond 2^64, and would wrap to the first one.
    refused(&[0xa1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20], "malformed");
    refused(&[0xa1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], "malformed");
    // Nested values on entry.
    let mut nested = vec![0x55];
    for _ in 0..1000 {
        nested = [&[0xa3][..], &leb(nested.len()), &nested].concat();
    }
    refused(&nested, "nested too deep");
}

#[test]
fn calls_and_frames_in_circles() {
    let mut unit = Unit::new();
    let int = unit.function(&[0x91, 0]);
    let at = unit.next();
    unit.variable("itself", int, &[&[0x99][..], &at.to_le_bytes()].concat());
    // Each calls the next one twice: 2^24 operations of 24 entries.
    for _ in 0..24 {
        let next = unit.next() + 3 + 4 + 1 + 10;
        unit.variable("d", int, &[&[0x99][..], &next.to_le_bytes(), &[0x99], &next.to_le_bytes()].concat());
    }
    unit.variable("framed", int, &[0x91, 0]);
    let said = said(&arguments("itself, framed", unit.finish(1)));
    assert!(said.contains("itself: Some(Unsupported)") && said.contains("framed: Some(Unsupported)"), "{said}");
    // Call frame information whose frame address refers to itself, and one that runs past the end.
    for cfa in
        [&[0x0f, 1, 0x9c][..], &[0x0f, 3, 0x9c, 0x9c, 0x22], &[0x04, 0xff, 0xff, 0xff, 0xff], &[0x02, 0xff, 0x0e, 8]]
    {
        let mut frames = with_length(&[&[0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16][..], cfa].concat());
        let advance = [0x04, 0xff, 0xff, 0xff, 0xff].repeat(1000);
        let entry = [&0u32.to_le_bytes()[..], &0x1000u64.to_le_bytes(), &u64::MAX.to_le_bytes(), &advance].concat();
        frames.extend(with_length(&entry));
        let mut unit = Unit::new();
        let int = unit.function(&[0x9c]);
        unit.variable("x", int, &[0x91, 0]);
        let mut sections = unit.finish(1);
        sections.push((".debug_frame", frames));
        let said = self::said(&arguments("x", sections));
        assert!(said.starts_with("x: Some(Unsupported)"), "{said}");
    }
}

#[test]
fn common_frame_information_of_a_megabyte() {
    let mut common = vec![0xff, 0xff, 0xff, 0xff, 1, b'z'];
    common.resize(1 << 20, b'R');
    common.extend([0, 1, 0x78, 16]);
    let mut frames = with_length(&common);
    for index in 0..20_000u64 {
        let entry = [&0u32.to_le_bytes()[..], &(0x1000 + index).to_le_bytes(), &1u64.to_le_bytes(), &[0; 4]].concat();
        frames.extend(with_length(&entry));
    }
    let mut unit = Unit::new();
    let int = unit.function(&[0x9c]);
    unit.variable("x", int, &[0x91, 0]);
    let mut sections = unit.finish(1);
    sections.push((".debug_frame", frames));
    assert!(said(&arguments("x", sections)).starts_with("x: Some(Unsupported)"));
}

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
    let said = self::said(&arguments("x, y, z", unit.finish(1)));
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
        let image = look(&self::image("x", &[0x1018], sections));
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
    look(&self::image("x", &[0x1018], sections));
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

/// Programs by gcc and clang with three markers, some in inlined functions.
const PROGRAMS: [&[u8]; 4] = [
    include_bytes!("../../fuzz/seeds/image/dwarf-gcc5.exe"),
    include_bytes!("../../fuzz/seeds/image/dwarf-gcc2.exe"),
    include_bytes!("../../fuzz/seeds/image/dwarf-clang4.exe"),
    include_bytes!("../../fuzz/seeds/image/dwarf-clang5.o"),
];

fn with_bits_flipped(program: usize) {
    let original = PROGRAMS[program];
    assert!(!resolve("a", original).images[0].markers.is_empty());
    // xorshift64: the same numbers in every run.
    let mut state = 0x9e37_79b9_7f4a_7c15u64 + program as u64;
    let mut below = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % bound as u64) as usize
    };
    for _ in 0..5_000 {
        let mut image = original.to_vec();
        for _ in 0..=below(4) {
            let at = below(image.len());
            image[at] ^= 1 << below(8);
        }
        let resolution = resolve("a", &image);
        assert!(resolution.images.len() + resolution.failures.len() > 0);
    }
}

#[test]
fn a_program_of_gcc_with_bits_flipped() {
    with_bits_flipped(0);
}

#[test]
fn a_program_of_gcc_in_dwarf_2_with_bits_flipped() {
    with_bits_flipped(1);
}

#[test]
fn a_program_of_clang_with_bits_flipped() {
    with_bits_flipped(2);
}

#[test]
fn an_object_of_clang_with_bits_flipped() {
    with_bits_flipped(3);
}

#[test]
fn a_program_truncated_anywhere() {
    for program in [PROGRAMS[0], PROGRAMS[2]] {
        for length in 0..program.len() {
            let resolution = resolve("a", &program[..length]);
            assert!(resolution.images.len() + resolution.failures.len() == 1);
        }
    }
}

/// Truncated files end before their section headers do. This cuts the sections of debug information
/// instead.
#[test]
fn debug_information_truncated_anywhere() {
    let mut unit = Unit::new();
    let int = unit.function(&[0x9c]);
    let inner = unit.next();
    unit.block(0x1000, 0x80);
    unit.variable("x", int, &[0x91, 0x70]);
    unit.variable("y", inner, STATIC);
    let whole = unit.finish(2);
    let mut names: Vec<_> = whole.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    assert_eq!(names, [".debug_abbrev", ".debug_info", ".debug_line"]);
    for cut in 0..whole.len() {
        for length in 0..whole[cut].1.len() {
            let mut sections = whole.clone();
            sections[cut].1.truncate(length);
            let image = find(&image("x, y", &[0x1018], sections));
            assert_eq!(image.markers[0].sites.len(), 1);
        }
    }
}
