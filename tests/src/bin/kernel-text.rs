//! Compares the kernel's text of its events with ours and with that of `trace-cmd`, for a large
//! workload: `kernel-text ROUNDS MIB`. MIB is the size of each CPU's buffer. The last lines are a table.

use std::process::Command;
use std::time::Instant;

use simple_markers_events::Printer;
use simple_markers_tests::kernel_text::{Instance, Printers, trace_cmd, workload};
use simple_markers_tracer::sys::KernelEvents;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let rounds = arguments.next().unwrap_or_else(|| "20".to_owned());
    let megabytes: u32 = arguments.next().and_then(|size| size.parse().ok()).unwrap_or(128);
    let (formats, good) = formats();
    let folder = tempfile::tempdir().expect("a folder");
    let program = workload(folder.path());
    let instance = Instance::create(megabytes * 1024).expect("an instance");
    instance.enable();
    instance.set("tracing_on", "1").expect("tracing starts");
    let status = Command::new(&program).arg(folder.path()).arg(&rounds).status().expect("the workload");
    instance.set("tracing_on", "0").expect("tracing stops");
    assert!(status.success(), "{status}");
    let mut printers = Printers::new().expect("printers");
    let recording = printers.read(&instance);
    drop(instance);
    let comparison = printers.compare(&recording);
    for (kind, kernels, ours) in comparison.unexplained() {
        println!("{kind}\n  kernel {kernels:?}\n  ours   {ours:?}");
    }
    let (events, same) = comparison.total();
    let of_the_moment: u64 = comparison
        .of_the_moment
        .iter()
        .filter_map(|kind| comparison.kinds.get(kind))
        .map(|(all, same)| all - same)
        .sum();
    let mut text = String::new();
    let start = Instant::now();
    recording.each_record(&mut |record| {
        text.clear();
        printers.write(record, &mut text);
    });
    let each = |time: std::time::Duration, count: u64| time.as_nanos() / u128::from(count.max(1));
    let ours = each(start.elapsed(), events);
    let theirs = trace_cmd(&recording, folder.path());
    println!("| | smark | trace-cmd |\n| --- | ---: | ---: |");
    println!("| formats that are interpreted | {good} of {formats} | |");
    println!("| kinds of events | {} | {} |", comparison.kinds.len(), theirs.kinds.0);
    let equal = comparison.kinds.values().filter(|(all, same)| all == same).count();
    println!("| kinds whose events all have the kernel's text | {equal} | {} |", theirs.kinds.1);
    println!("| events | {events} | {} |", theirs.events);
    println!("| events with the kernel's text | {same} | {} |", theirs.same);
    println!("| the same apart from `0x` before pointers and sizes of symbols | | {} |", theirs.alike);
    println!("| others that print `jiffies` of the moment | {of_the_moment} | |");
    println!("| others | {} | {} |", events - same - of_the_moment, theirs.events - theirs.alike);
    println!("| ns for the text of an event | {ours} | {} |", each(theirs.time, events));
    assert_eq!(comparison.misplaced, 0, "events at other places");
}

/// How many formats there are, and how many can be interpreted. The others are printed.
fn formats() -> (usize, usize) {
    let events = KernelEvents::open().expect("tracefs");
    let names = events.kernel_names();
    let all = events.all_names().expect("events");
    let is_good = |(group, name): &&(String, String)| {
        let format = events.format(group, name).expect("a format");
        let result = Printer::new(&format, &names);
        result.inspect_err(|why| println!("{group}:{name}: {why}")).is_ok()
    };
    (all.len(), all.iter().filter(is_good).count())
}
