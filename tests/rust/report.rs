//! `smark report` counts a recording as `smark count` counts the running program, refuses what does not
//! fit, and reads what is there.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value as Json, json};
use simple_markers_tests::fixture;
use simple_markers_tests::tools::output;
use simple_markers_tests::watched::can_watch;

use crate::count::programs;
use crate::timeline;

/// A recording of a program in a folder.
fn recorded(folder: &Path, program: &Path) -> PathBuf {
    let recording = folder.join("recording");
    let mut smark = Command::new(fixture::smark());
    smark.arg("record").arg("-o").arg(&recording).arg("--").arg(program);
    let output = output(&mut smark);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    recording
}

/// What `smark` prints, what it says on standard error, and its exit status.
fn smark(arguments: &[&str], operands: &[&Path]) -> (String, String, Option<i32>) {
    let Output { status, stdout, stderr } = output(Command::new(fixture::smark()).args(arguments).args(operands));
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(stdout), text(stderr), status.code())
}

fn objects(text: &str) -> Vec<Json> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).filter(Json::is_object).collect()
}

/// Without the lines of the markers, and the times, which no two runs have in common.
fn without_times(mut lines: Vec<Json>) -> Vec<Json> {
    for line in &mut lines {
        if line["time"].is_object() {
            line["histogram"].take();
            line["time"]["floor"].take();
            line["time"]["open"].take();
            for name in ["min", "p50", "p90", "p99", "max"] {
                assert!(line["time"][name].take().is_u64(), "{name}");
            }
        }
    }
    lines
}

#[test]
fn counts_are_those_of_the_running_program() {
    if !can_watch() {
        return;
    }
    let questions: [&[&str]; 18] = [
        &["--count"],
        &["--by", "a"],
        &["--by", "c", "--top", "3"],
        &["--by", "h", "--top", "2000"],
        &["--by", "request->name"],
        &["--by", "request -> in_place"],
        &["--by", "p"],
        &["--by", "tag"],
        &["--hist", "a"],
        &["--hist", "f"],
        &["--hist", "g"],
        &["--hist", "h"],
        &["--count", "--where", "g > -1000 && !(b == c) || h == 0xffff", "n:integers"],
        &["--count", "--where", "p != \"net\" && i >= 100", "n:*"],
        &["--by", "i", "--where", "request->in_place == \"a text o\"", "n:texts"],
        &["--time", "q:begin..q:end"],
        &["--time", "q:begin..q:end", "--key", "tag"],
        &["--time", "q:begin..q:end", "--key", "tag", "--where", "tag >= 100"],
    ];
    let mut filtered = 0;
    for (program, half) in programs().iter().zip(0..) {
        let folder = tempfile::tempdir().expect("a folder");
        let recording = recorded(folder.path(), program);
        for question in questions.into_iter().skip(half).step_by(2) {
            let live: Vec<&str> = question.iter().copied().filter(|option| *option != "--count").collect();
            let counted = smark(&[&["count", "--json"], &*live].concat(), &[Path::new("--"), program]);
            let reported = smark(&[&["report", "--json"], question].concat(), &[&recording]);
            assert_eq!((counted.2, reported.2), (Some(0), Some(0)), "{question:?}: {}", reported.1);
            // The program prints too.
            let (mut counted, mut read) = (objects(&counted.0), objects(&reported.0));
            let (live_end, end) = (counted.pop().expect("the end"), read.pop().expect("the end"));
            assert!(!read.is_empty());
            for field in ["exit", "unfiltered", "uncounted"] {
                assert_eq!(live_end["end"][field], end["end"][field], "{question:?}: {field}");
            }
            filtered += end["end"]["unfiltered"].as_u64().expect("a number");
            assert_eq!(without_times(counted), without_times(read), "{question:?}");
            if question.len() > 2 || question.contains(&"--time") {
                continue;
            }
            let counted = smark(&[&["count"], &*live].concat(), &[Path::new("--"), program]);
            let read = smark(&[&["report"], question].concat(), &[&recording]);
            let printed = counted.0.strip_prefix("n:integers 1500\nn:texts 1500\nq:begin 52\nq:end 51\n");
            assert_eq!(printed, Some(read.0.as_str()), "{question:?}");
            let said: String =
                counted.1.split_inclusive('\n').filter(|line| !line.starts_with("smark: watching ")).collect();
            assert_eq!(said, read.1, "{question:?}");
        }
    }
    assert!(filtered > 10, "{filtered}");
}

/// How long the intervals were, and how many hits are in none, as the hits of a recording say.
fn intervals(hits: &[Json], key: impl Fn(&Json) -> Json) -> (Vec<u64>, usize, usize) {
    let (mut open, mut times, mut ends) = (HashMap::<String, Vec<u64>>::new(), Vec::new(), 0);
    for hit in hits.iter().filter(|hit| hit["marker"].as_str().is_some_and(|name| name.starts_with("q:"))) {
        let (time, key) = (hit["time_ns"].as_u64().expect("a time"), key(hit).to_string());
        let open = open.entry(key).or_default();
        match hit["marker"].as_str() {
            Some("q:begin") => open.push(time),
            _ => match open.pop() {
                Some(start) => times.push(time - start),
                None => ends += 1,
            },
        }
    }
    times.sort_unstable();
    (times, ends, open.into_values().map(|open| open.len()).sum())
}

#[test]
fn times_are_those_between_the_hits() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let recording = recorded(folder.path(), &programs()[1]);
    let hits = objects(&smark(&["report", "--json"], &[&recording]).0);
    let tag = |hit: &Json| {
        let named = hit["args"].as_array().and_then(|args| args.iter().find(|arg| arg["text"] == "tag"));
        named.map_or(Json::Null, |arg| arg["value"].clone())
    };
    let by_thread = intervals(&hits, |hit| hit["tid"].clone());
    let by_tag = intervals(&hits, tag);
    for (options, (times, ends, starts)) in [(&[][..], by_thread), (&["--key", "tag"], by_tag)] {
        let (text, said, _) =
            smark(&[&["report", "--json", "--time", "q:begin..q:end"], options].concat(), &[&recording]);
        let lines = objects(&text);
        let time = &lines.iter().find(|line| line["marker"] == "q:begin..q:end").expect("the intervals")["time"];
        let number = |name: &str| time[name].as_u64().expect("a number");
        assert!(times.len() >= 30);
        assert_eq!((number("min"), number("max")), (times[0], times[times.len() - 1]));
        assert_eq!(number("count"), times.len() as u64);
        assert_eq!(
            (&time["ends_without_start"], &time["starts_without_end"]),
            (&json!(ends), &json!(starts)),
            "{said}"
        );
        for percent in [50, 90, 99] {
            let exact = times[(times.len() * percent).div_ceil(100) - 1];
            assert!(number(&format!("p{percent}")).abs_diff(exact) * 16 <= exact, "{percent}: {time}");
        }
    }
}

#[test]
fn patterns_and_filters_choose_hits() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let recording = recorded(folder.path(), &programs()[0]);
    let all = objects(&smark(&["report", "--json"], &[&recording]).0);
    let (chosen, said, status) = smark(&["report", "--json", "--where", "tag >= 100", "q:b*"], &[&recording]);
    let chosen = objects(&chosen);
    assert_eq!((chosen.len(), status), (22, Some(0)), "{said}");
    let is_chosen = |hit: &&Json| hit["marker"] == "q:begin" && hit["args"][0]["value"].as_u64() >= Some(100);
    assert_eq!(chosen[..21].iter().collect::<Vec<_>>(), all.iter().filter(is_chosen).collect::<Vec<_>>());
    assert_eq!(chosen[21], json!({ "end": { "hits": 21, "lost": 0, "unfiltered": 0, "exit": 0 } }));

    let refused = |arguments: &[&str], expected: &str, exit: i32| {
        let (printed, said, status) = smark(&[&["report"], arguments].concat(), &[&recording]);
        assert_eq!((printed.as_str(), status), ("", Some(exit)), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    };
    refused(&["q:begn"], "no marker matches `q:begn` (and there is no file of that name); closest: q:begin", 1);
    refused(&["--time", "q:begn..q:end"], "--time: no marker is called `q:begn`; closest: q:begin", 1);
    refused(&["--by", "tga"], "--by: no selected marker has an argument `tga`; closest: `tag`", 2);
    let place = "closest: `tag`, `a`, `g`\nsmark:     tga > 1\nsmark:     ^^^\n";
    refused(&["--where", "tga > 1"], place, 2);
    refused(&["--hist", "p"], "--hist: a number is needed, and this is a text", 2);
    refused(&["--count", "--by", "tag"], "cannot be used with", 2);
    refused(&["--key", "tag"], "--time", 2);
    refused(&[folder.path().to_str().expect("UTF-8")], "one recording is read at a time", 2);
    let (_, said, status) = smark(&["report", "nothing-there"], &[]);
    assert_eq!(
        (said.contains("no DIR given: `nothing-there` is not an existing folder"), status),
        (true, Some(2)),
        "{said}"
    );
}

#[test]
fn options_that_do_not_fit_are_refused() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let recording = timeline::recorded(folder.path(), "slices", &[]);
    let file = folder.path().join("file");
    fs::write(&file, "x").expect("a file");
    let (file, stream) = (file.to_str().expect("UTF-8"), recording.join("stream"));
    let perfetto = ["--to", "perfetto"];
    let refused = |options: &[&str], expected: &str, exit: i32| {
        let (printed, said, status) = smark(&[&["report"], options].concat(), &[&recording]);
        assert_eq!((printed.as_str(), status), ("", Some(exit)), "{options:?}: {said}");
        assert!(said.contains(expected), "{options:?}: {said}");
    };
    for option in [&["--json"][..], &["--count"], &["--by", "tag"], &["--hist", "tag"], &["--time", "a..b"]] {
        refused(&[&perfetto, option].concat(), "cannot be used with", 2);
    }
    refused(&["--pair", "outer:begin..outer:end"], "--to", 2);
    refused(&["-o", "x"], "--to", 2);
    refused(&[&perfetto[..], &["--key", "tag"]].concat(), "--key belongs to --time, or after a --pair", 2);
    refused(&["--key", "tag", "--time", "a..b", "--key", "i"], "--time takes one --key", 2);
    let pair = ["--pair", "outer:begin..outer:end", "--key", "i"];
    refused(&[&perfetto[..], &pair, &["--key", "i"]].concat(), "a --pair takes one --key", 2);
    refused(&[&perfetto[..], &["--pair", "outer:begin"]].concat(), "write two names of markers as A..B", 2);
    refused(
        &[&perfetto[..], &["--pair", "outer:bgin..outer:end"]].concat(),
        "--pair: no marker is called `outer:bgin`",
        1,
    );
    refused(&[&perfetto[..], &["-o", file]].concat(), "already exists (--force overwrites it)", 2);
    refused(&[&perfetto[..], &["--force", "-o", stream.to_str().expect("UTF-8")]].concat(), "is an input", 2);
    assert_eq!(fs::read(file).expect("the file"), b"x");
    assert!(smark(&["report"], &[&recording]).0.lines().count() > 100);
}

#[test]
fn a_recording_that_is_cut_is_read_up_to_there() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let recording = timeline::recorded(folder.path(), "slices", &[]);
    let stream = fs::read(recording.join("stream")).expect("a stream");
    let all = smark(&["report", "--json"], &[&recording]).0;
    for size in (0..stream.len()).step_by(100) {
        fs::write(recording.join("stream"), &stream[..size]).expect("the stream");
        let (read, said, status) = smark(&["report", "--json"], &[&recording]);
        let hits: Vec<&str> = read.lines().filter(|line| !line.contains("\"end\"")).collect();
        assert!(all.lines().zip(&hits).all(|(whole, cut)| whole == *cut));
        let is_whole = size == 0;
        assert_eq!(status, Some(if is_whole { 0 } else { 2 }), "{size}: {said}");
        assert!(is_whole || said.contains("stream: offset 0x"), "{size}: {said}");
        if size % 500 == 0 {
            let (timeline, said, status) = smark(&["report", "--count"], &[&recording]);
            assert_eq!((status == Some(0), timeline.starts_with("        HITS MARKER\n")), (is_whole, true), "{said}");
        }
    }
}
