//! The text of an argument, parsed as a place.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_resolver::resolve::root_of;

fuzz_target!(|text: &str| {
    match root_of(text) {
        Ok(path) => {
            assert!(!path.is_empty() && path.iter().all(|name| !name.is_empty() && text.contains(name.as_str())))
        }
        Err(why) => assert!(!why.to_string().is_empty()),
    }
});
