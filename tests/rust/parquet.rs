//! `smark report --to parquet` and `smark record --to parquet`: DuckDB reads whole values as the
//! program prints them, and what cannot be written leaves nothing behind.
//!
//! `.ci/parquet` builds `smark` with the feature (`PARQUET_SMARK`) and has a Python with DuckDB
//! (`PARQUET_PYTHON`). What the queries of docs/parquet.md answer is in `tests/parquet/check.py`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value as Json, json};
use simple_markers_tests::fixture::{self, Fixture};
use simple_markers_tests::tools::{Ended, ended, skipped};
use simple_markers_tests::watched::{can_watch, compile};

/// A program of [`environment`].
fn named(variable: &str) -> Option<PathBuf> {
    let path = env::var_os(variable).map(PathBuf::from);
    if path.is_none() {
        skipped(&format!("{variable} is not set: .ci/parquet sets it"));
    }
    path
}

/// `smark` with the feature, and a Python with DuckDB.
pub(crate) fn environment() -> Option<(PathBuf, PathBuf)> {
    let found = (fs::canonicalize(named("PARQUET_SMARK")?), named("PARQUET_PYTHON")?);
    can_watch().then(|| (found.0.expect("smark"), found.1))
}

/// The rows that a query of DuckDB gives, as objects.
pub(crate) fn rows(python: &Path, query: &str) -> Vec<Json> {
    let code = "import duckdb, json, sys\n\
                for row in duckdb.sql(f\"SELECT to_json(it) FROM ({sys.argv[1]}) AS it\").fetchall(): print(row[0])";
    let ended = ended(Command::new(python).args(["-c", code, query]));
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    ended.lines().iter().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

const RUST: &str = r#"
use std::collections::{BTreeMap, HashMap};
use simple_markers::simple_mark;

pub struct Owner { name: String, tags: Vec<String> }
pub enum State { Idle, Busy { since: u64 }, Failed(i32, String) }
#[derive(Clone, Copy, Debug)]
pub enum Level { Low = -3, High = 1000 }
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
    nested: Option<Option<u8>>,
    parts: [u16; 2],
    nothing: (),
    never: Option<u64>,
    parent: Option<Box<Owner>>,
    big: u128,
}

fn texts(all: &[String]) -> String {
    format!("[{}]", all.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>().join(","))
}

fn said(r: &Request<'_>) -> String {
    let state = match &r.state {
        State::Idle => "{\"tag\":\"Idle\",\"Busy\":null,\"Failed\":null}".to_owned(),
        State::Busy { since } => format!("{{\"tag\":\"Busy\",\"Busy\":{{\"since\":{since}}},\"Failed\":null}}"),
        State::Failed(code, why) => format!("{{\"tag\":\"Failed\",\"Busy\":null,\"Failed\":{{\"_0\":{code},\"_1\":{why:?}}}}}"),
    };
    let map: Vec<String> = r.map.iter().map(|(key, value)| format!("{{\"key\":{key:?},\"value\":{value}}}")).collect();
    let sorted = r.sorted.iter().map(|(key, (yes, letter))| {
        format!("{{\"key\":{key},\"value\":{{\"_0\":{yes},\"_1\":\"{letter}\"}}}}")
    });
    let sorted: Vec<String> = sorted.collect();
    let note = r.note.map_or("null".to_owned(), |note| format!("{note:?}"));
    let nested = match r.nested {
        None => "{\"tag\":\"None\",\"Some\":null}".to_owned(),
        Some(None) => "{\"tag\":\"Some\",\"Some\":null}".to_owned(),
        Some(Some(number)) => format!("{{\"tag\":\"Some\",\"Some\":{number}}}"),
    };
    let owner = |of: &Owner| format!("{{\"name\":{:?},\"tags\":{}}}", of.name, texts(&of.tags));
    let parent = r.parent.as_ref().map_or("null".to_owned(), |parent| owner(parent));
    format!(
        "{{\"id\":{},\"type\":{},\"owner\":{},\"state\":{state},\"level\":\"{:?}\",\"pair\":{{\"_0\":{},\"_1\":{}}},\"map\":[{}],\
         \"sorted\":[{}],\"note\":{note},\"nested\":{nested},\"parts\":[{},{}],\"parent\":{parent},\"big\":\"{}\"}}",
        r.id, r.r#type, owner(&r.owner), r.level, r.pair.0, r.pair.1, map.join(","), sorted.join(","), r.parts[0], r.parts[1], r.big,
    )
}

#[inline(never)]
fn submit(request: &Request<'_>, time: u32) {
    println!("{}", said(request));
    simple_mark!(s:request, "%p{} at %u", request, time);
    std::hint::black_box((request, request.nothing, request.never, time));
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
        let state = match id % 3 {
            0 => State::Idle,
            1 => State::Busy { since: u64::MAX - u64::from(id) },
            _ => State::Failed(-1 - id as i32, format!("why {id}")),
        };
        let tags = |count: u32| (0..count).map(|n| format!("tag {n}")).collect();
        let request = Request {
            id,
            r#type: -1 - id as i8,
            owner: Owner { name: if id == 3 { String::new() } else { format!("user{id}") }, tags: tags(id % 3) },
            state,
            level: if id % 2 == 0 { Level::Low } else { Level::High },
            pair: (id as u8, i64::MIN + i64::from(id)),
            map: (0..id % 2).map(|n| (format!("key{n}"), id + n)).collect(),
            sorted: (0..id as u8 % 4).map(|n| (n, (n > 1, (b'a' + n) as char))).collect(),
            note: (id % 3 == 1).then_some("a note"),
            nested: [None, Some(None), Some(Some(id as u8))][id as usize % 3],
            parts: [id as u16, 65535],
            nothing: (),
            never: None,
            parent: (id % 4 == 2).then(|| Box::new(Owner { name: "parent".into(), tags: tags(1) })),
            big: u128::MAX - u128::from(id),
        };
        submit(&request, id);
    }
    for length in [0, 3, 20] {
        list(&(0..length).map(|n| n * 1_000_000_000_000).collect());
    }
}
"#;

#[test]
fn duckdb_reads_whole_values_as_the_program_prints_them() {
    let Some((smark, python)) = environment() else { return };
    let fixture = Fixture::new("tabulated").file("src/main.rs", RUST);
    fixture::succeeds_silently(fixture.rustc(&["-Copt-level=0"]).env("RUSTFLAGS", "-g"));
    let folder = tempfile::tempdir().expect("a folder");
    let hits = folder.path().join("hits");
    let record = ["record", "--bytes", "4088", "--to", "parquet", "-o"];
    let ended = ended(Command::new(&smark).args(record).arg(&hits).arg("--").arg(fixture.built("tabulated")));
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    // The recording became the tables.
    assert!(hits.is_dir() && !folder.path().join("hits.recording").exists());
    let from = |table: &str| format!("'{}/{table}/**/*.parquet'", hits.display());
    let printed: Vec<Json> = ended.lines().iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(printed.len(), 10);
    let requests =
        rows(&python, &format!("SELECT request, time_2, doubts, task FROM {} ORDER BY time", from("s.request")));
    for ((row, printed), id) in requests.iter().zip(&printed).zip(0..) {
        assert_eq!(row, &json!({ "request": printed, "time_2": id, "doubts": [], "task": null }));
    }
    assert_eq!(requests.len(), 10);
    let lists = rows(&python, &format!("SELECT values, doubts FROM {} ORDER BY time", from("s.list")));
    let numbers = |count: u64| (0..count).map(|n| n * 1_000_000_000_000).collect::<Vec<_>>();
    let more = json!([{ "argument": "values", "why": "4 more" }]);
    let expected = [(0, json!([])), (3, json!([])), (16, more)];
    assert_eq!(lists, expected.map(|(count, doubts)| json!({ "values": numbers(count), "doubts": doubts })));
    let parts = rows(&python, &format!("SELECT value, doubts FROM {} ORDER BY time", from("s.parts")));
    let unreadable = json!([{ "argument": "value.parts", "why": "unreadable" }]);
    assert_eq!(
        parts,
        [
            json!({ "value": { "parts": [5, 6], "inner": 7 }, "doubts": [] }),
            json!({ "value": { "parts": null, "inner": null }, "doubts": unreadable }),
        ]
    );
    let recordings =
        rows(&python, &format!("SELECT hits, lost, is_complete, exit, program FROM {}", from("_recordings")));
    let row = json!({ "hits": 15, "lost": 0, "is_complete": true, "exit": 0, "program": "tabulated" });
    assert_eq!(recordings, [row]);
}

/// A text, none, and one that is nowhere.
const C: &str = r#"
#include <stdint.h>
#include "simple_marker.h"
__attribute__((noinline)) void step(uint16_t count, const char *name, double share) {
    simple_mark(odd:step, "%hu %s %f", count, name, share);
    __asm__ volatile("" : : "r"(count), "r"(name), "x"(share) : "memory");
}
int main(void) {
    for (int i = 0; i < 3; i++) step(65533 + i, i == 1 ? (const char *)0 : i == 2 ? (const char *)16 : "caf\xe9", i / 2.0);
}
"#;

#[test]
fn texts_that_cannot_be_read_are_null_with_a_doubt() {
    let Some((smark, python)) = environment() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "odd", C, &["-O0"]);
    let hits = folder.path().join("hits");
    let ended = ended(Command::new(&smark).args(["record", "--to", "parquet", "-o"]).arg(&hits).arg("--").arg(program));
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let query =
        format!("SELECT count, name, share, doubts FROM '{}/odd.step/**/*.parquet' ORDER BY time", hits.display());
    let row = |count: u32, name: Option<&str>, share: f64, doubts: Json| json!({ "count": count, "name": name, "share": share, "doubts": doubts });
    let unreadable = json!([{ "argument": "name", "why": "unreadable at 0x10" }]);
    let expected = [
        row(65533, Some("caf\\xe9"), 0.0, json!([])),
        row(65534, None, 0.5, json!([])),
        row(65535, None, 1.0, unreadable),
    ];
    assert_eq!(rows(&python, &query), expected);
}

#[test]
fn what_is_refused_leaves_nothing_behind() {
    let Some((smark, _)) = environment() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "odd", C, &["-O0"]);
    let (recording, hits) = (folder.path().join("recording"), folder.path().join("hits"));
    let run =
        |arguments: &[&str], paths: &[&Path]| -> Ended { ended(Command::new(&smark).args(arguments).args(paths)) };
    assert_eq!(run(&["record", "-o"], &[&recording, Path::new("--"), &program]).status, 0);
    let names = || {
        let entries = fs::read_dir(folder.path()).expect("a folder");
        let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let refused = |arguments: &[&str], paths: &[&Path], expected: &str| {
        let ended = run(arguments, paths);
        assert_eq!(ended.status, 2, "{}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    };
    let report = ["report", "--to", "parquet", "-o"];
    refused(&["report", "--to", "parquet"], &[&recording], "--output");
    refused(&report, &[&program, &recording], "not a folder");
    refused(&report, &[&recording, &recording], "it exists, and `--to parquet` did not write it");
    refused(&[&["report", "--force"], &report[1..]].concat(), &[&recording, &recording], "did not write it");
    refused(&[&report[..3], &["--file-size", "1000", "-o"]].concat(), &[&hits, &recording], "at least 1048576 bytes");
    refused(
        &["report", "--to", "parquet", "--pair", "a..b", "-o"],
        &[&hits, &recording],
        "it belongs to --to perfetto",
    );
    assert_eq!(names(), before);
    assert_eq!(run(&report, &[&hits, &recording]).status, 0);
    refused(&report, &[&hits, &recording], "it exists; --force replaces the data set");
    assert_eq!(run(&["report", "--to", "parquet", "--force", "odd:*", "-o"], &[&hits, &recording]).status, 0);
    // A stream that ends in a packet: what is before it is written, and the recording counts as cut
    // off.
    let stream = fs::read(recording.join("stream")).expect("the stream");
    fs::write(recording.join("stream"), &stream[..stream.len() / 2]).expect("a shorter one");
    let cut = run(&["report", "--to", "parquet", "-o"], &[&folder.path().join("cut"), &recording]);
    assert_eq!((cut.status, cut.stderr.contains("the file ends after")), (2, true), "{}", cut.stderr);
}
