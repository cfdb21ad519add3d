//! Spans (`tests/probes/src/spans.rs`): what tools read of them is what the program prints of
//! itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value as Json;
use simple_markers_tests::fixture;
use simple_markers_tests::tools::{self, run};
use simple_markers_tests::watched::can_watch;

use crate::recorded::{built, programs, smark, text};
use crate::trace::hits;

static SPANS: LazyLock<Vec<PathBuf>> = LazyLock::new(|| programs("spans", "probe-spans"));

/// A begin or an end of a span: its number, process and thread.
type Passed = (&'static str, u64, u64, u64);

fn number(of: &Json) -> u64 {
    let number = of.as_u64().or_else(|| of.as_str()?.parse().ok());
    number.unwrap_or_else(|| panic!("{of} is no number"))
}

/// The argument of this name.
fn argument(hit: &Json, name: &str) -> Json {
    let arguments = hit["args"].as_array().expect("arguments");
    let found = arguments.iter().find(|argument| argument["text"] == name);
    found.unwrap_or_else(|| panic!("{hit} has no {name}"))["value"].clone()
}

/// What the hits of a span say, by process.
fn said(hits: &[Json], span: &str) -> BTreeMap<u64, Vec<Passed>> {
    let (begin, end) = (format!("{span}_begin"), format!("{span}_end"));
    let mut open: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    let mut said: BTreeMap<u64, Vec<Passed>> = BTreeMap::new();
    for hit in hits {
        let (process, thread) = (number(&hit["pid"]), number(&hit["tid"]));
        let id = || number(&argument(hit, "id"));
        let passed = match hit["marker"].as_str().expect("a name") {
            name if name == begin => {
                let number = number(&argument(hit, "number"));
                assert_eq!(open.insert((process, id()), number), None, "{hit}: two spans have the id");
                ("begin", number, process, thread)
            }
            name if name == end => {
                // A child also ends what its parent began.
                let begun =
                    open.get(&(process, id())).or_else(|| open.iter().find(|((_, it), _)| *it == id())?.1.into());
                ("end", *begun.unwrap_or_else(|| panic!("{hit}: no begin")), process, thread)
            }
            _ => continue,
        };
        said.entry(process).or_default().push(passed);
    }
    said
}

/// What the program printed of its spans, by process.
fn printed(lines: &[String]) -> BTreeMap<u64, Vec<Passed>> {
    let words = |line: &String| -> Option<Passed> {
        let words: Vec<&str> = line.split(' ').collect();
        let [what, number, process, thread] = words[..] else { return None };
        let what = ["begin", "end"].into_iter().find(|it| *it == what)?;
        Some((what, number.parse().ok()?, process.parse().ok()?, thread.parse().ok()?))
    };
    let mut printed: BTreeMap<u64, Vec<Passed>> = BTreeMap::new();
    lines.iter().filter_map(words).for_each(|passed| printed.entry(passed.2).or_default().push(passed));
    printed
}

#[test]
fn spans_end_where_the_program_prints_it() {
    let engines: &[&[&str]] = if can_watch() { &[&[], &["--engine", "bpf"]] } else { &[&[]] };
    for program in &*SPANS {
        for engine in engines {
            let (lines, errors) = smark(&[&["trace", "--json"], *engine].concat(), &[text(program), "ways"]);
            let (found, end) = hits(&lines);
            assert_eq!(end["lost"], 0, "{errors}");
            let (said, printed) = (said(&found, "spans:work"), printed(&lines));
            assert_eq!(said, printed, "{errors}");
            // The parent and its child. One span is forgotten.
            let ends = |of: &Vec<Passed>| of.iter().filter(|passed| passed.0 == "end").count();
            let counts: Vec<_> = said.values().map(|of| (of.len(), ends(of))).collect();
            assert_eq!(counts, [(41, 20), (3, 2)]);
        }
    }
}

#[test]
fn attributes_make_spans_of_functions_and_futures() {
    for program in &*SPANS {
        let (lines, errors) = smark(&["trace", "--json"], &[text(program), "ways"]);
        let (found, _) = hits(&lines);
        let passed = |span: &str| -> Vec<(&str, u64)> {
            said(&found, span).into_values().flatten().map(|(what, number, ..)| (what, number)).collect()
        };
        assert_eq!(passed("spans:function"), [("begin", 300), ("end", 300)], "{errors}");
        // One future is dropped at its first `await`, and one runs to its end.
        assert_eq!(passed("spans:method"), [("begin", 310), ("end", 310), ("begin", 311), ("end", 311)]);
        let method = found.iter().find(|hit| hit["marker"] == "spans:method_begin").expect("a begin");
        assert_eq!(argument(method, "name"), "queue");
        let unnamed = found.iter().filter_map(|hit| hit["marker"].as_str()?.strip_prefix("probe_spans:"));
        assert_eq!(unnamed.collect::<Vec<_>>(), ["unnamed_begin", "unnamed_end"]);
    }
}

#[test]
fn the_name_of_a_span_is_timed() {
    for program in &*SPANS {
        let (lines, errors) = smark(&["count", "--json", "--time", "spans:work"], &[text(program), "ways"]);
        let objects: Vec<Json> = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let time = objects.iter().find(|it| it["marker"] == "spans:work_begin..spans:work_end").expect("the times");
        let time = &time["time"];
        // The child ends a span that its parent began.
        let counts = ["count", "starts_without_end", "ends_without_start", "nested"].map(|name| number(&time[name]));
        assert_eq!(counts, [21, 1, 1, 0], "{errors}");
    }
}

/// What a program with the recorder recorded, as `smark report` has it.
fn report(recording: &Path, options: &[&str]) -> Vec<String> {
    let mut report = Command::new(fixture::smark());
    run(report.arg("report").args(options).arg(recording)).lines().map(str::to_owned).collect()
}

/// `SPANS_MOVED=25000` moves 100,000 guards, in minutes.
#[test]
fn guards_that_move_between_threads_have_their_ids() {
    let count: u64 = std::env::var("SPANS_MOVED").map_or(2500, |count| count.parse().expect("a number"));
    for program in &*SPANS {
        let folder = tempfile::tempdir().expect("a folder");
        let recording = folder.path().join("recording");
        let mut command = Command::new(program);
        command.args(["moved", &count.to_string()]).env("SIMPLE_MARKERS_RECORD", "spans:*");
        run(command.env("SIMPLE_MARKERS_OUTPUT", &recording));
        let (found, _) = hits(&report(&recording, &["--json"]));
        let said = said(&found, "spans:moved");
        let [passed] = &said.values().collect::<Vec<_>>()[..] else { panic!("{} processes", said.len()) };
        let mut begun = BTreeMap::new();
        let mut ended = BTreeSet::new();
        for &&(what, number, _, thread) in &passed.iter().collect::<Vec<_>>() {
            match what {
                "begin" => assert_eq!(begun.insert(number, thread), None),
                _ => {
                    assert!(ended.insert(number), "{number} ends twice");
                    assert_ne!(begun.get(&number), Some(&thread), "{number} ends in another thread");
                }
            }
        }
        let threads: BTreeSet<_> = begun.values().collect();
        assert_eq!((begun.len() as u64, ended.len() as u64, threads.len()), (4 * count, 4 * count, 4));
        let times = report(&recording, &["--time", "spans:moved", "--max-values", "16777216"]);
        let expected = format!("spans:moved_begin..spans:moved_end: {} times", 4 * count);
        assert!(times.contains(&expected), "{times:?}");
    }
}

#[test]
fn spans_that_a_switch_cuts_are_open_or_nothing() {
    for program in &*SPANS {
        let folder = tempfile::tempdir().expect("a folder");
        let recording = folder.path().join("recording");
        tools::run(Command::new(program).args(["switched", text(&recording)]));
        let (found, _) = hits(&report(&recording, &["--json"]));
        let passed: Vec<_> = said(&found, "spans:work").into_values().flatten().map(|it| (it.0, it.1)).collect();
        // 1 begins before the probes are on and ends while they are; 2 and 4 end when they are off.
        assert_eq!(passed, [("begin", 2), ("begin", 3), ("begin", 4), ("end", 3)]);
    }
}

#[test]
fn the_example_begins_spans_in_one_thread_and_ends_them_in_others() {
    let program = built("requests", "demo", "demo", "requests");
    let (lines, errors) = smark(&["trace", "--json"], &[text(&program)]);
    assert!(lines.contains(&"40 requests, 11069590000".to_owned()), "{lines:?}");
    let (found, end) = hits(&lines);
    assert_eq!(end["lost"], 0, "{errors}");
    let (whole, answer) = (said(&found, "request:whole"), said(&found, "request:answer"));
    let [whole, answer] = [whole, answer].map(|said| said.into_values().next().expect("spans"));
    assert_eq!((whole.len(), answer.len()), (80, 80));
    let threads = |of: &[Passed], what: &str| -> BTreeMap<u64, u64> {
        of.iter().filter(|passed| passed.0 == what).map(|passed| (passed.1, passed.3)).collect()
    };
    let (begun, ended) = (threads(&whole, "begin"), threads(&whole, "end"));
    assert!(begun.iter().all(|(number, thread)| ended[number] != *thread), "{whole:?}");
    assert_eq!(threads(&answer, "begin"), threads(&answer, "end"));
    assert_eq!(threads(&answer, "begin"), ended);
}
