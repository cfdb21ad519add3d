//! Files that are built again, moved, removed or overwritten while they are watched.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, Process};
use simple_markers_tests::tools::ended;
use simple_markers_tests::watched::{can_watch, can_watch_with_tracefs, compile};

use crate::trace::hits;

/// Passes a marker as often as its argument says; -1: until it is killed, with a byte for whoever waits until
/// it has begun. `MORE` passes another one.
const SOURCE: &str = r#"
#include <stdlib.h>
#include <unistd.h>
#include "simple_marker.h"
#ifdef MORE
static int padding[1000] = {1};
__attribute__((noinline)) static void more(int i) {
    __asm__ volatile("nop");
    simple_mark_keep(built:more, "more %d", i + 100);
    __asm__ volatile("nop" : : "r"(&padding));
}
#else
#define more(i)
#endif
__attribute__((noinline)) PUBLIC void at(int i) {
    more(i);
    __asm__ volatile("nop");
    simple_mark_keep(built:at, TEXT " %d", i);
    __asm__ volatile("nop");
}
#ifndef LIBRARY
int main(int count, char **values) {
    int most = count > 1 ? atoi(values[1]) : 0;
    if (most < 0 && write(1, "", 1) != 1)
        return 1;
    for (int i = 0; most < 0 || i < most; i++) {
        at(i);
        if (most < 0)
            usleep(20000);
    }
    return 0;
}
#endif
"#;

/// Two builds of one program: the second has one marker more, and another format of the first.
fn builds(folder: &Path) -> [PathBuf; 2] {
    let of = |name: &str, flags: &[&str]| compile(folder, name, SOURCE, flags);
    [of("one", &["-DPUBLIC=static", "-DTEXT=\"one\""]), of("two", &["-DPUBLIC=static", "-DTEXT=\"two\"", "-DMORE"])]
}

/// A `smark` in the background, which writes to files.
struct Smark {
    child: Process,
    out: PathBuf,
    said: PathBuf,
}

impl Smark {
    /// Starts it, and waits until it says that it watches.
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let (out, said) = (folder.join("smark-out"), folder.join("smark-said"));
        let file = |path: &Path| fs::File::create(path).expect("a file");
        let mut smark = Command::new(fixture::smark());
        smark.args(arguments).stdin(Stdio::null()).stdout(file(&out)).stderr(file(&said));
        let smark = Self { child: Process::start(&mut smark), out, said };
        smark.wait_for("watching", 1);
        smark
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.said).expect("UTF-8")
    }

    /// Waits until it has said something so many times.
    fn wait_for(&self, what: &str, count: usize) {
        let since = Instant::now();
        while self.said().matches(what).count() < count {
            assert!(since.elapsed() < Duration::from_secs(30), "not {count} times {what:?}: {}", self.said());
            sleep(Duration::from_millis(5));
        }
    }

    /// Ends it, and returns its lines.
    fn end(mut self) -> Vec<String> {
        sleep(Duration::from_millis(200));
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", "INT", &pid]).status().expect("kill runs").success());
        self.child.wait().expect("it ends");
        fs::read_to_string(&self.out).expect("UTF-8").lines().map(str::to_owned).collect()
    }
}

/// Runs a program, and returns its number.
fn run(program: &Path, count: &str) -> u64 {
    let mut child = Process::start(Command::new(program).arg(count));
    let pid = child.id().into();
    let status = child.wait().expect("it ends");
    assert!(status.success(), "{program:?} {count}: {status}");
    pid
}

/// The markers and texts of the hits of a process.
fn of(found: &[Json], pid: u64) -> Vec<String> {
    let of = |hit: &Json| {
        let (marker, value) = (hit["marker"].as_str().expect("a name"), &hit["args"][0]["value"]);
        format!("{marker} {value}")
    };
    found.iter().filter(|hit| hit["pid"] == pid).map(of).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// The ways to put another file in the place of the second argument.
const WAYS: [&str; 6] = [
    "cp \"$0\" \"$1.new\" && mv \"$1.new\" \"$1\"",
    "rm \"$1\" && cp \"$0\" \"$1\"",
    "rm \"$1\" && ln \"$0\" \"$1\"",
    "cp --remove-destination \"$0\" \"$1\"",
    "rm -r \"$(dirname \"$1\")\" && mkdir \"$(dirname \"$1\")\" && cp \"$0\" \"$1\"",
    "rm \"$1\" && ln -s \"$0\" \"$1\"",
];

fn put(way: &str, from: &Path, to: &Path) {
    let mut sh = Command::new("sh");
    assert!(sh.args(["-ec", way]).arg(from).arg(to).status().expect("sh runs").success(), "{way}");
}

fn is_watched_however_it_is_replaced(engine: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let builds = builds(folder.path());
    fs::create_dir(folder.path().join("target")).expect("a folder");
    let program = folder.path().join("target/built");
    fs::copy(&builds[0], &program).expect("a copy");
    let smark = Smark::start(folder.path(), &["trace", "--json", "--engine", engine, text(&program)]);
    let mut old = Process::start(Command::new("timeout").arg("100").arg(&program).arg("-1").stdout(Stdio::piped()));
    // Otherwise it may begin when the file is another one.
    old.stdout.as_mut().expect("a pipe").read_exact(&mut [0]).expect("it begins");
    let first = run(&program, "2");
    let mut runs = Vec::new();
    for (number, way) in WAYS.iter().enumerate() {
        put(way, &builds[(number + 1) % 2], &program);
        smark.wait_for(" was replaced: watching ", number + 1);
        runs.push(run(&program, "2"));
    }
    sleep(Duration::from_millis(200));
    assert!(Command::new("kill").arg(old.id().to_string()).status().expect("kill runs").success());
    old.wait().expect("it ends");
    let said = smark.said();
    let (found, end) = hits(&smark.end());
    let expected =
        [vec!["built:at 0", "built:at 1"], vec!["built:more 100", "built:at 0", "built:more 101", "built:at 1"]];
    assert_eq!(of(&found, first), expected[0], "{said}");
    for (number, pid) in runs.iter().enumerate() {
        assert_eq!(of(&found, *pid), expected[(number + 1) % 2], "{engine} {}: {said}", WAYS[number]);
    }
    // The old file is watched as long as a process runs it.
    let is_known = |pid: &u64| *pid == first || runs.contains(pid);
    let old_pid = found.iter().filter_map(|hit| hit["pid"].as_u64()).find(|pid| !is_known(pid));
    let of_old = of(&found, old_pid.expect("the old process"));
    let count = of_old.len();
    assert!(count > 10, "{count}: {said}");
    assert_eq!(of_old, (0..count).map(|i| format!("built:at {i}")).collect::<Vec<_>>());
    assert_eq!((&end["lost"], said.matches("was replaced").count()), (&0.into(), WAYS.len()), "{said}");
    let all = said.lines().filter(|line| line.ends_with("of the new file too; processes still run the old one"));
    assert_eq!(all.count(), WAYS.len(), "{said}");
}

#[test]
fn a_file_that_is_replaced_is_watched() {
    if can_watch() {
        is_watched_however_it_is_replaced("bpf");
    }
}

#[test]
fn a_file_that_is_replaced_is_watched_with_tracefs() {
    if can_watch() && can_watch_with_tracefs() {
        is_watched_however_it_is_replaced("tracefs");
    }
}

/// A uprobe of the old program at a place of the new one would kill it. So who overwrites a file waits
/// until its probes are removed.
#[test]
fn a_file_that_is_overwritten_is_not_broken() {
    if !can_watch() || !can_watch_with_tracefs() {
        return;
    }
    for engine in ["bpf", "tracefs"] {
        let folder = tempfile::tempdir().expect("a folder");
        let builds = builds(folder.path());
        let program = folder.path().join("built");
        fs::copy(&builds[0], &program).expect("a copy");
        let smark = Smark::start(folder.path(), &["trace", "--json", "--engine", engine, text(&program)]);
        for round in 0..10 {
            let source = &builds[(round + 1) % 2];
            put("cat \"$0\" > \"$1\"", source, &program);
            // At once, while its probes are not set.
            run(&program, "2");
        }
        smark.wait_for(" was overwritten: watching ", 1);
        sleep(Duration::from_millis(500));
        let before = smark.said().matches(" was overwritten: watching ").count();
        put("cat \"$0\" > \"$1\"", &builds[1], &program);
        smark.wait_for(" was overwritten: watching ", before + 1);
        let last = run(&program, "1");
        let said = smark.said();
        let (found, _) = hits(&smark.end());
        assert_eq!(of(&found, last), ["built:more 100", "built:at 0"], "{engine}: {said}");
    }
}

#[test]
fn a_file_that_comes_again_is_watched() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let builds = builds(folder.path());
    // The path has a symbolic link, which leads to another folder later.
    for name in ["v1", "v2"] {
        fs::create_dir(folder.path().join(name)).expect("a folder");
    }
    let [first, second] = ["v1/built", "v2/built"].map(|it| folder.path().join(it));
    fs::copy(&builds[0], &first).expect("a copy");
    let link = folder.path().join("current");
    symlink("v1", &link).expect("a link");
    let program = link.join("built");
    let smark = Smark::start(folder.path(), &["trace", "--json", text(&program)]);
    fs::remove_file(&first).expect("it is removed");
    smark.wait_for("v1/built was removed: processes that run it are still watched, and a new file there will be", 1);
    fs::write(&first, "no program").expect("a file");
    smark.wait_for("not an ELF file", 1);
    fs::copy(&builds[1], folder.path().join("v1/new")).expect("a copy");
    fs::rename(folder.path().join("v1/new"), &first).expect("it is renamed");
    smark.wait_for("v1/built was replaced: watching 2 sites of 2 markers of the new file", 1);
    let one = run(&program, "1");
    fs::copy(&builds[0], &second).expect("a copy");
    fs::remove_file(&link).and_then(|()| symlink("v2", &link)).expect("a link");
    smark.wait_for("v2/built was replaced: watching 1 site of 1 marker of the new file", 1);
    let two = run(&program, "1");
    let said = smark.said();
    let (found, _) = hits(&smark.end());
    assert_eq!(
        (of(&found, one), of(&found, two)),
        (vec!["built:more 100".to_owned(), "built:at 0".to_owned()], vec!["built:at 0".to_owned()]),
        "{said}"
    );
}

#[test]
fn counts_and_recordings_go_on_with_the_new_file() {
    if can_watch() {
        goes_on_with_the_new_file("bpf");
    }
}

#[test]
fn counts_and_recordings_go_on_with_the_new_file_with_tracefs() {
    if can_watch() && can_watch_with_tracefs() {
        goes_on_with_the_new_file("tracefs");
    }
}

fn goes_on_with_the_new_file(engine: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let builds = builds(folder.path());
    let program = folder.path().join("built");
    let recording = folder.path().join("recording");
    for command in [&["count", "--json"][..], &["record", "-o", text(&recording)]] {
        let _ = fs::remove_file(&program);
        fs::copy(&builds[0], &program).expect("a copy");
        let smark = Smark::start(folder.path(), &[command, &["--engine", engine, text(&program)]].concat());
        run(&program, "3");
        put(WAYS[0], &builds[1], &program);
        smark.wait_for(" was replaced: watching 2 sites of 2 markers of the new file\n", 1);
        run(&program, "4");
        let lines = smark.end();
        let counts: Vec<(String, u64)> = match command[0] {
            "count" => {
                let lines = lines.iter().filter_map(|line| serde_json::from_str::<Json>(line).ok());
                lines.filter_map(|it| Some((it["marker"].as_str()?.to_owned(), it["hits"].as_u64()?))).collect()
            }
            _ => {
                let report = ended(Command::new(fixture::smark()).args(["report", "--json"]).arg(&recording));
                let (found, _) = hits(&report.lines());
                let of = |name: &str| found.iter().filter(|hit| hit["marker"] == name).count() as u64;
                // The text of each hit is that of the build that was run.
                let report = ended(Command::new(fixture::smark()).arg("report").arg(&recording)).stdout;
                let with = |text: &str| report.lines().filter(|line| line.contains(text)).count();
                assert_eq!([": one ", ": two ", ": more "].map(with), [3, 4, 4], "{report}");
                vec![("built:at".to_owned(), of("built:at")), ("built:more".to_owned(), of("built:more"))]
            }
        };
        let sum = |name: &str| counts.iter().filter(|(it, _)| it == name).map(|(_, hits)| hits).sum::<u64>();
        assert_eq!((sum("built:at"), sum("built:more")), (7, 4), "{engine} {command:?}: {lines:?}");
        let _ = fs::remove_dir_all(&recording);
    }
}

#[test]
fn top_goes_on_with_the_new_file() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let builds = builds(folder.path());
    let program = folder.path().join("built");
    fs::copy(&builds[0], &program).expect("a copy");
    let smark =
        Smark::start(folder.path(), &["top", "--json", "--every", "100ms", "--marker", "built:*", text(&program)]);
    let first = run(&program, "3");
    put(WAYS[0], &builds[1], &program);
    smark.wait_for(" was replaced: watching 2 sites of 2 markers of the new file\n", 1);
    let second = run(&program, "4");
    let tables: Vec<Json> = smark.end().iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let rows = || tables.iter().flat_map(|table| table["processes"].as_array().expect("processes"));
    let hits = |pid: u64| rows().filter(|row| row["pid"] == pid).filter_map(|row| row["hits"].as_u64()).sum::<u64>();
    // The new file has two markers.
    assert_eq!([hits(first), hits(second)], [3, 8]);
}

#[test]
fn a_process_that_executes_the_new_file_is_watched() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let builds = builds(folder.path());
    let program = folder.path().join("built");
    fs::copy(&builds[0], &program).expect("a copy");
    // It waits for the file `go`, and executes the program in its own process.
    let script = "while [ ! -e \"$1\" ]; do sleep 0.02; done; exec \"$0\" -1";
    let go = folder.path().join("go");
    let mut process = Process::start(Command::new("sh").args(["-c", script]).arg(&program).arg(&go));
    let pid = process.id();
    let smark = Smark::start(folder.path(), &["trace", "--json", "-p", &pid.to_string(), text(&program)]);
    put(WAYS[1], &builds[1], &program);
    smark.wait_for(" was replaced: watching ", 1);
    fs::write(&go, "").expect("a file");
    sleep(Duration::from_millis(800));
    process.kill().and_then(|()| process.wait()).expect("it ends");
    let (found, _) = hits(&smark.end());
    let found = of(&found, pid.into());
    assert!(found.len() > 20, "{found:?}");
    assert_eq!(found[..4], ["built:more 100", "built:at 0", "built:more 101", "built:at 1"]);
}

#[test]
fn a_library_that_is_built_again_is_watched() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let library = |name: &str, flags: &[&str]| {
        let flags = [&["-shared", "-fPIC", "-DLIBRARY", "-DPUBLIC="][..], flags].concat();
        compile(folder.path(), name, SOURCE, &flags)
    };
    let first = library("libbuilt.so", &["-DTEXT=\"one\""]);
    let second = library("second.so", &["-DTEXT=\"two\"", "-DMORE"]);
    let source = "#include <stdlib.h>\nvoid at(int);\nint main(int n, char **v) { for (int i = 0; i < atoi(v[n - 1]); i++) at(i); return 0; }";
    let program = compile(folder.path(), "user", source, &["-Wl,--no-as-needed", text(&first)]);
    let smark = Smark::start(folder.path(), &["trace", "--json", text(&first)]);
    let one = run(&program, "1");
    put(WAYS[0], &second, &first);
    smark.wait_for(" was replaced: watching 2 sites of 2 markers", 1);
    let two = run(&program, "1");
    let (found, _) = hits(&smark.end());
    assert_eq!(of(&found, one), ["built:at 0"]);
    assert_eq!(of(&found, two), ["built:more 100", "built:at 0"]);
}
