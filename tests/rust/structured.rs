//! `smark report --to ctf`: babeltrace2 shows the members of whole values as the program prints them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;
use simple_markers_resolver::text::from_bytes;
use simple_markers_tests::fixture::{self, Fixture};
use simple_markers_tests::tools::{Ended, ended, find, output};
use simple_markers_tests::watched::{can_watch, compile};
use simple_markers_tests::whole_values;

/// Prints each value as babeltrace2 does, but for the numbers of labels.
const RUST: &str = r#"
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use simple_markers::simple_mark;

pub struct Owner { name: String, tags: Vec<String> }
#[allow(non_camel_case_types)]
pub enum State { Idle, Busy { since: u64 }, Failed(i32, String), int(i8), size_t }
#[derive(Clone, Copy, Debug)]
pub enum Level { Low = -3, High = 1000 }
pub struct Meters(f64);
pub struct Request<'a> {
    id: u32,
    r#type: i8,
    owner: Owner,
    state: State,
    level: Level,
    pair: (u8, i64),
    map: HashMap<String, u32>,
    sorted: BTreeMap<u8, (bool, char)>,
    note: Option<&'a str>,
    length: Meters,
    parts: [u16; 2],
    nothing: (),
    parent: Option<Box<Owner>>,
    range: std::ops::Range<u32>,
    big: u128,
}

fn texts(name: &str, all: &[String]) -> String {
    let items: Vec<String> = all.iter().enumerate().map(|(n, text)| format!("[{n}] = \"{text}\"")).collect();
    match &*items {
        [] => format!("{name}__length = 0, {name} = [ ]"),
        items => format!("{name}__length = {}, {name} = [ {} ]", items.len(), items.join(", ")),
    }
}

fn owner(owner: &Owner) -> String {
    // One of the names has no bytes.
    let name = match owner.name.is_empty() {
        true => "name__tag = empty, name = { { } }".to_owned(),
        false => format!("name__tag = value, name = {{ \"{}\" }}", owner.name),
    };
    format!("{{ {name}, {} }}", texts("tags", &owner.tags))
}

fn said(request: &Request<'_>) -> String {
    let Request { id, r#type, owner: of, level, pair: (first, second), length: Meters(length), big, .. } = request;
    let mut out = format!("{{ request = {{ id = {id}, type = {}, owner = {}, ", r#type, owner(of));
    let _ = match &request.state {
        State::Idle => write!(out, "state__tag = Idle, state = {{ {{ }} }}, "),
        State::Busy { since } => write!(out, "state__tag = Busy, state = {{ {{ since = {since} }} }}, "),
        State::Failed(code, why) => {
            write!(out, "state__tag = Failed, state = {{ {{ 0 = {code}, 1 = \"{why}\" }} }}, ")
        }
        State::int(code) => write!(out, "state__tag = _int, state = {{ {code} }}, "),
        State::size_t => write!(out, "state__tag = _size_t, state = {{ {{ }} }}, "),
    };
    let _ = write!(out, "level = {level:?}, pair = {{ 0 = {first}, 1 = {second} }}, ");
    for (name, size) in [("map", request.map.len()), ("sorted", request.sorted.len())] {
        let _ = write!(out, "{name}__length = {size}, {name} = [ ");
        for (n, (key, value)) in request.map.iter().filter(|_| name == "map").enumerate() {
            let _ = write!(out, "[{n}] = {{ key = \"{key}\", value = {value} }} ");
        }
        for (n, (key, (yes, letter))) in request.sorted.iter().filter(|_| name == "sorted").enumerate() {
            let comma = if n > 0 { ", " } else { "" };
            let _ = write!(out, "{comma}[{n}] = {{ key = {key}, value = {{ 0 = {yes}, 1 = \"{letter}\" }} }}");
        }
        let space = if name == "sorted" && size > 0 { " " } else { "" };
        let _ = write!(out, "{space}], ");
    }
    let _ = match request.note {
        Some(note) => write!(out, "note__tag = Some, note = {{ \"{note}\" }}, "),
        None => write!(out, "note__tag = None, note = {{ {{ }} }}, "),
    };
    let [one, other] = request.parts;
    let _ = write!(out, "length = {length}, parts__length = 2, parts = [ [0] = {one}, [1] = {other} ], nothing = {{ }}, ");
    let _ = match &request.parent {
        Some(parent) => write!(out, "parent__tag = Some, parent = {{ {{ name = \"{}\", {} }} }}, ", parent.name, texts("tags", &parent.tags)),
        None => write!(out, "parent__tag = None, parent = {{ {{ }} }}, "),
    };
    let _ = write!(out, "range = {{ start = {}, end = {} }}, big = \"{big}\" }}, turn = {id} }}", request.range.start, request.range.end);
    out
}

#[inline(never)]
fn submit(request: &Request<'_>, turn: u32) {
    println!("s:request {}", said(request));
    simple_mark!(s:request, "%p{} in turn %u", request, turn);
    std::hint::black_box((request, request.nothing, turn));
}

#[inline(never)]
fn list(values: &Vec<u64>) {
    simple_mark!(s:list, "%p{}", values);
    std::hint::black_box(values);
}

pub struct Parts { parts: &'static [u32], inner: Option<&'static u64> }

#[inline(never)]
fn parts(value: &Parts) {
    simple_mark!(s:parts, "%p{}", value);
    std::hint::black_box((value.parts.len(), value.inner.is_some()));
}

fn main() {
    parts(&Parts { parts: &[5, 6], inner: Some(&7) });
    // Nothing is there.
    let nowhere = unsafe { std::slice::from_raw_parts(24 as *const u32, 3) };
    parts(&Parts { parts: nowhere, inner: None });
    for id in 0..10u32 {
        let state = match id % 5 {
            0 => State::Idle,
            1 => State::Busy { since: u64::MAX - u64::from(id) },
            2 => State::Failed(-1 - id as i32, format!("why {id}")),
            3 => State::int(-7),
            _ => State::size_t,
        };
        let tags = |count: u32| (0..count).map(|n| format!("tag {n}")).collect();
        let name = if id == 3 { String::new() } else { format!("user{id}") };
        let request = Request {
            id,
            r#type: -1 - id as i8,
            owner: Owner { name, tags: tags(id % 3) },
            state,
            level: if id % 2 == 0 { Level::Low } else { Level::High },
            pair: (id as u8, i64::MIN + i64::from(id)),
            map: (0..id % 2).map(|n| (format!("key{n}"), id + n)).collect(),
            sorted: (0..id as u8 % 4).map(|n| (n, (n > 1, (b'a' + n) as char))).collect(),
            note: (id % 3 == 1).then_some("a note"),
            length: Meters(f64::from(id) / 4.0),
            parts: [id as u16, 65535],
            nothing: (),
            parent: (id % 4 == 2).then(|| Box::new(Owner { name: "parent".into(), tags: tags(1) })),
            range: id..id + 5,
            big: u128::MAX - u128::from(id),
        };
        submit(&request, id);
    }
    for length in [0, 3, 20] {
        list(&(0..length).map(|n| n * 1_000_000_000_000).collect());
    }
}
"#;

/// The same of C.
const C: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include "simple_marker.h"
enum kind { IDLE, BUSY = 5 };
struct point { int x, y; };
struct request {
    uint32_t id;
    struct point at, *next;
    const char *name;
    enum kind kind;
    unsigned low : 3;
    int high : 5;
    double share;
    union { int whole; unsigned char first; } either;
    struct { short left, right; };
    long parts[3];
    _Bool ok;
    char letter, text[8];
    __int128 big;
    long double wide;
    void (*call)(void);
};
static const char *const names[] = {"first", "second \"quoted\"", 0, ""};
__attribute__((noinline)) static void submit(struct request *request) {
    simple_mark(s:request, "%p{}", request);
    __asm__ volatile("" : : "r"(request) : "memory");
}
__attribute__((noinline)) static void follow(struct request *request) {
    simple_mark(s:follow, "%p{**}", request);
    __asm__ volatile("" : : "r"(request) : "memory");
}
int main(void) {
    struct point other = {7, -8};
    for (int i = 0; i < 8; i++) {
        struct request r = {
            .id = i, .at = {i, -i}, .next = i % 3 == 0 ? 0 : i % 3 == 1 ? &other : (struct point *)24,
            .name = names[i % 4], .kind = i == 6 ? 77 : i % 2 ? BUSY : IDLE, .low = i, .high = -i, .share = i / 4.0,
            .either.whole = i, .left = -1, .right = i, .parts = {1, -i, 1L << 40}, .ok = i & 1, .letter = 'a' + i,
            .text = "abc", .big = (__int128)i << 70, .wide = i / 2.0L, .call = 0,
        };
        const char *name = i % 4 == 3 ? "empty, name = { { } }" : i % 4 == 2 ? "null, name = { 0x0 }" : i % 4 ?
            "value, name = { \"second \\\"quoted\\\"\" }" : "value, name = { \"first\" }";
        const char *kind = i == 6 ? "77" : i % 2 ? "BUSY" : "IDLE";
        for (int is_deep = 0; is_deep < 2; is_deep++) {
            printf("s:%s { request = { id = %d, at = { x = %d, y = %d }, ", is_deep ? "follow" : "request", i, i, -i);
            const char *to = i % 3 == 1 ? "value, to = { { x = 7, y = -8 } }" : "absent, to = { { } }";
            if (is_deep) printf("next = { address = 0x%lX, to__tag = %s }, ", (unsigned long)r.next, to);
            else printf("next = 0x%lX, ", (unsigned long)r.next);
            printf("name__tag = %s, kind = %s, low = %d, high = %d, share = %g, ", name, kind, i, -i, i / 4.0);
            printf("either = { whole = %d, first = %d }, left = -1, right = %d, parts__length = 3, "
                   "parts = [ [0] = 1, [1] = %d, [2] = 1099511627776 ], ok = %s, letter = \"%c\", text = \"abc\", ",
                   i, i, i, -i, i & 1 ? "true" : "false", 'a' + i);
            unsigned __int128 big = r.big;
            char digits[48], *first = digits + sizeof digits - 1;
            *first = 0;
            do *--first = '0' + (int)(big % 10);
            while (big /= 10);
            printf("big = \"%s\", wide = \"%Lg\", call = 0x0 } }\n", first, r.wide);
        }
        submit(&r);
        follow(&r);
    }
}
"#;

/// What `smark` says of a command.
fn smark(arguments: &[&str], operands: &[&Path]) -> Ended {
    ended(Command::new(fixture::smark()).args(arguments).args(operands))
}

/// A recording of a program, with what the program prints.
fn recorded(folder: &Path, options: &[&str], program: &[&Path]) -> (PathBuf, Vec<String>) {
    let recording = folder.join("recording");
    let operands = [&[recording.as_path(), Path::new("--")], program].concat();
    // The operands of the program follow the folder.
    let ended = smark(&[&["record"], options, &["-o"]].concat(), &operands);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    (recording, ended.lines())
}

/// The trace that is made of a recording.
fn structured(recording: &Path, options: &[&str]) -> PathBuf {
    let folder = recording.with_file_name("trace");
    let ended = smark(&[&["report", "--to", "ctf", "--force"], options, &["-o"]].concat(), &[&folder, recording]);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    folder
}

/// The events as babeltrace2 prints them: the name and the fields, without the numbers of labels.
fn events(trace: &Path) -> Vec<String> {
    let ended = ended(Command::new("babeltrace2").arg(trace));
    assert_eq!((ended.status, &*ended.stderr), (0, ""));
    let event = |line: &String| {
        let (name, context) = line.split_once(") ").and_then(|(_, rest)| rest.split_once(": ")).expect("an event");
        let (_, fields) = context.split_once("\" }, ").expect("fields");
        format!("{name} {}", without_numbers(fields))
    };
    ended.lines().iter().map(event).collect()
}

/// `( "A" : container = 5 )` becomes `A`, and `( <unknown> : container = 5 )` becomes `5`.
fn without_numbers(fields: &str) -> String {
    let mut parts = fields.split("( ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (label, rest) = part.split_once(" : container = ").expect("a label");
        let (number, rest) = rest.split_once(" )").expect("a number");
        out.push_str(if label == "<unknown>" { number } else { label.trim_matches('"') });
        out.push_str(rest);
    }
    out
}

/// Whether recordings can be made, and read with babeltrace2.
fn can_record() -> bool {
    can_watch() && find("babeltrace2").is_some()
}

#[test]
fn babeltrace2_shows_values_of_rust_as_the_program_prints_them() {
    if !can_record() {
        return;
    }
    let fixture = Fixture::new("structured").file("src/main.rs", RUST);
    fixture::succeeds_silently(fixture.rustc(&["-Copt-level=0"]).env("RUSTFLAGS", "-g"));
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, printed) = recorded(folder.path(), &["--bytes", "4088"], &[&fixture.built("structured")]);
    let (requests, others): (Vec<String>, Vec<String>) =
        events(&structured(&recording, &[])).into_iter().partition(|event| event.starts_with("s:request "));
    assert_eq!(printed.len(), 10);
    for (shown, printed) in requests.iter().zip(&printed) {
        assert_eq!(shown, printed);
    }
    assert_eq!(requests.len(), 10);
    let items: Vec<String> = (0..16).map(|n: u64| format!("[{n}] = {}", n * 1_000_000_000_000)).collect();
    let list = |length: usize, more: usize| {
        let items = if length == 0 { String::new() } else { format!("{} ", items[..length].join(", ")) };
        format!("s:list {{ values__length = {length}, values__more = {more}, values = [ {items}] }}")
    };
    let parts = |tag: &str, parts: &str, inner: &str| {
        format!("s:parts {{ value = {{ parts__tag = {tag}, parts = {{ {{ {parts} }} }}, inner__tag = {inner} }} }} }}")
    };
    let (known, unreadable) = ("items__length = 2, items = [ [0] = 5, [1] = 6 ]", "address = \"0x18\", length = 3");
    let parts = [parts("value", known, "Some, inner = { 7"), parts("unreadable", unreadable, "None, inner = { { }")];
    assert_eq!(others, [&parts[..], &[list(0, 0), list(3, 0), list(16, 4)]].concat());
    // The filter takes members of the bytes. The hits that are left have the same shape.
    let chosen = events(&structured(&recording, &["--where", "request.id >= 3", "s:request"]));
    assert_eq!(chosen, printed[3..]);
    // All notes of these are texts.
    let chosen = events(&structured(&recording, &["--where", "request.id == 4 || request.id == 7", "s:request"]));
    let plain = |line: &String| {
        let (before, behind) = line.split_once("name__tag = value, name = { \"user").expect("a name");
        let (digit, behind) = behind.split_at(1);
        format!("{before}name = \"user{digit}\"{}", &behind["\" }".len()..])
            .replace("parent__tag = None, parent = { { } }", "parent = None")
    };
    assert_eq!(chosen, [plain(&printed[4]), plain(&printed[7])]);
}

#[test]
fn babeltrace2_shows_values_of_c_as_the_program_prints_them() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "structured", C, &[]);
    let (recording, printed) = recorded(folder.path(), &[], &[&program]);
    assert_eq!(printed.len(), 16);
    let shown = events(&structured(&recording, &[]));
    for (shown, printed) in shown.iter().zip(&printed) {
        assert_eq!(shown, printed);
    }
    assert_eq!(shown.len(), 16);
}

/// A program that passes a marker with a whole value so often, and then one without.
const COUNTED: &str = r#"
#include <stdlib.h>
#include "simple_marker.h"
struct pair { int first; long second; };
__attribute__((noinline)) static void pass(struct pair *pair) {
    simple_mark(s:pair, "%p{} at %p{first}", pair, pair);
    __asm__ volatile("" : : "r"(pair) : "memory");
}
int main(int count, char **words) {
    (void)count;
    for (int i = 0; i < atoi(words[1]); i++) pass(&(struct pair){i, -i});
    simple_mark(s:end, "");
}
"#;

fn pair(number: usize) -> String {
    format!("s:pair {{ pair = {{ first = {number}, second = -{number} }}, pair_2 = {{ first = {number} }} }}")
        .replace("-0", "0")
}

#[test]
fn nothing_is_overwritten_and_no_hit_is_needed() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "counted", COUNTED, &[]);
    let (recording, _) = recorded(folder.path(), &[], &[&program, Path::new("3")]);
    let trace = structured(&recording, &[]);
    let all = [pair(0), pair(1), pair(2), "s:end { }".to_owned()];
    let read = |trace: &Path| events(trace);
    assert_eq!(read(&trace), all);

    // A folder that exists is not written to, unless it has such a trace and --force is given.
    let report = |options: &[&str], to: &Path, from: &Path| {
        smark(&[&["report", "--to", "ctf"], options, &["-o"]].concat(), &[to, from])
    };
    let exists = report(&[], &trace, &recording).fails(2);
    assert_eq!(exists, format!("smark: {}: it exists; --force replaces the trace\n", trace.display()));
    for (options, to) in [(&[][..], &recording), (&["--force"][..], &recording)] {
        let said = report(options, to, &recording).fails(2);
        let expected = format!("{}: it exists, and `smark report --to ctf` did not write it", to.display());
        assert_eq!(said, format!("smark: {expected}\n"));
    }
    let said = smark(&["report", "--to", "ctf"], &[&recording]).fails(2);
    assert!(said.contains("--output <FILE|DIR>"), "{said}");
    let said = report(&["--pair", "s:pair..s:end"], &folder.path().join("other"), &recording).fails(2);
    assert!(said.contains("--pair makes slices of a timeline"), "{said}");

    // It is no recording.
    let said = smark(&["report"], &[&trace]).fails(2);
    assert!(said.contains("smark report reads the recording that it was made of"), "{said}");

    // No hit, and a recording without hits.
    for options in [&["--where", "pair.first > 7", "s:pair"][..], &["s:none*"]] {
        let to = folder.path().join("none");
        let ended = report(options, &to, &recording);
        match options {
            ["s:none*"] => {
                assert_eq!((ended.status, to.exists()), (1, false), "{}", ended.stderr);
            }
            _ => {
                assert!(ended.stderr.contains("0 hits in "), "{}", ended.stderr);
                assert_eq!((ended.status, read(&to)), (0, Vec::new()));
                fs::remove_dir_all(to).expect("it is removed");
            }
        }
    }
    let (empty, _) = recorded(&folder.path().join("."), &["--force", "s:pair"], &[&program, Path::new("0")]);
    assert_eq!(read(&structured(&empty, &[])), Vec::<String>::new());
    let left: Vec<_> = fs::read_dir(folder.path()).expect("a folder").filter_map(Result::ok).collect();
    assert!(left.iter().all(|file| !file.file_name().as_encoded_bytes().starts_with(b".smark-")), "{left:?}");
}

#[test]
fn what_was_cut_off_or_lost_is_said() {
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "counted", COUNTED, &[]);
    let options = ["--buffer", "64K", "s:pair"];
    let (recording, _) = recorded(folder.path(), &options, &[&program, Path::new("50000")]);
    let total = |text: &str, what: &str| {
        let line = text.lines().find(|line| line.contains(what))?;
        line.split_whitespace().find_map(|word| word.parse::<u64>().ok())
    };
    let trace = recording.with_file_name("trace");
    let made = smark(&["report", "--to", "ctf", "-o"], &[&trace, &recording]);
    let (lost, hits) = (total(&made.stderr, "were lost"), total(&made.stderr, "hits in"));
    assert_eq!(made.status, 0, "{}", made.stderr);
    assert_eq!(hits.expect("a number") + lost.unwrap_or(0), 50_000);
    let shown = ended(Command::new("babeltrace2").arg(&trace));
    assert_eq!(shown.lines().len() as u64, hits.expect("a number"));
    if lost.is_some() {
        assert!(shown.stderr.contains("discarded"), "{}", shown.stderr);
    }

    // All but the last packet.
    let stream = recording.join("stream");
    let size = fs::metadata(&stream).expect("a file").len();
    fs::OpenOptions::new().write(true).open(&stream).and_then(|file| file.set_len(size - 10)).expect("it is cut");
    let cut = smark(&["report", "--to", "ctf", "--force", "-o"], &[&trace, &recording]);
    assert_eq!(cut.status, 2, "{}", cut.stderr);
    assert!(cut.stderr.contains("the file ends after"), "{}", cut.stderr);
    let left = total(&cut.stderr, "hits in").expect("a number");
    assert!(left < hits.expect("a number"));
    assert_eq!(ended(Command::new("babeltrace2").arg(&trace)).lines().len() as u64, left);
}

/// The texts, the labels and the numbers in the fields of an event as babeltrace2 prints it. Those in
/// hexadecimal are decimal here.
fn leaves(fields: &[u8]) -> Vec<String> {
    let mut all = Vec::new();
    let mut rest = fields;
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first == b'"' {
            all.push(quoted(&mut rest));
            continue;
        }
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.+-".contains(byte);
        if !is_word(first) {
            continue;
        }
        let end = rest.iter().position(|byte| !is_word(byte)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        rest = behind;
        // The name of a field, and the position of an element.
        if [&b" = "[..], b"] = "].iter().any(|mark| rest.starts_with(mark)) {
            continue;
        }
        let word = String::from_utf8([&[*first], word].concat()).expect("ASCII");
        all.push(match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).expect("a number").to_string(),
            None => word,
        });
    }
    all
}

/// A string up to its closing quote.
fn quoted(rest: &mut &[u8]) -> String {
    let mut bytes = Vec::new();
    let mut next = || {
        let (first, behind) = rest.split_first().expect("a quote");
        *rest = behind;
        *first
    };
    loop {
        bytes.push(match next() {
            b'"' => return from_bytes(&bytes),
            b'\\' => match next() {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'a' => 7,
                b'b' => 8,
                b'v' => 11,
                b'f' => 12,
                b'e' => 27,
                b'x' => {
                    let digits = [next(), next()];
                    let digits = std::str::from_utf8(&digits).expect("digits");
                    u8::from_str_radix(digits, 16).expect("a number")
                }
                other => other,
            },
            byte => byte,
        });
    }
}

/// The texts, Booleans and numbers of a value in JSON, without what babeltrace2 cannot show as such: texts
/// without bytes, and those with a byte 0.
fn scalars(value: &Json, all: &mut Vec<Json>) {
    match value {
        Json::Null => {}
        Json::String(text) if text.is_empty() || text.contains('\0') => {}
        Json::Array(items) => items.iter().for_each(|item| scalars(item, all)),
        Json::Object(members) => members.values().for_each(|member| scalars(member, all)),
        scalar => all.push(scalar.clone()),
    }
}

fn is_it(scalar: &Json, leaf: &str) -> bool {
    match scalar {
        Json::Bool(is_true) => leaf == is_true.to_string(),
        Json::Number(number) if number.is_f64() => {
            let (number, leaf) = (number.as_f64().expect("a number"), leaf.parse::<f64>());
            // babeltrace2 prints 6 digits.
            leaf.is_ok_and(|leaf| (leaf - number).abs() <= number.abs() * 1e-5)
        }
        Json::Number(number) => leaf == number.to_string(),
        Json::String(text) => match text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16)) {
            Some(Ok(number)) => leaf == number.to_string() || leaf == text,
            _ if text == "NaN" => ["nan", "-nan", "NaN"].contains(&leaf),
            _ => leaf == text,
        },
        _ => false,
    }
}

/// Random types of Rust: babeltrace2 shows every text, label and number that `smark report --json` has.
#[test]
fn nothing_of_random_values_is_missing() {
    if !can_record() {
        return;
    }
    let fixture = Fixture::new("structured-random").file("src/main.rs", &whole_values::rust(11, 30, 10));
    fixture::succeeds_silently(fixture.rustc(&["-Copt-level=0"]).env("RUSTFLAGS", "-g"));
    let folder = tempfile::tempdir().expect("a folder");
    let (program, said) = (fixture.built("structured-random"), folder.path().join("said"));
    let options = ["--bytes", "4088", "--elements", "64", "--buffer", "64M"];
    let (recording, _) = recorded(folder.path(), &options, &[&program, &said]);
    let trace = structured(&recording, &[]);
    let shown = output(Command::new("babeltrace2").arg(&trace));
    assert_eq!(shown.stderr, b"");
    let lines = shown.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let json = smark(&["report", "--json"], &[&recording]);
    let hits = json.lines();
    let hits = hits.iter().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
    let hits: Vec<Json> = hits.filter(|hit| hit.get("marker").is_some()).collect();
    let mut compared = 0;
    for (hit, line) in hits.iter().zip(lines.clone()) {
        let at = line.windows(5).position(|part| part == b"\" }, ").expect("fields");
        let mut leaves = leaves(&line[at + 5..]);
        let mut all = Vec::new();
        for argument in hit["args"].as_array().expect("arguments") {
            assert_eq!(argument["why"], Json::Null);
            scalars(&argument["value"], &mut all);
        }
        for scalar in &all {
            let place = leaves.iter().position(|leaf| is_it(scalar, leaf));
            let place = place.unwrap_or_else(|| panic!("{scalar} of {hit}\n{}", from_bytes(line)));
            leaves.swap_remove(place);
        }
        compared += all.len();
    }
    assert_eq!((hits.len(), lines.count()), (300, 300));
    assert!(compared > 1000, "{compared}");
}
