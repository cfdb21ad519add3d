//! Does a probe fire when, and only when, the marker is passed: the verdicts for a program that counts by itself, against what gdb
//! counts at the addresses.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::resolve::{Exactness, Place, Resolution, resolve};
use simple_markers_tests::header::{Compiler, Language};
use simple_markers_tests::tools::{find, run, skipped};

const SOURCE: &str = "tests/uprobe/exactness.c";

fn compile(compiler: Compiler, level: &str, folder: &Path) -> Option<PathBuf> {
    if find(compiler.name()).is_none() {
        skipped(&format!("no {}", compiler.name()));
        return None;
    }
    let program = folder.join(format!("{}{level}", compiler.name()));
    // At the addresses that the image has, so that gdb needs no bias.
    run(compiler.command(Language::C).args([level, "-g", "-fno-pie", "-no-pie", SOURCE, "-o"]).arg(&program));
    Some(program)
}

/// The verdict and the addresses of each marker.
fn verdicts(program: &Path) -> BTreeMap<String, Vec<(Vaddr, Exactness)>> {
    let data = std::fs::read(program).expect("the program");
    let Resolution { images, failures } = resolve(&program.to_string_lossy(), &data);
    assert!(failures.is_empty(), "{failures:?}");
    let markers = images.iter().flat_map(|image| &image.markers);
    let sites = markers.map(|marker| {
        let site = marker.sites.iter().map(|site| {
            let Some(Place::Address(address)) = site.place else { panic!("{} has no address", marker.name) };
            (address, site.exactness.expect("a verdict"))
        });
        (marker.name.rsplit(':').next().unwrap_or_default().to_owned(), site.collect())
    });
    sites.collect()
}

/// How often gdb comes by each of some addresses.
fn count(program: &Path, addresses: &[Vaddr]) -> Vec<u64> {
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-ex", "set confirm off", "-ex", "set width 0"]);
    for (index, address) in addresses.iter().enumerate() {
        gdb.args(["-ex", &format!("break *{address}"), "-ex", &format!("ignore {} 1000000", index + 1)]);
    }
    let said = run(gdb.args(["-ex", "run", "-ex", "info breakpoints"]).arg(program));
    let mut hits = vec![0; addresses.len()];
    let mut current = 0;
    for line in said.lines() {
        let mut words = line.split_whitespace();
        let number = words.next().and_then(|word| word.parse::<usize>().ok());
        if let (Some(number), Some("breakpoint")) = (number, words.next()) {
            current = number;
        }
        let hit = line.trim().strip_prefix("breakpoint already hit ");
        if let Some(times) = hit.and_then(|rest| rest.split(' ').next()?.parse().ok()) {
            hits[current - 1] = times;
        }
    }
    hits
}

/// What the program itself counts.
fn counted(program: &Path) -> BTreeMap<String, u64> {
    let said = run(&mut Command::new(program));
    let line = |line: &str| {
        let (name, count) = line.split_once(' ').expect("a name and a count");
        (name.to_owned(), count.parse().expect("a count"))
    };
    said.lines().map(line).collect()
}

#[test]
fn what_is_exact_is_hit_as_often_as_the_marker_is_passed() {
    if cfg!(not(target_arch = "x86_64")) || find("gdb").is_none() {
        return skipped("no gdb, or another processor than x86-64");
    }
    let folder = tempfile::tempdir().expect("a folder");
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        for level in ["-O0", "-O1", "-O2", "-O3", "-Os"] {
            let Some(program) = compile(compiler, level, folder.path()) else { continue };
            let (verdicts, counted) = (verdicts(&program), counted(&program));
            assert_eq!(verdicts.keys().collect::<Vec<_>>(), counted.keys().collect::<Vec<_>>());
            for (name, sites) in &verdicts {
                let addresses: Vec<Vaddr> = sites.iter().map(|(address, _)| *address).collect();
                let hits: u64 = count(&program, &addresses).iter().sum();
                let row = format!("{} {level} {name}: {sites:?}, {hits} hits", compiler.name());
                if sites.iter().all(|(_, exactness)| *exactness == Exactness::Exact) {
                    assert_eq!(hits, counted[name], "{row}");
                }
                // No verdict is ever missing, and a miss is never excused: a probe fires at least as often.
                assert!(hits >= counted[name], "{row}");
                eprintln!("{row}, passed {}", counted[name]);
            }
        }
    }
}

#[test]
fn verdicts_are_those_that_the_instructions_show() {
    if cfg!(not(target_arch = "x86_64")) || find("gcc").is_none() {
        return skipped("no gcc, or another processor than x86-64");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = compile(Compiler::Gcc, "-Os", folder.path()) else { return };
    let verdicts = verdicts(&program);
    for (name, expected) in [
        ("shared", Exactness::Shared),
        ("anchored", Exactness::Exact),
        ("entry", Exactness::Exact),
        ("straight", Exactness::Exact),
        ("zero", Exactness::Exact),
        ("five", Exactness::Shared),
    ] {
        assert!(verdicts[name].iter().all(|(_, exactness)| *exactness == expected), "{name}: {:?}", verdicts[name]);
    }
    if find("gdb").is_some() {
        let shared: Vec<Vaddr> = verdicts["shared"].iter().map(|(address, _)| *address).collect();
        assert_ne!(count(&program, &shared).iter().sum::<u64>(), counted(&program)["shared"]);
    }
}
