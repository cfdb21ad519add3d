//! A location, a frame base, a location list and call frame information from arbitrary bytes: each
//! is understood completely or refused, then printed and evaluated.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_fuzz::{BASE, MOMENTS, byte, part, sections, use_variable};
use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::fuzzing::{DebugInfo, Frame};
use simple_markers_resolver::location::InfoOffset;

/// The offset of the entries after the header and the root of a unit. DWARF 5 has one more byte of
/// header.
fn first(version: u8) -> usize {
    if version == 5 { 12 + 18 } else { 11 + 18 }
}

fuzz_target!(|input: &[u8]| {
    let mut input = input;
    let version = byte(&mut input) & 3;
    let pc = byte(&mut input);
    let (frame_base, location) = (part(&mut input), part(&mut input));
    let limited = |bytes: &[u8]| {
        let bytes = &bytes[..bytes.len().min(1 << 12)];
        [&[bytes.len() as u8 | 0x80, (bytes.len() >> 7) as u8][..], bytes].concat()
    };
    // A base type, and a function with two variables: one has a location, one a location list.
    let base = first(version + 2) as u16;
    let mut below = vec![2, 5, 4, b'i', 0, 2, 4, 8, b'd', 0];
    let function = first(version + 2) + below.len();
    below.extend([13, b'f', 0, 1, 1, 0, 0xff]);
    below.extend(limited(frame_base));
    let variable = first(version + 2) + below.len();
    below.extend([18, b'a', 0, 1, 1]);
    below.extend(base.to_le_bytes());
    below.extend(limited(location));
    let listed = first(version + 2) + below.len();
    below.extend([19, b'b', 0]);
    below.extend(base.to_le_bytes());
    below.extend([0; 4]);
    let mut whole = vec![version];
    whole.extend((below.len() as u16).to_le_bytes());
    whole.extend(below);
    whole.extend([0, 0]);
    whole.extend(input);
    let mut rest = &*whole;
    let sections = sections(&mut rest);
    let info = DebugInfo::new(&sections);
    let entry = |offset: usize| info.die_at(InfoOffset(offset as u64)).expect("the entry is in the unit");
    for (at_entry, moment) in MOMENTS {
        let frame = Frame { pc: Vaddr(BASE + u64::from(pc)), function: Some(entry(function)), at_entry, moment };
        use_variable(&info, entry(variable), &frame);
        use_variable(&info, entry(listed), &frame);
    }
});
