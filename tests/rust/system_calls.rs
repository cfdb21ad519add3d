//! System calls as one event (`-e syscalls:openat`): the program says what it calls, and what that returns.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};
use simple_markers_tests::fixture::{self, Process};
use simple_markers_tests::tools::ended;
use simple_markers_tests::watched::compile;

use crate::kernel_events::can_watch_events;

/// It opens a file that is there and one that is not, and reads a pipe that another thread writes late. A thread stays
/// in a call until the end.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "simple_marker.h"

static int ends[2], never[2];

static void *writes(void *none) {
    usleep(60000);
    return write(ends[1], "x", 1) == 1 ? none : ends;
}

static void *stays(void *none) {
    char byte;
    return read(never[0], &byte, 1) == 1 ? none : ends;
}

static void opens(const char *path) {
    // Its page is present then.
    (void)*(const volatile char *)path;
    int file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY, 0);
    dprintf(2, "%s %d\n", path, file < 0 ? -errno : file);
}

static void *reads(void *none) {
    char byte;
    while (read(ends[0], &byte, 1) == 1)
        ;
    return none;
}

int main(int count, char **values) {
    pthread_t writer, stuck;
    char byte;
    simple_mark_keep(calls:begin, "%d", getpid());
    opens("/proc/self/status");
    opens("/nothing/is/here");
    if (pipe(ends) || pipe(never)) return 1;
    if (count > 1) {
        pthread_create(&writer, 0, reads, values);
        for (int i = 0; i < 600 && write(ends[1], "x", 1) == 1; i++) usleep(100000);
        return 0;
    }
    pthread_create(&writer, 0, writes, 0);
    if (read(ends[0], &byte, 1) != 1) return 1;
    dprintf(2, "pipe %d\n", ends[0]);
    pthread_join(writer, 0);
    pthread_create(&stuck, 0, stays, 0);
    usleep(50000);
    simple_mark_keep(calls:end, "%d", getpid());
    return 0;
}
"#;

struct Run {
    /// The calls that the hits have.
    calls: Vec<Json>,
    said: String,
}

fn traced(program: &Path, options: &[&str]) -> Run {
    let mut smark = Command::new(fixture::smark());
    let output = ended(smark.args(["trace", "--json"]).args(options).arg("--").arg(program));
    let objects = output.lines().iter().filter_map(|line| serde_json::from_str(line).ok()).collect::<Vec<Json>>();
    let calls = objects.into_iter().filter(|it| it["event"].is_string()).collect();
    Run { calls, said: output.stderr.clone() }
}

fn opened(run: &Run) -> Vec<(String, i64)> {
    let is_ours = |path: &str| ["/proc/self/status", "/nothing/is/here"].contains(&path);
    let of = |call: &Json| {
        assert_eq!(call["event"], "syscalls:openat");
        assert!(call["took_ns"].as_u64().is_some_and(|took| took > 0), "{call}");
        assert!(call["text"].as_str().expect("a text").contains("filename"), "{call}");
        let path = call["fields"]["__filename_val"].as_str().or(call["fields"]["filename"].as_str());
        // The text of a page that is not present is null.
        Some((path?.to_owned(), call["result"].as_i64().expect("a result")))
    };
    run.calls.iter().filter_map(of).filter(|(path, _)| is_ours(path)).collect()
}

/// What the program says of a path.
fn said(run: &Run, path: &str) -> (String, i64) {
    let result = run.said.lines().find_map(|line| line.strip_prefix(path)?.trim().parse().ok());
    (path.to_owned(), result.expect("what it got"))
}

#[test]
fn a_call_is_one_event() {
    if !can_watch_events() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "calls", PROGRAM, &["-pthread"]);
    let run = traced(&program, &["-e", "syscalls:openat", "calls:*"]);
    let both = [said(&run, "/proc/self/status"), said(&run, "/nothing/is/here")];
    assert_eq!(both[1].1, -2);
    assert_eq!(opened(&run), both);
    // Either side chooses calls.
    let run = traced(&program, &["-e", "syscalls:openat", "--where", "ret < 0"]);
    assert_eq!(opened(&run), both[1..]);
    assert!(run.calls.iter().all(|call| call["result"].as_i64().is_some_and(|result| result < 0)), "{:?}", run.calls);
    let run = traced(&program, &["-e", "syscalls:openat", "--where", "filename == \"/proc/self/status\""]);
    assert_eq!((opened(&run), run.calls.len()), (both[..1].to_vec(), 1));
    // How long a call takes, and that one does not return.
    let run = traced(&program, &["-e", "syscalls:read"]);
    let late = run.calls.iter().filter(|call| call["took_ns"].as_u64().is_some_and(|took| took >= 50_000_000));
    // The end of the program ends the last one too, with -ERESTARTSYS.
    let (ended, late): (Vec<&Json>, Vec<&Json>) = late.partition(|call| call["result"] == -512);
    assert!(ended.len() <= 1, "{:?}", run.calls);
    assert_eq!(late.len(), 1, "{:?}", run.calls);
    assert_eq!(json!([late[0]["result"], late[0]["fields"]["fd"]]), json!([1, said(&run, "pipe").1]));
    assert!(!run.said.contains("had not returned"), "{}", run.said);
}

#[test]
fn a_call_that_does_not_return_is_said() {
    if !can_watch_events() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "calls", PROGRAM, &["-pthread"]);
    let mut running = Process::start(Command::new(&program).arg("for long").stderr(Stdio::null()));
    let mut smark = Command::new(fixture::smark());
    smark.args(["trace", "--json", "-e", "syscalls:read", "--duration", "1s", "-p", &running.id().to_string()]);
    let output = ended(&mut smark);
    let said = &output.stderr;
    assert!(said.contains("syscalls:sys_enter_read had not returned in the thread "), "{said}");
    assert!(output.lines().iter().any(|line| line.contains(r#""event":"syscalls:read""#)), "{:?}", output.lines());
    running.kill().expect("it is killed");
}

#[test]
fn a_line_has_the_result() {
    if !can_watch_events() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "calls", PROGRAM, &["-pthread"]);
    let mut smark = Command::new(fixture::smark());
    let output = ended(smark.args(["trace", "-e", "syscalls:open*"]).arg("--").arg(&program));
    let lines = output.lines();
    let failed = lines.iter().find(|line| line.contains("/nothing/is/here")).expect("the call");
    assert!(failed.contains(" syscalls:openat: "), "{failed}");
    assert!(failed.contains(" = -2 (No such file or directory) in "), "{failed}");
    // The time of calls is counted by the same name, and events with their own names stay as they are.
    let mut smark = Command::new(fixture::smark());
    smark.args(["count", "--json", "-e", "syscalls:read", "--time", "syscalls:read", "--by", "fd", "--"]).arg(&program);
    let lines: Vec<Json> = ended(&mut smark).lines().iter().filter_map(|it| serde_json::from_str(it).ok()).collect();
    let times = lines.iter().find(|it| it["time"].is_object()).expect("the times");
    assert!(times["time"]["max"].as_u64().is_some_and(|max| max >= 50_000_000), "{times}");
    let run = traced(&program, &["-e", "syscalls:sys_enter_openat"]);
    assert!(run.calls.len() > 1, "{:?}", run.calls);
    assert!(run.calls.iter().all(|call| call["event"] == "syscalls:sys_enter_openat"), "{:?}", run.calls);
}
