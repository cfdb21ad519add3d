//! References and names of C++, casts and bit-fields: the values that are called live are those that an
//! unoptimised twin prints.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use simple_markers_tests::fixture::workspace;
use simple_markers_tests::generator::references;
use simple_markers_tests::oracle::builds::{self, Options, With};
use simple_markers_tests::oracle::corpus::{Job, Run, examine_all};
use simple_markers_tests::oracle::row::Row;
use simple_markers_tests::oracle::tables;
use simple_markers_tests::tools::{self, slice};

/// How many functions each program has.
const FUNCTIONS: usize = 24;

/// The arguments of programs by both compilers at several levels. None that is called live or constant is
/// wrong, and each marker with an instruction of its own is exact.
fn rows(sources: &[PathBuf], levels: &[&str], folder: &Path) -> Vec<Row> {
    rows_of(sources, levels, &[5], folder)
}

/// The same with several versions of DWARF.
fn rows_of(sources: &[PathBuf], levels: &[&str], versions: &[u8], folder: &Path) -> Vec<Row> {
    let mut jobs = Vec::new();
    for source in sources {
        for with in [With::Gcc, With::Clang].into_iter().filter(|with| builds::is_installed(*with)) {
            let options = |level: &str, dwarf| Options { with, level: level.to_owned(), lto: "none".to_owned(), dwarf };
            let of_level = |level: &&str| versions.iter().map(|dwarf| options(level, *dwarf)).collect::<Vec<_>>();
            jobs.push(Job {
                program: source.display().to_string(),
                variant: "place".to_owned(),
                source: source.clone(),
                with,
                builds: levels.iter().flat_map(of_level).collect(),
            });
        }
    }
    let run = Run { arguments: Vec::new(), stdin: None, most: 20, folder: folder.to_owned(), keeps: false };
    let (found, failures) = examine_all(&jobs, &run, 2);
    let complaints: Vec<_> = found.iter().flat_map(|of| &of.complaints).chain(&failures).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    let rows: Vec<Row> = found.into_iter().flat_map(|of| of.rows).collect();
    let is_wrong = |row: &Row| row.is_claimed() && row.wrong + row.wrong_behind > 0;
    assert!(!rows.iter().any(is_wrong), "{}", tables::wrong(&rows));
    let anchored = || rows.iter().filter(|row| row.is_anchored);
    assert!(anchored().all(|row| row.is_exact), "{:#?}", anchored().find(|row| !row.is_exact));
    assert!(anchored().next().is_some() || rows.is_empty());
    rows
}

#[test]
fn values_are_those_of_what_references_refer_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let asked = std::env::var("REFERENCES_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    let seeds = 0..asked.unwrap_or(if tools::tries_everything() { 4 } else { 1 });
    let mut sources = Vec::new();
    for seed in seeds {
        let source = folder.path().join(format!("references-{seed}.cc"));
        fs::write(&source, references::text(seed, FUNCTIONS)).expect("a source");
        sources.push(source);
    }
    let levels = slice("levels of references", &["0", "2", "1", "3", "s"], &[0, 1]);
    let rows = rows(&sources, &levels, folder.path());
    // Each build has values that are read and right: all of them without optimisation. LLVM describes
    // the names of structured bindings since version 17.
    let mut counts: BTreeMap<(String, String), [usize; 3]> = BTreeMap::new();
    for row in &rows {
        let [all, claimed, right] = counts.entry((row.build.compiler.clone(), row.build.level.clone())).or_default();
        *all += 1;
        *claimed += usize::from(row.is_claimed());
        *right += usize::from(row.is_claimed() && row.right > 0);
        let is_bound = matches!(&*row.argument, "x" | "y" | "z") && row.build.compiler == "clang";
        // A member of a virtual base, and a constant of a class, which hide global variables.
        if matches!(&*row.argument, "of_root" | "constant") {
            assert_eq!(row.verdict, "unsupported", "{row:?}");
        } else if row.build.level == "0" && !is_bound {
            assert!(row.is_claimed(), "{row:?}");
        }
    }
    note!("{counts:?}");
    for ((compiler, level), [all, claimed, right]) in counts {
        let least = if level == "0" { all * 9 / 10 } else { all / 2 };
        assert!(claimed >= least && right * 5 >= claimed * 3, "{compiler} -O{level}: {right} of {claimed} of {all}");
    }
}

/// A bit-field of a type that is wider than the `int` it is promoted to. gdb shows it in that type.
const WIDE: &str = r#"
#include "simple_marker.h"
struct wide { long before; unsigned long twenty : 20; long ten : 10; };
static volatile unsigned long total;
__attribute__((noinline)) void pass(struct wide *wide) {
    simple_mark_anchor(wide:bits, "%d %d", wide->twenty, wide->ten);
    total += wide->twenty + wide->ten;
}
int main(void) {
    for (int n = 1; n < 5; n++) {
        struct wide wide = { 1, n * 77777u, -n };
        pass(&wide);
    }
    return 0;
}
"#;

/// Casts convert as C does, and bit-fields are what a conversion gets.
#[test]
fn casts_and_bit_fields_are_what_c_passes() {
    let folder = tempfile::tempdir().expect("a folder");
    let wide = folder.path().join("wide.c");
    fs::write(&wide, WIDE).expect("a source");
    let rows = rows(&[workspace().join("tests/values/casts.c"), wide], &["0", "2"], folder.path());
    for row in &rows {
        // clang describes no type that only a cast names.
        let is_unnamed = row.argument.contains("other_node") && row.reason == Some("no_type");
        assert!(row.is_claimed() || is_unnamed, "{row:?}");
        assert!(is_unnamed || row.right > 0, "{row:?}");
    }
    let arguments = rows.iter().filter(|row| row.build.compiler == "gcc" && row.build.level == "0").count();
    assert!(arguments == 0 || arguments == 19, "{arguments}");
}

/// What other scopes declare, and enumerators, are not the global variables of the same names.
#[test]
fn names_of_other_scopes_hide_global_variables() {
    let folder = tempfile::tempdir().expect("a folder");
    let sources = ["imports.cc", "constants.c"].map(|name| workspace().join("tests/names").join(name));
    let rows = rows_of(&sources, &["0", "2"], &[4, 5], folder.path());
    for row in rows.iter().filter(|row| &*row.argument != "add") {
        let expected = match (&*row.marker, &*row.argument) {
            ("imports:constant", "count")
            | ("imports:enumerators" | "constants:enumerators", "red" | "blue")
            | ("imports:inlined" | "constants:inlined", "kept") => "absent",
            // g++ does not say whether the using-declaration is before the marker.
            ("imports:declared", "total") | ("imports:inside", "held") if row.build.compiler == "gcc" => "unsupported",
            _ => "live",
        };
        assert_eq!(row.verdict, expected, "{row:?}");
        assert!(expected != "live" || row.right > 0, "{row:?}");
    }
}
