//! The stacks of `smark trace --stack` are those that gdb prints and that the source says.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use regex::Regex;
use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, Fixture, Process};
use simple_markers_tests::tools::{self, find, run, skipped};
use simple_markers_tests::watched::{can_watch, compile};

/// The marker's function is inlined, and `call` has a frame of its own.
const LIBRARY: &str = r#"
#include "simple_marker.h"
static inline __attribute__((always_inline)) void inner(int i) {
    __asm__ volatile("nop");
    simple_mark_keep(library:call, "%d", i);
    __asm__ volatile("nop");
}
void other(void) {}
void call(int i) {
    other();
    inner(i);
    other();
}
"#;

/// It waits at the end, so that its files can be looked at.
const MAIN: &str = r#"
#include <stdio.h>
#include <stdlib.h>
void call(int);
static inline __attribute__((always_inline)) void inlined(int n) {
    call(n);
    __asm__ volatile("");
}
__attribute__((noinline)) void middle(int n) {
    if (n > 0)
        middle(n - 1);
    else
        inlined(n);
    __asm__ volatile("");
}
int main(int count, char **arguments) {
    middle(count > 1 ? atoi(arguments[1]) : 2);
    getchar();
    return 0;
}
"#;

/// What `smark trace` prints of one hit. The program gets the end of its input after that.
fn trace(options: &[&str], command: &[&Path], is_last: impl Fn(&[String]) -> bool) -> Vec<String> {
    let mut smark = Command::new(fixture::smark());
    smark.arg("trace").args(options).arg("--").args(command).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut smark = Process::start(smark.stderr(Stdio::null()));
    let lines = BufReader::new(smark.stdout.take().expect("a pipe")).lines();
    let mut found = Vec::new();
    for line in lines {
        found.push(line.expect("UTF-8"));
        if is_last(&found) {
            drop(smark.stdin.take());
        }
    }
    smark.wait().expect("it ends");
    found
}

/// The functions and lines of the stack of the first hit, the innermost first, with those that are
/// inlined.
fn functions(program: &Path, arguments: &[&Path]) -> (Vec<(String, Option<u64>, bool)>, Json) {
    let command: Vec<&Path> = [&[program], arguments].concat();
    let lines = trace(&["--json", "--stack"], &command, |lines| lines.len() == 1);
    let hit: Json = serde_json::from_str(&lines[0]).expect("JSON");
    let frames = hit["stack"].as_array().expect("frames").iter();
    let functions = frames.flat_map(|frame| frame["functions"].as_array().expect("functions"));
    let function = |it: &Json| {
        let name = it["function"].as_str().unwrap_or_default().to_owned();
        (name, it["line"].as_u64(), it["inlined"].as_bool().expect("a boolean"))
    };
    (functions.map(function).collect(), hit)
}

fn programs(folder: &Path, flags: &[&str]) -> std::path::PathBuf {
    compile(folder, "libstack.so", LIBRARY, &[&["-shared", "-fPIC"], flags].concat());
    // The library must follow the program on the command line of the linker.
    let (file, program) = (folder.join("main.c"), folder.join("main"));
    std::fs::write(&file, MAIN).expect("the source is written");
    let library = folder.join("libstack.so");
    run(Command::new("gcc").args(["-g", "-O2"]).args(flags).arg(&file).arg("-o").arg(&program).arg(library));
    program
}

#[test]
fn stacks_are_those_of_gdb() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = programs(folder.path(), &["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"]);
    let (found, hit) = functions(&program, &[]);
    let line = |text: &str, of: &str| of.lines().position(|line| line.contains(text)).map(|line| line as u64 + 1);
    let marker = line("simple_mark_keep", LIBRARY);
    let expected = [
        ("inner", marker, true),
        ("call", line("    inner(i);", LIBRARY), false),
        ("inlined", line("    call(n);", MAIN), true),
        ("middle", line("        inlined(n);", MAIN), false),
        ("middle", line("        middle(n - 1);", MAIN), false),
        ("middle", line("        middle(n - 1);", MAIN), false),
        ("main", line("    middle(count", MAIN), false),
    ];
    let expected = expected.map(|(name, line, is_inlined)| (name.to_owned(), line, is_inlined));
    assert_eq!(found[..7], expected, "{hit}");
    assert_eq!(hit["stack_cut"], false);
    let image = program.canonicalize().expect("a path");
    assert_eq!(hit["stack"][1]["image"].as_str(), image.to_str());

    // As text.
    let lines = trace(&["--stack"], &[&program], |lines| lines.last().is_some_and(|line| line.contains(" main at ")));
    assert!(lines[0].ends_with(" library:call: 0"), "{lines:?}");
    let texts: Vec<String> =
        lines[1..8].iter().map(|line| line.replace(&*folder.path().to_string_lossy(), "")).collect();
    let file = |line: &str| line.rsplit_once('/').map_or_else(|| line.to_owned(), |(_, file)| file.to_owned());
    assert!(texts[0].starts_with("        inner at "), "{texts:?}");
    assert_eq!(file(&texts[0]), format!("libstack.so.c:{} (inlined)", marker.expect("a line")));
    assert_eq!(file(&texts[6]), format!("main.c:{}", expected[6].1.expect("a line")));

    if find("gdb").is_none() {
        return skipped("gdb is not installed");
    }
    // gdb stops behind the marker, in the same function.
    let address = hit["stack"][0]["image_address"].as_str().expect("an address");
    let offset = u64::from_str_radix(address.trim_start_matches("0x"), 16).expect("a number");
    let script =
        ["break call", "run", "delete", &format!("break *((char *)call + {offset} - $start)"), "continue", "bt"];
    let symbols = run(Command::new("nm").arg(folder.path().join("libstack.so")));
    let start = symbols.lines().find(|line| line.ends_with(" T call")).and_then(|line| line.split(' ').next());
    let start = u64::from_str_radix(start.expect("the symbol"), 16).expect("a number");
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-ex", "set breakpoint pending on", "-ex", &format!("set $start = {start}")]);
    let printed = script.iter().fold(&mut gdb, |gdb, line| gdb.args(["-ex", line])).arg(&program).stdin(Stdio::null());
    let printed = String::from_utf8(tools::output(printed).stdout).expect("UTF-8");
    let frame = Regex::new(r"(?m)^#\d+ +(?:0x[0-9a-f]+ in )?(\w+) \(.*\)(?: at \S+:(\d+))?").expect("a pattern");
    let frames: Vec<(String, Option<u64>)> = frame
        .captures_iter(&printed)
        .map(|found| (found[1].to_owned(), found.get(2).and_then(|line| line.as_str().parse().ok())))
        .collect();
    // Of the innermost function gdb has the line of the next instruction.
    let without: Vec<(String, Option<u64>)> = found.iter().map(|(name, line, _)| (name.clone(), *line)).collect();
    let from = frames.iter().position(|(name, _)| name == "call").expect("a frame");
    assert_eq!(frames[from..], without[1..7], "{printed}");
}

/// A stripped program whose functions only `.gnu_debugdata` names.
#[test]
fn mini_debug_information_names_functions() {
    if !can_watch() || find("xz").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    programs(folder.path(), &["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"]);
    let named = |program: &Path| -> Vec<String> {
        let (found, _) = functions(program, &[]);
        found.into_iter().map(|(name, ..)| name).take_while(|name| !name.starts_with("__libc_start")).collect()
    };
    let run = |command: &str| run(Command::new("sh").args(["-c", command]).current_dir(folder.path()));
    // No dynamic symbol is left that covers the addresses.
    run("objcopy --strip-all main stripped && printf 'main\\nmiddle\\n' >names");
    run("objcopy -S --keep-symbols=names main mini && xz mini");
    run("objcopy --add-section .gnu_debugdata=mini.xz stripped embedded");
    let stripped = named(&folder.path().join("stripped"));
    assert_eq!(stripped, ["inner", "call"]);
    let embedded = named(&folder.path().join("embedded"));
    assert_eq!(embedded, ["inner", "call", "middle", "middle", "middle", "main"]);
}

#[test]
fn a_stack_that_goes_on_is_cut() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = programs(folder.path(), &["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"]);
    let (found, hit) = functions(&program, &[Path::new("200")]);
    assert_eq!((hit["stack"].as_array().expect("frames").len(), &hit["stack_cut"]), (64, &true.into()));
    assert_eq!(found.last().map(|(name, ..)| name.as_str()), Some("middle"));
}

#[test]
fn without_frame_pointers_the_site_is_known() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = programs(folder.path(), &["-fomit-frame-pointer"]);
    let (found, _) = functions(&program, &[]);
    let names: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names[..2], ["inner", "call"], "{names:?}");
}

const RUST: &str = r#"
use simple_markers::simple_mark;

struct Queue(u32);

impl Queue {
    #[inline(always)]
    fn push(&mut self, n: u32) {
        self.0 += n;
        simple_mark!("queue:push", "%u", keep n);
        self.0 += std::hint::black_box(1);
    }
}

#[inline(never)]
fn twice(f: impl Fn(u32)) {
    f(std::hint::black_box(7));
    std::hint::black_box(());
}

fn main() {
    let queue = std::cell::RefCell::new(Queue(0));
    twice(|n| {
        queue.borrow_mut().push(n);
        std::hint::black_box(());
    });
    std::io::stdin().read_line(&mut String::new()).unwrap();
    std::hint::black_box(queue.borrow().0);
}
"#;

#[test]
fn functions_of_rust_are_named() {
    if !can_watch() {
        return;
    }
    let fixture = Fixture::new("stacks-rust").file("src/main.rs", RUST);
    run(&mut fixture.rustc(&["-g", "-Copt-level=2", "-Cforce-frame-pointers=yes"]));
    let (found, hit) = functions(&fixture.built("stacks-rust"), &[]);
    let line = |text: &str| RUST.lines().position(|line| line.contains(text)).map(|line| line as u64 + 1);
    let ours: Vec<(&str, Option<u64>, bool)> = found
        .iter()
        .filter(|(name, ..)| name.starts_with("stacks_rust::"))
        .map(|(name, line, is_inlined)| (name.as_str(), *line, *is_inlined))
        .collect();
    let [push, closure, twice, main] = &ours[..] else { panic!("{ours:?}\n{hit}") };
    assert_eq!(*push, ("stacks_rust::Queue::push", line("simple_mark!("), true));
    assert!(closure.0.starts_with("stacks_rust::main::{{closure}}") || closure.0.contains("{closure"), "{closure:?}");
    assert_eq!((closure.1, closure.2), (line("borrow_mut().push"), true));
    assert!(twice.0.starts_with("stacks_rust::twice"), "{twice:?}");
    assert_eq!((twice.1, twice.2), (line("    f(std::hint"), false));
    assert_eq!((main.0, main.2), ("stacks_rust::main", false));
}
