//! `smark count` and `--where` compared with the program's own numbers and with traces without a
//! filter, on which the test evaluates the same filters itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value as Json, json};
use simple_markers_tests::fixture;
use simple_markers_tests::tools::{Choices, output};
use simple_markers_tests::watched::{can_watch, compile};

/// Passes its markers in a way that does not change from run to run, and prints how often.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "simple_marker.h"

struct request { int tag; const char *name; char in_place[8]; };

volatile long sink;

__attribute__((noinline)) void integers(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f, int64_t g,
                                        uint64_t h) {
    simple_mark_keep(n:integers, "%hhd %hhu %hd %hu %d %u %ld %lu", a, b, c, d, e, f, g, h);
}

__attribute__((noinline)) void texts(struct request *request, const char *p, int i) {
    simple_mark_anchor(n:texts, "%d %s %s %s %d", request->tag, request->name, p, request->in_place, i);
    sink = request->tag + request->name[0] + (long)p + request->in_place[0] + request->in_place[7] + i;
}

__attribute__((noinline)) void begin(uint32_t tag) { simple_mark_keep(q:begin, "%u", tag); }
__attribute__((noinline)) void end(uint32_t tag, const char *what) { simple_mark_keep(q:end, "%u %p", tag, what); }

static void pause_us(long us) {
    struct timespec time = {0, us * 1000};
    nanosleep(&time, 0);
}

static void *other(void *unused) {
    for (uint32_t tag = 100; tag < 120; tag++) {
        end(tag, 0);
    }
    return 0;
}

int main(void) {
    static const char *const names[] = {"disk", "net", "", "a text of more than thirty-two bytes, twice",
                                        "a text of more than thirty-two bytes, and not", "a"};
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 1500; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        uint64_t value = i % 50 ? random >> (random & 63) : (uint64_t)(i % 3 - 1) << (i % 64);
        integers((int8_t)value, (uint8_t)(value >> 1), (int16_t)(value >> 3), (uint16_t)value, (int32_t)(value >> 5),
                 (uint32_t)value, i & 1 ? (int64_t)value : -(int64_t)value, value);
        struct request request = {i, names[i % 6], ""};
        strncpy(request.in_place, names[i % 4], sizeof request.in_place);
        texts(&request, i % 11 == 0 ? (const char *)8 : i % 13 == 0 ? 0 : names[i % 3], i);
    }
    if (getenv("WITHOUT_INTERVALS")) {
        return 0;
    }
    // In one thread: 30 times, each of at least 1 ms, and one that is started twice.
    for (uint32_t tag = 0; tag < 30; tag++) {
        begin(tag);
        if (tag == 7) {
            begin(tag);
        }
        pause_us(1000 + tag * 20);
        end(tag, 0);
    }
    end(1000, 0);
    // From thread to thread: 20 times, of at least 20 ms.
    for (uint32_t tag = 100; tag < 121; tag++) {
        begin(tag);
    }
    pause_us(20000);
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    pthread_join(thread, 0);
    printf("n:integers 1500\nn:texts 1500\nq:begin 52\nq:end 51\n");
    return 0;
}
"#;

/// The program, unoptimised and optimised.
pub(crate) fn programs() -> &'static [PathBuf; 2] {
    static PROGRAMS: OnceLock<[PathBuf; 2]> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder").keep();
        [compile(&folder, "slow", PROGRAM, &["-O0"]), compile(&folder, "fast", PROGRAM, &["-O2"])]
    })
}

/// The objects that `smark` prints, what it says on standard error, and its exit status.
fn smark(command: &str, options: &[&str], program: &Path) -> (Vec<Json>, String, Option<i32>) {
    let mut smark = Command::new(fixture::smark());
    if options.contains(&"--name") {
        smark.env("WITHOUT_INTERVALS", "1");
    }
    smark.arg(command).arg("--json").args(options).arg("--").arg(program);
    let output = output(&mut smark);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let objects = text.lines().filter_map(|line| serde_json::from_str(line).ok()).filter(Json::is_object).collect();
    (objects, String::from_utf8(output.stderr).expect("UTF-8"), output.status.code())
}

/// An argument of a hit; `None` if it could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Null,
    Integer(i128),
    Text(String),
}

/// The arguments of a hit by their names.
type Arguments = BTreeMap<String, Option<Value>>;

fn value(of: &Json, is_text: bool) -> Option<Value> {
    match &of["value"] {
        Json::Null if of["why"].is_null() => Some(Value::Null),
        Json::Null => None,
        Json::String(text) if is_text => Some(Value::Text(text.clone())),
        Json::String(text) => Some(Value::Integer(text.parse().expect("an integer"))),
        number => Some(Value::Integer(number.as_i64().expect("an integer").into())),
    }
}

fn arguments(hit: &Json) -> Arguments {
    let of = |of: &Json| {
        let name = of["text"].as_str().expect("a name").to_owned();
        let is_text = TEXTS.contains(&name.as_str());
        (name, value(of, is_text))
    };
    hit["args"].as_array().expect("arguments").iter().map(of).collect()
}

/// The hits of a marker.
fn hits(objects: &[Json], marker: &str) -> Vec<Arguments> {
    objects.iter().filter(|line| line["marker"] == marker).map(arguments).collect()
}

/// The traces of a program without a filter.
fn traced(program: &Path) -> Vec<Json> {
    let (objects, said, status) = smark("trace", &[], program);
    assert_eq!((status, objects.last().map(|end| &end["end"]["lost"])), (Some(0), Some(&json!(0))), "{said}");
    objects
}

const INTEGERS: [(&str, u32, bool); 8] = [
    ("a", 8, true),
    ("b", 8, false),
    ("c", 16, true),
    ("d", 16, false),
    ("e", 32, true),
    ("f", 32, false),
    ("g", 64, true),
    ("h", 64, false),
];
const TEXTS: [&str; 3] = ["request->name", "p", "request->in_place"];

/// A filter of the test, which evaluates it without the tracer.
#[derive(Clone, Debug)]
enum Condition {
    Or(Box<Condition>, Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Not(Box<Condition>),
    Compare(&'static str, &'static str, Right),
}

#[derive(Clone, Debug)]
enum Right {
    Integer(i128),
    Text(String),
    Name(&'static str),
}

const OPERATORS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];

impl Condition {
    fn random(random: &mut Choices, depth: u32, texts: bool, hits: &[Arguments]) -> Self {
        let part = |random: &mut Choices| Box::new(Self::random(random, depth + 1, texts, hits));
        match random.below(if depth < 3 { 6 } else { 3 }) {
            3 => return Self::Or(part(random), part(random)),
            4 => return Self::And(part(random), part(random)),
            5 => return Self::Not(part(random)),
            _ => {}
        }
        if texts && random.below(4) > 0 {
            let name = *random.one(&TEXTS);
            let short = ["disk", "net", "", "dis", "disk2", "a text ", "a \"quoted\" \\ text"];
            let long = ["a text of more than thirty-two bytes, twice", "a text of more than thirty-two bytes, and not"];
            let text = match name != "request->in_place" && random.below(3) == 0 {
                true => *random.one(&long),
                false => *random.one(&short),
            };
            let text = if name == "request->in_place" { text.chars().take(8).collect() } else { text.to_owned() };
            let operator = *random.one(&OPERATORS[..2]);
            return Self::Compare(name, operator, Right::Text(text));
        }
        let (name, bits, signed) = if texts { ("i", 32, true) } else { *random.one(&INTEGERS) };
        if !texts && random.below(4) == 0 {
            let mut other = random.one(&INTEGERS).0;
            while other == name {
                other = random.one(&INTEGERS).0;
            }
            // The types alone would decide some comparisons with ==, but never with these.
            let operator = *random.one(&OPERATORS);
            return Self::Compare(name, operator, Right::Name(other));
        }
        // A value that occurs, so that == is sometimes true, or one next to the ends of the type.
        let (low, high) =
            if signed { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
        let seen = match hits[random.below(hits.len())].get(name) {
            Some(Some(Value::Integer(value))) => *value,
            _ => 0,
        };
        let near = seen + random.below(3) as i128 - 1;
        let number = *random.one(&[seen, seen, near, low + 1, high - 1, low + (high - low) / 2]);
        let operator = *random.one(&OPERATORS);
        Self::Compare(name, operator, Right::Integer(number.clamp(low + 1, high - 1)))
    }

    fn text(&self, random: &mut Choices) -> String {
        match self {
            Self::Or(a, b) => format!("({} || {})", a.text(random), b.text(random)),
            Self::And(a, b) => format!("({}&&{})", a.text(random), b.text(random)),
            Self::Not(a) => format!("!({})", a.text(random)),
            Self::Compare(name, operator, right) => {
                let right = match right {
                    Right::Integer(value) if *value >= 0 && random.below(2) == 0 => format!("{value:#x}"),
                    Right::Integer(value) => value.to_string(),
                    Right::Text(text) => format!("{text:?}"),
                    Right::Name(name) => (*name).to_owned(),
                };
                format!("{name} {operator} {right}")
            }
        }
    }

    /// `None` if an argument that is needed could not be read.
    fn evaluate(&self, of: &Arguments) -> Option<bool> {
        match self {
            Self::Or(a, b) => {
                if a.evaluate(of)? {
                    Some(true)
                } else {
                    b.evaluate(of)
                }
            }
            Self::And(a, b) => {
                if a.evaluate(of)? {
                    b.evaluate(of)
                } else {
                    Some(false)
                }
            }
            Self::Not(a) => Some(!a.evaluate(of)?),
            Self::Compare(name, operator, right) => {
                let left = of[*name].clone()?;
                let right = match right {
                    Right::Integer(value) => Value::Integer(*value),
                    Right::Text(text) => Value::Text(text.clone()),
                    Right::Name(name) => of[*name].clone()?,
                };
                Some(match *operator {
                    "==" => left == right,
                    "!=" => left != right,
                    "<" => left < right,
                    "<=" => left <= right,
                    ">" => left > right,
                    _ => left >= right,
                })
            }
        }
    }
}

#[test(desk = false)]
fn the_kernel_evaluates_filters_as_the_test_does() {
    if !can_watch() {
        return;
    }
    let mut random = Choices::new(0x5eed);
    let rounds = if tools::tries_everything() { 25 } else { 4 };
    let (mut some, mut unfiltered) = (0, 0);
    for program in programs() {
        let trace = traced(program);
        for (marker, is_text) in [("n:integers", false), ("n:texts", true)] {
            let all = hits(&trace, marker);
            assert_eq!(all.len(), 1500);
            for _ in 0..rounds {
                let condition = Condition::random(&mut random, 0, is_text, &all);
                let filter = condition.text(&mut random);
                let results: Vec<_> = all.iter().map(|hit| condition.evaluate(hit)).collect();
                let expected: Vec<_> =
                    all.iter().zip(&results).filter(|(_, result)| **result == Some(true)).map(|(hit, _)| hit).collect();
                let unknown = results.iter().filter(|result| result.is_none()).count();
                let (objects, said, status) = smark("trace", &["--where", &filter, "--name", marker], program);
                if said.contains("always true") || said.contains("never true") {
                    continue;
                }
                let found = hits(&objects, marker);
                assert_eq!(status, Some(0), "{filter}: {said}");
                assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{filter}: {said}");
                let end = &objects.last().expect("the end")["end"];
                assert_eq!(end["unfiltered"], json!(unknown), "{filter}");
                some += usize::from(!expected.is_empty() && expected.len() < all.len());
                unfiltered += usize::from(unknown > 0);
                let (counted, said, _) = smark("count", &["--where", &filter, "--name", marker], program);
                let count = counted.iter().find(|line| line["marker"] == marker).map(|line| &line["hits"]);
                assert_eq!(count, Some(&json!(expected.len())), "{filter}: {said}");
            }
        }
    }
    assert!(some > rounds && unfiltered > rounds / 5, "{some} {unfiltered}");
}

/// The lines of `smark count --json` by marker.
fn count(options: &[&str], program: &Path) -> (BTreeMap<String, Json>, String) {
    let (objects, said, status) = smark("count", options, program);
    assert_eq!(status, Some(0), "{said}");
    let named = objects.into_iter().filter_map(|line| Some((line["marker"].as_str()?.to_owned(), line)));
    (named.collect(), said)
}

#[test]
fn hits_are_those_that_the_program_prints() {
    if !can_watch() {
        return;
    }
    for program in programs() {
        let ran = output(&mut Command::new(program));
        let printed = String::from_utf8(ran.stdout).expect("UTF-8");
        let (counted, said) = count(&[], program);
        let of = |(marker, line): (&String, &Json)| format!("{marker} {}\n", line["hits"]);
        assert_eq!(counted.iter().map(of).collect::<String>(), printed, "{said}");
        let table = output(Command::new(fixture::smark()).arg("count").arg("--").arg(program));
        let table = String::from_utf8(table.stdout).expect("UTF-8");
        for line in printed.lines() {
            let (marker, hits) = line.split_once(' ').expect("two words");
            assert!(table.contains(&format!("{hits:>12} {marker}\n")), "{table}");
        }
    }
}

/// How often each value of an argument is in a trace.
fn values(hits: &[Arguments], name: &str) -> BTreeMap<Option<Value>, u64> {
    let mut values = BTreeMap::new();
    hits.iter().for_each(|hit| *values.entry(hit[name].clone()).or_default() += 1);
    values
}

#[test]
fn values_are_counted_as_a_trace_has_them() {
    if !can_watch() {
        return;
    }
    for program in programs() {
        let trace = traced(program);
        for (marker, name) in [("n:integers", "a"), ("n:integers", "c"), ("n:integers", "g"), ("n:integers", "h")] {
            let expected = values(&hits(&trace, marker), name);
            let (counted, _) = count(&["--by", name, "--top", "2000", "--name", marker], program);
            let line = &counted[marker];
            let of = |pair: &Json| (value(&json!({ "value": pair[0] }), false), pair[1].as_u64().expect("a count"));
            let pairs = line["by"].as_array().expect("pairs");
            assert!(pairs.windows(2).all(|two| two[0][1].as_u64() >= two[1][1].as_u64()), "{name}");
            assert_eq!(pairs.iter().map(of).collect::<BTreeMap<_, _>>(), expected, "{name}");
            assert_eq!((&line["hits"], &line["other"]), (&json!(1500), &json!(0)));
            let (top, _) = count(&["--by", name, "--top", "3", "--name", marker], program);
            assert_eq!(top[marker]["by"].as_array().expect("pairs"), &pairs[..3]);
            let shown: u64 = pairs[..3].iter().filter_map(|pair| pair[1].as_u64()).sum();
            assert_eq!(top[marker]["other"], json!(1500 - shown));
        }
        for name in TEXTS {
            let mut expected: BTreeMap<Option<Value>, u64> = BTreeMap::new();
            for (value, count) in values(&hits(&trace, "n:texts"), name) {
                let value = match value {
                    Some(Value::Text(text)) if text.len() > 32 => Some(Value::Text(format!("{}..", &text[..32]))),
                    value => value,
                };
                *expected.entry(value).or_default() += count;
            }
            let unread = expected.remove(&None).unwrap_or(0);
            let (counted, said) = count(&["--by", name, "--name", "n:texts"], program);
            let of = |pair: &Json| (value(&json!({ "value": pair[0] }), true), pair[1].as_u64().expect("a count"));
            let pairs = counted["n:texts"]["by"].as_array().expect("pairs");
            assert_eq!(pairs.iter().map(of).collect::<BTreeMap<_, _>>(), expected, "{name}");
            let told = format!("{unread} hits are not counted: `{name}` could not be read");
            assert_eq!(said.contains(&told), unread > 0, "{said}");
        }
        // Too many values: those that are kept and those that are not are all hits.
        let (full, said) =
            count(&["--by", "h", "--top", "2000", "--max-values", "100", "--name", "n:integers"], program);
        let pairs = full["n:integers"]["by"].as_array().expect("pairs");
        let kept: u64 = pairs.iter().filter_map(|pair| pair[1].as_u64()).sum();
        assert!(pairs.len() <= 100 && kept < 1500, "{}", pairs.len());
        let told = format!("{} hits are not counted: 100 values are kept (--max-values)", 1500 - kept);
        assert!(said.contains(&told), "{said}");
    }
}

#[test(desk = false)]
fn histograms_have_the_values_of_a_trace() {
    if !can_watch() {
        return;
    }
    for program in programs() {
        let trace = hits(&traced(program), "n:integers");
        for (name, ..) in INTEGERS {
            let mut expected: BTreeMap<(i128, i128), u64> = BTreeMap::new();
            for (value, count) in values(&trace, name) {
                let Some(Value::Integer(value)) = value else { panic!("{name} is read") };
                let mut range = (0, 0);
                while !(range.0..=range.1).contains(&value.abs()) {
                    range = if range.1 == 0 { (1, 1) } else { (range.0 * 2, range.1 * 2 + 1) };
                }
                let range = if value < 0 { (-range.1, -range.0) } else { range };
                *expected.entry(range).or_default() += count;
            }
            let (counted, _) = count(&["--hist", name, "--name", "n:integers"], program);
            let number = |of: &Json| match value(&json!({ "value": of }), false) {
                Some(Value::Integer(number)) => number,
                other => panic!("{other:?}"),
            };
            let of = |bucket: &Json| ((number(&bucket[0]), number(&bucket[1])), bucket[2].as_u64().expect("a count"));
            let buckets: Vec<_> =
                counted["n:integers"]["histogram"].as_array().expect("buckets").iter().map(of).collect();
            assert_eq!(buckets, expected.into_iter().collect::<Vec<_>>(), "{name}");
        }
    }
}

#[test]
fn intervals_are_those_of_the_program() {
    if !can_watch() {
        return;
    }
    const MS: u64 = 1_000_000;
    for program in programs() {
        // By thread: tag 7 is started twice. Its first start has no end, so the end of tag 1000, which has no
        // start, gets it. Those of 100 to 120 stay open, and the other thread has no starts.
        let (counted, said) = count(&["--time", "q:begin..q:end"], program);
        assert_eq!(counted.keys().collect::<Vec<_>>(), ["q:begin", "q:begin..q:end", "q:end"]);
        let time = &counted["q:begin..q:end"]["time"];
        let number = |name: &str| time[name].as_u64().expect("a number");
        assert_eq!((number("count"), number("ends_without_start"), number("starts_without_end")), (31, 20, 21));
        assert!(said.contains("20 q:end came without a q:begin"), "{said}");
        assert!(said.contains("21 q:begin had no q:end until the end"), "{said}");
        // That is more than one in a hundred. Both markers have the tag.
        assert!(said.contains("43 q:begin came while another q:begin waited for its q:end"), "{said}");
        assert!(said.contains("as where work goes from thread to thread: try --key with `tag`"), "{said}");
        assert_eq!((&time["is_doubtful"], &time["keys"]), (&json!(true), &json!(["tag"])));
        let order = ["min", "p50", "p90", "p99", "max"].map(number);
        assert!(order.is_sorted() && order[0] >= MS && order[1] >= MS * 5 / 4, "{order:?}");
        let sum: u64 = counted["q:begin..q:end"]["histogram"]
            .as_array()
            .expect("buckets")
            .iter()
            .filter_map(|it| it[2].as_u64())
            .sum();
        assert_eq!(sum, 31);
        // By tag, from thread to thread.
        let (counted, said) = count(&["--time", "q:begin..q:end", "--key", "tag"], program);
        let time = &counted["q:begin..q:end"]["time"];
        let number = |name: &str| time[name].as_u64().expect("a number");
        assert_eq!((number("count"), number("ends_without_start"), number("starts_without_end")), (50, 1, 2), "{said}");
        assert!(number("min") >= MS && number("p99") >= 18 * MS && number("p90") >= 18 * MS, "{time}");
        // The filter chooses starts.
        let (counted, _) = count(&["--time", "q:begin..q:end", "--key", "tag", "--where", "tag >= 100"], program);
        let time = &counted["q:begin..q:end"]["time"];
        assert_eq!((&time["count"], &time["ends_without_start"]), (&json!(20), &json!(31)));
        assert!(time["min"].as_u64().expect("a number") >= 20 * MS, "{time}");
    }
}

#[test]
fn mistakes_are_shown_where_they_are() {
    if !can_watch() {
        return;
    }
    let [program, _] = programs();
    let said = |options: &[&str]| {
        let (objects, said, status) = smark("count", options, program);
        assert!(objects.is_empty(), "{objects:?}");
        (said, status)
    };
    let expected = [
        (
            "tga > 100",
            "smark: --where: no selected marker has an argument `tga`; closest: `tag`",
            "smark:     tga > 100\nsmark:     ^^^\n",
        ),
        (
            "tag == 1 && e < 0",
            "smark: --where: no selected marker has all of the arguments:",
            "smark:     tag == 1 && e < 0\nsmark:     ^^^\n",
        ),
        (
            "a == -129",
            "smark: --where: this is never true: the argument is between -128 and 127",
            "smark:     a == -129\nsmark:     ^^^^^^^^^\n",
        ),
        ("p < \"x\"", "texts can only be compared with == and !=", "smark:     ^^^^^^^\n"),
        ("b == \"x\"", "this is a number, and cannot be compared with a text", "smark:     ^\n"),
        ("b = 5", "write `==` to compare", "    b = 5\n      ^\n"),
        ("(b == 5", "a `)` is missing here", "    (b == 5\n           ^\n"),
    ];
    for (filter, message, place) in expected {
        let (said, status) = said(&["--where", filter]);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains(message) && said.contains(place), "{said}");
    }
    let (no_argument, status) = said(&["--by", "tga"]);
    assert_eq!(status, Some(2), "{no_argument}");
    assert!(no_argument.contains("--by: no selected marker has an argument `tga`; closest: `tag`"), "{no_argument}");
    let (no_marker, status) = said(&["--time", "q:begn..q:end"]);
    assert_eq!(status, Some(1), "{no_marker}");
    assert!(no_marker.contains("--time: no marker is called `q:begn`; closest: q:begin"), "{no_marker}");
}

#[test]
fn a_marker_without_the_argument_is_left_out() {
    if !can_watch() {
        return;
    }
    let [program, _] = programs();
    let (counted, said) = count(&["--where", "tag >= 100"], program);
    assert_eq!(counted.keys().collect::<Vec<_>>(), ["q:begin", "q:end"]);
    assert_eq!((&counted["q:begin"]["hits"], &counted["q:end"]["hits"]), (&json!(21), &json!(21)));
    assert!(said.contains("left out n:integers, n:texts: there is no argument `tag`"), "{said}");
}
