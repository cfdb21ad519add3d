//! `smark trace` prints what the program prints about itself, and loses nothing untold.

use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, Process};
use simple_markers_tests::oracle::builds::{self, Options, With};
use simple_markers_tests::tools::{find, output, run, skipped};
use simple_markers_tests::watched::{can_watch, compile};

/// Marks a value of each kind, and prints the same.
pub(super) const KINDS: &str = r#"
#include <stdio.h>
#include <stdint.h>
#include <pthread.h>
#include "simple_marker.h"

enum colour { RED, GREEN = 7 };
struct bits { unsigned low : 3, high : 5; };
static __thread int of_thread = 3;
int32_t of_image = -70000;

__attribute__((noinline)) void integers(int8_t a, uint16_t b, int32_t c, uint64_t d, _Bool e, enum colour f) {
    simple_mark_keep(kinds:integers, "%hhd %hu %d %lu %d %d", a, b, c, d, e, f);
    printf("%hhd %hu %d %lu %d %d\n", a, b, c, d, e, f);
}

__attribute__((noinline)) void others(const char *g, double *h, struct bits *i, void *j) {
    of_thread += 5;
    simple_mark_anchor(kinds:others, "%s %g %u %p %d %d", g, *h, i->high, j, of_thread, of_image);
    printf("%s %g %u %p %d %d\n", g ? g : "(null)", *h, i->high, j, of_thread, of_image);
}

static void *other(void *text) {
    double h = 1e300;
    struct bits i = { 1, 9 };
    integers(-1, 65535, -5, ~0ul, 1, GREEN);
    others(text, &h, &i, 0);
    return 0;
}

int main(void) {
    double h = -0.5;
    struct bits i = { 7, 30 };
    integers(-128, 1, 2147483647, 1ul << 63, 0, RED);
    others("text \xc3\xa9 \"quoted\"", &h, &i, &h);
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    pthread_join(thread, 0);
    return 0;
}
"#;

/// Runs `smark trace`, and returns its lines.
pub(super) fn trace(options: &[&str], command: &[&Path]) -> Vec<String> {
    let mut smark = Command::new(fixture::smark());
    smark.arg("trace").args(options).arg("--").args(command);
    let output = output(&mut smark);
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
}

/// The lines of `smark trace --json` that are hits, and the last one.
pub(super) fn hits(lines: &[String]) -> (Vec<Json>, Json) {
    let objects = lines.iter().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    let (hits, mut rest): (Vec<Json>, Vec<Json>) = objects.partition(|line| line.get("marker").is_some());
    (hits, rest.pop().expect("the end")["end"].take())
}

#[test]
fn each_kind_of_value_is_the_one_the_program_prints() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for flags in [&[][..], &["-no-pie", "-fno-pie"], &["-O0"]] {
        let program = compile(folder.path(), "kinds", KINDS, flags);
        let lines = trace(&[], &[&program]);
        let said: Vec<&str> =
            lines.iter().filter_map(|line| line.split_once(" kinds:")?.1.split_once(": ")).map(|it| it.1).collect();
        let printed: Vec<&str> = lines.iter().filter(|line| !line.contains(" kinds:")).map(String::as_str).collect();
        assert_eq!((said.len(), &said), (4, &printed), "{flags:?}\n{}", lines.join("\n"));
        assert!(!said.iter().any(|text| text.contains('<')), "{said:?}");
    }
}

/// Marks texts with a precision, and prints them.
const CUT: &str = r#"
#include <stdio.h>
#include "simple_marker.h"
__attribute__((noinline)) void cut(int n, const char *a, const char *b) {
    simple_mark_keep(texts:cut, "%.*s|%.3s", n, a, b);
    printf("%.*s|%.3s\n", n, a, b);
}
int main(void) {
    const char *texts[] = { "", "a", "abc", "abcdef" };
    for (int n = -1; n < 6; n++)
        for (int i = 0; i < 4; i++)
            cut(n, texts[i], texts[i]);
    return 0;
}
"#;

/// The same for texts of Rust, whose length is known.
const CUT_IN_RUST: &str = r#"
#[inline(never)]
fn cut(n: i32, a: &str, b: &String) {
    simple_markers::simple_mark!(texts:cut, "%.*s|%.3s", n, a, b, options(anchor));
    let cut = |text: &str, most: i32| text[..usize::try_from(most).unwrap_or(9).min(text.len())].to_owned();
    println!("{}|{}", cut(a, n), cut(b, 3));
}
fn main() {
    for n in -1..6 {
        for text in ["", "a", "abc", "abcdef"] {
            cut(n, std::hint::black_box(text), &text.to_owned());
        }
    }
}
"#;

#[test(desk = false)]
fn a_precision_ends_a_text_everywhere() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    texts_end_at_their_precision(&compile(folder.path(), "cut", CUT, &[]));
    // A probe whose hits the program records itself.
    let recorder = fixture::build(&["-p", "simple-markers-c"]).join("debug/libsimple_marker.a");
    let library = recorder.to_str().expect("UTF-8");
    let flags = ["-DSIMPLE_MARKER_RECORDER", "-Wl,--push-state,--whole-archive", library, "-Wl,--pop-state"];
    let probes = CUT.replace("simple_mark_keep(", "simple_probe(");
    texts_end_at_their_precision(&compile(folder.path(), "cut-probe", &probes, &flags));
    let (source, image) = (folder.path().join("cut.rs"), folder.path().join("cut-in-rust"));
    std::fs::write(&source, CUT_IN_RUST).expect("a source");
    let options = Options { with: With::Rustc, level: "2".to_owned(), lto: "none".to_owned(), dwarf: 5 };
    builds::program(std::slice::from_ref(&source), &options, &image).expect("it compiles");
    texts_end_at_their_precision(&image);
}

fn texts_end_at_their_precision(program: &Path) {
    let printed = run(&mut Command::new(program));
    let lines = trace(&[], &[program]);
    let said: Vec<&str> = lines.iter().filter_map(|line| Some(line.split_once(" texts:cut: ")?.1)).collect();
    assert_eq!(said, printed.lines().collect::<Vec<_>>());
    let (all, _) = hits(&trace(&["--json"], &[program]));
    let texts = |hit: &Json| {
        [1, 2].map(|index: usize| hit["args"][index]["value"].as_str().expect("a text").to_owned()).join("|")
    };
    assert_eq!(all.iter().map(texts).collect::<Vec<_>>(), said);
    // The filter is a BPF program, and so are the counts.
    for literal in ["", "a", "ab", "abc", "abcd", "abcdef"] {
        let (chosen, _) = hits(&trace(&["--json", "--where", &format!("a == \"{literal}\"")], &[program]));
        let expected = said.iter().filter(|line| line.split('|').next() == Some(literal)).count();
        assert_eq!(chosen.len(), expected, "{literal}");
    }
    let mut count = Command::new(fixture::smark());
    let counted = run(count.args(["count", "--json", "--by", "a", "--"]).arg(program).stderr(Stdio::null()));
    let objects = counted.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    let by = objects.filter_map(|line| line["by"].as_array().cloned()).flatten();
    let by: HashMap<String, u64> =
        by.map(|pair| (pair[0].as_str().expect("a text").to_owned(), pair[1].as_u64().expect("a count"))).collect();
    let mut expected: HashMap<String, u64> = HashMap::new();
    for line in &said {
        *expected.entry(line.split('|').next().unwrap_or_default().to_owned()).or_default() += 1;
    }
    assert_eq!(by, expected);
}

/// Marks numbers in general registers and in vector registers, and prints them.
const FLOATS: [(&str, &str); 2] = [
    (
        "floats.c",
        r#"
#include <stdio.h>
#include "simple_marker.h"
__attribute__((noinline)) void floats(float x, double y) {
    simple_mark_keep(floats:kept, "%g %.3f %g", x, y, 2.5);
    printf("%g %.3f %g\n", x, y, 2.5);
}
int main(void) {
    for (int i = 0; i < 3; i++)
        floats(i * 1.5f, i / -4.0);
    return 0;
}
"#,
    ),
    (
        "floats.rs",
        r#"
#[inline(never)]
fn floats(x: f32, y: f64) {
    simple_markers::simple_mark!(floats:kept, "%g %.3f %g", keep x: f32, keep y, keep z = 2.5f64);
    println!("{x} {y:.3} 2.5");
}
fn main() {
    for i in 0..3 {
        floats(i as f32 * 1.5, f64::from(i) / -4.0);
    }
}
"#,
    ),
];

#[test]
fn kept_floats_are_read() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in FLOATS {
        let source = folder.path().join(name);
        std::fs::write(&source, text).expect("a source");
        let compilers = With::ALL.into_iter().filter(|with| with.compiles(&source) && builds::is_installed(*with));
        for (with, level) in compilers.flat_map(|with| ["0", "2"].map(|level| (with, level))) {
            let options = Options { with, level: level.to_owned(), lto: "none".to_owned(), dwarf: 5 };
            let image = folder.path().join("floats");
            builds::program(std::slice::from_ref(&source), &options, &image).expect("it compiles");
            let lines = trace(&[], &[&image]);
            let said = lines.iter().filter_map(|line| Some(line.split_once(" floats:kept: ")?.1));
            let printed: Vec<&str> =
                lines.iter().filter(|line| !line.contains(" floats:")).map(String::as_str).collect();
            assert_eq!(printed.len(), 3, "{options:?}");
            assert!(said.eq(printed), "{options:?}\n{}", lines.join("\n"));
        }
    }
}

#[test]
fn a_stripped_program_is_read_with_its_separate_debug_file() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "kinds", KINDS, &[]);
    let debug = folder.path().join("kinds.debug");
    let mut link = std::ffi::OsString::from("--add-gnu-debuglink=");
    link.push(&debug);
    run(Command::new("objcopy").arg("--only-keep-debug").arg(&program).arg(&debug));
    run(Command::new("strip").arg(&program));
    run(Command::new("objcopy").arg(link).arg(&program));
    let lines = trace(&[], &[&program]);
    let (said, printed): (Vec<&String>, Vec<&String>) = lines.iter().partition(|line| line.contains(" kinds:"));
    let said = said.iter().filter_map(|line| line.split_once(" kinds:")?.1.split_once(": ")).map(|it| it.1);
    assert_eq!(printed.len(), 4);
    assert!(said.eq(printed.iter().map(|line| line.as_str())), "{}", lines.join("\n"));
}

#[test]
fn texts_in_pages_that_were_never_touched_are_read() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = r#"
        #include <fcntl.h>
        #include <sys/mman.h>
        #include "simple_marker.h"
        int main(int count, char **arguments) {
            int file = open(arguments[1], O_RDONLY);
            const char *page = mmap(0, 257 * 4096, PROT_READ, MAP_PRIVATE, file, 0);
            for (int i = 0; i < 256; i++) {
                const char *text = page + i * 4096 + 4090;
                __asm__ volatile("" : "+r"(text));
                simple_mark_anchor(pages:text, "%s", text);
                __asm__ volatile("" : : "r"(text));
            }
            return count != 2;
        }"#;
    let program = compile(folder.path(), "pages", source, &[]);
    let file = folder.path().join("text");
    let mut pages = vec![0u8; 257 * 4096];
    for page in 0..256 {
        // It crosses into the next page.
        let text = format!("the text {page}");
        pages[page * 4096 + 4090..][..text.len()].copy_from_slice(text.as_bytes());
    }
    std::fs::write(&file, pages).expect("the pages are written");
    let (hits, end) = hits(&trace(&["--json"], &[&program, &file]));
    let texts: Vec<&str> = hits.iter().filter_map(|hit| hit["args"][0]["value"].as_str()).collect();
    let expected: Vec<String> = (0..256).map(|page| format!("the text {page}")).collect();
    assert_eq!(texts, expected);
    assert_eq!((&end["hits"], &end["lost"], &end["exit"]), (&256.into(), &0.into(), &0.into()));
}

#[test]
fn lost_hits_are_counted() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = r#"
        #include "simple_marker.h"
        #include <pthread.h>
        static void *pass(void *unused) {
            for (long i = 0; i < 100000; i++) {
                __asm__ volatile("nop");
                simple_mark_keep(loop:pass, "%ld", i);
                __asm__ volatile("nop");
            }
            return unused;
        }
        int main(void) {
            pthread_t thread;
            pthread_create(&thread, 0, pass, 0);
            pass(0);
            return pthread_join(thread, 0);
        }"#;
    let program = compile(folder.path(), "loop", source, &[]);
    let (hits, end) = hits(&trace(&["--json", "--buffer", "4K"], &[&program]));
    assert!(times(&hits).is_sorted(), "out of order");
    check_lost(&(hits, end), 200_000);
}

fn times<'h>(hits: impl IntoIterator<Item = &'h Json>) -> Vec<u64> {
    hits.into_iter().map(|hit| hit["time_ns"].as_u64().expect("a number")).collect()
}

/// Checks that some of `all` hits were lost and counted, and that the others of each CPU and thread are in
/// order. The first argument counts the passes of a thread. All hits of a thread may be lost.
pub(super) fn check_lost((hits, end): &(Vec<Json>, Json), all: u64) {
    let (received, lost) = (hits.len() as u64, end["lost"].as_u64().expect("a number"));
    assert_eq!((received + lost, &end["hits"]), (all, &all.into()));
    assert!(lost > 0, "nothing was lost");
    let cpus: BTreeSet<u64> = hits.iter().filter_map(|hit| hit["cpu"].as_u64()).collect();
    for cpu in cpus {
        assert!(times(hits.iter().filter(|hit| hit["cpu"] == cpu)).is_sorted(), "CPU {cpu}: out of order");
    }
    let mut last: HashMap<u64, i64> = HashMap::new();
    for hit in hits {
        let (thread, i) = (hit["tid"].as_u64().expect("a number"), hit["args"][0]["value"].as_i64().expect("a number"));
        assert!(last.insert(thread, i).is_none_or(|last| last < i), "{hit}");
    }
    assert!(!last.is_empty(), "everything was lost");
}

/// The numbers that the hits of a marker have as their first argument.
pub(super) fn numbers(hits: &[Json], marker: &str) -> Vec<i64> {
    hits.iter().filter(|hit| hit["marker"] == marker).filter_map(|hit| hit["args"][0]["value"].as_i64()).collect()
}

/// Passes a marker before and after `fork` and `exec`, and in a library that is opened late.
pub(super) const FAMILY: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
#include "simple_marker.h"

static void at(int step) {
    __asm__ volatile("nop");
    simple_mark_keep(family:step, "%d", step);
    __asm__ volatile("nop");
}

int main(int count, char **arguments) {
    if (count == 3) {
        at(3);
        return 0;
    }
    at(1);
    if (fork() == 0) {
        at(2);
        execl(arguments[0], arguments[0], arguments[1], "again", (char *)0);
    }
    wait(0);
    void *library = dlopen(arguments[1], RTLD_NOW);
    void (*call)(int) = library ? (void (*)(int))dlsym(library, "call") : 0;
    for (int i = 0; call && i < 20; i++) {
        call(i);
        usleep(50000);
    }
    at(4);
    return 5;
}
"#;

pub(super) const LIBRARY: &str = r#"
#include "simple_marker.h"
void call(int i) {
    __asm__ volatile("nop");
    simple_mark_keep(library:call, "%d", i);
    __asm__ volatile("nop");
}
"#;

#[test]
fn children_and_libraries_are_watched() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "family", FAMILY, &[]);
    let library = compile(folder.path(), "library.so", LIBRARY, &["-shared", "-fPIC"]);
    let (found, end) = hits(&trace(&["--json"], &[&program, &library]));
    assert_eq!((numbers(&found, "family:step"), &end["exit"]), (vec![1, 2, 3, 4], &5.into()));
    let late = numbers(&found, "library:call");
    // The library is looked for a few times in a second.
    assert_eq!(late.last(), Some(&19), "{late:?}");
    assert!(late.is_sorted() && late.len() >= 10, "{late:?}");
    let (found, _) = hits(&trace(&["--json", "--no-children"], &[&program, &library]));
    assert_eq!(numbers(&found, "family:step"), [1, 4]);
    // A library that is named is watched from its first instruction.
    let name = library.to_str().expect("UTF-8");
    let (found, _) = hits(&trace(&["--json", "library:*", name], &[&program, &library]));
    assert_eq!(found.len(), 20);
}

/// A child that opens a library long after its start.
const OPENS: &str = r#"
#include <dlfcn.h>
#include <unistd.h>
#include <sys/wait.h>

int main(int count, char **arguments) {
    (void)count;
    if (fork()) {
        int status = 1;
        wait(&status);
        return status != 0;
    }
    usleep(300000);
    void *library = dlopen(arguments[1], RTLD_NOW);
    void (*call)(int) = library ? (void (*)(int))dlsym(library, "call") : 0;
    for (int i = 0; call && i < 100; i++) {
        call(i);
        usleep(10000);
    }
    return !call;
}
"#;

#[test]
fn a_library_that_a_child_opens_is_watched() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "opens", OPENS, &[]);
    let library = compile(folder.path(), "library.so", LIBRARY, &["-shared", "-fPIC"]);
    let (found, end) = hits(&trace(&["--json"], &[&program, &library]));
    let late = numbers(&found, "library:call");
    note!("the first hit that is seen is number {:?}, of one each 10 ms", late.first());
    let first = late.first().copied().unwrap_or(100);
    // All hits from the first on; a busy machine may take long to look.
    assert_eq!((late, &end["exit"]), ((first..100).collect(), &0.into()));
    assert!(first < 80, "{first}");
}

/// A program that passes a marker all the time, until its standard input ends.
struct Busy {
    child: Process,
    program: PathBuf,
}

impl Busy {
    fn start(folder: &Path) -> Self {
        let source = r#"
            #include <stdio.h>
            #include <poll.h>
            #include "simple_marker.h"
            int main(void) {
                struct pollfd input = { 0, POLLIN, 0 };
                for (unsigned i = 0;; i++) {
                    __asm__ volatile("nop");
                    simple_mark_keep(busy:pass, "%u", i);
                    __asm__ volatile("nop");
                    if (i % 1024 == 0 && poll(&input, 1, 1) > 0)
                        return 0;
                }
            }"#;
        Self::run(compile(folder, "busy", source, &[]))
    }

    fn run(program: PathBuf) -> Self {
        let child = Process::start(Command::new(&program).stdin(Stdio::piped()));
        let busy = Self { child, program };
        let since = Instant::now();
        while busy.code().is_none() {
            assert!(since.elapsed() < Duration::from_secs(10), "it is not loaded");
            sleep(Duration::from_millis(1));
        }
        busy
    }

    /// The line of its code in the list of its mappings; `None` before `execve` is done.
    fn code(&self) -> Option<String> {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.child.id())).expect("the maps");
        maps.lines().find(|line| line.contains("r-xp") && line.ends_with("/busy")).map(str::to_owned)
    }

    /// Whether its code differs from that in the file.
    fn has_probe(&self) -> bool {
        let line = self.code().expect("the code");
        let (start, end) = line.split(' ').next().and_then(|range| range.split_once('-')).expect("a range");
        let address = |text| u64::from_str_radix(text, 16).expect("an address");
        let mut bytes = vec![0; (address(end) - address(start)) as usize];
        let memory = std::fs::File::open(format!("/proc/{}/mem", self.child.id())).expect("the memory");
        std::os::unix::fs::FileExt::read_exact_at(&memory, &mut bytes, address(start)).expect("the code");
        let file = std::fs::read(&self.program).expect("the program");
        // The code of a small program is one page, and in the file as it is in memory.
        let offset = line.split(' ').nth(2).map(address).expect("an offset") as usize;
        let end = file.len().min(offset + bytes.len());
        bytes[..end - offset] != file[offset..end]
    }
}

#[test]
fn nothing_stays_when_the_tracer_is_killed() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let busy = Busy::start(folder.path());
    assert!(!busy.has_probe());
    for round in 0..5 {
        let mut smark = Command::new(fixture::smark());
        smark.args(["trace", "-p", &busy.child.id().to_string()]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut smark = Process::start(&mut smark);
        let mut lines = BufReader::new(smark.stdout.take().expect("a pipe")).lines();
        assert!(lines.next().is_some_and(|line| line.is_ok_and(|line| line.contains("busy:pass"))));
        assert!(busy.has_probe());
        sleep(Duration::from_millis(round * 7));
        // Dropping a child does not end it; SIGKILL does.
        smark.kill().expect("it is killed");
        smark.wait().expect("it ends");
        let since = Instant::now();
        while busy.has_probe() {
            assert!(since.elapsed() < Duration::from_secs(10), "the probe stays");
            sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn other_processes_have_no_probe() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let busy = Busy::start(folder.path());
    let other = Busy::run(busy.program.clone());
    let mut smark = Command::new(fixture::smark());
    smark.args(["trace", "--no-children", "-p", &busy.child.id().to_string()]);
    let mut smark = Process::start(smark.stdout(Stdio::piped()).stderr(Stdio::null()));
    let mut lines = BufReader::new(smark.stdout.take().expect("a pipe")).lines();
    assert!(lines.next().is_some_and(|line| line.is_ok_and(|line| line.contains("busy:pass"))));
    assert_eq!((busy.has_probe(), other.has_probe()), (true, false));
    smark.kill().expect("it is killed");
    smark.wait().expect("it ends");
}

#[test]
fn a_running_process_is_watched_until_it_ends() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut busy = Busy::start(folder.path());
    let pid = busy.child.id().to_string();
    let limited = output(Command::new(fixture::smark()).args(["trace", "--json", "--limit", "3", "-p", &pid]));
    let (found, end) =
        hits(&String::from_utf8(limited.stdout).expect("UTF-8").lines().map(str::to_owned).collect::<Vec<_>>());
    assert_eq!((found.len(), &end["exit"]), (3, &Json::Null));
    let mut smark = Command::new(fixture::smark());
    let mut smark = Process::start(smark.args(["trace", "-p", &pid]).stdout(Stdio::null()).stderr(Stdio::null()));
    sleep(Duration::from_millis(300));
    busy.child.stdin.take().expect("a pipe").write_all(b"\n").expect("it is told");
    let since = Instant::now();
    while smark.try_wait().expect("a status").is_none() {
        assert!(since.elapsed() < Duration::from_secs(60), "smark goes on without a process");
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn two_capabilities_suffice() {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0);
    if !is_root || find("setcap").is_none() || !can_watch() {
        return skipped("setcap needs root");
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is open");
    let program = compile(folder.path(), "kinds", KINDS, &[]);
    let smark = folder.path().join("smark");
    std::fs::copy(fixture::smark(), &smark).expect("a copy");
    let trace = || {
        let mut trace = Command::new(&smark);
        trace.args(["trace", "--"]).arg(&program).current_dir("/");
        // "nobody".
        let output = output(std::os::unix::process::CommandExt::uid(&mut trace, 65534));
        (output.status.code(), String::from_utf8_lossy(&output.stdout).matches(" kinds:").count(), output.stderr)
    };
    let (status, hits, said) = trace();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert_eq!((status, hits), (Some(2), 0), "{said}");
    assert!(said.contains(&format!("setcap cap_bpf,cap_perfmon+ep {}", smark.display())), "{said}");
    run(Command::new("setcap").arg("cap_bpf,cap_perfmon+ep").arg(&smark));
    let (status, hits, said) = trace();
    assert_eq!((status, hits), (Some(0), 4), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn what_cannot_be_watched_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let fails = |arguments: &[&str], status: i32, message: &str| {
        let output = output(Command::new(fixture::smark()).arg("trace").args(arguments));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), said.contains(message)), (Some(status), true), "{arguments:?}: {said}");
    };
    let missing = folder.path().join("missing");
    let missing = missing.to_str().expect("UTF-8");
    fails(&[], 2, "nothing to watch");
    fails(&["-p", "4194305"], 2, "process 4194305: there is no such process");
    fails(&["--", "no-such-program-here"], 2, "no-such-program-here: there is no such program in PATH");
    fails(&[missing], 2, "no such file or directory");
    fails(&["-p", "1", "--", "true"], 2, "cannot be given together");
    if !can_watch() {
        return;
    }
    let program = compile(folder.path(), "kinds", KINDS, &[]);
    let program = program.to_str().expect("UTF-8");
    fails(&["kind:*", "--", program], 1, "no marker matches `kind:*`");
    let text = folder.path().join("text");
    std::fs::write(&text, "#!/no/such/interpreter\n").expect("a script");
    std::fs::set_permissions(&text, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it may run");
    fails(&[program, "--", text.to_str().expect("UTF-8")], 2, "cannot start the program: No such file or directory");
}
