//! Doubtful values are shown with a mark, live and from recordings, and are what gdb reads at the same
//! place. Filters, keys and counts take them only where the user says so.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};
use simple_markers_tests::fixture;
use simple_markers_tests::oracle::builds::{self, Options, With};
use simple_markers_tests::tools::{self, Ended, ended, find, run};
use simple_markers_tests::watched::{can_watch, can_watch_with_tracefs};

/// LLVM adds twice to `self.n` at once, behind the marker.
const RUST: &str = r#"
use std::hint::black_box;

use simple_markers::simple_mark;

struct Counter { n: u64 }

impl Counter {
    #[inline(never)]
    fn twice(&mut self, by: u64) -> u64 {
        self.n += by;
        simple_mark!(doubt:behind, "%lu %lu", self.n, by);
        self.n += 1;
        self.n
    }
}

#[inline(never)]
fn changing(all: &[u32]) -> u32 {
    let mut sum = 0;
    for each in all {
        sum += each;
        simple_mark!(doubt:changing, "%u %u", sum, *each);
    }
    sum
}

fn main() {
    let mut counter = Counter { n: black_box(3) };
    for by in 0..4 {
        black_box(counter.twice(black_box(by)));
        black_box(changing(black_box(&[1, 2, 3])));
    }
}
"#;

/// The arguments of the hits at each site, in their order.
type Sites = BTreeMap<String, Vec<Vec<Json>>>;

fn smark(arguments: &[&str]) -> Ended {
    ended(Command::new(fixture::smark()).args(arguments).stdin(Stdio::null()))
}

/// What a command that ends well prints.
fn said(arguments: &[&str]) -> String {
    smark(arguments).success()
}

/// The hits of a command that prints JSON.
fn hits(arguments: &[&str]) -> Vec<Json> {
    let lines = said(arguments);
    let objects = lines.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    objects.filter(|line| line.get("marker").is_some()).collect()
}

fn args(hit: &Json) -> Vec<Json> {
    hit["args"].as_array().expect("arguments").clone()
}

fn sites(hits: &[Json]) -> Sites {
    let mut sites = Sites::new();
    for hit in hits {
        sites.entry(hit["site"].as_str().expect("a site").to_owned()).or_default().push(args(hit));
    }
    sites
}

fn is_doubtful(argument: &Json) -> bool {
    argument["why"] == "doubtful"
}

/// The value of an argument, or the doubtful one; null if it has none.
fn value(argument: &Json) -> &Json {
    if is_doubtful(argument) { &argument["maybe"] } else { &argument["value"] }
}

/// The value of an argument of a hit, doubtful or not.
fn named<'a>(hit: &'a Json, name: &str) -> &'a Json {
    let arguments = hit["args"].as_array().expect("arguments");
    arguments.iter().find(|argument| argument["text"] == name).map_or(&Json::Null, value)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn compile(compiler: &str, name: &str, flags: &[&str], folder: &Path) -> PathBuf {
    let program = folder.join(name);
    let mut command = Command::new(compiler);
    command.arg("-I").arg(fixture::workspace().join("markers/include")).args(["-g", "-no-pie"]).args(flags);
    let source = fixture::workspace().join("tests/record/doubtful.c");
    run(command.arg("-Wl,--build-id").arg(source).arg("-o").arg(&program));
    program
}

/// What gdb reads at the same sites of the arguments that have a value.
fn by_gdb(program: &Path, expected: &Sites) -> BTreeMap<String, Vec<String>> {
    let mut script = "set pagination off\nset confirm off\n".to_owned();
    for (site, hits) in expected {
        script.push_str(&format!("break *{site}\ncommands\nsilent\nprintf \"\\nat {site}\"\n"));
        for argument in hits[0].iter().filter(|argument| !value(argument).is_null()) {
            let form = if value(argument).is_string() { "%s" } else { "%lu" };
            script.push_str(&format!("printf \" {form}\", {}\n", argument["text"].as_str().expect("a text")));
        }
        script.push_str("printf \"\\n\"\ncontinue\nend\n");
    }
    script.push_str("run > /dev/null\n");
    let file = program.with_extension("gdb");
    fs::write(&file, script).expect("the script is written");
    let output = tools::output(Command::new("gdb").args(["-batch", "-nx", "-x"]).arg(&file).arg(program));
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    let mut read: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in printed.lines().filter_map(|line| line.strip_prefix("at ")) {
        let (site, values) = line.split_once(' ').expect("values");
        read.entry(site.to_owned()).or_default().push(values.to_owned());
    }
    read
}

/// A hit's text as its format would print it, with the marks.
fn marked(hit: &Json) -> String {
    let shown = |index: usize, form: &dyn Fn(&str) -> String| {
        let argument = &hit["args"][index];
        let mark = if is_doubtful(argument) { "?" } else { "" };
        match value(argument) {
            Json::Null => format!("<{}>", argument["why"].as_str().expect("a reason")),
            Json::String(text) => form(&format!("{text}{mark}")),
            number => form(&format!("{number}{mark}")),
        }
    };
    let plain = |index| shown(index, &|text| text.to_owned());
    let padded = |text: &str| format!("{text:<12}");
    let zeros = |text: &str| format!("{text:0>width$}", width = if text.ends_with('?') { 5 } else { 4 });
    match hit["marker"].as_str().expect("a name") {
        "doubt:mixed" => format!("{} {} {}.", plain(0), shown(1, &padded), plain(2)),
        "doubt:end" => format!("{} {}", plain(0), plain(1)),
        "doubt:changing" => format!("{} {} {}", plain(0), plain(1), plain(2)),
        _ => format!("{} {}", shown(0, &zeros), plain(1)),
    }
}

/// The hits with a value that a filter wants, by all values.
fn chosen<'h>(hits: &'h [Json], marker: &str, wanted: &dyn Fn(&Json) -> bool) -> Vec<Vec<Json>> {
    let of_marker = hits.iter().filter(|hit: &&'h Json| hit["marker"] == marker);
    of_marker.filter(|hit| wanted(hit)).map(args).collect()
}

fn check(compiler: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(compiler, "program", &["-O2"], folder.path());
    let program = text(&program);
    // At the sites themselves, so that gdb stops at the same instructions.
    let live = |options: &[&str]| {
        hits(
            &[&["trace", "--json", "--at", "site", "--include", "shared,unproven"], options, &["--", program]].concat(),
        )
    };
    let all = live(&[]);
    let expected = sites(&all);
    let arguments = || all.iter().flat_map(args);
    assert!(arguments().filter(is_doubtful).count() >= 12, "{compiler}: {all:?}");
    for argument in arguments().filter(is_doubtful) {
        assert!(argument["value"].is_null() && !argument["maybe"].is_null(), "{argument}");
    }
    let is_text = |argument: &Json| is_doubtful(argument) && argument["maybe"].is_string();
    assert!(compiler == "gcc" || arguments().any(|argument| is_text(&argument)), "a doubtful text");
    // One copy of a marker may have a certain argument where another one has a doubtful one.
    let of_copies =
        || all.iter().filter(|hit| hit["marker"] == "doubt:changing").map(|hit| is_doubtful(&hit["args"][0]));
    assert!(of_copies().any(|is_doubtful| is_doubtful));
    // A variable that changes at the marker is certain where both values are the same.
    if compiler == "clang" {
        let replaced: Vec<_> = chosen(&all, "doubt:replaced", &|_| true).iter().map(|args| args[0].clone()).collect();
        let certain = |value: u32| json!({ "text": "v", "value": value, "why": null });
        let doubtful = json!({ "text": "v", "value": null, "maybe": 6, "why": "doubtful" });
        assert_eq!(replaced, [certain(4), certain(5), certain(6), doubtful]);
    }

    // The values are those at the locations. gdb does not know which of several locations at one address
    // gcc means, but the values by gcc are right.
    let word = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if compiler == "gcc" {
        let twin = compile(compiler, "twin", &["-O0", "-DPRINT"], folder.path());
        let output = tools::output(&mut Command::new(&twin));
        let printed = String::from_utf8(output.stdout).expect("UTF-8");
        for marker in ["doubt:mixed", "doubt:end", "doubt:changing", "doubt:replaced"] {
            let said =
                printed.lines().filter_map(|line| line.strip_prefix("at ")?.strip_prefix(marker)?.strip_prefix(' '));
            let said: Vec<Vec<&str>> = said.map(|line| line.split(' ').collect()).collect();
            let ours = chosen(&all, marker, &|_| true);
            assert_eq!(ours.len(), said.len(), "{marker}");
            for (ours, said) in ours.iter().zip(said) {
                let read = ours.iter().zip(said).filter(|(ours, _)| !value(ours).is_null());
                read.for_each(|(ours, said)| assert_eq!(word(value(ours)), said, "{marker}: {ours}"));
            }
        }
    } else if find("gdb").is_some() {
        let read = by_gdb(Path::new(program), &expected);
        let ours = expected.iter().map(|(site, hits)| {
            let words = |hit: &Vec<Json>| {
                hit.iter().map(value).filter(|value| !value.is_null()).map(word).collect::<Vec<_>>().join(" ")
            };
            (site.clone(), hits.iter().map(words).collect::<Vec<_>>())
        });
        assert_eq!(ours.collect::<BTreeMap<_, _>>(), read, "{compiler}");
    }

    // The same in text, by tracefs, and with a plan.
    let lines = said(&["trace", "--at", "site", "--include", "shared,unproven", "--", program]);
    let mut texts: Vec<&str> =
        lines.lines().filter_map(|line| Some(line.split_once(" doubt:")?.1.split_once(": ")?.1)).collect();
    let mut wanted: Vec<String> = all.iter().map(marked).collect();
    texts.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(texts, wanted, "{compiler}");
    if can_watch_with_tracefs() {
        // It reads no memory at computed addresses.
        let read = sites(&live(&["--engine", "tracefs"]));
        assert_eq!(read.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{compiler}");
        let pairs = read.values().zip(expected.values()).flat_map(|(read, all)| {
            assert_eq!(read.len(), all.len(), "{compiler}");
            read.iter().flatten().zip(all.iter().flatten())
        });
        let is_read = |argument: &Json| !argument["why"].as_str().is_some_and(|why| why.starts_with("unreadable"));
        let pairs: Vec<_> = pairs.filter(|(read, _)| is_read(read)).collect();
        pairs.iter().for_each(|(read, expected)| assert_eq!(read, expected, "{compiler}"));
        assert!(pairs.iter().filter(|(read, _)| is_doubtful(read)).count() >= 12, "{compiler}");
    }
    let plan = folder.path().join("plan");
    said(&["plan", "--at", "site", "--include", "shared,unproven", "-o", text(&plan), program]);
    let file: Json = serde_json::from_slice(&fs::read(&plan).expect("the plan")).expect("JSON");
    assert_eq!(file["plan"], 3);
    let planned =
        |options: &[&str]| hits(&[&["trace", "--json", "--plan", text(&plan)], options, &["--", program]].concat());
    assert_eq!(sites(&planned(&[])), expected, "{compiler}");
    smark(&["trace", "--plan", text(&plan), "--include", "shared", "--", program]).fails(2);

    // Strictly nothing doubtful is read.
    let mut strict = all.clone();
    for argument in strict.iter_mut().flat_map(|hit| hit["args"].as_array_mut().expect("arguments")) {
        argument.as_object_mut().expect("an object").remove("maybe");
    }
    let strict = sites(&strict);
    assert_eq!(sites(&live(&["--strict"])), strict, "{compiler}");
    assert_eq!(sites(&planned(&["--strict"])), strict, "{compiler}");
    let both = smark(&["trace", "--strict", "--include", "doubtful", "--", program]).fails(2);
    assert!(both.contains("contradict each other"), "{both}");

    // The same from a recording.
    let recording = folder.path().join("recording");
    let recording = text(&recording);
    said(&["record", "--at", "site", "--include", "shared,unproven", "-o", recording, "--", program]);
    let report = |options: &[&str]| hits(&[&["report", "--json"], options, &[recording]].concat());
    assert_eq!(sites(&report(&[])), expected, "{compiler}");
    assert_eq!(sites(&report(&["--strict"])), strict, "{compiler}");
    let lines = said(&["report", recording]);
    let mut reported: Vec<&str> =
        lines.lines().filter_map(|line| Some(line.split_once(" doubt:")?.1.split_once(": ")?.1)).collect();
    reported.sort_unstable();
    assert_eq!(reported, wanted, "{compiler}");
    let timeline = folder.path().join("timeline");
    said(&["report", "--to", "perfetto", "-o", text(&timeline), recording]);
    let timeline = fs::read(&timeline).expect("the timeline");
    assert!([&b"maybe"[..], b"doubtful"].iter().all(|word| timeline.windows(word.len()).any(|it| it == *word)));
    if find("babeltrace2").is_some() {
        let output = tools::output(Command::new("babeltrace2").arg(recording));
        let printed = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(printed.contains("__maybe = ") || printed.contains("\"maybe\""), "{printed}");
    }

    // Filters, counts and keys.
    let (marker, name, filter) = match compiler {
        "gcc" => ("doubt:end", "h", "h > 19000000000"),
        _ => ("doubt:replaced", "text", "text == \"b\" || text == \"that\""),
    };
    let is_wanted = |hit: &Json| match named(hit, name) {
        Json::String(text) => text == "b" || text == "that",
        number => number.as_u64().is_some_and(|number| number > 19_000_000_000),
    };
    let wanted = chosen(&all, marker, &is_wanted);
    let count = all.iter().filter(|hit| hit["marker"] == marker).count();
    assert!(!wanted.is_empty() && wanted.len() < count, "{compiler}");
    for source in
        [&["trace", "--json", marker, "--where", filter][..], &["report", "--json", marker, "--where", filter]]
    {
        let operands = if source[0] == "trace" { vec!["--", program] } else { vec![recording] };
        let stderr = smark(&[source, &operands].concat()).fails(2);
        let why = format!("the filter needs `{name}`, which is doubtful there: ");
        assert!(stderr.contains(&why), "{stderr}");
        assert!(stderr.contains("--include doubtful takes it"), "{stderr}");
        for include in ["doubtful", "all"] {
            let taken = hits(&[source, &["--include", include], &operands].concat());
            assert_eq!(taken.iter().map(args).collect::<Vec<_>>(), wanted, "{compiler} {source:?}");
        }
    }
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for hit in all.iter().filter(|hit| hit["marker"] == marker) {
        *counts.entry(named(hit, name).to_string()).or_default() += 1;
    }
    let by = ["--json", "--by", name, marker];
    for (command, operands) in [("count", vec!["--", program]), ("report", vec![recording])] {
        let stderr = smark(&[&[command][..], &by, &operands].concat()).stderr;
        assert!(stderr.contains(&format!("it counts by `{name}`, which is doubtful there: ")), "{stderr}");
        let lines = said(&[&[command][..], &by, &["--include", "doubtful"], &operands].concat());
        let of_marker = lines.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
        let of_marker = of_marker.filter(|line| line["marker"] == marker).find_map(|line| line.get("by").cloned());
        let pairs: BTreeMap<String, u64> = of_marker
            .expect("counts")
            .as_array()
            .expect("pairs")
            .iter()
            .map(|pair| (pair[0].to_string(), pair[1].as_u64().expect("a count")))
            .collect();
        assert_eq!(pairs, counts, "{compiler}");
    }
    // Of a variable that changes at the marker, the hits are filtered where both values are the same.
    if compiler == "clang" {
        for source in [&["trace"][..], &["report"]] {
            let operands = if source[0] == "trace" { vec!["--", program] } else { vec![recording] };
            let filter = ["--json", "--where", "v > 4", "doubt:replaced"];
            let Ended { stdout: lines, stderr, .. } = smark(&[source, &filter, &operands].concat());
            assert_eq!(lines.lines().filter(|line| line.contains("\"v\",\"value\":")).count(), 2, "{lines}");
            let told = "1 hit could not be filtered: an argument of the filter could not be read, or is doubtful";
            assert!(stderr.contains(told), "{stderr}");
            assert_eq!(hits(&[source, &filter, &["--include", "doubtful"], &operands].concat()).len(), 3);
        }
    }
    if compiler == "gcc" {
        let time = ["--json", "--time", "doubt:mixed..doubt:end", "--key", "h"];
        for (command, operands) in [("count", vec!["--", program]), ("report", vec![recording])] {
            let stderr = smark(&[&[command][..], &time, &operands].concat()).stderr;
            assert!(stderr.contains("`h`, which is doubtful there: "), "{stderr}");
            let lines = said(&[&[command][..], &time, &["--include", "doubtful"], &operands].concat());
            let objects = lines.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
            let counts: Vec<u64> = objects.filter_map(|object| object["time"]["count"].as_u64()).collect();
            assert_eq!(counts, [count as u64], "{lines}");
        }
    }
}

#[test(desk = false)]
fn doubtful_values_are_marked_by_gcc() {
    if can_watch() {
        check("gcc");
    }
}

#[test]
fn doubtful_values_are_marked_by_clang() {
    if find("clang").is_some() && can_watch() {
        check("clang");
    }
}

#[test]
fn doubtful_values_are_marked_by_rustc() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("doubtful.rs"), folder.path().join("doubtful"));
    fs::write(&source, RUST).expect("a source");
    let options = Options { with: With::Rustc, level: "2".to_owned(), lto: "none".to_owned(), dwarf: 5 };
    builds::program(std::slice::from_ref(&source), &options, &program).expect("it compiles");
    let program = text(&program);
    let (mut n, mut behind, mut changing) = (3, Vec::new(), Vec::new());
    for by in 0..4 {
        n += by;
        behind.push([n, by]);
        n += 1;
        changing.extend([[1, 1], [3, 2], [6, 3]]);
    }

    let all = hits(&["trace", "--json", "--", program]);
    for (marker, truth) in [("doubt:behind", behind), ("doubt:changing", changing)] {
        let ours = chosen(&all, marker, &|_| true);
        assert_eq!(ours.len(), truth.len(), "{all:?}");
        for (argument, truth) in ours.iter().flatten().zip(truth.iter().flatten()) {
            match is_doubtful(argument) {
                true => assert!(argument["value"].is_null() && argument["maybe"].is_u64(), "{argument}"),
                false => assert_eq!(argument["value"], *truth, "{argument}"),
            }
        }
    }
    let is_marked = |name: &str| {
        let mut named = all.iter().flat_map(args).filter(|argument| argument["text"] == name);
        named.all(|argument| is_doubtful(&argument))
    };
    assert_eq!(["self.n", "by", "sum"].map(is_marked), [true, false, false], "{all:?}");

    let lines = said(&["trace", "--", program]);
    let texts = lines.lines().filter_map(|line| Some(line.split_once(" doubt:")?.1.split_once(": ")?.1.to_owned()));
    let shown = |argument: &Json| format!("{}{}", value(argument), if is_doubtful(argument) { "?" } else { "" });
    let wanted = all.iter().map(|hit| args(hit).iter().map(shown).collect::<Vec<_>>().join(" "));
    assert_eq!(texts.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());

    let mut strict = all.clone();
    for argument in strict.iter_mut().flat_map(|hit| hit["args"].as_array_mut().expect("arguments")) {
        argument.as_object_mut().expect("an object").remove("maybe");
    }
    assert_eq!(sites(&hits(&["trace", "--json", "--strict", "--", program])), sites(&strict));
}
