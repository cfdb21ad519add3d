//! The tasks of async runtimes as keys: hits are counted, chosen and paired by the task that the thread runs,
//! whose number the runtime keeps in a thread-local variable. The programs say which task ran.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, Fixture};
use simple_markers_tests::tools::{ended, output, run};
use simple_markers_tests::watched::{can_watch, compile};

/// A crate `tokio` that keeps the task as tokio does: a structure with a destructor, and a number that is never 0.
/// Tasks go from thread to thread between the markers.
const RUST: &str = r#"
use simple_markers::simple_mark;

mod runtime {
    pub mod context {
        use std::cell::Cell;
        use std::num::NonZeroU64;

        #[derive(Clone, Copy)]
        pub struct Id(#[allow(dead_code)] NonZeroU64);

        pub struct Context {
            pub budget: Cell<u8>,
            pub current_task_id: Cell<Option<Id>>,
        }

        impl Drop for Context {
            fn drop(&mut self) {
                std::hint::black_box(self.budget.get());
            }
        }

        thread_local! {
            static CONTEXT: Context = const { Context { budget: Cell::new(7), current_task_id: Cell::new(None) } };
        }

        pub fn run(task: u64, polled: impl FnOnce()) {
            CONTEXT.with(|context| context.current_task_id.set(NonZeroU64::new(task).map(Id)));
            polled();
            CONTEXT.with(|context| context.current_task_id.set(None));
        }
    }
}

#[inline(never)]
fn begin(task: u64) {
    simple_mark!(work:begin, "%lu", keep task);
}

#[inline(never)]
fn end(task: u64) {
    simple_mark!(work:end, "%lu", keep task);
}

fn main() {
    // Task N begins and ends N times, in different threads.
    for task in 1..=5 {
        for _ in 0..task {
            std::thread::spawn(move || runtime::context::run(task, || begin(task))).join().unwrap();
            std::thread::spawn(move || runtime::context::run(task, || end(task))).join().unwrap();
        }
    }
    // Outside of a task.
    begin(0);
    end(0);
}
"#;

/// A runtime in C, which a view of the user describes.
const C: &str = r#"
#include <pthread.h>
#include "simple_marker.h"

struct task { const char *name; int number; };
__thread struct task current_task;

__attribute__((noinline)) static void work(int number) { simple_mark_keep(work:begin, "%d", number); }

static void *thread(void *number) {
    current_task.number = (int)(long)number;
    for (int i = 0; i < (int)(long)number * 10; i++) work(i);
    return 0;
}

int main(void) {
    for (long number = 0; number < 4; number++) {
        pthread_t one;
        pthread_create(&one, 0, thread, (void *)number);
        pthread_join(one, 0);
    }
    return 0;
}
"#;

fn objects(command: &str, options: &[&str], program: &Path) -> Vec<Json> {
    let mut smark = Command::new(fixture::smark());
    let ended = ended(smark.args([command, "--json"]).args(options).arg("--").arg(program));
    ended.lines().iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The counts of a marker by task.
fn by_task(objects: &[Json], marker: &str) -> BTreeMap<u64, u64> {
    let row = objects.iter().find(|it| it["marker"] == marker).expect("a row");
    let pairs = row["by"].as_array().expect("values").iter();
    pairs.map(|pair| (pair[0].as_u64().expect("a task"), pair[1].as_u64().expect("a count"))).collect()
}

#[test]
fn hits_are_counted_and_paired_by_task() {
    if !can_watch() {
        return;
    }
    let fixture = Fixture::new("tokio").file("src/main.rs", RUST);
    fixture::succeeds_silently(fixture.rustc(&["-Copt-level=2"]).env("RUSTFLAGS", "-g -Clink-arg=-Wl,--build-id"));
    let program = fixture.built("tokio");
    let expected = BTreeMap::from([(0, 1), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]);
    assert_eq!(by_task(&objects("count", &["--by", "task"], &program), "work:begin"), expected);
    let chosen = objects("trace", &["--where", "task == 4 || task == 0", "work:end"], &program);
    let tasks = chosen.iter().filter(|it| it["marker"].is_string()).map(|it| it["args"][0]["value"].as_u64());
    assert_eq!(tasks.collect::<Vec<_>>(), [Some(4), Some(4), Some(4), Some(4), Some(0)]);
    // No thread has both ends of a pair.
    let paired = objects("count", &["--time", "work:begin..work:end", "--key", "task"], &program);
    let time = paired.iter().find(|it| it["time"]["count"].is_number()).expect("the times");
    assert_eq!((&time["time"]["count"], &time["time"]["ends_without_start"]), (&16.into(), &0.into()), "{time}");

    // A plan has it for a program without debug information.
    let folder = tempfile::tempdir().expect("a folder");
    let (plan, stripped) = (folder.path().join("plan"), folder.path().join("stripped"));
    run(Command::new(fixture::smark()).arg("plan").arg("-o").arg(&plan).arg(&program));
    run(Command::new("strip").arg("-o").args([&stripped, &program]));
    let plan = plan.to_str().expect("UTF-8");
    assert_eq!(by_task(&objects("count", &["--plan", plan, "--by", "task"], &stripped), "work:end"), expected);
}

#[test]
fn a_view_of_the_user_says_where_the_task_is() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "coroutines", C, &["-pthread"]);
    let views = folder.path().join("tasks.views");
    let views_path = views.to_str().expect("UTF-8");
    fs::write(&views, "current_task task number=id|number\n").expect("the file");
    let counted = objects("count", &["--views", views_path, "--by", "task"], &program);
    assert_eq!(by_task(&counted, "work:begin"), BTreeMap::from([(1, 10), (2, 20), (3, 30)]));
    // A member that is not there.
    fs::write(&views, "current_task task number=id\n").expect("the file");
    let mut smark = Command::new(fixture::smark());
    let output = output(smark.args(["count", "--views", views_path, "--by", "task", "--"]).arg(&program));
    assert!(String::from_utf8_lossy(&output.stderr).contains("it is not known which task runs"), "{output:?}");
}
