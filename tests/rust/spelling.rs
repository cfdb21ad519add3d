//! Durations and sizes with units, their old spellings, and the folders that nobody named.

use std::fs;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use simple_markers_tests::fixture;
use simple_markers_tests::tools::output;
use simple_markers_tests::watched::{can_watch, compile};
use tempfile::TempDir;

/// Passes a marker every 10 ms, 1000 times or as often as the argument says.
const SOURCE: &str = r#"
#include <stdlib.h>
#include <unistd.h>
#include "simple_marker.h"
int main(int count, char **values) {
    int most = count > 1 ? atoi(values[1]) : 1000;
    for (int i = 0; i < most; i++) {
        __asm__ volatile("nop");
        simple_mark_keep(slow:pass, "%d", i);
        usleep(10000);
    }
    return 0;
}
"#;

/// A folder of its own with the program.
struct Place {
    folder: TempDir,
    program: String,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let program = compile(folder.path(), "slow", SOURCE, &[]).to_str().expect("UTF-8").to_owned();
        Self { folder, program }
    }

    /// Runs `smark` there: its exit status, and what it prints to stdout and stderr.
    fn smark(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let Output { status, stdout, stderr } =
            output(Command::new(fixture::smark()).args(arguments).current_dir(&self.folder));
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (status.code(), text(stdout), text(stderr))
    }
}

#[test]
fn watching_ends_after_a_duration() {
    if !can_watch() {
        return;
    }
    let place = Place::new();
    let program = &*place.program;
    for command in [&["trace"][..], &["count"], &["record", "-o", "recording"], &["top", "--marker", "slow:*"]] {
        let mut running = fixture::Process::start(&mut Command::new(program));
        let pid = running.id().to_string();
        let since = Instant::now();
        let arguments = [command, &["--duration", "400ms", "-p", &pid]].concat();
        let (status, out, said) = place.smark(&arguments);
        assert_eq!(status, Some(0), "{arguments:?}: {said}");
        let took = since.elapsed();
        assert!(took >= Duration::from_millis(400), "{arguments:?}: {took:?}");
        assert!(running.try_wait().expect("it can be asked").is_none(), "the process goes on");
        match command[0] {
            "trace" | "count" => assert!(out.contains("slow:pass"), "{out}{said}"),
            "record" => assert!(said.contains(" hits in recording ("), "{said}"),
            _ => {}
        }
    }
    // The program of COMMAND gets SIGTERM, which a shell in the background does not ignore: signal 15.
    let (status, out, said) = place.smark(&["trace", "--duration", "400ms", "--", program]);
    assert_eq!(status, Some(143), "{said}");
    assert!(out.lines().count() > 1, "{out}{said}");
}

#[test]
fn watching_ends_after_a_number_of_hits() {
    if !can_watch() {
        return;
    }
    let place = Place::new();
    let mut running = fixture::Process::start(&mut Command::new(&place.program));
    let pid = running.id().to_string();
    let (status, out, said) = place.smark(&["trace", "-n", "3", "-p", &pid]);
    assert_eq!((status, out.lines().count()), (Some(0), 3), "{out}{said}");
    let (status, _, said) = place.smark(&["record", "-n", "4", "-o", "recording", "-p", &pid]);
    assert_eq!(status, Some(0), "{said}");
    let (status, out, said) = place.smark(&["report", "recording"]);
    assert_eq!((status, out.lines().count()), (Some(0), 4), "{out}{said}");
    let (status, out, said) = place.smark(&["count", "--json", "--limit", "5", "-p", &pid]);
    assert_eq!(status, Some(0), "{said}");
    let counted: serde_json::Value = serde_json::from_str(out.lines().next().expect("a line")).expect("JSON");
    let hits = counted["hits"].as_u64().expect("hits");
    assert!((5..500).contains(&hits), "{out}");
    assert!(running.try_wait().expect("it can be asked").is_none(), "the process goes on");
    // `--verbose` says where the sites are.
    let (status, _, said) = place.smark(&["trace", "-v", "-n", "1", "-p", &pid]);
    let site = said.lines().filter(|line| line.contains(": watching slow:pass in main at 0x")).count();
    assert_eq!((status, site), (Some(0), 1), "{said}");
    let (_, _, said) = place.smark(&["trace", "-n", "1", "-p", &pid]);
    assert!(!said.contains("watching slow:pass"), "{said}");
}

#[test]
fn recordings_have_names_and_the_newest_is_read() {
    if !can_watch() {
        return;
    }
    let place = Place::new();
    let program = &*place.program;
    let (status, _, said) = place.smark(&["report"]);
    assert_eq!((status, &*said), (Some(2), "smark: no DIR given, and no recording smark-NAME-DATE is here\n"));
    for rounds in ["2", "3"] {
        let (status, _, said) = place.smark(&["record", "--", program, rounds]);
        assert_eq!(status, Some(0), "{said}");
        let (status, out, said) = place.smark(&["report", "slow:*"]);
        let folders =
            fs::read_dir(&place.folder).expect("the folder").map(|entry| entry.expect("an entry").file_name());
        let named = folders.filter_map(|name| name.into_string().ok()).filter(|name| name.starts_with("smark-slow-"));
        let named: Vec<String> = named.collect();
        let read = said.strip_prefix("smark: reading ").map(str::trim_end);
        assert!(status == Some(0) && named.iter().any(|name| Some(name.as_str()) == read), "{named:?}: {said}");
        assert_eq!(out.lines().count().to_string(), rounds, "{out}");
    }
}

#[test]
fn old_spellings_say_the_new_ones() {
    if !can_watch() {
        return;
    }
    let place = Place::new();
    let program = &*place.program;
    let (status, out, said) = place.smark(&["trace", "--every-ms", "50", "--", program, "20"]);
    assert!(said.starts_with("smark: --every-ms 50 is now written --every 50ms\n"), "{said}");
    assert!(status == Some(0) && out.contains("slow:pass"), "{out}");
    let (status, _, said) = place.smark(&["-q", "trace", "--buffer", "64", "--", program, "2"]);
    assert_eq!((status, &*said), (Some(0), ""));
    for (arguments, hint) in [
        (
            &["record", "--force", "-o", "recording", "--buffer", "64", "--", program, "2"][..],
            "--buffer 64 is now written --buffer 64K",
        ),
        (&["count", "--every", "0.5", "--", program, "2"], "--every 0.5 is now written --every 500ms"),
        (&["top", "--limit", "1"], "--limit 1 is now written --intervals 1"),
        (&["count", "-n", "slow:*", "--", program, "2"], "-n slow:* is now written --name slow:*"),
        (&["trace", "--all", "--", program, "2"], "--all is now written --include all"),
        (&["top", "--count", "1"], "--count 1 is now written --intervals 1"),
    ] {
        let (status, _, said) = place.smark(arguments);
        assert_eq!((status, said.lines().next()), (Some(0), Some(&*format!("smark: {hint}"))));
    }
    for (option, wrong, expected) in [
        ("--every", "0.5x", "a duration has a unit, as in 100ms, 10s and 5min, and is at least 10ms"),
        ("--duration", "10", "a duration has a unit, as in 100ms, 10s and 5min, and is at least 10ms"),
        ("--buffer", "2K", "from 4K to 1G"),
        ("--buffer", "64KiB", "a size is a number, or a number and K, M or G, as in 8M"),
    ] {
        let (status, _, said) = place.smark(&["trace", option, wrong, "--", program]);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains(wrong) && said.contains(option) && said.contains(expected), "{said}");
    }
}
