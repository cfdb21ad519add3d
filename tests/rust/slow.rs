//! `--slow`: the intervals that took long, with the hits in them. The program sleeps in some, and says in which.

use std::path::Path;
use std::process::Command;

use serde_json::{Value as Json, json};
use simple_markers_tests::fixture;
use simple_markers_tests::tools::{self, ended};
use simple_markers_tests::watched::{can_watch, compile};

/// Twenty intervals, of which every fifth sleeps; one that ends in another thread, and one that does not end.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include "simple_marker.h"

#define AT(name) __attribute__((noinline)) static void name(int id) { simple_mark_keep(work:name, "%d", id); }
AT(begin)
AT(step)
AT(end)
__attribute__((noinline)) static void other(int n) { simple_mark_keep(work:other, "%d", n); }

static void *elsewhere(void *none) {
    step(100);
    usleep(60000);
    end(100);
    return none;
}

int main(void) {
    for (int id = 0; id < 20; id++) {
        begin(id);
        step(id);
        other(-id);
        if (id % 5 == 3) usleep(60000);
        end(id);
    }
    pthread_t thread;
    begin(100);
    pthread_create(&thread, 0, elsewhere, 0);
    pthread_join(thread, 0);
    begin(200);
    other(7);
    usleep(60000);
    other(8);
    return 0;
}
"#;

/// An interval: its key as the first hit has it, whether it has ended, and the markers of its hits with their numbers.
type Interval = (i64, bool, Vec<(String, i64)>);

/// The intervals of lines of JSON, and the last line.
fn intervals(lines: impl Iterator<Item = impl AsRef<str>>) -> (Vec<Interval>, Json) {
    let objects: Vec<Json> = lines.map(|line| serde_json::from_str(line.as_ref()).expect("JSON")).collect();
    let (end, intervals) = objects.split_last().expect("lines");
    let of = |interval: &Json| {
        assert_eq!((&interval["interval"], &interval["left_out"]), (&json!("work:begin..work:end"), &json!(0)));
        let hits = interval["hits"].as_array().expect("hits").iter();
        let times: Vec<u64> = hits.clone().map(|hit| hit["time_ns"].as_u64().expect("a time")).collect();
        let took = interval["took_ns"].as_u64().expect("ns");
        let has_ended = interval["has_ended"].as_bool().expect("it");
        assert!(took >= 60_000_000, "{interval}");
        if has_ended {
            assert_eq!(took, times.last().expect("an end") - times[0]);
        }
        let number = |hit: &Json| hit["args"][0]["value"].as_i64();
        let hit = |hit: &Json| (hit["marker"].as_str().expect("a name").to_owned(), number(hit).expect("a number"));
        let hits: Vec<_> = hits.map(hit).collect();
        (hits[0].1, has_ended, hits)
    };
    (intervals.iter().map(of).collect(), end["end"].clone())
}

fn expected(id: i64, with_other: bool) -> Interval {
    let mut hits = vec![("work:begin".to_owned(), id), ("work:step".to_owned(), id)];
    hits.extend(with_other.then(|| ("work:other".to_owned(), -id)));
    hits.push(("work:end".to_owned(), id));
    (id, true, hits)
}

const TIME: [&str; 4] = ["--time", "work:begin..work:end", "--slow", "50ms"];

fn check_by_thread((found, end): (Vec<Interval>, Json)) {
    // The interval that ends elsewhere is open in its thread, and so are the hits behind it.
    let mut all: Vec<Interval> = [3, 8, 13, 18].map(|id| expected(id, true)).into();
    let open = [("work:begin", 100), ("work:begin", 200), ("work:other", 7), ("work:other", 8)];
    all.push((100, false, open.map(|(name, id)| (name.to_owned(), id)).into()));
    assert_eq!(found, all);
    assert_eq!((&end["intervals"], &end["slow"], &end["open"]), (&json!(20), &json!(4), &json!(1)), "{end}");
}

fn check_by_key((found, end): (Vec<Interval>, Json)) {
    let mut all: Vec<Interval> = [3, 8, 13, 18, 100].map(|id| expected(id, false)).into();
    all.push((200, false, vec![("work:begin".to_owned(), 200)]));
    assert_eq!(found, all);
    assert_eq!((&end["intervals"], &end["slow"], &end["open"]), (&json!(21), &json!(5), &json!(1)), "{end}");
}

#[test]
fn slow_intervals_have_their_hits() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "slow", PROGRAM, &["-O2", "-pthread"]);
    let traced = |options: &[&str]| {
        let mut smark = Command::new(fixture::smark());
        ended(smark.args(["trace", "--json"]).args(TIME).args(options).arg("--").arg(&program))
    };
    check_by_thread(intervals(traced(&[]).lines().iter()));
    check_by_key(intervals(traced(&["--key", "id"]).lines().iter()));

    let recording = folder.path().join("recording");
    ended(Command::new(fixture::smark()).args(["record", "-o"]).arg(&recording).arg("--").arg(&program));
    let report = |form: &[&str], options: &[&str]| report(&recording, form, options);
    check_by_thread(intervals(report(&["--json"], &[]).lines()));
    check_by_key(intervals(report(&["--json"], &["--key", "id"]).lines()));
    // For people.
    let text = report(&[], &["--key", "id", "work:begin", "work:end", "work:other"]);
    let titles: Vec<&str> = text.lines().filter(|line| line.starts_with("work:begin..work:end ")).collect();
    assert!(titles.len() == 6 && titles[..5].iter().all(|it| it.contains(" took ")), "{text}");
    assert!(titles[5].contains(" has not ended after "), "{text}");
    assert_eq!(text.matches("work:end: ").count(), 5, "{text}");
}

fn report(recording: &Path, form: &[&str], options: &[&str]) -> String {
    tools::run(Command::new(fixture::smark()).arg("report").args(form).args(TIME).args(options).arg(recording))
}

#[test]
fn what_cannot_be_told_is_said() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "slow", PROGRAM, &["-O2", "-pthread"]);
    let said = |options: &[&str]| {
        let mut smark = Command::new(fixture::smark());
        let output = tools::output(smark.arg("trace").args(options).arg("--").arg(&program));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for (options, why) in [
        (
            &["--time", "work:begin..work:end", "--slow", "50ms", "--key", "nothing"][..],
            "there is no argument `nothing`",
        ),
        (&["--time", "work:begin..work:none", "--slow", "50ms"], "no interval can be told"),
        (&["--time", "main()", "--slow", "50ms"], "write two names of markers as A..B"),
        (&["--slow", "50ms"], "--time"),
        (&["--time", "work:begin..work:end"], "--slow"),
        (&["--time", "work:begin..work:end", "--slow", "50"], "a time has a unit"),
    ] {
        let said = said(options);
        assert!(said.contains(why), "{options:?}: {said}");
    }
}
