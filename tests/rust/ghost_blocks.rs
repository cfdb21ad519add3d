//! Where the ghosts of Rust are: the addresses against what another reader of the debug information
//! prints, the verdicts on smallest cases, and how often probes there fire.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use simple_markers_record::ghost::Hash;
use simple_markers_resolver::resolve::{
    Absence, Exactness, ExactnessReason, GhostProblem, LikelyReason, Marker, Origin, SitePlace, Survival,
};
use simple_markers_tests::fixture;
use simple_markers_tests::ghosts::Probes;
use simple_markers_tests::matrix::{Build, Markers, TOOLCHAIN};
use simple_markers_tests::tools::{find, run};

use super::ghost_sites::{addresses, markers};

const REMOVABLE: ExactnessReason = ExactnessReason::Likely(LikelyReason::RemovableCode);

/// A program whose ghosts say in their names how often they are passed in each round.
const PROGRAM: &str = r#"use simple_markers::simple_mark;
use std::hint::black_box;
use std::fmt::Debug;

#[inline(never)]
fn work(n: u32) -> u32 {
    black_box(n) + 1
}

#[inline(never)]
fn drain(n: u32) -> u32 {
    simple_mark!(ghost:drain_1, "%u", n, options(ghost));
    let mut sum = work(n);
    for item in 0..n {
        simple_mark!(ghost:item_5, "%u", item, options(ghost));
        sum += work(item);
    }
    simple_mark!(ghost:last, "%u", sum, options(ghost));
    sum
}

#[inline(always)]
fn inlined(n: u32) -> u32 {
    if n & 1 == 0 {
        simple_mark!(ghost:inlined_2, "%u", n, options(ghost));
        let m = work(n);
        black_box(&m);
        return m;
    }
    n
}

#[inline(never)]
fn generic<T: Debug + Copy>(n: T) -> usize {
    simple_mark!(ghost:generic_2, "", options(ghost));
    work(size_of::<T>() as u32);
    black_box(n);
    black_box(size_of::<T>())
}

#[inline(never)]
fn called(f: &dyn Fn(u32) -> u32) -> u32 {
    f(3)
}

const fn folded(n: u32) -> u32 {
    simple_mark!(ghost:folded, "%u", n, options(ghost));
    let mut n = n;
    n += 1;
    n
}

const FOLDED: u32 = folded(3);

#[inline(never)]
fn first(n: u32) -> u32 {
    inlined(n) + 1
}

#[inline(never)]
fn second(n: u32) -> u32 {
    inlined(n) + 2
}

#[inline(never)]
fn round(n: u32) -> u32 {
    let closure = |m: u32| {
        simple_mark!(ghost:closure_1, "%u", m, options(ghost));
        work(m ^ n)
    };
    let sum = called(black_box(&closure)) ^ FOLDED;
    sum ^ drain(black_box(5)) ^ first(black_box(2)) ^ second(black_box(4)) ^ generic(1u8) as u32 ^ generic(1u64) as u32
}

fn main() {
    let rounds: u32 = std::env::args().nth(1).map_or(3, |word| word.parse().unwrap());
    println!("{}", (0..rounds).fold(0, |sum: u32, number| sum.wrapping_add(round(number))));
}
"#;

/// Compiles the program.
fn program(build: &Build<'_>, text: &str, options: &[&str]) -> PathBuf {
    let source = build.folder().join("program.rs");
    fs::write(&source, text).expect("the source");
    fixture::succeeds_silently(build.compilation(&source, &["--crate-type=bin", "-Ccodegen-units=1"]).args(options));
    build.folder().join("program")
}

/// Where the blocks of each ghost begin, by the name of its variable, as llvm-dwarfdump prints them.
fn blocks(image: &Path) -> BTreeMap<String, BTreeSet<u64>> {
    let text = run(Command::new(find("llvm-dwarfdump").expect("the tool")).arg("--debug-info").arg(image));
    let entries: Vec<&str> = text.split("\n0x").collect();
    let value = |entry: &str, name: &str| {
        let rest = entry.split_once(name)?.1.split_once('(')?.1;
        Some(rest.split_once([')', ','])?.0.trim_matches(['"', '[', ' ', '\n']).to_owned())
    };
    let offset = |entry: &str| format!("0x{}", entry.split(':').next().expect("an offset"));
    let names: BTreeMap<String, String> = entries
        .iter()
        .filter(|entry| entry.contains("DW_TAG_variable"))
        .filter_map(|entry| Some((offset(entry), value(entry, "DW_AT_name")?)))
        .collect();
    let mut found: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    // The blocks around the current entry, by their columns.
    let mut around: Vec<(usize, Option<u64>)> = Vec::new();
    for entry in &entries {
        let Some(column) = entry.find("DW_TAG_") else { continue };
        around.retain(|(of, _)| *of < column);
        if entry.contains("DW_TAG_variable") {
            let name = value(entry, "DW_AT_name").or_else(|| {
                let origin = value(entry, "DW_AT_abstract_origin")?;
                names.get(origin.split_whitespace().next()?).cloned()
            });
            if let (Some(name), Some((_, Some(low)))) = (name, around.last()) {
                found.entry(name).or_default().insert(*low);
            }
        } else {
            let number = |text: String| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
            let low = value(entry, "DW_AT_low_pc").and_then(number);
            let ranges = entry.split_once("DW_AT_ranges").and_then(|(_, rest)| {
                let lows = rest.lines().skip(1).filter_map(|line| line.trim().strip_prefix('['));
                lows.filter_map(|line| number(line.split(',').next()?.to_owned())).min()
            });
            around.push((column, low.or(ranges)));
        }
    }
    found
}

fn variable(marker: &Marker) -> String {
    let args: Vec<&str> = marker.args.iter().map(|arg| &*arg.text).collect();
    Hash::new(marker.name.as_bytes(), marker.format.as_bytes(), args.join(", ").as_bytes()).variable()
}

#[test(cases = OPTIONS, desk = [0])]
fn ghosts_by_rustc_are_where_their_blocks_begin(options: &[&str]) {
    const OPTIONS: [&[&str]; 4] = [
        &["-Copt-level=3", "-Cpanic=abort"],
        &["-Copt-level=1"],
        &["-Copt-level=s", "-Clto=fat"],
        &["-Copt-level=z", "-Clto=thin"],
    ];
    let has_dump = find("llvm-dwarfdump").is_some();
    let probes = Probes::open();
    let build = TOOLCHAIN.build(Markers::On);
    let image = program(&build, PROGRAM, &[options, &["-Cdebuginfo=2"]].concat());
    let blocks = if has_dump { blocks(&image) } else { BTreeMap::new() };
    let mut places = BTreeMap::new();
    let all: Vec<Marker> = markers(&image).into_iter().filter(|marker| marker.is_ghost).collect();
    assert_eq!(all.len(), 7, "{options:?}");
    for marker in &all {
        let what = format!("{options:?} {}", marker.name);
        let found = addresses(marker);
        // Nothing follows the ghost, or the function runs in the compiler.
        let is_gone = matches!(&*marker.name, "ghost:last" | "ghost:folded");
        // LLVM drops the blocks of inlined copies in which no variable has a place.
        let is_dropped = &*marker.name == "ghost:inlined_2";
        let survival = match () {
            () if is_gone => (Some(Survival::Eliminated), marker.absence.clone()),
            () if is_dropped => (None, Some(Absence::Ghost { problem: GhostProblem::NoPlace })),
            () => (Some(Survival::Live), None),
        };
        assert_eq!((marker.survival, marker.absence.clone()), survival, "{what}");
        if has_dump {
            assert_eq!(found, blocks.get(&variable(marker)).cloned().unwrap_or_default(), "{what}");
        }
        let copies = match &*marker.name {
            "ghost:generic_2" => 2,
            _ if is_gone || is_dropped => 0,
            _ => 1,
        };
        assert_eq!(found.len(), copies, "{what}");
        for site in &marker.sites {
            assert_eq!(site.exactness, Some(Exactness::Likely), "{what}");
            // The shim for calls through a virtual table may have an inlined copy of the closure.
            let is_copied = &*marker.name == "ghost:closure_1";
            assert!(is_copied || site.exactness_reason == Some(REMOVABLE), "{what}: {:?}", site.exactness_reason);
            assert_eq!(site.origin, Origin::Block, "{what}");
            let Some(SitePlace::Address(address)) = site.place else { panic!("{what}: {:?}", site.place) };
            places.insert(address, (&marker.name, site.file_offset.expect("in the file").0));
        }
    }
    let offsets: Vec<_> = places.iter().map(|(at, (_, offset))| (*at, *offset)).collect();
    let result = |rounds: &u32| run(Command::new(&image).arg(rounds.to_string())).trim().to_owned();
    let results: Vec<String> = probes.runs().iter().map(result).collect();
    let counts = probes.count(&image, &offsets, &results).unwrap_or_else(|why| panic!("{options:?}: {why}"));
    assert_eq!(counts.len(), results.len());
    for (rounds, hits) in probes.runs().iter().zip(counts) {
        let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
        for ((name, _), hits) in places.values().zip(hits) {
            *by_name.entry(name).or_default() += hits;
        }
        for (name, hits) in by_name {
            let passes: u64 = name.rsplit('_').next().and_then(|number| number.parse().ok()).expect("a number");
            assert_eq!(hits, passes * u64::from(*rounds), "{options:?} {name}");
        }
    }
}

#[test]
fn without_full_debug_information_the_place_of_a_ghost_in_rust_is_unknown() {
    for (option, problem) in [
        ("-Cdebuginfo=line-tables-only", GhostProblem::LinesOnly),
        ("-Cdebuginfo=1", GhostProblem::LinesOnly),
        ("-Cdebuginfo=0", GhostProblem::NoDebugInfo),
    ] {
        let build = TOOLCHAIN.build(Markers::On);
        let image = program(&build, PROGRAM, &["-Copt-level=1", option]);
        for marker in markers(&image).iter().filter(|marker| marker.is_ghost) {
            let unknown = (None, Some(Absence::Ghost { problem }));
            assert_eq!((marker.survival, marker.absence.clone()), unknown, "{option} {}", marker.name);
        }
    }
}

/// Two functions with the same code, one of them with a ghost.
const MERGED: &str = r#"use simple_markers::simple_mark;
use std::hint::black_box;

#[inline(never)]
fn work(n: u32) -> u32 {
    black_box(n) + 1
}

#[inline(never)]
fn marked(n: u32) -> u32 {
    simple_mark!(ghost:merged, "%u", n, options(ghost));
    work(n) ^ 21
}

#[allow(dead_code)]
#[inline(never)]
fn other_(n: u32) -> u32 {
    work(n) ^ 21
}

fn main() {
    println!("{}", marked(black_box(1)));
    println!("{}", other_(black_box(2)));
}
"#;

/// LLVM merges functions with the same code, and leaves no trace of it. So no reader of the image can
/// know how often the ghost is passed.
#[test]
fn merged_functions_are_one_image_of_two_sources() {
    let build = TOOLCHAIN.build(Markers::On);
    // The ghost is passed twice.
    let called_twice = MERGED.replace("other_(black_box", "marked(black_box");
    assert_ne!(called_twice, MERGED);
    let [once, twice] = [MERGED, &called_twice].map(|source| {
        let image = program(&build, source, &["-Copt-level=2", "-Cdebuginfo=2"]);
        let all = markers(&image);
        let [marker] = all.as_slice() else { panic!("{all:?}") };
        let [site] = &*marker.sites else { panic!("{marker:?}") };
        assert_eq!((site.exactness, &site.exactness_reason), (Some(Exactness::Likely), &Some(REMOVABLE)));
        fs::read(&image).expect("the image")
    });
    assert!(once == twice, "the images differ");
}
