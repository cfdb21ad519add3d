//! `smark` with tracefs says what it says with BPF, loses nothing untold, and leaves nothing behind.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use simple_markers_tests::fixture;
use simple_markers_tests::tools::{self, Ended, ended, find, run, skipped};
use simple_markers_tests::watched::{TRACEFS, can_watch, can_watch_with_tracefs, compile};

use crate::trace::{FAMILY, KINDS, LIBRARY, check_lost, hits, numbers, trace};

const TRACEFS_ENGINE: [&str; 2] = ["--engine", "tracefs"];

/// Runs `smark trace` with tracefs, and returns its lines.
fn with_tracefs(options: &[&str], command: &[&Path]) -> Vec<String> {
    trace(&[&TRACEFS_ENGINE, options].concat(), command)
}

/// Loops over markers with arguments of many kinds, in two threads.
const LOOP: &str = r#"
#include "simple_marker.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct item { struct item *next; long number; char *text; short small; char name[12]; unsigned flag : 3; };

__attribute__((noinline)) static void look(struct item *item, unsigned index, long *numbers) {
    __asm__ volatile("nop");
    simple_mark_anchor(loop:look, "%ld %ld %s %hd %s %u %p %u", item->number, item->next->number, item->text, item->small,
        item->name, item->flag, item->next, index);
    __asm__ volatile("nop" : : "r"(item), "r"(index), "r"(numbers) : "memory");
}

static void *run(void *count) {
    struct item *first = calloc(1, sizeof *first), *second = calloc(1, sizeof *second);
    long numbers[8] = { 0 };
    first->next = second, second->next = first;
    for (long i = 0; i < (long)count; i++) {
        first->number = i, second->number = -i;
        first->text = i % 3 ? i % 3 == 1 ? "text" : "" : 0;
        first->small = i % 2 ? -1 : 0;
        strcpy(first->name, i % 2 ? "name" : "");
        first->flag = i;
        look(first, i, numbers);
    }
    return 0;
}

int main(int count, char **arguments) {
    pthread_t thread;
    long hits = count > 1 ? atol(arguments[1]) : 100;
    pthread_create(&thread, 0, run, (void *)hits);
    run((void *)hits);
    return pthread_join(thread, 0);
}
"#;

/// What hits say, without times and numbers of processes. A second run has other addresses.
fn said(hits: &[Json]) -> Vec<String> {
    let pointer = |argument: &Json| argument["text"] == "item->next";
    let text = |hit: &Json| {
        let arguments = hit["args"].as_array().expect("arguments").iter().filter(|it| !pointer(it));
        let values: Vec<String> = arguments.map(|it| format!("{} {}", it["value"], it["why"])).collect();
        format!("{} {} {} {}", hit["marker"], hit["site"], hit["comm"], values.join(", "))
    };
    let mut lines: Vec<String> = hits.iter().map(text).collect();
    lines.sort();
    lines
}

#[test]
fn it_says_what_bpf_says() {
    if !can_watch_with_tracefs() || !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for flags in [&[][..], &["-no-pie", "-fno-pie"], &["-O0"], &["-O1"]] {
        // The path has what the kernel's parser of paths cannot read.
        let program = compile(folder.path(), "loop with spaces", LOOP, flags);
        let (expected, _) = hits(&trace(&["--json"], &[&program]));
        let (found, end) = hits(&with_tracefs(&["--json"], &[&program]));
        assert_eq!((end["hits"].as_u64(), end["lost"].as_u64(), end["exit"].as_i64()), (Some(200), Some(0), Some(0)));
        assert_eq!(said(&found), said(&expected), "{flags:?}");
        assert!(!said(&found).iter().any(|line| line.contains("unreadable")), "{flags:?}: {:?}", said(&found));
        let filter = "item->number >= 10 && item->text == \"text\" && item->small != 0";
        let (expected, _) = hits(&trace(&["--json", "--where", filter], &[&program]));
        let (found, _) = hits(&with_tracefs(&["--json", "--where", filter], &[&program]));
        assert_eq!((said(&found), found.len()), (said(&expected), 30), "{flags:?}");
    }
}

#[test]
fn each_kind_of_value_is_the_one_the_program_prints() {
    if !can_watch_with_tracefs() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for flags in [&[][..], &["-no-pie", "-fno-pie"], &["-O0"]] {
        let program = compile(folder.path(), "kinds", KINDS, flags);
        let lines = with_tracefs(&[], &[&program]);
        let said: Vec<&str> =
            lines.iter().filter_map(|line| line.split_once(" kinds:")?.1.split_once(": ")).map(|it| it.1).collect();
        let printed = lines.iter().filter(|line| !line.contains(" kinds:"));
        // The fifth argument of `others` is thread-local.
        let printed: Vec<String> = printed.map(|line| line.replace(" 8 -70000", " <unreadable> -70000")).collect();
        assert_eq!((said.len(), said), (4, printed.iter().map(String::as_str).collect()), "{flags:?}");
    }
}

#[test(desk = false)]
fn counts_are_those_of_bpf() {
    if !can_watch_with_tracefs() || !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "loop", LOOP, &[]);
    let count = |options: &[&str]| {
        let mut smark = Command::new(fixture::smark());
        smark.args(["count", "--json"]).args(options).arg("--").arg(&program);
        run(&mut smark)
    };
    for options in [&[][..], &["--by", "item->text"], &["--hist", "item->number"], &["--where", "item->small != 0"]] {
        let found = count(&[&TRACEFS_ENGINE, options].concat());
        assert_eq!(found, count(options), "{options:?}");
        assert!(found.contains(if options.first() == Some(&"--where") { "100" } else { "200" }), "{found}");
    }
}

#[test]
fn lost_hits_are_counted() {
    if !can_watch_with_tracefs() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "loop", LOOP, &[]);
    check_lost(&hits(&with_tracefs(&["--json", "--buffer", "4K"], &[&program, Path::new("50000")])), 100_000);
}

#[test]
fn children_and_libraries_are_watched() {
    if !can_watch_with_tracefs() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "family", FAMILY, &[]);
    let library = compile(folder.path(), "library.so", LIBRARY, &["-shared", "-fPIC"]);
    let (found, end) = hits(&with_tracefs(&["--json"], &[&program, &library]));
    assert_eq!((numbers(&found, "family:step"), &end["exit"]), (vec![1, 2, 3, 4], &5.into()));
    let late = numbers(&found, "library:call");
    assert_eq!(late.last(), Some(&19), "{late:?}");
    // The number of the process is that of its first thread, and that of a child its own.
    let pids: Vec<&Json> = found.iter().filter(|hit| hit["marker"] == "family:step").map(|hit| &hit["pid"]).collect();
    assert_eq!((pids[0], pids[1]), (pids[3], pids[2]));
    assert_ne!(pids[0], pids[1]);
    let (found, _) = hits(&with_tracefs(&["--json", "--no-children"], &[&program, &library]));
    assert_eq!(numbers(&found, "family:step"), [1, 4]);
}

/// The names of what a process has in tracefs: its instances, and its groups of events.
fn left(process: u32) -> Vec<String> {
    let instances = fs::read_dir(format!("{TRACEFS}/instances")).expect("the instances").flatten();
    let instances = instances.filter_map(|entry| entry.file_name().into_string().ok());
    let events = fs::read_to_string(format!("{TRACEFS}/uprobe_events")).expect("the events");
    let groups = events.lines().filter_map(|line| Some(line.split_once(':')?.1.split_once('/')?.0.to_owned()));
    let is_its = |name: &String| {
        let mut parts = name.split(['-', '_']);
        parts.next() == Some("smark") && parts.next() == Some(&process.to_string())
    };
    let mut names: Vec<String> = instances.chain(groups).filter(is_its).collect();
    names.dedup();
    names
}

/// A `smark trace` of every process that runs a program, after its first hit.
struct Tracer(std::process::Child);

impl Tracer {
    fn start(program: &Path) -> Self {
        let mut smark = Command::new(fixture::smark());
        smark.arg("trace").args(TRACEFS_ENGINE).arg(program).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut tracer = Self(smark.spawn().expect("smark runs"));
        let out = tracer.0.stdout.take().expect("a pipe");
        let (send, received) = std::sync::mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(out).lines() {
                // The receiver takes the first line only.
                let _ = send.send(line);
            }
        });
        let since = Instant::now();
        while received.try_recv().is_err() {
            assert!(since.elapsed() < Duration::from_secs(20), "no hit");
            tools::output(&mut Command::new(program));
        }
        tracer
    }

    fn signal(&mut self, signal: &str) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().expect("kill runs").success());
        self.0.wait().expect("it ends");
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        // A signal that it can catch, so that it cleans up.
        let _ = Command::new("kill").arg(self.0.id().to_string()).output();
        let _ = self.0.wait();
    }
}

#[test]
fn nothing_is_left_behind() {
    if !can_watch_with_tracefs() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "loop", LOOP, &[]);
    for signal in ["INT", "TERM", "HUP"] {
        let mut tracer = Tracer::start(&program);
        assert_eq!(left(tracer.0.id()).len(), 3, "{:?}", left(tracer.0.id()));
        tracer.signal(signal);
        assert_eq!(left(tracer.0.id()), [""; 0], "{signal}");
    }
    // What a killed process leaves goes with the next start, and what a live one has stays.
    let (mut killed, other) = (Tracer::start(&program), Tracer::start(&program));
    killed.signal("KILL");
    let pids = (killed.0.id(), other.0.id());
    // Another test may have removed it already.
    assert!([0, 3].contains(&left(pids.0).len()), "{:?}", left(pids.0));
    let (found, _) = hits(&trace(&["--json"], &[&program]));
    let since = Instant::now();
    while !left(pids.0).is_empty() {
        // Another process may be removing it.
        assert!(since.elapsed() < Duration::from_secs(5), "{:?}", left(pids.0));
        sleep(Duration::from_millis(10));
    }
    assert_eq!((left(pids.1).len(), found.len()), (3, 200));
}

/// A process that is being started has the open files of the one that starts it.
#[test]
fn nothing_is_left_behind_while_processes_are_started() {
    if !can_watch_with_tracefs() {
        return;
    }
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    Command::new("true").status().expect("it runs");
                }
            });
        }
        assert!((0..10).all(|_| can_watch_with_tracefs()));
        is_done.store(true, Ordering::Relaxed);
    });
    // Other tests of this process have instances for a moment.
    let mut still = left(std::process::id());
    let since = Instant::now();
    while !still.is_empty() {
        assert!(since.elapsed() < Duration::from_secs(10), "{still:?}");
        sleep(Duration::from_millis(10));
        let now = left(std::process::id());
        still.retain(|name| now.contains(name));
    }
}

#[test]
fn the_kernel_counts_as_many_hits() {
    if !can_watch_with_tracefs() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "counted", LOOP, &[]);
    let tracer = Tracer::start(&program);
    // How often the program ran before the first line came is not known here.
    let counted = || -> u64 {
        let profile = fs::read_to_string(format!("{TRACEFS}/uprobe_profile")).expect("the counts");
        let group = left(tracer.0.id()).pop().expect("a group");
        assert!(group.starts_with("smark_"), "{group}");
        let path = program.display().to_string();
        let ours = profile.lines().filter(|line| line.contains(&path));
        ours.filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok()).sum()
    };
    let before = counted();
    let (found, end) = hits(&with_tracefs(&["--json"], &[&program, Path::new("3000")]));
    assert_eq!((found.len() as u64, end["hits"].as_u64()), (6000, Some(6000)));
    assert_eq!(counted() - before, 6000);
}

#[test]
fn it_is_chosen_where_bpf_is_not_allowed() {
    if !can_watch_with_tracefs() {
        return;
    }
    let Some(setpriv) = find("setpriv") else { return skipped("setpriv is missing") };
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "loop", LOOP, &[]);
    // To root every file of tracefs is open without any capability.
    let mut smark = Command::new(setpriv);
    smark.args(["--bounding-set", "-sys_admin,-bpf,-perfmon", "--inh-caps", "-sys_admin,-bpf,-perfmon"]);
    let Ended { stdout, stderr: errors, .. } = ended(smark.arg(fixture::smark()).arg("trace").arg("--").arg(&program));
    assert!(errors.contains("BPF cannot be used here") && errors.contains("tracefs"), "{errors}");
    assert_eq!(stdout.matches("loop:look").count(), 200);
}
