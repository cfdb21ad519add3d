//! Whole values of probes (`tests/probes/src/whole.rs`): read at the sites, and recorded by the program, with
//! what the program prints.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value as Json;
use simple_markers_tests::fixture;
use simple_markers_tests::tools::{self, find, run};
use simple_markers_tests::watched::{can_watch, can_watch_with_tracefs};

use crate::recorded::{programs, smark, text};

static PROGRAMS: LazyLock<Vec<PathBuf>> = LazyLock::new(|| programs("whole_probes", "probe-whole"));

fn optimised() -> &'static Path {
    PROGRAMS.last().expect("a program")
}

/// How often the program passes its probes.
const ROUNDS: &str = "7";

/// The lines that begin with a name of `whole` or `behind`, of what is printed and of hits.
fn lines_of(lines: &[String], is_hit: bool) -> Vec<String> {
    let mut said = Vec::new();
    for line in lines {
        for group in ["whole:", "behind:"] {
            match line.find(&format!(" {group}")).filter(|_| is_hit) {
                Some(at) => said.push(line[at + 1..].to_owned()),
                None if !is_hit && line.starts_with(group) => said.push(line.clone()),
                None => {}
            }
        }
    }
    said
}

/// What the program prints, without what only a tool that stops at a site can follow.
fn as_recorded(printed: &[String]) -> Vec<String> {
    let line = |line: &String| match line.find(r#"name: "owner"#).filter(|_| line.starts_with("behind:")) {
        Some(at) => format!(r#"{}name: "".. }}"#, &line[..at]),
        None => line.clone(),
    };
    printed.iter().map(line).collect()
}

/// The texts of the hits of a recording.
fn reported(recording: &Path, arguments: &[&str]) -> Vec<String> {
    let output = run(Command::new(fixture::smark()).arg("report").arg(recording).args(arguments));
    output.lines().map(str::to_owned).collect()
}

#[test]
fn the_recorder_has_the_values_that_the_program_prints() {
    for program in &*PROGRAMS {
        let (lines, errors) = smark(&["trace", "whole:*", "behind:*"], &[text(program), ROUNDS]);
        let printed = lines_of(&lines, false);
        assert_eq!(printed.len(), 7 * 14, "{lines:?}");
        assert_eq!(lines_of(&lines, true), as_recorded(&printed), "{errors}");
        assert!(lines.contains(&"dropped: 7".to_owned()), "a value is dropped once");
        let folder = tempfile::tempdir().expect("a folder");
        let recording = folder.path().join("recording");
        let (lines, errors) =
            smark(&["record", "-o", text(&recording), "whole:*", "behind:*"], &[text(program), ROUNDS]);
        let printed = lines_of(&lines, false);
        assert_eq!(lines_of(&reported(&recording, &[]), true), as_recorded(&printed), "{errors}");
    }
}

#[test]
fn a_tool_at_the_sites_reads_what_is_behind_pointers_too() {
    if !can_watch() {
        return;
    }
    for program in &*PROGRAMS {
        let (lines, errors) = smark(&["trace", "--engine", "bpf", "whole:*", "behind:*"], &[text(program), ROUNDS]);
        assert_eq!(lines_of(&lines, true), lines_of(&lines, false), "{errors}");
    }
}

#[test]
fn probes_of_tracefs_read_them() {
    if !can_watch_with_tracefs() {
        return;
    }
    for program in &*PROGRAMS {
        let patterns = ["trace", "--engine", "tracefs", "whole:*", "behind:*"];
        let (lines, errors) = smark(&patterns, &[text(program), ROUNDS]);
        // A page that the kernel has not read yet is not read for a probe of tracefs.
        let small = |lines: Vec<String>| lines.into_iter().filter(|line| !line.starts_with("whole:large")).collect();
        let (said, printed): (Vec<_>, Vec<_>) = (small(lines_of(&lines, true)), small(lines_of(&lines, false)));
        assert_eq!(said, printed, "{errors}");
    }
}

#[test]
fn members_are_found_in_the_recorded_bytes() {
    let program = [text(optimised()), ROUNDS];
    let texts = |arguments: &[&str]| {
        let (lines, errors) = smark(&[&["trace"][..], arguments].concat(), &program);
        (lines_of(&lines, true), errors)
    };
    let (hits, errors) = texts(&["--where", "request.tag == 2 || request.state == Moved", "whole:members"]);
    let tags: Vec<&str> = hits.iter().filter_map(|hit| hit.split([':', ',']).nth(3)).collect();
    assert_eq!(tags, [" 2", " 3", " 6"], "{errors}");
    let (hits, errors) = texts(&["--where", "owned == \"owned 3\"", "whole:texts"]);
    assert_eq!(hits, ["whole:texts: some text owned 3 \"some text\" some text"], "{errors}");
    // The name of the owner is behind a pointer.
    let (hits, errors) = texts(&["--where", "owner.name == \"owner 1\"", "behind:owner"]);
    assert!(hits.is_empty() && errors.contains("7 hits could not be filtered"), "{hits:?} {errors}");
    let (hits, errors) = texts(&["--where", "owner.id == 71", "behind:owner"]);
    assert_eq!(hits, [r#"behind:owner: Owner { id: 71, at: Point { x: 1, y: -1 }, name: "".. }"#], "{errors}");
    let count = |arguments: &[&str]| smark(&[&["count"][..], arguments].concat(), &program).0;
    let counts = count(&["--by", "request.state", "whole:members"]);
    for line in ["3 Idle", "2 Busy", "2 Moved"] {
        assert!(counts.iter().any(|count| count.trim() == line), "{counts:?}");
    }
    let times = count(&["--json", "--time", "whole:request..whole:members", "--key", "request.tag"]);
    assert!(times.iter().any(|line| line.contains("\"count\":7")), "{times:?}");
}

#[test]
fn a_value_is_cut_behind_512_bytes() {
    let (lines, errors) = smark(&["trace", "--json", "cut:large"], &[text(optimised()), "2"]);
    let hits: Vec<Json> = lines
        .iter()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|hit: &Json| hit["marker"] == "cut:large")
        .collect();
    assert_eq!(hits.len(), 2, "{errors}");
    for (round, hit) in hits.iter().enumerate() {
        let value = &hit["args"][0]["value"];
        let rest = value["rest"].as_array().expect("an array");
        let known = rest.iter().take_while(|element| element.is_u64()).count();
        assert_eq!((value["first"].as_u64(), known), (Some(round as u64), 63), "{value}");
        assert!(rest[..63].iter().all(|element| element.as_u64() == Some(round as u64)), "{value}");
    }
}

#[test]
fn handlers_get_all_bytes() {
    let output = run(Command::new(optimised()).args(["2", "handle"]));
    let handled: Vec<&str> = output.lines().filter(|line| line.starts_with("handled:")).take(7).collect();
    assert_eq!(
        handled,
        [
            "handled:wrong: the argument `owner.at` of the probe whole:mixed is WholeValue, and the handler takes u64",
            "handled:mixed: 0 [0, 0, 0, 0, 255, 255, 255, 255] owner 0 [1, 0, 0, 0, 0, 0, 0, 0] 70",
            "handled:sizes: whole:texts [(9, true), (7, true), (9, true), (9, true)]",
            "handled:sizes: whole:lists [(16, true), (12, true), (8, true)]",
            "handled:sizes: whole:scalars [(1, false), (4, false), (8, false), (1, false), (0, false)]",
            "handled:sizes: whole:packed [(8, false), (8, false), (1, false)]",
            "handled:sizes: whole:large [(4096, false)]",
        ]
    );
}

/// The arrays of numbers that babeltrace2 prints for an argument.
fn numbers_of(events: &str, argument: &str) -> Vec<Vec<u8>> {
    let start = format!(" {argument} = [ ");
    let all = events.lines().filter_map(|line| line.split_once(&start));
    let number = |text: &str| {
        let (_, hexadecimal) = text.split_once(" = 0x").expect("a number");
        u8::from_str_radix(hexadecimal, 16).expect("a byte")
    };
    all.map(|(_, rest)| rest.split(" ]").next().unwrap_or("").split(", ").map(number).collect()).collect()
}

#[test]
fn the_recording_of_the_program_has_the_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    let mut command = Command::new(optimised());
    let command = command.arg("2").env("SIMPLE_MARKERS_RECORD", "*").env("SIMPLE_MARKERS_OUTPUT", &recording);
    run(command);
    let lines = reported(&recording, &[]);
    let said = lines_of(&lines, true);
    let mixed: Vec<&String> = said.iter().filter(|line| line.starts_with("whole:mixed")).collect();
    assert_eq!(
        mixed,
        [
            "whole:mixed: 0 [0, 0, 0, 0, 255, 255, 255, 255] owner 0 [1, 0, 0, 0, 0, 0, 0, 0] 70",
            "whole:mixed: 1 [1, 0, 0, 0, 255, 255, 255, 255] owner 1 [2, 0, 0, 0, 0, 0, 0, 0] 71",
        ]
    );
    let metadata = fs::read_to_string(recording.join("metadata")).expect("UTF-8");
    assert!(metadata.contains(" = \"8 v s v 4\";"), "{metadata}");
    if find("babeltrace2").is_none() {
        tools::skipped("babeltrace2 is missing");
        return;
    }
    let events = run(Command::new("babeltrace2").arg(&recording));
    let of = |name: &str| -> String {
        let named = |line: &&str| line.contains(&format!(" {name}: "));
        events.lines().filter(named).map(|line| format!("{line}\n")).collect()
    };
    let at = |x: u8| [x, 0, 0, 0, 255, 255, 255, 255].to_vec();
    assert_eq!(numbers_of(&of("whole:mixed"), "owner_at"), [at(0), at(1)]);
    assert_eq!(numbers_of(&of("whole:mixed"), "request_tag"), [[1, 0, 0, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0, 0, 0]]);
    assert_eq!(numbers_of(&of("whole:texts"), "text"), vec![b"some text\0\0\0\0\0\0\0".to_vec(); 2]);
    let large = of("cut:large");
    assert!(numbers_of(&large, "large").iter().all(|bytes| bytes.len() == 512), "{large}");
    for field in ["large__stored = 512,", "large__size = 4096,", "large__behind = 0,"] {
        assert_eq!(large.matches(field).count(), 2, "{large}");
    }
    assert_eq!(of("whole:lists").matches("numbers__behind = 1,").count(), 2);
}

#[test]
fn a_tool_at_a_probe_of_c_reads_what_the_pointer_leads_to() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = r#"
        #include <simple_marker.h>
        #include <stdio.h>
        struct request { unsigned id; struct { int x, y; } at; const char *name; };
        __attribute__((noinline)) static void submit(struct request *request, void *unknown) {
            simple_probe(whole:c, "%p{} %p{at.x} id %u", request, request, request->id);
            simple_mark_keep_anchor(whole:kept, "%p{id} %p", request, unknown);
            printf("whole:c: {id = %u, at = {x = %d, y = 2}, name = %p \"%s\"} {at = {x = %d}} id %u\n", request->id,
                request->at.x, (void *)request->name, request->name, request->at.x, request->id);
            printf("whole:kept: {id = %u} %p\n", request->id, unknown);
        }
        int main(void) {
            struct request request = {7, {1, 2}, "first"};
            submit(&request, &request);
            request.id++, request.at.x = -5, request.name = "second";
            submit(&request, &request);
            return 0;
        }
    "#;
    let program = simple_markers_tests::watched::compile(folder.path(), "c", source, &["-O2"]);
    let (lines, errors) = smark(&["trace"], &[text(&program)]);
    let printed = lines_of(&lines, false);
    assert_eq!(printed.len(), 4, "{lines:?}");
    assert_eq!(lines_of(&lines, true), printed, "{errors}");
}
