//! What is watched of control groups: the hits are the passes that the programs in them print.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, Process};
use simple_markers_tests::tools::{output, skipped};
use simple_markers_tests::watched::{can_watch, compile};

use crate::trace::hits;
use crate::whom::wait_until_asleep;

/// How long something may take.
const LONG: Duration = Duration::from_secs(30);

/// Passes a marker as often as each line of its standard input says, and prints that number. The marker
/// has a number of the process.
const PASSES: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include "simple_marker.h"
__attribute__((noinline)) static void at(int who, int i) {
    __asm__ volatile("nop");
    simple_mark_keep(groups:pass, "%d %d", who, i);
    __asm__ volatile("nop");
}
int main(int count, char **values) {
    int passes, who = count > 1 ? atoi(values[1]) : 0;
    while (scanf("%d", &passes) == 1) {
        for (int i = 0; i < passes; i++)
            at(who, i);
        printf("%d\n", passes);
        fflush(stdout);
    }
    return 0;
}
"#;

pub(crate) fn compile_passes(folder: &Path, name: &str) -> PathBuf {
    compile(folder, name, PASSES, &["-static"])
}

/// A program that passes its marker when it is told.
pub(crate) struct Passer {
    process: Process,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    passes: u64,
}

impl Passer {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut process = Process::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
        let (input, output) = (process.stdin.take().expect("a pipe"), process.stdout.take().expect("a pipe"));
        Self { process, input, output: BufReader::new(output), passes: 0 }
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Passes the marker so often, and returns when it has.
    pub(crate) fn pass(&mut self, times: u64) {
        writeln!(self.input, "{times}").expect("it reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it prints");
        assert_eq!(line.trim(), times.to_string());
        self.passes += times;
    }

    /// How often it said that it passed the marker.
    pub(crate) fn passes(&self) -> u64 {
        self.passes
    }
}

/// A control group of version 2, which is removed when it is dropped.
pub(crate) struct TestGroup {
    folder: PathBuf,
    /// Its path below the root group.
    path: String,
}

impl TestGroup {
    /// A new group below the root. `None` if there can be none here; in CI that is a failure.
    pub(crate) fn new(name: &str) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = name.replace("{}", &format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        Self::named(&name)
    }

    /// The same with a name of several levels.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("the mounts");
        let of_groups = |line: &str| {
            let (mount, system) = line.split_once(" - ")?;
            system.starts_with("cgroup2 ").then(|| mount.split(' ').nth(4).map(PathBuf::from))?
        };
        let Some(root) = mounts.lines().find_map(of_groups) else {
            skipped("no control groups of version 2 are mounted");
            return None;
        };
        let folder = root.join(name);
        if let Err(why) = fs::create_dir_all(&folder) {
            skipped(&format!("no control group can be made: {}: {why}", folder.display()));
            return None;
        }
        Some(Self { folder, path: format!("/{name}") })
    }

    pub(crate) fn below(&self, name: &str) -> Self {
        Self::named(&format!("{}/{name}", &self.path[1..])).expect("a group below one that can be made")
    }

    pub(crate) fn take(&self, process: u32) {
        fs::write(self.folder.join("cgroup.procs"), process.to_string()).expect("a process is moved");
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn number(&self) -> String {
        fs::metadata(&self.folder).expect("its folder").ino().to_string()
    }
}

impl Drop for TestGroup {
    fn drop(&mut self) {
        let since = Instant::now();
        // A process that has ended leaves it a moment later.
        while fs::remove_dir(&self.folder).is_err() && self.folder.exists() && since.elapsed() < Duration::from_secs(5)
        {
            let _ = fs::write(self.folder.join("cgroup.kill"), "1");
            sleep(Duration::from_millis(5));
        }
        assert!(std::thread::panicking() || !self.folder.exists(), "{} is left", self.folder.display());
    }
}

/// A running `smark`.
pub(crate) struct Smark {
    process: Process,
    said: Receiver<String>,
    all: Vec<String>,
}

impl Smark {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_as(Command::new(fixture::smark()).args(arguments))
    }

    pub(crate) fn start_as(smark: &mut Command) -> Self {
        smark.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Process::start(smark);
        let (stderr, (send, said)) = (process.stderr.take().expect("a pipe"), channel());
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        Self { process, said, all: Vec::new() }
    }

    /// Waits until it says a line with this text.
    pub(crate) fn wait_for(&mut self, text: &str) {
        while !self.all.iter().any(|line| line.contains(text)) {
            let line = self.said.recv_timeout(LONG).unwrap_or_else(|why| panic!("{text}: {why}: {:#?}", self.all));
            self.all.push(line);
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits until it ends by itself, and returns what it wrote.
    pub(crate) fn wait(&mut self) -> Vec<String> {
        let mut text = String::new();
        self.process.stdout.take().expect("a pipe").read_to_string(&mut text).expect("its output");
        assert_eq!(self.process.wait().expect("it ends").code(), Some(0), "{:#?}", self.all);
        text.lines().map(str::to_owned).collect()
    }

    /// Ends it, and returns what it wrote.
    pub(crate) fn end(mut self) -> Vec<String> {
        // A signal that comes at once may be earlier than the last hit is read, which it reads then.
        let status = Command::new("kill").args(["-INT", &self.id().to_string()]).status().expect("kill runs");
        assert!(status.success());
        let mut text = String::new();
        self.process.stdout.take().expect("a pipe").read_to_string(&mut text).expect("its output");
        assert_eq!(self.process.wait().expect("it ends").code(), Some(0), "{:#?}", self.all);
        text.lines().map(str::to_owned).collect()
    }
}

fn smark(arguments: &[&str]) -> Output {
    output(Command::new(fixture::smark()).args(arguments).stdin(Stdio::null()))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// How many hits each process has.
pub(crate) fn by_process(lines: &[String]) -> BTreeMap<u64, u64> {
    let (hits, end) = hits(lines);
    assert_eq!(end["lost"], 0, "{lines:?}");
    let mut counts = BTreeMap::new();
    for hit in &hits {
        *counts.entry(hit["pid"].as_u64().expect("a number")).or_default() += 1;
    }
    counts
}

fn expected(passers: &[&Passer]) -> BTreeMap<u64, u64> {
    passers.iter().map(|it| (it.id().into(), it.passes())).collect()
}

#[test]
fn the_hits_of_a_group_are_the_passes_in_it() {
    if !can_watch() {
        return;
    }
    let Some(group) = TestGroup::new("smark-test-{}") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile_passes(folder.path(), "passes");
    let below = group.below("below");
    let passer = |who: &str| Passer::start(Command::new(&program).arg(who));
    let (mut inside, mut outside, mut deeper) = (passer("1"), passer("2"), passer("3"));
    group.take(inside.id());
    below.take(deeper.id());
    let mut traced = Smark::start(&["trace", "--json", "--cgroup", group.path()]);
    let id = group.number();
    let mut counted = Smark::start(&["count", "--json", "--by", "who", "--cgroup", &id]);
    let recording = folder.path().join("recording");
    let mut recorded = Smark::start(&["record", "-o", text(&recording), "--cgroup", text(&group.folder)]);
    for smark in [&mut traced, &mut counted, &mut recorded] {
        smark.wait_for("watching 1 site of 1 marker in 1 file");
    }
    for times in [1, 300, 7] {
        inside.pass(times);
        outside.pass(2 * times);
        deeper.pass(3 * times);
    }
    // One that comes, and one that goes.
    let mut late = passer("4");
    late.pass(5);
    let before = late.passes();
    group.take(late.id());
    late.pass(11);
    let gone = TestGroup::new("smark-test-{}").expect("another group");
    gone.take(deeper.id());
    let stayed = deeper.passes();
    deeper.pass(13);
    let mut counts = expected(&[&inside]);
    counts.extend([(u64::from(deeper.id()), stayed), (u64::from(late.id()), late.passes() - before)]);
    let lines = traced.end();
    assert_eq!(by_process(&lines), counts, "{lines:?}");
    let lines = counted.end();
    let counted: Json = serde_json::from_str(&lines[0]).expect("JSON");
    let number = |pair: &Json, at: usize| pair[at].as_u64().expect("a number");
    let pairs = counted["by"].as_array().expect("pairs").iter();
    let mut found: Vec<(u64, u64)> = pairs.map(|pair| (number(pair, 0), number(pair, 1))).collect();
    found.sort_unstable();
    assert_eq!(found, [(1, inside.passes()), (3, stayed), (4, late.passes() - before)]);
    recorded.end();
    let report = output(Command::new(fixture::smark()).args(["report", "--json"]).arg(&recording));
    let lines: Vec<String> = String::from_utf8_lossy(&report.stdout).lines().map(str::to_owned).collect();
    assert_eq!(by_process(&lines), counts, "{}", said(&report));
}

#[test]
fn what_comes_to_a_group_is_watched() {
    if !can_watch() {
        return;
    }
    let Some(group) = TestGroup::new("smark-test-{}") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let [moved, executed, other] = ["moved", "executed", "other"].map(|name| compile_passes(folder.path(), name));
    let mut smark = Smark::start(&["trace", "--json", "-v", "--cgroup", group.path()]);
    smark.wait_for(&format!("no process is in the control group {} yet", group.path()));
    smark.wait_for("no marker is watched yet");
    // Its file is met when it is moved.
    let mut first = Passer::start(Command::new(&moved).arg("1"));
    group.take(first.id());
    smark.wait_for(&format!("of {}", text(&moved)));
    first.pass(10);
    let above = group.below("a");
    let deep = above.below("b");
    let script = r#"echo $$ > "$0/cgroup.procs" && exec "$1" 2"#;
    let mut second = Passer::start(Command::new("sh").args(["-c", script]).arg(&deep.folder).arg(&executed));
    smark.wait_for(&format!("of {}", text(&executed)));
    second.pass(20);
    // This one is not in the group.
    let mut third = Passer::start(Command::new(&other).arg("3"));
    third.pass(30);
    let mut fourth = Passer::start(Command::new(&moved).arg("4"));
    fourth.pass(40);
    let counts = expected(&[&first, &second]);
    // Nobody is in it then, and it goes on.
    drop((first, second));
    let mut fifth = Passer::start(Command::new(&moved).arg("5"));
    group.take(fifth.id());
    fifth.pass(50);
    let counts: BTreeMap<u64, u64> = counts.into_iter().chain(expected(&[&fifth])).collect();
    assert!(!smark.all.iter().any(|line| line.contains(text(&other))), "{:#?}", smark.all);
    let lines = smark.end();
    assert_eq!(by_process(&lines), counts, "{lines:?}");
}

#[test]
fn events_of_the_kernel_are_those_in_the_group() {
    if !can_watch() {
        return;
    }
    let Some(group) = TestGroup::new("smark-test-{}") else { return };
    let mut smark =
        Smark::start(&["trace", "--json", "-v", "-e", "sched:sched_process_exec", "--cgroup", group.path()]);
    smark.wait_for("no process is in the control group");
    // It says nothing of events when they are watched.
    sleep(Duration::from_millis(500));
    let ended = |script: &str| {
        let status = Command::new("sh").args(["-c", script]).arg(&group.folder).status();
        assert!(status.expect("sh runs").success(), "{script}");
    };
    ended(r#"exec true"#);
    ended(r#"echo $$ > "$0/cgroup.procs" && exec true"#);
    ended(r#"exec true"#);
    let lines = smark.end();
    let objects = lines.iter().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
    let found: Vec<Json> = objects.filter(|it| it["event"] == "sched:sched_process_exec").collect();
    assert_eq!(found.len(), 1, "{lines:?}");
    assert_eq!(found[0]["comm"], "true");
}

#[test]
fn nothing_wakes_up_while_a_group_does_nothing() {
    if !can_watch() {
        return;
    }
    let Some(group) = TestGroup::new("smark-test-{}") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile_passes(folder.path(), "idle");
    let passer = Passer::start(Command::new(&program).arg("1"));
    group.take(passer.id());
    for command in ["trace", "count"] {
        let mut smark = Smark::start(&[command, "--cgroup", group.path()]);
        smark.wait_for("watching 1 site of 1 marker in 1 file");
        wait_until_asleep(smark.id(), command);
        smark.end();
    }
}

#[test]
fn groups_that_cannot_be_watched_are_refused() {
    if !can_watch() {
        return;
    }
    let Some(group) = TestGroup::new("smark-test-{}") else { return };
    let refused = |arguments: &[&str], why: &str| {
        for command in ["trace", "count", "record"] {
            let output = smark(&[&[command, "--cgroup"], arguments].concat());
            assert_eq!((output.status.code(), said(&output).contains(why)), (Some(2), true), "{}", said(&output));
        }
    };
    let both = "--cgroup cannot be given together with -p PID or -- COMMAND";
    refused(&[group.path(), "-p", "1"], both);
    refused(&[group.path(), "--", "true"], both);
    refused(&[group.path(), "--no-children"], "--cgroup cannot be given together with --no-children");
    let tracefs = "control groups and containers are watched with BPF only";
    refused(&[group.path(), "--engine", "tracefs"], tracefs);
    refused(&["/there/is/none"], "/there/is/none: No such file or directory");
    refused(&["18446744073709551615"], "no control group has the number 18446744073709551615");
    refused(&["/proc"], "/proc: No such file or directory");
    // What nobody has passed matches nothing at the end.
    let output = smark(&["trace", "no:such", "--duration", "300ms", "--cgroup", group.path()]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
}
