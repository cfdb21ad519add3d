//! Damaged images. The resolver must always answer, and quickly.

use images::{Linked, Strings, archive, declaration, dwarf, relocatable, scsi};
use object::Architecture;
use simple_markers_resolver::record::DECLARATIONS;
use simple_markers_resolver::record::site::Site;
use simple_markers_resolver::report::{TextLayout, Verbosity, json, list};
use simple_markers_resolver::resolve::{Resolution, resolve};
use tools::Choices;

/// Resolves and prints in every format. Discards the text.
fn look(data: &[u8]) {
    let resolution = resolve("a", data);
    let mut out = Vec::new();
    for verbosity in [Verbosity::Rows, Verbosity::Sites, Verbosity::Full] {
        let layout = TextLayout { colour: true, width: Some(40), verbosity };
        list::write(&mut out, &resolution.rows(), layout).unwrap();
    }
    json::write(&mut out, &resolution, &|_| true).unwrap();
}

fn images() -> [Vec<u8>; 5] {
    let object = relocatable(Architecture::X86_64);
    let mut described = scsi();
    described.functions.clear();
    let described = described.sections(dwarf::described());
    [described.build(), scsi().build(), archive(&[("f.o", &object)]), object, relocatable(Architecture::I386)]
}

#[test]
fn truncated_anywhere() {
    for image in images() {
        for length in 0..image.len() {
            look(&image[..length]);
        }
    }
}

/// Flips bits 20,000 times in each image in CI, 100,000 times in all, and else 2,000 times.
fn with_bits_flipped(image: usize) {
    let times = if std::env::var_os("CI").is_some() { 20_000 } else { 2_000 };
    let mut choices = Choices::new(image as u64);
    let [original] = &images()[image..=image] else { panic!("five images") };
    for _ in 0..times {
        let mut image = original.clone();
        for _ in 0..=choices.below(4) {
            let at = choices.below(image.len());
            image[at] ^= 1 << choices.below(8);
        }
        look(&image);
    }
}

#[test]
fn described_with_bits_flipped() {
    with_bits_flipped(0);
}

#[test]
fn linked_with_bits_flipped() {
    with_bits_flipped(1);
}

#[test]
fn archived_with_bits_flipped() {
    with_bits_flipped(2);
}

#[test]
fn relocatable_with_bits_flipped() {
    with_bits_flipped(3);
}

#[test]
fn relocatable_for_32_bits_with_bits_flipped() {
    with_bits_flipped(4);
}

#[test]
fn with_bytes_that_matter_replaced() {
    let mut choices = Choices::new(1);
    for image in images() {
        for at in 0..image.len() {
            let mut image = image.clone();
            image[at] = *choices.one(&[0, 1, 0x7f, 0x80, 0xff]);
            look(&image);
        }
    }
}

#[test]
fn of_garbage() {
    let mut choices = Choices::new(42);
    let garbage: Vec<u8> = (0..5000).map(|_| choices.below(256) as u8).collect();
    let mut image = scsi();
    for section in &mut image.sections[1..] {
        section.data.clone_from(&garbage);
    }
    look(&image.build());
    let resolution = resolve("a", &image.build());
    // At most a hundred, and the number of the rest.
    assert!(resolution.images[0].diagnostics.len() <= 103, "{}", resolution.images[0].diagnostics.len());
}

#[test]
fn a_hundred_thousand_records_are_joined() {
    let mut strings = Strings::default();
    let first = strings.site(0x1000, 1, ["a:b", "f.c", "x %d", "x", "-4@edi"]);
    let records: Vec<_> =
        (0..100_000).map(|index| Site { pc: 0x1000 + index % 0x100, line: index as u32 % 1000, ..first }).collect();
    let declarations: Vec<_> = (0..1000).map(|line| declaration("a:b", "f.c", line, "x %d", "x")).collect();
    let image = Linked::new().markers(&declarations, &records, strings).build();
    let resolution = resolve("a", &image);
    assert_eq!(resolution.images[0].markers.len(), 1000);
    let sites: usize = resolution.images[0].markers.iter().map(|marker| marker.sites.len()).sum();
    // Each line of the 100,000 has every 1,000th address modulo 0x100, which are 32 different ones.
    assert_eq!(sites, 32_000);
}

#[test]
fn a_name_of_64_kib_is_read_whole() {
    let name = "n".repeat(64 << 10);
    let mut strings = Strings::default();
    let site = strings.site(0x1000, 7, [&name, "f.c", "", "", ""]);
    let image = Linked::new().markers(&[declaration(&name, "f.c", 7, "", "")], &[site], strings).build();
    let resolution = resolve("a", &image);
    let [marker] = resolution.images[0].markers.as_slice() else { panic!("one marker") };
    assert_eq!((&*marker.name, marker.sites.len()), (name.as_str(), 1));
    look(&image);
}

/// Two sections with the same bytes, which no linker writes. Both are read, and have the same
/// markers.
#[test]
fn sections_that_overlap() {
    let original = scsi();
    let last = original.sections.len() + 1;
    let position = original.sections.iter().position(|section| section.name == DECLARATIONS).expect("declarations") + 1;
    let mut image = original.section(DECLARATIONS, vec![b'x'; 40]).build();
    let table = u64::from_le_bytes(image[0x28..0x30].try_into().unwrap()) as usize;
    // Copies offset and size from one header to the other (gABI "Section Header": bytes 24 to 40).
    let range = |index: usize| table + index * 64 + 24..table + index * 64 + 40;
    image.copy_within(range(position), range(last).start);
    let names = |resolution: &Resolution| -> Vec<(String, usize)> {
        let markers = resolution.images[0].markers.iter();
        markers.map(|marker| (marker.name.to_string(), marker.sites.len())).collect()
    };
    let (overlapping, expected) = (names(&resolve("a", &image)), names(&resolve("a", &scsi().build())));
    assert_eq!(overlapping, expected);
    assert!(!expected.is_empty());
    look(&image);
}

#[test]
fn an_archive_with_absurd_sizes_is_told() {
    let object = relocatable(Architecture::X86_64);
    let good = archive(&[("f.o", &object)]);
    // The size field of a member's header: ten decimal digits from its 48th byte (ar.h).
    for size in ["9999999999", "4294967295", "-1        ", "0x10      ", "          "] {
        let mut broken = good.clone();
        let field = broken.windows(2).position(|pair| pair == b"`\n").expect("a member header") - 10;
        broken[field..field + 10].copy_from_slice(size.as_bytes());
        let resolution = resolve("a", &broken);
        assert_eq!((resolution.images.len(), resolution.failures.len()), (0, 1), "{size}: {resolution:#?}");
        look(&broken);
    }
}
