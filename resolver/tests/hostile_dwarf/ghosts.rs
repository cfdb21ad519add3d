//! Labels, statements and blocks that claim to be places of ghosts: floods, circles and lies.

use std::collections::BTreeSet;

use images::dwarf::{SectionBytes, section};
use images::{Linked, Strings, declaration, ghost};
use simple_markers_resolver::record::ghost::Hash;
use simple_markers_resolver::resolve::{
    Absence, ApproximateReason, ExactnessReason, GhostProblem, Marker, ResolvedImage, SitePlace, Survival, Verdict,
};

use super::unit::Unit;
use super::unit::abbreviation::*;
use super::{ROWS, STATIC, errors, find, flood, lines};

/// The lines of the ghosts `g:0`, `g:1`, ... and the unit's entries, behind those of the function `f`.
fn with_ghosts(ghosts: &[u32], sections: Vec<SectionBytes>) -> ResolvedImage {
    let mut strings = Strings::default();
    let site = strings.site(0x1018, 3, ["a:b", "a.c", "", "x", ""]);
    let mut declarations = vec![declaration("a:b", "a.c", 3, "", "x")];
    declarations.extend(ghosts.iter().enumerate().map(|(index, line)| ghost(&format!("g:{index}"), "a.c", *line)));
    let mut linked = Linked::new().markers(&declarations, &[site], strings).sections(sections);
    // A local symbol shows that the linker folded no function.
    linked.functions = vec![("f", 0x1000, 0x100, false)];
    let image = find(&linked.build());
    // The other marker is found in any case.
    let other = marker(&image, "a:b");
    assert_eq!(addresses(other), [0x1018]);
    image
}

fn marker<'m>(image: &'m ResolvedImage, name: &str) -> &'m Marker {
    image.markers.iter().find(|marker| &*marker.name == name).expect("a declaration")
}

fn addresses(marker: &Marker) -> Vec<u64> {
    let address = |place: &Option<SitePlace>| match place {
        Some(SitePlace::Address(address)) => address.0,
        place => panic!("{}: {place:?}", marker.name),
    };
    marker.sites.iter().map(|site| address(&site.place)).collect()
}

/// Asserts that the debug information is sound, and that the other marker's argument can be read.
fn assert_sound(image: &ResolvedImage) {
    assert_eq!(errors(image), "");
    assert_eq!(marker(image, "a:b").sites[0].args[0].verdict, Some(Verdict::Live));
}

/// A unit with the function `f` and its variable `x`.
fn open(mut unit: Unit) -> Unit {
    let int = unit.function(&[0x9c]);
    unit.variable("x", int, STATIC);
    unit
}

/// The error if the work limit is reached.
const TOO_MUCH: &str = "debug information: more work than debug information of this size warrants\n";

const LABEL_NAME: &[u8] = b"simple_ghost_1_0\0";

fn label(unit: &mut Unit, line: u16, address: u64) -> u32 {
    unit.entry(LABEL, &[LABEL_NAME, &[1], &line.to_le_bytes(), &address.to_le_bytes()])
}

fn copy_of_label(unit: &mut Unit, origin: u32, address: u64) -> u32 {
    unit.entry(LABEL_OF_ORIGIN, &[&origin.to_le_bytes(), &address.to_le_bytes()])
}

/// Adds the variable of the ghost `g:INDEX` of a line.
fn variable(unit: &mut Unit, index: usize, line: u16) -> u32 {
    let name = Hash::new(format!("g:{index}").as_bytes(), b"", b"").variable();
    unit.entry(DECLARED_VARIABLE, &[name.as_bytes(), &[0, 1], &line.to_le_bytes()])
}

#[test]
fn ten_thousand_labels_of_one_name() {
    let mut unit = open(Unit::new());
    for index in 0..10_000 {
        label(&mut unit, 5, 0x1000 + index % 0x100);
    }
    let image = with_ghosts(&[5, 6], unit.finish(1));
    assert_sound(&image);
    assert_eq!(addresses(marker(&image, "g:0")), (0x1000..0x1100).collect::<Vec<_>>());
    assert_eq!(marker(&image, "g:1").survival, Some(Survival::Eliminated));
}

#[test]
fn twenty_thousand_labels_in_one_line_of_code() {
    let mut unit = open(Unit::new());
    for index in 0..20_000 {
        label(&mut unit, 5, 0x1000 + index);
    }
    let mut sections = unit.finish(1);
    // A row of line 8 and one of line 9 for each byte.
    *section(&mut sections, ".debug_line") =
        lines(&[&[3, 7][..], &[1, 3, 1, 1, 3, 0x7f, 2, 1].repeat(20_000)].concat());
    let image = with_ghosts(&[5], sections);
    assert_eq!(errors(&image), "");
    let sites = &marker(&image, "g:0").sites;
    assert_eq!(sites.len(), 20_000);
    let reason = ExactnessReason::Approximate(ApproximateReason::RepeatedLine { places: 0x100 });
    assert_eq!(sites[0x20].exactness_reason, Some(reason));
}

#[test]
fn labels_in_some_of_ten_thousand_copies() {
    let mut unit = Unit::new();
    let function = unit.entry(INLINE_SUBPROGRAM, &[b"g\0", &[1, 4, 1]]);
    let origin = unit.entry(ABSTRACT_LABEL, &[LABEL_NAME, &[1, 5, 0]]);
    unit.end();
    let mut unit = open(unit);
    for index in 0..10_000 {
        let address = 0x1080 + index % 100;
        unit.inlined(function, address, 1);
        if index < 100 {
            copy_of_label(&mut unit, origin, address);
        }
        unit.end();
    }
    let image = with_ghosts(&[5], unit.finish(1));
    assert_sound(&image);
    let ghost = marker(&image, "g:0");
    assert_eq!(addresses(ghost), (0x1080..0x10e4).collect::<Vec<_>>());
    let reason = ExactnessReason::Approximate(ApproximateReason::MissingCopies { count: 9_900 });
    assert_eq!(ghost.sites[1].exactness_reason, Some(reason));
}

/// A label that cannot be read: the ghosts of its unit are unknown, and the reason is named.
#[test]
fn labels_whose_origins_lead_nowhere() {
    type Add = fn(&mut Unit) -> u32;
    let circle = "a chain of DW_AT_abstract_origin and DW_AT_specification that does not end";
    let cases: [(Add, &str); 4] = [
        (|unit| copy_of_label(unit, unit.next(), 0x1010), circle),
        (
            |unit| {
                let first = unit.next();
                let second = first + 13;
                assert_eq!(copy_of_label(unit, second, 0x1010), first);
                assert_eq!(copy_of_label(unit, first, 0x1010), second);
                first
            },
            circle,
        ),
        (|unit| copy_of_label(unit, 0xffff_fff0, 0x1010), ""),
        (|unit| copy_of_label(unit, 3, 0x1010), ""),
    ];
    for (add, problem) in cases {
        let mut unit = open(Unit::new());
        label(&mut unit, 8, 0x1010);
        let at = add(&mut unit);
        let image = with_ghosts(&[5, 8], unit.finish(1));
        let errors = errors(&image);
        assert!(errors.contains(".debug_info at 0x") && errors.contains(problem), "{errors}");
        assert!(problem.is_empty() || errors.contains(&format!("{at:#x}")), "{errors}");
        for ghost in ["g:0", "g:1"].map(|name| marker(&image, name)) {
            assert_eq!(ghost.absence, Some(Absence::Ghost { problem: GhostProblem::Unreadable }));
            assert_eq!((ghost.survival, ghost.sites.len()), (None, 0));
        }
    }
}

/// The ghosts of other units are found all the same.
#[test]
fn a_unit_that_cannot_be_read_before_a_sound_one() {
    let mut broken = open(Unit::new());
    copy_of_label(&mut broken, 3, 0x1010);
    let mut sections = broken.finish(1);
    *section(&mut sections, ".debug_line") = lines(ROWS);
    let mut sound = open(Unit::new());
    label(&mut sound, 8, 0x1020);
    let first_entry = sound.int as usize;
    let mut others = sound.finish(1);
    let mut rows = lines(ROWS);
    let name = rows.windows(3).position(|bytes| bytes == b"a.c").expect("the name of the file");
    rows[name] = b'b';
    *section(&mut others, ".debug_line") = rows;
    let tables = [".debug_abbrev", ".debug_line"].map(|name| section(&mut sections, name).len() as u32);
    let info = section(&mut others, ".debug_info");
    // The offset of the table in the header, and DW_AT_stmt_list, which the root has last.
    for (at, table) in [6, first_entry - 4].into_iter().zip(tables) {
        assert_eq!(info[at..at + 4], [0; 4]);
        info[at..at + 4].copy_from_slice(&table.to_le_bytes());
    }
    for (name, bytes) in others {
        section(&mut sections, name).extend(bytes);
    }
    let declarations = [ghost("g:broken", "a.c", 8), ghost("g:sound", "b.c", 8)];
    let image = Linked::new().markers(&declarations, &[], Strings::default()).sections(sections);
    let image = find(&image.build());
    assert_ne!(errors(&image), "");
    let broken = marker(&image, "g:broken");
    assert_eq!(broken.absence, Some(Absence::Ghost { problem: GhostProblem::Unreadable }));
    assert_eq!((addresses(broken), addresses(marker(&image, "g:sound"))), (vec![], vec![0x1020]));
}

/// An entry of another kind as the origin of a label lends its name and its line, if it has them.
#[test]
fn labels_whose_origins_are_no_labels() {
    let mut unit = open(Unit::new());
    let (int, good) = (unit.int, label(&mut unit, 8, 0x1010));
    copy_of_label(&mut unit, int, 0x1020);
    let named = unit.entry(DECLARED_VARIABLE, &[LABEL_NAME, &[1, 5, 0]]);
    copy_of_label(&mut unit, named, 0x1030);
    copy_of_label(&mut unit, good, 0x1040);
    // Its code was dropped.
    copy_of_label(&mut unit, good, 0);
    let image = with_ghosts(&[5, 8], unit.finish(1));
    assert_sound(&image);
    assert_eq!(addresses(marker(&image, "g:0")), [0x1030]);
    let ghost = marker(&image, "g:1");
    assert_eq!(ghost.survival, Some(Survival::Live));
    let places: Vec<_> = ghost.sites.iter().map(|site| site.place.clone()).collect();
    assert!(matches!(places[..], [Some(SitePlace::Address(_)), Some(SitePlace::Address(_)), None]), "{places:?}");
}

#[test]
fn labels_of_many_ghosts_on_one_line() {
    let mut unit = open(Unit::new());
    for index in 0..5_000 {
        label(&mut unit, 5, 0x1000 + index % 0x100);
    }
    let image = with_ghosts(&[5; 5_000], unit.finish(1));
    assert_sound(&image);
    let is_shared = |marker: &&Marker| marker.absence == Some(Absence::Ghost { problem: GhostProblem::SharedLine });
    assert_eq!(image.markers.iter().filter(is_shared).count(), 5_000);
}

#[test]
fn a_hundred_thousand_blocks_of_a_ghost_side_by_side() {
    let mut unit = open(Unit::by_rustc());
    for index in 0..flood(100_000) {
        unit.block(0x1020 + index as u64 % 0x40, 0x10);
        variable(&mut unit, 0, 5);
        unit.end();
    }
    let image = with_ghosts(&[5, 6], unit.finish(1));
    assert_sound(&image);
    // In each copy of a function, the first variable with the ghost's hash counts.
    assert_eq!(addresses(marker(&image, "g:0")), [0x1020]);
    assert_eq!(marker(&image, "g:1").survival, Some(Survival::Eliminated));
}

/// The search for the scope at the start of so many blocks is given up.
#[test]
fn blocks_of_a_ghost_in_one_another() {
    for (count, problem) in [(50, ""), (flood(100_000), TOO_MUCH)] {
        let mut unit = open(Unit::by_rustc());
        for _ in 0..count {
            unit.block(0x1020, 0x10);
            variable(&mut unit, 0, 5);
        }
        let image = with_ghosts(&[5], unit.finish(count + 1));
        assert!(errors(&image).starts_with(problem), "{}", errors(&image));
        assert_eq!(errors(&image).is_empty(), problem.is_empty());
        assert_eq!(addresses(marker(&image, "g:0")), [0x1020]);
    }
}

#[test]
fn a_hundred_thousand_variables_with_the_hash_of_a_ghost() {
    let mut unit = open(Unit::by_rustc());
    unit.block(0x1020, 0x10);
    for line in 0..flood(100_000) {
        variable(&mut unit, 0, 1 + (line % 60_000) as u16);
    }
    unit.block(0x1028, 8);
    variable(&mut unit, 1, 7);
    let image = with_ghosts(&[5, 7], unit.finish(3));
    assert_sound(&image);
    assert_eq!(addresses(marker(&image, "g:0")), [0x1020]);
    assert_eq!(addresses(marker(&image, "g:1")), [0x1028]);
}

/// The variables of thousands of ghosts in a function with thousands of copies, none of which has
/// their blocks.
#[test]
fn ghosts_in_copies_without_their_blocks() {
    let count = 2_000;
    let mut unit = Unit::by_rustc();
    let function = unit.entry(INLINE_SUBPROGRAM, &[b"g\0", &[1, 4, 1]]);
    unit.entry(BLOCK, &[]);
    for index in 0..count {
        variable(&mut unit, index, 5 + index as u16);
    }
    unit.end();
    unit.end();
    let mut unit = open(unit);
    for _ in 0..20_000 {
        unit.inlined(function, 0x1080, 0x10);
        unit.end();
    }
    let ghosts: Vec<u32> = (5..).take(count).collect();
    let image = with_ghosts(&ghosts, unit.finish(1));
    assert_sound(&image);
    let is_without = |marker: &&Marker| marker.absence == Some(Absence::Ghost { problem: GhostProblem::NoPlace });
    assert_eq!(image.markers.iter().filter(is_without).count(), count);
}

/// The code of a block with the variable of a ghost: the ranges, relative to 0x1000, and where
/// control enters them in a function of `nop`.
#[test]
fn blocks_with_ranges_of_everything_backwards_and_over_each_other() {
    // Relative to 0x1000, as all ranges. 0 and the last address are those of dropped code.
    let everything = (0x10u64.wrapping_sub(0x1000), u64::MAX - 0x1001);
    let many: Vec<(u64, u64)> = (0..20_000).map(|index| (0x20 + index % 0x40, 0x60 + index % 0x11)).collect();
    type Case<'c> = (&'c [(u64, u64)], &'c [u64]);
    let cases: [Case<'_>; 6] = [
        (&[everything], &[0x1000]),
        (&[(0x40, 0x20)], &[]),
        (&[(0x40, 0x20), (0x30, 0x38), (0x28, 0x34)], &[0x1028]),
        (&[(0x10_0000, 0x20_0000)], &[0x10_1000]),
        (&[(0x40, 0x48), (0x20, 0x28)], &[0x1020]),
        (&many, &[0x1020]),
    ];
    for (ranges, expected) in cases {
        let mut unit = open(Unit::by_rustc());
        unit.entry(BLOCK_WITH_RANGES, &[&0u32.to_le_bytes()]);
        variable(&mut unit, 0, 5);
        unit.block(0x1080, 8);
        variable(&mut unit, 1, 7);
        let mut sections = unit.finish(3);
        let ranges = ranges.iter().chain(&[(0, 0)]).flat_map(|(begin, end)| [begin.to_le_bytes(), end.to_le_bytes()]);
        sections.push((".debug_ranges", ranges.flatten().collect()));
        let image = with_ghosts(&[5, 7], sections);
        assert_sound(&image);
        assert_eq!(addresses(marker(&image, "g:0")), expected);
        assert_eq!(addresses(marker(&image, "g:1")), [0x1080]);
    }
}

#[test]
fn a_block_of_many_ranges_with_the_variables_of_many_ghosts() {
    let mut unit = open(Unit::by_rustc());
    unit.entry(BLOCK_WITH_RANGES, &[&0u32.to_le_bytes()]);
    for index in 0..500 {
        variable(&mut unit, index, 5);
    }
    let mut sections = unit.finish(2);
    let ranges = (0..20_000u64).map(|index| (0x20 + 4 * index, 0x22 + 4 * index)).chain([(0, 0)]);
    let ranges = ranges.flat_map(|(begin, end)| [begin.to_le_bytes(), end.to_le_bytes()]);
    sections.push((".debug_ranges", ranges.flatten().collect()));
    let image = with_ghosts(&[5; 500], sections);
    assert_sound(&image);
    let found: BTreeSet<Vec<u64>> = (0..500).map(|index| addresses(marker(&image, &format!("g:{index}")))).collect();
    // The first range leads to all others.
    assert_eq!(found, BTreeSet::from([vec![0x1020]]));
}

#[test]
fn ten_thousand_statements_on_one_line() {
    // Lines 5 and 6 in turns, forty times at each address.
    let at_address = [&[1, 3, 1, 1, 3, 0x7f].repeat(40)[..], &[2, 1]].concat();
    let mut sections = open(Unit::by_gcc()).finish(1);
    *section(&mut sections, ".debug_line") = lines(&[&[3, 4][..], &at_address.repeat(0x100)].concat());
    let image = with_ghosts(&[5, 7], sections);
    assert_sound(&image);
    let ghost = marker(&image, "g:0");
    assert_eq!(addresses(ghost), (0x1000..0x1100).collect::<Vec<_>>());
    let reason = ExactnessReason::Approximate(ApproximateReason::RepeatedStatement { copies: 40 * 0x100 });
    assert_eq!(ghost.sites[0].exactness_reason, Some(reason));
    assert_eq!(marker(&image, "g:1").survival, Some(Survival::Eliminated));
}

/// All spellings of the name of a file are one file, so the rows of the line are read once.
#[test]
fn statements_of_one_line_in_many_spellings_of_its_file() {
    let mut sections = open(Unit::by_gcc()).finish(1);
    *section(&mut sections, ".debug_line") = lines(&[&[3, 4][..], &[1, 3, 1, 1, 3, 0x7f].repeat(1_000)].concat());
    let declarations: Vec<_> = (0..150).map(|count| ghost("g:g", &format!("{}a.c", "./".repeat(count)), 5)).collect();
    let image = Linked::new().markers(&declarations, &[], Strings::default()).sections(sections);
    let found = find(&image.build());
    assert_eq!(errors(&found), "");
    assert_eq!(found.markers.iter().map(addresses).collect::<Vec<_>>(), [[0x1000]]);
}

/// The places of ghosts, by name.
type Places = [(&'static str, &'static [u64]); 2];

/// Programs by clang, gcc and rustc with two ghosts, and where these are as llvm-dwarfdump says: the
/// labels, the rows of lines 5 and 12, and where control enters the only block with a variable.
pub(super) const COMPILED: [(&[u8], Places); 3] = [
    (
        include_bytes!("../../../fuzz/seeds/image/ghosts-clang.exe"),
        [("g:half", &[0x40_00b9, 0x40_00d8]), ("g:f", &[0x40_00ec])],
    ),
    (
        include_bytes!("../../../fuzz/seeds/image/ghosts-gcc.exe"),
        [("g:half", &[0x40_00e0, 0x40_0100]), ("g:f", &[0x40_00c2, 0x40_00f1])],
    ),
    (include_bytes!("../../../fuzz/seeds/image/ghosts-rustc.exe"), [("g:half", &[]), ("g:f", &[0x40_00ce, 0x40_00f1])]),
];

#[test]
fn ghosts_of_sound_programs() {
    for (program, ghosts) in COMPILED {
        let image = find(program);
        assert_eq!(errors(&image), "");
        for (name, places) in ghosts {
            assert_eq!(addresses(marker(&image, name)), places, "{name}");
        }
    }
}
