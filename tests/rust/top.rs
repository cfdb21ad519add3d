//! `smark top` compared with what the kernel tells the parent of a process when it has ended, and its rest between two
//! tables.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, Process};
use simple_markers_tests::tools::{self, find, run};
use simple_markers_tests::watched::{can_watch, compile};

use crate::whom::wait_until_asleep;

/// Starts processes of known work, and prints for each its number, its kind, its CPU time in us
/// (`wait4`), and how often its first thread left a CPU.
const WORK: &str = include_str!("../top/work.c");

/// `smark top`, which runs until it is told to end.
struct Running {
    smark: Process,
    intervals: JoinHandle<Vec<Json>>,
}

impl Running {
    /// Starts `smark top`, and waits until it counts.
    fn start(options: &[&str]) -> Self {
        let mut smark = Command::new(fixture::smark());
        let mut smark = Process::start(smark.args(["top", "--json"]).args(options).stdout(Stdio::piped()));
        let mut lines = BufReader::new(smark.stdout.take().expect("a pipe")).lines();
        let json = |line: std::io::Result<String>| serde_json::from_str(&line.expect("UTF-8")).expect("JSON");
        let first = lines.next().map(json).expect("a first interval");
        let intervals = std::thread::spawn(move || std::iter::once(first).chain(lines.map(json)).collect());
        Self { smark, intervals }
    }

    /// Ends it, and returns the intervals.
    fn end(mut self) -> Vec<Json> {
        let killed = Command::new("kill").args(["-INT", &self.smark.id().to_string()]).status().expect("kill runs");
        assert!(killed.success());
        assert_eq!(self.smark.wait().expect("smark ends").code(), Some(0));
        self.intervals.join().expect("the intervals")
    }
}

/// The longest tick of a kernel in ns.
const TICK: u64 = 10_000_000;

fn number(of: &Json, field: &str) -> u64 {
    of[field].as_u64().unwrap_or_else(|| panic!("no {field} in {of}"))
}

/// What `smark` says of a process in all intervals.
#[derive(Debug, Default)]
struct Sum {
    cpu: u64,
    total: u64,
    switches: u64,
    ended: u64,
    name: String,
}

fn sums(intervals: &[Json]) -> HashMap<u64, Sum> {
    let mut sums: HashMap<u64, Sum> = HashMap::new();
    for interval in intervals {
        assert_eq!(number(interval, "uncounted"), 0);
        for process in interval["processes"].as_array().expect("processes") {
            let sum = sums.entry(number(process, "pid")).or_default();
            sum.cpu += number(process, "cpu_ns");
            sum.total = number(process, "cpu_total_ns");
            sum.switches += number(process, "switches");
            sum.ended += u64::from(process["ended"] == true);
            sum.name = process["comm"].as_str().expect("a name").to_owned();
        }
    }
    sums
}

/// Runs the program, and returns its lines.
fn work(program: &Path, arguments: &[&str]) -> Vec<(u64, String, u64, u64)> {
    let output = tools::output(Command::new(program).args(arguments));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [pid, kind, us, switches] = words[..] else { panic!("{line}") };
        let of = |word: &str| word.parse().expect("a number");
        (of(pid), kind.to_owned(), of(us), of(switches))
    };
    text.lines().map(line).collect()
}

#[test]
fn cpu_time_is_that_of_the_kernel() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "work", WORK, &[]);
    let running = Running::start(&["--every", "200ms"]);
    let expected = work(&program, &["24"]);
    let sums = sums(&running.end());
    assert_eq!(expected.len(), 24);
    for (pid, kind, us, switches) in expected {
        let sum = sums.get(&pid).unwrap_or_else(|| panic!("{kind} {pid} was not seen"));
        let what = format!("{kind} {pid}: {us} us, {switches} switches, {sum:?}");
        // Both numbers of `wait4` are cut to microseconds. Of a thread that was not the first it does
        // not have the last steps, after the thread was removed from its process, and the last switch.
        let threads = if kind == "threads" { 3 } else { 0 };
        // A process that is preempted on its last steps has been waited for before it leaves the CPU.
        let late = sum.switches.saturating_sub(switches + threads);
        let least = us * 1_000 - us / 10;
        let most = us * 1_000 + us / 10 + 2_000 + (threads + late) * TICK;
        assert!((least..=most).contains(&sum.cpu), "{what}");
        assert!(sum.switches >= switches + threads && late <= 2, "{what}");
        assert_eq!((sum.total, sum.ended), (sum.cpu, 1), "{what}");
        assert_eq!(sum.name, "work");
    }
}

#[test]
fn no_process_is_missed() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "work", WORK, &[]);
    let running = Running::start(&["--every", "100ms"]);
    let expected = work(&program, &["2000", "exit", "20"]);
    let sums = sums(&running.end());
    let mut ends: HashMap<u64, u64> = HashMap::new();
    expected.iter().for_each(|(pid, ..)| *ends.entry(*pid).or_default() += 1);
    assert_eq!(expected.len(), 2000);
    let missed: Vec<_> = ends.iter().filter(|(pid, ends)| sums.get(pid).is_none_or(|sum| sum.ended < **ends)).collect();
    assert!(missed.is_empty(), "{missed:?}");
}

/// A process that runs until it is dropped.
struct Busy(Process);

#[test]
fn a_busy_process_is_in_each_interval() {
    if !can_watch() {
        return;
    }
    let program = fixture::smark();
    let busy = Busy(Process::start(Command::new("sh").args(["-c", "while :; do :; done"])));
    let pid = busy.0.id().to_string();
    let smark = |options: &[&str]| {
        let output = tools::output(Command::new(program).args(["top", "-p", &pid]).args(options));
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let json = smark(&["--json", "--every", "400ms", "--intervals", "4"]);
    let text = smark(&["--every", "400ms", "--intervals", "2"]);
    drop(busy);
    let intervals: Vec<Json> = json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(intervals.len(), 4);
    let (mut last, mut used, mut time) = (0, 0, 0);
    for interval in &intervals {
        let [process] = &interval["processes"].as_array().expect("processes")[..] else { panic!("{interval}") };
        let (cpu, total) = (number(process, "cpu_ns"), number(process, "cpu_total_ns"));
        assert!(cpu > 0 && total + TICK >= last + cpu, "{interval} after {last}");
        last = total;
        used += cpu;
        time += number(interval, "interval_ns");
        // No more than the time there was, but for what the end of an interval is off.
        assert!(cpu <= number(interval, "interval_ns") + 2 * TICK, "{interval}");
    }
    assert!(used > 0 && used <= time + 2 * TICK);
    let tables: Vec<&str> = text.split("\n\n").filter(|table| !table.is_empty()).collect();
    assert_eq!(tables.len(), 2, "{text}");
    for table in tables {
        let lines: Vec<&str> = table.lines().collect();
        let [heading, row] = lines[..] else { panic!("{table}") };
        assert_eq!(heading, "     PID   %CPU       TIME  SWITCHES      WAIT NAME");
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!((words[0], words.last()), (&*pid, Some(&"sh")), "{row}");
    }
    assert!(!text.contains('\u{1b}'));
}

/// Passes a marker 3,000 times.
const MARKED: &str = r#"
#include <time.h>
#include "simple_marker.h"
int main(void) {
    for (int i = 0; i < 3000; i++) {
        simple_mark_keep_anchor(loop:pass, "%d", i);
        if (i % 100 == 0)
            nanosleep(&(struct timespec) { 0, 5000000 }, 0);
    }
    return 0;
}
"#;

#[test]
fn hits_are_counted_by_process() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "marked", MARKED, &[]);
    let file = program.to_str().expect("UTF-8");
    let running = Running::start(&["--every", "100ms", "--marker", "loop:*", file]);
    let mut processes = [0; 3].map(|_| Command::new(&program).spawn().expect("it runs"));
    let pids = processes.each_mut().map(|process| {
        assert!(process.wait().expect("it ends").success());
        u64::from(process.id())
    });
    let intervals = running.end();
    let rows = || intervals.iter().flat_map(|it| it["processes"].as_array().expect("processes"));
    for pid in pids {
        let hits: u64 = rows().filter(|row| number(row, "pid") == pid).map(|row| number(row, "hits")).sum();
        assert_eq!(hits, 3000, "{pid}");
    }
    let others: u64 = rows().filter(|row| !pids.contains(&number(row, "pid"))).map(|row| number(row, "hits")).sum();
    assert_eq!(others, 0);
    // What is wrong is said.
    let smark = |options: &[&str]| {
        let output = tools::output(Command::new(fixture::smark()).arg("top").args(options));
        (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
    };
    let (status, said) = smark(&["--marker", "nothing:*", file]);
    assert_eq!((status, &*said), (Some(1), "smark: no marker matches `nothing:*`; closest: loop:pass\n"));
    let (status, said) = smark(&["--marker", "loop:*"]);
    let needed = "smark: --marker needs a FILE with markers, a process with -p PID, or a control group with --cgroup\n";
    assert_eq!((status, &*said), (Some(2), needed));
    let (status, said) = smark(&["--cgroup", "/there/is/no/such/group"]);
    assert_eq!(status, Some(2));
    assert!(said.contains("/there/is/no/such/group: No such file") || said.contains("is not mounted"), "{said}");
}

#[test]
fn nothing_wakes_up_between_two_tables() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "marked", MARKED, &[]);
    let file = program.to_str().expect("UTF-8");
    let all: [&[&str]; 5] = [
        &[],
        &["--marker", "loop:*", file],
        &["--metrics", "127.0.0.1:0"],
        &["--send", "udp://127.0.0.1:9"],
        &["--receive", "127.0.0.1:0"],
    ];
    let smark = fixture::smark();
    std::thread::scope(|scope| {
        for options in all {
            scope.spawn(move || {
                let mut smark = Command::new(smark);
                smark.args(["top", "--every", "60s"]).args(options).stdin(Stdio::null()).stdout(Stdio::null());
                let mut smark = Process::start(&mut smark);
                wait_until_asleep(smark.id(), &format!("top {options:?}"));
                // A signal wakes it.
                let since = Instant::now();
                run(Command::new("kill").args(["-INT", &smark.id().to_string()]));
                assert_eq!(smark.wait().expect("it ends").code(), Some(0), "{options:?}");
                assert!(since.elapsed() < Duration::from_secs(20), "{options:?}: {:?}", since.elapsed());
            });
        }
    });
}

#[test]
fn a_screen_sleeps_until_a_key_or_another_size() {
    let (true, Some(script)) = (can_watch(), find("script")) else { return };
    let command = format!("exec {} top --every 60s", fixture::smark().display());
    let mut script = Command::new(script);
    script.args(["-qec", &command, "/dev/null"]).env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut script = Process::start(&mut script);
    let (mut output, (send, drawn)) = (script.stdout.take().expect("a pipe"), channel());
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(size @ 1..) = output.read(&mut bytes) {
            let _ = send.send(String::from_utf8_lossy(&bytes[..size]).into_owned());
        }
    });
    let wait_for = |text: &str| {
        let mut all = String::new();
        while !all.contains(text) {
            all.push_str(&drawn.recv_timeout(Duration::from_secs(20)).unwrap_or_else(|why| panic!("{why}: {all}")));
        }
    };
    wait_for("SWITCHES");
    let id = script.id();
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).expect("its children");
    let smark = children.trim();
    wait_until_asleep(smark.parse().expect("a process"), "top on a terminal");
    while drawn.try_recv().is_ok() {}
    run(Command::new("stty").args(["-F", &format!("/proc/{smark}/fd/1"), "cols", "70", "rows", "20"]));
    wait_for("SWITCHES");
    let mut keys = script.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut keys, b"q").expect("a key");
    assert_eq!(script.wait().expect("it ends").code(), Some(0));
}
