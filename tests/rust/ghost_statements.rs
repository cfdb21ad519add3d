//! Where the ghosts are that gcc compiled: the addresses against the rows that readelf prints, and the
//! verdicts on smallest cases (`tests/ghosts/gcc.c`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use simple_markers_resolver::resolve::{
    Absence, ApproximateReason, Exactness, ExactnessReason, GhostProblem, LikelyReason, Marker, Origin, Survival,
};
use simple_markers_tests::fixture;
use simple_markers_tests::header::{Compiler, Language};
use simple_markers_tests::second_opinion::resolve;
use simple_markers_tests::tools::{find, run};

use super::ghost_sites::addresses;

const SOURCE: &str = "tests/ghosts/gcc.c";

const LIKELY: ExactnessReason = ExactnessReason::Likely(LikelyReason::Statement);
const STRAIGHT: ExactnessReason = ExactnessReason::Approximate(ApproximateReason::StraightCode);
const REPEATED: ExactnessReason = ExactnessReason::Approximate(ApproximateReason::RepeatedStatement { copies: 2 });

/// The markers of an image, by name.
fn markers(image: &Path) -> BTreeMap<String, Marker> {
    let data = fs::read(image).expect("the image");
    let resolution = resolve(&image.to_string_lossy(), &data);
    assert!(resolution.failures.is_empty(), "{:?}", resolution.failures);
    let markers = resolution.images.into_iter().flat_map(|image| image.markers);
    markers.map(|marker| (marker.name.to_string(), marker)).collect()
}

/// The addresses of the rows of a line that are statements, as readelf prints them.
fn statements(image: &Path, line: u32) -> BTreeSet<u64> {
    let text = run(std::process::Command::new("readelf").arg("--debug-dump=decodedline").arg(image));
    let row = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let is_it = words.get(1) == Some(&&*line.to_string()) && words.last() == Some(&"x");
        is_it.then(|| u64::from_str_radix(words[2].trim_start_matches("0x"), 16).expect("an address"))
    };
    text.lines().filter_map(row).collect()
}

fn reasons(marker: &Marker) -> Vec<ExactnessReason> {
    marker.sites.iter().map(|site| site.exactness_reason.clone().expect("a reason")).collect()
}

/// Compiles sources to a shared object.
fn compile(language: Language, options: &[&str], sources: &[&Path], image: &Path) {
    let mut command = Compiler::Gcc.command(language);
    command.args(["-g", "-fPIC", "-shared", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]).args(options);
    fixture::succeeds_silently(command.args(sources).arg("-o").arg(image));
}

#[test(cases = BUILDS, desk = [0, 1, 2])]
fn ghosts_by_gcc_are_at_their_statements(options: &[&str]) {
    if find("gcc").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let image = folder.path().join("image.so");
    const BUILDS: [&[&str]; 6] = [
        &["-O2"],
        &["-Os", "-gdwarf-4"],
        &["-O2", "-flto"],
        &["-Og"],
        &["-O1", "-gno-variable-location-views"],
        &["-O3", "-gno-column-info"],
    ];
    compile(Language::C, options, &[Path::new(SOURCE)], &image);
    let markers = markers(&image);
    assert_eq!(markers.len(), 10, "{options:?}");
    for (name, marker) in &markers {
        let what = format!("{options:?} {name}");
        let has_columns = !options.contains(&"-gno-column-info");
        let problem = match &**name {
            "gcc:one" | "gcc:other" => Some(GhostProblem::SharedLine),
            "gcc:beside" if has_columns => Some(GhostProblem::CodeOnLine),
            _ => None,
        };
        if let Some(problem) = problem {
            let unknown = Some(Absence::Ghost { problem });
            assert_eq!((marker.survival, &marker.absence, marker.sites.len()), (None, &unknown, 0), "{what}");
            continue;
        }
        if &**name == "gcc:beside" {
            continue;
        }
        assert_eq!(addresses(marker), statements(&image, marker.line), "{what}");
        assert_eq!(marker.survival, Some(Survival::Live), "{what}");
        assert!(marker.sites.iter().all(|site| site.origin == Origin::Statement), "{what}");
        // `-Og` unrolls no loop, and converts no branch.
        let is_changed = !options.contains(&"-Og");
        let expected = match &**name {
            // gcc inlines it in two parts, with statements of the function at the start of each.
            "gcc:inlined" => {
                assert_eq!(marker.sites.len(), 2, "{what}");
                continue;
            }
            "gcc:element" if is_changed => vec![REPEATED, REPEATED],
            "gcc:element" => continue,
            "gcc:converted" if has_columns && is_changed => vec![STRAIGHT],
            "gcc:converted" => continue,
            _ => vec![LIKELY],
        };
        assert_eq!(reasons(marker), expected, "{what}");
    }
}

#[test]
fn gcc_says_where_ghosts_are_only_with_statement_frontiers() {
    if find("gcc").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let image = folder.path().join("image.so");
    for (options, problem) in [
        (&["-O0"][..], GhostProblem::Unoptimized),
        (&["-O2", "-gno-statement-frontiers"], GhostProblem::NoStatements),
        (&["-O2", "-g1"], GhostProblem::LinesOnly),
    ] {
        compile(Language::C, options, &[Path::new(SOURCE)], &image);
        for (name, marker) in markers(&image) {
            let unknown = (None, Some(Absence::Ghost { problem }));
            assert_eq!((marker.survival, marker.absence), unknown, "{options:?} {name}");
        }
    }
}

const HEADER: &str = r#"#include <simple_marker.h>
int work(int a);
static inline int inlined(int a) {
    if (a > 3) {
        simple_mark_ghost(header:inlined, "%d", a);
        a += work(a);
    }
    return a;
}
"#;

/// In C++, also in a lambda.
const USERS: [&str; 2] = [
    "#include \"header.h\"\nint one(int a);\nint one(int a) { return inlined(a) - 1; }\n",
    "#include \"header.h\"
int two(int a);
int two(int a) {
    auto step = [a](int b) {
        if (b > 9) {
            simple_mark_ghost(header:lambda, \"%d\", b);
            return work(a + b);
        }
        return b;
    };
    return step(inlined(a)) + a;
}
",
];

#[test]
fn ghosts_of_a_header_are_in_each_unit_that_uses_it() {
    if find("g++").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let image = folder.path().join("image.so");
    // On other lines than those of the sources.
    fs::write(folder.path().join("header.h"), "\n".repeat(100) + HEADER).expect("the header");
    let sources = ["one.cc", "two.cc"].map(|name| folder.path().join(name));
    sources.iter().zip(USERS).for_each(|(path, text)| fs::write(path, text).expect("the source"));
    compile(Language::Cxx, &["-O2"], &sources.each_ref().map(|path| &**path), &image);
    let markers = markers(&image);
    for (name, copies) in [("header:inlined", 2), ("header:lambda", 1)] {
        let marker = &markers[name];
        let verdicts: Vec<_> = marker.sites.iter().map(|site| site.exactness).collect();
        assert_eq!(verdicts, vec![Some(Exactness::Likely); copies], "{name} {:?}", reasons(marker));
        if name == "header:inlined" {
            assert_eq!(addresses(marker), statements(&image, marker.line), "{name}");
        }
    }
}
