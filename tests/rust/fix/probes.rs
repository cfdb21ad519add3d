//! Markers whose arguments cannot be kept become probes: in async code, and elsewhere if that is asked for.

use std::process::Command;

use simple_markers_tests::fixture::target;
use simple_markers_tests::tools::{run, skipped};

use super::project::{Project, failures, not_fixed, package, with_cargo};

/// Runs futures that are pending once.
pub(super) const RUNTIME: &str = r#"
use std::future::Future;
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

struct Later(bool);

impl Future for Later {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

fn run<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}

fn text() -> String {
    black_box(String::from("berlin"))
}
"#;

const MARKED: &str = r#"
use simple_markers::simple_mark;

async fn deliver(id: u64, path: &str) -> usize {
    Later(false).await;
    simple_mark!(fix:deliver, "order %lu to %s", id, path);
    black_box(path).len()
}

async fn number(id: u64) -> u64 {
    Later(false).await;
    simple_mark!(fix:number, "order %lu", id);
    black_box(id) + 1
}

async fn optioned(name: &str, id: u32) -> usize {
    Later(false).await;
    simple_markers::simple_mark!(
        fix:optioned,
        "%s %u", // the name
        name,
        keep id,
        options(anchor),
    );
    black_box(name).len()
}

async fn wide(name: &str, id: u16) -> usize {
    Later(false).await;
    simple_mark!(fix:wide, "%s %hu", name, keep id: u16);
    black_box(name).len()
}

async fn many(a: &str, b: &str) -> usize {
    Later(false).await;
    simple_mark!(fix:many, "%s %s %s %s %s %s %s", a, b, a, b, a, b, a);
    black_box(a).len() + black_box(b).len()
}

async fn borrowed(id: u64) -> usize {
    let mut name = text();
    Later(false).await;
    let writer = &mut name;
    simple_mark!(fix:borrowed, "%s", name);
    writer.push('x');
    name.len() + black_box(id) as usize
}

#[inline(never)]
fn measured(name: &str) -> usize {
    black_box(name).len()
}

#[inline(never)]
fn plain(name: &str) -> usize {
    let length = measured(name);
    simple_mark!(fix:plain, "%s", name);
    length + 1
}

fn main() {
    println!("{} {}", run(deliver(black_box(7), &text())), run(number(black_box(8))));
    println!("{} {}", run(optioned(&text(), black_box(9))), run(wide(&text(), black_box(10))));
    println!("{} {}", run(many(&text(), &text())), run(borrowed(black_box(11))));
    println!("{}", plain(&text()));
}
"#;

/// The verdicts of the arguments of each marker that is a probe.
fn probes(project: &Project) -> Vec<(String, Vec<String>)> {
    let program = target().join("fixed/fix-async").to_string_lossy().into_owned();
    let shown = project.smark(&["list", "--json", &program]);
    let document: serde_json::Value = serde_json::from_str(&shown.stdout).expect("JSON");
    let markers = document["images"][0]["markers"].as_array().expect("markers").clone();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("none").to_owned();
    let verdicts = |marker: &serde_json::Value| {
        let site = &marker["sites"][0];
        site["args"].as_array().expect("arguments").iter().map(|argument| text(&argument["verdict"])).collect()
    };
    let is_probe = |marker: &&serde_json::Value| marker["sites"][0]["switch"].is_object();
    markers.iter().filter(is_probe).map(|marker| (text(&marker["name"]), verdicts(marker))).collect()
}

#[test]
fn markers_of_async_code_become_probes_where_keep_does_not_help() {
    if cfg!(not(target_arch = "x86_64")) {
        return skipped("what is lost was seen on x86-64");
    }
    let project = package("fix-async", &format!("{RUNTIME}{MARKED}"));
    let denied = ["--deny", "arguments"];
    let program = target().join("fixed/fix-async");
    assert_eq!(project.cargo_smark(&[&["check"], &denied[..]].concat()).status, 1);
    let printed = run(&mut Command::new(&program));
    let never = project.cargo_smark(&[&["fix", "--dry-run", "--probe", "never"], &denied[..]].concat());
    assert!(
        never.stdout.contains("+    simple_mark!(fix:number") && !never.stdout.contains("probe"),
        "{}",
        never.stdout
    );

    let fixed = project.cargo_smark(&[&["fix"], &denied[..]].concat());
    let source = project.read("src/main.rs");
    // The least change: one number is kept.
    for line in [
        "use simple_markers::{simple_mark, simple_probe};",
        "    simple_probe!(fix:deliver, \"order %lu to %s\", id, path);",
        "    simple_mark!(fix:number, \"order %lu\", keep id);",
        "    simple_markers::simple_probe!(\n        fix:optioned,\n        \"%s %u\", // the name\n        name,\n        id,\n    );",
        "    simple_mark!(fix:wide, \"%s %hu\", name, keep id: u16);",
        "    simple_mark!(fix:many, ",
        "    simple_mark!(fix:borrowed, \"%s\", name);",
        "    simple_mark!(fix:plain, \"%s\", name);",
    ] {
        assert!(source.contains(line), "{line} is not in {source}");
    }
    let says = |what: &str| assert!(fixed.stdout.contains(what), "{what} is not in {}", fixed.stdout);
    says("fixed fix:deliver (src/main.rs:35): a probe now, `simple_probe!`\n");
    says("2 markers became probes. A probe costs two instructions while it is off (three ");
    says("not fixed fix:wide (src/main.rs:59): it is not made a probe: `id` is kept with a type of its own");
    says("not fixed fix:many (src/main.rs:65): it is not made a probe: one takes 12 values");
    says(
        "not fixed fix:borrowed (src/main.rs:73): the program does not compile with a probe, which was taken back: cannot",
    );
    says("not fixed fix:plain (src/main.rs:86): `name` cannot be kept");
    let live = || vec!["live".to_owned(); 2];
    assert_eq!(probes(&project), [("fix:deliver".to_owned(), live()), ("fix:optioned".to_owned(), live())]);
    assert_eq!(run(&mut Command::new(&program)), printed, "the program does what it did");

    // The functions are named as the source names them.
    let listed = project.smark(&["list", "-vv", "-f", "*::deliver::{async}", &program.to_string_lossy()]).stdout;
    assert!(listed.contains("fix:deliver") && !listed.contains("fix:number"), "{listed}");
    assert!(listed.contains("inlined fix_async::deliver::{async} into ") && !listed.contains("{async_fn#"), "{listed}");

    // A second run changes nothing.
    project.commit();
    let again = project.cargo_smark(&[&["fix"], &denied[..]].concat());
    assert_eq!((again.status, project.changed().len()), (1, 0), "{}", again.stdout);
    assert!(!again.stdout.contains("became"), "{}", again.stdout);

    // Outside of async code only if that is asked for.
    let always = project.cargo_smark(&[&["fix", "--probe", "always"], &denied[..]].concat());
    assert!(project.read("src/main.rs").contains("simple_probe!(fix:plain, \"%s\", name);"), "{}", always.stdout);
    assert!(always.stdout.contains("1 marker became a probe."), "{}", always.stdout);
}

/// What `keep` does not settle becomes a probe in the next round.
#[test]
fn a_marker_becomes_a_probe_if_keep_does_not_compile() {
    if cfg!(not(target_arch = "x86_64")) {
        return skipped("what is lost was seen on x86-64");
    }
    let source = format!(
        "{RUNTIME}\nuse simple_markers::simple_mark;\nasync fn number(id: u64) -> u64 {{\n    Later(false).await;\n    \
         simple_mark!(fix:number, \"order %lu\", id);\n    black_box(id) + 1\n}}\n\
         fn main() {{\n    let _ = text();\n    println!(\"{{}}\", run(number(black_box(8))));\n}}\n"
    );
    let project = package("fix-async-number", &source);
    let script = "#!/bin/sh\nif grep -q 'keep id' src/main.rs; then echo failed >> .git/failures; exit 1; fi\n\
                  exec \"$REAL_CARGO\" \"$@\"\n";
    let fixed = with_cargo(&project, script, &["fix"]);
    assert_eq!((fixed.status, not_fixed(&fixed.stdout).len()), (0, 0), "{}{}", fixed.stdout, fixed.stderr);
    assert_eq!(
        project.changed(),
        [
            "-use simple_markers::simple_mark;",
            "+use simple_markers::simple_probe;",
            "-    simple_mark!(fix:number, \"order %lu\", id);",
            "+    simple_probe!(fix:number, \"order %lu\", id);",
        ]
    );
    assert_eq!(failures(&project), 1);
}
