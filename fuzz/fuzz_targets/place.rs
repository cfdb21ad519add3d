//! The text of an argument: a place, or what it is instead.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_resolver::resolve::root_of;

fuzz_target!(|text: &str| {
    match root_of(text) {
        Ok(path) => {
            assert!(!path.is_empty() && path.iter().all(|name| !name.is_empty() && text.contains(name.as_str())))
        }
        Err(why) => assert!(!why.is_empty()),
    }
});
