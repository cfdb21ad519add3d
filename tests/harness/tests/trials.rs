//! What a run of tests prints, with the tests of `sample.rs`.

use std::process::Command;

/// The exit code, and what is printed on standard output, with single spaces.
fn run(arguments: &[&str], in_ci: bool) -> (Option<i32>, String) {
    let mut sample = Command::new(env!("CARGO_BIN_EXE_sample"));
    sample.args(arguments).env_remove("CI").env_remove("RUST_BACKTRACE");
    if in_ci {
        sample.env("CI", "true");
    }
    let output = sample.output().expect("the tests run");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    let lines = String::from_utf8(output.stdout).expect("text");
    let words = lines.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    (output.status.code(), words.collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_test_without_its_tool_is_ignored_with_the_reason() {
    let (code, printed) = run(&["tools", "passes"], false);
    assert_eq!(code, Some(0), "{printed}");
    for expected in [
        "running 2 tests",
        "test ends::lacks_tools ... ignored (no-such-tool is not installed; no right to run)",
        "test ends::passes ... ok",
    ] {
        assert!(printed.lines().any(|line| line == expected), "{expected}: {printed}");
    }
    assert!(printed.contains("test result: ok. 1 passed; 0 failed; 1 ignored; "), "{printed}");
    assert!(!printed.contains("said by a test that passes"), "{printed}");
}

#[test]
fn in_ci_it_fails() {
    let (code, printed) = run(&["lacks_tools"], true);
    assert_eq!(code, Some(101), "{printed}");
    assert!(printed.contains("no-such-tool is not installed, and CI skips nothing"), "{printed}");
    assert!(printed.contains("test result: FAILED. 0 passed; 1 failed; 0 ignored; "), "{printed}");
}

#[test]
fn what_runs_without_the_tool_may_fail() {
    let (code, printed) = run(&["lacks_a_tool_and_fails"], false);
    assert_eq!(code, Some(101), "{printed}");
    assert!(printed.contains("\ntest ends::lacks_a_tool_and_fails ... FAILED\n"), "{printed}");
}

#[test]
fn a_test_that_fails_shows_what_it_said_and_where_it_failed() {
    let (code, printed) = run(&["--exact", "ends::fails"], false);
    assert_eq!(code, Some(101), "{printed}");
    let expected = "\n---- ends::fails ----\nsaid before\npanicked at tests/harness/tests/sample.rs:";
    assert!(printed.contains(expected), "{printed}");
    assert!(printed.contains(":\nassertion `left == right` failed: a sum\nleft: 2\nright: 3\n"), "{printed}");
}

#[test]
fn each_case_is_a_trial() {
    let (code, printed) = run(&["has_cases", "counts"], false);
    assert_eq!(code, Some(101), "{printed}");
    for expected in [
        "running 5 tests",
        "test ends::counts 1 ... ok",
        "test ends::counts 2 ... ok",
        "test ends::has_cases clang -O2 ... FAILED",
        "test ends::has_cases gcc -O0 ... ok",
        "test ends::has_cases gcc -O2 ... ignored (CI=1 tries it)",
        "---- ends::has_cases clang -O2 ----",
    ] {
        assert!(printed.lines().any(|line| line == expected), "{expected}: {printed}");
    }
    let (code, printed) = run(&["has_cases gcc"], true);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("test result: ok. 2 passed; 0 failed; 0 ignored; "), "{printed}");
}

#[test]
fn what_takes_long_is_tried_in_ci() {
    let (_, printed) = run(&["takes_long"], false);
    assert!(printed.contains("\ntest ends::takes_long ... ignored (CI=1 tries it)\n"), "{printed}");
    let (_, printed) = run(&["takes_long"], true);
    assert!(printed.contains("\ntest ends::takes_long ... ok\n"), "{printed}");
}

#[test]
fn without_capture_it_is_printed_at_once() {
    let (code, printed) = run(&["passes", "--nocapture"], false);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.lines().any(|line| line == "said by a test that passes"), "{printed}");
}

#[test]
fn the_list_has_the_names() {
    let list = "ends::counts 1: test\nends::counts 2: test\nends::fails: test\nends::has_cases clang -O2: test\n\
                ends::has_cases gcc -O0: test\nends::has_cases gcc -O2: test\nends::lacks_a_tool_and_fails: test\n\
                ends::lacks_tools: test\nends::passes: test\nends::takes_long: test";
    assert_eq!(run(&["--list", "--format", "terse"], false), (Some(0), list.to_owned()));
    assert_eq!(run(&["--list", "--format", "terse", "--ignored"], false), (Some(0), String::new()));
}
