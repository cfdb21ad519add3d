//! Events of the kernel beside markers: what the program did, in its order, and as the kernel itself
//! says it.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, Process};
use simple_markers_tests::tools::{self, ended, find, run, skipped};
use simple_markers_tests::watched::{TRACEFS, can_watch, can_watch_with_tracefs, compile, remove_instance};

use super::trace::trace;

/// Calls `getpid` 1,000 times between two markers, three times; reads and writes with known arguments;
/// and waits for a child 500 times between two markers that say how often the kernel counted it.
const CALLS: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "simple_marker.h"

static long waits(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

int main(int count, char **arguments) {
    char bytes[64] = "x";
    if (count > 1 && read(0, bytes, 1) != 1) return 1;
    for (int round = 0; round < 3; round++) {
        syscall(SYS_getppid);
        simple_mark_keep(calls:start, "%d", round);
        syscall(SYS_getppid);
        for (int i = 0; i < 1000; i++) syscall(SYS_getpid);
        simple_mark_keep(calls:end, "%d", round);
    }
    int file = open("/dev/null", O_WRONLY);
    for (int i = 1; i <= 50; i++) {
        long written = write(file, bytes, i);
        simple_mark_keep(calls:written, "%ld", written);
    }
    int to[2], from[2];
    if (pipe(to) || pipe(from)) return 1;
    int child = fork();
    if (child == 0) {
        close(to[1]);
        while (read(to[0], bytes, 1) == 1) if (write(from[1], bytes, 1) != 1) return 1;
        return 0;
    }
    close(to[0]);
    long before = waits();
    simple_mark_keep(calls:before, "%ld", before);
    for (int i = 0; i < 500; i++) if (write(to[1], bytes, 1) != 1 || read(from[0], bytes, 1) != 1) return 1;
    long after = waits();
    simple_mark_keep(calls:after, "%ld", after);
    close(to[1]);
    return waitpid(child, 0, 0) != child;
}
"#;

/// Whether events can be watched, which needs BPF and a tracefs that can be read.
pub(crate) fn can_watch_events() -> bool {
    can_watch() && can_watch_with_tracefs()
}

fn program(folder: &Path) -> PathBuf {
    compile(folder, "calls", CALLS, &[])
}

fn objects(lines: &[String]) -> Vec<Json> {
    lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn is(object: &Json, kind: &str, name: &str) -> bool {
    object[kind] == name
}

#[test]
fn events_and_markers_are_in_the_order_of_the_program() {
    if !can_watch_events() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = program(folder.path());
    let options =
        ["--json", "-e", "syscalls:sys_enter_getpid", "-e", "syscalls:sys_*_write", "-e", "sched:sched_switch"];
    let objects = objects(&trace(&options, &[&program]));
    let end = &objects.last().expect("the end")["end"];
    assert_eq!((&end["lost"], &end["exit"]), (&0.into(), &0.into()), "{end}");
    let mut calls = Vec::new();
    let mut count = None;
    for object in &objects {
        match object["marker"].as_str() {
            Some("calls:start") => count = Some(0),
            Some("calls:end") => calls.extend(count.take()),
            _ if is(object, "event", "syscalls:sys_enter_getpid") => *count.as_mut().expect("between markers") += 1,
            _ => {}
        }
    }
    assert_eq!(calls, [1000; 3]);

    // Each write before its marker, with the arguments and the result that the program says.
    let of_writes: Vec<&Json> = objects
        .iter()
        .filter(|it| is(it, "marker", "calls:written") || it["event"].as_str().is_some_and(|it| it.ends_with("_write")))
        .take(150)
        .collect();
    for (number, part) in of_writes.chunks(3).enumerate() {
        let length = number as i64 + 1;
        assert_eq!(part[0]["fields"]["count"], length, "{}", part[0]);
        assert_eq!(part[1]["fields"]["ret"], length, "{}", part[1]);
        assert_eq!(part[2]["args"][0]["value"], length, "{}", part[2]);
    }

    // As often as the kernel says that it waited.
    let place = |name: &str| objects.iter().position(|it| is(it, "marker", name)).expect("the marker");
    let (before, after) = (place("calls:before"), place("calls:after"));
    let value = |at: usize| objects[at]["args"][0]["value"].as_i64().expect("a number");
    let waited = objects[before..after].iter().filter(|it| is(it, "event", "sched:sched_switch")).filter(|it| {
        let fields = &it["fields"];
        // A thread that is not runnable has one of the low bits of its state set.
        fields["prev_pid"] == objects[before]["tid"] && fields["prev_state"].as_i64().expect("a number") & 0xff != 0
    });
    assert_eq!(waited.count() as i64, value(after) - value(before));
}

#[test]
fn events_are_counted_in_the_kernel() {
    if !can_watch_events() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = program(folder.path());
    let count = |options: &[&str]| {
        let mut smark = Command::new(fixture::smark());
        objects(&ended(smark.arg("count").arg("--json").args(options).arg("--").arg(&program)).lines())
    };
    let of = |objects: &[Json], name: &str| {
        objects.iter().find(|it| it["event"] == name || it["marker"] == name).expect("a row").clone()
    };
    let all = count(&["-e", "syscalls:sys_*_getpid", "-e", "syscalls:sys_enter_write"]);
    assert_eq!(of(&all, "syscalls:sys_enter_getpid")["hits"], 3000);
    assert_eq!(of(&all, "syscalls:sys_exit_getpid")["hits"], 3000);
    assert_eq!(of(&all, "calls:start")["hits"], 3);
    // 50 to the file, 500 of the parent and 500 of the child.
    assert_eq!(of(&all, "syscalls:sys_enter_write")["hits"], 1050);

    let filtered = count(&["-e", "syscalls:sys_enter_write", "--where", "count > 10 && count <= 20"]);
    assert_eq!(of(&filtered, "syscalls:sys_enter_write")["hits"], 10);
    let by = count(&["-e", "syscalls:sys_enter_write", "--by", "count", "--top", "3"]);
    assert_eq!(of(&by, "syscalls:sys_enter_write")["by"][0], serde_json::json!([1, 1001]));
    let names = count(&["-e", "sched:sched_process_exit", "--where", "comm == \"calls\"", "--by", "comm"]);
    assert_eq!(of(&names, "sched:sched_process_exit")["by"], serde_json::json!([["calls", 2]]));
    let times =
        count(&["-e", "syscalls:sys_*_getpid", "--time", "syscalls:sys_enter_getpid..syscalls:sys_exit_getpid"]);
    let time = times.iter().find(|it| it["time"]["count"].is_number()).expect("the times");
    assert_eq!(time["time"]["count"], 3000, "{time}");
    let mixed = count(&["-e", "syscalls:sys_enter_getpid", "--time", "calls:start..calls:end"]);
    let time = mixed.iter().find(|it| it["time"]["count"].is_number()).expect("the times");
    assert_eq!(time["time"]["count"], 3, "{time}");
}

/// An instance of tracefs of this test. It is removed when it is dropped.
struct Instance(PathBuf);

impl Instance {
    fn new(name: &str) -> Self {
        let path = Path::new(TRACEFS).join(format!("instances/smark-test-{name}-{}", std::process::id()));
        fs::create_dir(&path).expect("an instance");
        Self(path)
    }

    fn set(&self, file: &str, text: &str) {
        fs::write(self.0.join(file), text).unwrap_or_else(|why| panic!("{file}: {why}"));
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        remove_instance(&self.0);
    }
}

/// The text of each event of a name that the kernel prints for a thread.
fn texts_of_kernel(instance: &Instance, thread: u64) -> Vec<(String, String)> {
    let trace = fs::read_to_string(instance.0.join("trace")).expect("the trace");
    let lines = trace.lines().filter(|line| !line.starts_with('#'));
    // COMM-PID [CPU] FLAGS TIME: NAME: TEXT
    let parts = lines.filter_map(|line| {
        let (start, rest) = line.split_once(": ")?;
        let task = start.split(" [").next()?.trim_end();
        let is_its = task.rsplit_once('-')?.1.trim() == thread.to_string();
        // The text of a system call starts with its name.
        let (name, text) = match rest.starts_with("sys_") {
            true => ("", rest),
            false => rest.split_once(": ")?,
        };
        is_its.then(|| (name.to_owned(), text.to_owned()))
    });
    parts.collect()
}

/// How many programs a process has attached to events of the kernel, and to markers.
fn links(process: u32) -> (usize, usize) {
    let files = fs::read_dir(format!("/proc/{process}/fdinfo")).into_iter().flatten().flatten();
    let texts: Vec<String> = files.filter_map(|file| fs::read_to_string(file.path()).ok()).collect();
    let count = |kind: &str| {
        let is_one = |text: &&String| text.lines().any(|line| line.split_whitespace().eq(["link_type:", kind]));
        texts.iter().filter(is_one).count()
    };
    (count("perf"), count("uprobe_multi"))
}

#[test]
fn texts_are_those_of_the_kernel() {
    if !can_watch_events() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = program(folder.path());
    let mut child = Command::new(&program)
        .arg("wait")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program runs");
    let pid = u64::from(child.id());
    let events =
        ["sched:sched_switch", "sched:sched_process_exit", "sched:sched_process_fork", "syscalls:sys_enter_write"];
    let instance = Instance::new("texts");
    instance.set("buffer_size_kb", "16384");
    instance.set("options/hash-ptr", "0");
    instance.set("set_event_pid", &pid.to_string());
    let mut smark = Command::new(fixture::smark());
    smark.args(["trace", "--json", "--no-children", "-p", &pid.to_string(), "calls:start"]);
    for event in events {
        smark.args(["-e", event]);
    }
    let mut smark = Process::start(smark.stdout(Stdio::piped()).stderr(Stdio::null()));
    let mut lines = BufReader::new(smark.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    // The program waits for a byte until smark watches.
    let since = Instant::now();
    while links(smark.id()) < (events.len(), 1) {
        assert!(since.elapsed() < Duration::from_secs(30), "{:?}", links(smark.id()));
        std::thread::sleep(Duration::from_millis(10));
    }
    for event in events {
        instance.set(&format!("events/{}/enable", event.replace(':', "/")), "1");
    }
    child.stdin.take().expect("a pipe").write_all(b"x").expect("the program reads");
    assert!(child.wait().expect("the program ends").success());
    let lines: Vec<String> = lines.by_ref().collect();
    assert!(smark.wait().expect("smark ends").success());
    for event in events {
        instance.set(&format!("events/{}/enable", event.replace(':', "/")), "0");
    }
    let ours: Vec<(String, String)> = objects(&lines)
        .iter()
        .filter(|it| it["tid"] == pid && it["event"].is_string())
        .map(|it| {
            let name = it["event"].as_str().and_then(|name| name.split_once(':')).expect("a name").1;
            let name = if name.starts_with("sys_") { "" } else { name };
            (name.to_owned(), it["text"].as_str().expect("a text").to_owned())
        })
        .collect();
    let theirs = texts_of_kernel(&instance, pid);
    assert!(theirs.len() > 1000, "{}", theirs.len());
    // The last switch of the program may come after smark saw its end.
    let count = theirs.len().min(ours.len());
    assert!(count + 2 >= theirs.len(), "{} of {}", ours.len(), theirs.len());
    assert_eq!(ours[..count], theirs[..count]);
}

#[test]
fn recordings_have_the_fields_of_events() {
    if !can_watch_events() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = program(folder.path());
    let recording = folder.path().join("recording");
    let mut smark = Command::new(fixture::smark());
    smark.arg("record").arg("-o").arg(&recording).args([
        "-e",
        "syscalls:sys_enter_write",
        "-e",
        "sched:sched_switch",
        "-e",
        "sched:*_exit",
    ]);
    let status = smark.arg("--").arg(&program).stderr(Stdio::null()).status().expect("smark runs");
    assert!(status.success());
    let report = |options: &[&str]| {
        let report = run(Command::new(fixture::smark()).arg("report").args(options).arg(&recording));
        report.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let reported = objects(&report(&["--json"]));
    let events: Vec<&Json> = reported.iter().filter(|it| it["event"].is_string()).collect();
    let writes = events.iter().filter(|it| it["event"] == "syscalls:sys_enter_write");
    let lengths: Vec<i64> = writes.take(50).filter_map(|it| it["fields"]["count"].as_i64()).collect();
    assert_eq!(lengths, (1..=50).collect::<Vec<_>>());
    assert!(events.iter().any(|it| it["event"] == "sched:sched_process_exit" && it["fields"]["comm"] == "calls"));
    let filtered = report(&["--where", "count == 7", "--json", "syscalls:sys_enter_write"]);
    assert_eq!(objects(&filtered).iter().filter(|it| it["event"].is_string()).count(), 1);
    let by = report(&["--by", "count", "--json", "syscalls:*"]);
    assert_eq!(objects(&by)[0]["by"][0], serde_json::json!([1, 1001]));

    // Another reader of the format sees the same events with the same fields.
    if find("babeltrace2").is_none() {
        return;
    }
    let output = tools::output(Command::new("babeltrace2").arg("--names=none").arg("--fields=").arg(&recording));
    let seen = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(seen.lines().count(), reported.len() - 1);
    let output = tools::output(Command::new("babeltrace2").arg(&recording));
    let seen = String::from_utf8(output.stdout).expect("UTF-8");
    for (line, object) in seen.lines().zip(&reported) {
        let name = object["event"].as_str().or(object["marker"].as_str()).expect("a name");
        assert!(line.contains(&format!(" {name}: {{")), "{line}\n{object}");
        for (field, value) in object["fields"].as_object().into_iter().flatten() {
            let field = field.trim_start_matches('_');
            let pattern = match value {
                // A text in the program's memory is shown as its address.
                _ if field == "buf" => continue,
                Json::String(text) => format!("{field} = \"{text}\""),
                Json::Number(number) => format!("{field} = {number}"),
                _ => continue,
            };
            // The values of some fields have names.
            let named = format!(" container = {value} )");
            let pattern = if line.contains(&format!("{field} = ( ")) { named } else { pattern };
            assert!(line.contains(&pattern), "{line}\n{object}");
        }
    }
}

#[test]
fn what_cannot_be_watched_is_said() {
    if !can_watch_events() {
        return;
    }
    let smark = |options: &[&str]| {
        let traced = ended(Command::new(fixture::smark()).arg("trace").args(options).args(["--", "true"]));
        (Some(traced.status), traced.stderr)
    };
    let (status, said) = smark(&["-e", "sched:sched_swich"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("no event of the kernel matches `sched:sched_swich`; closest: sched:sched_switch"), "{said}");
    let (status, said) = smark(&["-e", "sched:sched_switch", "--engine", "tracefs"]);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("events of the kernel are watched with BPF only"), "{said}");
    let (status, said) = smark(&["-e", "sched:sched_switch", "--where", "prev_pd == 1"]);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("prev_pid"), "{said}");
    let Some(setpriv) = find("setpriv") else { return };
    let output = tools::output(
        Command::new(setpriv)
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .arg(fixture::smark())
            .args(["trace", "-e", "sched:sched_switch"]),
    );
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        // The folder of the build may be closed to others.
        Some(126 | 127) => skipped("another user cannot run smark"),
        status => {
            assert_eq!(status, Some(2), "{said}");
            assert!(said.contains("the kernel's events cannot be read") && said.contains("root"), "{said}");
        }
    }
}

#[test]
fn nothing_is_left_after_a_kill() {
    if !can_watch_events() {
        return;
    }
    let name = "sched:sched_process_exec";
    let mut smark = Command::new(fixture::smark());
    let mut smark = smark.args(["trace", "--json", "-e", name]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let smark = smark.as_mut().expect("smark runs");
    let pid = smark.id();
    let mut lines = BufReader::new(smark.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    // Until one is seen, the program may not be attached yet.
    let ends = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = Command::new("true").status();
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let seen = lines.next();
        ends.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(seen.expect("a line").contains(name));
    });
    let links = || {
        let folder = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        folder
            .filter_map(|entry| fs::read_link(entry.path()).ok())
            .filter(|it| it.to_string_lossy().contains("bpf"))
            .count()
    };
    assert!(links() > 0);
    smark.kill().expect("smark is killed");
    smark.wait().expect("smark ends");
    // All that it had were file descriptors; it has no instance and no probe of tracefs.
    let left = |file: &str| fs::read_to_string(Path::new(TRACEFS).join(file)).unwrap_or_default();
    assert!(!left("uprobe_events").contains(&format!("smark-{pid}-")));
    let instances = fs::read_dir(Path::new(TRACEFS).join("instances")).into_iter().flatten().flatten();
    let names: Vec<String> = instances.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(!names.iter().any(|it| it.contains(&format!("-{pid}-"))), "{names:?}");
    assert_eq!(links(), 0);
}

/// Calls with texts of known lengths, and with addresses without a text.
const NAMES: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "simple_marker.h"

int main(void) {
    static char name[2000];
    static const int lengths[] = {0, 1, 31, 32, 33, 62, 63, 64, 254, 255, 256, 1000};
    simple_mark_keep(calls:start, "");
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        memset(name, 'a' + i, lengths[i]);
        name[lengths[i]] = 0;
        syscall(SYS_openat, -1, name, 0, 0);
    }
    syscall(SYS_openat, -1, (char *)0, 0, 0);
    syscall(SYS_openat, -1, (char *)1, 0, 0);
    syscall(SYS_openat, -1, mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 0, 0);
    syscall(SYS_renameat2, -1, "the old \"name\"", -1, "the new name", 7);
    syscall(SYS_renameat2, -1, (char *)1, -1, "the new name", 7);
    return syscall(SYS_write, -1, "bytes", 5) != -1;
}
"#;

#[test]
fn system_calls_have_their_texts() {
    if !can_watch_events() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "names", NAMES, &[]);
    let events = ["sys_enter_openat", "sys_enter_renameat2", "sys_enter_write"];
    let events: Vec<String> = events.iter().map(|event| format!("-esyscalls:{event}")).collect();
    let smark = |command: &str, options: &[&str]| {
        let mut smark = Command::new(fixture::smark());
        ended(smark.arg(command).args(options).args(&events).arg("calls:start").arg("--").arg(&program)).lines()
    };
    let opened = |objects: &[Json], fields: &str| {
        // The loader opens files before.
        let start = objects.iter().position(|it| it["marker"] == "calls:start").unwrap_or(0);
        let of = |event: &str| {
            let event = format!("syscalls:sys_enter_{event}");
            let those = objects[start..].iter().filter(move |it| it["event"] == *event);
            those.map(|it| it[fields].clone()).collect::<Vec<Json>>()
        };
        (of("openat"), of("renameat2"), of("write"))
    };
    let lengths = [0, 1, 31, 32, 33, 62, 63, 64, 254, 255, 256, 1000];
    let names = lengths.iter().zip(b'a'..).map(|(length, letter)| char::from(letter).to_string().repeat(*length));
    // What is longer than 255 bytes is cut.
    let cut = |name: String| if name.len() > 255 { format!("{}...", &name[..252]) } else { name };
    let names: Vec<Json> = names.map(|name| cut(name).into()).collect();
    let recording = folder.path().join("recording");
    let traced = objects(&smark("trace", &["--json"]));
    smark("record", &["-o", recording.to_str().expect("UTF-8")]);
    let reported = run(Command::new(fixture::smark()).args(["report", "--json"]).arg(&recording));
    let reported = objects(&reported.lines().map(str::to_owned).collect::<Vec<_>>());
    for objects in [&traced, &reported] {
        let (opens, renames, writes) = opened(objects, "fields");
        let texts: Vec<Json> = opens.iter().map(|fields| fields["__filename_val"].clone()).collect();
        assert_eq!(texts[..names.len()], names);
        // A null pointer, and two addresses that cannot be read.
        let rest = &opens[names.len()..];
        assert_eq!((&rest[0]["filename"], &rest[0]["__filename_val"]), (&0.into(), &"".into()), "{rest:?}");
        assert_eq!(rest[1]["filename"], 1);
        assert!(rest[1..].iter().all(|fields| !fields["__filename_val"].is_string()), "{rest:?}");
        assert_eq!(rest.len(), 3);
        let renamed = |number: usize| [&renames[number]["__oldname_val"], &renames[number]["__newname_val"]];
        assert_eq!(renamed(0), ["the old \"name\"", "the new name"]);
        assert!(!renamed(1)[0].is_string() && renamed(1)[1] == "the new name", "{renames:?}");
        // What has a length is no text.
        let names: Vec<&String> = writes[0].as_object().expect("fields").keys().collect();
        assert!(names.iter().all(|name| !name.ends_with("_val")), "{names:?}");
        let (opens, renames, _) = opened(objects, "text");
        let text = opens[names.len()].as_str().expect("a text");
        assert!(opens[1].as_str().is_some_and(|text| text.ends_with(" \"b\", flags: 0, mode: 0)")), "{text}");
        assert!(renames[1].as_str().is_some_and(|text| text.contains("oldname: 1 \"(fault)\"")), "{renames:?}");
    }
    let counted =
        objects(&smark("count", &["--json", "--by", "filename", "--where", "flags == 0 && filename != \"b\""]));
    let by = &counted.iter().find(|it| it["event"] == "syscalls:sys_enter_openat").expect("a row")["by"];
    let count =
        |name: &Json| by.as_array().into_iter().flatten().find(|pair| pair[0] == *name).map(|pair| pair[1].clone());
    assert_eq!([count(&names[0]), count(&names[1]), count(&names[2])], [Some(1.into()), None, Some(1.into())], "{by}");
    assert_eq!(count(&Json::Null), Some(1.into()), "{by}");
    let chosen = objects(&smark("trace", &["--json", "--where", &format!("filename == {}", names[6])]));
    let (opens, ..) = opened(&chosen, "fields");
    assert_eq!(opens.iter().map(|fields| &fields["__filename_val"]).collect::<Vec<_>>(), [&names[6]]);
}
