//! Arbitrary bytes as the format of a kernel event, as the names that its text refers to, and as a
//! record of it: the text is bounded, and the same each time.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_events::{Format, KernelNames, Printer, Source};
use simple_markers_fuzz::part;

/// The limit of a text, and what one conversion may add to it.
const LONGEST: usize = 1 << 18;

fuzz_target!(|input: &[u8]| {
    let mut input = input;
    let text = String::from_utf8_lossy(part(&mut input)).into_owned();
    let [types, symbols, texts, variables] = [(); 4].map(|()| part(&mut input).to_vec());
    let names = KernelNames::new(Box::new(move |source| {
        Some(match source {
            Source::Types => types.clone(),
            Source::Symbols => symbols.clone(),
            Source::Texts => texts.clone(),
            Source::Variables => variables.clone(),
        })
    }));
    for group in ["sched", "syscalls"] {
        let Ok(format) = Format::of(group, &text) else { return };
        let Ok(printer) = Printer::new(&format, &names) else { continue };
        let written = |record: &[u8]| {
            let mut out = String::new();
            printer.write(record, &names, &mut out);
            assert!(out.len() <= LONGEST + text.len());
            out
        };
        assert_eq!(written(input), written(input));
        let (half, _) = input.split_at(input.len() / 2);
        written(half);
        written(b"");
        assert!(printer.description(&format).len() <= LONGEST + text.len() * 64);
        for choices in printer.choices(&format) {
            assert!(format.field(&choices.field).is_some());
        }
        let _ = printer.needs();
    }
});
