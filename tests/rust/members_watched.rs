//! Members of whole values: filters, groups and keys by them are what the programs print, live, by a
//! plan, with tracefs, and from a recording.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, Fixture};
use simple_markers_tests::tools::{Ended, ended, run};
use simple_markers_tests::watched::{can_watch, can_watch_with_tracefs, compile};

/// Submits 64 requests, and says of each what its members are. Then some of them are done, and others that
/// were never submitted.
const RUST: &str = r#"use simple_markers::simple_mark;
use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

#[allow(dead_code)]
#[derive(Clone, Copy, Debug)]
enum State { Idle, Busy = 7, Gone = 200 }

#[allow(dead_code)]
enum Outcome { Ok(u32, i8), Err(String), Retry { after: u64 }, Nothing }

struct Owner { name: String, alias: &'static str, tags: (u16, i32) }

#[allow(dead_code)]
struct Request {
    id: u64,
    state: State,
    owner: Rc<Owner>,
    boxed: Box<Owner>,
    shared: Arc<Mutex<u32>>,
    cell: Cell<i16>,
    guarded: RefCell<u8>,
    hits: AtomicU32,
    outcome: Outcome,
    result: Result<u32, &'static str>,
    parent: Option<Box<Request>>,
    limit: Option<u32>,
    niche: Option<&'static u8>,
    letter: char,
    is_done: bool,
    small: Option<State>,
}

#[inline(never)]
fn submit(request: &Request) {
    simple_mark!(m:submit, "%p{}", request);
    black_box(request);
}

#[inline(never)]
fn done(request: &Request) {
    simple_mark!(m:done, "%p{id}", *request);
    black_box(request);
}

fn request(i: u64, with_parent: bool) -> Request {
    let owner = |name: &str| Owner {
        name: format!("{name}{}", i % 5),
        alias: ["", "a text of more than thirty-two bytes, twice", "x"][i as usize % 3],
        tags: (i as u16 % 9, -(i as i32 % 4)),
    };
    let shared = Arc::new(Mutex::new(i as u32 % 6));
    let owned = Rc::new(owner("rc"));
    (0..i % 3).for_each(|_| std::mem::forget(Rc::clone(&owned)));
    Request {
        id: i,
        state: [State::Idle, State::Busy, State::Gone][i as usize % 3],
        owner: owned,
        boxed: Box::new(owner("box")),
        shared,
        cell: Cell::new(-(i as i16 % 3)),
        guarded: RefCell::new(250 + i as u8 % 6),
        hits: AtomicU32::new(i as u32 % 2),
        outcome: match i % 4 {
            0 => Outcome::Ok(i as u32, -(i as i8)),
            1 => Outcome::Err(format!("error {}", i % 8)),
            2 => Outcome::Retry { after: i * 1_000_000_000_000 },
            _ => Outcome::Nothing,
        },
        result: if i % 3 == 0 { Err("broken") } else { Ok(i as u32 % 5) },
        parent: (with_parent && i % 2 == 1).then(|| Box::new(request(i / 2, false))),
        limit: (i % 5 != 0).then_some(i as u32 % 5),
        niche: (i % 7 == 0).then_some(&5),
        letter: ['a', '\u{e9}', '\u{1f600}'][i as usize % 3],
        is_done: i % 2 == 0,
        small: (i % 3 != 2).then_some([State::Busy, State::Gone][i as usize % 2]),
    }
}

fn name(state: State) -> String { format!("{state:?}") }

fn main() {
    for i in 0..64 {
        let r = black_box(request(i, true));
        submit(&r);
        let none = || "-".to_owned();
        let (mut ok, mut err, mut after) = (none(), none(), none());
        let outcome = match &r.outcome {
            Outcome::Ok(number, _) => { ok = number.to_string(); "Ok" }
            Outcome::Err(text) => { err = text.clone(); "Err" }
            Outcome::Retry { after: time } => { after = time.to_string(); "Retry" }
            Outcome::Nothing => "Nothing",
        };
        let values: Vec<String> = vec![
            r.id.to_string(), name(r.state), r.owner.name.clone(), r.owner.alias.into(), r.owner.tags.1.to_string(),
            r.boxed.name.clone(), r.boxed.tags.0.to_string(), r.shared.lock().unwrap().to_string(),
            r.cell.get().to_string(), r.guarded.borrow().to_string(), r.hits.load(Ordering::Relaxed).to_string(),
            outcome.into(), ok, err, after,
            if r.result.is_ok() { "Ok" } else { "Err" }.into(),
            r.result.map_or_else(|_| none(), |it| it.to_string()),
            r.result.map_or_else(|why| why.into(), |_| none()),
            if r.parent.is_some() { "Some" } else { "None" }.into(),
            r.parent.as_ref().map_or_else(none, |it| it.id.to_string()),
            r.parent.as_ref().map_or_else(none, |it| it.owner.name.clone()),
            r.limit.map_or_else(none, |it| it.to_string()),
            if r.niche.is_some() { "Some" } else { "None" }.into(),
            u32::from(r.letter).to_string(), r.is_done.to_string(),
            r.small.map_or_else(none, name), Rc::strong_count(&r.owner).to_string(),
            // The memory has one more while there is a strong one.
            (1 + Arc::weak_count(&r.shared)).to_string(),
        ];
        println!("hit\t{}", values.join("\t"));
    }
    for i in (0..80).filter(|i| i % 2 == 0) {
        done(black_box(&request(i, false)));
    }
}
"#;

/// The members in the order in which the program prints them. A text is marked.
const RUST_PATHS: [(&str, bool); 28] = [
    ("request.id", false),
    ("request.state", false),
    ("request.owner.name", true),
    ("request.owner.alias", true),
    ("request.owner.tags.1", false),
    ("request.boxed.name", true),
    ("request.boxed.tags.0", false),
    ("request.shared", false),
    ("request.cell", false),
    ("request.guarded", false),
    ("request.hits", false),
    ("request.outcome", false),
    ("request.outcome.Ok.0", false),
    ("request.outcome.Err.0", true),
    ("request.outcome.after", false),
    ("request.result", false),
    ("request.result.Ok.0", false),
    ("request.result.Err.0", true),
    ("request.parent", false),
    ("request.parent.id", false),
    ("request.parent.owner.name", true),
    ("request.limit.0", false),
    ("request.niche", false),
    ("request.letter", false),
    ("request.is_done", false),
    ("request.small.Some.0", false),
    ("request.owner.strong", false),
    ("request.shared.weak", false),
];

/// The same in C, with bits, a negative enumerator, unions, arrays, and pointers to pointers.
const C: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "simple_marker.h"

enum state { IDLE, BUSY, GONE = -3 };
enum flags { READ = 1, WRITE = 2 };
struct owner { const char *name; unsigned id : 5; signed level : 4; struct owner *boss; struct owner **others; };
struct request {
    long id; struct owner owner; enum state state; enum flags flags; struct owner *next; char text[8]; unsigned char kind;
    union { int i; short s; } u; _Bool flag; struct { int inner; }; long long far : 40;
};

__attribute__((noinline)) void submit(struct request *request) {
    simple_mark(m:submit, "%p{}", request);
    __asm__ volatile ("" : : "r"(request) : "memory");
}

__attribute__((noinline)) void done(struct request *request) {
    simple_mark(m:done, "%p{id}", request);
    __asm__ volatile ("" : : "r"(request) : "memory");
}

int main(void) {
    static struct owner boss = { "root", 31, -8, 0, 0 };
    static struct owner *others = &boss;
    for (int i = 0; i < 64; i++) {
        struct owner next = { i % 3 ? "next" : 0, i % 32, -(i % 8), &boss, &others };
        struct request *r = calloc(1, sizeof *r);
        char name[16];
        snprintf(name, sizeof name, "u%d", i % 5);
        r->id = i - 20;
        r->owner = (struct owner){ strdup(name), i % 32, -(i % 8), i % 2 ? &boss : 0, &others };
        r->state = i % 3 == 0 ? IDLE : i % 3 == 1 ? BUSY : GONE;
        r->flags = i % 4;
        r->next = i % 4 ? &next : 0;
        snprintf(r->text, 8, "%s", i % 7 ? "t" : "seven..");
        if (i % 7 == 1) memcpy(r->text, "eight...", 8);
        r->kind = 200 + i % 3;
        r->u.i = 65536 + i % 4;
        r->flag = i & 1;
        r->inner = -i % 3;
        r->far = i % 2 ? -1 - i % 3 : 1ll << 38;
        submit(r);
        static const char *states[] = { "GONE", "", "", "IDLE", "BUSY" };
        static const char *flags[] = { "0", "READ", "WRITE", "READ|WRITE" };
        printf("hit\t%ld\t%s\t%d\t%d\t%s\t%s\t", r->id, r->owner.name, r->owner.id, r->owner.level, states[r->state + 3], flags[r->flags]);
        printf("%.8s\t%d\t%d\t%s\t%d\t%lld\t", r->text, r->kind, r->u.s, r->flag ? "true" : "false", r->inner, (long long)r->far);
        printf("%s\t%s\n", !r->next ? "-" : r->next->name ? r->next->name : "null", r->next ? r->next->others[0]->name : "-");
    }
    for (int i = 0; i < 80; i += 2) {
        struct request r = { .id = i - 20 };
        done(&r);
    }
    return 0;
}
"#;

const C_PATHS: [(&str, bool); 14] = [
    ("request.id", false),
    ("request->owner.name", true),
    ("request.owner.id", false),
    ("request.owner.level", false),
    ("request.state", false),
    ("request.flags", false),
    ("request.text", true),
    ("request.kind", false),
    ("request.u.s", false),
    ("request.flag", false),
    ("request.inner", false),
    ("request.far", false),
    ("request->next->name", true),
    ("request.next.others.name", true),
];

/// The same in C++, with a base class, references, smart pointers, strings and an optional.
const CPP: &str = r#"
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include "simple_marker.h"

enum class Color { RED, GREEN = 5 };
struct Base { int base = 3; const char *label = "base"; };
struct Owner { std::string name; int id; };
struct Request : Base {
    long id; std::string name; std::string_view view; Color color; Owner &next; std::unique_ptr<Owner> unique;
    std::shared_ptr<Owner> shared; std::optional<int> limit; bool done;
};

__attribute__((noinline)) void submit(Request &request) {
    simple_mark(m:submit, "%p{}", &request);
    __asm__ volatile ("" : : "r"(&request) : "memory");
}

__attribute__((noinline)) void done(Request *request) {
    simple_mark(m:done, "%p{id}", request);
    __asm__ volatile ("" : : "r"(request) : "memory");
}

int main() {
    Owner owner{"own", 7};
    const auto request = [&](int i) {
        return Request{{}, i, "n" + std::to_string(i % 3) + (i % 2 ? "" : ", a text for the heap"), "view",
            i % 2 ? Color::RED : Color::GREEN, owner,
            i % 4 ? std::make_unique<Owner>(Owner{"u" + std::to_string(i % 5), i % 5}) : nullptr,
            i % 3 ? std::make_shared<Owner>(Owner{"s", i % 6}) : nullptr,
            i % 5 ? std::optional<int>(i % 5) : std::nullopt, i % 2 == 0};
    };
    for (int i = 0; i < 64; i++) {
        Request r = request(i);
        r.base = i % 2;
        submit(r);
        printf("hit\t%d\t%s\t%ld\t%s\t%s\t%s\t", r.base, r.label, r.id, r.name.c_str(), "view", i % 2 ? "RED" : "GREEN");
        printf("%s\t%d\t%s\t%s\t", r.next.name.c_str(), r.next.id, r.unique ? r.unique->name.c_str() : "-",
            r.shared ? std::to_string(r.shared->id).c_str() : "-");
        printf("%s\t%s\n", r.limit ? std::to_string(*r.limit).c_str() : "-", r.done ? "true" : "false");
    }
    for (int i = 0; i < 80; i += 2) {
        Request r = request(i);
        done(&r);
    }
}
"#;

const CPP_PATHS: [(&str, bool); 12] = [
    ("request.base", false),
    ("request.label", true),
    ("request.id", false),
    ("request.name", true),
    ("request.view", true),
    ("request.color", false),
    ("request.next.name", true),
    ("request->next.id", false),
    ("request.unique.name", true),
    ("request.shared.id", false),
    ("request.limit.value", false),
    ("request.done", false),
];

fn smark(command: &str, options: &[&str], rest: &[&Path]) -> Ended {
    let mut smark = Command::new(fixture::smark());
    ended(smark.arg(command).args(options).args(rest))
}

/// The values and their numbers in a table of counts, without those of other markers; and how many hits
/// could not be filtered or counted.
fn counts(json: &Ended) -> (BTreeMap<String, u64>, u64) {
    let lines = json.stdout.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    let (mut values, mut missed) = (BTreeMap::new(), None);
    for line in lines {
        if let Some(end) = line.get("end") {
            let number = |name: &str| end[name].as_u64().unwrap_or(0);
            missed = Some(number("unfiltered") + number("uncounted"));
        }
        for pair in line["by"].as_array().into_iter().flatten() {
            let value = match (pair.get(2).unwrap_or(&pair[0]), &pair[0]) {
                (Json::String(text), _) => text.clone(),
                (other, _) => other.to_string(),
            };
            assert!(values.insert(value, pair[1].as_u64().expect("a number")).is_none(), "{}", json.stdout);
        }
    }
    (values, missed.unwrap_or_else(|| panic!("{}{}", json.stdout, json.stderr)))
}

fn hits(json: &Ended) -> u64 {
    let lines = json.stdout.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    lines.filter(|line| line["marker"] == "m:submit").map(|line| line["hits"].as_u64().expect("a number")).sum()
}

/// What a value is called by a count: the first 32 bytes of a text.
fn key(value: &str, is_text: bool) -> String {
    if is_text && value.len() > 32 { format!("{}..", &value[..32]) } else { value.to_owned() }
}

/// Compares counts and filters by members with what a program prints.
fn compare(program: &Path, paths: &[(&str, bool)]) {
    let printed = ended(&mut Command::new(program)).success();
    let printed: Vec<Vec<&str>> =
        printed.lines().filter_map(|line| Some(line.strip_prefix("hit\t")?.split('\t').collect())).collect();
    assert_eq!((printed.len(), printed[0].len()), (64, paths.len()));
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recorded");
    let record = ["-o", recording.to_str().expect("UTF-8"), "--bytes", "4088", "--"];
    smark("record", &record, &[program]).success();
    for (number, (path, is_text)) in paths.iter().enumerate() {
        let column = || printed.iter().map(|line| line[number]);
        let mut expected = BTreeMap::new();
        for value in column().filter(|value| *value != "-") {
            *expected.entry(key(value, *is_text)).or_insert(0) += 1;
        }
        let absent = 64 - expected.values().sum::<u64>();
        let by = ["--by", path, "--top", "1000", "--json", "m:submit"];
        let live = smark("count", &[&by[..], &["--"]].concat(), &[program]);
        assert_eq!(counts(&live), (expected.clone(), absent), "{path}: {}{}", live.stdout, live.stderr);
        // What pointers of C and references of C++ lead to is recorded only if it is text.
        let is_recorded = !path.contains("next");
        if is_recorded {
            let reported = smark("report", &by, &[&recording]);
            assert_eq!(counts(&reported), (expected, absent), "{path}: {}{}", reported.stdout, reported.stderr);
        }
        let mut tried: Vec<&str> = column().filter(|value| !matches!(*value, "-" | "null")).collect();
        tried.sort_unstable();
        tried.dedup();
        for value in tried.iter().take(2).filter(|value| !value.contains('|')) {
            let literal = if *is_text { format!("{value:?}") } else { (*value).to_owned() };
            for (operator, is_equal) in [("==", true), ("!=", false)] {
                let filter = format!("{path} {operator} {literal}");
                let wanted = column().filter(|it| *it != "-" && (it == value) == is_equal).count() as u64;
                let options = ["--where", &filter, "--json", "m:submit"];
                let live = smark("count", &[&options[..], &["--"]].concat(), &[program]);
                assert_eq!((hits(&live), counts(&live).1), (wanted, absent), "{filter}: {}", live.stderr);
                if is_recorded {
                    let reported = smark("report", &[&["--count"][..], &options].concat(), &[&recording]);
                    assert_eq!(
                        (hits(&reported), counts(&reported).1),
                        (wanted, absent),
                        "{filter}: {}",
                        reported.stderr
                    );
                }
            }
        }
    }
    // 32 of 64 are done. 8 others were never submitted.
    let time = ["--time", "m:submit..m:done", "--key", "request.id", "--json"];
    for pairs in [smark("count", &[&time[..], &["--"]].concat(), &[program]), smark("report", &time, &[&recording])] {
        let lines = pairs.stdout.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
        let times: Vec<Json> = lines.filter(|line| line["time"].is_object()).map(|mut it| it["time"].take()).collect();
        let [time] = &times[..] else { panic!("{}{}", pairs.stdout, pairs.stderr) };
        assert_eq!((&time["count"], &time["ends_without_start"]), (&32.into(), &8.into()), "{time}");
    }
}

#[test(cases = ["0", "3"], desk = [])]
fn members_of_rust_are_what_the_program_prints(level: &str) {
    if !can_watch() {
        return;
    }
    let name = format!("members-{level}");
    let fixture = Fixture::new(&name).file("src/main.rs", RUST);
    fixture::succeeds_silently(fixture.rustc(&[&format!("-Copt-level={level}")]).env("RUSTFLAGS", "-g"));
    compare(&fixture.built(&name), &RUST_PATHS);
}

#[test(cases = ["-O0", "-O2"], desk = [1])]
fn members_of_c_are_what_the_program_prints(level: &str) {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    compare(&compile(folder.path(), "members", C, &[level]), &C_PATHS);
}

#[test(cases = ["-O0", "-O2"], desk = [])]
fn members_of_cpp_are_what_the_program_prints(level: &str) {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (file, program) = (folder.path().join("members.cc"), folder.path().join("members"));
    fs::write(&file, CPP).expect("it is written");
    let include = fixture::workspace().join("markers/include");
    let mut compiler = Command::new("g++");
    run(compiler.arg("-I").arg(include).args(["-std=c++17", "-g", level]).arg(&file).arg("-o").arg(&program));
    compare(&program, &CPP_PATHS);
}

/// A comparison that decides makes the rest unimportant; a name of an argument wins over a member; and
/// names of types are taken before those of enumerators.
#[test(desk = false)]
fn filters_by_members_are_evaluated_in_order() {
    if !can_watch() {
        return;
    }
    let name = "members-filters";
    let fixture = Fixture::new(name).file("src/main.rs", RUST);
    fixture::succeeds_silently(fixture.rustc(&["-Copt-level=3"]).env("RUSTFLAGS", "-g"));
    let program = fixture.built(name);
    for (filter, wanted, unfiltered) in [
        ("request.outcome == Ok && request.outcome.Ok.0 > 31", 8, 0),
        ("request.outcome == Outcome::Err || request.outcome == Nothing", 32, 0),
        ("request.outcome.Ok.0 > 31", 8, 48),
        ("!(request.parent == None) && request.parent.id >= 16", 16, 0),
        ("request.state == State::Busy && request.boxed.name == \"box0\"", 4, 0),
        ("request.limit == 3", 13, 13),
        ("request.small == Gone", 22, 21),
        ("request.result == Err && request.result.Err.0 != \"broken\"", 0, 0),
        ("request.owner.tags.0 < request.boxed.tags.0", 0, 0),
        ("request.id >= 10 && request.id < 0x20 && request.cell == -2", 7, 0),
    ] {
        let counted = smark("count", &["--where", filter, "--json", "m:submit", "--"], &[&program]);
        assert_eq!((hits(&counted), counts(&counted).1), (wanted, unfiltered), "{filter}: {}", counted.stderr);
    }
    for (filter, message) in [
        ("request.stat == 1", "`request` has no member `stat`; closest: `state`,"),
        ("request.owner.nam == 1", "`request.owner` has no member `nam`; closest: `name`,"),
        ("request.state == Bussy", "nor a name of a value of `request.state`; closest: `Busy`, `Gone`, `Idle`"),
        ("request.outcome == Okay", "`request.outcome` is one of `Ok`, `Err`, `Retry`, `Nothing`"),
        ("request.outcome < Ok", "`request.outcome` is one of `Ok`, `Err`, `Retry`, `Nothing`: it can only be"),
        ("request.outcome == 5", "`request.outcome` is one of `Ok`, `Err`,"),
        ("request.outcome.0 == 5", "write request.outcome.Ok.0 or request.outcome.Err.0"),
        ("request.owner == 5", "its members: `name`, `alias`, `tags`"),
        ("request.id == \"x\"", "this is a number, and cannot be compared with a text"),
        ("request.guarded == 300", "this is never true: the argument is between 0 and 255"),
    ] {
        let refused = smark("count", &["--where", filter, "m:submit", "--"], &[&program]);
        assert_eq!(refused.status, 2, "{filter}: {}", refused.stderr);
        assert!(refused.stderr.contains(message), "{filter}: {}", refused.stderr);
    }
}

#[test]
fn members_are_read_by_a_plan_and_with_tracefs() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "members", C, &["-Wl,--build-id"]);
    let (plan, stripped) = (folder.path().join("plan"), folder.path().join("stripped"));
    run(Command::new(fixture::smark()).args(["plan", "-o"]).args([&plan, &program]));
    run(Command::new("strip").arg("-o").args([&stripped, &program]));
    let options = ["--where", "request.state == GONE && request->next->name != \"next\"", "--json", "m:submit", "--by"];
    let table = |more: &[&str], program: &Path| {
        counts(&smark("count", &[&options[..], &["request.owner.name"], more, &["--"]].concat(), &[program]))
    };
    let live = table(&[], &program);
    // Of 21 requests that are gone, 5 have no next one; the others have another name if they can be divided by 3.
    assert_eq!(live, (BTreeMap::new(), 5));
    let options = ["--where", "request.state == GONE && request.owner.level < 0", "--json", "m:submit", "--by"];
    let table = |more: &[&str], program: &Path| {
        counts(&smark("count", &[&options[..], &["request.owner.name"], more, &["--"]].concat(), &[program]))
    };
    let live = table(&[], &program);
    assert_eq!(live.0.values().sum::<u64>(), 18, "{live:?}");
    assert_eq!(table(&["--plan", plan.to_str().expect("UTF-8")], &stripped), live);
    let wanted = ["--where", "request.state == GONE && request.owner.level < 0", "m:submit"];
    let traced = smark("trace", &[&wanted[..], &["--"]].concat(), &[&program]);
    assert_eq!(traced.stdout.lines().filter(|line| line.contains("m:submit: {id = ")).count(), 18, "{}", traced.stdout);
    let recording = folder.path().join("recorded");
    smark("record", &[&["-o", recording.to_str().expect("UTF-8")], &wanted[..], &["--"]].concat(), &[&program]);
    assert_eq!(hits(&smark("report", &["--count", "--json"], &[&recording])), 18);
    if can_watch_with_tracefs() {
        assert_eq!(table(&["--engine", "tracefs"], &program), live);
    }
}
