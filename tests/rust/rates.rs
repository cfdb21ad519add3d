//! `smark trace --every` prints the hits of each interval, and texts that are kept.

use serde_json::Value as Json;
use simple_markers_tests::watched::{can_watch, compile};

use super::trace::{hits, trace};

/// Keeps texts, and has no debug information.
const LOOP: &str = r#"
#include <time.h>
#include <wchar.h>
#include "simple_marker.h"
int main(int count, char **arguments) {
    const char part[] = { 'a', 'b', 'c', 'd' };
    for (int i = 0; i < 400; i++) {
        const char *name = i == 0 ? arguments[0] : i == 1 ? "even" : 0;
        simple_mark_keep_anchor(loop:pass, "%d %s %.3s", i, name, part);
        if (i % 10 == 0)
            simple_mark_keep_anchor(loop:tenth, "%d %ls", i, L"wide");
        nanosleep(&(struct timespec) { 0, 1000000 }, 0);
    }
    return count;
}
"#;

#[test]
fn the_hits_of_all_intervals_are_all_hits() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "loop", LOOP, &[]);
    let lines = trace(&["--every", "50ms", "--json"], &[&program]);
    let (intervals, end) = hits(&lines);
    let number = |of: &Json, field: &str| of[field].as_u64().expect("a number");
    let of = |name: &str| -> Vec<&Json> { intervals.iter().filter(|it| it["marker"] == name).collect() };
    let (pass, tenth) = (of("loop:pass"), of("loop:tenth"));
    let sum = |of: &[&Json]| of.iter().map(|it| number(it, "hits")).sum::<u64>();
    assert_eq!((sum(&pass), sum(&tenth)), (400, 40));
    assert_eq!((number(&end, "hits"), number(&end, "lost"), number(&end, "unfiltered")), (440, 0, 0));
    assert_eq!(end["exit"], 1);
    // The program sleeps 400 ms.
    assert!(pass.len() >= 2, "{lines:?}");
    for it in &pass {
        let rate = number(it, "hits") as f64 * 1e9 / number(it, "interval_ns") as f64;
        assert!((rate - number(it, "per_second") as f64).abs() <= 0.51, "{it}");
    }
    let times: Vec<u64> = pass.iter().map(|it| number(it, "time_ns")).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");

    // As text, and with a filter.
    let lines = trace(&["--every", "50ms", "--where", "i < 20", "loop:pass"], &[&program]);
    let words = lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let counts = words.map(|words| match words[..] {
        [_, hits, rate, "loop:pass"] if rate.ends_with("/s") => hits.parse::<u64>().expect("a number"),
        _ => panic!("{words:?}"),
    });
    assert_eq!(counts.sum::<u64>(), 20);
}

#[test]
fn texts_are_kept_without_debug_information() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "loop", LOOP, &["-g0"]);
    let lines = trace(&["--limit", "4"], &[&program]);
    let said: Vec<&str> = lines.iter().filter_map(|line| Some(line.split_once(" loop:")?.1)).collect();
    let first = format!("pass: 0 {} abc", program.display());
    assert_eq!(said, [&*first, "tenth: 0 <unreadable>", "pass: 1 even abc", "pass: 2 (null) abc"]);
}
