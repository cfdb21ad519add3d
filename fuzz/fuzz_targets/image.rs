//! Arbitrary bytes as an image or an archive, resolved and reported in full.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_resolver::report::{self, TextLayout};
use simple_markers_resolver::resolve::resolve;

fuzz_target!(|file: &[u8]| {
    let resolution = resolve("fuzz", file);
    let mut text = Vec::new();
    let layout = TextLayout { colour: false, width: None, verbosity: report::Verbosity::Full };
    report::list::write(&mut text, &resolution.rows(), layout).expect("a vector takes everything");
    assert!(std::str::from_utf8(&text).is_ok());
    let mut json = Vec::new();
    report::json::write(&mut json, &resolution, &|_| true).expect("a vector takes everything");
    assert!(json.ends_with(b"}\n"));
});
