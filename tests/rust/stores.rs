//! Values whose stores a compiler delays or drops: behind exclusive references and `restrict`, in
//! structs passed by value and in local arrays. `keep` makes them exact. The programs of `tests/stores/` run
//! optimised under gdb, and their twins print the values that the source has.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::process::Command;

use simple_markers_resolver::resolve::{Argument, SitePlace};
use simple_markers_tests::computer::Computer;
use simple_markers_tests::gdb::{Next, Session, known_bytes};
use simple_markers_tests::header::{Compiler, Language};
use simple_markers_tests::matrix::{Markers, Toolchain};
use simple_markers_tests::second_opinion::resolve;
use simple_markers_tests::{fixture, tools};

/// The values of each marker, in the order of its passes.
type Values = BTreeMap<String, Vec<u64>>;

/// What the unoptimised twin prints: `NAME VALUE` at each pass of a marker.
fn printed(twin: &mut Command) -> Values {
    let mut values = Values::new();
    for line in tools::run(twin).lines() {
        let (name, value) = line.split_once(' ').expect("NAME VALUE");
        values.entry(name.to_owned()).or_default().push(value.parse().expect("a number"));
    }
    values
}

/// What is read of the first argument of each marker in the optimised program; 0 for a value that is
/// not readable. Each marker has an anchor, so it is passed whenever its address is.
fn read(computer: Computer, image: &Path) -> Values {
    let resolution = resolve(&image.to_string_lossy(), &fs::read(image).expect("the program can be read"));
    let markers = resolution.images.iter().flat_map(|image| &image.markers);
    let sites = markers.flat_map(|marker| marker.sites.iter().map(move |site| (marker, site)));
    let sites: HashMap<_, _> = sites
        .filter_map(|(marker, site)| match site.place {
            Some(SitePlace::Address(address)) => Some((address, (&*marker.name, site.args.first().expect("a value")))),
            _ => None,
        })
        .collect();
    let session = Session::start(computer, image, "");
    session.stop_at(&sites.keys().copied().collect::<Vec<_>>(), 100);
    let mut values = Values::new();
    while let Next::Stopped(address) = session.resume() {
        let (name, argument) = sites[&address];
        values.entry(name.to_owned()).or_default().push(value(argument, &session));
    }
    values
}

fn value(argument: &Argument, session: &Session) -> u64 {
    let bytes = known_bytes(argument, &session.stopped()).and_then(Result::ok).map(|(bytes, _)| bytes);
    bytes.and_then(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?))).unwrap_or_default()
}

/// Compares the markers whose values are right by construction, and returns the other markers of
/// which a value is wrong.
fn wrong_places(what: &str, read: &Values, printed: &Values) -> Vec<String> {
    assert!(read.len() >= 16, "{what}: {read:?}");
    assert_eq!(read.keys().collect::<Vec<_>>(), printed.keys().collect::<Vec<_>>(), "{what}");
    let mut wrong = Vec::new();
    for (name, values) in printed {
        if name.starts_with("plain:") {
            wrong.extend((read[name] != *values).then(|| name.clone()));
        } else {
            assert_eq!(read[name], *values, "{what}: {name}");
        }
    }
    wrong
}

fn c_has_the_values_of_its_source(computer: Computer, compiler: Compiler) -> Vec<String> {
    let mut wrong = Vec::new();
    if !computer.has(compiler) {
        return wrong;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    for language in [Language::C, Language::Cxx] {
        if computer == Computer::Aarch64 && language == Language::Cxx {
            continue;
        }
        let build = |name: &str, options: &[&str]| {
            let image = folder.path().join(name);
            let mut command = computer.compilation(compiler, language);
            if language == Language::Cxx {
                command.args(["-x", "c++"]);
            }
            tools::run(command.args(options).args(["-g", "tests/stores/stores.c", "-o"]).arg(&image));
            image
        };
        let printed = printed(&mut computer.runs(&build("twin", &["-O0", "-DTWIN"])));
        for level in tools::slice("stores", &["-O0", "-O1", "-O2", "-O3", "-Os"], &[1, 2]) {
            let what = format!("{} {language} {level}", compiler.name());
            let image = build(&format!("stores{level}"), &[level]);
            wrong.extend(wrong_places(&what, &read(computer, &image), &printed));
        }
    }
    wrong
}

#[test]
fn what_gcc_keeps_is_what_the_source_has() {
    c_has_the_values_of_its_source(Computer::Here, Compiler::Gcc);
}

#[test]
fn what_clang_keeps_is_what_the_source_has() {
    let wrong = c_has_the_values_of_its_source(Computer::Here, Compiler::Clang);
    assert!(wrong.is_empty() != Computer::Here.has(Compiler::Clang), "clang delays none of these stores");
}

#[test]
fn what_is_kept_on_aarch64_is_what_the_source_has() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        c_has_the_values_of_its_source(Computer::Aarch64, compiler);
    }
}

#[test]
fn what_rustc_keeps_or_stores_is_what_the_source_has() {
    if tools::find("gdb").is_none() {
        return;
    }
    let toolchain = Toolchain::new();
    let build = toolchain.build(Markers::On);
    let compiled = |name: &str, options: &[&str]| {
        let mut command = build.compilation(Path::new("tests/stores/stores.rs"), options);
        fixture::succeeds_silently(command.arg(format!("--crate-name={name}")).arg("--check-cfg=cfg(twin)"));
        build.folder().join(name)
    };
    let printed = printed(&mut Command::new(compiled("twin", &["--cfg=twin", "-Copt-level=0"])));
    let mut wrong = Vec::new();
    for level in tools::slice("stores.rs", &["0", "1", "2", "3", "s", "z"], &[1, 3, 4]) {
        let level = format!("-Copt-level={level}");
        let name = format!("stores_{}", level.chars().last().unwrap_or_default());
        let image = compiled(&name, &[&level, "-Cdebuginfo=2"]);
        wrong.extend(wrong_places(&level, &read(Computer::Here, &image), &printed));
    }
    assert!(!wrong.is_empty(), "rustc delays none of these stores");
}
