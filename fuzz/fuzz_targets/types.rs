//! Entries from arbitrary bytes, each read as a type and as a variable.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_fuzz::{BASE, sections, use_entries, use_type, use_variable};
use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::fuzzing::{DebugInfo, Frame, Moment};

fuzz_target!(|input: &[u8]| {
    let mut input = input.get(..2048).unwrap_or(input);
    let sections = sections(&mut input);
    let info = DebugInfo::new(&sections);
    use_entries(&sections, &info, |die| {
        use_type(&info, die.into());
        let frame = Frame { pc: Vaddr(BASE), function: Some(die), at_entry: false, moment: Moment::Last };
        use_variable(&info, die, &frame);
    });
});
