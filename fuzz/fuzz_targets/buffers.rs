//! The packets and records of a recorder, from arbitrary bytes: a layout, a page, a header, records.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_record::buffer::event::{Argument, Arguments, Events, HEADER, MAX_TEXT};
use simple_markers_record::buffer::packet::Header;
use simple_markers_record::buffer::{Layout, ring};

fuzz_target!(|bytes: &[u8]| {
    let Some((layout, bytes)) = bytes.split_first_chunk() else { return };
    let layout = Layout(u32::from_le_bytes(*layout));
    let _ = ring::Page::read(bytes);
    if let Some(header) = Header::read(bytes) {
        let sizes = 64..=header.packet_size / 8;
        assert!(header.content().is_none_or(|content| content % 8 == 0 && sizes.contains(&content)));
    }
    let mut size = 0;
    for event in Events::new(bytes) {
        let Ok(event) = event else { return };
        size += HEADER + event.arguments.len();
        assert!(size <= bytes.len() && event.arguments.len() % 8 == 0);
        let mut count = 0;
        for argument in Arguments::new(&event, layout) {
            match argument {
                Ok(Argument::Text { bytes, length }) => {
                    assert!(bytes.len() <= MAX_TEXT && length.is_none_or(|length| bytes.len() <= length as usize));
                }
                Ok(Argument::Scalar(_)) => {}
                Err(()) => break,
            }
            count += 1;
        }
        assert!(count <= layout.arguments() && count as usize * 8 <= event.arguments.len());
    }
    assert_eq!(size, bytes.len());
});
