//! Futures of `async` functions and blocks are shown where the program says that they wait, with the
//! variables that it has there; closures with what they capture.

use std::process::Command;

use serde_json::{Value as Json, json};
use simple_markers_tests::fixture::{self, Fixture};
use simple_markers_tests::tools::ended;
use simple_markers_tests::watched::can_watch;

use crate::trace::trace;

/// Each function says before it waits where it is, and what it keeps.
const PROGRAM: &str = r#"use simple_markers::simple_mark;
use std::cell::RefCell;
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

thread_local! {
    static WAITING: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn waits(text: String) {
    WAITING.with_borrow_mut(|waiting| waiting.push(text));
}

fn goes_on() {
    WAITING.with_borrow_mut(|waiting| waiting.pop());
}

/// What the outermost future is, without what is around it.
fn expected() -> String {
    WAITING.with_borrow(|waiting| {
        let outer: String = waiting.iter().map(|text| format!("{text}, .await: ")).collect();
        format!("{outer}Turns {{ left: 0 }}{}", " }".repeat(waiting.len()))
    })
}

/// It is ready at the second poll.
struct Turns {
    left: u32,
}

impl Future for Turns {
    type Output = u32;
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u32> {
        match self.left.checked_sub(1) {
            None => Poll::Ready(5),
            Some(left) => {
                self.left = left;
                Poll::Pending
            }
        }
    }
}

async fn leaf(number: u64) -> u64 {
    let text = format!("leaf{number}");
    waits(format!("leaf() suspended at src/main.rs:{} {{ number: {number}, text: {text:?}", line!() + 1));
    let got = Turns { left: 1 }.await;
    goes_on();
    black_box(&text);
    number + u64::from(got)
}

mod inner {
    pub async fn branch(parameter: u32, name: &str, unused: String) -> u64 {
        drop(unused);
        super::waits(format!("branch() suspended at src/main.rs:{} {{ name: {name:?}", line!() + 1));
        let first = super::leaf(u64::from(parameter)).await;
        super::goes_on();
        let moved = String::from("moved");
        drop(moved);
        for turn in 0..2u8 {
            super::waits(format!(
                "branch() suspended at src/main.rs:{} {{ name: {name:?}, first: {first}, iter: {}..2, turn: {turn}", line!() + 2, turn + 1
            ));
            super::leaf(first).await;
            super::goes_on();
        }
        first + name.len() as u64
    }
}

async fn failing(list: Vec<u32>) -> u64 {
    Turns { left: 1 }.await;
    u64::from(list[list.len()])
}

#[inline(never)]
fn show<F: Future>(expected: &str, future: &Pin<Box<F>>) {
    println!("future:of: {expected}");
    simple_mark!(future:of, "{:?}", future);
    black_box(future);
}

#[inline(never)]
fn show_dynamic(expected: &str, futures: &[Pin<Box<dyn Future<Output = u64> + '_>>]) {
    println!("future:dynamic: [{expected}]");
    simple_mark!(future:dynamic, "{:?}", futures);
    black_box(futures);
}

#[inline(never)]
fn show_closure<F: Fn(u32) -> u32>(expected: &str, closure: &F) {
    println!("closure:of: {expected}");
    simple_mark!(closure:of, "{:?}", closure);
    black_box(closure);
    black_box(closure(1));
}

#[inline(never)]
fn show_callbacks(expected: &str, callbacks: &[Box<dyn Fn(u32) -> u32 + '_>]) {
    println!("closure:dynamic: [{expected}]");
    simple_mark!(closure:dynamic, "{:?}", callbacks);
    black_box(callbacks.iter().map(|callback| callback(1)).sum::<u32>());
}

fn main() {
    let mut context = Context::from_waker(Waker::noop());
    let mut future = Box::pin(inner::branch(black_box(3), "x", String::from("u")));
    show("branch() unresumed { parameter: 3, name: \"x\", unused: \"u\" }", &future);
    while future.as_mut().poll(&mut context).is_pending() {
        show(&expected(), &future);
    }
    show("branch() returned", &future);

    let key = black_box(7u32);
    let by_reference = format!("r{key}");
    let block = async {
        let values = vec![key];
        waits(format!("main::{{async_block#0}} suspended at src/main.rs:{} {{ values: {values:?}, key: &{key}, by_reference: &{by_reference:?}", line!() + 1));
        let result = inner::branch(key, &by_reference, String::new()).await;
        goes_on();
        black_box((values, key, &by_reference));
        result
    };
    let mut futures: Vec<Pin<Box<dyn Future<Output = u64> + '_>>> = vec![Box::pin(block)];
    loop {
        if futures[0].as_mut().poll(&mut context).is_ready() {
            break;
        }
        show_dynamic(&expected(), &futures);
    }
    let mut future = Box::pin(failing(vec![1, 2]));
    assert!(future.as_mut().poll(&mut context).is_pending());
    std::panic::set_hook(Box::new(|_| {}));
    let poll = std::panic::AssertUnwindSafe(|| future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
    assert!(std::panic::catch_unwind(poll).is_err());
    show("failing() panicked", &future);

    let name = String::from("n");
    show_closure(
        &format!("main::{{closure#3}} {{ key: &{key}, name: &{name:?} }}"),
        &|n| n + key + name.len() as u32,
    );
    let moved = move |n| n + key + name.len() as u32;
    show_closure(&format!("main::{{closure#4}} {{ key: {key}, name: \"n\" }}"), &moved);
    show_callbacks(
        "main::{closure#4} { key: 7, name: \"n\" }, main::{closure#5}, main::{closure#6} { scale: 3 }",
        &[Box::new(moved), Box::new(|n| n), { let scale = black_box(3); Box::new(move |n| n * scale) }],
    );
}
"#;

#[test(cases = ["0", "3"], desk = [1])]
fn a_future_is_shown_where_the_program_says_that_it_waits(level: &str) {
    if !can_watch() {
        return;
    }
    let name = format!("futures-{level}");
    let fixture = Fixture::new(&name).file("src/main.rs", PROGRAM);
    fixture::succeeds_silently(fixture.rustc(&[&format!("-Copt-level={level}")]).env("RUSTFLAGS", "-g"));
    let program = fixture.built(&name);
    let is_printed = |line: &String| line.starts_with("future:") || line.starts_with("closure:");
    let (printed, said): (Vec<String>, Vec<String>) =
        trace(&["--bytes", "4088"], &[&program]).into_iter().partition(is_printed);
    // Optimised code may change a value around the marker, so it may be marked as doubtful.
    let said: Vec<&str> = said.iter().map(|line| line.trim_end_matches('?')).collect();
    let said: Vec<&str> =
        said.iter().filter_map(|line| line.get(line.find(" future:").or(line.find(" closure:"))? + 1..)).collect();
    assert_eq!(printed.len(), 12);
    assert_eq!(said, printed);

    let smark =
        |arguments: &[&str]| ended(Command::new(fixture::smark()).args(arguments).arg("--").arg(&program)).lines();
    let json: Vec<Json> = smark(&["trace", "--json", "--bytes", "4088", "future:of"])
        .iter()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let value = |number: usize| {
        let argument = &json[number]["args"][0];
        argument.get("maybe").unwrap_or(&argument["value"])
    };
    let function = format!("{}::inner::branch::{{async_fn#0}}", name.replace('-', "_"));
    let variables = json!({ "parameter": 3, "name": "x", "unused": "u" });
    assert_eq!(*value(0), json!({ "future": function, "state": "unresumed", "variables": variables }));
    let (file, line) =
        (&value(1)["file"], PROGRAM.lines().position(|line| line.contains("let first = ")).expect("it") + 1);
    assert_eq!(
        (file, &value(1)["line"], &value(1)["state"]),
        (&json!("src/main.rs"), &json!(line), &json!("suspended"))
    );
    let awaiting = &value(1)["awaiting"];
    assert_eq!(awaiting["variables"], json!({ "number": 3, "text": "leaf3" }));
    assert_eq!(awaiting["awaiting"], json!({ "left": 0 }));
    assert_eq!(*value(4), json!({ "future": function, "state": "returned", "variables": {} }));

    let of = |filter: &str| {
        let lines = smark(&["trace", "--include", "doubtful", "--where", filter, "future:of"]);
        lines.iter().filter(|line| line.contains(" future:of: ")).count()
    };
    assert_eq!((of("future == Suspend1 && future.Suspend1.turn == 1"), of("future != Unresumed")), (1, 5));
}
