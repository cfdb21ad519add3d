//! The times between two markers: in functions that call themselves, where work goes from thread to thread, and
//! by the values of an argument.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value as Json, json};
use simple_markers_tests::fixture;
use simple_markers_tests::tools::{self, run};
use simple_markers_tests::watched::{can_watch, can_watch_with_tracefs, compile};

const PROGRAM: &str = r#"
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
#include "simple_marker.h"
volatile int sink;
__attribute__((noinline)) void work(int depth, const char *kind) {
    simple_mark_keep(r:a, "%d %s", depth, kind);
    sink = depth;
    if (depth > 0) work(depth - 1, kind);
    usleep(2000);
    simple_mark_keep(r:b, "%d", depth);
    sink = depth + 1;
}
__attribute__((noinline)) void submit(int id, int lane) { simple_mark_keep(h:submit, "%d %d", id, lane); sink = id; }
__attribute__((noinline)) void complete(int id, int result) {
    simple_mark_keep(h:complete, "%d %d", id, result);
    sink = id + 1;
}
static sem_t full;
static void *worker(void *unused) {
    for (int i = 0; i < 1000; i++) {
        sem_wait(&full);
        if (i % 10 != 9) complete(i, i % 4);
    }
    return unused;
}
int main(void) {
    for (int i = 0; i < 8; i++) work(3, i % 2 ? "odd" : "even");
    sem_init(&full, 0, 0);
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    for (int i = 0; i < 1000; i++) {
        submit(i, i % 3);
        sem_post(&full);
        if (i % 10 == 9) complete(i, i % 4);
    }
    pthread_join(thread, 0);
    return 0;
}
"#;

/// A way to count.
struct Way {
    command: &'static str,
    options: &'static [&'static str],
    operands: Vec<PathBuf>,
}

/// The program counted by each engine, and its recording.
fn ways(folder: &Path) -> Vec<Way> {
    let program = compile(folder, "intervals", PROGRAM, &[]);
    let recording = folder.join("recording");
    run(Command::new(fixture::smark()).args(["record", "-q", "-o"]).arg(&recording).arg("--").arg(&program));
    let run = vec![PathBuf::from("--"), program];
    let mut ways = vec![Way { command: "count", options: &["--engine", "bpf"], operands: run.clone() }];
    if can_watch_with_tracefs() {
        ways.push(Way { command: "count", options: &["--engine", "tracefs"], operands: run });
    }
    ways.push(Way { command: "report", options: &[], operands: vec![recording] });
    ways
}

impl Way {
    /// The object of the intervals, and what is said on standard error.
    fn times(&self, question: &[&str]) -> (Json, String) {
        let mut smark = Command::new(fixture::smark());
        smark.arg(self.command).args(self.options).arg("--json").args(question).args(&self.operands);
        let output = tools::output(&mut smark);
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
        let line = lines.into_iter().find(|line| line["time"].is_object());
        (line.unwrap_or_else(|| panic!("{} {question:?}: {said}", self.command)), said)
    }
}

#[test]
fn calls_of_a_function_by_itself_are_paired_from_inside() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for way in ways(folder.path()) {
        let (line, said) = way.times(&["--time", "r:a..r:b", "--by", "depth"]);
        let time = &line["time"];
        assert_eq!(
            (&time["count"], &time["nested"], &time["is_doubtful"]),
            (&json!(32), &json!(24), &json!(false)),
            "{said}"
        );
        assert_eq!((&time["ends_without_start"], &time["starts_without_end"]), (&json!(0), &json!(0)), "{said}");
        assert!(!said.contains("r:a"), "{said}");
        // A call of depth n pauses n + 1 times, and takes longer than the one inside.
        let by = line["by"].as_array().expect("values");
        let mut least = 0;
        for depth in 0..4u64 {
            let of = by.iter().find(|of| of[0] == depth).expect("a depth");
            let p50 = of[2]["p50"].as_u64().expect("a time");
            assert!(of[1] == 8 && p50 * 16 / 15 > (depth + 1) * 2_000_000 && p50 > least, "{line}");
            let buckets = of[2]["histogram"].as_array().expect("buckets");
            assert_eq!(buckets.iter().filter_map(|bucket| bucket[2].as_u64()).sum::<u64>(), 8);
            least = p50;
        }
        // The kind is an argument of the start only.
        let (line, said) = way.times(&["--time", "r:a..r:b", "--by", "kind", "--top", "1"]);
        assert_eq!(
            (&line["by"][0][0], &line["by"][0][1], &line["other"]),
            (&json!("even"), &json!(16), &json!(16)),
            "{said}"
        );
    }
}

#[test]
fn work_that_goes_from_thread_to_thread_is_said_to_need_a_key() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for way in ways(folder.path()) {
        let (line, said) = way.times(&["--time", "h:submit..h:complete"]);
        let time = &line["time"];
        assert_eq!(
            (&time["count"], &time["ends_without_start"], &time["starts_without_end"]),
            (&json!(100), &json!(900), &json!(900))
        );
        assert_eq!((&time["is_doubtful"], &time["keys"]), (&json!(true), &json!(["id"])), "{said}");
        assert!(said.contains("try --key with `id`"), "{said}");
        let (line, said) = way.times(&["--time", "h:submit..h:complete", "--key", "id"]);
        let time = &line["time"];
        assert_eq!(
            (&time["count"], &time["is_doubtful"], &time["keys"]),
            (&json!(1000), &json!(false), &Json::Null),
            "{said}"
        );
        assert!(!said.contains("--key"), "{said}");
    }
}

/// How many intervals each value has.
fn counts(line: &Json) -> Vec<(u64, u64)> {
    let by = line["by"].as_array().expect("values");
    let mut counts: Vec<_> = by.iter().map(|of| (of[0].as_u64(), of[1].as_u64())).collect();
    counts.sort_unstable();
    counts.into_iter().map(|(value, count)| (value.expect("a number"), count.expect("a number"))).collect()
}

#[test(desk = false)]
fn times_with_a_key_are_told_apart_by_an_argument_of_either_marker() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for way in ways(folder.path()) {
        let question = ["--time", "h:submit..h:complete", "--key", "id", "--by"];
        for (by, expected) in [
            ("lane", vec![(0, 334), (1, 333), (2, 333)]),
            // Only the end has it.
            ("result", vec![(0, 250), (1, 250), (2, 250), (3, 250)]),
        ] {
            let (line, said) = way.times(&[&question[..], &[by]].concat());
            assert_eq!((counts(&line), &line["time"]["count"]), (expected, &json!(1000)), "{by}: {said}");
        }
        // As a key it tells nothing, since no start has it.
        let (line, said) = way.times(&["--time", "h:submit..h:complete", "--key", "result"]);
        let time = &line["time"];
        assert_eq!(
            (&time["count"], &time["ends_without_start"], &time["is_doubtful"]),
            (&json!(0), &json!(1000), &json!(true))
        );
        assert!(said.contains("left out h:submit: there is no argument `result`\n"), "{said}");
        assert!(said.contains("not each value of `result` is in both\n"), "{said}");
        // The key itself.
        let (line, _) = way.times(&[&question[..], &["id", "--top", "3"]].concat());
        assert_eq!((&line["other"], line["by"].as_array().map(Vec::len)), (&json!(997), Some(3)), "{line}");
    }
}

#[test]
fn the_floor_stands_beside_the_times() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for way in ways(folder.path()) {
        let time = ["--time", "r:a..r:b"];
        let (line, said) = way.times(&time);
        let mut smark = Command::new(fixture::smark());
        let output = tools::output(smark.arg(way.command).args(way.options).args(time).args(&way.operands));
        let table = String::from_utf8(output.stdout).expect("UTF-8");
        let floors: Vec<&str> = table.lines().filter(|line| line.starts_with("floor")).collect();
        let floor = &line["time"]["floor"];
        match (way.command, way.options) {
            ("count", [_, "bpf"]) => {
                let [emulated, stepped] = [0, 1].map(|kind| floor[kind].as_u64().expect("a time"));
                // Two exceptions of the processor more, and far less than the times that are measured.
                assert!(0 < emulated && emulated < stepped && stepped < 2_000_000, "{floor}: {said}");
                let [floor] = floors[..] else { panic!("{table}") };
                let times = floor
                    .strip_prefix("floor: ")
                    .and_then(|it| it.strip_suffix(" where the kernel steps an instruction"));
                let (one, other) = times.and_then(|it| it.split_once(", or ")).expect("two times");
                let is_time = |text: &str| text.ends_with("ns") || text.ends_with("us") || text.ends_with("ms");
                assert!(is_time(one) && is_time(other), "{floor}");
                // It stands under the bars, and above nothing but what follows the interval.
                assert_eq!(table.lines().last(), Some(floor));
            }
            ("count", _) => assert_eq!((floor, floors), (&Json::Null, vec!["floor: not measured"]), "{said}"),
            _ => assert_eq!((floor, floors), (&Json::Null, Vec::new()), "{said}"),
        }
    }
}
