//! Arbitrary bytes as the stream of a recording, and as its description: read to the end.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use simple_markers_fuzz::{byte, part};
use simple_markers_resolver::address::RuntimeAddress;
use simple_markers_tracer::ctf::packet::Header;
use simple_markers_tracer::ctf::{Description, Events};
use simple_markers_tracer::frames::{Frame, StackEnd, StackTable};
use simple_markers_tracer::record::stack::{ProgramStack, StackSettings};

static KNOWN: LazyLock<Description> = LazyLock::new(|| {
    Description::from_json(include_bytes!("../seeds/recording/description.json")).expect("a description")
});

/// The same, with stacks in each event.
static WITH_STACKS: LazyLock<Description> = LazyLock::new(|| {
    let stacks = StackSettings { program: Some(ProgramStack::FramePointers), has_kernel: true };
    let mut table = StackTable::new(stacks).expect("a table");
    let frame =
        |address| Frame { address: RuntimeAddress(address), image: None, image_address: None, functions: Vec::new() };
    table.number_program((0..3).map(frame).collect(), StackEnd::Outermost);
    Description { stacks: Some(table), ..KNOWN.clone() }
});

fuzz_target!(|input: &[u8]| {
    let mut input = input;
    let how = byte(&mut input);
    let read;
    let description = if how & 1 == 0 {
        if how & 4 == 0 { &*KNOWN } else { &*WITH_STACKS }
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
            Ok(Some(event)) => {
                assert_eq!(event.values().count(), event.site.arguments.len());
                let (program, _) = event.recorded_stacks().numbers().program.unzip();
                let table = description.stacks.as_ref();
                assert!(program.into_iter().flatten().all(|it| table.is_some_and(|table| table.frame(it).is_some())));
            }
            Ok(None) => return,
            Err(error) => assert!(error.offset <= stream.len() as u64),
        }
    }
    panic!("it does not end");
});
