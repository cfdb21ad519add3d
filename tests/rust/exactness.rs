//! Does a probe fire when, and only when, the marker is passed: the verdicts for a program that counts by itself, against what gdb
//! counts at the addresses (`tests/src/exactness.rs`).

use simple_markers_resolver::resolve::Exactness;
use simple_markers_tests::computer::Computer;
use simple_markers_tests::exactness::{FOLDED, JOINS, TABLES, compile};
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
        for level in ["-O0", "-O1", "-O2", "-O3", "-Os"] {
            compile(Computer::Here, compiler, JOINS, &[level], folder.path()).holds();
            let tables = compile(Computer::Here, compiler, TABLES, &[level], folder.path());
            tables.holds();
            let (sites, unproven) = tables.unproven();
            all = (all.0 + sites, all.1 + unproven);
        }
    }
    // Jumps of a loop that each case has its own of, as gcc copies them for x86, are left alone.
    eprintln!("{} of {} sites unproven", all.1, all.0);
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

/// gold points the records of both functions at the one that it keeps; lld and mold write a tombstone for the other's.
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
        // Each function is called once, and a probe fires for both.
        assert_eq!((program.hits()["one"], program.hits()["two"]), (2, 2));
    }
}
