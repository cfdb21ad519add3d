//! The grammar of `--where`: an error is inside the filter, and a filter in parentheses is a
//! filter.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_tracer::filter::Filter;

fuzz_target!(|text: &str| match Filter::parse(text) {
    Ok(filter) => {
        assert_eq!(filter.text(), text);
        // Parentheses may be nested 64 deep.
        assert!(Filter::parse(&format!(" ({text}\n) ")).is_ok() || text.matches(['(', '!']).count() > 60);
    }
    Err(error) => assert!(text.get(error.range.clone()).is_some(), "{error:?}"),
});
