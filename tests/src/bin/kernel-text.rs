//! Compares the kernel's text of its events with ours, for a large workload: `kernel-text ROUNDS MIB [--all]`.
//! `--all` records the events of all processes, and not only those of the workload.

use std::process::Command;

use simple_markers_tests::kernel_text::{Instance, Printers, workload};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let rounds = arguments.next().unwrap_or_else(|| "1".to_owned());
    let megabytes: u32 = arguments.next().and_then(|size| size.parse().ok()).unwrap_or(64);
    let folder = tempfile::tempdir().expect("a folder");
    let program = workload(folder.path());
    let instance = Instance::create(megabytes * 1024).expect("an instance");
    instance.enable();
    eprintln!("enabled");
    instance.set("tracing_on", "1").expect("tracing");
    let status = Command::new(&program).arg(folder.path()).arg(&rounds).status().expect("the workload");
    instance.set("tracing_on", "0").expect("tracing");
    eprintln!("{status}");
    let mut printers = Printers::new().expect("printers");
    let comparison = printers.compare(&instance);
    let (all, same) = comparison.total();
    for (kind, kernels, ours) in &comparison.differences {
        println!("{kind}\n  kernel {kernels:?}\n  ours   {ours:?}");
    }
    println!("{} kinds, {all} events, {same} the same, {} misplaced", comparison.kinds.len(), comparison.misplaced);
}
