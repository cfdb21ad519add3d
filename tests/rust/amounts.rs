//! Sums of arguments (`--sum`, `--avg`), and several arguments as one key (`--by a,b`, `--key a,b`). The program
//! prints what it passes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value as Json, json};
use simple_markers_tests::fixture;
use simple_markers_tests::tools::{self, ended};
use simple_markers_tests::watched::{can_watch, can_watch_with_tracefs, compile};

/// It passes a marker with numbers of all sizes, and prints them. Then it opens four intervals at once that only two
/// arguments together tell apart, and leaves two open.
const PROGRAM: &str = r#"
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include "simple_marker.h"

static const char *const kinds[] = {"read", "write", "", "exactly sixteen.", "more than sixteen bytes"};
static const int64_t edges[] = {INT64_MIN, -1, 0, 1, INT64_MAX, INT64_MIN + 1};

__attribute__((noinline)) static void pass(int64_t delta, uint32_t size, uint64_t large, const char *kind, int shard) {
    simple_mark_keep(io:done, "%ld %u %lu %s %d", delta, size, large, kind, shard);
}

__attribute__((noinline)) static void begin(int id, int shard) { simple_mark_keep(io:begin, "%d %d", id, shard); }
__attribute__((noinline)) static void end(int id, int shard) { simple_mark_keep(io:end, "%d %d", id, shard); }

int main(void) {
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < 1000; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        int64_t delta = i < 6 ? edges[i] : (int64_t)state >> state % 60;
        uint32_t size = (uint32_t)(state >> 5) >> state % 31;
        uint64_t large = i % 7 ? state >> i % 64 : UINT64_MAX;
        int shard = (int)(state % 3) - 1;
        pass(delta, size, large, kinds[state % 5], shard);
        dprintf(2, "%" PRId64 ";%" PRIu32 ";%" PRIu64 ";%s;%d\n", delta, size, large, kinds[state % 5], shard);
    }
    for (int id = 0; id < 100; id++) {
        for (int shard = 0; shard < 4; shard++) begin(id, shard);
        for (int shard = 0; shard < 4; shard++) end(id, shard);
    }
    begin(1000, 1);
    usleep(300000);
    begin(1000, 2);
    return 0;
}
"#;

/// What the program passed.
#[derive(Clone, Debug)]
struct Passed {
    delta: i128,
    size: i128,
    large: i128,
    kind: String,
    shard: i64,
}

struct Run {
    passed: Vec<Passed>,
    objects: Vec<Json>,
    said: String,
}

fn objects(lines: &[String]) -> Vec<Json> {
    lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn smark(command: &str, options: &[&str], program: &Path) -> Run {
    let mut smark = Command::new(fixture::smark());
    smark.arg(command).args((command != "record").then_some("--json"));
    let output = ended(smark.args(options).arg("--").arg(program));
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split(';').collect();
        let [delta, size, large, kind, shard] = words[..] else { return None };
        let number = |text: &str| text.parse().ok();
        Some(Passed {
            delta: number(delta)?,
            size: number(size)?,
            large: number(large)?,
            kind: kind.to_owned(),
            shard: shard.parse().ok()?,
        })
    };
    let passed: Vec<Passed> = output.stderr.lines().filter_map(of_line).collect();
    assert_eq!(passed.len(), 1000, "{}", output.stderr);
    Run { passed, objects: objects(&output.lines()), said: output.stderr.clone() }
}

fn program(folder: &Path) -> PathBuf {
    compile(folder, "amounts", PROGRAM, &["-O2"])
}

fn row<'j>(objects: &'j [Json], marker: &str) -> &'j Json {
    objects.iter().find(|it| it["marker"] == marker).unwrap_or_else(|| panic!("no {marker} in {objects:?}"))
}

/// A number of JSON, which is a text if it is large.
fn number(json: &Json) -> i128 {
    json.as_i64().map_or_else(|| json.as_str().and_then(|text| text.parse().ok()).expect("a number"), i128::from)
}

/// Whether the amounts are those of the program: the sum and the range exactly, the percentiles within the width of
/// their buckets.
fn check(amounts: &Json, mut expected: Vec<i128>) {
    expected.sort_unstable();
    let (count, sum) = (expected.len(), expected.iter().sum::<i128>());
    assert_eq!((amounts["count"].as_u64(), number(&amounts["sum"])), (Some(count as u64), sum), "{amounts}");
    let (first, last) = (expected[0], expected[count - 1]);
    assert_eq!((number(&amounts["min"]), number(&amounts["max"])), (first, last), "{amounts}");
    let average = amounts["avg"].as_f64().expect("an average");
    assert!((average - sum as f64 / count as f64).abs() <= average.abs() * 1e-9, "{amounts}");
    for (name, percent) in [("p50", 50), ("p90", 90), ("p99", 99)] {
        let exact = expected[(count * percent).div_ceil(100).max(1) - 1];
        let found = number(&amounts[name]);
        assert!(found.abs_diff(exact) * 16 <= exact.unsigned_abs(), "{name} of {amounts}: {exact}");
    }
}

/// The values of a row that are shown, by their names in JSON, with the rest of each.
fn by(row: &Json) -> BTreeMap<String, Json> {
    let pairs = row["by"].as_array().expect("values");
    pairs.iter().map(|pair| (pair[0].to_string(), Json::from(pair.as_array().expect("a row")[1..].to_vec()))).collect()
}

#[test]
fn sums_are_those_of_the_program() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = program(folder.path());
    let recording = folder.path().join("recording");
    let recorded = smark("record", &["-o", recording.to_str().expect("UTF-8")], &program);
    let mut engines = vec!["bpf"];
    if can_watch_with_tracefs() {
        engines.push("tracefs");
    }
    let reported = |options: &[&str]| {
        let report =
            tools::run(Command::new(fixture::smark()).args(["report", "--json"]).args(options).arg(&recording));
        let lines: Vec<String> = report.lines().map(str::to_owned).collect();
        Run { passed: recorded.passed.clone(), objects: objects(&lines), said: String::new() }
    };
    for (name, of) in
        [("delta", (|it| it.delta) as fn(&Passed) -> i128), ("size", |it| it.size), ("large", |it| it.large)]
    {
        let counted =
            engines.iter().map(|engine| smark("count", &["--engine", engine, "--sum", name, "io:done"], &program));
        for run in counted.chain([reported(&["--sum", name, "io:done"])]) {
            check(&row(&run.objects, "io:done")["amounts"], run.passed.iter().map(of).collect());
        }
    }
    // By a text and a number together. The text keeps 24 bytes.
    let options = ["--sum", "delta", "--by", "kind, shard", "--top", "100", "io:done"];
    let counted =
        engines.iter().map(|engine| smark("count", &[&["--engine", engine], &options[..]].concat(), &program));
    for run in counted.chain([reported(&options)]) {
        let row = row(&run.objects, "io:done");
        check(&row["amounts"], run.passed.iter().map(|it| it.delta).collect());
        let mut groups: BTreeMap<String, Vec<i128>> = BTreeMap::new();
        for it in &run.passed {
            groups.entry(json!([it.kind, it.shard]).to_string()).or_default().push(it.delta);
        }
        let found = by(row);
        assert_eq!(found.keys().collect::<Vec<_>>(), groups.keys().collect::<Vec<_>>());
        for (key, amounts) in groups {
            assert_eq!(found[&key][0].as_u64(), Some(amounts.len() as u64));
            check(&found[&key][1], amounts);
        }
        let sums: Vec<i128> = row["by"].as_array().expect("rows").iter().map(|it| number(&it[2]["sum"])).collect();
        assert!(sums.is_sorted_by(|a, b| a >= b), "{sums:?}");
    }
    // The largest averages come first, and what is not shown is said.
    let run = smark("count", &["--avg", "size", "--by", "kind,shard", "--top", "3", "io:done"], &program);
    let row = row(&run.objects, "io:done");
    let averages: Vec<f64> =
        row["by"].as_array().expect("rows").iter().map(|it| it[2]["avg"].as_f64().expect("it")).collect();
    assert!(averages.len() == 3 && averages.is_sorted_by(|a, b| a >= b), "{averages:?}");
    let shown: u64 = row["by"].as_array().expect("rows").iter().map(|it| it[1].as_u64().expect("a count")).sum();
    assert_eq!(row["other"].as_u64(), Some(1000 - shown));
}

#[test]
fn several_arguments_are_one_key() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = program(folder.path());
    // Beside two numbers a text keeps 16 bytes: the longest one is cut.
    let run = smark("count", &["--by", "shard,kind,size", "--top", "2000", "io:done"], &program);
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for it in &run.passed {
        let kind = if it.kind.len() > 16 { format!("{}..", &it.kind[..16]) } else { it.kind.clone() };
        *expected.entry(json!([it.shard, kind, it.size as i64]).to_string()).or_default() += 1;
    }
    let found = by(row(&run.objects, "io:done")).into_iter();
    let found: BTreeMap<String, u64> = found.map(|(key, rest)| (key, rest[0].as_u64().expect("a count"))).collect();
    assert_eq!(found, expected);
    // What the kernel knows of the thread is a field too.
    let run = smark("count", &["--by", "comm,pid,shard", "io:done"], &program);
    let found = by(row(&run.objects, "io:done"));
    assert!(found.len() == 3 && found.keys().all(|key| key.starts_with("[\"amounts\",")), "{found:?}");

    let time = ["--time", "io:begin..io:end"];
    let times = |keys: &str| smark("count", &[&time[..], &["--key", keys]].concat(), &program);
    let interval = "io:begin..io:end";
    let both = times("id,shard");
    let of = &row(&both.objects, interval)["time"];
    assert_eq!((&of["count"], &of["nested"], &of["starts_without_end"]), (&json!(400), &json!(0), &json!(2)), "{of}");
    // For how long the two are open.
    let said = both.said.lines().find(|line| line.contains("had no io:end until the end")).expect("the open ones");
    assert!(said.contains("2 io:begin had") && said.contains(": open for") && said.contains("at the median"), "{said}");
    let (median, oldest) = (of["open"]["p50"].as_u64().expect("ns"), of["open"]["max"].as_u64().expect("ns"));
    assert!(oldest >= median + 290_000_000 && oldest < 60_000_000_000, "{of}");
    let of = times("id");
    assert_eq!(row(&of.objects, interval)["time"]["nested"], json!(301));
    // The map over time has each interval once.
    let of = smark("count", &[&time[..], &["--key", "id,shard", "--heat"]].concat(), &program);
    let rows = row(&of.objects, interval)["time"]["heat"]["rows"].as_array().expect("rows").clone();
    let counts = rows.iter().flat_map(|row| row[2].as_array().expect("columns"));
    assert_eq!(counts.map(|count| count.as_u64().expect("a count")).sum::<u64>(), 400, "{rows:?}");
    // A recording has the same answer.
    let recording = folder.path().join("recording");
    smark("record", &["-o", recording.to_str().expect("UTF-8")], &program);
    let mut report = Command::new(fixture::smark());
    let report = report
        .args(["report", "--json"])
        .args(time)
        .args(["--key", "shard,id", "--by", "shard,id", "--top", "500", "--heat"]);
    let lines: Vec<String> = tools::run(report.arg(&recording)).lines().map(str::to_owned).collect();
    let objects = objects(&lines);
    let of = row(&objects, interval);
    assert_eq!((&of["time"]["count"], &of["time"]["nested"]), (&json!(400), &json!(0)));
    let rows = of["time"]["heat"]["rows"].as_array().expect("rows").iter();
    let counts = rows.flat_map(|row| row[2].as_array().expect("columns"));
    assert_eq!(counts.map(|count| count.as_u64().expect("a count")).sum::<u64>(), 400, "{of}");
    assert_eq!(by(of).get("[3,99]").map(|rest| rest[0].clone()), Some(json!(1)));
}

#[test]
fn what_does_not_fit_into_a_key_is_refused() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = program(folder.path());
    let refused = |options: &[&str]| {
        let output = tools::output(Command::new(fixture::smark()).arg("count").args(options).arg("--").arg(&program));
        assert!(!output.status.success(), "{options:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for (options, why) in [
        (["--by", "kind,comm", "io:done"], "--by: only one of several arguments may be a text"),
        (["--by", "kind,shard,size,large", "io:done"], "--by: at most 2 numbers can be told apart beside a text"),
        (["--by", "delta,shard,size,large,pid,tid", "io:done"], "--by: at most 5 arguments can be told apart together"),
        (["--by", "shard,nothing", "io:done"], "--by: no selected marker has an argument `nothing`"),
        (["--sum", "kind", "io:done"], "--sum: "),
        (["--by", "shard,", "io:done"], "write the name of an argument, or several as A,B"),
    ] {
        let said = refused(&options);
        assert!(said.contains(why), "{options:?}: {said}");
    }
}
