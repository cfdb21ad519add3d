//! Programs of Rust.

use std::process::Command;

use simple_markers_tests::fixture::target;
use simple_markers_tests::tools::{run, skipped};

use super::project::{RUST, example, failures, not_fixed, only_markers_change, package, with_cargo};

#[test]
fn a_program_of_rust_is_fixed_without_a_hand_on_its_source() {
    if cfg!(not(target_arch = "x86_64")) {
        return skipped("what is lost was seen on x86-64");
    }
    let project = example("io-queue");
    let program = target().join("fixed/io-queue");
    // The marker in deliberately dead code stays.
    let denied = ["-p", "io-queue", "--deny", "arguments,exactness", "--allow", "eliminated"];
    let before = project.cargo_smark(&[&["check"], &denied[..]].concat());
    assert_eq!(before.status, 1, "{}", before.stdout);
    let printed = run(&mut Command::new(&program));
    let fixed = project.cargo_smark(&[&["fix"], &denied[..]].concat());
    assert_eq!(fixed.status, 0, "{}{}", fixed.stderr, fixed.stdout);
    assert_eq!(not_fixed(&fixed.stdout), [""; 0]);
    assert!(fixed.stdout.contains("\ncheck holds: 17 markers, 0 errors"), "{}", fixed.stdout);
    only_markers_change(&project, RUST);
    let changed = project.changed();
    let added = |what: &str| {
        changed.iter().filter(|line| line.starts_with('+')).map(|line| line.matches(what).count()).sum::<usize>()
    };
    let removed = |what: &str| {
        changed.iter().filter(|line| line.starts_with('-')).map(|line| line.matches(what).count()).sum::<usize>()
    };
    note!("io-queue: {} keeps, {} anchors", added("keep ") - removed("keep "), added("options(anchor)"));
    assert!(added("keep ") - removed("keep ") >= 10 && added("options(anchor)") >= 3, "{changed:#?}");
    assert_eq!(run(&mut Command::new(&program)), printed, "the program does what it did");
    // If the check holds, nothing changes.
    project.commit();
    let again = project.cargo_smark(&[&["fix"], &denied[..]].concat());
    assert_eq!((again.status, project.changed().len()), (0, 0), "{}", again.stdout);
    assert!(!again.stdout.contains("fixed "), "{}", again.stdout);
}

#[test(desk = false)]
fn every_construct_of_rust_is_fixed_or_said_why_not() {
    if cfg!(not(target_arch = "x86_64")) {
        return skipped("what is lost was seen on x86-64");
    }
    let project = example("constructs");
    let denied = ["-p", "constructs", "--deny", "arguments,exactness", "--allow", "survival,names"];
    let before = project.cargo_smark(&[&["check"], &denied[..]].concat());
    assert_eq!(before.status, 1, "{}", before.stdout);
    let fixed = project.cargo_smark(&[&["fix"], &denied[..]].concat());
    assert!(fixed.status < 2, "{}{}", fixed.stderr, fixed.stdout);
    only_markers_change(&project, RUST);
    let why = not_fixed(&fixed.stdout);
    let changed = project.changed().len();
    note!("constructs: {changed} lines; {why:#?}");
    assert!(changed > 100, "{changed}");
    // Only findings that no edit of a marker can fix remain, each with its reason.
    let reasons = ["no register holds", "writes the marker", "did not help", "helped and stays", "does not compile"];
    assert!(why.iter().all(|line| reasons.iter().any(|reason| line.contains(reason))), "{why:#?}");
    let left: Vec<&str> = why.iter().filter_map(|line| line.split(' ').next()).collect();
    let document = project.cargo_smark(&[&["check", "-q", "--format", "json"], &denied[..]].concat());
    let document: serde_json::Value = serde_json::from_str(&document.stdout).expect("JSON");
    for finding in document["findings"].as_array().expect("findings") {
        let marker = finding["marker"].as_str().expect("a marker");
        assert!(left.contains(&marker), "nothing is said of {finding:#}");
    }
    // If the rest is accepted the check holds, and a second run changes nothing.
    project.commit();
    let lock = ["--lock", "markers.lock"];
    let updated = project.cargo_smark(&[&["check", "--update", "--warn", "exactness"], &denied[..2], &lock].concat());
    assert!(updated.status < 2, "{}", updated.stderr);
    let lenient = ["-p", "constructs", "--deny", "arguments", "--allow", "survival,names", "--lock", "markers.lock"];
    let again = project.cargo_smark(&[&["fix", "--allow-dirty"], &lenient[..]].concat());
    assert_eq!((again.status, project.changed().len()), (0, 0), "{}", again.stdout);
}

#[test]
fn a_reference_that_no_debug_information_describes_is_kept_by_its_target() {
    if cfg!(not(target_arch = "x86_64")) {
        return skipped("what is lost was seen on x86-64");
    }
    // The block of the second variable has no code, so the debug information does not tell the two apart.
    let project = package(
        "fix-references",
        "use simple_markers::simple_mark;\nuse std::hint::black_box;\n\
         #[inline(never)]\nfn one(id: usize) -> usize {\n    let next = black_box(id + 1);\n    {\n        let id = &next;\n        \
         simple_mark!(fix:one, \"%zu\", id);\n    }\n    black_box(next)\n}\n\
         #[inline(never)]\nfn two(id: u32, n: u64) -> u64 {\n    let next = black_box(n);\n    {\n        \
         let (id, n) = (&next, &&id);\n        \
         simple_mark!(fix:two, \"%lu %u\", id, n);\n    }\n    next\n}\n\
         fn main() {\n    println!(\"{} {}\", one(black_box(5)), two(1, black_box(2)));\n}\n",
    );
    let script = "#!/bin/sh\n\"$REAL_CARGO\" \"$@\" || { status=$?; echo failed >> .git/failures; exit $status; }\n";
    let fixed = with_cargo(&project, script, &["fix", "--deny", "arguments"]);
    let changed = project.changed().join("\n");
    assert!(changed.contains("\"%zu\", keep id = *id)"), "{changed}\n{}{}", fixed.stdout, fixed.stderr);
    assert!(
        changed.contains("\"%lu %u\", keep id = *id, keep n = **n)"),
        "{changed}\n{}{}",
        fixed.stdout,
        fixed.stderr
    );
    assert_eq!((fixed.status, not_fixed(&fixed.stdout).len()), (0, 0), "{}", fixed.stdout);
    assert!((1..=2).contains(&failures(&project)), "{}", fixed.stderr);
}
