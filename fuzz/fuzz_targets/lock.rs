//! Arbitrary text as a lock file: parsed, and updated from the markers of a small program. Also as settings.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use simple_markers_resolver::check::{Check, Lock, Policy, Profile, Settings, check};
use simple_markers_resolver::resolve::{Resolution, resolve};

static PROGRAM: LazyLock<Resolution> =
    LazyLock::new(|| resolve("seed", include_bytes!("../seeds/image/dwarf-gcc5.exe")));

fuzz_target!(|text: &str| {
    for settings in [Settings::parse(text), Settings::parse_manifest(text).map(Option::unwrap_or_default)] {
        if let Err(error) = settings {
            assert!(error.line > 0 && error.column > 0 && !error.what.is_empty());
        }
    }
    let policy = Policy::default();
    let profile = Profile { name: "default".to_owned(), target: None };
    let ask = |lock| Check {
        resolution: &PROGRAM,
        keep: &|_| true,
        keep_name: &|_| true,
        root: None,
        policy: &policy,
        lock,
        debug_setting: None,
    };
    let read = match Lock::parse(text) {
        Ok(read) => read,
        Err(error) => {
            assert!(error.line > 0 && error.column > 0 && !error.what.is_empty());
            assert!(
                Lock::updated(Some(text), &ask(None), &profile).is_err(),
                "what cannot be read is not written over"
            );
            return;
        }
    };
    let _ = check(&ask(Some((&read, &profile))));
    let (written, _) = Lock::updated(Some(text), &ask(Some((&read, &profile))), &profile).expect("it was read");
    let again = Lock::parse(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert!(again.section("default", "x86_64").is_some());
    for section in &read.sections {
        assert!(again.sections.iter().any(|other| other.profile == section.profile), "other sections stay");
    }
    let (twice, _) = Lock::updated(Some(&written), &ask(Some((&again, &profile))), &profile).expect("it was read");
    assert_eq!(written, twice);
});
