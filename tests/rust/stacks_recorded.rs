//! Stacks in recordings (`smark record --stack`) are those that `smark trace` prints, also after the program is gone, and
//! babeltrace2 reads them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;
use simple_markers_tests::fixture;
use simple_markers_tests::tools::{self, find, run, skipped};
use simple_markers_tests::watched::{can_watch, compile};

use crate::record::{record, report};

/// `submit` is called by `first` 3 times in each round and by `second` once, and `inner` is inlined into it.
const PROGRAM: &str = r#"
#include <stdlib.h>
#include <unistd.h>
#include "simple_marker.h"
static inline __attribute__((always_inline)) void inner(int i) {
    simple_mark_keep(queue:submit, "%d", i);
    __asm__ volatile("nop");
}
__attribute__((noinline)) void other(void) { __asm__ volatile(""); }
__attribute__((noinline)) void submit(int i) {
    other();
    inner(i);
    other();
}
__attribute__((noinline)) void first(int i) { for (int k = 0; k < 3; k++) submit(i); __asm__ volatile(""); }
__attribute__((noinline)) void second(int i) { submit(i); __asm__ volatile(""); }
int main(int count, char **arguments) {
    int rounds = atoi(arguments[1]);
    for (int i = 0; i < rounds; i++) {
        first(i);
        second(i);
    }
    usleep(1000);
    return 0;
}
"#;

fn program(folder: &Path) -> PathBuf {
    compile(folder, "queue", PROGRAM, &["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"])
}

/// The functions of the frames of a hit, the innermost first, up to `main`.
fn functions(hit: &Json) -> Vec<String> {
    let frames = hit["stack"].as_array().expect("frames").iter();
    let functions = frames.flat_map(|frame| frame["functions"].as_array().expect("functions"));
    let mut functions: Vec<String> =
        functions.map(|it| it["function"].as_str().unwrap_or_default().to_owned()).collect();
    let main = functions.iter().position(|name| name == "main").expect("main is in the stack");
    functions.truncate(main + 1);
    functions
}

/// The hits of `smark report --json` of a marker.
fn hits(recording: &Path) -> Vec<Json> {
    let (lines, status, errors) = report(recording, &["--json", "queue:submit"]);
    assert_eq!(status, 0, "{errors}");
    let objects = lines.iter().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
    objects.filter(|line| line.get("marker").is_some()).collect()
}

#[test(cases = ["--stack", "--stack=dwarf"])]
fn a_recording_has_the_stacks_of_the_program(how: &str) {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (program, recording) = (program(folder.path()), folder.path().join("trace"));
    let (status, errors) = record(&recording, &[how], &program, 50);
    assert_eq!(status, 0, "{errors}");
    // Nothing of the program is needed any more.
    fs::remove_file(&program).expect("the program");

    let hits = hits(&recording);
    assert_eq!(hits.len(), 200, "{errors}");
    let chain = |by: &str| ["inner", "submit", by, "main"].map(str::to_owned).to_vec();
    for (number, hit) in hits.iter().enumerate() {
        let by = if number % 4 == 3 { "second" } else { "first" };
        assert_eq!(functions(hit), chain(by), "{hit}");
        let end = if how == "--stack" { "frame_pointers" } else { "outermost" };
        assert_eq!((&hit["stack_end"], &hit["stack_cut"]), (&Json::from(end), &Json::from(false)), "{hit}");
        assert_eq!(hit["stack"][0]["functions"][0]["inlined"], true);
    }

    // Counts by stack, folded stacks, and a flame graph.
    let (lines, ..) = report(&recording, &["--by", "stack", "--json"]);
    let counted: Json = serde_json::from_str(&lines[0]).expect("JSON");
    let counts: Vec<_> =
        counted["stacks"].as_array().expect("stacks").iter().map(|it| (functions(it), it["hits"].clone())).collect();
    assert_eq!(counts, [(chain("first"), 150.into()), (chain("second"), 50.into())]);
    let (lines, ..) = report(&recording, &["--to", "folded"]);
    let folded: BTreeMap<&str, u64> = lines
        .iter()
        .map(|line| line.rsplit_once(' ').expect("a number"))
        .map(|(stack, hits)| (&stack[stack.find(";main;").map_or(0, |at| at + 1)..], hits.parse().expect("a number")))
        .collect();
    assert_eq!(folded, BTreeMap::from([("main;first;submit;inner", 150), ("main;second;submit;inner", 50)]));
    let svg = folder.path().join("flames.svg");
    let svg_options = ["--to", "svg", "-o", svg.to_str().expect("UTF-8")];
    assert_eq!(report(&recording, &svg_options).1, 0);
    let drawn = fs::read_to_string(&svg).expect("a file");
    assert!(drawn.contains("<title>second (50 hits, 25.00%)"), "{drawn}");
    let (_, status, errors) = report(&recording, &svg_options);
    assert_eq!((status, errors.contains("already exists")), (2, true), "{errors}");
    let stream = recording.join("stream");
    let (_, status, errors) = report(&recording, &["--to", "svg", "--force", "-o", stream.to_str().expect("UTF-8")]);
    assert_eq!((status, errors.contains("inputs are never overwritten")), (2, true), "{errors}");
    let (_, status, errors) = report(&recording, &["--by", "kstack"]);
    assert_eq!((status, errors.contains("no stacks of the kernel")), (2, true), "{errors}");

    if find("babeltrace2").is_none() {
        return skipped("babeltrace2 is not installed");
    }
    let text = run(Command::new("babeltrace2").arg(&recording));
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("queue:submit")).collect();
    assert_eq!(lines.len(), 200, "{text}");
    for (number, line) in lines.into_iter().enumerate() {
        let by = if number % 4 == 3 { "second at " } else { "first at " };
        let labels: Vec<&str> = line.split("[").skip(3).filter_map(|it| it.split('"').nth(1)).take(3).collect();
        assert!(labels[0].starts_with("inner at ") && labels[0].contains(" in submit at "), "{line}");
        assert!(labels[1].starts_with(by) && labels[2].starts_with("main at "), "{line}");
    }
}

#[test]
fn stacks_of_the_kernel_are_recorded() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (program, recording) = (program(folder.path()), folder.path().join("trace"));
    let options = ["--stack=dwarf", "--kstack", "-e", "syscalls:sys_enter_clock_nanosleep"];
    let (status, errors) = record(&recording, &options, &program, 1);
    assert_eq!(status, 0, "{errors}");
    let (lines, ..) = report(&recording, &["--json"]);
    let event = lines.iter().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
    let event =
        event.into_iter().find(|line| line["event"] == "syscalls:sys_enter_clock_nanosleep").expect("the event");
    let names = |frames: &Json| -> Vec<String> {
        let frames = frames.as_array().expect("frames").iter();
        frames.filter_map(|frame| frame["function"].as_str().map(str::to_owned)).collect()
    };
    let kernel = names(&event["kernel_stack"]);
    assert!(kernel.iter().any(|name| name.starts_with("do_syscall_64") || name.contains("el0_svc")), "{event}");
    let program: Vec<&Json> = event["stack"].as_array().expect("frames").iter().collect();
    assert!(program.iter().any(|frame| frame["functions"][0]["function"] == "main"), "{event}");
    // The frames of the kernel are called by those of the program.
    let (lines, ..) = report(&recording, &["--to", "folded", "syscalls:*"]);
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    let (main, kernel) = (line.find("main;").expect("main"), line.find("_[k]").expect("the kernel"));
    assert!(main < kernel && line.ends_with("_[k] 1"), "{line}");
}

#[test]
fn a_recording_without_stacks_says_so() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (program, recording) = (program(folder.path()), folder.path().join("trace"));
    assert_eq!(record(&recording, &[], &program, 2).0, 0);
    for options in [&["--by", "stack"][..], &["--to", "folded"]] {
        let (_, status, errors) = report(&recording, options);
        assert_eq!(status, 2);
        assert!(errors.contains("the recording has no stacks; smark record --stack notes them"), "{errors}");
    }
    // Earlier readers know it.
    let description: Json =
        serde_json::from_slice(&fs::read(recording.join("smark/recording.json")).expect("a file")).expect("JSON");
    assert_eq!((&description["version"], description.get("stacks")), (&Json::from(1), None));
}

/// A recording whose frames or their numbers are damaged is refused there, and the rest is read.
#[test]
fn damaged_stacks_are_told() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (program, recording) = (program(folder.path()), folder.path().join("trace"));
    assert_eq!(record(&recording, &["--stack"], &program, 2).0, 0);
    let path = recording.join("smark/recording.json");
    let whole: Json = serde_json::from_slice(&fs::read(&path).expect("a file")).expect("JSON");
    let mut fewer = whole.clone();
    fewer["stacks"]["frames"].as_array_mut().expect("frames").truncate(1);
    fs::write(&path, fewer.to_string()).expect("a file");
    let (_, status, errors) = report(&recording, &["--json"]);
    assert_eq!(status, 2);
    assert!(errors.contains("the recording has no frame with the number 1"), "{errors}");
    let mut other = whole;
    other["stacks"]["frames"][0]["address"] = "17".into();
    fs::write(&path, other.to_string()).expect("a file");
    let output = tools::output(Command::new(fixture::smark()).arg("report").arg(&recording));
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("stacks.frames[0].address"), "{output:?}");
}
