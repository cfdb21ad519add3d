//! Whole values are watched: what `%p{}` shows is what the program prints.

use std::fs;
use std::process::Command;

use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, Fixture};
use simple_markers_tests::own_views;
use simple_markers_tests::tools::{ended, run};
use simple_markers_tests::watched::{can_watch, can_watch_with_tracefs, compile};
use simple_markers_tests::whole_values::{self, Comparison, CompiledLanguage};

use crate::trace::trace;

/// The values that a program has are those that it prints: numbers, texts, references, enumerations
/// with niches, collections.
#[test(cases = ["0", "3"], desk = [1])]
fn a_whole_value_is_what_the_program_prints(level: &str) {
    if !can_watch() {
        return;
    }
    let source = whole_values::rust(1, 60, 10);
    let name = format!("whole-values-{level}");
    let fixture = Fixture::new(&name).file("src/main.rs", &source);
    fixture::succeeds_silently(fixture.rustc(&[&format!("-Copt-level={level}")]).env("RUSTFLAGS", "-g"));
    let all = whole_values::compare(&fixture.built(&name), "bpf");
    assert!(all.different.is_empty(), "{:#?}", all.different);
    assert_eq!(all.same + all.cut, 600);
    assert!(all.same > 500, "{} of 600 values were cut", all.cut);
}

/// Without BPF the kernel copies less. What is shown is what the program prints.
#[test(cases = ["c gcc 3", "c++ g++ 0"], desk = [0])]
fn a_whole_value_that_tracefs_reads_is_what_the_program_prints(how: &str) {
    let (language, how) = how.split_once(' ').expect("a language, a compiler and a level");
    let (compiler, level) = how.split_once(' ').expect("a compiler and a level");
    let (of, source) = match language {
        "c" => (CompiledLanguage::C, whole_values::c(1, 30, 10)),
        _ => (CompiledLanguage::Cpp, whole_values::cpp(7, 15, 20)),
    };
    let folder = tempfile::tempdir().expect("a folder");
    if !can_watch_with_tracefs() {
        return;
    }
    let Some(program) = whole_values::compiled(of, compiler, level, &source, folder.path()) else { return };
    let all = whole_values::compare(&program, "tracefs");
    // If all bytes of a value are zero, only what is beside it shows that it was read.
    let different = all.different.iter().filter(|[shown, _]| !shown.ends_with(": <unreadable>"));
    assert_eq!(different.collect::<Vec<_>>(), Vec::<&[String; 2]>::new());
    assert!(all.different.len() < 10, "{:#?}", all.different);
    assert_eq!(all.same + all.cut + all.lost + all.different.len(), 300);
    assert!(all.same > 150, "{} of 300 values were the same", all.same);
}

/// The same for C: bit-fields, packed structures, unions, pointers, also to the value itself.
#[test(cases = ["gcc 0", "gcc 3", "clang 0", "clang 2"], desk = [3])]
fn a_whole_value_of_c_is_what_the_program_prints(how: &str) {
    let Some(all) = compared(CompiledLanguage::C, how, &whole_values::c(100, 30, 10)) else { return };
    assert_eq!(all.same + all.cut + all.lost, 300);
    assert!(all.same > 250, "{} of 300 values were the same", all.same);
}

/// The same for the types of the C++ library.
#[test(cases = ["g++ 0", "clang++ 2", "libc++ 0"], desk = [0])]
fn a_whole_value_of_cpp_is_what_the_program_prints(how: &str) {
    let Some(all) = compared(CompiledLanguage::Cpp, how, &whole_values::cpp(7, 8, 20)) else { return };
    assert_eq!(all.same + all.cut + all.lost, 160);
    assert!(all.same > 120, "{} of 160 values were the same", all.same);
}

/// Compiles and watches a program. Nothing differs. `None` if that is not possible here.
fn compared(language: CompiledLanguage, how: &str, source: &str) -> Option<Comparison> {
    let (compiler, level) = how.split_once(' ').expect("a compiler and a level");
    let folder = tempfile::tempdir().expect("a folder");
    if !can_watch() {
        return None;
    }
    let program = whole_values::compiled(language, compiler, level, source, folder.path())?;
    let all = whole_values::compare(&program, "bpf");
    assert!(all.different.is_empty(), "{:#?}", all.different);
    Some(all)
}

/// Deques whose first element is anywhere in a block, and that go on in the next one.
const DEQUES: &str = r#"
#include <cstdio>
#include <deque>
#include <string>
#include <utility>
#include "simple_marker.h"
static void print(int number) { printf("%d", number); }
static void print(const std::string &text) { printf("%c%s%c", '"', text.c_str(), '"'); }
template <class T> static void say(const std::deque<T> &all) {
    const char *separator = "";
    printf("whole:deque: {");
    for (const auto &one : all) printf("%s", separator), print(one), separator = ", ";
    puts("}");
}
__attribute__((noinline)) static void marked(const std::deque<int> *value) {
    say(*value);
    simple_mark(whole:deque, "%p{}", value);
    __asm__ volatile("" : : "r"(value) : "memory");
}
__attribute__((noinline)) static void marked(const std::deque<std::string> *value) {
    say(*value);
    simple_mark(whole:deque, "%p{}", value);
    __asm__ volatile("" : : "r"(value) : "memory");
}
int main() {
    for (auto [first, end] : {std::pair<int, int>{0, 0}, {0, 3}, {125, 130}, {1020, 1030}, {1023, 1025}, {1024, 1027}, {5110, 5125}}) {
        std::deque<int> made;
        for (int i = 0; i < end; i++) made.push_back(i);
        for (int i = 0; i < first; i++) made.pop_front();
        marked(&made);
    }
    std::deque<std::string> made;
    for (int i = 0; i < 7; i++) made.push_front("front " + std::to_string(i));
    marked(&made);
    for (int i = 0; i < 300; i++) {
        made.push_back("text " + std::to_string(i));
        if (made.size() > 5) made.pop_front();
        if (i % 43 == 0) marked(&made);
    }
}
"#;

#[test(cases = ["g++ 1", "libc++ 1"], desk = [1])]
fn deques_are_read_where_their_elements_are(how: &str) {
    let (compiler, level) = how.split_once(' ').expect("a compiler and a level");
    let folder = tempfile::tempdir().expect("a folder");
    if !can_watch() {
        return;
    }
    let of = CompiledLanguage::Cpp;
    let Some(program) = whole_values::compiled(of, compiler, level, DEQUES, folder.path()) else { return };
    let lines = trace(&[], &[&program]);
    let (said, printed): (Vec<String>, Vec<String>) = lines.into_iter().partition(|line| !line.starts_with("whole:"));
    let said: Vec<&str> = said.iter().map(|line| &line[line.find("whole:").expect("a hit")..]).collect();
    assert_eq!(printed.len(), 15);
    assert_eq!(said, printed);
}

/// Members of types of the C++ library, each with a filter and the hits that it leaves.
const CPP_MEMBERS: &str = r#"
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include "simple_marker.h"
struct Inner { int id; std::string name; };
struct Request {
    int turn;
    std::pair<int, std::string> pair;
    std::tuple<int, Inner> tuple;
    std::variant<int, std::string, Inner> variant;
    std::function<int(int)> callback;
    Inner &reference;
    const int &number;
    std::unique_ptr<Inner> owned;
};
__attribute__((noinline)) static void submit(Request *request) {
    simple_mark(where:request, "%p{turn}", request);
    __asm__ volatile("" : : "r"(request) : "memory");
}
int main() {
    Inner inner{7, "seven"};
    for (int i = 0; i < 6; i++) {
        Request request{i, {i, "p" + std::to_string(i)}, {i, {i, "t"}}, i, nullptr, inner, i, nullptr};
        if (i % 3 == 1) request.variant = std::string("text");
        if (i % 3 == 2) request.variant = Inner{i, "v"};
        if (i == 4) request.callback = [](int n) { return n; };
        if (i > 3) request.owned.reset(new Inner{i, "o"});
        submit(&request);
    }
}
"#;

#[test(cases = ["g++ 1", "libc++ 1"], desk = [])]
fn members_of_types_of_cpp_are_filtered(how: &str) {
    let (compiler, level) = how.split_once(' ').expect("a compiler and a level");
    let folder = tempfile::tempdir().expect("a folder");
    if !can_watch() {
        return;
    }
    let of = CompiledLanguage::Cpp;
    let Some(program) = whole_values::compiled(of, compiler, level, CPP_MEMBERS, folder.path()) else { return };
    for (filter, expected) in [
        ("request.pair.first == 3", &[3][..]),
        ("request.tuple.0 > 3", &[4, 5]),
        ("request.tuple.1.id == 1", &[1]),
        ("request.variant.0 == 3", &[3]),
        ("request.variant.2.id == 5", &[5]),
        ("request.callback != nullptr", &[4]),
        ("request.callback == nullptr && request.turn > 3", &[5]),
        ("request.reference.id == 7 && request.turn < 2", &[0, 1]),
        ("request.number == 2", &[2]),
        ("request.owned.id == 5", &[5]),
        ("request.pair.second == \"p2\"", if compiler == "libc++" { &[] } else { &[2] }),
    ] {
        if expected.is_empty() {
            let mut smark = Command::new(fixture::smark());
            let output = smark.args(["trace", "--where", filter, "--"]).arg(&program).output().expect("smark runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains("only numbers and texts can be compared"), "{said}");
            continue;
        }
        let lines = trace(&["--where", filter], &[&program]);
        let turns = lines.iter().filter_map(|line| line.split_once("{turn = ")?.1.trim_end_matches('}').parse().ok());
        assert_eq!(turns.collect::<Vec<i32>>(), expected, "{filter}");
    }
}

/// A value with a text, bits, an enumerator, a pointer and arrays; a request that is not there; and texts
/// and lengths that are none.
const REQUESTS: &str = r#"
#include <stdlib.h>
#include <string.h>
#include "simple_marker.h"

enum state { IDLE, BUSY, GONE };
struct owner { char *name; unsigned id : 5, flag : 1; };
struct request { long tag; struct owner owner; enum state state; struct owner *next; double load; char text[8]; int codes[3]; };

__attribute__((noinline)) void submit(struct request *request) {
    simple_mark(whole:request, "%p{} %p{tag, owner.name} %p{**}", request, request, request);
    __asm__ volatile ("" : : "r"(request) : "memory");
}

int main(void) {
    struct owner next = { "next", 31, 1 };
    struct request *request = calloc(1, sizeof *request);
    request->tag = -5;
    request->owner = (struct owner){ "alice", 7, 0 };
    request->state = BUSY;
    request->next = &next;
    request->load = 0.1;
    strcpy(request->text, "a\"b");
    request->codes[2] = -1;
    submit(request);
    request->owner.name = (char *)8;
    request->state = 9;
    request->next = 0;
    submit(request);
    submit(0);
    return 0;
}
"#;

/// What follows the name of the marker in the lines of its hits, without addresses.
fn shown(lines: &[String]) -> Vec<String> {
    let shown = lines.iter().filter_map(|line| line.split_once("whole:request: "));
    let address = |word: &str| word.starts_with("0x") && word.trim_end_matches([',', '}']).len() > 5;
    let words = shown.map(|(_, text)| text.split(' ').filter(|word| !address(word)).collect::<Vec<_>>().join(" "));
    words.collect()
}

#[test]
fn a_structure_of_c_is_shown_live_by_plan_and_from_a_recording() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "requests", REQUESTS, &["-Wl,--build-id"]);
    let all =
        "state = BUSY, next = {name = \"next\", id = 31, flag = 1}, load = 0.1, text = \"a\\\"b\", codes = {0, 0, -1}}";
    let first = format!(
        "{{tag = -5, owner = {{name = \"alice\", id = 7, flag = 0}}, state = BUSY, next = load = 0.1, text = \"a\\\"b\", \
         codes = {{0, 0, -1}}}} {{tag = -5, owner = {{name = \"alice\"}}}} \
         {{tag = -5, owner = {{name = \"alice\", id = 7, flag = 0}}, {all}"
    );
    let live = shown(&trace(&[], &[&program]));
    assert_eq!(live.len(), 3, "{live:#?}");
    assert_eq!(live[0], first);
    assert!(live[1].contains("owner = {name = 0x8, id = 7, flag = 0}, state = BUSY|0x8, next = 0x0,"), "{}", live[1]);
    assert_eq!(live[2], "<unreadable> <unreadable> <unreadable>");
    let (plan, trace_folder) = (folder.path().join("plan"), folder.path().join("recorded"));
    let smark = || Command::new(fixture::smark());
    run(smark().args(["plan", "-o"]).args([&plan, &program]));
    let stripped = folder.path().join("stripped");
    run(Command::new("strip").arg("-o").args([&stripped, &program]));
    let by_plan = trace(&["--plan", plan.to_str().expect("UTF-8")], &[&stripped]);
    assert_eq!(shown(&by_plan), live);
    ended(smark().arg("record").arg("-o").arg(&trace_folder).arg("--").arg(&program)).success();
    fs::remove_file(&program).expect("it is removed");
    let reported = ended(smark().arg("report").arg(&trace_folder)).lines();
    assert_eq!(shown(&reported), live);
    let json = ended(smark().args(["report", "--json"]).arg(&trace_folder)).lines();
    let hit: Json = serde_json::from_str(&json[0]).expect("JSON");
    let value = &hit["args"][1]["value"];
    assert_eq!(*value, serde_json::json!({ "tag": -5, "owner": { "name": "alice" } }), "{value}");
}

/// Prints and marks collections of each kind: empty, with one element, with rings that go on at their
/// beginning, and with trees of several levels.
const COLLECTIONS: &str = r#"use simple_markers::simple_mark;
use std::collections::*;
use std::hint::black_box;
use std::time::Duration;

#[allow(dead_code)]
#[derive(Debug)]
struct All {
    map: HashMap<String, u32>,
    set: HashSet<u16>,
    texts: BTreeMap<u32, String>,
    large: BTreeMap<u32, u32>,
    ordered: BTreeSet<i8>,
    ring: VecDeque<u64>,
    list: LinkedList<u8>,
    time: Duration,
}

#[inline(never)]
fn show(all: &All) {
    println!("whole:all: {all:?}");
    simple_mark!(whole:all, "%p{}", *all);
    black_box(all);
}

fn main() {
    for count in 0..3u32 {
        let mut ring: VecDeque<u64> = (0..6).collect();
        for more in 0..count {
            ring.pop_front();
            ring.push_back(100 + u64::from(more));
        }
        let all = All {
            map: (0..count).map(|key| (format!("key{key}"), key)).collect(),
            set: (0..count as u16 * 2).collect(),
            texts: (0..count * 2).map(|key| (key, format!("value{key}"))).collect(),
            large: (0..count * 20).map(|key| (key, key * key)).collect(),
            ordered: (0..3).collect(),
            ring,
            list: (0..3).collect(),
            time: Duration::from_millis(1500),
        };
        show(black_box(&all));
    }
}
"#;

#[test(cases = ["0", "3"], desk = [])]
fn collections_of_rust_are_what_the_program_prints(level: &str) {
    if !can_watch() {
        return;
    }
    let name = format!("whole-collections-{level}");
    let fixture = Fixture::new(&name).file("src/main.rs", COLLECTIONS);
    fixture::succeeds_silently(fixture.rustc(&[&format!("-Copt-level={level}")]).env("RUSTFLAGS", "-g"));
    let lines = trace(&["--bytes", "4088", "--elements", "64"], &[&fixture.built(&name)]);
    let (said, printed): (Vec<String>, Vec<String>) = lines.into_iter().partition(|line| !line.starts_with("whole:"));
    let said: Vec<&str> = said.iter().map(|line| &line[line.find("whole:").expect("a hit")..]).collect();
    assert_eq!(printed.len(), 3);
    assert_eq!(said, printed);
}

/// A text that is longer than what is read of it, and one that has no room.
const LONG: &str = r#"
#include <string.h>
#include "simple_marker.h"

struct request { char *name, *other; };

__attribute__((noinline)) void submit(struct request *request) {
    simple_mark(whole:long, "%p{}", request);
    __asm__ volatile ("" : : "r"(request) : "memory");
}

int main(void) {
    static char name[400];
    memset(name, 'a', 300);
    struct request request = { name, "short" };
    submit(&request);
    return 0;
}
"#;

#[test]
fn dots_follow_a_text_that_goes_on() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "long", LONG, &[]);
    let shown = |bytes: &str| {
        let lines = trace(&["--bytes", bytes], &[&program]);
        let (_, text) = lines[0].split_once("whole:long: ").expect("a hit");
        text.split(' ').filter(|word| !word.starts_with("0x")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(shown("1024"), format!("{{name = \"{}\".., other = \"short\"}}", "a".repeat(255)));
    // 16 bytes are left behind the value and the header of the chunk.
    assert_eq!(shown("64"), format!("{{name = \"{}\".., other = ..}}", "a".repeat(15)));
}

/// Views of a user are used live: from the file of an option, and from the settings of a project.
#[test(desk = false)]
fn views_of_a_user_are_watched() {
    if !can_watch() {
        return;
    }
    let fixture = own_views::with_own_types("own-views-watched");
    let program = fixture.built("own-views-watched");
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("smark.views"), own_views::example()).expect("the views");
    fs::write(folder.path().join("smark.toml"), "views = \"smark.views\"\n").expect("the settings");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    for options in [["--views", &path("smark.views")], ["--settings", &path("smark.toml")]] {
        let lines = trace(&[&options[..], &["--bytes", "4088"]].concat(), &[&program]);
        let said: Vec<_> = lines.iter().filter_map(|line| line.split_once(" views:")?.1.split_once(": ")).collect();
        let printed: Vec<_> = lines.iter().map(|line| line.split('\t').collect::<Vec<_>>()).collect();
        let printed: Vec<_> = printed.iter().filter_map(|words| Some((*words.first()?, *words.get(2)?))).collect();
        assert_eq!(printed.len(), 8, "{lines:#?}");
        assert_eq!(said, printed);
    }
}

#[test]
fn a_file_that_has_no_views_is_an_error_with_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let views = folder.path().join("bad.views");
    fs::write(&views, "# Mine\nBytes txt data=ptr\n").expect("the views");
    let of = |views: &std::path::Path| {
        let output = Command::new(fixture::smark()).args(["list", "--views"]).args([views, fixture::smark()]).output();
        let output = output.expect("smark runs");
        (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
    };
    let expected = format!("smark: {}:2:7: there is no kind `txt`; closest: text\n", views.display());
    assert_eq!(of(&views), (Some(2), expected));
    let missing = folder.path().join("no.views");
    assert_eq!(of(&missing), (Some(2), format!("smark: {}: no such file or directory\n", missing.display())));
}

/// The member in a vector register cannot be read by the kernel. The other one can.
#[test]
fn a_member_in_a_vector_register_leaves_the_others() {
    const SOURCE: &str = r#"
#include <stdio.h>
#include "simple_marker.h"
struct span { double ratio; long count; };
__attribute__((noinline)) static double passed(struct span span)
{
    simple_mark(whole:vector, "%p{}", &span);
    return span.ratio + (double)span.count;
}
int main(void)
{
    for (int i = 0; i < 3; i++)
        printf("%g\n", passed((struct span){i + 0.5, i}));
}
"#;
    let folder = tempfile::tempdir().expect("a folder");
    if !can_watch() || !cfg!(target_arch = "x86_64") {
        return;
    }
    let Some(program) = whole_values::compiled(CompiledLanguage::C, "gcc", "1", SOURCE, folder.path()) else { return };
    let shown = |options: &[&str]| {
        let lines = trace(options, &[&program]);
        let values = lines.iter().filter_map(|line| Some(line.split_once("whole:vector: ")?.1.to_owned()));
        values.collect::<Vec<_>>()
    };
    let all: Vec<_> = (0..3).map(|count| format!("{{ratio = <unreadable>, count = {count}}}")).collect();
    assert_eq!(shown(&[]), all);
    assert_eq!(shown(&["--where", "span.count > 0"]), all[1..]);
    let recording = folder.path().join("recording");
    ended(Command::new(fixture::smark()).arg("record").arg("-o").arg(&recording).arg("--").arg(&program)).success();
    let json = ended(Command::new(fixture::smark()).args(["report", "--json"]).arg(&recording)).success();
    let hit: Json = serde_json::from_str(json.lines().next().expect("a hit")).expect("JSON");
    assert_eq!(hit["args"][0]["value"], serde_json::json!({"ratio": {"?": "unread_register"}, "count": 0}));
}

/// Many whole values at one address: of markers with one each, and of one marker. Each leads to others.
const MANY: &str = r#"
#include <stdio.h>
#include "simple_marker.h"

struct node { int tag; struct node *next; const char *name; };

__attribute__((noinline)) static void many(struct node *a, struct node *b) {
    simple_mark(many:a, "%p{**} %p{**} %p{**} %p{**}", a, b, a, b);
    simple_mark(many:b, "%p{**} %p{**} %p{**}", b, a, b);
    simple_mark(many:c, "%p{**}", a);
    simple_mark(many:d, "%p{**} %p{**} %p{**} %p{**} %p{**} %p{**} %p{**} %p{**} %p{**} %p{**}", a, b, a, b, a, b, a, b, a, b);
    __asm__ volatile("" : : "r"(a), "r"(b) : "memory");
}

int main(void) {
    struct node last = {3, 0, "last"}, b = {2, &last, "two"}, a = {1, &b, "one"};
    many(&a, &b);
    return 0;
}
"#;

#[test]
fn many_whole_values_of_one_address_are_read() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "many", MANY, &["-O2"]);
    let json = trace(&["--json", "--bytes", "4088"], &[&program]);
    let hits: Vec<Json> = json.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let named = |hit: &Json| {
        let args = hit["args"].as_array().expect("arguments").iter();
        let names = args.map(|argument| {
            let value = &argument["value"];
            assert_eq!(value["next"]["to"]["tag"].as_i64(), value["tag"].as_i64().map(|tag| tag + 1), "{value}");
            value["name"].as_str().expect("a text").to_owned()
        });
        names.collect::<Vec<_>>().join(" ")
    };
    let shown: Vec<_> = hits.iter().filter(|hit| hit["args"].is_array()).map(named).collect();
    let ten = ["one two"; 5].join(" ");
    assert_eq!(shown, ["one two one two", "two one two", "one", &ten]);
}
