//! Provider files of DTrace and formats of notes from arbitrary bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_resolver::notes::{NoteFormat, ProviderFile};

fuzz_target!(|bytes: &[u8]| {
    match ProviderFile::parse(bytes) {
        Ok(file) => {
            for probe in &file.probes {
                let found = file.probe(&format!("{}:{}", probe.provider, probe.name));
                assert!(found.is_some_and(|found| found.name == probe.name));
                assert!(probe.line > 0 && probe.parameters.len() <= bytes.len());
            }
        }
        Err(error) => assert!(error.line > 0 && error.column > 0 && !error.to_string().is_empty()),
    }
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    if let Ok(format) = NoteFormat::parse(text) {
        assert!(format.format.len() <= bytes.len());
    }
});
