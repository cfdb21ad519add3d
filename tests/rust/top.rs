//! `smark top` compared with what the kernel tells the parent of a process when it has ended.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use serde_json::Value as Json;
use simple_markers_tests::fixture;
use simple_markers_tests::watched::{can_watch, compile};

/// Starts processes of known work, and prints for each its number, its kind, its CPU time in us
/// (`wait4`), and how often its first thread left a CPU.
const WORK: &str = include_str!("../top/work.c");

/// `smark top`, which runs until it is told to end.
struct Running {
    smark: Child,
    intervals: JoinHandle<Vec<Json>>,
}

impl Running {
    /// Starts `smark top`, and waits until it counts.
    fn start(options: &[&str]) -> Self {
        let mut smark = Command::new(fixture::smark());
        let mut smark = smark.args(["top", "--json"]).args(options).stdout(Stdio::piped()).spawn().expect("smark runs");
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
    let output = Command::new(program).args(arguments).output().expect("it runs");
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
    let running = Running::start(&["--every", "0.2"]);
    let expected = work(&program, &["24"]);
    let sums = sums(&running.end());
    assert_eq!(expected.len(), 24);
    for (pid, kind, us, switches) in expected {
        let sum = sums.get(&pid).unwrap_or_else(|| panic!("{kind} {pid} was not seen"));
        let what = format!("{kind} {pid}: {us} us, {switches} switches, {sum:?}");
        // Both numbers of `wait4` are cut to microseconds. Of a thread that was not the first it has
        // what was added up at the last tick, and not its last switch.
        let threads = if kind == "threads" { 3 } else { 0 };
        let least = us * 1_000 - us / 10;
        let most = us * 1_000 + us / 10 + 2_000 + threads * TICK;
        assert!((least..=most).contains(&sum.cpu), "{what}");
        assert_eq!((sum.total, sum.switches, sum.ended), (sum.cpu, switches + threads, 1), "{what}");
        assert_eq!(sum.name, "work");
    }
}
