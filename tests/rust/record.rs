//! `smark record`: babeltrace2 reads the same values as `smark report`, and what a recording may
//! lose is lost as it says.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use simple_markers_resolver::text::from_bytes;
use simple_markers_tests::fixture::{self, Process};
use simple_markers_tests::tools::{self, find, run};
use simple_markers_tests::watched::{can_watch, compile};

/// A program that passes `values:..` markers with values of every kind, 6 in each round.
fn values(folder: &Path) -> PathBuf {
    let source = fs::read_to_string(fixture::workspace().join("tests/record/values.c")).expect("the source");
    compile(folder, "values", &source, &[])
}

/// The hits of one round.
const ROUND: usize = 6;

/// Runs `smark record` for so many rounds of the program. Returns the exit status and what is
/// printed to stderr.
pub(crate) fn record(recording: &Path, options: &[&str], program: &Path, rounds: usize) -> (i32, String) {
    let mut smark = Command::new(fixture::smark());
    smark.args(["record", "-o"]).arg(recording).args(options).arg("--").arg(program).arg(rounds.to_string());
    let Output { status, stderr, .. } = tools::output(&mut smark);
    (status.code().expect("an exit status"), String::from_utf8(stderr).expect("UTF-8"))
}

/// The lines of `smark report`, its exit status, and what it prints to stderr.
pub(crate) fn report(recording: &Path, options: &[&str]) -> (Vec<String>, i32, String) {
    let mut smark = Command::new(fixture::smark());
    let Output { status, stdout, stderr } = tools::output(smark.arg("report").args(options).arg(recording));
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(stdout).lines().map(str::to_owned).collect(), status.code().expect("an exit status"), text(stderr))
}

/// The hits of `smark report --json`, and the last line.
fn hits(recording: &Path) -> (Vec<Json>, Json) {
    let (lines, ..) = report(recording, &["--json"]);
    let objects = lines.iter().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
    let (hits, mut rest): (Vec<Json>, Vec<Json>) = objects.partition(|line| line.get("marker").is_some());
    (hits, rest.pop().expect("the end")["end"].take())
}

/// An event as babeltrace2 prints it.
struct Read {
    /// In ns since 1970.
    time: u64,
    name: String,
    /// The fields of the context and those of the event.
    fields: BTreeMap<String, Vec<u8>>,
}

/// What babeltrace2 reads, and what it prints to stderr.
fn babeltrace2(recording: &Path) -> (Vec<Read>, String) {
    let mut command = Command::new("babeltrace2");
    let output = tools::output(command.args(["--clock-seconds", "--no-delta"]).arg(recording));
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    (lines.map(event).collect(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// `[SECONDS] NAME: { FIELD = VALUE, .. }, { .. }`
fn event(line: &[u8]) -> Read {
    let mut rest = line;
    let mut until = |end: &[u8]| {
        let at = rest.windows(end.len()).position(|window| window == end).expect("an event");
        let (taken, behind) = rest.split_at(at);
        rest = &behind[end.len()..];
        String::from_utf8(taken.to_vec()).expect("UTF-8")
    };
    let time = until(b"] ").trim_start_matches('[').replace('.', "").parse().expect("a time");
    let name = until(b": { ");
    let mut fields = BTreeMap::new();
    let mut last = rest.iter().copied();
    while last.len() > 0 {
        let name: Vec<u8> =
            last.by_ref().skip_while(|byte| b"{}, ".contains(byte)).take_while(|byte| *byte != b' ').collect();
        if name.is_empty() {
            break;
        }
        assert_eq!(last.by_ref().take(2).collect::<Vec<_>>(), b"= ");
        let mut value = Vec::new();
        match last.next() {
            Some(b'"') => value = quoted(&mut last),
            // The name of an enumerator, and then its number.
            Some(b'(') => {
                assert_eq!(last.by_ref().take(2).collect::<Vec<_>>(), b" \"");
                value = quoted(&mut last);
                last.by_ref().find(|byte| *byte == b')');
            }
            first => {
                value.extend(first);
                value.extend(last.by_ref().take_while(|byte| !b", ".contains(byte)));
            }
        }
        fields.insert(String::from_utf8(name).expect("an identifier"), value);
    }
    Read { time, name, fields }
}

/// A string up to its closing quote, as C writes it.
fn quoted(bytes: &mut impl Iterator<Item = u8>) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => break,
            b'\\' => out.push(match bytes.next().expect("an escaped character") {
                b'n' => b'\n',
                b't' => b'\t',
                other => other,
            }),
            byte => out.push(byte),
        }
    }
    out
}

/// A field as `smark report --json` would print it.
fn value(field: &[u8], like: &Json) -> Json {
    let text = from_bytes(field);
    match like {
        Json::Number(number) if number.is_f64() => {
            let (read, number) = (text.parse::<f64>().expect("a number"), number.as_f64().expect("a number"));
            // babeltrace2 prints 6 digits.
            if (read - number).abs() <= number.abs() * 1e-5 { like.clone() } else { Json::from(read) }
        }
        Json::Number(_) => match text.strip_prefix("0x") {
            Some(digits) => Json::from(u64::from_str_radix(digits, 16).expect("a number")),
            None => text.parse::<i64>().map_or_else(|_| Json::from(text), Json::from),
        },
        Json::String(_) => match text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16)) {
            Some(Ok(number)) => Json::from(number.to_string()),
            _ => Json::from(text),
        },
        _ => Json::from(text),
    }
}

/// Compares what babeltrace2 and `smark report` read, and returns how many values were the same.
fn compare(recording: &Path) -> usize {
    let (hits, _) = hits(recording);
    let (read, stderr) = babeltrace2(recording);
    assert_eq!(stderr, "");
    assert_eq!(hits.len(), read.len());
    let description: Json =
        serde_json::from_str(&fs::read_to_string(recording.join("smark/recording.json")).expect("a description"))
            .expect("JSON");
    let offset = description["clock_offset_ns"].as_u64().expect("a number");
    let mut compared = 0;
    for (hit, event) in hits.iter().zip(&read) {
        assert_eq!(hit["time_ns"].as_u64().expect("a time") + offset, event.time);
        assert_eq!(hit["marker"], event.name);
        for (name, of) in [("cpu", "cpu"), ("pid", "pid"), ("tid", "tid"), ("comm", "comm"), ("site", "site")] {
            let Some(field) = event.fields.get(name) else { continue };
            match of {
                "site" => assert_eq!(hit["site"].as_str().expect("an address"), from_bytes(field).to_lowercase()),
                of => assert_eq!(hit[of], value(field, &hit[of])),
            }
        }
        for argument in hit["args"].as_array().expect("arguments") {
            let (text, expected) = (argument["text"].as_str().expect("a text"), &argument["value"]);
            let name = text.replace("->", "_").replace('.', "_");
            let field = event.fields.get(&name).unwrap_or_else(|| panic!("{name} of {}", event.name));
            let state = event.fields.get(&format!("{name}__state")).map(|state| from_bytes(state));
            let why = match state.as_deref() {
                None | Some("value" | "cut" | "null" | "empty") => Json::Null,
                Some("unreadable") => {
                    let address = event.fields.get(&format!("{name}__address")).expect("an address");
                    Json::from(format!("unreadable at {}", from_bytes(address).to_lowercase()))
                }
                state => panic!("{state:?}"),
            };
            assert_eq!(argument["why"], why);
            match expected {
                Json::Null => assert!(matches!(state.as_deref(), Some("null" | "unreadable")), "{state:?}"),
                // babeltrace2 2.0 shows the text of an earlier event.
                expected if state.as_deref() == Some("empty") => assert_eq!(*expected, ""),
                expected => assert_eq!(value(field, expected), *expected, "{text}"),
            }
            compared += 1;
        }
    }
    compared
}

/// Whether recordings can be made, and read with babeltrace2.
fn can_record() -> bool {
    can_watch() && find("babeltrace2").is_some()
}

#[test]
fn babeltrace2_reads_the_same_values() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, program) = (folder.path().join("recording"), values(folder.path()));
    let rounds = 2000;
    let (status, said) = record(&recording, &[], &program, rounds);
    assert_eq!(status, 0, "{said}");
    // Integers, floats, texts, and a number at each of two copies.
    assert_eq!(compare(&recording), rounds * (8 + 3 + 2 + 2));
    assert!(fs::metadata(recording.join("stream")).expect("a stream").len() > 500 << 10, "several packets");
    let (_, end) = hits(&recording);
    assert_eq!(end, serde_json::json!({ "hits": rounds * ROUND, "lost": 0, "unfiltered": 0, "exit": 0 }));
    let (lines, ..) = report(&recording, &["--count"]);
    assert!(lines.contains(&format!("{rounds:>12} values:texts")), "{lines:?}");
    assert!(lines.contains(&format!("{:>12} values:copied", 2 * rounds)), "{lines:?}");

    let (status, said) = record(&recording, &[], &program, 1);
    assert_eq!(status, 2);
    assert!(said.contains("it exists; --force replaces the recording"), "{said}");
    assert_eq!(record(&recording, &["--force"], &program, 1).0, 0);
    assert_eq!(compare(&recording), 15);
    let (status, said) = record(folder.path(), &["--force"], &program, 1);
    assert_eq!(status, 2);
    assert!(said.contains("it exists, and is not a recording"), "{said}");
}

#[test]
fn a_report_is_what_trace_prints() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, program) = (folder.path().join("recording"), values(folder.path()));
    assert_eq!(record(&recording, &[], &program, 40).0, 0);
    let traced = tools::output(Command::new(fixture::smark()).args(["trace", "--"]).arg(&program).arg("40"));
    let traced = String::from_utf8(traced.stdout).expect("UTF-8");
    // Without the time, the CPU and the process.
    let text = |line: &str| line.split_once(" values:").expect("a marker").1.to_owned();
    let (reported, status, _) = report(&recording, &[]);
    let texts: Vec<String> = reported.iter().map(|line| text(line)).collect();
    assert_eq!(texts.len(), 40 * ROUND);
    assert_eq!(texts, traced.lines().map(text).collect::<Vec<_>>());
    assert_eq!(status, 0);
    // With -v it says what it reads.
    let (verbose, status, said) = report(&recording, &["-v"]);
    assert_eq!((verbose, status), (reported, 0));
    let files = ["stream", "metadata", "smark/recording.json", "smark/end.json"].map(|file| recording.join(file));
    let size = |file: &PathBuf| fs::metadata(file).expect("a file").len();
    let mut expected: Vec<String> =
        files.iter().map(|file| format!("smark: {}: {} bytes", file.display(), size(file))).collect();
    expected.push("smark: no hits were lost while it was recorded".to_owned());
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
}

/// The bytes of all files of a recording.
fn size(recording: &Path) -> u64 {
    let files = ["stream", "metadata", "smark/recording.json", "smark/end.json"];
    files.iter().map(|file| fs::metadata(recording.join(file)).map_or(0, |metadata| metadata.len())).sum()
}

#[test]
fn a_recording_has_at_most_its_size() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, program) = (folder.path().join("recording"), values(folder.path()));
    let (status, said) = record(&recording, &["--max-size", "600K"], &program, 4000);
    assert_eq!(status, 0);
    assert!(said.contains("(--max-size)"), "{said}");
    let bytes = size(&recording);
    assert!((300 << 10..=600 << 10).contains(&bytes), "{bytes}");
    assert!(compare(&recording) > 1000);

    // A flight recorder keeps the newest hits, and the hit that ends it is the last one.
    let (recording, rounds) = (folder.path().join("flight"), 4000);
    let (status, said) = record(&recording, &["--ring", "256K"], &program, rounds);
    assert_eq!(status, 0);
    assert!(said.contains("older hits were dropped"), "{said}");
    let bytes = fs::metadata(recording.join("stream")).expect("a stream").len();
    assert!((200 << 10..=256 << 10).contains(&bytes), "{bytes}");
    let (hits, _) = hits(&recording);
    assert_eq!(hits.last().expect("a hit")["marker"], "values:copied");
    assert!(hits.len() > 1000 && hits.len() < rounds * ROUND);
    assert!(compare(&recording) > 1000);

    let recording = folder.path().join("until");
    assert_eq!(record(&recording, &["--ring", "256K", "--until", "values:texts"], &program, 10).0, 0);
    let (lines, ..) = report(&recording, &["--count"]);
    let counts = ["1 values:integers", "1 values:floats", "1 values:texts", "0 values:nothing", "0 values:copied"];
    assert_eq!(lines[1..], counts.map(|count| format!("{:11}{count}", "")));
}

#[test]
fn lost_hits_are_counted() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, program) = (folder.path().join("recording"), values(folder.path()));
    let rounds = 50_000;
    let (status, said) = record(&recording, &["--buffer", "4K"], &program, rounds);
    assert_eq!(status, 0);
    assert!(said.contains(" hits were lost: the buffer was full"), "{said}");
    let (hits, end) = hits(&recording);
    let lost = end["lost"].as_u64().expect("a number");
    assert!(lost > 0);
    assert_eq!(hits.len() as u64 + lost, (rounds * ROUND) as u64);
    let (read, stderr) = babeltrace2(&recording);
    assert_eq!(read.len(), hits.len());
    assert!(stderr.contains("discarded"), "{stderr}");
}

/// A file system in memory, which is unmounted when this is dropped.
struct Small(tempfile::TempDir);

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_leaves_what_is_complete() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = values(folder.path());
    let small = Small(tempfile::tempdir().expect("a folder"));
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=600k", "tmpfs"]).arg(small.0.path());
    if !mount.output().is_ok_and(|output| output.status.success()) {
        return tools::skipped("a file system cannot be mounted");
    }
    let recording = small.0.path().join("recording");
    let (status, said) = record(&recording, &[], &program, 4000);
    assert_eq!(status, 2, "{said}");
    assert!(said.contains("the recording ended early") && said.contains("No space left"), "{said}");
    let (lines, status, _) = report(&recording, &[]);
    assert_eq!(status, 0);
    assert!(lines.len() > 1000, "{}", lines.len());
    assert!(compare(&recording) > 1000);
}

#[test]
fn a_recorder_that_is_killed_leaves_what_is_complete() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = values(folder.path());
    for number in 0..2 {
        let recording = folder.path().join(format!("recording{number}"));
        let mut running = Process::start(Command::new(&program).args(["2000000000", "500"]));
        let mut smark = Command::new(fixture::smark());
        smark.args(["record", "-o"]).arg(&recording).args(["-p", &running.id().to_string()]).stderr(Stdio::null());
        let mut smark = Process::start(&mut smark);
        // A packet is written after a second.
        let start = Instant::now();
        while fs::metadata(recording.join("stream")).map_or(0, |file| file.len()) == 0 {
            assert!(start.elapsed() < Duration::from_secs(60), "there is no packet");
            sleep(Duration::from_millis(10));
        }
        sleep(Duration::from_millis(100 + number * 700));
        smark.kill().expect("smark is killed");
        smark.wait().expect("smark was started");
        assert!(running.try_wait().expect("it was started").is_none(), "the program goes on");
        running.kill().expect("it is killed");
        running.wait().expect("it was started");
        let (lines, status, said) = report(&recording, &[]);
        assert!(lines.len() > 100, "{}", lines.len());
        assert!(said.contains("cut off"), "{said}");
        // The kernel may write a part of a packet before it kills the process.
        assert!(status == 0 || said.contains("stream: offset 0x"), "{status}: {said}");
    }
}

#[test]
fn a_program_that_crashes_ends_its_recording() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = |end: &str| {
        format!(
            r#"
            #include <signal.h>
            #include <unistd.h>
            #include "simple_marker.h"
            int main(void) {{
                for (int i = 0; i < 1000; i++) {{
                    __asm__ volatile("nop");
                    simple_mark_keep(crash:pass, "%d", i);
                    __asm__ volatile("nop");
                }}
                {end};
            }}"#
        )
    };
    for (name, end, signal) in [("killed", "kill(getpid(), SIGKILL)", 9), ("fault", "*(volatile int *)0 = 1", 11)] {
        let program = compile(folder.path(), name, &source(end), &["-Wno-return-type"]);
        let recording = folder.path().join(format!("{name}.trace"));
        let (status, said) = record(&recording, &[], &program, 0);
        assert_eq!(status, 128 + signal, "{name}");
        assert!(said.starts_with("smark: watching 1 site of 1 marker in 1 file\n"), "{said}");
        assert!(said.contains(": 1000 hits in ") && said.lines().count() == 2, "{said}");
        let (hits, end) = hits(&recording);
        let values: Vec<i64> = hits.iter().filter_map(|hit| hit["args"][0]["value"].as_i64()).collect();
        assert_eq!(values, (0..1000).collect::<Vec<_>>(), "{name}");
        assert_eq!((&end["hits"], &end["lost"], &end["exit"]), (&1000.into(), &0.into(), &(128 + signal).into()));
        assert_eq!(compare(&recording), 1000);
    }
}

#[test]
fn a_signal_makes_a_flight_recorder_write_what_it_has() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, program) = (folder.path().join("recording"), values(folder.path()));
    let mut running = Process::start(Command::new(&program).args(["2000000000", "500"]));
    let mut smark = Command::new(fixture::smark());
    smark.args(["record", "--ring", "64K", "-o"]).arg(&recording).args(["-p", &running.id().to_string()]);
    let said = folder.path().join("said");
    let mut smark = Process::start(smark.stderr(fs::File::create(&said).expect("a file")));
    let start = Instant::now();
    let wait = |until: &dyn Fn() -> bool| {
        while !until() {
            let is_late = start.elapsed() > Duration::from_secs(60);
            assert!(!is_late, "nothing is written: {}", fs::read_to_string(&said).unwrap_or_default());
            sleep(Duration::from_millis(5));
        }
    };
    let written = || fs::metadata(recording.join("stream")).map_or(0, |file| file.len());
    let signal = |name: &str| {
        run(Command::new("kill").arg(format!("-{name}")).arg(smark.id().to_string()));
    };
    wait(&|| recording.join("metadata").exists());
    let mut sizes = vec![0];
    for _ in 0..3 {
        // A signal that comes before the first hit has nothing to write.
        let before = written();
        wait(&|| {
            if written() == before {
                signal("USR1");
            }
            sleep(Duration::from_millis(30));
            written() > before
        });
        // Nothing is written until the next signal.
        sleep(Duration::from_millis(50));
        sizes.push(written());
        sleep(Duration::from_millis(50));
        assert_eq!(sizes.last(), Some(&written()));
    }
    assert!(sizes.windows(2).all(|pair| pair[1] - pair[0] <= 64 << 10), "{sizes:?}");
    signal("INT");
    assert!(smark.wait().expect("smark was started").success());
    running.kill().expect("it is killed");
    running.wait().expect("it was started");
    assert!(compare(&recording) > 0);
    let (hits, end) = hits(&recording);
    let times: Vec<u64> = hits.iter().map(|hit| hit["time_ns"].as_u64().expect("a time")).collect();
    assert!(times.is_sorted(), "a hit was written twice");
    assert_eq!(end["lost"], 0);
}

#[test]
fn a_library_that_is_opened_while_recording_is_described() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "family", super::trace::FAMILY, &[]);
    let library = compile(folder.path(), "library.so", super::trace::LIBRARY, &["-shared", "-fPIC"]);
    let recording = folder.path().join("recording");
    let mut smark = Command::new(fixture::smark());
    smark.args(["record", "-o"]).arg(&recording).arg("--").args([program, library]).stderr(Stdio::null());
    assert_eq!(smark.status().expect("smark runs").code(), Some(5));
    let (hits, end) = hits(&recording);
    let of = |name: &str| -> Vec<i64> {
        let hits = hits.iter().filter(|hit| hit["marker"] == name);
        hits.map(|hit| hit["args"][0]["value"].as_i64().expect("a number")).collect()
    };
    assert_eq!(of("family:step"), [1, 2, 3, 4]);
    let late = of("library:call");
    assert_eq!((late.last(), late.is_sorted()), (Some(&19), true), "{late:?}");
    assert_eq!((&end["exit"], compare(&recording)), (&5.into(), hits.len()));
}
