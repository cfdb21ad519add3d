//! Function pointers in whole values have the names of the functions, live and from a recording.

use std::fs;
use std::process::Command;

use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, Fixture};
use simple_markers_tests::tools::{ended, run};
use simple_markers_tests::watched::{can_watch, can_watch_with_tracefs, compile};

use crate::trace::trace;

/// Addresses of functions of the program and of a library, of none, and one that is inside of a function.
const OPERATIONS: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "simple_marker.h"

static int twice(int n) { return 2 * n; }
int work(int n) { __asm__ volatile(""); return n + 1; }
struct operations { int (*run[2])(int); int (*number)(const char *); void (*none)(void); void (*inside)(void); void *data; };

__attribute__((noinline)) static void marked(struct operations *all, int (*callback)(int)) {
    simple_mark(pointers:all, "%p{*} %p{}", all, callback);
    __asm__ volatile("" : : "r"(all), "r"(callback) : "memory");
}

int main(int count, char **arguments) {
    struct operations all = {{work, twice}, atoi, 0, (void (*)(void))((char *)work + 1), (void *)work};
    printf("pointers:all: {run = {%p <work>, %p <twice>}, number = %p <atoi>, none = 0x0, inside = %p, data = %p} %p <twice>\n",
           work, twice, atoi, (char *)work + 1, all.data, twice);
    fflush(stdout);
    marked(&all, twice);
    // The files of the process are looked at while it lives.
    usleep(500000);
    return 0;
}
"#;

/// The lines of hits and of the program, without what else a function is called.
fn said_and_printed(lines: Vec<String>) -> (Vec<String>, Vec<String>) {
    let (printed, said): (Vec<String>, Vec<String>) = lines.into_iter().partition(|line| line.starts_with("pointers:"));
    let said =
        said.iter().filter_map(|line| Some(line[line.find("pointers:")?..].replace("<__GI_atoi|atoi>", "<atoi>")));
    (said.collect(), printed)
}

#[test(cases = ["-pie bpf", "-no-pie bpf", "-pie tracefs"], desk = [0])]
fn functions_of_c_have_their_names(how: &str) {
    let (how, engine) = how.split_once(' ').expect("an option and an engine");
    if !can_watch() || (engine == "tracefs" && !can_watch_with_tracefs()) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "operations", OPERATIONS, &[how]);
    let (said, printed) = said_and_printed(trace(&["--engine", engine], &[&program]));
    assert_eq!((said.len(), said), (1, printed));

    let recording = folder.path().join("recorded");
    let mut record = Command::new(fixture::smark());
    let recorded = ended(record.args(["record", "--engine", engine, "-o"]).arg(&recording).arg("--").arg(&program));
    let (_, printed) = said_and_printed(recorded.lines());
    fs::remove_file(&program).expect("it is removed");
    let report =
        |options: &[&str]| ended(Command::new(fixture::smark()).arg("report").args(options).arg(&recording)).lines();
    assert_eq!(said_and_printed(report(&[])).0, printed);
    let hit: Json = serde_json::from_str(&report(&["--json"])[0]).expect("JSON");
    let value = &hit["args"][0]["value"];
    let functions = [&value["run"][0], &value["run"][1], &value["none"], &value["inside"]];
    let names = functions.map(|function| function["function"].as_str());
    assert_eq!(names, [Some("work"), Some("twice"), None, None], "{value}");
    assert_eq!((&value["none"], value["data"].get("function")), (&Json::Null, None));
    assert!(printed[0].contains(&format!("{{run = {{{} <work>", value["run"][0]["@"].as_str().expect("an address"))));
}

/// Without symbols there is only the address.
#[test]
fn a_function_without_a_symbol_has_no_name() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "operations", OPERATIONS, &["-Wl,--build-id"]);
    let (plan, stripped) = (folder.path().join("plan"), folder.path().join("stripped"));
    run(Command::new(fixture::smark()).args(["plan", "-o"]).args([&plan, &program]));
    run(Command::new("strip").arg("-o").args([&stripped, &program]));
    let (said, printed) = said_and_printed(trace(&["--plan", plan.to_str().expect("UTF-8")], &[&stripped]));
    let without = printed.iter().map(|line| line.replace(" <work>", "").replace(" <twice>", ""));
    assert_eq!((said.len(), said), (1, without.collect()));
}

/// Function pointers of Rust, one that is not there, and a closure that has become one.
const CALLBACKS: &str = r#"use simple_markers::simple_mark;
use std::hint::black_box;

#[inline(never)]
fn work(n: u32) -> u32 {
    black_box(n) + 1
}

mod inner {
    #[inline(never)]
    pub fn generic<T: Into<u64>>(n: T) -> u64 {
        std::hint::black_box(n.into()) * 3
    }
}

#[allow(dead_code)]
struct Callbacks {
    run: fn(u32) -> u32,
    maybe: Option<fn(u32) -> u64>,
    none: Option<extern "C" fn()>,
    all: Vec<(u8, fn(u32) -> u32)>,
    closure: Box<fn(u32) -> u32>,
}

#[inline(never)]
fn show(all: &Callbacks) {
    simple_mark!(pointers:all, "{:?}", *all);
    black_box(all);
}

fn main() {
    let closure: fn(u32) -> u32 = |n| black_box(n) + 7;
    let all = Callbacks { run: work, maybe: Some(inner::generic), none: None, all: vec![(1, work)], closure: Box::new(closure) };
    println!(
        "pointers:all: Callbacks {{ run: {0:p} <NAME::work>, maybe: Some({1:p} <NAME::inner::generic>), none: None, \
         all: [(1, {0:p} <NAME::work>)], closure: {2:p} <core::ops::function::FnOnce::call_once> }}",
        all.run, all.maybe.unwrap(), *all.closure
    );
    show(black_box(&all));
}
"#;

#[test(cases = ["0", "3"], desk = [])]
fn functions_of_rust_have_their_names(level: &str) {
    if !can_watch() {
        return;
    }
    let name = format!("function-pointers-{level}");
    let source = CALLBACKS.replace("NAME", &name.replace('-', "_"));
    let fixture = Fixture::new(&name).file("src/main.rs", &source);
    fixture::succeeds_silently(fixture.rustc(&[&format!("-Copt-level={level}")]).env("RUSTFLAGS", "-g"));
    let (said, printed) = said_and_printed(trace(&[], &[&fixture.built(&name)]));
    assert_eq!((said.len(), said), (1, printed));
}
