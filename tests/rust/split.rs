//! What threads did during intervals (`--split`), with what the program itself measures
//! (`CLOCK_THREAD_CPUTIME_ID`, `schedstat`).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value as Json, json};
use simple_markers_tests::fixture;
use simple_markers_tests::tools::{self, run};
use simple_markers_tests::watched::{can_watch, can_watch_with_tracefs, compile};

const PARTS: [&str; 3] = ["on_cpu", "queued", "blocked"];
const TIME: [&str; 4] = ["count", "--time", "part:begin..part:end", "--split"];
/// The kinds of `tests/split/parts.c` without an interval in the interval.
const KINDS: [&str; 7] = ["empty", "burn", "sleep", "mutex", "pipe", "disk", "queue"];

fn program(folder: &Path, name: &str) -> PathBuf {
    let source = fixture::workspace().join(format!("tests/split/{name}.c"));
    compile(folder, name, &std::fs::read_to_string(source).expect("the source"), &["-D_GNU_SOURCE"])
}

/// What `smark` prints and says about a program.
fn smark(arguments: &[&str], folder: &Path, program: &[&str]) -> (String, String) {
    let mut smark = Command::new(fixture::smark());
    let output = tools::output(smark.args(arguments).arg("--").args(program).current_dir(folder));
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(output.stdout), text(output.stderr))
}

/// The object of the intervals.
fn interval(printed: &str, said: &str) -> Json {
    let lines = printed.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    lines.into_iter().find(|line| line["time"].is_object()).unwrap_or_else(|| panic!("{printed}{said}"))
}

fn number(of: &Json) -> i64 {
    of.as_i64().unwrap_or_else(|| panic!("no number: {of}"))
}

fn sums(split: &Json) -> [i64; 3] {
    PARTS.map(|part| number(&split[part]["sum"]))
}

fn median(mut numbers: Vec<i64>) -> i64 {
    numbers.sort_unstable();
    numbers[numbers.len() / 2]
}

/// An interval by `smark`, and as the program measures it.
struct Measured {
    kind: usize,
    parts: [i64; 3],
    wall: i64,
    cpu: i64,
    queued: i64,
}

#[test]
fn parts_are_what_the_program_measures() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    program(folder.path(), "parts");
    let arguments = [&TIME[..], &["-q", "--json", "--by", "number", "--top", "10000"]].concat();
    let (printed, said) = smark(&arguments, folder.path(), &["./parts", "24"]);
    let line = interval(&printed, &said);
    let (time, by) = (&line["time"], line["by"].as_array().expect("values"));

    // Nothing is lost on the way to the parts, and they add up exactly.
    for part in PARTS {
        assert_eq!(time["split"][part]["count"], time["count"], "{said}");
        let of_values: i64 = by.iter().map(|of| number(&of[2]["split"][part]["sum"])).sum();
        assert_eq!(number(&time["split"][part]["sum"]), of_values, "{part}");
        let buckets = time["split"][part]["histogram"].as_array().expect("buckets");
        let in_buckets: i64 = buckets.iter().map(|bucket| number(&bucket[2])).sum();
        assert_eq!(json!(in_buckets), time["count"], "{part}");
    }
    assert_eq!(number(&time["sum"]), sums(&time["split"]).iter().sum::<i64>());
    // 24 intervals are in others.
    assert_eq!((&time["count"], &time["nested"]), (&json!(8 * 24 + 24), &json!(24)), "{said}");

    let own: HashMap<i64, Vec<i64>> = printed
        .lines()
        .filter(|line| !line.starts_with('{'))
        .map(|line| line.split(' ').map(|word| word.parse().expect("a number")).collect::<Vec<i64>>())
        .map(|row| (row[0], row))
        .collect();
    let mut all = Vec::new();
    for of in by.iter().filter(|of| of[0] != -1) {
        let [_, kind, wall, cpu, queued, is_torn] = own[&number(&of[0])][..] else { panic!("six numbers") };
        if is_torn == 0 && (kind as usize) < KINDS.len() {
            let parts = sums(&of[2]["split"]);
            all.push(Measured { kind: kind as usize, parts, wall, cpu, queued });
        }
    }
    // What the hits and the measuring cost, where nothing is between the markers.
    let empty: Vec<&Measured> = all.iter().filter(|it| it.kind == 0 && it.queued == 0).collect();
    assert!(empty.len() > 4, "{said}");
    let of_empty = |number: fn(&Measured) -> i64| median(empty.iter().map(|it| number(it)).collect());
    let (cost, wall_cost, cpu_cost) = (of_empty(|it| it.parts[0]), of_empty(|it| it.wall), of_empty(|it| it.cpu));

    let mut failures = Vec::new();
    let mut compared = [0; KINDS.len()];
    let mut total = [[0; 3]; KINDS.len()];
    for Measured { kind, parts, wall, cpu, queued } in &all {
        let (wall, cpu) = (wall - wall_cost + cost, cpu - cpu_cost + cost);
        // A thread that leaves its CPU in a hit is in the interval for one of both only.
        if (wall - parts.iter().sum::<i64>()).abs() > 50_000 {
            continue;
        }
        compared[*kind] += 1;
        total[*kind].iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
        // The program's own clock leaves out what a virtual machine does not run, as while it hands on a request to the disk.
        let is_stolen = KINDS[*kind] == "disk" && parts[0] > cpu;
        for (part, (got, expected)) in PARTS.iter().zip(parts.iter().zip([cpu, *queued, wall - cpu - queued])) {
            let is_known = !is_stolen || *part == "queued";
            if is_known && (got - expected).abs() > (expected / 50).max(50_000) {
                failures.push(format!("{} {part}: {got}, the program says {expected}", KINDS[*kind]));
            }
        }
    }
    note!("{compared:?} of 24 compared, {} beyond 2 % and 50 us: {failures:?}", failures.len());
    let count: usize = compared.iter().sum();
    // On a machine that is busy, many are torn, and the program's own reading is late.
    assert!(count >= 7 * 24 / 6 && failures.len() * 4 <= count, "{count}: {failures:?}");
    let share = |kind: usize, part: usize| total[kind][part] * 100 / total[kind].iter().sum::<i64>().max(1);
    // A mutex may be free again when the thread wants it.
    assert!([2, 4].iter().all(|kind| compared[*kind] == 0 || share(*kind, 2) >= 10), "{total:?}");
    assert!(compared[1] == 0 || share(1, 2) == 0, "burning does not block: {total:?}");
    assert!(compared[6] == 0 || share(6, 1) >= 25 && share(6, 2) == 0, "three threads on a CPU: {total:?}");
}

#[test]
fn threads_that_end_leave_nothing_behind() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    program(folder.path(), "threads");
    let count = |mode: &str, options: &[&str]| {
        let time = ["count", "--json", "--split", "--time", "split:begin..split:end"];
        let (printed, said) = smark(&[&time[..], options].concat(), folder.path(), &["./threads", mode]);
        let time = interval(&printed, &said)["time"].clone();
        let split = PARTS.map(|part| time["split"][part]["count"].clone());
        assert!(split.iter().all(|count| *count == split[0]), "{time}");
        assert!(number(&time["sum"]) >= sums(&time["split"]).iter().sum(), "{time}");
        (number(&time["count"]), number(&split[0]), number(&time["ends_without_start"]), said)
    };
    // More threads, one after the other, than are kept at a time.
    let (times, split, ends, _) = count("many", &["--max-values", "100"]);
    assert_eq!((times, split, ends), (1000, 1000, 0));
    // The child has no start, and the parent goes on.
    let (times, split, ends, _) = count("fork", &[]);
    assert_eq!((times, split, ends), (1, 1, 1));
    // The thread stays the same.
    let (times, split, ends, _) = count("exec", &[]);
    assert_eq!((times, split, ends), (1, 1, 0));
    // One in ten ends in the thread where it began.
    let (times, split, ends, said) = count("keys", &["--key", "id"]);
    assert_eq!((times, split, ends), (1000, 100, 0));
    assert!(said.contains("--split: 900 of 1000 times are not split: they began in another thread"), "{said}");
}

#[test(cases = [
    "--time nap()",
    "-e syscalls:sys_*_clock_nanosleep --time syscalls:sys_enter_clock_nanosleep..syscalls:sys_exit_clock_nanosleep",
])]
fn calls_and_events_of_the_kernel_are_split(what: &str) {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    program(folder.path(), "threads");
    let arguments: Vec<&str> = ["count", "--json", "--split"].into_iter().chain(what.split(' ')).collect();
    let (printed, said) = smark(&arguments, folder.path(), &["./threads", "calls"]);
    let time = &interval(&printed, &said)["time"];
    assert_eq!((&time["count"], &time["split"]["blocked"]["count"]), (&json!(20), &json!(20)), "{said}");
    // Each sleeps for a millisecond.
    assert!(number(&time["split"]["blocked"]["min"]) >= 1_000_000, "{time}");
}

/// The block of the document is what the command prints, but for the numbers and the bars.
#[test]
fn the_document_shows_a_slow_request() {
    if !can_watch() {
        return;
    }
    let document = std::fs::read_to_string(fixture::workspace().join("docs/count.md")).expect("the document");
    let (_, after) = document.split_once("## Where the time goes").expect("the section");
    let (_, block) = after.split_once("```console\n$ smark ").expect("a block");
    let (block, _) = block.split_once("```").expect("its end");
    let (command, shown) = block.split_once('\n').expect("a command");
    let (arguments, program_name) = command.split_once(" -- ").expect("a program");
    let folder = tempfile::tempdir().expect("a folder");
    program(folder.path(), "server");
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let (printed, said) = smark(&arguments, folder.path(), &[program_name]);
    let words = |text: &str| {
        let lines = text.lines().filter(|line| !line.contains('#'));
        let without = |line: &str| {
            let units = ["ns", "us", "ms", "s"];
            let words = line.split_whitespace().filter(|word| !units.contains(word) && word.parse::<f64>().is_err());
            words.collect::<Vec<_>>().join(" ")
        };
        lines.map(without).collect::<Vec<String>>()
    };
    assert_eq!(words(&printed), words(shown), "{said}");
    assert!(shown.contains('#') && printed.contains('#'));
    let long = smark(&[&arguments[..], &["-v"]].concat(), folder.path(), &[program_name]).0;
    let heads = ["wall", "on CPU", "queued", "blocked"];
    assert!(heads.iter().all(|head| long.lines().any(|line| line == *head)), "{long}");
}

#[test]
fn what_cannot_be_split_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    program(folder.path(), "threads");
    let refused = |arguments: &[&str]| {
        let mut smark = Command::new(fixture::smark());
        let ended = tools::ended(smark.args(arguments).current_dir(folder.path()));
        ended.fails(2)
    };
    let said = refused(&["count", "--split", "--", "./threads"]);
    assert!(said.contains("--time <A..B|SPAN|FUNCTION()>"), "{said}");
    let time = ["--time", "split:begin..split:end", "--split"];
    if can_watch_with_tracefs() {
        let said = refused(&[&["count", "--engine", "tracefs"], &time[..], &["--", "./threads"]].concat());
        assert!(said.contains("told apart with BPF only (--split)"), "{said}");
    }
    if can_watch() {
        let mut record = Command::new(fixture::smark());
        let record = record.args(["record", "-q", "-o", "recording", "--", "./threads", "fork"]);
        run(record.current_dir(folder.path()));
        let said = refused(&[&["report"], &time[..], &["./recording"]].concat());
        assert!(said.contains("a recording does not say when a thread was on a CPU"), "{said}");
    }
}
