//! Values behind `dyn Trait` are those that the program prints.

use std::process::Command;

use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, Fixture};
use simple_markers_tests::tools::ended;
use simple_markers_tests::watched::{can_watch, can_watch_with_tracefs};

use crate::trace::trace;

/// Shapes of many types behind pointers of each kind. The method of each says its type, where the value
/// does not.
const SHAPES: &str = r#"#![allow(dead_code)]
use simple_markers::simple_mark;
use std::any::type_name;
use std::fmt::{self, Debug, Formatter};
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;

trait Shape: Debug {
    fn told(&self) -> String {
        let (text, name) = (format!("{self:?}"), type_name::<Self>());
        let base = name.split('<').next().unwrap().rsplit("::").next().unwrap();
        if text.starts_with(base) && name.contains("::") && !name.ends_with("Odd") { text } else { format!("<{name}> {text}") }
    }
}

struct Told<'a>(&'a dyn Shape);

impl Debug for Told<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.told())
    }
}

#[derive(Debug)]
struct Circle {
    radius: f64,
}
#[derive(Debug)]
struct Square(u32);
#[derive(Debug)]
struct Other(u32);
#[derive(Debug)]
enum Odd {
    Unit,
    Named { id: u8, name: String },
}
#[derive(Debug)]
#[repr(align(64))]
struct Aligned(u8);
#[derive(Debug)]
struct Empty;
#[derive(Debug)]
struct Pair<T>(T, T);
struct Group {
    all: Vec<Box<dyn Shape + Send>>,
}

impl Debug for Group {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("all", &told(&self.all)).finish()
    }
}

fn told(all: &[Box<dyn Shape + Send>]) -> Vec<Told<'_>> {
    all.iter().map(|one| Told(&**one)).collect()
}

impl Shape for Circle {}
impl Shape for Square {}
impl Shape for Other {}
impl Shape for Odd {}
impl Shape for Aligned {}
impl Shape for Empty {}
impl<T: Debug> Shape for Pair<T> {}
impl Shape for Group {}
impl Shape for u32 {}
impl Shape for String {}
impl Shape for &'static str {}

fn shape(number: u32, depth: u32) -> Box<dyn Shape + Send> {
    match number % if depth > 0 { 12 } else { 11 } {
        0 => Box::new(Circle { radius: f64::from(number) / 4.0 }),
        1 => Box::new(Square(number)),
        2 => Box::new(Other(number)),
        3 => Box::new(Odd::Unit),
        4 => Box::new(Odd::Named { id: number as u8, name: format!("n{number}") }),
        5 => Box::new(Aligned(number as u8)),
        6 => Box::new(Empty),
        7 => Box::new(Pair(number as u8, 1)),
        8 => Box::new(Pair(format!("p{number}"), String::new())),
        9 => Box::new(number),
        10 => Box::new(format!("text{number}")),
        _ => Box::new(Group { all: (0..3).map(|more| shape(number / 7 + more, depth - 1)).collect() }),
    }
}

fn counted(number: u32) -> (Rc<dyn Shape>, Arc<dyn Shape + Send + Sync>) {
    match number % 4 {
        0 => (Rc::new(Aligned(number as u8)), Arc::new(Square(number))),
        1 => (Rc::new(number), Arc::new(Aligned(7))),
        2 => (Rc::new("text"), Arc::new(Empty)),
        _ => (Rc::new(Pair(1u64, 2)), Arc::new(Odd::Named { id: 1, name: "x".into() })),
    }
}

struct All<'a> {
    owned: Box<dyn Shape + Send>,
    list: Vec<Box<dyn Shape + Send>>,
    rc: Rc<dyn Shape>,
    arc: Arc<dyn Shape + Send + Sync>,
    reference: &'a dyn Shape,
    maybe: Option<Box<dyn Shape + Send>>,
    raw: *const dyn Shape,
}

#[inline(never)]
fn show(all: &All<'_>) {
    simple_mark!(dynamic:all, "{:?}", *all);
    black_box(all);
}

fn main() {
    let mut random = 1u32;
    for turn in 0..60 {
        let mut next = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            random >> 20
        };
        let (rc, arc) = counted(next());
        let reference = shape(next(), 0);
        let maybe = (turn % 3 > 0).then(|| shape(next(), 0));
        let list = (0..turn % 4).map(|_| shape(next(), 0)).collect();
        let all = All { owned: shape(next(), 1), list, rc, arc, reference: &*reference, maybe, raw: &*reference };
        println!(
            "dynamic:all: All {{ owned: {:?}, list: {:?}, rc: {:?}, arc: {:?}, reference: &{:?}, maybe: {:?}, raw: {:p} RAW }}",
            Told(&*all.owned), told(&all.list), Told(&*all.rc), Told(&*all.arc), Told(all.reference),
            all.maybe.as_ref().map(|one| Told(&**one)), all.raw.cast::<()>()
        );
        show(black_box(&all));
    }
}
"#;

/// Builds a program, and returns the lines of its hits and its own, from the name of the marker on.
fn watched(name: &str, source: &str, level: &str, options: &[&str]) -> (Vec<String>, Vec<String>) {
    let fixture = Fixture::new(name).file("src/main.rs", source);
    let (level, lto) = if level == "lto" { ("3", "fat") } else { (level, "off") };
    let mut rustc = fixture.rustc(&[&format!("-Copt-level={level}")]);
    fixture::succeeds_silently(rustc.env("RUSTFLAGS", "-g").env("CARGO_PROFILE_DEV_LTO", lto));
    let lines = trace(options, &[&fixture.built(name)]);
    let (printed, said): (Vec<String>, Vec<String>) = lines.into_iter().partition(|line| line.starts_with("dynamic:"));
    (said.iter().filter_map(|line| Some(line[line.find("dynamic:")?..].to_owned())).collect(), printed)
}

#[test(cases = ["0", "3", "lto"], desk = [1])]
fn a_value_behind_a_vtable_is_what_the_program_prints(level: &str) {
    if !can_watch() {
        return;
    }
    let (said, printed) = watched(&format!("trait-objects-{level}"), SHAPES, level, &["--bytes", "4088"]);
    // A raw pointer is not followed, but its type is known.
    let without = |line: &String| match line.rfind("raw: ") {
        Some(at) => (line[..at].to_owned(), line[at..].split(' ').nth(1).map(str::to_owned)),
        None => (line.clone(), None),
    };
    let (said_of, printed_of) = (said.iter().map(without), printed.iter().map(without));
    assert_eq!(printed.len(), 60);
    assert_eq!(said_of.collect::<Vec<_>>(), printed_of.collect::<Vec<_>>());
    assert!(said.iter().all(|line| line.ends_with("> }")), "{said:#?}");
}

/// Types whose vtables rustc makes the same, and one that has its own.
const TAGS: &str = r#"use simple_markers::simple_mark;
use std::hint::black_box;

#[allow(dead_code)]
struct One(u32);
#[allow(dead_code)]
struct Two(u32);
#[allow(dead_code)]
struct Wide(u64);
trait Tag {}
impl Tag for One {}
impl Tag for Two {}
impl Tag for Wide {}

type Hook = Box<dyn Fn(&std::panic::PanicHookInfo<'_>) + Sync + Send>;

#[inline(never)]
fn tag(tag: &dyn Tag) {
    println!("dynamic:tag: {:p}", std::ptr::from_ref(tag).cast::<()>());
    simple_mark!(dynamic:tag, "{:?}", tag);
    black_box(tag);
}

#[inline(never)]
fn hook(hook: &Hook) {
    let [data, vtable] = unsafe { std::mem::transmute_copy::<Hook, [usize; 2]>(hook) };
    println!("dynamic:hook: at {data:#x}, vtable {vtable:#x}>");
    simple_mark!(dynamic:hook, "{:?}", *hook);
    black_box(hook);
}

fn main() {
    tag(black_box(&One(1)));
    tag(black_box(&Two(2)));
    tag(black_box(&Wide(3)));
    hook(&std::panic::take_hook());
}
"#;

#[test(cases = ["0 bpf", "3 bpf", "3 tracefs"], desk = [])]
fn a_type_that_the_vtable_does_not_tell_is_not_guessed(how: &str) {
    let (level, engine) = how.split_once(' ').expect("a level and an engine");
    if !can_watch() || (engine == "tracefs" && !can_watch_with_tracefs()) {
        return;
    }
    let name = format!("trait-tags-{level}-{engine}");
    let (said, printed) = watched(&name, TAGS, level, &["--engine", engine]);
    let address = |line: &str| line.split(' ').nth(1).expect("an address").to_owned();
    let of = name.replace('-', "_");
    let either = |line: &str| format!("dynamic:tag: <{of}::One or {of}::Two at {}>", address(line));
    assert_eq!(said[..3], [either(&printed[0]), either(&printed[1]), "dynamic:tag: &Wide(3)".to_owned()]);
    // The hook of the library has a vtable in its own code, which is not described.
    let (_, at) = printed[3].split_once("dynamic:hook: ").expect("the hook");
    assert!(
        said[3].starts_with("dynamic:hook: <dyn core::ops::function::Fn<(&std::panic::PanicHookInfo)"),
        "{}",
        said[3]
    );
    assert!(said[3].ends_with(at), "{}", said[3]);

    let program = fixture::target().join("debug").join(&name);
    let smark = |options: &[&str]| {
        let mut smark = Command::new(fixture::smark());
        smark.args(["trace", "--engine", engine]).args(options).arg("--").arg(&program);
        smark
    };
    let json: Vec<Json> =
        ended(&mut smark(&["--json"])).lines().iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let value = |number: usize| &json[number]["args"][0]["value"];
    assert_eq!(value(0)["dyn"], serde_json::json!([format!("{of}::One"), format!("{of}::Two")]), "{json:#?}");
    assert_eq!(*value(2), serde_json::json!({ "dyn": format!("{of}::Wide"), "value": 3 }));
    assert!(value(3)["dyn"].is_null() && value(3)["vtable"].is_string(), "{}", value(3));
    // A filter cannot know the type.
    let refused = smark(&["--where", "tag.0 == 3", "dynamic:tag"]).output().expect("smark runs");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("tag is a `dyn`: its type is known only when the marker is passed"), "{said}");
}
