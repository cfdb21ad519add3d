//! Expressions and call frame information: loops, growth and circles.

use super::unit::{Unit, leb, with_length};
use super::{arguments, said};

fn location(location: &[u8]) -> String {
    let mut unit = Unit::new();
    let int = unit.function(&[0x9c]);
    unit.variable("x", int, location);
    unit.variable("y", int, &[&[0x99][..], &unit.next().to_le_bytes()].concat());
    said(&arguments("x, y", unit.finish(1))).lines().next().unwrap_or_default().to_owned()
}

#[test]
fn location_programs_that_loop_or_grow() {
    let refused = |bytes: &[u8], why: &str| {
        let said = location(bytes);
        assert!(said.starts_with("x: Some(Unsupported)") && said.contains(why), "{said}");
    };
    refused(&[0x30, 0x2f, 0xfc, 0xff], "DW_OP_skip");
    refused(&[0x30, 0x28, 0xfd, 0xff], "DW_OP_bra");
    // dup and plus double a value each time; dup alone fills the stack.
    refused(&[&[0x70, 0][..], &[0x12, 0x22].repeat(100_000)].concat(), "steps");
    refused(&[&[0x70, 0][..], &[0x12].repeat(1_000_000)].concat(), "steps");
    refused(&[0x50, 0x93, 1].repeat(1_000_000), "steps");
    refused(&[&[0x70, 0][..], &[0x06].repeat(1_000_000)].concat(), "steps");
    refused(&[0x93, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], "steps");
    // A value of 2^63 bytes, and one of a megabyte for an `int`.
    refused(&[0x9e, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], "malformed");
    let large = location(&[&[0x9e][..], &leb(1 << 20), &[7; 1 << 20]].concat());
    assert!(large.starts_with("x: Some(Constant)"), "{large}");
    // Indices whose place in the table is beyond 2^64, and would wrap to the first one.
    refused(&[0xa1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20], "malformed");
    refused(&[0xa1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], "malformed");
    // Nested values on entry.
    let mut nested = vec![0x55];
    for _ in 0..1000 {
        nested = [&[0xa3][..], &leb(nested.len()), &nested].concat();
    }
    refused(&nested, "nested too deep");
}

#[test]
fn calls_and_frames_in_circles() {
    let mut unit = Unit::new();
    let int = unit.function(&[0x91, 0]);
    let at = unit.next();
    unit.variable("itself", int, &[&[0x99][..], &at.to_le_bytes()].concat());
    // Each calls the next one twice: 2^24 operations of 24 entries.
    for _ in 0..24 {
        let next = unit.next() + 3 + 4 + 1 + 10;
        unit.variable("d", int, &[&[0x99][..], &next.to_le_bytes(), &[0x99], &next.to_le_bytes()].concat());
    }
    unit.variable("framed", int, &[0x91, 0]);
    let said = said(&arguments("itself, framed", unit.finish(1)));
    assert!(said.contains("itself: Some(Unsupported)") && said.contains("framed: Some(Unsupported)"), "{said}");
    // Call frame information whose frame address refers to itself, and one that runs past the end.
    for cfa in
        [&[0x0f, 1, 0x9c][..], &[0x0f, 3, 0x9c, 0x9c, 0x22], &[0x04, 0xff, 0xff, 0xff, 0xff], &[0x02, 0xff, 0x0e, 8]]
    {
        let mut frames = with_length(&[&[0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16][..], cfa].concat());
        let advance = [0x04, 0xff, 0xff, 0xff, 0xff].repeat(1000);
        let entry = [&0u32.to_le_bytes()[..], &0x1000u64.to_le_bytes(), &u64::MAX.to_le_bytes(), &advance].concat();
        frames.extend(with_length(&entry));
        let mut unit = Unit::new();
        let int = unit.function(&[0x9c]);
        unit.variable("x", int, &[0x91, 0]);
        let mut sections = unit.finish(1);
        sections.push((".debug_frame", frames));
        let said = super::said(&arguments("x", sections));
        assert!(said.starts_with("x: Some(Unsupported)"), "{said}");
    }
}

#[test]
fn common_frame_information_of_a_megabyte() {
    let mut common = vec![0xff, 0xff, 0xff, 0xff, 1, b'z'];
    common.resize(1 << 20, b'R');
    common.extend([0, 1, 0x78, 16]);
    let mut frames = with_length(&common);
    for index in 0..20_000u64 {
        let entry = [&0u32.to_le_bytes()[..], &(0x1000 + index).to_le_bytes(), &1u64.to_le_bytes(), &[0; 4]].concat();
        frames.extend(with_length(&entry));
    }
    let mut unit = Unit::new();
    let int = unit.function(&[0x9c]);
    unit.variable("x", int, &[0x91, 0]);
    let mut sections = unit.finish(1);
    sections.push((".debug_frame", frames));
    assert!(said(&arguments("x", sections)).starts_with("x: Some(Unsupported)"));
}
