//! Images that somebody broke: whatever the bytes, an answer comes back, and soon.

mod support;

use std::time::Instant;

use object::Architecture;
use simple_markers_resolver::record::site::Site;
use simple_markers_resolver::report::{Layout, json, list};
use simple_markers_resolver::resolve::resolve;
use support::{Linked, Strings, archive, declaration, dwarf, relocatable, scsi};

/// Resolves and prints in every way; the text is thrown away.
fn look(data: &[u8]) {
    let resolution = resolve("a", data);
    let mut out = Vec::new();
    for verbose in [false, true] {
        let layout = Layout { colour: true, width: Some(40), verbose };
        list::write(&mut out, &resolution.rows(), layout).unwrap();
    }
    json::write(&mut out, &resolution, &|_| true).unwrap();
}

fn images() -> [Vec<u8>; 5] {
    let object = relocatable(Architecture::X86_64);
    let mut described = scsi();
    described.functions.clear();
    let (abbrev, info) = dwarf();
    let described = described.section(".debug_abbrev", abbrev).section(".debug_info", info);
    [described.build(), scsi().build(), archive(&[("f.o", &object)]), object, relocatable(Architecture::I386)]
}

/// xorshift64: the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

#[test]
fn truncated_anywhere() {
    for image in images() {
        for length in 0..image.len() {
            look(&image[..length]);
        }
    }
}

#[test]
fn with_bits_flipped() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for image in images() {
        for _ in 0..4000 {
            let mut image = image.clone();
            for _ in 0..=numbers.below(4) {
                let at = numbers.below(image.len());
                image[at] ^= 1 << numbers.below(8);
            }
            look(&image);
        }
    }
}

#[test]
fn with_bytes_that_matter_replaced() {
    let mut numbers = Numbers(0x0123_4567_89ab_cdef);
    for image in images() {
        for at in 0..image.len() {
            let mut image = image.clone();
            image[at] = [0, 1, 0x7f, 0x80, 0xff][numbers.below(5)];
            look(&image);
        }
    }
}

#[test]
fn of_garbage() {
    let mut numbers = Numbers(42);
    let garbage: Vec<u8> = (0..5000).map(|_| numbers.below(256) as u8).collect();
    let mut image = scsi();
    for section in &mut image.sections[1..] {
        section.data.clone_from(&garbage);
    }
    look(&image.build());
    let resolution = resolve("a", &image.build());
    // At most a hundred, and how many more.
    assert!(resolution.images[0].diagnostics.len() <= 103, "{}", resolution.images[0].diagnostics.len());
}

#[test]
fn a_million_records_take_linear_time() {
    let mut strings = Strings::default();
    let first = strings.site(0x1000, 1, ["a:b", "f.c", "x %d", "x", "-4@edi"]);
    let records: Vec<_> =
        (0..100_000).map(|index| Site { pc: 0x1000 + index % 0x100, line: index as u32 % 1000, ..first }).collect();
    let declarations: Vec<_> = (0..1000).map(|line| declaration("a:b", "f.c", line, "x %d", "x")).collect();
    let image = Linked::new().markers(&declarations, &records, strings).build();
    let start = Instant::now();
    let resolution = resolve("a", &image);
    assert_eq!(resolution.images[0].markers.len(), 1000);
    // 0.1 s unoptimised; quadratic would be minutes.
    assert!(start.elapsed().as_secs() < 20);
}
