//! Prints which no-operations this kernel rewrites under a uprobe, and how long it takes to find out.

use std::time::Instant;

use simple_markers_resolver::uprobe_rules::UprobeRules as _;
use simple_markers_tracer::sys::RunningKernel;

fn main() {
    let kernel = RunningKernel::find();
    let start = Instant::now();
    println!("five bytes: {} ({:.1?})", kernel.rewrites_five_byte_nops(), start.elapsed());
    let start = Instant::now();
    println!("ten bytes: {} ({:.1?})", kernel.rewrites_ten_byte_nops(), start.elapsed());
}
