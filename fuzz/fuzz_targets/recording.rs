//! Arbitrary bytes as the stream of a recording, and as its description: read to the end.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use simple_markers_fuzz::{byte, part};
use simple_markers_tracer::ctf::packet::Header;
use simple_markers_tracer::ctf::{Description, Events};

static KNOWN: LazyLock<Description> = LazyLock::new(|| {
    Description::from_json(include_bytes!("../seeds/recording/description.json")).expect("a description")
});

fuzz_target!(|input: &[u8]| {
    let mut input = input;
    let how = byte(&mut input);
    let read;
    let description = if how & 1 == 0 {
        &*KNOWN
    } else {
        let Ok(description) = Description::from_json(part(&mut input)) else { return };
        let again = Description::from_json(description.to_json().to_string().as_bytes());
        assert_eq!(again.as_ref(), Ok(&description));
        read = description;
        &read
    };
    // A header that fits is hard to guess.
    let size = 64 + input.len() as u64;
    let header = Header { uuid: description.uuid, content: size, size, ..Header::default() };
    let stream = if how & 2 == 0 { input.to_vec() } else { [&header.to_bytes(), input].concat() };
    let plan = description.plan();
    let mut events = Events::new(description, &plan, &stream);
    // Every event has a byte of the stream, and every packet has at most one error.
    for _ in 0..=stream.len() + 1 {
        match events.next_event() {
            Ok(Some(event)) => assert_eq!(event.values().count(), event.site.arguments.len()),
            Ok(None) => return,
            Err(error) => assert!(error.offset <= stream.len() as u64),
        }
    }
    panic!("it does not end");
});
