//! Formats that name values (`tests/names`): what `smark` prints is what the program prints itself,
//! without the words of the formats.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value as Json, json};
use simple_markers_tests::fixture::{self, Fixture};
use simple_markers_tests::tools::{self, find, run};
use simple_markers_tests::watched::can_watch;

use crate::trace::hits;

fn smark(arguments: &[&str], program: &Path) -> (Vec<String>, String) {
    let mut command = Command::new(fixture::smark());
    let output = tools::output(command.args(arguments).arg("--").arg(program));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    (String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect(), errors)
}

/// The program of C, built by a compiler.
fn built(folder: &Path, compiler: &[&str]) -> Option<PathBuf> {
    let [compiler, options @ ..] = compiler else { return None };
    let (source, program) = (fixture::workspace().join("tests/names/names.c"), folder.join("names"));
    let mut command = Command::new(find(compiler)?);
    command.args(options).args(["-g", "-O2", "-Wall", "-Werror", "-I"]);
    run(command.arg(fixture::workspace().join("markers/include")).arg(source).arg("-o").arg(&program));
    Some(program)
}

/// What the program printed, and what its markers said, each in an order of its own.
fn compared(lines: &[String]) {
    let mut printed: Vec<&str> = lines.iter().filter(|line| line.starts_with("names:")).map(String::as_str).collect();
    let said = lines.iter().filter_map(|line| line.get(line.find(" names:")? + 1..));
    let mut said: Vec<&str> = said.filter(|line| !line.starts_with("names:wrong")).collect();
    // The instructions of two lines may be in another order.
    printed.sort_unstable();
    said.sort_unstable();
    assert_eq!(said, printed);
    assert!(said.len() >= 8, "{lines:?}");
}

#[test]
fn names_are_those_that_the_program_prints() {
    if !can_watch() {
        return;
    }
    let compilers: [&[&str]; 4] = [&["gcc"], &["clang"], &["g++", "-x", "c++"], &["clang++", "-x", "c++"]];
    let folder = tempfile::tempdir().expect("a folder");
    for compiler in tools::slice("names", &compilers, &[0, 3]) {
        let Some(program) = built(folder.path(), compiler) else { continue };
        compared(&smark(&["trace"], &program).0);
    }
}

#[test]
fn names_are_in_recordings_plans_counts_and_filters() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = built(folder.path(), &["gcc"]).expect("gcc");
    let (recording, plan) = (folder.path().join("recording"), folder.path().join("plan"));
    let path = |path: &Path| path.to_str().expect("UTF-8").to_owned();

    let (mut lines, _) = smark(&["record", "-o", &path(&recording)], &program);
    let report = run(Command::new(fixture::smark()).arg("report").arg(&recording));
    lines.extend(report.lines().map(str::to_owned));
    compared(&lines);
    if let Some(babeltrace) = find("babeltrace2") {
        let events = run(Command::new(babeltrace).args(["--names=none", "--fields="]).arg(&recording));
        let of = |name: &str| -> Vec<String> {
            let events = events.lines().filter_map(|line| line.split_once(&format!("{name}: {{ ")));
            events
                .map(|(_, values)| values.trim_end_matches(" }").rsplit_once("{ ").expect("fields").1.to_owned())
                .collect()
        };
        let state = |name: &str, value: i64| match name {
            "" => format!("( <unknown> : container = {value} )"),
            name => format!("( \"{name}\" : container = {value} )"),
        };
        // The compiler says whether the enumeration is signed. CTF has no flags.
        let expected =
            [("IDLE", 0, 0, "OFF", 0), ("BUSY", 3, 1, "ON", 1), ("FAILED", -1, 2, "", 2), ("", 2, 25, "", -3)];
        let expected = expected.map(|(name, value, caps, mode, number)| {
            format!("{}, {caps}, {}, {number}", state(name, value), state(mode, number))
        });
        assert_eq!(of("names:types"), expected, "{events}");
        assert_eq!(of("names:words"), ["0", "64", "3", "2147483713"]);
    }

    run(Command::new(fixture::smark()).arg("plan").arg("-o").arg(&plan).arg(&program));
    run(Command::new("strip").arg(&program));
    compared(&smark(&["trace", "--plan", &path(&plan)], &program).0);

    let by = |argument: &str, marker: &str| {
        let (lines, _) = smark(&["count", "--json", "--plan", &path(&plan), "--by", argument, marker], &program);
        let lines = lines.iter().filter_map(|line| serde_json::from_str::<Json>(line).ok());
        lines.filter_map(|line| line.get("by").cloned()).next().expect("counts")
    };
    assert_eq!(by("state", "names:types"), json!([[-1, 1, "FAILED"], [0, 1, "IDLE"], [2, 1], [3, 1, "BUSY"]]));
    assert_eq!(
        by("value", "names:words"),
        json!([[0, 1, "NONE"], [3, 1, "BOTH"], [64, 1, "0x40"], [2_147_483_713_u32, 1, "READ|TOP|0x40"]])
    );
    let (lines, _) = smark(&["count", "--plan", &path(&plan), "--by", "mode", "names:types"], &program);
    assert!(lines.iter().any(|line| line == "           1 ON"), "{lines:?}");

    let chosen = |filter: &str| {
        let (lines, _) =
            smark(&["trace", "--json", "--plan", &path(&plan), "--where", filter, "names:types"], &program);
        let names = hits(&lines).0.into_iter().map(|hit| hit["args"][0]["name"].clone());
        names.collect::<Vec<_>>()
    };
    assert_eq!(chosen("state == FAILED || \"ON\" == mode"), ["BUSY", "FAILED"]);
    assert_eq!(chosen("state != IDLE && state != BUSY"), [json!("FAILED"), Json::Null]);
    let mut refused = Command::new(fixture::smark());
    refused.args(["trace", "--plan", &path(&plan), "--where", "state == ON", "names:types", "--"]);
    let output = tools::output(refused.arg(&program));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("`ON` is neither an argument nor a name of a value of `state`"), "{errors}");
}

#[test]
fn mistakes_in_words_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = built(folder.path(), &["gcc"]).expect("gcc");
    let list = tools::output(Command::new(fixture::smark()).args(["list", "--json"]).arg(&program));
    let list: Json = serde_json::from_slice(&list.stdout).expect("JSON");
    let notes = list.to_string();
    for wrong in [
        "a name is twice in the braces: remove one, at `A=2`",
        "a value in braces is not an integer constant, at `B=NO_SUCH`",
    ] {
        assert!(notes.contains(wrong), "{notes}");
    }
    let check = tools::output(Command::new(fixture::smark()).arg("check").arg(&program));
    let found = String::from_utf8_lossy(&check.stdout);
    assert_eq!(check.status.code(), Some(1), "{found}");
    for wrong in ["at `A=2`", "at `B=NO_SUCH`", "`{}` given `int` (4 bytes, signed), which is no enumeration"] {
        assert!(found.contains(wrong), "{found}");
    }
}

#[test]
fn names_of_rust_are_constants_and_variants() {
    if !can_watch() {
        return;
    }
    let source = fixture::workspace().join("tests/names/names.rs");
    let source = std::fs::read_to_string(source).expect("the source");
    let fixture = Fixture::new("names-of-rust").file("src/main.rs", &source);
    run(&mut fixture.rustc(&["-Copt-level=2", "-Cdebuginfo=2"]));
    let program = fixture.built("names-of-rust");
    let (lines, errors) = smark(&["trace"], &program);
    compared(&lines);
    assert!(!errors.contains("not watched"), "{errors}");
}
