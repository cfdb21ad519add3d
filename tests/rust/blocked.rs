//! What threads were blocked on during intervals (`--blocked`), and what they did on a CPU (`--oncpu`), with what the
//! program measures itself.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use simple_markers_tests::fixture;
use simple_markers_tests::tools;
use simple_markers_tests::watched::{can_watch, compile};

const TIME: [&str; 3] = ["count", "--time", "waits:begin..waits:end"];
/// The functions of `tests/split/waits.c` that wait, with the system calls by which they do.
const WAITS: [(&str, &str); 3] = [("lock_wait", "futex"), ("pipe_wait", "read"), ("sleep_wait", "clock_nanosleep")];
/// The functions that run outside of intervals only, or in other threads.
const OUTSIDE: [&str; 4] = ["outside_wait", "outside_burn", "helper", "ender"];

fn program(folder: &Path) {
    let source = fixture::workspace().join("tests/split/waits.c");
    let source = std::fs::read_to_string(source).expect("the source");
    compile(folder, "waits", &source, &["-D_GNU_SOURCE", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"]);
}

/// What `smark` prints and says about the program.
fn smark(options: &[&str], folder: &Path, program: &[&str]) -> (String, String) {
    let mut smark = Command::new(fixture::smark());
    let output = tools::output(
        smark.args(TIME).arg("-q").args(options).arg("--").arg("./waits").args(program).current_dir(folder),
    );
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(output.stdout), text(output.stderr))
}

/// The object of the times.
fn time(printed: &str, said: &str) -> Json {
    let mut lines = printed.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    lines.find(|line| line["time"].is_object()).unwrap_or_else(|| panic!("{printed}{said}"))["time"].clone()
}

fn number(of: &Json) -> i64 {
    of.as_i64().unwrap_or_else(|| panic!("no number: {of}"))
}

/// The functions of the program in a stack, the innermost first.
fn functions(stack: &Json) -> Vec<String> {
    let frames = stack["stack"].as_array().expect("frames").iter();
    let functions = frames.flat_map(|frame| frame["functions"].as_array().expect("functions"));
    functions.filter_map(|function| function["function"].as_str().map(str::to_owned)).collect()
}

fn stacks(sums: &Json) -> &[Json] {
    sums["stacks"].as_array().unwrap_or_else(|| panic!("no stacks: {sums}"))
}

/// Whether a sum is what is expected, but for 5 % or a millisecond.
fn is_near(got: i64, expected: i64) -> bool {
    (got - expected).abs() <= (expected / 20).max(1_000_000)
}

/// How long the program says that it was blocked in each function.
fn measured(printed: &str) -> HashMap<String, i64> {
    let lines = printed.lines().filter_map(|line| line.split_once(' '));
    lines.filter_map(|(name, ns)| Some((name.to_owned(), ns.parse().ok()?))).collect()
}

#[test]
fn blocked_times_are_those_of_the_functions_that_wait() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    program(folder.path());
    let (printed, said) = smark(&["--blocked", "--json", "--top", "1000"], folder.path(), &["20"]);
    let time = time(&printed, &said);
    let (blocked, own) = (&time["blocked"], measured(&printed));
    assert_eq!(number(&time["count"]), 20, "{said}");

    // All is in a stack, or is said to be in none.
    let all: i64 = stacks(blocked).iter().map(|stack| number(&stack["sum"])).sum();
    let without: i64 = blocked["no_stack"].as_object().expect("an object").values().map(number).sum();
    assert_eq!(all + without + number(&blocked["other"]), number(&blocked["sum"]));
    let split = number(&time["split"]["blocked"]["sum"]);
    assert!((number(&blocked["sum"]) - split).abs() * 100 <= split, "{blocked}: {split}");
    assert!(without * 100 <= split, "{blocked}");

    for (function, system_call) in WAITS {
        let of = |stack: &&Json| functions(stack).iter().any(|name| name == function);
        let waits: Vec<&Json> = stacks(blocked).iter().filter(of).collect();
        // What the function waits for is the system call that it makes; anything else is short.
        let called = waits.iter().filter(|stack| stack["system_call"] == system_call);
        let sum: i64 = called.clone().map(|stack| number(&stack["sum"])).sum();
        let periods: i64 = called.clone().map(|stack| number(&stack["periods"])).sum();
        let expected = own[function];
        note!("{function}: {sum} ns in {periods} periods, the program says {expected}");
        assert!(is_near(sum, expected), "{function}: {sum}, the program says {expected}: {waits:?}");
        assert!(periods >= 20, "{waits:?}");
        let stack = called.max_by_key(|stack| number(&stack["sum"])).expect("a stack");
        let names = functions(stack);
        let outermost = names.iter().rev().find(|name| *name == "main");
        assert!(names.contains(&"call_kernel".to_owned()) && outermost.is_some(), "{names:?}");
        let kernel = stack["kernel_stack"].as_array().expect("frames");
        assert!(matches!(kernel[0]["function"].as_str(), Some("__schedule" | "schedule")), "{stack}");
        assert_eq!(stack["page_fault"], false);
    }
    for stack in stacks(blocked) {
        assert!(!functions(stack).iter().any(|name| OUTSIDE.contains(&&**name)), "{stack}");
    }
}

#[test]
fn only_the_time_until_the_end_in_another_thread_counts() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    program(folder.path());
    let (printed, said) = smark(&["--blocked", "--json", "--key", "id"], folder.path(), &["10", "hand"]);
    let time = time(&printed, &said);
    assert_eq!((number(&time["count"]), number(&time["split"]["blocked"]["count"])), (10, 0), "{said}");
    let of = |function: &str| {
        let has = |stack: &&Json| functions(stack).iter().any(|name| name == function);
        let all = || stacks(&time["blocked"]).iter().filter(has);
        (
            all().map(|stack| number(&stack["periods"])).sum::<i64>(),
            all().map(|stack| number(&stack["sum"])).sum::<i64>(),
        )
    };
    let (periods, sum) = of("sleep_wait");
    assert!(periods == 10 && sum >= 20_000_000, "{time}");
    // The other thread looks every 3 ms, so at most two of the four waits begin before it ends the interval.
    let (periods, _) = of("outside_wait");
    assert!((10..=25).contains(&periods), "{time}");
    assert_eq!(of("ender").0, 0, "{time}");
}

#[test]
fn what_has_no_space_is_counted_and_said() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    program(folder.path());
    // There is space for one of the three stacks.
    let (printed, said) = smark(&["--blocked", "--json", "--max-values", "1"], folder.path(), &["10"]);
    let time = time(&printed, &said);
    let blocked = &time["blocked"];
    let full = number(&blocked["no_stack"]["full"]);
    assert_eq!(stacks(blocked).len(), 1, "{blocked}");
    assert_eq!(number(&stacks(blocked)[0]["sum"]) + full, number(&blocked["sum"]), "{blocked}");
    // Two of the three wait for 2 or 3 ms in each interval.
    assert!(full >= 40_000_000, "{blocked}");
    let split = number(&time["split"]["blocked"]["sum"]);
    assert!((number(&blocked["sum"]) - split).abs() * 100 <= split, "{blocked}: {split}");
    assert!(said.contains("in no stack: the kernel's table is full (--max-values)"), "{said}");
}

#[test(cases = [
    "--time nap()",
    "--time nap() --where pid>1",
    "-e syscalls:sys_*_clock_nanosleep --time syscalls:sys_enter_clock_nanosleep..syscalls:sys_exit_clock_nanosleep",
])]
fn calls_and_events_of_the_kernel_are_blocked(what: &str) {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = fixture::workspace().join("tests/split/threads.c");
    let source = std::fs::read_to_string(source).expect("the source");
    compile(folder.path(), "threads", &source, &["-D_GNU_SOURCE"]);
    let mut smark = Command::new(fixture::smark());
    let smark = smark.args(["count", "-q", "--json", "--blocked"]).args(what.split(' '));
    let printed = tools::run(smark.args(["--", "./threads", "calls"]).current_dir(folder.path()));
    let time = time(&printed, "");
    assert_eq!(number(&time["count"]), 20);
    let naps = stacks(&time["blocked"]).iter().filter(|stack| stack["system_call"] == "clock_nanosleep");
    let (periods, sum) =
        naps.fold((0, 0), |(periods, sum), stack| (periods + number(&stack["periods"]), sum + number(&stack["sum"])));
    // Each of the 20 sleeps for a millisecond.
    assert!(periods == 20 && sum >= 20_000_000, "{time}");
    let split = number(&time["split"]["blocked"]["sum"]);
    assert!((number(&time["blocked"]["sum"]) - split).abs() * 100 <= split, "{time}");
}

/// Stacks in the folded form: their functions, the outermost first, with their numbers.
fn folded(text: &str) -> Vec<(Vec<String>, i64)> {
    let line = |line: &str| {
        let (functions, number) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no number: {line}"));
        let functions: Vec<String> = functions.split(';').map(str::to_owned).collect();
        assert!(functions.iter().all(|function| !function.is_empty()), "{line}");
        (functions, number.parse().unwrap_or_else(|_| panic!("no number: {line}")))
    };
    text.lines().map(line).collect()
}

/// The text of the elements of a document. Fails if these are not nested, or a special character stands alone.
fn texts_of_xml(document: &str) -> String {
    let (mut open, mut texts, mut rest) = (Vec::new(), String::new(), document);
    while let Some((text, after)) = rest.split_once('<') {
        texts.push_str(text);
        if let Some(after) = after.strip_prefix("![CDATA[") {
            rest = after.split_once("]]>").expect("the end of a section").1;
            continue;
        }
        let (tag, after) = after.split_once('>').unwrap_or_else(|| panic!("no end: {after}"));
        let name = |tag: &str| tag.split([' ', '\n', '/']).next().unwrap_or_default().to_owned();
        match tag.strip_prefix('/') {
            Some(tag) => assert_eq!(open.pop(), Some(name(tag))),
            None if tag.starts_with(['?', '!']) || tag.ends_with('/') => {}
            None => open.push(name(tag)),
        }
        rest = after;
    }
    assert!(open.is_empty(), "{open:?} is open");
    let entities = ["lt;", "gt;", "amp;", "quot;", "apos;", "#"];
    assert!(texts.split('&').skip(1).all(|text| entities.iter().any(|entity| text.starts_with(entity))));
    texts
}

#[test]
fn samples_are_in_the_function_that_burns() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    program(folder.path());
    let options = ["--oncpu", "--blocked", "--json", "--top", "1000"];
    let (printed, said) = smark(&options, folder.path(), &["100"]);
    let time = time(&printed, &said);
    let samples = &time["on_cpu"];
    let all = number(&samples["sum"]);
    let of = |function: &str| -> i64 {
        let has = |stack: &&Json| functions(stack).iter().any(|name| name == function);
        stacks(samples).iter().filter(has).map(|stack| number(&stack["samples"])).sum()
    };
    // It burns for 5 ms of each interval, and does little else. A CPU that is taken away is not sampled.
    assert!(of("burn") * 10 >= all * 8 && of("main") * 10 >= all * 9, "{samples}");
    assert!(OUTSIDE.iter().all(|function| of(function) == 0), "{samples}");
    let on_cpu_ms = number(&time["split"]["on_cpu"]["sum"]) / 1_000_000;
    note!("{all} samples in {on_cpu_ms} ms on a CPU");
    // 997 in a second. A virtual machine may not run for a while.
    assert!(all * 2 >= on_cpu_ms && all <= on_cpu_ms * 2, "{all} samples in {on_cpu_ms} ms");
    assert!(number(&time["blocked"]["sum"]) > 0, "{time}");
}

#[test]
fn folded_stacks_add_up_and_flame_graphs_name_functions() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    program(folder.path());
    let options = ["--blocked", "--json", "--top", "1000", "--to", "folded", "-o", "stacks"];
    let (printed, said) = smark(&options, folder.path(), &["10"]);
    let blocked = &time(&printed, &said)["blocked"];
    let text = std::fs::read_to_string(folder.path().join("stacks")).expect("the stacks");
    let lines = folded(&text);
    let (sum, rounded) = (lines.iter().map(|(_, us)| us).sum::<i64>(), 1 + stacks(blocked).len() as i64);
    assert!((sum - number(&blocked["sum"]) / 1_000).abs() <= rounded, "{sum} us: {blocked}");
    for (function, system_call) in WAITS {
        let has = |(functions, _): &&(Vec<String>, i64)| {
            // Functions that were inlined are there, and those of the kernel follow.
            let at = |name: &str| functions.iter().position(|function| function == name);
            let kernel = functions.iter().position(|function| function.ends_with(&format!("sys_{system_call}_[k]")));
            let order = [at("main"), at(function), at("call_kernel"), kernel];
            order.iter().all(Option::is_some) && order.is_sorted()
        };
        let us: i64 = lines.iter().filter(has).map(|(_, us)| us).sum();
        assert!(is_near(us * 1_000, measured(&printed)[function]), "{function}: {us} us\n{text}");
    }

    let (printed, said) = smark(&["--blocked", "--to", "svg", "-o", "blocked.svg"], folder.path(), &["5"]);
    assert!(printed.contains("\nblocked: "), "{printed}{said}");
    let drawn = std::fs::read_to_string(folder.path().join("blocked.svg")).expect("the graph");
    let texts = texts_of_xml(&drawn);
    assert!(drawn.contains("<svg ") && WAITS.iter().all(|(function, _)| texts.contains(function)), "{texts}");

    // Without a file the stacks are all that is on stdout, and what the program prints.
    let (printed, said) = smark(&["--oncpu", "--to", "folded"], folder.path(), &["20"]);
    let of_program = |line: &&str| !WAITS.iter().any(|(function, _)| line.starts_with(function));
    let lines = folded(&printed.lines().filter(of_program).collect::<Vec<_>>().join("\n"));
    let burning = |(functions, _): &&(Vec<String>, i64)| functions.iter().any(|function| function == "burn");
    assert!(lines.iter().filter(burning).map(|(_, samples)| samples).sum::<i64>() > 0, "{printed}{said}");
}

#[test]
fn counts_by_stack_are_folded_too() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    program(folder.path());
    let mut smark = Command::new(fixture::smark());
    let smark = smark.args(["count", "-q", "--by", "stack", "waits:begin", "--to", "folded", "-o", "stacks"]);
    tools::run(smark.args(["--", "./waits", "7"]).current_dir(folder.path()));
    let lines = folded(&std::fs::read_to_string(folder.path().join("stacks")).expect("the stacks"));
    let begins = |functions: &[String]| functions.len() > 1 && functions.last().is_some_and(|name| name == "begin");
    assert!(lines.iter().all(|(functions, _)| begins(functions)), "{lines:?}");
    assert_eq!(lines.iter().map(|(_, hits)| hits).sum::<i64>(), 7);
}

#[test]
fn what_has_no_stacks_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    program(folder.path());
    let refused = |arguments: &[&str]| {
        let mut smark = Command::new(fixture::smark());
        tools::ended(smark.args(arguments).args(["--", "./waits", "1"]).current_dir(folder.path())).fails(2)
    };
    let time = [&TIME[..], &["--to", "folded"]].concat();
    let said = refused(&time);
    assert!(said.contains("--to: nothing counts stacks"), "{said}");
    let said = refused(&[&time[..], &["--blocked", "--oncpu"]].concat());
    assert!(said.contains("cannot be added up"), "{said}");
    let said = refused(&[&time[..], &["--blocked", "--json"]].concat());
    assert!(said.contains("name it with -o FILE"), "{said}");
    std::fs::write(folder.path().join("there"), "").expect("a file");
    let said = refused(&[&time[..], &["--blocked", "-o", "there"]].concat());
    assert!(said.contains("there: already exists (--force overwrites it)"), "{said}");
    let said = refused(&["count", "--blocked"]);
    assert!(said.contains("--time <A..B|SPAN|FUNCTION()>"), "{said}");
}

/// The block of the document has what the command prints of the first stack, but for the numbers, and for the frames of the
/// kernel and the C library. Whether `enter` is there depends on that library.
#[test]
fn the_document_shows_what_a_request_was_blocked_on() {
    if !can_watch() {
        return;
    }
    let document = std::fs::read_to_string(fixture::workspace().join("docs/count.md")).expect("the document");
    let (_, after) = document.split_once("### What it was blocked on").expect("the section");
    let (_, block) = after.split_once("```console\n$ smark ").expect("a block");
    let (block, _) = block.split_once("```").expect("its end");
    let (command, shown) = block.split_once('\n').expect("a command");
    let (arguments, server) = command.split_once(" -- ").expect("a program");
    let folder = tempfile::tempdir().expect("a folder");
    let source = fixture::workspace().join("tests/split/server.c");
    let source = std::fs::read_to_string(source).expect("the source");
    compile(folder.path(), "server", &source, &["-fno-omit-frame-pointer"]);
    let mut smark = Command::new(fixture::smark());
    let smark = smark.args(arguments.split(' ')).args(["--", server]).current_dir(folder.path());
    let printed = tools::run(smark);
    let first = |text: &str| {
        let (_, table) = text.split_once("\nblocked: ").unwrap_or_else(|| panic!("no table: {text}"));
        // The path of the source, as it was given to the compiler, is another one.
        let without = |line: &str| {
            let units = ["ns", "us", "ms", "s"];
            let words = line.split_whitespace().filter(|word| !units.contains(word) && word.parse::<f64>().is_err());
            words.map(|word| word.rsplit('/').next().unwrap_or_default()).collect::<Vec<_>>().join(" ")
        };
        let is_head = |number: usize, line: &str| number < 2 || line.contains("server.c");
        let lines =
            table.lines().enumerate().filter(|(number, line)| is_head(*number, line) && !line.contains("enter"));
        lines.map(|(_, line)| without(line)).take(4).collect::<Vec<_>>()
    };
    assert_eq!(first(&printed), first(shown), "{printed}");
    assert!(first(shown)[1].contains("futex") && first(shown)[2].starts_with("handle at "), "{shown}");
}
