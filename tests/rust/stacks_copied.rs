//! The stacks of `smark trace --stack=dwarf`, of `--kstack` and of `count --by stack`: beside gdb, the kernel's own
//! `/proc/PID/stack`, and what the programs are known to do.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, Process};
use simple_markers_tests::tools::{self, find};
use simple_markers_tests::unwound::{BUILDS, compare};
use simple_markers_tests::watched::{can_watch, can_watch_with_tracefs, compile};

/// Frames of many kinds, each as gdb has it, or the stack says why it ends.
#[test(cases = ["gcc -O2", "clang -O2", "rustc -O2", "gcc -O3", "gcc .debug_frame", "clang .debug_frame", "gcc -O0"], desk = [1])]
fn copied_stacks_are_those_of_gdb(name: &str) {
    let names = ["gcc -O2", "clang -O2", "rustc -O2", "gcc -O3", "gcc .debug_frame", "clang .debug_frame", "gcc -O0"];
    let build = BUILDS[names.iter().position(|it| *it == name).expect("a case")];
    if !can_watch() || find("gdb").is_none() || find(build.compiler).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = build.build(folder.path());
    let tally = compare(&program, 100, 3, "--stack=dwarf");
    assert!(tally.wrong.is_empty(), "{} of {tally:?}\n{}", tally.wrong.len(), tally.wrong[..1].join("\n"));
    assert!(tally.whole > 50, "{tally:?}");
    // Nearly all stacks need more than 1 KiB.
    let tally = compare(&program, 100, 3, "--stack=dwarf,1K");
    assert!(tally.wrong.is_empty(), "{} of {tally:?}\n{}", tally.wrong.len(), tally.wrong[..1].join("\n"));
    assert!(tally.cut.get("not_copied").is_some_and(|cut| *cut > 20), "{tally:?}");
    assert!(tally.cut.get("unreadable").is_none_or(|cut| *cut < 10), "{tally:?}");
}

/// The objects that `smark` prints.
fn objects(arguments: &[&str], command: &[&str]) -> Vec<Json> {
    let mut smark = Command::new(fixture::smark());
    let printed = tools::output(smark.args(arguments).arg("--").args(command).stderr(Stdio::null())).stdout;
    let printed = String::from_utf8(printed).expect("UTF-8");
    printed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The functions of the frames of a stack, the innermost first; `?` for a frame without one.
fn functions(stack: &Json) -> Vec<String> {
    let of = |frame: &Json| match &frame["functions"].as_array().expect("functions")[..] {
        [] => vec!["?".to_owned()],
        all => all.iter().map(|function| function["function"].as_str().unwrap_or("?").to_owned()).collect(),
    };
    stack.as_array().expect("frames").iter().flat_map(of).collect()
}

/// Hits whose stacks end in other ways than at the start of the thread.
const ENDS: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include "simple_marker.h"
__attribute__((noinline)) void pass(int n) {
    __asm__ volatile("nop");
    simple_mark_keep(ends:pass, "%d", n);
    __asm__ volatile("nop");
}
__attribute__((noinline)) void calls_system(int n) {
    syscall(SYS_getppid);
    __asm__ volatile("" :: "r"(n));
}
void undescribed(void);
__asm__(".globl undescribed\nundescribed:\n sub $8, %rsp\n mov $2, %edi\n call pass\n add $8, %rsp\n ret\n");
__attribute__((noinline)) int deep(int n, int of) {
    if (n == 0) { pass(of); return 0; }
    int result = deep(n - 1, of) + 1;
    __asm__ volatile("" : "+r"(result));
    return result;
}
static ucontext_t home, there;
__attribute__((noipa)) static void on_other_stack(void) {
    pass(4);
    __asm__ volatile("nop");
}
int main(void) {
    deep(3, 1);
    undescribed();
    deep(300, 3);
    // A stack whose last page is followed by nothing.
    char *stack = mmap(0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(stack + 2 * 4096, 4096);
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = 2 * 4096;
    there.uc_link = &home;
    makecontext(&there, on_other_stack, 0);
    swapcontext(&home, &there);
    // Code that no file has: mov $5, %edi; sub $8, %rsp; call *%rax; add $8, %rsp; ret.
    unsigned char code[] = {0xbf, 5, 0, 0, 0, 0x48, 0x83, 0xec, 8, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3};
    void *made = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(made, code, sizeof code);
    __asm__ volatile("call *%1" : : "a"(pass), "r"(made) : "rdi", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory");
    calls_system(6);
    return 0;
}
"#;

#[test]
fn a_stack_says_why_it_ends() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "ends", ENDS, &["-fomit-frame-pointer"]);
    let program = program.to_str().expect("UTF-8");
    let hits = objects(&["trace", "--json", "--stack=dwarf,64K"], &[program]);
    let of = |number: u64| {
        let hit = hits.iter().find(|hit| hit["args"][0]["value"] == number).expect("the hit");
        let end = hit["stack_end"].as_str().expect("a code").to_owned();
        assert_eq!(hit["stack_cut"], end != "outermost", "{hit}");
        (functions(&hit["stack"]), end)
    };
    let (names, end) = of(1);
    assert_eq!(names[..6], ["pass", "deep", "deep", "deep", "deep", "main"]);
    assert_eq!((names.last().map(String::as_str), &*end), (Some("_start"), "outermost"));
    assert_eq!(of(2), (vec!["pass".to_owned(), "?".to_owned()], "no_information".to_owned()));
    let (names, end) = of(3);
    assert_eq!((names.len(), names.last().map(String::as_str), &*end), (256, Some("deep"), "most_frames"));
    // Such a stack begins with the address of a function that nothing has called, and behind no call.
    let frames = ["pass", "on_other_stack", "?"].map(str::to_owned).to_vec();
    assert_eq!(of(4), (frames, "no_information".to_owned()));
    let (names, end) = of(5);
    assert_eq!((&names[..1], &*end), (&["pass".to_owned()][..], "no_file"), "{names:?}");

    // At the first instruction of a function, which has no frame yet.
    let hits = objects(&["trace", "--json", "--stack=dwarf", "-n", "3", "--mark", "deep()"], &[program]);
    for (number, hit) in hits.iter().filter(|hit| hit["stack"].is_array()).enumerate() {
        let names = functions(&hit["stack"]);
        assert!(names[..=number].iter().all(|name| name == "deep"), "{names:?}");
        assert_eq!((names[number + 1].as_str(), &hit["stack_end"]), ("main", &"outermost".into()), "{names:?}");
    }
    assert_eq!(hits.iter().filter(|hit| hit["stack"].is_array()).count(), 3);

    // As text, with less of the stack.
    let mut smark = Command::new(fixture::smark());
    let printed = tools::output(smark.args(["trace", "--stack=dwarf,1K", "-n", "3", "--", program])).stdout;
    let printed = String::from_utf8(printed).expect("UTF-8");
    assert!(printed.contains("\n        ..: the file does not say how to find the caller\n"), "{printed}");
    assert!(printed.contains("\n        ..: only 1024 bytes of the stack were copied\n"), "{printed}");

    // Events of the kernel.
    if can_watch_with_tracefs() {
        let hits =
            objects(&["trace", "--json", "--stack=dwarf", "--kstack", "-e", "syscalls:sys_enter_getppid"], &[program]);
        let hit = hits.iter().find(|hit| hit["event"].is_string()).expect("the event");
        let names = functions(&hit["stack"]);
        let from = names.iter().position(|name| name == "calls_system").expect("the caller");
        assert_eq!((names[from + 1].as_str(), &hit["stack_end"]), ("main", &"outermost".into()), "{names:?}");
        assert!(kernel_functions(hit).iter().any(|name| name.starts_with("do_syscall_64")), "{hit}");
    }
}

/// Asks for the time of the process, which the code of the vdso cannot tell without a system call; and is interrupted on a
/// stack for signals.
const ELSEWHERE: &str = r#"
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include "simple_marker.h"
__attribute__((noipa)) void pass(int n) {
    __asm__ volatile("nop");
    simple_mark_keep(elsewhere:pass, "%d", n);
    __asm__ volatile("nop");
}
__attribute__((noipa)) void handler(int number) {
    pass(number);
    __asm__ volatile("nop");
}
__attribute__((noipa)) void asks(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    __asm__ volatile("nop");
}
int main(void) {
    asks();
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, 0);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, 0);
    raise(SIGUSR1);
    return 0;
}
"#;

#[test]
fn code_of_the_vdso_and_stacks_of_signals_are_followed() {
    if !can_watch() || !can_watch_with_tracefs() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "elsewhere", ELSEWHERE, &["-fomit-frame-pointer"]);
    let event = "syscalls:sys_enter_clock_gettime";
    let hits = objects(&["trace", "--json", "--stack=dwarf", "-e", event], &[program.to_str().expect("UTF-8")]);
    let hit = hits.iter().find(|hit| hit["event"] == event).expect("the system call");
    let names = functions(&hit["stack"]);
    assert!(names[0].contains("clock_gettime") && hit["stack"][0]["image"] == "[vdso]", "{hit}");
    let asks = names.iter().position(|name| name == "asks").expect("the caller");
    assert_eq!((names[asks + 1].as_str(), &hit["stack_end"]), ("main", &"outermost".into()), "{names:?}");

    let hit = hits.iter().find(|hit| hit["marker"] == "elsewhere:pass").expect("the hit");
    let names = functions(&hit["stack"]);
    // What called the function that was interrupted is on the other stack.
    assert_eq!((&names[..2], names.len()), (&["pass".to_owned(), "handler".to_owned()][..], 4), "{names:?}");
    assert!(names[3].contains("kill"), "{names:?}");
    assert_eq!(hit["stack_end"], "not_copied");
}

fn kernel_functions(hit: &Json) -> Vec<String> {
    let frames = hit["kernel_stack"].as_array().expect("frames").iter();
    frames.map(|frame| frame["function"].as_str().expect("a name").to_owned()).collect()
}

/// Sleeps, and waits for the end of its input.
const SLEEPS: &str = r#"
#include <stdio.h>
#include "simple_marker.h"
int main(void) {
    __asm__ volatile("nop");
    simple_mark_keep(sleeps:before, "%d", 1);
    __asm__ volatile("nop");
    return getchar() == 0;
}
"#;

/// The stack of the kernel where a thread leaves the CPU is the one that the kernel shows while it sleeps.
#[test]
fn stacks_of_the_kernel_are_its_own() {
    if !can_watch() || !can_watch_with_tracefs() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "sleeps", SLEEPS, &[]);
    let mut smark = Command::new(fixture::smark());
    smark.args(["trace", "--json", "--kstack", "-e", "sched:sched_switch", "--where", "prev_state == 1"]);
    smark.arg("sleeps:*").arg("sched:*").arg("--").arg(&program).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut smark = Process::start(smark.stderr(Stdio::null()));
    let mut lines = BufReader::new(smark.stdout.take().expect("a pipe")).lines();
    let mut known: Option<(Vec<String>, Vec<String>)> = None;
    while let Some(Ok(line)) = lines.next() {
        let hit: Json = serde_json::from_str(&line).expect("JSON");
        let (Some(pid), Some(_)) = (hit["pid"].as_u64(), hit["event"].as_str()) else { continue };
        if hit["comm"] != "sleeps" {
            continue;
        }
        let shown = std::fs::read_to_string(format!("/proc/{pid}/stack")).unwrap_or_default();
        let shown: Vec<String> =
            shown.lines().filter_map(|line| Some(line.split_once("] ")?.1.split_once('+')?.0.to_owned())).collect();
        let traced = kernel_functions(&hit);
        if shown.iter().any(|name| name.contains("read")) {
            known = Some((traced, shown));
            drop(smark.stdin.take());
        }
    }
    let (traced, shown) = known.expect("it slept");
    assert!(shown.len() > 3 && traced.ends_with(&shown), "{traced:?} {shown:?}");
    assert!(traced[0].starts_with("__schedule"), "{traced:?}");
}

/// Passes the marker through three callers: 30, 20 and 7 times in each of two processes.
const CALLERS: &str = r#"
#include <sys/wait.h>
#include <unistd.h>
#include "simple_marker.h"
// gcc gives a function that calls nothing no frame, whatever is asked for.
__attribute__((noipa)) void other(void) {}
__attribute__((noipa)) void pass(int n) {
    other();
    __asm__ volatile("nop");
    simple_mark_keep(callers:pass, "%d", n);
    __asm__ volatile("nop");
    other();
}
#define CALLER(name) __attribute__((noipa)) void name(int n) { pass(n); __asm__ volatile("nop"); }
CALLER(thirty)
CALLER(twenty)
CALLER(seven)
int main(void) {
    int child = fork();
    for (int i = 0; i < 30; i++) thirty(i);
    for (int i = 0; i < 20; i++) twenty(i);
    for (int i = 0; i < 7; i++) seven(i);
    return child > 0 && waitpid(child, 0, 0) != child;
}
"#;

#[test]
fn hits_are_counted_by_stack() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let flags = ["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"];
    let program = compile(folder.path(), "callers", CALLERS, &flags);
    let program = program.to_str().expect("UTF-8");
    let counted = objects(&["count", "--json", "--by", "stack"], &[program]);
    let row = &counted[0];
    let no_stack = &row["no_stack"];
    let without: u64 = ["collided", "full", "unread"].iter().filter_map(|name| no_stack[name].as_u64()).sum();
    // Two stacks of six may have the same place in the kernel's table of 65,536, once in thousands of runs.
    let stacks = row["stacks"].as_array().expect("stacks").iter();
    let found: BTreeMap<String, u64> = stacks
        .clone()
        .map(|stack| (functions(&stack["stack"])[1].clone(), stack["hits"].as_u64().expect("a number")))
        .collect();
    assert_eq!(row["hits"], 114);
    assert_eq!(found.values().sum::<u64>() + without, 114, "{row}");
    if without == 0 {
        let expected = [("thirty", 60), ("twenty", 40), ("seven", 14)].map(|(name, hits)| (name.to_owned(), hits));
        assert_eq!(found, BTreeMap::from(expected), "{row}");
        let order: Vec<Vec<String>> = stacks.map(|stack| functions(&stack["stack"])[..3].to_vec()).collect();
        assert_eq!(order, ["thirty", "twenty", "seven"].map(|name| ["pass", name, "main"].map(str::to_owned).to_vec()));
    }

    // A table of one place: what has none is counted.
    let counted = objects(&["count", "--json", "--by", "stack", "--max-values", "16"], &[program]);
    let row = &counted[0];
    let stacks: u64 = row["stacks"].as_array().expect("stacks").iter().filter_map(|it| it["hits"].as_u64()).sum();
    let no_stack = &row["no_stack"];
    let without: u64 = ["collided", "full", "unread"].iter().filter_map(|name| no_stack[name].as_u64()).sum();
    assert_eq!((stacks + without, &row["hits"]), (114, &114.into()), "{row}");

    let table = tools::output(Command::new(fixture::smark()).args(["count", "--by", "stack", "--", program])).stdout;
    let table = String::from_utf8(table).expect("UTF-8");
    assert!(table.starts_with("callers:pass: 114 hits\n"), "{table}");
}

#[test]
fn events_are_counted_by_the_stack_of_the_kernel() {
    if !can_watch() || !can_watch_with_tracefs() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = "#define _GNU_SOURCE\n#include <unistd.h>\n#include <sys/syscall.h>\n\
                  int main(void) { for (int i = 0; i < 50; i++) syscall(SYS_getppid); return 0; }\n";
    let program = compile(folder.path(), "calls", source, &[]);
    let program: &Path = &program;
    let event = "syscalls:sys_enter_getppid";
    let counted = objects(&["count", "--json", "--by", "kstack", "-e", event], &[program.to_str().expect("UTF-8")]);
    let row = counted.iter().find(|row| row["event"] == event).expect("the event");
    let [stack] = &row["stacks"].as_array().expect("stacks")[..] else { panic!("{row}") };
    let frames = stack["stack"].as_array().expect("frames").iter();
    let names: Vec<&str> = frames.filter_map(|frame| frame["function"].as_str()).collect();
    assert_eq!((&stack["hits"], &row["hits"]), (&50.into(), &50.into()), "{row}");
    assert!(names.iter().any(|name| name.starts_with("do_syscall_64")), "{names:?}");
}
