//! The operands string, the argument list and the assembler's escapes from arbitrary bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_record::operand::Operand;
use simple_markers_record::{args, assembler, operand};

fuzz_target!(|bytes: &[u8]| {
    for entry in operand::parse(bytes) {
        if let Ok(Operand::Kept(kept)) = entry {
            assert!(matches!(kept.size, 1 | 2 | 4 | 8) && !kept.place.is_empty());
        }
    }
    let split: usize = args::split(bytes).map(<[u8]>::len).sum();
    assert!(split <= bytes.len());
    assert!(assembler::escape(bytes).bytes().all(|byte| (0x20..0x7f).contains(&byte) && byte != b'"'));
});
