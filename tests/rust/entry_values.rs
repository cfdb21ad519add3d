//! Arguments that are only known as what registers had at the entry of their function, read there by a second
//! probe: the values are those that the programs print, in frames of all sorts, and none is that of another
//! frame.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, Process};
use simple_markers_tests::oracle::builds::{self, Options, With};
use simple_markers_tests::tools::{find, output, run};
use simple_markers_tests::watched::{can_watch, compile};

use crate::trace::hits;
use crate::whom::wait_until_asleep;

/// The values of markers in the order of each thread, by the thread and the marker.
type Values = BTreeMap<(i64, String), Vec<String>>;

const UNSEEN: &str = "not seen at the entry";

fn frames(folder: &Path, compiler: &str) -> PathBuf {
    let (program, source) = (folder.join("frames"), fixture::workspace().join("tests/entries/frames.cpp"));
    let include = fixture::workspace().join("markers/include");
    let mut command = Command::new(compiler);
    run(command.arg("-I").arg(include).args(["-g", "-O2", "-w", "-pthread"]).arg(source).arg("-o").arg(&program));
    program
}

/// The values of hits; a missing one as why it is missing.
fn seen(hits: &[Json]) -> Values {
    let mut values = Values::new();
    for hit in hits {
        let value = |argument: &Json| match (&argument["value"], argument["why"].as_str()) {
            (Json::String(text), None) => text.clone(),
            (value, None) => value.to_string(),
            (_, Some(why)) => why.to_owned(),
        };
        let text: Vec<String> = hit["args"].as_array().expect("arguments").iter().map(value).collect();
        let key = (hit["tid"].as_i64().expect("a thread"), hit["marker"].as_str().expect("a marker").to_owned());
        values.entry(key).or_default().push(text.join(" "));
    }
    values
}

/// What a program says: `= THREAD MARKER VALUE TEXT`.
fn said(lines: &str) -> Values {
    let mut values = Values::new();
    for line in lines.lines().filter_map(|line| line.strip_prefix("= ")) {
        let words: Vec<&str> = line.split(' ').collect();
        let [thread, marker, value, text] = words[..] else { panic!("{line}") };
        let text = if text == "-" { value.to_owned() } else { format!("{value} {text}") };
        values.entry((thread.parse().expect("a number"), marker.to_owned())).or_default().push(text);
    }
    values
}

/// Runs a program under `smark trace`. Returns what was seen, what it said, and what `smark` said.
fn traced(folder: &Path, options: &[&str], program: &Path) -> (Values, Values, String) {
    let file = folder.join("hits");
    let mut smark = Command::new(fixture::smark());
    smark.arg("trace").args(["--json", "-o"]).arg(&file).args(options).arg("--").arg(program);
    let output = output(&mut smark);
    let lines: Vec<String> = std::fs::read_to_string(&file).expect("hits").lines().map(str::to_owned).collect();
    let (hits, end) = hits(&lines);
    assert_eq!((&end["exit"], &end["lost"]), (&0.into(), &0.into()));
    std::fs::remove_file(&file).expect("it is removed");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (seen(&hits), said(&text(output.stdout)), text(output.stderr))
}

/// The markers of which an argument is read at the entry of its function.
fn read_at_entries(program: &Path) -> Vec<String> {
    let json = run(Command::new(fixture::smark()).args(["list", "--json"]).arg(program));
    let json: Json = serde_json::from_str(&json).expect("JSON");
    let is_read = |marker: &&Json| {
        let site = &marker["sites"][0];
        let is_at_entry =
            |argument: &Json| argument["verdict"] == "entry" && argument["at_entry"]["location"].as_str().is_some();
        let has = site["args"].as_array().expect("arguments").iter().any(is_at_entry);
        assert_eq!(has, site["frame_entry"].is_object(), "{marker}");
        has
    };
    let markers = json["images"][0]["markers"].as_array().expect("markers");
    markers.iter().filter(is_read).map(|marker| marker["name"].as_str().expect("a name").to_owned()).collect()
}

#[test(cases = ["g++", "clang++"])]
fn values_are_those_of_their_frame(compiler: &str) {
    if find(compiler).is_none() || !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = frames(folder.path(), compiler);
    let read = read_at_entries(&program);
    match compiler {
        "g++" => assert_eq!(read.len(), 8, "{read:?}"),
        _ => assert!(read.contains(&"frames:recursive".to_owned()), "{read:?}"),
    }
    let options: &[&str] = if compiler == "g++" { &[] } else { &["-n", "frames:recursive"] };
    let options = if compiler == "g++" { options } else { &["frames:recursive"] };
    let (mut seen, mut said, words) = traced(folder.path(), options, &program);
    if compiler == "g++" {
        // The child of a fork is in a frame that its parent entered.
        let of_child = seen.iter().find(|(_, values)| values.iter().any(|value| value == UNSEEN));
        let ((child, marker), values) = of_child.map(|(key, values)| (key.clone(), values.clone())).expect("a child");
        assert_eq!((&*marker, values), ("frames:forking", vec![UNSEEN.to_owned()]));
        seen.remove(&(child, marker));
        assert!(seen.contains_key(&(child, "frames:recursive".to_owned())), "{seen:?}");
        assert!(words.contains("1 of 2 hits in forking have no values of its entry, which was not seen"), "{words}");
    } else {
        said.retain(|(_, marker), _| marker == "frames:recursive");
    }
    assert_eq!(seen, said, "{words}");
    let count = seen.values().map(Vec::len).sum::<usize>();
    assert!(count > 400, "{count}");
    note!("{compiler}: {count} values of {read:?}");
}

#[test]
fn values_of_rust_are_those_of_their_frame() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (fixture::workspace().join("tests/entries/frames.rs"), folder.path().join("frames"));
    for dwarf in [4, 5] {
        let options = Options { with: With::Rustc, level: "2".to_owned(), lto: "none".to_owned(), dwarf };
        builds::program(std::slice::from_ref(&source), &options, &program).expect("it compiles");
        let read = read_at_entries(&program);
        assert!(!read.is_empty());
        let (mut seen, mut said, words) = traced(folder.path(), &[], &program);
        seen.retain(|(_, marker), _| read.contains(marker));
        said.retain(|(_, marker), _| read.contains(marker));
        assert_eq!(seen, said, "{words}");
        let count = seen.values().map(Vec::len).sum::<usize>();
        assert!(count >= 240, "{count}");
        note!("DWARF {dwarf}: {count} values of {read:?}");
    }
}

#[test]
fn a_frame_that_was_entered_before_has_no_value() {
    if find("g++").is_none() || !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(frames(folder.path(), "g++"));
    let mut program = Process::start(command.arg("3").stdin(Stdio::piped()).stdout(Stdio::piped()));
    let mut output = BufReader::new(program.stdout.take().expect("a pipe"));
    wait_until_asleep(program.id(), "frames");
    let mut smark = Command::new(fixture::smark());
    smark.args(["trace", "--json", "frames:waiting", "-p", &program.id().to_string()]);
    let mut smark = Process::start(smark.stdout(Stdio::piped()).stderr(Stdio::piped()));
    let mut messages = BufReader::new(smark.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("watching") {
        line.clear();
        assert!(messages.read_line(&mut line).expect("a message") > 0);
    }
    let mut input = program.stdin.take().expect("a pipe");
    input.write_all(b"\n\n\n").expect("three lines");
    let (mut said_text, mut seen_text) = (String::new(), String::new());
    std::io::Read::read_to_string(&mut output, &mut said_text).expect("its output");
    let mut hits_of = BufReader::new(smark.stdout.take().expect("a pipe"));
    std::io::Read::read_to_string(&mut hits_of, &mut seen_text).expect("hits");
    let lines: Vec<String> = seen_text.lines().map(str::to_owned).collect();
    let seen: Vec<String> = seen(&hits(&lines).0).into_values().flatten().collect();
    assert_eq!(seen, [UNSEEN, "101", "102"]);
    let said = said(&said_text).into_iter().filter(|((_, marker), _)| marker == "frames:waiting");
    assert_eq!(said.flat_map(|(_, values)| values).collect::<Vec<_>>(), ["100", "101", "102"]);
}

#[test]
fn filters_counts_plans_and_recordings_have_them() {
    if find("g++").is_none() || !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = frames(folder.path(), "g++");
    let chosen = |values: &Values, marker: &str| {
        let mut values: Vec<i64> = values
            .iter()
            .filter(|((_, of), _)| of == marker)
            .flat_map(|(_, values)| values)
            .map(|value| value.parse().expect("a number"))
            .collect();
        values.sort_unstable();
        values
    };
    let (seen, said, _) = traced(folder.path(), &["frames:odd", "--where", "value > 20"], &program);
    let mut expected = chosen(&said, "frames:odd");
    let all = expected.clone();
    expected.retain(|value| *value > 20);
    assert_eq!(chosen(&seen, "frames:odd"), expected);
    assert!(!expected.is_empty() && expected.len() < all.len());

    let mut count = Command::new(fixture::smark());
    let json = run(count.args(["count", "--json", "--by", "value", "frames:odd", "--"]).arg(&program));
    let counted = json.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok()).next_back().expect("counts");
    let text = counted.to_string();
    for value in [11, 22, 33] {
        assert_eq!(all.iter().filter(|it| **it == value).count(), 60, "{text}");
    }

    // A plan file and a recording have the values too.
    let plan = folder.path().join("plan");
    run(Command::new(fixture::smark()).args(["plan", "frames:odd", "-o"]).arg(&plan).arg(&program));
    let stripped = folder.path().join("stripped");
    run(Command::new("strip").arg("-o").arg(&stripped).arg(&program));
    let plan = plan.display().to_string();
    let (seen, said, _) = traced(folder.path(), &["--plan", &plan], &stripped);
    assert_eq!(chosen(&seen, "frames:odd"), chosen(&said, "frames:odd"));
    let recording = folder.path().join("recording");
    run(Command::new(fixture::smark())
        .args(["record", "frames:odd", "frames:forking", "-o"])
        .arg(&recording)
        .arg("--")
        .arg(&program));
    let report = run(Command::new(fixture::smark()).args(["report", "--json"]).arg(&recording));
    let lines: Vec<String> = report.lines().map(str::to_owned).collect();
    let recorded = self::seen(&hits(&lines).0);
    assert_eq!(
        chosen(&recorded.clone().into_iter().filter(|((_, of), _)| of == "frames:odd").collect(), "frames:odd"),
        all
    );
    let forking: Vec<&String> =
        recorded.iter().filter(|((_, of), _)| of == "frames:forking").flat_map(|(_, it)| it).collect();
    assert_eq!(forking.len(), 2);
    assert!(forking.iter().any(|it| *it == "9") && forking.iter().any(|it| *it == UNSEEN), "{forking:?}");

    let (seen, _, _) = traced(folder.path(), &["frames:odd", "--no-assist"], &program);
    assert!(seen.values().flatten().all(|value| value == "lost") && !seen.is_empty());
}

/// A loop from the first instruction on: its entry is passed at each round.
const LOOP: &str = r#"
#include "simple_marker.h"
int rounds = 3;
__attribute__((noinline)) void spin(long value)
{
    do {
        __asm__ volatile("" ::: "rdi", "rsi", "rdx", "rcx", "r8", "r9", "r10", "r11", "memory");
        simple_mark(loop:spin, "%ld", value);
        __asm__ volatile("nop");
    } while (--rounds > 0);
}
int main(void)
{
    spin(7);
    return 0;
}
"#;

#[test]
fn a_function_that_leads_back_to_its_entry_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "loop", LOOP, &["-fcf-protection=none"]);
    let json = run(Command::new(fixture::smark()).args(["list", "--json"]).arg(&program));
    let json: Json = serde_json::from_str(&json).expect("JSON");
    let site = &json["images"][0]["markers"][0]["sites"][0];
    assert_eq!(site["args"][0]["verdict"], "entry", "{site}");
    assert_eq!(site["args"][0]["at_entry"]["reason"], "doubtful", "{site}");
    assert!(site.get("frame_entry").is_none());
}

#[test]
fn parameters_that_loops_assign_are_doubted() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = std::fs::read_to_string(fixture::workspace().join("tests/entries/loops.c")).expect("a source");
    let program = compile(folder.path(), "loops", &source, &[]);
    let json = run(Command::new(fixture::smark()).args(["list", "--json"]).arg(&program));
    let json: Json = serde_json::from_str(&json).expect("JSON");
    let mut doubted = 0;
    for marker in json["images"][0]["markers"].as_array().expect("markers") {
        for site in marker["sites"].as_array().expect("sites") {
            let of_entry = site["args"].as_array().expect("arguments").iter().filter(|it| it["verdict"] == "entry");
            for argument in of_entry {
                assert_eq!(argument["at_entry"]["reason"], "doubtful", "{argument}");
                doubted += 1;
            }
            assert!(site.get("frame_entry").is_none(), "{site}");
        }
    }
    assert!(doubted >= 2, "{json}");
}
