//! The tasks of async runtimes as keys: hits are counted, chosen and paired by the task that the thread runs,
//! whose number the runtime keeps in a thread-local variable. The programs say which task ran.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, Fixture};
use simple_markers_tests::page::PageData;
use simple_markers_tests::tools::{ended, find, output, run};
use simple_markers_tests::watched::{can_watch, compile};

use crate::timeline::{decoded, interned};

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
fn begin(number: u64) {
    simple_mark!(work:begin, "%lu", keep number);
}

#[inline(never)]
fn end(number: u64) {
    simple_mark!(work:end, "%lu", keep number);
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

/// A crate `async_std` that keeps the task as async-std does: a pointer, which is null outside of a task.
const POINTER: &str = r#"
use simple_markers::simple_mark;

mod task {
    pub mod task_locals_wrapper {
        use std::cell::Cell;
        use std::ptr;

        pub struct TaskId(#[allow(dead_code)] usize);

        pub struct Task {
            #[allow(dead_code)]
            name: Option<String>,
            #[allow(dead_code)]
            id: TaskId,
        }

        pub struct TaskLocalsWrapper {
            #[allow(dead_code)]
            task: Task,
        }

        thread_local! {
            static CURRENT: Cell<*const TaskLocalsWrapper> = Cell::new(ptr::null_mut());
        }

        pub fn run(number: usize, polled: impl FnOnce()) {
            let wrapper = TaskLocalsWrapper { task: Task { name: None, id: TaskId(number) } };
            CURRENT.with(|current| current.set(std::hint::black_box(&wrapper)));
            polled();
            CURRENT.with(|current| current.set(ptr::null()));
        }
    }
}

#[inline(never)]
fn step(number: usize) {
    simple_mark!(work:step, "%zu", keep number);
}

fn main() {
    step(0);
    for number in 1..=20 {
        task::task_locals_wrapper::run(number, || step(number));
    }
    step(0);
}
"#;

/// A runtime in C that polls tasks in two threads by a fixed order, one inside another one, and prints each poll with
/// its task and thread.
const POLLS: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/syscall.h>
#include "simple_marker.h"

struct task { int state; long number; struct task *inner; };
__thread struct { int depth; long number; } current_task;

__attribute__((noinline)) static void work(long number) { simple_mark_keep(work:step, "%ld", number); }

void run(struct task *t);

/// With optimisation `run` leaves for it by a tail call.
__attribute__((noinline)) void step(struct task *t) {
    long outer = current_task.number;
    current_task.number = t->number;
    work(t->number);
    if (t->inner) run(t->inner);
    t->state++;
    current_task.number = outer;
    __asm__ volatile("");
}

__attribute__((noinline)) void run(struct task *t) {
    printf("%ld %ld\n", t->number, (long)syscall(SYS_gettid));
    step(t);
}

static struct task one = { 0, 1, 0 }, two = { 0, 2, 0 }, three = { 0, 3, &two };
static const struct { int thread; struct task *task; } order[] = {
    { 0, &one }, { 0, &two }, { 1, &one }, { 1, &one }, { 0, &three }, { 1, &two }, { 0, &one },
};
#define STEP(of) run(of.task)
#define AT_END() work(0)
"#;

/// A runtime in C in which tasks are polled and woken in a fixed order. One is polled twice without a wake.
const WAKES: &str = r#"
#include <pthread.h>
#include <time.h>
#include "simple_marker.h"

struct task { int state; long number; int polls, last; };
__thread struct { int depth; long number; } current_task;

__attribute__((noinline)) static void begin(void) { simple_mark(work:begin, ""); }
__attribute__((noinline)) static void end(void) { simple_mark(work:end, ""); }

__attribute__((noinline)) void run(struct task *t) {
    long outer = current_task.number;
    current_task.number = t->number;
    __asm__ volatile("" ::: "memory");
    if (t->polls == 0) begin();
    if (++t->polls == t->last) end();
    current_task.number = outer;
    __asm__ volatile("");
}

__attribute__((noinline)) void wake(struct task *t) { t->state++; __asm__ volatile(""); }

static struct task one = { 0, 1, 0, 4 }, two = { 0, 2, 0, 2 };
static const struct { int thread; void (*step)(struct task *); struct task *task; } order[] = {
    { 0, run, &one }, { 1, run, &two }, { 1, wake, &one }, { 0, run, &one }, { 0, run, &one }, { 0, wake, &two },
    { 0, wake, &one }, { 1, run, &one }, { 1, run, &two },
};
static void after_a_moment(void (*step)(struct task *), struct task *task) {
    struct timespec a_moment = { 0, 1000000 };
    nanosleep(&a_moment, 0);
    step(task);
}

#define STEP(of) after_a_moment(of.step, of.task)
#define AT_END() (void)0
"#;

/// The end of a program in C that has an `order` of steps: two threads make them in turns. `STEP` is one of them, and
/// `AT_END` is done behind all.
const TURNS: &str = r#"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static unsigned turn;

static void *thread(void *number) {
    pthread_mutex_lock(&lock);
    while (turn < sizeof order / sizeof *order) {
        if (order[turn].thread == (int)(long)number) {
            STEP(order[turn]);
            turn++;
            pthread_cond_broadcast(&moved);
        } else {
            pthread_cond_wait(&moved, &lock);
        }
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void) {
    pthread_t both[2];
    for (long number = 0; number < 2; number++) pthread_create(&both[number], 0, thread, (void *)number);
    for (int number = 0; number < 2; number++) pthread_join(both[number], 0);
    AT_END();
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

/// Asserts that hits are shown and recorded with their tasks.
fn assert_shown_and_recorded(program: &Path) {
    for marker in ["work:begin", "work:end"] {
        assert_tasks(&objects("trace", &["--task"], program), marker);
        // The filter needs it too.
        let chosen = objects("trace", &["--task", "--where", "task == 4", marker], program);
        let tasks = chosen.iter().filter(|it| it["marker"] == marker).map(|it| it["task"].as_u64());
        assert_eq!(tasks.collect::<Vec<_>>(), [Some(4); 4]);
    }
    assert!(objects("trace", &[], program).iter().all(|it| it.get("task").is_none()));

    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    let path = recording.to_str().expect("UTF-8");
    run(Command::new(fixture::smark()).args(["record", "--task", "-o", path, "--"]).arg(program));
    let (text, _) = said_by(&["report", "--json"], &recording);
    let read: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_tasks(&read, "work:begin");
    assert_tasks(&read, "work:end");
    let (text, _) = said_by(&["report", "work:begin"], &recording);
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("work:begin")).collect();
    assert!(lines[5].contains(" task 3       work:begin: 3") && !lines[15].contains("task"), "{text}");
    let (text, _) = said_by(&["report", "--json", "--by", "task", "work:end"], &recording);
    let counted: Vec<Json> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let expected = BTreeMap::from([(0, 1), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]);
    assert_eq!(by_task(&counted, "work:end"), expected);
    let (text, _) = said_by(&["report", "--where", "task == 3 || task == 0", "work:end"], &recording);
    assert_eq!(text.lines().count(), 4, "{text}");
    let (text, _) = said_by(&["report", "--json", "--time", "work:begin..work:end", "--key", "task"], &recording);
    assert!(text.contains(r#""count":16,"#), "{text}");
    if find("babeltrace2").is_some() {
        let read = output(Command::new("babeltrace2").arg(&recording)).stdout;
        let read = String::from_utf8_lossy(&read).into_owned();
        let of = |number: u64| {
            read.lines().filter(|line| line.ends_with(&format!("{{ number = {number}, task = {number} }}"))).count()
        };
        assert_eq!([1, 5, 0].map(of), [2, 10, 2], "{read}");
    }

    // Without the option a recording has none, and says so.
    run(Command::new(fixture::smark()).args(["record", "--force", "-o", path, "--"]).arg(program));
    let (_, said) = said_by(&["report", "--by", "task", "work:end"], &recording);
    assert_eq!(said, "smark: task: the recording has no tasks; smark record --task notes them\n");
}

#[test]
fn hits_are_counted_and_paired_by_task() {
    if !can_watch() {
        return;
    }
    let built = |source: &str| {
        let fixture = Fixture::new("tokio").file("src/main.rs", source);
        fixture::succeeds_silently(fixture.rustc(&["-Copt-level=2"]).env("RUSTFLAGS", "-g -Clink-arg=-Wl,--build-id"));
        fixture.built("tokio")
    };
    assert_shown_and_recorded(&built(&with_plain_numbers()));
    let program = built(RUST);
    assert_shown_and_recorded(&program);
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

/// The program with a number that may be 0, as tokio keeps it up to 1.35.
fn with_plain_numbers() -> String {
    let plain = RUST.replace("use std::num::NonZeroU64;", "");
    plain
        .replace("allow(dead_code)] NonZeroU64", "allow(dead_code)] u64")
        .replace("NonZeroU64::new(task).map(Id)", "(task != 0).then_some(Id(task))")
}

/// The task of each hit as the program says it: its argument, which is null outside of a task.
fn assert_tasks(objects: &[Json], marker: &str) {
    let tasks: Vec<_> = objects.iter().filter(|it| it["marker"] == marker).collect();
    let said: Vec<u64> = tasks.iter().map(|it| it["args"][0]["value"].as_u64().expect("the argument")).collect();
    let expected =
        (1..=5).flat_map(|task| std::iter::repeat_n(task, usize::try_from(task).expect("a count"))).chain([0]);
    assert_eq!(said, expected.collect::<Vec<_>>());
    for (hit, said) in tasks.iter().zip(said) {
        let task = if said == 0 { Json::Null } else { said.into() };
        assert_eq!(
            (hit.get("task"), hit.get("task_why"), hit["args"].as_array().map(Vec::len)),
            (Some(&task), None, Some(1)),
            "{hit}"
        );
    }
}

fn said_by(arguments: &[&str], path: &Path) -> (String, String) {
    let output = output(Command::new(fixture::smark()).args(arguments).arg(path));
    (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_pointer_may_lead_to_the_task() {
    if !can_watch() {
        return;
    }
    let fixture = Fixture::new("async_std").file("src/main.rs", POINTER);
    fixture::succeeds_silently(fixture.rustc(&["-Copt-level=2"]).env("RUSTFLAGS", "-g"));
    let traced = objects("trace", &["--task"], &fixture.built("async_std"));
    let hits = traced.iter().filter(|it| it["marker"] == "work:step");
    let tasks: Vec<_> =
        hits.map(|it| (it["args"][0]["value"].as_u64(), it["task"].as_u64(), it.get("task_why"))).collect();
    let expected = (0..=20).chain([0]).map(|number| (Some(number), Some(number).filter(|it| *it > 0), None));
    assert_eq!(tasks, expected.collect::<Vec<_>>());
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
    let traced = objects("trace", &["--views", views_path, "--task"], &program);
    let unread = traced
        .iter()
        .filter(|it| it["marker"] == "work:begin" && it["task"].is_null() && it["task_why"] == "unreadable");
    assert_eq!(unread.count(), 60);
    let mut smark = Command::new(fixture::smark());
    let output = output(smark.args(["count", "--views", views_path, "--by", "task", "--"]).arg(&program));
    assert!(String::from_utf8_lossy(&output.stderr).contains("it is not known which task runs"), "{output:?}");
}

/// Asserts that the timeline of a recording has the polls that a program printed, as tasks and threads in their order.
fn assert_polls(recording: &Path, printed: &[(u64, u64)]) {
    let file = recording.with_extension("pftrace");
    let (_, said) = said_by(&["report", "--to", "perfetto", "-o", file.to_str().expect("UTF-8")], recording);
    assert!(said.contains(&format!(", and {} polls in ", printed.len())), "{said}");
    let packets = decoded(&file);
    let data = packets[1].message("interned_data").expect("the names");
    let names = interned(data, "debug_annotation_names");
    // A track is a thread, or is called after its task.
    let (mut threads, mut tasks) = (BTreeMap::new(), BTreeMap::new());
    for track in packets.iter().filter_map(|packet| packet.message("track_descriptor")) {
        match (track.message("thread"), track.message("process")) {
            (Some(thread), _) => _ = threads.insert(track.number("uuid"), thread.number("tid")),
            (None, Some(_)) => {}
            (None, None) => _ = tasks.insert(track.number("uuid"), track.text("name")),
        }
    }
    let (mut of_threads, mut of_tasks, mut hits, mut arrows) = (Vec::new(), Vec::new(), 0, Vec::new());
    for packet in &packets {
        let Some(event) = packet.message("track_event") else { continue };
        let (time, track) = (packet.number("timestamp"), event.number("track_uuid"));
        match (event.scalar("type").expect("a type"), threads.get(&track), tasks.get(&track)) {
            ("TYPE_SLICE_BEGIN", Some(thread), _) => {
                let task: u64 =
                    event.text("name").strip_prefix("task ").and_then(|task| task.parse().ok()).expect("a task");
                of_threads.push((time, (task, *thread)));
                let flow = |of: &str| event.scalar(of).map(str::to_owned);
                arrows.extend(flow("flow_ids").map(|flow| (flow, false, time)));
                arrows.extend(flow("terminating_flow_ids").map(|flow| (flow, true, time)));
            }
            ("TYPE_SLICE_BEGIN", None, Some(task)) => {
                assert_eq!(event.text("name"), "poll");
                let own = event
                    .message("debug_annotations")
                    .expect("an annotation")
                    .message("dict_entries")
                    .expect("an entry");
                assert_eq!(names[&own.number("name_iid")], "tid");
                let task = task.strip_prefix("task ").and_then(|task| task.parse().ok()).expect("a task");
                of_tasks.push((time, (task, own.number("uint_value"))));
            }
            ("TYPE_INSTANT", thread, Some(task)) => {
                assert!(thread.is_none());
                let argument = event.message("debug_annotations").expect("the argument");
                hits += usize::from(*task == format!("task {}", argument.number("int_value")));
            }
            _ => {}
        }
    }
    of_threads.sort_unstable();
    of_tasks.sort_unstable();
    let without_times = |polls: &[(u64, (u64, u64))]| polls.iter().map(|(_, poll)| *poll).collect::<Vec<_>>();
    assert_eq!((without_times(&of_threads), without_times(&of_tasks)), (printed.to_vec(), printed.to_vec()));
    assert_eq!(hits, printed.len(), "each poll passes the marker");
    // Each arrow leads from the last poll of a task to the next one in another thread.
    let mut last: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let mut expected = Vec::new();
    for (time, (task, thread)) in of_threads {
        if let Some((before, _)) = last.insert(task, (time, thread)).filter(|(_, other)| *other != thread) {
            expected.push((before, time));
        }
    }
    arrows.sort_unstable();
    let found: Vec<(u64, u64)> = arrows.chunks(2).map(|arrow| (arrow[0].2, arrow[1].2)).collect();
    assert!(arrows.chunks(2).all(|arrow| arrow[0].0 == arrow[1].0 && !arrow[0].1 && arrow[1].1));
    expected.sort_unstable();
    let mut found = found;
    found.sort_unstable();
    assert_eq!(found, expected);
}

#[test(cases = ["-O0", "-O2"], desk = [1])]
fn polls_are_slices_of_tasks_and_threads(level: &str) {
    if !can_watch() || find("protoc").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "polls", &[POLLS, TURNS].concat(), &["-pthread", level]);
    let (views, recording) = (folder.path().join("tasks.views"), folder.path().join("recording"));
    fs::write(&views, "current_task task number=number polls=run(t->number) tails=step()\n").expect("the file");
    let mut smark = Command::new(fixture::smark());
    smark.args(["record", "--polls", "--views"]).arg(&views).arg("-o").arg(&recording).arg("--").arg(&program);
    let printed = ended(&mut smark);
    let number = |word: &str| word.parse::<u64>().expect("a number");
    let poll = |line: &String| line.split_once(' ').map(|(task, thread)| (number(task), number(thread)));
    let polls: Vec<(u64, u64)> = printed.lines().iter().filter_map(poll).collect();
    assert_eq!(polls.iter().map(|(task, _)| *task).collect::<Vec<_>>(), [1, 2, 1, 1, 3, 2, 2, 1]);
    assert_polls(&recording, &polls);
    // The begins have the task, also where the thread has another one.
    let (text, _) = said_by(&["report", "--json", "run()"], &recording);
    let hits = text.lines().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
    let tasks: Vec<_> =
        hits.filter(|it| it["marker"] == "run()").map(|it| it["task"].as_u64().expect("a task")).collect();
    assert_eq!(tasks, [1, 2, 1, 1, 3, 2, 2, 1]);
    assert_polls_of_page(&recording, &polls);
}

/// Asserts that a page has each poll on the track of its thread and on that of its task.
fn assert_polls_of_page(recording: &Path, printed: &[(u64, u64)]) {
    let file = recording.with_extension("html");
    said_by(&["report", "--to", "html", "-o", file.to_str().expect("UTF-8")], recording);
    let page = PageData::read(&fs::read_to_string(file).expect("a page"));
    let (mut threads, mut tasks) = (Vec::new(), Vec::new());
    for track in page.numbers("slice-tracks") {
        let track = &page.data["tracks"][track as usize];
        match track["kind"].as_str() {
            Some("thread") => threads.push(track["tid"].as_u64().expect("a thread")),
            Some("task") => tasks.push(track["task"].as_str().expect("a task").parse().expect("a number")),
            kind => panic!("{kind:?}"),
        }
    }
    let mut expected: (Vec<u64>, Vec<u64>) = printed.iter().map(|(task, thread)| (*thread, *task)).unzip();
    for numbers in [&mut threads, &mut tasks, &mut expected.0, &mut expected.1] {
        numbers.sort_unstable();
    }
    assert_eq!((threads, tasks), expected);
    assert_eq!(page.data["polls"]["polls"], printed.len());
    // No pair has the number of polls.
    assert!(page.numbers("slice-pairs").iter().all(|pair| *pair == 0));
}

#[test]
fn polls_that_are_not_known_are_told() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "coroutines", C, &["-pthread"]);
    let views = folder.path().join("tasks.views");
    for (polls, why) in [
        ("", "the view of current_task names no function that polls"),
        (" polls=absent()", "absent(): the debug information has no such function"),
    ] {
        fs::write(&views, format!("current_task task number=id|number{polls}\n")).expect("the file");
        let mut smark = Command::new(fixture::smark());
        let output = output(smark.args(["trace", "--polls", "--json", "--views"]).arg(&views).arg("--").arg(&program));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(&format!("its polls are not watched: {why}")), "{said}");
        assert!(String::from_utf8_lossy(&output.stdout).contains(r#""task":3,"#), "the hits are shown nevertheless");
    }
}

/// What a task did from its marker `work:begin` to `work:end`, by the times of the hits: polled, scheduled and waiting.
fn parts_of(task: u64, hits: &[Json]) -> [u64; 3] {
    let time = |hit: &Json| hit["time_ns"].as_u64().expect("a time");
    let of = |marker: &str| {
        let mut found = hits.iter().filter(|it| it["marker"] == marker && it["task"].as_u64() == Some(task));
        time(found.next().expect("a hit"))
    };
    let (start, end) = (of("work:begin"), of("work:end"));
    let (mut polled, mut scheduled, mut waiting) = (0, 0, 0);
    // The end of the last poll, the wake after it, and the thread that polls.
    let (mut ended, mut woken, mut polls_in) = (None, None, None);
    let mut begun = 0;
    for hit in hits {
        let now = time(hit);
        match hit["marker"].as_str() {
            Some("run()") if hit["task"].as_u64() == Some(task) => {
                if let Some(ended) = ended.take() {
                    scheduled += now - woken.unwrap_or(ended);
                    waiting += woken.unwrap_or(ended) - ended;
                }
                (woken, begun, polls_in) = (None, now, hit["tid"].as_u64());
            }
            Some("run() return") if polls_in.is_some() && hit["tid"].as_u64() == polls_in => {
                polled += now.min(end) - begun.max(start);
                (ended, polls_in) = (Some(now), None);
            }
            Some("wake()") if hit["task"].as_u64() == Some(task) => woken = woken.or(Some(now)),
            _ => {}
        }
    }
    [polled, scheduled, waiting]
}

#[test]
fn times_are_split_by_what_tasks_did() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "wakes", &[WAKES, TURNS].concat(), &["-pthread", "-O2"]);
    let (views, recording) = (folder.path().join("tasks.views"), folder.path().join("recording"));
    let view = "current_task task number=number polls=run(t->number)";
    for wakes in ["wakes=wake(t->number)", ""] {
        fs::write(&views, format!("{view} {wakes}\n")).expect("the file");
        let mut smark = Command::new(fixture::smark());
        smark.args(["record", "--force", "--polls", "--views"]).arg(&views).arg("-o").arg(&recording);
        run(smark.arg("--").arg(&program));
        let (text, _) = said_by(&["report", "--json"], &recording);
        let lines = text.lines().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
        let hits: Vec<Json> = lines.filter(|line| line["marker"].is_string()).collect();
        let expected = [1, 2].map(|task| parts_of(task, &hits));
        let time = ["report", "--json", "--time", "work:begin..work:end", "--key", "task", "--split"];
        let (text, said) = said_by(&[&time[..], &["--by", "task"]].concat(), &recording);
        assert_eq!(said, "");
        let rows = text.lines().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
        let row = rows.into_iter().find(|it| it["time"]["count"] == 2).expect("the times");
        let sums = |split: &Json, names: &[&str]| {
            names.iter().map(|name| split[name]["sum"].as_u64().expect("a sum")).collect::<Vec<_>>()
        };
        let names: &[&str] =
            if wakes.is_empty() { &["polled", "not_polled"] } else { &["polled", "scheduled", "waiting"] };
        let parts = |[polled, scheduled, waiting]: [u64; 3]| match wakes {
            "" => vec![polled, scheduled + waiting],
            _ => vec![polled, scheduled, waiting],
        };
        // Without wakes, all that is not polled is one part.
        for (pair, expected) in row["by"].as_array().expect("values").iter().zip(expected) {
            assert_eq!(sums(&pair[2]["split"], names), parts(expected), "{pair}");
        }
        let all = sums(&row["time"]["split"], names);
        assert_eq!(row["time"]["sum"].as_u64(), Some(all.iter().sum()), "{row}");
        assert!(all.iter().all(|sum| *sum > 0), "{row}");
        let (table, _) = said_by(&time.iter().copied().filter(|it| *it != "--json").collect::<Vec<_>>(), &recording);
        assert!(names.iter().all(|name| table.contains(&name.replace('_', " "))), "{table}");
    }
    // Without polls there is nothing to tell.
    run(Command::new(fixture::smark())
        .args(["record", "--force", "--task", "--views"])
        .arg(&views)
        .arg("-o")
        .arg(&recording)
        .arg("--")
        .arg(&program));
    let (_, said) = said_by(&["report", "--time", "work:begin..work:end", "--key", "task", "--split"], &recording);
    assert_eq!(said, "smark: --split: the recording has no polls; smark record --polls notes them\n");
}
