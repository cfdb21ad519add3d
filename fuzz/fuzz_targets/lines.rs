//! A line program and entries from arbitrary bytes: the sites of lines, and their scopes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_fuzz::{byte, sections};
use simple_markers_resolver::fuzzing::DebugInfo;

fuzz_target!(|input: &[u8]| {
    let mut input = input;
    let first = byte(&mut input);
    let sections = sections(&mut input);
    let info = DebugInfo::new(&sections);
    for file in ["a.c", "/src/a.c", "b.h", "x.c"] {
        for line in [0, 1, 2, u32::from(first), u32::from(first) + 1, u32::MAX] {
            let Ok(found) = info.sites_of_line(file, line) else { continue };
            assert_eq!(found.sites.is_empty(), found.problem.is_some());
            assert!(found.sites.windows(2).all(|pair| pair[0].address < pair[1].address));
        }
    }
});
