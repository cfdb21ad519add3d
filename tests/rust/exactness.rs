//! Whether a probe fires when, and only when, the marker is passed. Compares the verdicts for
//! programs that count their own passes with the hits that gdb counts at the addresses
//! (`tests/src/exactness.rs`).

use simple_markers_resolver::resolve::Exactness;
use simple_markers_tests::computer::Computer;
use simple_markers_tests::exactness::{
    COMDAT, FOLDED, JOINS, SHARED_ADDRESS, TABLES, UNDESCRIBED, compile, compile_with,
};
use simple_markers_tests::header::Compiler;
use simple_markers_tests::tools;

#[test]
fn what_is_exact_is_hit_as_often_as_the_marker_is_passed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut all = (0, 0);
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        if !Computer::Here.has(compiler) {
            continue;
        }
        let picked: &[usize] = if compiler == Compiler::Gcc { &[1, 2] } else { &[0, 3, 4] };
        let what = format!("exactness by {}", compiler.name());
        for level in tools::slice(&what, &["-O0", "-O1", "-O2", "-O3", "-Os"], picked) {
            compile(Computer::Here, compiler, JOINS, &[level], folder.path()).holds();
            let tables = compile(Computer::Here, compiler, TABLES, &[level], folder.path());
            tables.holds();
            let (sites, unproven) = tables.unproven();
            all = (all.0 + sites, all.1 + unproven);
        }
    }
    // Excludes loops whose jump is copied into each case, as gcc does on x86.
    note!("{} of {} sites unproven", all.1, all.0);
    assert!(all.1 * 8 < all.0 || all.0 == 0, "{} of {} sites unproven", all.1, all.0);
}

#[test]
fn verdicts_are_those_that_the_instructions_show() {
    if !Computer::Here.has(Compiler::Gcc) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(Computer::Here, Compiler::Gcc, JOINS, &["-Os"], folder.path());
    program.shows(&[
        ("shared", Exactness::Shared),
        ("anchored", Exactness::Exact),
        ("entry", Exactness::Exact),
        ("straight", Exactness::Exact),
        ("zero", Exactness::Exact),
        ("five", Exactness::Shared),
    ]);
    assert_ne!(program.hits()["shared"], program.passed()["shared"]);
}

/// gold lets the records of both functions point to the one that it keeps. lld and mold write a
/// tombstone for the other.
#[test]
fn markers_of_functions_that_gold_made_one_of_are_folded() {
    if !Computer::Here.has(Compiler::Gcc) || tools::find("ld.gold").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for folding in ["-Wl,--icf=safe", "-Wl,--icf=all"] {
        let options = ["-O2", "-ffunction-sections", "-fuse-ld=gold", folding];
        let program = compile(Computer::Here, Compiler::Gcc, FOLDED, &options, folder.path());
        program.shows(&[("one", Exactness::Folded), ("two", Exactness::Folded)]);
        assert_eq!(program.sites["one"], program.sites["two"]);
        // Each function is called once, and a probe fires for both calls.
        assert_eq!((program.hits()["one"], program.hits()["two"]), (2, 2));
    }
}

/// For a function that they folded, lld and mold leave a symbol, and debug information without an
/// address, but no record.
#[test]
fn a_marker_that_another_function_was_folded_into_is_not_exact() {
    let folder = tempfile::tempdir().expect("a folder");
    let linkers = linkers(&[("lld", "ld.lld"), ("mold", "mold"), ("gold", "ld.gold")]);
    let all = product(&linkers, &["-Wl,--icf=safe", "-Wl,--icf=all"]);
    for ((linker, compiler), folding) in each_third("folded functions", &all) {
        let linker = format!("-fuse-ld={linker}");
        let options = ["-O2", "-ffunction-sections", &linker, folding];
        let program = compile(Computer::Here, compiler, FOLDED, &options, folder.path());
        let [one, two] = ["one", "two"].map(|name| program.sites[name].clone());
        let (hits, row) = (program.hits(), format!("{compiler:?} {options:?} {one:?} {two:?}"));
        let is_apart = !one.is_empty() && !two.is_empty() && one[0].0 != two[0].0;
        // gcc writes no table of functions whose address matters. Without it, `safe` folds no
        // exported function.
        assert!(!is_apart || (folding == "-Wl,--icf=safe" && compiler == Compiler::Gcc), "{row}");
        for (name, sites) in [("one", &one), ("two", &two)] {
            let expected = if is_apart { (Exactness::Exact, 1) } else { (Exactness::Folded, 2) };
            for (_, exactness) in sites {
                assert_eq!((*exactness, hits[name]), expected, "{row}");
            }
        }
        if let ([_], false) = (one.as_slice(), is_apart) {
            let why = program.why("one").join("");
            assert!(why.contains("`one`") && why.contains("`two`"), "{row}: {why}");
        }
    }
}

/// The other function may have no marker and no debug information. Then it looks like an alias.
#[test]
fn what_shares_its_address_is_exact_only_where_all_of_it_is_one_function() {
    let folder = tempfile::tempdir().expect("a folder");
    let all = linkers(&[("bfd", "ld.bfd"), ("lld", "ld.lld"), ("mold", "mold"), ("gold", "ld.gold")]);
    for (linker, compiler) in each_third("shared addresses", &all) {
        let using = format!("-fuse-ld={linker}");
        let sources = (SHARED_ADDRESS, Some(UNDESCRIBED));
        let build = |options: &[&str]| compile_with(Computer::Here, compiler, sources, options, folder.path());
        // In a section of several functions, a second name is a true alias.
        let whole = build(&["-O1", "-fno-function-sections", &using]);
        let (verdicts, counted) = (&whole.sites, whole.hits());
        for (name, hits) in [("aliased", 2), ("marked", 1), ("described", 1)] {
            let found = (verdicts[name][0].1, counted[name]);
            assert_eq!(found, (Exactness::Exact, hits), "{linker} {compiler:?} {name}");
        }
        if linker == "bfd" {
            continue;
        }
        let program = build(&["-O2", "-ffunction-sections", &using, "-Wl,--icf=all"]);
        let (verdicts, hits) = (&program.sites, program.hits());
        let row = format!("{linker} {compiler:?} {verdicts:?} {hits:?}");
        assert_eq!((verdicts["marked"][0].1, hits["marked"]), (Exactness::Folded, 2), "{row}");
        assert!(program.why("marked")[0].contains("`bare`"), "{row}");
        assert_eq!((verdicts["aliased"][0].1, hits["aliased"]), (Exactness::Unproven, 2), "{row}");
        // lld folds functions from different compilers.
        let expected = if hits["described"] == 2 { Exactness::Unproven } else { Exactness::Exact };
        assert_eq!(verdicts["described"][0].1, expected, "{row}");
        assert!(linker != "lld" || hits["described"] == 2, "{row}");
    }
}

/// Each file has a copy of an inline function, and the linker keeps one. This is not folding.
#[test]
fn a_marker_of_an_inline_function_of_two_files_is_of_one_function() {
    let folder = tempfile::tempdir().expect("a folder");
    let linkers = linkers(&[("bfd", "ld.bfd"), ("lld", "ld.lld"), ("mold", "mold")]);
    let mut all = product(&linkers, &["-fno-function-sections", "-ffunction-sections", "-flto"]);
    // lld cannot read gcc's files for link-time optimisation.
    all.retain(|((linker, compiler), more)| (*linker, compiler.name(), *more) != ("lld", "gcc", "-flto"));
    for ((linker, compiler), more) in each_third("inline functions", &all) {
        let using = format!("-fuse-ld={linker}");
        let options = ["-O2", "-g", more, &using];
        let program = compile_with(Computer::Here, compiler, COMDAT, &options, folder.path());
        let sites = &program.sites["common"];
        let row = format!("{compiler:?} {options:?} {sites:?}");
        assert_eq!((sites.len(), program.hits()["common"]), (1, 2), "{row}");
        // GNU ld lets the records of both files point to the one copy, which looks the same as two
        // adjacent copies.
        let expected = match (linker, more) {
            ("bfd", "-fno-function-sections" | "-ffunction-sections") => Exactness::Unproven,
            _ => Exactness::Exact,
        };
        assert_eq!(sites[0].1, expected, "{row}");
    }
}

/// The linkers that are installed, each with each compiler that is installed. A linker is its name
/// for `-fuse-ld` and its command.
fn linkers(named: &[(&'static str, &str)]) -> Vec<(&'static str, Compiler)> {
    let installed: Vec<_> =
        named.iter().filter(|(_, tool)| tools::find(tool).is_some()).map(|(name, _)| *name).collect();
    let compilers: Vec<_> = [Compiler::Gcc, Compiler::Clang].into_iter().filter(|it| Computer::Here.has(*it)).collect();
    product(&installed, &compilers)
}

fn product<A: Copy, B: Copy>(first: &[A], second: &[B]) -> Vec<(A, B)> {
    first.iter().flat_map(|one| second.iter().map(|other| (*one, *other))).collect()
}

/// Every third combination in a slice. Both compilers are in it, because a linker has two, four or
/// six of them.
fn each_third<T: Clone>(what: &str, all: &[T]) -> Vec<T> {
    let picked: Vec<_> = (0..all.len()).step_by(3).collect();
    tools::slice(what, all, &picked)
}
