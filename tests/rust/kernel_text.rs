//! The texts of kernel events are those of the kernel, letter for letter.

use std::process::Command;

use simple_markers_tests::kernel_text::{Instance, Printers, workload};
use simple_markers_tests::tools::{find, skipped};
use simple_markers_tests::watched::can_watch_with_tracefs;
use simple_markers_tracer::ftrace::print::{PrintError, Printer};
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
    let comparison = Printers::new().expect("printers").compare(&instance);
    let different: Vec<_> = comparison.unexplained().collect();
    assert!(different.is_empty(), "{different:#?}");
    assert_eq!(comparison.misplaced, 0);
    let kinds = comparison.kinds.len();
    assert!(kinds >= 400, "{kinds} kinds: {:?}", comparison.kinds);
}
