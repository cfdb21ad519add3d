//! The texts of kernel events are those of the kernel, letter for letter.

use std::process::Command;

use serde_json::Value as Json;
use simple_markers_events::{PrintError, Printer};
use simple_markers_tests::fixture;
use simple_markers_tests::kernel_text::{Instance, Printers, workload};
use simple_markers_tests::tools::{ended, find, skipped};
use simple_markers_tests::watched::{TRACEFS, can_watch_with_tracefs};
use simple_markers_tracer::sys::KernelEvents;

/// The functions of the kernel that build a text step by step. Their formats are not interpreted.
const NOT_INTERPRETED: [&str; 1] = ["trace_seq_buffer_ptr"];
/// The KiB of each CPU's buffer.
const BUFFER: u32 = 8 << 10;

#[test]
fn every_format_is_interpreted() {
    let events = match KernelEvents::open() {
        Ok(events) => events,
        Err(why) => return skipped(&why.to_string()),
    };
    let names = events.kernel_names();
    let all = events.all_names().expect("the events");
    let mut refused = Vec::new();
    for (group, name) in &all {
        // Another test may remove its events.
        let Ok(format) = events.format(group, name) else { continue };
        match Printer::new(&format, &names) {
            Ok(printer) => {
                // A record that is too short has a text too.
                for length in [0, 8, 11, 40] {
                    let mut text = String::new();
                    printer.write(&vec![0x41; length], &names, &mut text);
                }
                assert!(!printer.description(&format).contains('%') || format.print.contains("%%"), "{group}:{name}");
            }
            Err(PrintError::UnknownFunction { name, .. }) if NOT_INTERPRETED.contains(&name.as_str()) => {}
            Err(why) => refused.push(format!("{group}:{name}: {why}")),
        }
    }
    assert!(all.len() > 500, "{} events", all.len());
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn events_are_listed_with_the_numbers_of_the_kernel() {
    let events = match KernelEvents::open() {
        Ok(events) => events,
        Err(why) => return skipped(&why.to_string()),
    };
    let smark = |arguments: &[&str]| {
        let listed = ended(Command::new(fixture::smark()).args(["list", "--kernel"]).args(arguments));
        (listed.status, listed.stdout, listed.stderr)
    };
    let (status, out, err) = smark(&["-q", "--json", "-m", "sched", "-m", "syscalls"]);
    assert_eq!((status, err.as_str()), (0, ""));
    let document: Json = serde_json::from_str(&out).expect("JSON");
    let listed = document["events"].as_array().expect("events");
    let expected =
        events.names().expect("names").into_iter().filter(|(group, _)| ["sched", "syscalls"].contains(&&**group));
    let found: Vec<_> = listed.iter().map(|event| (event["subsystem"].as_str(), event["name"].as_str())).collect();
    let expected: Vec<_> = expected.collect();
    assert_eq!(found, expected.iter().map(|(group, name)| (Some(&**group), Some(&**name))).collect::<Vec<_>>());
    for ((group, name), event) in expected.iter().zip(listed) {
        let id = std::fs::read_to_string(format!("{TRACEFS}/events/{group}/{name}/id")).expect("the kernel's number");
        assert_eq!(event["id"].to_string(), id.trim(), "{group}:{name}");
        assert_eq!(event["why"], Json::Null, "{group}:{name}");
    }
    let (status, out, _) = smark(&["sched:sched_process_wait", "-v"]);
    let lines: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    let rest = ["sched", "-", "sched_process_wait", "comm=$comm", "pid=$pid", "prio=$prio"];
    assert_eq!((status, &lines[1][1..]), (0, &rest[..]));
    assert!(lines.contains(&vec!["pid_t", "pid"]), "{lines:?}");
    assert_eq!(smark(&["sched_process_wait"]).1.lines().count(), 2);
    let (status, out, err) = smark(&["sched:sched_swich"]);
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(err.starts_with("smark: no event matches `sched:sched_swich`; closest: sched:sched_switch"), "{err}");
    let (status, _, err) = smark(&["-m", "schd"]);
    assert!(status == 1 && err.contains("no subsystem matches `schd`; closest: sched"), "{err}");
    let (status, _, err) = smark(&["-m", "sched", "sys_enter_read"]);
    assert_eq!((status, err.as_str()), (1, "smark: no event matches all the patterns\n"));
    assert_eq!(smark(&["-f", "main"]).0, 2);
}

#[test]
fn each_line_is_that_of_the_kernel() {
    if !can_watch_with_tracefs() || find("gcc").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = workload(folder.path());
    let instance = Instance::create(BUFFER).expect("an instance");
    instance.enable();
    instance.set("tracing_on", "1").expect("tracing starts");
    let status = Command::new(&program).arg(folder.path()).arg("1").status().expect("the workload");
    instance.set("tracing_on", "0").expect("tracing stops");
    assert!(status.success(), "{status}");
    let mut printers = Printers::new().expect("printers");
    let comparison = printers.compare(&printers.read(&instance));
    let different: Vec<_> = comparison.unexplained().collect();
    assert!(different.is_empty(), "{different:#?}");
    assert_eq!(comparison.misplaced, 0);
    let kinds = comparison.kinds.len();
    assert!(kinds >= 400, "{kinds} kinds: {:?}", comparison.kinds);
}
