//! Static probes of `<sys/sdt.h>` are watched as markers are: what is traced is what the program
//! prints.

use std::path::{Path, PathBuf};
use std::process::Command;

use simple_markers_tests::fixture;
use simple_markers_tests::tools::{ended, find, output, run, skipped};
use simple_markers_tests::watched::{can_watch, compile};

use crate::trace::{hits, trace};

/// Compiles `tests/notes/values.c`; `None` if the compiler or the header is missing.
fn compiled(folder: &Path, compiler: &str, options: &[&str]) -> Option<PathBuf> {
    find(compiler)?;
    let mut header = Command::new(compiler);
    header.args(["-E", "-include", "sys/sdt.h", "-x", "c", "/dev/null"]);
    if !output(&mut header).status.success() {
        skipped("there is no sys/sdt.h");
        return None;
    }
    let program = folder.join(format!("values-{compiler}{}", options.concat()));
    let source = fixture::workspace().join("tests/notes/values.c");
    run(Command::new(compiler).args(["-g", "-Wall"]).args(options).arg(source).arg("-o").arg(&program));
    Some(program)
}

/// What smark says of the hits, and what the program printed. The program prints after each probe.
fn compared(program: &Path) -> (Vec<String>, Vec<String>) {
    let lines = trace(&[], &[program]);
    let said = |line: &String| Some(line.split_once(" values:")?.1.to_owned());
    let printed = lines.iter().filter(|line| !line.contains(" values:")).cloned().collect();
    (lines.iter().filter_map(said).collect(), printed)
}

/// Whether a line has what was printed, but for the variables that an operand may name by a symbol.
fn is_read(said: &str, printed: &str) -> bool {
    let is_named = |argument: &str| {
        printed.starts_with("memory:") && ["arg1 ", "arg2 ", "arg3 "].iter().any(|it| argument.starts_with(it))
    };
    let mut pairs = said.split(", ").zip(printed.split(", "));
    pairs.all(|(said, printed)| said == printed || said.ends_with("<unreadable>") && is_named(said))
}

#[test(cases = ["gcc", "clang"])]
fn values_are_those_that_the_program_prints(compiler: &str) {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for options in [&["-O0"][..], &["-O1"], &["-O2"], &["-O3"], &["-O2", "-fno-pie", "-no-pie"]] {
        let Some(program) = compiled(folder.path(), compiler, options) else { return };
        let (said, printed) = compared(&program);
        assert_eq!(said.len(), 4 * 5, "{compiler} {options:?}: {said:#?}");
        assert_eq!(said, printed, "{compiler} {options:?}");
        // Without symbols and debug information the notes are still there.
        run(Command::new("strip").arg(&program));
        let (said, printed) = compared(&program);
        let alike = said.iter().zip(&printed).filter(|(said, printed)| is_read(said, printed)).count();
        assert_eq!((said.len(), alike), (4 * 5, 4 * 5), "{compiler} {options:?}, stripped: {said:#?} {printed:#?}");
    }
}

#[test]
fn notes_are_counted_filtered_recorded_and_planned() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = compiled(folder.path(), "gcc", &["-O2", "-Wl,--build-id"]) else { return };
    let smark = |arguments: &[&str]| {
        let mut smark = Command::new(fixture::smark());
        smark.args(arguments).current_dir(folder.path());
        ended(&mut smark)
    };
    let path = program.to_str().expect("UTF-8");
    let listed: serde_json::Value =
        serde_json::from_str(&smark(&["list", "--json", "values:numbers", path]).success()).expect("JSON");
    let source = std::fs::read_to_string(fixture::workspace().join("tests/notes/values.c")).expect("the source");
    let line = source.lines().position(|line| line.contains("STAP_PROBE8(values, numbers")).expect("the line") + 1;
    assert_eq!(listed["images"][0]["markers"][0]["line"], line);
    let counted = smark(&["count", "--json", "values:numbers", "--where", "arg0 < -2", "--", path]).success();
    let object = counted.lines().find_map(|line| {
        serde_json::from_str::<serde_json::Value>(line).ok().filter(|line| line["marker"] == "values:numbers")
    });
    assert_eq!(object.expect("the count")["hits"], 2);
    smark(&["record", "-o", "recorded", "--", path]).success();
    let reported = smark(&["report", "--json", "recorded"]).lines();
    let (found, _) = hits(&reported);
    assert_eq!(found.len(), 4 * 5);
    smark(&["plan", "-o", "plan.json", path]).success();
    run(Command::new("strip").arg("--remove-section=.note.stapsdt").arg(&program));
    let planned = smark(&["trace", "--json", "--plan", "plan.json", "--", path]).lines();
    assert_eq!(hits(&planned).0.len(), 4 * 5);
}

#[test]
fn notes_of_libraries_are_watched_by_their_names_only() {
    const LIBRARY: &str = "#include <sys/sdt.h>\nvoid pass(int a) { STAP_PROBE1(library, passed, a); }\n";
    const PROGRAM: &str = "#include <sys/sdt.h>\nvoid pass(int);\n\
        int main(void) { STAP_PROBE(program, started); pass(7); return 0; }\n";
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    if compiled(folder.path(), "gcc", &[]).is_none() {
        return;
    }
    let library = compile(folder.path(), "libpass.so", LIBRARY, &["-shared", "-fPIC"]);
    let linked = ["-Wl,--no-as-needed,-rpath,$ORIGIN", library.to_str().expect("UTF-8")];
    let program = compile(folder.path(), "program", PROGRAM, &linked);
    let watched = |selected: &[&str]| -> Vec<String> {
        let mut smark = Command::new(fixture::smark());
        let lines = ended(smark.args(["trace", "--json"]).args(selected).arg("--").arg(&program)).lines();
        hits(&lines).0.iter().map(|hit| hit["marker"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(watched(&[]), ["program:started"]);
    assert_eq!(watched(&["library:*"]), ["library:passed"]);
    assert_eq!(watched(&["*:*"]), ["program:started", "library:passed"]);
    assert_eq!(watched(&[linked[1]]), ["program:started", "library:passed"]);
}
