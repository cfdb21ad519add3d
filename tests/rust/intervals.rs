//! The times between two markers: in functions that call themselves, where work goes from thread to thread, and
//! by the values of an argument.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value as Json, json};
use simple_markers_tests::fixture;
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
__attribute__((noinline)) void submit(int id) { simple_mark_keep(h:submit, "%d", id); sink = id; }
__attribute__((noinline)) void complete(int id) { simple_mark_keep(h:complete, "%d %d", id, id); sink = id + 1; }
static sem_t full;
static void *worker(void *unused) {
    for (int i = 0; i < 1000; i++) {
        sem_wait(&full);
        if (i % 10 != 9) complete(i);
    }
    return unused;
}
int main(void) {
    for (int i = 0; i < 8; i++) work(3, i % 2 ? "odd" : "even");
    sem_init(&full, 0, 0);
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    for (int i = 0; i < 1000; i++) {
        submit(i);
        sem_post(&full);
        if (i % 10 == 9) complete(i);
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
    let recorded =
        Command::new(fixture::smark()).args(["record", "-q", "-o"]).arg(&recording).arg("--").arg(&program).output();
    assert!(recorded.expect("smark runs").status.success());
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
        let output =
            smark.arg(self.command).args(self.options).arg("--json").args(question).args(&self.operands).output();
        let output = output.expect("smark runs");
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
