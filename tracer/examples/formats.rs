//! Reads all formats of the kernel, and says which ones cannot be printed.

use simple_markers_tracer::ftrace::print::Printer;
use simple_markers_tracer::sys::KernelEvents;

fn main() {
    let events = KernelEvents::open().expect("tracefs");
    let names = events.kernel_names();
    let (mut good, mut bad) = (0, 0);
    for (group, name) in events.all_names().expect("events") {
        let format = events.format(&group, &name).expect("a format");
        match Printer::new(&format, &names) {
            Ok(printer) => {
                good += 1;
                println!("{group}:{name}\t{}", printer.description(&format));
            }
            Err(why) => {
                bad += 1;
                eprintln!("{group}:{name}: {why}");
            }
        }
    }
    eprintln!("{good} can be printed, {bad} cannot");
}
