//! Markers without a record: which places lines and functions have, and what is said of those that have
//! none.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;
use simple_markers_tests::fixture;
use simple_markers_tests::tools::{ended, find, run};

/// Compiles C files to a program.
fn compiled(folder: &Path, compiler: &str, options: &[&str], files: &[(&str, &str)]) -> PathBuf {
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("the source is written");
    }
    let sources = files.iter().map(|(name, _)| *name).filter(|name| !name.ends_with(".h"));
    let program = folder.join(format!("program{}", options.concat()));
    run(Command::new(compiler).current_dir(folder).args(["-g"]).args(options).args(sources).arg("-o").arg(&program));
    program
}

fn smark(arguments: &[&str], program: &Path) -> simple_markers_tests::tools::Ended {
    ended(Command::new(fixture::smark()).args(arguments).arg(program))
}

/// The markers of `smark list --json`.
fn listed(arguments: &[&str], program: &Path) -> Vec<Json> {
    let said = smark(&[&["list", "--json"], arguments].concat(), program).success();
    let document: Json = serde_json::from_str(&said).expect("JSON");
    document["images"][0]["markers"].as_array().expect("markers").clone()
}

const QUEUE: &str = "\
#include <stdlib.h>
struct queue { unsigned depth; const char *name; };
static inline int weight(int x) { return x * 3 + 1; }

__attribute__((noinline)) int submit(struct queue *queue, long tag) {
    // A line without code.
    queue->depth += weight((int)tag);
    if (queue->depth > 30)
        queue->depth = 0;
    return queue->depth;
}
__attribute__((noinline)) void queue_init(struct queue *queue) { queue->depth = 0; }
__attribute__((noinline)) void queue_drain(struct queue *queue) { queue->depth -= 1; }
int main(void) {
    struct queue queue = {0, \"q\"};
    queue_init(&queue);
    for (int i = 0; i < 10; i++)
        submit(&queue, rand());
    queue_drain(&queue);
    return queue.depth;
}
";

#[test(cases = ["gcc", "clang"])]
fn lines_and_entries_have_places(compiler: &str) {
    if find(compiler).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compiled(folder.path(), compiler, &["-O0"], &[("queue.c", QUEUE)]);
    let marks = listed(
        &[
            "--mark",
            "queue.c:7 \"%u by %ld\", queue->depth, tag",
            "--mark",
            "queue.c:6",
            "--mark",
            "queue_*()",
            "--mark",
            "submit() \"%s %ld\", queue->name, tag",
        ],
        &program,
    );
    let said = |mark: &Json| {
        let site = &mark["sites"][0];
        let verdicts: Vec<&str> = site["args"]
            .as_array()
            .expect("arguments")
            .iter()
            .map(|it| it["verdict"].as_str().unwrap_or("none"))
            .collect();
        let text = |value: &Json| value.as_str().unwrap_or("none").to_owned();
        (
            text(&mark["name"]),
            mark["line"].as_u64(),
            text(&site["origin"]),
            text(&site["exactness_reason"]),
            verdicts.join(" "),
        )
    };
    let said: Vec<_> = marks.iter().map(said).collect();
    let expected = [
        ("queue.c:7", 7, "line", "mark_begins", "live live"),
        // The next line with code.
        ("queue.c:6", 6, "nearest", "mark_begins", ""),
        ("queue_init()", 12, "entry", "entry", ""),
        ("queue_drain()", 13, "entry", "entry", ""),
        // Behind the prologue, which stores the parameters.
        ("submit()", 5, "entry", "fall_through", "live live"),
    ];
    let expected = expected.map(|(name, line, origin, reason, verdicts)| {
        (name.to_owned(), Some(line), origin.to_owned(), reason.to_owned(), verdicts.to_owned())
    });
    assert_eq!(said, expected);
    assert!(marks.iter().all(|mark| mark["is_mark"] == true && mark["declared"] == false));
    // In optimised code a line is never better than likely, and the entry of a function is.
    let program = compiled(folder.path(), compiler, &["-O2"], &[("queue.c", QUEUE)]);
    let marks =
        listed(&["--mark", "queue.c:10", "--mark", "submit() \"%ld\", tag", "--mark", "weight() \"%d\", x"], &program);
    let codes: Vec<_> = marks.iter().map(|mark| mark["sites"][0]["exactness"].clone()).collect();
    assert_eq!(codes[..2], ["likely", "exact"]);
    assert_ne!(codes[2], "exact");
    assert_eq!(marks[1]["sites"][0]["args"][0]["verdict"], "live");
    assert_eq!(marks[2]["sites"][0]["inlined"][0]["function"], "weight");
}

/// LLVM describes the parameter in the frame for all of the function, which stores it there behind its
/// entry.
const KEPT: &str = "\
#[inline(never)]
fn kept(value: &u64) {
    println!(\"{value:?}\");
}

fn main() {
    kept(std::hint::black_box(&5));
}
";

#[test(cases = ["0", "3"])]
fn a_parameter_is_not_in_the_frame_before_it_is_stored(level: &str) {
    let name = format!("kept-parameter-{level}");
    let fixture = fixture::Fixture::new(&name).file("src/main.rs", KEPT);
    let flags = ["-g".to_owned(), format!("-Copt-level={level}")];
    fixture::succeeds_silently(&mut fixture.rustc(&flags.each_ref().map(String::as_str)));
    let markers = listed(&["--mark", "kept() \"%p\", value"], &fixture.built(&name));
    // Without optimisation the place is behind the prologue.
    let expected = if level == "0" { "live" } else { "lost" };
    assert_eq!(markers[0]["sites"][0]["args"][0]["verdict"], expected);
}

#[test]
fn what_has_no_place_is_told() {
    if find("gcc").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let one =
        "static __attribute__((noinline)) int work(int x) { return x + 1; }\nint one(int x) { return work(x); }\n";
    let other = "static __attribute__((noinline)) int work(int x) { return x * 2; }\nint one(int);\n\
        int main(void) { return work(one(1)); }\n";
    let files = [("a/part.c", one), ("b/part.c", other)];
    let program = compiled(folder.path(), "gcc", &["-O1"], &files);
    let told = |mark: &str| {
        let ended = smark(&["list", "--mark", mark], &program);
        (ended.status, ended.stderr)
    };
    let folder = folder.path().display();
    assert_eq!(
        told("work()"),
        (
            1,
            format!(
                "smark: mark work(): it may be one of several functions: {folder}/a/part.c:1:work(), \
                 {folder}/b/part.c:1:work()\n"
            )
        )
    );
    // As it says.
    for mark in ["a/part.c:1:work()", "b/part.c:work()", "work*()", "b/part.c:1"] {
        assert_eq!(told(mark), (0, String::new()), "{mark}");
    }
    let (status, said) = told("part.c:1");
    assert_eq!(status, 1);
    assert!(said.starts_with("smark: mark part.c:1: several files agree equally well with its file: "), "{said}");
    assert_eq!(told("none()").1, "smark: mark none(): the debug information has no such function\n");
    assert_eq!(told("none.c:1").1, "smark: mark none.c:1: the debug information has no such file\n");
    let (status, said) = told("a.c:1 \"%d\"");
    assert_eq!(status, 2);
    assert!(said.contains("the format takes 1 argument, and 0 are given"), "{said}");
    // Symbols and code are enough for marks without values.
    run(Command::new("strip").arg("-g").arg(&program));
    assert_eq!(told("one()"), (0, String::new()));
    assert_eq!(told("one() return"), (0, String::new()));
    let only = "only a symbol describes the function: without debug information a mark on it can have no arguments";
    assert_eq!(told("one() \"%d\", x").1, format!("smark: mark one(): {only}\n"));
    assert_eq!(told("one() return \"%d\", $return").1, format!("smark: mark one() return: {only}\n"));
    assert_eq!(told("one.c:1").1, "smark: mark one.c:1: there is no debug information\n");
}

#[test]
fn functions_of_one_line_and_aliases_are_functions() {
    if find("gcc").is_none() {
        return;
    }
    let source = "#define TWO int pair_one(int x) { return x + 1; } int pair_two(int x) { return x + 2; }\nTWO\n\
        int other(int x) { return x + 3; }\nint renamed(int) __attribute__((alias(\"other\")));\n\
        int main(void) { return pair_one(pair_two(renamed(1))) - 7; }\n";
    let folder = tempfile::tempdir().expect("a folder");
    let program = compiled(folder.path(), "gcc", &["-O0"], &[("pair.c", source)]);
    let marks = listed(&["--mark", "pair_*() return \"%d\", $return", "--mark", "renamed() return"], &program);
    let found: Vec<_> =
        marks.iter().map(|mark| (mark["name"].clone(), mark["sites"].as_array().map(Vec::len))).collect();
    let expected = ["pair_one() return", "pair_two() return", "renamed() return"];
    assert_eq!(found, expected.map(|name| (name.into(), Some(1))));
    assert_eq!(marks[2]["sites"][0]["exactness_reason"], "mark_leaves");
}

#[test]
fn marks_come_from_a_file_too() {
    if find("gcc").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compiled(folder.path(), "gcc", &["-O1"], &[("queue.c", QUEUE)]);
    let path = folder.path().join("places");
    std::fs::write(&path, "# What happens to a queue.\nqueue.c:10\n\n  submit() \"%ld\", tag\n").expect("written");
    let names: Vec<String> = listed(&["--marks", path.to_str().expect("UTF-8")], &program)
        .iter()
        .map(|mark| mark["name"].as_str().expect("a name").to_owned())
        .collect();
    assert_eq!(names, ["queue.c:10", "submit()"]);
    std::fs::write(&path, "queue.c:10\nqueue.c:x\n").expect("written");
    let ended = smark(&["list", "--marks", path.to_str().expect("UTF-8")], &program);
    let said = format!("{}:2:1: it names no place: write FILE:LINE or FUNCTION()", path.display());
    assert!(ended.stderr.contains(&said), "{}", ended.stderr);
}

#[test]
fn variables_at_a_line_are_listed_with_better_lines() {
    const LOST: &str = "\
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int size = atoi(argv[argc - 1]);
    int twice = size * 2;
    printf(\"%d\\n\", twice);
    puts(argv[0]);
    puts(\"end\");
    return 0;
}
";
    if find("gcc").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compiled(folder.path(), "gcc", &["-O2"], &[("lost.c", LOST)]);
    let said = smark(&["list", "--at", "lost.c:8"], &program).success();
    let words: Vec<Vec<&str>> = said.lines().map(|line| line.split_whitespace().collect()).collect();
    let has = |start: &[&str]| words.iter().any(|words| words.starts_with(start));
    for name in ["argc", "argv", "size", "twice"] {
        assert!(has(&[name]), "{name}: {said}");
    }
    assert!(has(&["twice", "lost:"]), "{said}");
    // Where it is printed it can be read.
    let (_, better) = said.split_once("lines nearby where more can be read:\n").expect(&said);
    assert!(better.lines().any(|line| line.starts_with("  lost.c:6  ")), "{said}");
    let json = smark(&["list", "--at", "lost.c:8", "--json"], &program).success();
    let document: Json = serde_json::from_str(&json).expect("JSON");
    let names: Vec<&str> = document["images"][0]["markers"][0]["args"]
        .as_array()
        .expect("arguments")
        .iter()
        .filter_map(Json::as_str)
        .collect();
    assert_eq!(names, ["argc", "argv", "size", "twice"]);
    assert_eq!(smark(&["list", "--at", "none.c:8"], &program).status, 1);
    assert_eq!(smark(&["list", "--at", "lost.c"], &program).status, 2);
}

#[test]
fn a_check_holds_marks_over_releases() {
    if find("gcc").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compiled(folder.path(), "gcc", &["-O1"], &[("queue.c", QUEUE)]);
    let lock = folder.path().join("marks.lock");
    let places = folder.path().join("places");
    std::fs::write(&places, "submit() \"%ld\", tag\nqueue_drain()\n").expect("written");
    let (lock, places) = (lock.to_str().expect("UTF-8"), places.to_str().expect("UTF-8"));
    let check = |more: &[&str]| {
        smark(&[&["check", "--deny", "baseline", "--lock", lock, "--marks", places], more].concat(), &program)
    };
    assert_eq!(check(&["--update"]).status, 0, "{}", std::fs::read_to_string(lock).unwrap_or_default());
    assert_eq!(check(&[]).status, 0);
    // A release without one of the functions, and with one that is called otherwise.
    let changed = QUEUE.replace("long tag", "long number").replace("(int)tag", "(int)number");
    let drained = changed.replace("    queue_drain(&queue);\n", "");
    let (head, tail) = drained.split_once("__attribute__((noinline)) void queue_drain").expect("the function");
    let without = format!("{head}{}", tail.split_once('\n').expect("its line").1);
    compiled(folder.path(), "gcc", &["-O1"], &[("queue.c", &without)]);
    let ended = check(&[]);
    assert_eq!(ended.status, 1);
    assert!(
        ended.stderr.contains("mark queue_drain(): the debug information has no such function"),
        "{}",
        ended.stderr
    );
    let said = &ended.stdout;
    assert!(said.contains("queue_drain() is gone"), "{said}");
    assert!(said.contains("`tag` is absent"), "{said}");
    // The help names no macro: there is none.
    assert!(said.contains("`smark list --at ") && said.contains("queue.c:5` says which variables"), "{said}");
    assert!(!said.contains("simple_mark_"), "{said}");
}
