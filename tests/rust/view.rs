//! `smark view` on a terminal shows what `smark report` says, and leaves the terminal as it was.

mod screen;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value as Json;
use simple_markers_tests::fixture;
use simple_markers_tests::tools::{self, find};
use simple_markers_tests::watched::{can_watch, compile};

use self::screen::OnScreen;

/// Requests of two threads that overlap, with a text that would change a terminal, and a whole value.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "simple_marker.h"
struct request { unsigned tag; unsigned sizes[3]; };
__attribute__((noinline)) void submit(unsigned tag, const char *name, struct request *request) {
    simple_mark_keep(queue:submit, "request %u from %s as %p{}", tag, name, request);
    __asm__ volatile("" :: "r"(request) : "memory");
}
__attribute__((noinline)) void complete(unsigned tag) { simple_mark_keep(queue:complete, "request %u", tag); }
static int rounds;
static void *run(void *first) {
    for (unsigned i = 0; i < rounds; i += 2) {
        unsigned tag = (unsigned)(long)first + 10 * i;
        struct request one = { tag, { 1, 2, tag } }, other = { tag + 10, { 3, 4, tag + 10 } };
        submit(tag, "al\x1b[31mice\n", &one);
        submit(tag + 10, "bob", &other);
        complete(tag);
        complete(tag + 10);
    }
    return 0;
}
int main(int count, char **arguments) {
    rounds = atoi(arguments[1]);
    pthread_t other;
    pthread_create(&other, 0, run, (void *)1);
    pthread_join(other, 0);
    run((void *)2);
    return 0;
}
"#;

/// `smark` with the feature.
fn smark() -> &'static Path {
    static SMARK: LazyLock<PathBuf> = LazyLock::new(|| fixture::smark_with("view"));
    &SMARK
}

/// The lines of `smark report`, its exit status, and what it prints to stderr.
fn report(recording: &Path, options: &[&str]) -> (Vec<String>, i32, String) {
    let Output { status, stdout, stderr } =
        tools::output(Command::new(smark()).arg("report").args(options).arg(recording));
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(stdout).lines().map(str::to_owned).collect(), status.code().expect("an exit status"), text(stderr))
}

/// The program has an even number of rounds, each with two threads.
const ROUNDS: usize = 50;

/// A recording of the program; `None` if this machine does not let us make or show it.
fn recording(folder: &Path) -> Option<PathBuf> {
    if !can_watch() || find("setsid").is_none() {
        return None;
    }
    let program = compile(folder, "queue", PROGRAM, &[]);
    let recording = folder.join("trace");
    let mut record = Command::new(smark());
    record.args(["record", "-o"]).arg(&recording).arg("--").arg(&program).arg(ROUNDS.to_string());
    tools::run(&mut record);
    Some(recording)
}

/// The hits of `smark report --json`.
fn hits(recording: &Path) -> Vec<Json> {
    let (lines, ..) = report(recording, &["--json"]);
    let objects = lines.iter().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
    objects.filter(|line| line.get("marker").is_some()).collect()
}

fn view(recording: &Path, options: &[&str], size: (u16, u16)) -> OnScreen {
    let mut command = Command::new("setsid");
    // Sources are named by their absolute paths.
    command.arg("--ctty").arg(smark()).arg("view").arg(recording).args(options);
    OnScreen::start(command.env_remove("NO_COLOR"), size)
}

fn value<'h>(hit: &'h Json, argument: &str) -> &'h Json {
    let all = hit["args"].as_array().expect("arguments");
    &all.iter().find(|it| it["text"] == argument).unwrap_or_else(|| panic!("{hit}"))["value"]
}

fn tag(hit: &Json) -> u64 {
    value(hit, "tag").as_u64().expect("a number")
}

/// Whether the screen has a line that begins with this and has it behind it.
fn has_line(screen: &str, begin: &str, text: &str) -> bool {
    screen.lines().any(|line| line.starts_with(begin) && line.contains(text))
}

#[test]
fn the_screen_shows_what_report_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(recording) = recording(folder.path()) else { return };
    let hits = hits(&recording);
    assert_eq!(hits.len(), 4 * ROUNDS);
    let (lines, ..) = report(&recording, &[]);
    let mut view = view(&recording, &["--time", "queue:submit..queue:complete", "--key", "tag"], (80, 50));
    let screen = view.wait_for_text("details of hit 1 ");
    assert!(screen.contains(&format!("{} hits in ", hits.len())), "{screen}");
    // The list has the lines of `smark report`, as far as they fit.
    for line in &lines[..5] {
        let text = &line[line.find("queue:").expect("a marker")..];
        let text: String = text.chars().take(80 - 29).collect();
        assert!(screen.contains(text.trim_end()), "{text}: {screen}");
    }
    // The threads are rows, with a bar from the first of each pair to the second.
    let threads: Vec<String> = hits.iter().map(|hit| format!("queue {}", thread(hit))).collect();
    for thread in [&threads[0], &threads[hits.len() - 1]] {
        assert!(has_line(&screen, thread, "") && screen.contains("queue:submit.."), "{thread}: {screen}");
    }
    // The details.
    let shown = |screen: &str, number: usize| {
        let hit = &hits[number];
        let own = hit["args"].as_array().expect("arguments").iter().all(|argument| {
            let (name, value) = (argument["text"].as_str().expect("a text"), &argument["value"]);
            name == "request" || has_line(screen, &format!("  {name} "), &value.to_string())
        });
        own && screen.contains(&format!("details of hit {}", number + 1))
    };
    assert!(shown(&screen, 0), "{screen}");
    assert_eq!(value(&hits[0], "name"), "al\u{1b}[31mice\n");
    assert!(screen.contains(r#""al\u001b[31mice\n""#), "{screen}");
    let sizes = &value(&hits[0], "request")["members"];
    assert!(
        has_line(&screen, "  request", &format!("tag = {}, sizes = {{1, 2, {}}}", tag(&hits[0]), tag(&hits[0]))),
        "{screen} {sizes}"
    );
    assert!(screen.contains("queue.c:8 in submit"), "{screen}");
    assert!(has_line(&screen, "> ", " 8 |     simple_mark_keep(queue:submit,"), "{screen}");
    assert!(!view.bytes().contains("\u{1b}[31mice"));

    // Keys: down, the end, the other hit of the pair, the next of the marker and of the thread.
    view.keys("j");
    view.wait_for("hit 2", |screen| shown(screen, 1));
    view.keys("p");
    let number = (2..).find(|number| tag(&hits[*number]) == tag(&hits[1])).expect("the other one");
    let took = view.wait_for("the other hit of the pair", |screen| shown(screen, number));
    assert!(has_line(&took, "pair ", "since hit 2"), "{took}");
    view.keys("m");
    let number = (number + 1..).find(|it| hits[*it]["marker"] == hits[number]["marker"]).expect("another one");
    view.wait_for("the next hit of the marker", |screen| shown(screen, number));
    view.keys("\u{1b}[F");
    view.wait_for("the last hit", |screen| shown(screen, hits.len() - 1));
    view.keys("T");
    let own = |hit: &Json| thread(hit) == thread(&hits[hits.len() - 1]);
    let number = (0..hits.len() - 1).rfind(|it| own(&hits[*it])).expect("an earlier one");
    view.wait_for("the hit before of the thread", |screen| shown(screen, number));

    // A text, in both directions.
    let text = format!("request {}", 10 * (ROUNDS - 1) + 2);
    let found: Vec<usize> = (0..lines.len()).filter(|number| lines[*number].contains(&text)).collect();
    assert_eq!(found.len(), 2);
    view.keys("\u{1b}[H");
    view.keys(&format!("/{}\r", text.to_uppercase()));
    view.wait_for("the match", |screen| shown(screen, found[0]));
    view.keys("n");
    view.wait_for("the next match", |screen| shown(screen, found[1]));
    view.keys("N");
    view.wait_for("the match before", |screen| shown(screen, found[0]));
    view.keys("/nothing\r");
    view.wait_for_text("no hit has `nothing`");

    // A filter, one with an error, and none.
    let chosen = hits.iter().filter(|hit| tag(hit) > 400).count();
    view.keys("ftag > 400\r");
    view.wait_for_text(&format!("{chosen} of {} hits", hits.len()));
    let screen = view.wait_for_text(&format!("of {chosen}  of tag > 400"));
    view.keys("f &&\r");
    let wrong = view.wait_for_text("is missing here");
    assert_eq!(
        wrong.lines().find(|line| line.starts_with("hit ")),
        screen.lines().find(|line| line.starts_with("hit "))
    );
    view.keys("f");
    view.keys(&"\u{7f}".repeat("tag > 400".len()));
    view.keys("\r");
    view.wait_for("all hits", |screen| {
        screen.lines().any(|line| line.starts_with("hit ") && line.trim_end().ends_with(&format!(" of {}", hits.len())))
    });

    // A smaller terminal, and help.
    view.resize(40, 10);
    view.wait_for("one pane", |screen| !screen.contains("details of hit") && screen.contains("hit "));
    view.keys("\t");
    view.wait_for_text("details of hit");
    view.keys("?");
    view.wait_for_text("zoom in, out, show all");
    view.keys("q");
    let (status, screen) = view.end();
    assert_eq!((status, screen.trim()), (Some(0), ""));
}

/// The numbers of the process and the thread, as lines have them.
fn thread(hit: &Json) -> String {
    let (process, thread) = (&hit["pid"], &hit["tid"]);
    if process == thread { process.to_string() } else { format!("{process}/{thread}") }
}

/// Spans, with a number that JSON has as a text.
const SPANS: &str = r#"
#include "simple_marker.h"
#include "simple_span.h"
__attribute__((noinline)) void query(unsigned long n) {
    simple_span(db:query, "query %lu", n);
    __asm__ volatile("nop");
}
int main(void) {
    for (unsigned long i = 0; i < 5; i++) query(-1ul - i);
    return 0;
}
"#;

#[test]
fn spans_are_pairs_and_stacks_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    if !can_watch() || find("setsid").is_none() {
        return;
    }
    let program = compile(folder.path(), "spans", SPANS, &["-fno-omit-frame-pointer"]);
    let recording = folder.path().join("trace");
    let mut record = Command::new(smark());
    tools::run(record.args(["record", "--stack", "-o"]).arg(&recording).arg("--").arg(&program));
    let hits = hits(&recording);
    let names: Vec<&str> = hits.iter().map(|hit| hit["marker"].as_str().expect("a name")).collect();
    assert_eq!(names, ["db:query_begin", "db:query_end"].repeat(5));
    let mut view = view(&recording, &[], (80, 50));
    let screen = view.wait_for_text("details of hit 1 ");
    assert_eq!(value(&hits[0], "n"), &u64::MAX.to_string());
    assert!(
        has_line(&screen, "  n ", &u64::MAX.to_string()) && !screen.contains(&format!("\"{}", u64::MAX)),
        "{screen}"
    );
    assert!(has_line(&screen, "pair ", "to hit 2") && screen.contains('┴') && screen.contains('─'), "{screen}");
    // The frames from the innermost on.
    let from = screen.lines().position(|line| line.trim_end() == "stack").expect("a stack");
    let frames = hits[0]["stack"].as_array().expect("frames").iter().flat_map(|frame| frame["functions"].as_array());
    let functions: Vec<&str> = frames.flatten().map(|it| it["function"].as_str().expect("a name")).collect();
    assert_eq!(functions[0], "query");
    for (line, function) in screen.lines().skip(from + 1).zip(&functions) {
        assert!(line.starts_with(&format!("  {function} ")), "{line}");
    }
    view.keys("p");
    view.wait_for("the end of the span", |screen| {
        has_line(screen, "pair ", "since hit 1") && screen.contains("of hit 2")
    });
    view.keys("q");
    assert_eq!(view.end().0, Some(0));
}

#[test]
fn the_terminal_is_as_before_at_every_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(recording) = recording(folder.path()) else { return };
    // A signal.
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        let view = view(&recording, &[], (80, 24));
        view.wait_for_text("details of hit 1 ");
        kill(Pid::from_raw(i32::try_from(view.id()).expect("a pid")), signal).expect("it runs");
        assert_eq!(view.end().0, Some(0));
    }
    // No colour.
    let mut plain = view(&recording, &["--color", "never"], (80, 24));
    let mut colour = view(&recording, &[], (80, 24));
    for view in [&mut plain, &mut colour] {
        view.wait_for_text("details of hit 1 ");
        view.keys("jjjmt+-q");
    }
    let has_colour = |view: &OnScreen| (31..38).any(|number| view.bytes().contains(&format!(";{number}m")));
    assert_eq!((has_colour(&plain), has_colour(&colour)), (false, true));
    assert_eq!((plain.end().0, colour.end().0), (Some(0), Some(0)));
    // A recording that is cut off in a packet: the hits of the packets before, and what `smark report` says.
    let stream = recording.join("stream");
    let bytes = fs::read(&stream).expect("the stream");
    let more = [&bytes[..], &bytes[..bytes.len() - 5]].concat();
    fs::write(&stream, more).expect("the stream");
    fs::remove_file(recording.join("smark/end.json")).expect("the end");
    let (_, status, errors) = report(&recording, &["--json"]);
    let mut damaged = view(&recording, &[], (200, 24));
    let screen = damaged.wait_for_text("details of hit 1 ");
    let error = errors.lines().next().expect("an error").strip_prefix("smark: ").expect("an error");
    assert!(screen.contains(error), "{error}: {screen}");
    damaged.keys("q");
    let (own, screen) = damaged.end();
    assert_eq!((own, status), (Some(2), 2));
    let said: Vec<&str> = errors.lines().collect();
    assert_eq!(screen.trim().lines().map(str::trim_end).collect::<Vec<_>>(), said);
}

#[test]
fn without_a_terminal_it_says_what_else_there_is() {
    let mut command = Command::new(smark());
    let output = tools::output(command.args(["view", "/nothing"]).stdin(Stdio::null()));
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(
        said,
        "smark: view: standard input is no terminal; smark report prints the hits of a recording, and makes a page of them with --to html\n"
    );
}
