//! The recorder keeps all registers: general, vector, masks, x87 and their control words; on AArch64
//! all but those that probes declare to be changed.

#[cfg_attr(target_arch = "aarch64", path = "support/registers/aarch64.rs")]
#[cfg_attr(target_arch = "x86_64", path = "support/registers/x86_64.rs")]
mod machine;
mod support;

use std::sync::atomic::{AtomicU64, Ordering};

use machine::{hit, level};
use simple_markers_record::buffer::control;
use simple_markers_recorder::{Values, handle, unhandle};
use support::child::run;
use support::probe::text;
use support::reader;
use support::tool::{self, Buffers};
use tools::Choices;

descriptor!(TWO: "test:two", "%lu %lu", "a, b", "8 8", [false, false]);
descriptor!(TEXTS: "test:texts", "%s %lu %s", "a, b, c", "s 8 s", [true, false, true]);

/// How often the handler was called.
static CALLS: AtomicU64 = AtomicU64::new(0);

fn hits(count: usize) {
    let mut choices = Choices::new(1);
    let [at, length] = text(b"a text of some length");
    for _ in 0..count {
        hit(&TWO, &[1, 2], &mut choices);
        hit(&TEXTS, &[at, length, 7, 0, 0], &mut choices);
        hit(&TEXTS, &[at, 3, 7, at, 11], &mut choices);
    }
}

#[test]
fn registers_are_kept() {
    let inner = |folder: &std::path::Path| {
        // Without a buffer, with ids of 0 and others.
        hits(1);
        let probes = [&TWO, &TEXTS];
        let growing = Buffers { packet_size: 4096, packets: 0, flags: 0 };
        let ring = Buffers { packets: 2, ..growing };
        let kinds = [
            growing,
            Buffers { flags: control::MONOTONIC, ..growing },
            // Full after a few hits.
            ring,
            Buffers { flags: control::MONOTONIC, ..ring },
            Buffers { flags: control::OVERWRITE, ..ring },
        ];
        for (number, buffers) in kinds.into_iter().enumerate() {
            let folder = folder.join(number.to_string());
            std::fs::create_dir(&folder).unwrap();
            tool::arm(&folder, buffers, &probes);
            hits(1000);
        }
        // A handler that uses all kinds of registers, on probes that are recorded and that are not.
        let handled = handle::<Values<'_>>("test:*", &|hit, values| {
            let sum: f64 = (0..values.len()).map(|number| (number as f64).sqrt()).sum();
            CALLS.fetch_add(1, Ordering::Relaxed);
            assert!(!format!("{sum} {hit:?}").is_empty());
        });
        assert_eq!(handled, Ok(2));
        tool::arm(&folder.join("0"), growing, &probes);
        hits(1000);
        tool::disarm(&probes);
        hits(1000);
        assert_eq!(CALLS.load(Ordering::Relaxed), 6000 * (1 + level()));
        assert_eq!(unhandle("*"), Ok(2));
        tool::arm(&folder.join("missing"), ring, &probes);
        hits(100);
        assert_eq!(tool::error(), libc::ENOENT as u32);
        assert_eq!(tool::lost(), 300 * (1 + level()));
    };
    run("registers_are_kept", inner, |folder| {
        let layouts = [TWO.layout(), TEXTS.layout()];
        for (number, expected) in [("0", 6000), ("1", 3000)] {
            let files = reader::growing_folder(&folder.join(number), &layouts);
            let count: u64 = files.values().map(|file| file.hits.len() as u64).sum();
            assert_eq!(count, expected * (1 + level()));
        }
    });
}
