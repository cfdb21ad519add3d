//! The packets and records of a recorder, from arbitrary bytes: a layout, a page, a header, records; and the
//! recording of a program.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use simple_markers_record::buffer::event::{Argument, Arguments, Events, HEADER, MAX_TEXT, MAX_VALUE};
use simple_markers_record::buffer::packet::Header;
use simple_markers_record::buffer::{Layout, ring};
use simple_markers_tracer::ctf;
use simple_markers_tracer::recorder::recording::{ConvertedRecording, Metadata, convert};

static KNOWN: LazyLock<Metadata> = LazyLock::new(|| {
    let argument = "\targuments_1 = \"a, b, c\";\n\ttypes_1 = \"-4 s v\";\n";
    let probe = format!("\tformat_1 = \"%d %s %p{{}}\";\n{argument}\tfile_1 = \"a.c\";\n\tline_1 = 7;\n");
    let clock = "clock {\n\tfreq = 3;\n\toffset_s = 5;\n\toffset = 1;\n};\n";
    let event = "event {\n\tname = \"a:b\";\n\tid = 1;\n};\n";
    let text = format!("env {{\n\ttracer_name = \"simple-markers\";\n{probe}}};\n{clock}{event}");
    Metadata::parse(&text).expect("metadata")
});

/// Every event has a header in one of the files, and every file has at most one error.
fn convert_any(metadata: &Metadata, files: &[&[u8]]) {
    let ConvertedRecording { description, stream, damages } = convert(metadata, files);
    assert!(damages.len() <= files.len());
    let plan = description.plan();
    let events = ctf::Events::new(&description, &plan, &stream).map(|event| event.expect("an event"));
    assert!(events.count() <= files.iter().map(|file| file.len()).sum::<usize>() / HEADER);
}

fuzz_target!(|bytes: &[u8]| {
    convert_any(&KNOWN, &[bytes, bytes.get(..bytes.len() / 2).unwrap_or_default()]);
    if let Some(metadata) = std::str::from_utf8(bytes).ok().and_then(|text| Metadata::parse(text).ok()) {
        convert_any(&metadata, &[bytes]);
    }
    let Some((layout, bytes)) = bytes.split_first_chunk() else { return };
    let layout = Layout(u32::from_le_bytes(*layout));
    // Which arguments of two words are whole values.
    let values = layout.0.rotate_left(7);
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
        for argument in Arguments::new(&event, layout, values) {
            match argument {
                Ok(Argument::Text { bytes, length }) => {
                    assert!(bytes.len() <= MAX_TEXT && length.is_none_or(|length| bytes.len() <= length as usize));
                }
                Ok(Argument::Value { bytes, size, .. }) => {
                    assert!(bytes.len() <= MAX_VALUE && size.is_none_or(|size| bytes.len() <= size as usize));
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
