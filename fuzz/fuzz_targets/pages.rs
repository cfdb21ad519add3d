//! Arbitrary bytes as a page of the kernel's ring buffer, and as the format of its events: every
//! event is in the page, and every field is in the event.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_events::{Format, Page, PageFormat};
use simple_markers_fuzz::part;

const FORMAT: &str = "name: e0
ID: 1
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;
	field:__data_loc char[] name;	offset:8;	size:4;	signed:1;
	field:__rel_loc char[] near;	offset:12;	size:4;	signed:1;
	field:u64 m0[];	offset:16;	size:64;	signed:0;
";

fuzz_target!(|input: &[u8]| {
    let mut input = input;
    let (format, header) = (part(&mut input), part(&mut input));
    let text = String::from_utf8_lossy(format);
    let format = Format::parse(&text).or_else(|_| Format::parse(FORMAT)).expect("a format");
    let header = PageFormat::parse(&String::from_utf8_lossy(header)).unwrap_or_default();
    let Ok(page) = Page::new(input, &header) else { return };
    let _ = page.missed();
    let mut bytes = 0;
    for event in page.events() {
        let Ok(event) = event else { break };
        // Each event has a header of 4 bytes.
        bytes += event.record.len() + 4;
        assert!(bytes <= input.len());
        for field in &format.fields {
            let size = field.bytes(event.record).map_or(0, <[u8]>::len);
            assert!(size <= event.record.len());
            let _ = (field.number(event.record), field.text(event.record));
            assert!(field.data(event.record).is_none_or(|data| data.len() <= event.record.len()));
        }
    }
});
