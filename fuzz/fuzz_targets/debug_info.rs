//! Entries, rows, lists and frames from arbitrary bytes: looks up scopes, names and variables.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_fuzz::{BASE, byte, sections, use_place};
use simple_markers_resolver::fuzzing::DebugInfo;

fuzz_target!(|input: &[u8]| {
    let mut input = input;
    let (pc, line) = (byte(&mut input), byte(&mut input));
    let sections = sections(&mut input);
    let info = DebugInfo::new(&sections);
    for pc in [u64::from(pc), u64::from(pc) + 1, 0, 4, 16] {
        use_place(&info, BASE + pc, line.into());
        use_place(&info, BASE + 4 * pc, 3);
    }
});
