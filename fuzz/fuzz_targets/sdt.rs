//! Arbitrary bytes as a file whose markers are exported, as SDT notes and as text for each
//! consumer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_resolver::export::{self, At, Consumer, ExportSettings};
use simple_markers_resolver::resolve::{Exactness, resolve};

const CONSUMERS: [Consumer; 5] = [Consumer::Uprobe, Consumer::Perf, Consumer::Bpftrace, Consumer::Stap, Consumer::Gdb];

fuzz_target!(|file: &[u8]| {
    let include = vec![Exactness::Shared, Exactness::Folded, Exactness::Outside, Exactness::Unproven];
    let all = [
        ExportSettings::default(),
        ExportSettings { at: At::Site, include, unknown_probes: true, doubtful: true, at_entry: true },
    ];
    for image in &resolve("fuzz", file).images {
        for settings in &all {
            for to in CONSUMERS {
                let Ok(written) = export::text(image, file, "/fuzz", &|_| true, to, settings) else { continue };
                assert!(written.text.ends_with('\n'));
                // Text from the image must not start a new line.
                let stray =
                    written.text.chars().find(|character| character.is_control() && !"\n\t".contains(*character));
                assert_eq!(stray, None, "{}", written.text);
            }
            let Ok(copy) = export::sdt::image(image, file, &|_| true, settings) else { continue };
            assert!(copy.bytes.len() >= file.len());
            assert!(resolve("copy", &copy.bytes).failures.is_empty(), "the copy is an image like the file");
        }
    }
});
