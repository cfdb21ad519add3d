//! Filters and keys on what the kernel knows of each hit: the process, the thread and its name, the CPU, the
//! control group. The program says how often each of its threads passes the marker.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value as Json, json};
use simple_markers_tests::fixture;
use simple_markers_tests::tools::{self, ended};
use simple_markers_tests::watched::{can_watch, can_watch_with_tracefs, compile};

/// Four named threads and a process that it forks pass a marker. It prints the pid, the tid, the name and how
/// often each has passed it, and the CPU of the last one, which does not move.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "simple_marker.h"

static const char *const names[] = {"w", "exactly15bytes.", "a b\"c", "worker-3"};

__attribute__((noinline)) static void work(int tid) {
    simple_mark_keep(work:begin, "%d", tid);
    simple_mark_keep(work:end, "%d", tid);
}

static void passes(const char *name, int count) {
    int tid = syscall(SYS_gettid);
    pthread_setname_np(pthread_self(), name);
    for (int i = 0; i < count; i++) work(tid);
    dprintf(2, "%d %d %d %s\n", getpid(), tid, count, name);
}

static void *thread(void *number) {
    passes(names[(long)number], 10 * ((long)number + 1));
    return 0;
}

int main(void) {
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) {
        pthread_create(&threads[i], 0, thread, (void *)i);
        pthread_join(threads[i], 0);
    }
    int child = fork();
    if (child == 0) {
        cpu_set_t cpus;
        sched_getaffinity(0, sizeof cpus, &cpus);
        int cpu = 0;
        while (!CPU_ISSET(cpu, &cpus)) cpu++;
        CPU_ZERO(&cpus);
        CPU_SET(cpu, &cpus);
        sched_setaffinity(0, sizeof cpus, &cpus);
        passes("child", 7);
        dprintf(2, "%d\n", cpu);
        return 0;
    }
    return waitpid(child, 0, 0) != child;
}
"#;

/// A thread of the program.
#[derive(Debug)]
struct Passing {
    pid: u64,
    tid: u64,
    count: u64,
    name: String,
}

/// What the program said, and the objects that `smark` printed.
struct Run {
    threads: Vec<Passing>,
    cpu: u64,
    objects: Vec<Json>,
}

fn of_lines(said: &str, objects: &[String]) -> Run {
    let mut threads = Vec::new();
    let mut cpu = None;
    for line in said.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit())) {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let number = |index: usize| words.get(index).and_then(|word: &&str| word.parse().ok());
        match (number(0), number(1), number(2), words.get(3)) {
            (Some(pid), Some(tid), Some(count), Some(name)) => {
                threads.push(Passing { pid, tid, count, name: (*name).to_owned() });
            }
            (number, ..) => cpu = number,
        }
    }
    assert_eq!(threads.len(), 5, "{said}");
    let objects = objects.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Run { threads, cpu: cpu.expect("a CPU"), objects }
}

fn smark(command: &str, options: &[&str], program: &Path) -> Run {
    let mut smark = Command::new(fixture::smark());
    smark.arg(command).args((command != "record").then_some("--json"));
    let output = ended(smark.args(options).arg("--").arg(program));
    of_lines(&output.stderr, &output.lines())
}

/// The counts of `work:begin` by what `--by` asked for.
fn by(objects: &[Json]) -> BTreeMap<String, u64> {
    let row = objects.iter().find(|it| it["marker"] == "work:begin").expect("a row");
    let pairs = row["by"].as_array().expect("values").iter();
    let of = |pair: &Json| {
        let name = pair[0].as_str().map_or_else(|| pair[0].to_string(), str::to_owned);
        (name, pair[1].as_u64().expect("a count"))
    };
    pairs.map(of).collect()
}

/// The counts that the program says, by something of its threads.
fn expected(threads: &[Passing], of: impl Fn(&Passing) -> String) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for thread in threads {
        *all.entry(of(thread)).or_default() += thread.count;
    }
    all
}

fn program(folder: &Path) -> PathBuf {
    compile(folder, "named", PROGRAM, &["-O2", "-pthread"])
}

#[test]
fn hits_are_counted_by_what_the_kernel_knows_of_them() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = program(folder.path());
    let count = |key: &str| smark("count", &["--by", key], &program);
    let run = count("comm");
    assert_eq!(by(&run.objects), expected(&run.threads, |it| it.name.clone()));
    if can_watch_with_tracefs() {
        let run = smark("count", &["--engine", "tracefs", "--by", "comm"], &program);
        assert_eq!(by(&run.objects), expected(&run.threads, |it| it.name.clone()));
    }
    let run = count("pid");
    assert_eq!(by(&run.objects), expected(&run.threads, |it| it.pid.to_string()));
    assert_eq!(by(&run.objects).len(), 2);
    // The marker has an argument of this name, which is the same.
    for key in ["tid", "pid", "cpu"] {
        let all: u64 = by(&count(key).objects).values().sum();
        assert_eq!(all, 107, "{key}");
    }
    let run = smark("count", &["--by", "cpu", "--where", "comm == \"child\""], &program);
    assert_eq!(by(&run.objects), BTreeMap::from([(run.cpu.to_string(), 7)]));
    // The group is that of this test.
    let path = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let path = path.lines().find_map(|line| line.strip_prefix("0::")).map(str::to_owned);
    if let Some(group) = path.and_then(|path| std::fs::metadata(format!("/sys/fs/cgroup{path}")).ok()) {
        let number = std::os::unix::fs::MetadataExt::ino(&group);
        assert_eq!(by(&count("cgroup").objects), BTreeMap::from([(number.to_string(), 107)]));
    }
    let run = smark("count", &["--time", "work:begin..work:end", "--by", "comm"], &program);
    let times = run.objects.iter().find(|it| it["time"]["count"] == 107).expect("the times");
    let named = |name: &str| times["by"].as_array().expect("values").iter().find(|it| it[0] == name).cloned();
    assert_eq!(named("exactly15bytes.").map(|it| it[1].clone()), Some(json!(20)), "{times}");
    let run = smark("count", &["--time", "work:begin..work:end", "--key", "comm"], &program);
    assert!(run.objects.iter().any(|it| it["time"]["count"] == 107), "{:?}", run.objects);
}

#[test]
fn hits_are_chosen_by_what_the_kernel_knows_of_them() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = program(folder.path());
    let hits = |filter: &str| {
        let run = smark("trace", &["--where", filter, "work:begin"], &program);
        run.objects.iter().filter(|it| it["marker"].is_string()).count()
    };
    let run = smark("trace", &["--where", "comm == \"worker-3\"", "work:begin"], &program);
    let tids: Vec<u64> = run.objects.iter().filter_map(|it| it["tid"].as_u64()).collect();
    assert_eq!(tids, [run.threads[3].tid; 40]);
    assert_eq!(hits("comm == \"exactly15bytes.\""), 20);
    assert_eq!(hits("comm == \"exactly15bytes\""), 0);
    assert_eq!(hits("comm == \"\" || comm == \"w\""), 10);
    assert_eq!(hits(r#"comm != "a b\"c" && comm != "w""#), 20 + 40 + 7);
    assert_eq!(hits("tid == pid"), 7);
    assert_eq!(hits("cpu < 4096 && !(pid != tid)"), 7);
    // A recording says them too, but for the group.
    let recording = folder.path().join("recording");
    let recorded = smark("record", &["-o", recording.to_str().expect("UTF-8")], &program);
    let report = |options: &[&str]| {
        let report =
            tools::run(Command::new(fixture::smark()).args(["report", "--json"]).args(options).arg(&recording));
        report.lines().filter_map(|line| serde_json::from_str(line).ok()).collect::<Vec<Json>>()
    };
    assert_eq!(by(&report(&["--by", "comm"])), expected(&recorded.threads, |it| it.name.clone()));
    assert_eq!(by(&report(&["--by", "pid"])), expected(&recorded.threads, |it| it.pid.to_string()));
    let chosen = report(&["--where", "comm == \"worker-3\" && cpu < 4096", "work:end"]);
    assert_eq!(chosen.iter().filter(|it| it["marker"].is_string()).count(), 40);
    let groups = report(&["--by", "cgroup"]);
    assert_eq!(groups.last().expect("the end")["end"]["uncounted"], 214, "{groups:?}");
}

#[test]
fn names_of_threads_have_at_most_fifteen_bytes() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut smark = Command::new(fixture::smark());
    smark.args(["trace", "--where", "comm == \"sixteen.bytes...\"", "--"]).arg(program(folder.path()));
    let output = tools::output(&mut smark);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("at most 15 bytes"), "{said}");
    assert_eq!(output.status.code(), Some(2), "{said}");
}
