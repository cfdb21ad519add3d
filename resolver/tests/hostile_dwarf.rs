//! Malicious debug information: cycles, deep nesting, floods and lies. The resolver must always
//! answer, with work in proportion to the size of the file, and report malformed data with its
//! offset.

use std::fmt::Write as _;

use images::{Linked, Strings, declaration};
use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::record::site::Site;
use simple_markers_resolver::report::{Layout, json, list};
use simple_markers_resolver::resolve::{Argument, ResolvedImage, Severity, SitePlace, Verdict, resolve};

/// A tag, whether there are children, and the names and forms of attributes.
type Abbreviation = (u8, bool, &'static [(u8, u8)]);

/// Abbreviations (DWARF 4, 7.5.3): tag, whether it has children, attributes with their forms.
const ABBREVIATIONS: &[Abbreviation] = &[
    (0x11, true, &[(0x13, 0x0b), (0x11, 0x01), (0x12, 0x06), (0x10, 0x17)]), // 1 compile_unit: language low_pc high_pc stmt_list
    // 2 subprogram: name decl_file decl_line low_pc high_pc frame_base
    (0x2e, true, &[(0x03, 0x08), (0x3a, 0x0b), (0x3b, 0x0b), (0x11, 0x01), (0x12, 0x06), (0x40, 0x18)]),
    (0x34, false, &[(0x03, 0x08), (0x49, 0x13), (0x02, 0x18)]), // 3 variable: name type ref4 location exprloc
    (0x24, false, &[(0x3e, 0x0b), (0x0b, 0x0b), (0x03, 0x08)]), // 4 base_type: encoding byte_size name
    (0x16, false, &[(0x49, 0x13)]),                             // 5 typedef: type
    (0x13, true, &[(0x0b, 0x0b)]),                              // 6 structure: byte_size
    (0x0d, false, &[(0x03, 0x08), (0x49, 0x13), (0x38, 0x0b)]), // 7 member: name type data_member_location
    (0x01, true, &[(0x49, 0x13)]),                              // 8 array: type
    (0x21, false, &[(0x2f, 0x0b)]),                             // 9 subrange: upper_bound
    (0x0f, false, &[(0x49, 0x13)]),                             // 10 pointer: type
    (0x34, false, &[(0x31, 0x13)]),                             // 11 variable: abstract_origin
    (0x34, false, &[(0x47, 0x13)]),                             // 12 variable: specification
    (0x3d, false, &[(0x18, 0x13)]),                             // 13 imported_unit: import
    (0x0b, true, &[]),                                          // 14 block
    (0x0b, true, &[(0x11, 0x01), (0x12, 0x06)]),                // 15 block: low_pc high_pc
    (0x2e, true, &[(0x03, 0x08), (0x3a, 0x0b), (0x3b, 0x0b), (0x20, 0x0b)]), // 16 subprogram: .. inline
    // 17 inlined_subroutine: abstract_origin low_pc high_pc call_file call_line
    (0x1d, true, &[(0x31, 0x13), (0x11, 0x01), (0x12, 0x06), (0x58, 0x0b), (0x59, 0x0b)]),
    (0x34, false, &[(0x03, 0x08), (0x49, 0x13), (0x02, 0x17)]), // 18 variable: name type location sec_offset
    (0x0b, true, &[(0x55, 0x17)]),                              // 19 block: ranges
    (0x34, false, &[(0x03, 0x0e), (0x49, 0x13), (0x02, 0x18)]), // 20 variable: name strp ..
    (0x39, true, &[(0x03, 0x08)]),                              // 21 namespace: name
    (0x13, false, &[(0x69, 0x20)]),                             // 22 structure: signature
    (0x34, false, &[(0x03, 0x08), (0x49, 0x20), (0x02, 0x18)]), // 23 variable: name type ref_sig8 location
    (0x41, true, &[(0x13, 0x0b)]),                              // 24 type_unit: language
    (0x34, false, &[(0x31, 0x13), (0x02, 0x18)]),               // 25 variable: abstract_origin location
    (0x0d, false, &[(0x49, 0x13), (0x38, 0x0b)]),               // 26 member without a name: type data_member_location
    (0x13, false, &[(0x03, 0x08), (0x3c, 0x19)]),               // 27 structure, declared: name
    (0x34, false, &[(0x03, 0x08), (0x3a, 0x0b), (0x3b, 0x0b), (0x49, 0x13), (0x02, 0x18)]), // 28 variable: .. decl_file decl_line ..
];

fn abbreviations() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, (tag, has_children, attributes)) in ABBREVIATIONS.iter().enumerate() {
        bytes.extend([index as u8 + 1, *tag, u8::from(*has_children)]);
        bytes.extend(attributes.iter().flat_map(|(name, form)| [*name, *form]));
        bytes.extend([0, 0]);
    }
    bytes.push(0);
    bytes
}

fn with_length(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_le_bytes(), bytes].concat()
}

fn leb(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// The entries of a unit for `a.c`, DWARF 4.
struct Entries(Vec<u8>);

impl Entries {
    fn new() -> Self {
        let mut bytes = vec![0; 4];
        bytes.extend([4, 0, 0, 0, 0, 0, 8, 1, 0x0c]);
        bytes.extend(0x1000u64.to_le_bytes());
        bytes.extend(0x100u32.to_le_bytes());
        bytes.extend(0u32.to_le_bytes());
        Self(bytes)
    }

    /// The offset of the next entry.
    fn at(&self) -> u32 {
        self.0.len() as u32
    }

    fn entry(&mut self, code: u8, parts: &[&[u8]]) -> u32 {
        let at = self.at();
        self.0.push(code);
        parts.iter().for_each(|part| self.0.extend_from_slice(part));
        at
    }

    fn code(&mut self, code: u8, start: u64, length: u32) -> u32 {
        self.entry(code, &[&start.to_le_bytes(), &length.to_le_bytes()])
    }

    /// Adds an `int`, and the function `f` that covers all code. Later entries are inside `f`.
    fn function(&mut self, frame_base: &[u8]) -> u32 {
        let int = self.entry(4, &[&[5, 4], b"int\0"]);
        self.entry(2, &[b"f\0", &[1, 1], &0x1000u64.to_le_bytes(), &0x100u32.to_le_bytes()]);
        self.0.extend(leb(frame_base.len()));
        self.0.extend(frame_base);
        int
    }

    fn variable(&mut self, name: &str, of: u32, location: &[u8]) -> u32 {
        self.entry(3, &[name.as_bytes(), &[0], &of.to_le_bytes(), &leb(location.len()), location])
    }

    fn inlined(&mut self, origin: u32, start: u64, length: u32) -> u32 {
        self.entry(17, &[&origin.to_le_bytes(), &start.to_le_bytes(), &length.to_le_bytes(), &[1, 5]])
    }

    /// Ends `open` scopes and the unit.
    fn finish(mut self, open: usize) -> Vec<u8> {
        self.0.resize(self.0.len() + open + 1, 0);
        let length = self.0.len() as u32 - 4;
        self.0[..4].copy_from_slice(&length.to_le_bytes());
        self.0
    }
}

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
fn image(args: &str, at: &[u64], sections: Vec<(&'static str, Vec<u8>)>) -> Vec<u8> {
    let mut strings = Strings::default();
    let first = strings.site(0, 5, ["a:b", "a.c", "", args, ""]);
    let sites: Vec<Site> = at.iter().map(|pc| Site { pc: *pc, ..first }).collect();
    let mut image = Linked::new().markers(&[declaration("a:b", "a.c", 5, "", args)], &sites, strings);
    let has = |name: &str| sections.iter().any(|(known, _)| *known == name);
    if !has(".debug_abbrev") {
        image = image.section(".debug_abbrev", abbreviations());
    }
    if !has(".debug_line") {
        image = image.section(".debug_line", lines(ROWS));
    }
    for (name, bytes) in sections {
        image = image.section(name, bytes);
    }
    image.build()
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
    list::write(&mut out, &resolution.rows(), Layout { colour: false, width: None, verbose: true }).unwrap();
    json::write(&mut out, &resolution, &|_| true).unwrap();
    assert!(out.len() < 64 << 20, "{} bytes are printed", out.len());
    let [_] = resolution.images.as_slice() else { panic!("one image: {:?}", resolution.failures) };
    resolution.images.remove(0)
}

/// The arguments of the first site.
fn arguments(args: &str, sections: Vec<(&'static str, Vec<u8>)>) -> Vec<Argument> {
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

fn info(entries: Entries, open: usize) -> Vec<(&'static str, Vec<u8>)> {
    vec![(".debug_info", entries.finish(open))]
}

/// `DW_OP_addr 0x2000`.
const STATIC: &[u8] = &[3, 0, 0x20, 0, 0, 0, 0, 0, 0];

#[test]
fn types_in_circles() {
    let mut unit = Entries::new();
    unit.function(&[0x9c]);
    let names = unit.at();
    unit.entry(5, &[&(names + 5).to_le_bytes()]);
    unit.entry(5, &[&names.to_le_bytes()]);
    let holder = unit.entry(6, &[&[8]]);
    unit.entry(7, &[b"a\0", &holder.to_le_bytes(), &[0]]);
    unit.entry(26, &[&holder.to_le_bytes(), &[0]]);
    unit.0.push(0);
    let array = unit.at();
    unit.entry(8, &[&array.to_le_bytes()]);
    unit.entry(9, &[&[3]]);
    unit.0.push(0);
    let pointer = unit.at();
    unit.entry(10, &[&pointer.to_le_bytes()]);
    for (name, of) in [("names", names), ("holder", holder), ("array", array), ("pointer", pointer)] {
        unit.variable(name, of, STATIC);
    }
    let args = "names, holder, holder.a.a.a, holder.none, array, array[1][1], pointer, ***pointer";
    let said = said(&arguments(args, info(unit, 1)));
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
    assert!(said.contains("pointer: Some(Live)") && said.contains("***pointer: Some(Live)"), "{said}");
}

#[test]
fn origins_in_circles() {
    let mut unit = Entries::new();
    let int = unit.function(&[0x9c]);
    unit.variable("good", int, STATIC);
    let first = unit.at();
    unit.entry(11, &[&(first + 5).to_le_bytes()]);
    unit.entry(12, &[&first.to_le_bytes()]);
    let itself = unit.at();
    unit.entry(11, &[&itself.to_le_bytes()]);
    // Their names are unknown, so any of them may hide the good one.
    let said = said(&arguments("good", info(unit, 1)));
    assert!(said.starts_with("good: Some(Unsupported): .debug_info at 0x"), "{said}");
    assert!(said.contains("a chain of DW_AT_abstract_origin and DW_AT_specification that does not end"), "{said}");
    // Imports in a cycle are not followed.
    let mut unit = Entries::new();
    unit.entry(13, &[&11u32.to_le_bytes()]);
    let int = unit.function(&[0x9c]);
    unit.variable("good", int, STATIC);
    assert!(self::said(&arguments("good, missing", info(unit, 1))).starts_with("good: Some(Live)"));
    // Instances that are instances of each other.
    let mut unit = Entries::new();
    unit.function(&[0x9c]);
    let at = unit.at();
    unit.inlined(at, 0x1000, 0x100);
    let image = look(&self::image("x", &[0x1018], info(unit, 2)));
    assert!(self::errors(&image).contains(&format!("{at:#x}")), "{image:#?}");
}

fn a_million_blocks(are_nested: bool) {
    let mut unit = Entries::new();
    let int = unit.function(&[0x9c]);
    unit.variable("outer", int, STATIC);
    for _ in 0..1_000_000 {
        unit.0.push(14);
        if !are_nested {
            unit.0.push(0);
        }
    }
    unit.variable("inner", int, STATIC);
    let open = if are_nested { 1_000_001 } else { 1 };
    let image = find(&image("outer, inner, missing", &[0x1018], info(unit, open)));
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
    let mut unit = Entries::new();
    let int = unit.function(&[0x9c]);
    for _ in 0..100_000 {
        unit.code(15, 0x1000, 0x100);
    }
    unit.variable("inner", int, STATIC);
    look(&image("inner, missing", &[0x1018, 0x1020], info(unit, 100_001)));
}

#[test]
fn instances_with_the_same_addresses_in_one_another() {
    let mut unit = Entries::new();
    let inner = unit.entry(16, &[b"g\0", &[1, 3, 1]]);
    unit.0.push(0);
    unit.function(&[0x9c]);
    for _ in 0..100_000 {
        unit.inlined(inner, 0x1000, 0x100);
    }
    let image = look(&image("x", &(0x1000..0x1010).collect::<Vec<_>>(), info(unit, 100_001)));
    assert_eq!(image.markers[0].sites.len(), 16);
}

#[test]
fn namespaces_in_one_another() {
    let mut unit = Entries::new();
    let int = unit.function(&[0x9c]);
    unit.0.push(0);
    for _ in 0..100_000 {
        unit.entry(21, &[b"n\0"]);
    }
    unit.variable("deep", int, STATIC);
    look(&image("deep, n::n::deep", &[0x1018], info(unit, 100_000)));
}

#[test]
fn ranges_of_everything_backwards_and_over_each_other() {
    let mut unit = Entries::new();
    let int = unit.function(&[0x9c]);
    let mut ranges = Vec::new();
    unit.variable("x", int, STATIC);
    unit.entry(19, &[&0u32.to_le_bytes()]);
    for (begin, end) in [(0u64, u64::MAX), (0x2000, 0x1000), (u64::MAX - 2, 1), (0, 0x100), (8, 8)] {
        ranges.extend(begin.to_le_bytes());
        ranges.extend(end.to_le_bytes());
    }
    for index in 1..100_000u64 {
        ranges.extend((index % 0x80).to_le_bytes());
        ranges.extend((0x80 + index % 0x7f).to_le_bytes());
    }
    ranges.extend([0; 16]);
    let mut sections = info(unit, 2);
    sections.push((".debug_ranges", ranges));
    assert!(said(&arguments("x", sections)).contains("x: Some(Live)"));
    // A function that covers all addresses, before many that end at once.
    let mut unit = Entries::new();
    let all = |unit: &mut Entries, start: u64, length: u32| {
        unit.entry(2, &[b"g\0", &[1, 1], &start.to_le_bytes(), &length.to_le_bytes(), &[0, 0]]);
    };
    all(&mut unit, 2, u32::MAX);
    for index in 0..50_000 {
        all(&mut unit, 0x1000 + index % 0x20, 0x100);
    }
    look(&image("x", &(0x1000..0x1040).collect::<Vec<_>>(), info(unit, 0)));
}

fn location(location: &[u8]) -> String {
    let mut unit = Entries::new();
    let int = unit.function(&[0x9c]);
    let at = unit.at();
    unit.variable("x", int, location);
    let procedure = unit.variable("y", int, &[&[0x99][..], &unit.at().to_le_bytes()].concat());
    let _ = (at, procedure);
    said(&arguments("x, y", info(unit, 1))).lines().next().unwrap_or_default().to_owned()
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
    let mut unit = Entries::new();
    let int = unit.function(&[0x91, 0]);
    let at = unit.at();
    unit.variable("itself", int, &[&[0x99][..], &at.to_le_bytes()].concat());
    // Each calls the next one twice: 2^24 operations of 24 entries.
    for _ in 0..24 {
        let next = unit.at() + 3 + 4 + 1 + 10;
        unit.variable("d", int, &[&[0x99][..], &next.to_le_bytes(), &[0x99], &next.to_le_bytes()].concat());
    }
    unit.variable("framed", int, &[0x91, 0]);
    let said = said(&arguments("itself, framed", info(unit, 1)));
    assert!(said.contains("itself: Some(Unsupported)") && said.contains("framed: Some(Unsupported)"), "{said}");
    // Call frame information whose frame address refers to itself, and one that runs past the end.
    for cfa in
        [&[0x0f, 1, 0x9c][..], &[0x0f, 3, 0x9c, 0x9c, 0x22], &[0x04, 0xff, 0xff, 0xff, 0xff], &[0x02, 0xff, 0x0e, 8]]
    {
        let mut frames = with_length(&[&[0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16][..], cfa].concat());
        let advance = [0x04, 0xff, 0xff, 0xff, 0xff].repeat(1000);
        let entry = [&0u32.to_le_bytes()[..], &0x1000u64.to_le_bytes(), &u64::MAX.to_le_bytes(), &advance].concat();
        frames.extend(with_length(&entry));
        let mut unit = Entries::new();
        let int = unit.function(&[0x9c]);
        unit.variable("x", int, &[0x91, 0]);
        let mut sections = info(unit, 1);
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
    let mut unit = Entries::new();
    let int = unit.function(&[0x9c]);
    unit.variable("x", int, &[0x91, 0]);
    let mut sections = info(unit, 1);
    sections.push((".debug_frame", frames));
    assert!(said(&arguments("x", sections)).starts_with("x: Some(Unsupported)"));
}

#[test]
fn line_programs_of_floods_and_lies() {
    let good = || {
        let mut unit = Entries::new();
        let int = unit.function(&[0x9c]);
        unit.variable("x", int, STATIC);
        info(unit, 1)
    };
    let with = |line: Vec<u8>| {
        let mut sections = good();
        sections.push((".debug_line", line));
        look(&image("x", &[0x1018], sections));
        // Without site records, lines are searched.
        let mut sections = good();
        let (_, info) = sections.remove(0);
        let declarations = [declaration("a:b", "a.c", 5, "", "x"), declaration("a:b", "a.c", 8, "", "x")].concat();
        let image = Linked::new().section("__simple_marker.1", declarations).section(".debug_info", info);
        let line = image.section(".debug_abbrev", abbreviations()).section(".debug_line", Vec::new());
        drop(line);
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
    let mut unit = Entries::new();
    let int = unit.function(&[0x9c]);
    unit.entry(20, &[&u32::MAX.to_le_bytes(), &int.to_le_bytes(), &[0]]);
    unit.variable("x", int, STATIC);
    let said = said(&arguments("x", info(unit, 1)));
    assert!(said.starts_with("x: Some(Unsupported): .debug_info at 0x"), "{said}");
    let mut unit = Entries::new();
    unit.function(&[0x9c]);
    unit.variable("x", 0xffff, STATIC);
    unit.variable("y", 0xffff_fff0, STATIC);
    unit.entry(18, &[b"z\0", &int.to_le_bytes(), &0xffff_0000u32.to_le_bytes()]);
    let said = self::said(&arguments("x, y, z", info(unit, 1)));
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
        let mut unit = Entries::new();
        let int = unit.function(&[0x9c]);
        unit.variable("x", int, STATIC);
        let mut sections = info(unit, 1);
        sections.push((".debug_aranges", aranges));
        look(&image("x", &[0x1018], sections));
    }
}

#[test]
fn lengths_of_units_that_lie() {
    for length in [0xffff_ffffu32, 0xffff_fff0, 0x7fff_ffff, 0, 1] {
        let mut unit = Entries::new();
        let int = unit.function(&[0x9c]);
        unit.variable("x", int, STATIC);
        let good = unit.finish(1);
        let start = good.len();
        let mut broken = good.clone();
        broken[..4].copy_from_slice(&length.to_le_bytes());
        let image = look(&self::image("x", &[0x1018], vec![(".debug_info", [good, broken].concat())]));
        // Data before it is still read.
        assert_eq!(image.markers[0].sites[0].args[0].verdict, Some(Verdict::Live), "{length:#x}");
        let errors = errors(&image);
        assert!(length < 2 || errors.contains(&format!("{start:#x}")), "{length:#x}: {errors}");
    }
}

#[test]
fn units_of_types_with_one_signature() {
    let mut types = Vec::new();
    for _ in 0..20_000 {
        let mut unit = vec![4, 0, 0, 0, 0, 0, 8];
        unit.extend(0x1122_3344_5566_7788u64.to_le_bytes());
        unit.extend(25u32.to_le_bytes());
        unit.extend([24, 0x0c]);
        unit.extend([6, 4, 0, 0]);
        types.extend(with_length(&unit));
    }
    let mut unit = Entries::new();
    unit.function(&[0x9c]);
    for name in ["x", "y"] {
        unit.entry(23, &[name.as_bytes(), &[0], &0x1122_3344_5566_7788u64.to_le_bytes(), &leb(STATIC.len()), STATIC]);
    }
    unit.entry(23, &[b"z\0", &1u64.to_le_bytes(), &leb(STATIC.len()), STATIC]);
    let sections = vec![(".debug_info", unit.finish(1)), (".debug_types", types)];
    let said = said(&arguments(&["x, y, z"; 8].join(", "), sections));
    assert_eq!((said.matches("Live").count(), said.matches("leads nowhere").count()), (16, 8), "{said}");
}

#[test]
fn a_site_in_each_of_ten_thousand_units() {
    let mut info = Vec::new();
    for index in 0..10_000u64 {
        let mut unit = Entries::new();
        unit.0[13..21].copy_from_slice(&(0x1000 + index * 16).to_le_bytes());
        unit.0[21..25].copy_from_slice(&16u32.to_le_bytes());
        let int = unit.entry(4, &[&[5, 4], b"int\0"]);
        unit.entry(2, &[b"f\0", &[1, 1], &(0x1000 + index * 16).to_le_bytes(), &16u32.to_le_bytes(), &[0]]);
        unit.variable("x", int, STATIC);
        info.extend(unit.finish(1));
    }
    let at: Vec<u64> = (0..10_000).map(|index| 0x1004 + index * 16).collect();
    let image = find(&image("x", &at, vec![(".debug_info", info)]));
    let live = image.markers[0].sites.iter().filter(|site| site.args[0].verdict == Some(Verdict::Live)).count();
    assert_eq!(live, 10_000, "{}", errors(&image));
}

/// The budget grows with the number of sites, and sites share intermediate results.
#[test]
fn twenty_thousand_sites_in_a_small_unit() {
    let mut unit = Entries::new();
    let int = unit.function(&[0x9c]);
    unit.code(15, 0x1000, 0x80);
    unit.variable("x", int, STATIC);
    let mut strings = Strings::default();
    let first = strings.site(0, 5, ["a:b", "a.c", "", "x", ""]);
    let sites: Vec<Site> = (0..20_000u32)
        .map(|index| Site { pc: 0x1001 + u64::from(index % 0x7e), line: 3 + index / 0x7e % 4, column: index, ..first })
        .collect();
    let declarations: Vec<Vec<u8>> = (3..7).map(|line| declaration("a:b", "a.c", line, "", "x")).collect();
    let image = Linked::new().markers(&declarations, &sites, strings);
    let image = image.section(".debug_info", unit.finish(2)).section(".debug_abbrev", abbreviations());
    let image = find(&image.section(".debug_line", lines(ROWS)).build());
    let verdicts = || image.markers.iter().flat_map(|marker| &marker.sites).map(|site| site.args[0].verdict);
    assert_eq!(verdicts().count(), 20_000);
    assert!(verdicts().all(|verdict| verdict == Some(Verdict::Live)), "{}", errors(&image));
}

#[test]
fn abbreviations_that_cost_nothing_to_use() {
    // 100,000 attributes with constants in the abbreviation, in each of as many entries.
    let mut abbreviations = self::abbreviations();
    abbreviations.pop();
    abbreviations.extend([60, 0x34, 0]);
    abbreviations.extend([0x3a, 0x21, 1].repeat(100_000));
    abbreviations.extend([0, 0, 0]);
    let mut unit = Entries::new();
    unit.function(&[0x9c]);
    unit.0.extend([60].repeat(100_000));
    let sections = vec![(".debug_info", unit.finish(1)), (".debug_abbrev", abbreviations)];
    let image = look(&image("x", &[0x1018], sections));
    assert!(errors(&image).contains(".debug_abbrev at 0x0"), "{}", errors(&image));
    // Units whose abbreviation tables are tails of the same table.
    let mut abbreviations = self::abbreviations();
    abbreviations.splice(0..0, [1, 0x11, 0, 0, 0].repeat(40_000));
    let mut info = Vec::new();
    for index in 0..20_000u32 {
        info.extend(with_length(&[&[4, 0][..], &(index * 5).to_le_bytes(), &[8, 1]].concat()));
    }
    look(&self::image("x", &[0x1018], vec![(".debug_info", info), (".debug_abbrev", abbreviations)]));
}

#[test]
fn names_of_a_megabyte() {
    let mut unit = Entries::new();
    let int = unit.function(&[0x9c]);
    for _ in 0..20_000 {
        unit.entry(20, &[&0u32.to_le_bytes(), &int.to_le_bytes(), &[0]]);
    }
    unit.variable("x", int, STATIC);
    let mut sections = info(unit, 1);
    sections.push((".debug_str", vec![b'n'; 1 << 20].into_iter().chain([0]).collect()));
    look(&image("x, nn", &[0x1018], sections));
}

#[test]
fn declared_structures_in_a_large_unit() {
    let mut unit = Entries::new();
    unit.function(&[0x9c]);
    let mut declared = Vec::new();
    unit.0.push(0);
    for _ in 0..20_000 {
        declared.push(unit.entry(27, &[b"s\0"]));
    }
    unit.entry(2, &[b"g\0", &[1, 1], &0x1000u64.to_le_bytes(), &0x100u32.to_le_bytes(), &[0]]);
    for of in declared {
        unit.variable("x", of, STATIC);
    }
    look(&image(&["x"; 30].join(", "), &[0x1018, 0x1019, 0x101a], info(unit, 1)));
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
    let mut unit = Entries::new();
    let int = unit.function(&[0x9c]);
    let inner = unit.at();
    unit.code(15, 0x1000, 0x80);
    unit.variable("x", int, &[0x91, 0x70]);
    unit.variable("y", inner, STATIC);
    let whole = [(".debug_info", unit.finish(2)), (".debug_abbrev", abbreviations()), (".debug_line", lines(ROWS))];
    for cut in 0..whole.len() {
        for length in 0..whole[cut].1.len() {
            let mut sections = whole.to_vec();
            sections[cut].1.truncate(length);
            let image = find(&image("x, y", &[0x1018], sections));
            assert_eq!(image.markers[0].sites.len(), 1);
        }
    }
}
