//! Resolves images that are built in memory.

use images::{COMPRESSED, Linked, NOBITS, Section, Strings, archive, declaration, dwarf, relocatable, scsi, sites};
use object::Architecture;
use simple_markers_resolver::address::{FileOffset, SectionOffset, Vaddr};
use simple_markers_resolver::english;
use simple_markers_resolver::record::site::{self, Site};
use simple_markers_resolver::record::{ByteOrder, DECLARATIONS, SITES, STRINGS};
use simple_markers_resolver::resolve::ImageKind;
use simple_markers_resolver::resolve::{
    DiagnosticSeverity, Encoding, Resolution, SitePlace, Survival, Verdict, resolve,
};

/// The survival of each marker, by name and line.
fn survival(resolution: &Resolution) -> Vec<(String, u32, Option<Survival>)> {
    let markers = resolution.images.iter().flat_map(|image| &image.markers);
    markers.map(|marker| (marker.name.to_string(), marker.line, marker.survival)).collect()
}

/// Function and symbol offset of each site of each marker; `None` for a discarded one.
fn functions(resolution: &Resolution) -> Vec<Vec<Option<(String, u64)>>> {
    let markers = resolution.images.iter().flat_map(|image| &image.markers);
    let site = |site: &simple_markers_resolver::resolve::Site| {
        Some((site.function.as_ref()?.to_string(), site.symbol_offset?))
    };
    markers.map(|marker| marker.sites.iter().map(site).collect()).collect()
}

/// The diagnostics of the first image, with their severity.
fn diagnostics(resolution: &Resolution) -> Vec<(DiagnosticSeverity, String)> {
    resolution.images[0]
        .diagnostics
        .iter()
        .map(|diagnostic| (diagnostic.severity, english::diagnostics::diagnostic(diagnostic)))
        .collect()
}

fn some(function: &str, offset: u64) -> Option<(String, u64)> {
    Some((function.to_owned(), offset))
}

#[test]
fn markers_are_joined_named_and_judged() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let mut image = scsi();
        if order == ByteOrder::Big {
            let mut strings = Strings::default();
            let texts = ["scsi:queue", "scsi.c", "Command %p for %d", "cmd, lun", "8@%rdi -4@esi"];
            let records = [strings.site(0x1058, 10, texts)];
            image.order = order;
            image.sections[2].data = sites(&records, order);
            image.sections[3].data = strings.0;
        }
        let resolution = resolve("drivers/scsi_mod.ko", &image.build());
        assert_eq!(resolution.failures, []);
        assert_eq!(diagnostics(&resolution), []);
        let found = &resolution.images[0];
        assert_eq!(
            (found.module.as_ref(), found.arch.as_str(), found.kind),
            ("scsi_mod", "x86_64", ImageKind::Executable)
        );
        let queue = &found.markers[0];
        assert_eq!(queue.description.as_ref(), "Command $cmd for $lun");
        assert_eq!((queue.declared, queue.line, queue.column), (true, 10, Some(5)));
        if order == ByteOrder::Big {
            assert_eq!(queue.sites[0].place, Some(SitePlace::Address(Vaddr(0x1058))));
            continue;
        }
        assert_eq!(
            survival(&resolution),
            [
                ("scsi:queue".to_owned(), 10, Some(Survival::Live)),
                ("scsi:dead".to_owned(), 20, Some(Survival::Discarded)),
                ("scsi:gone".to_owned(), 30, Some(Survival::Eliminated)),
                ("scsi:alone".to_owned(), 40, Some(Survival::Live)),
            ]
        );
        assert_eq!(
            functions(&resolution),
            [vec![some("g", 0x10), some("f", 8), some("f", 0x10)], vec![None], vec![], vec![some("g", 0x18)]]
        );
        assert!(!found.markers[3].declared);
        let site = &queue.sites[1];
        assert_eq!(site.place, Some(SitePlace::Address(Vaddr(0x1058))));
        assert_eq!(site.file_offset, Some(FileOffset(64 + 2 * 56 + 0x58)));
        let args: Vec<_> = site
            .args
            .iter()
            .map(|arg| (&*arg.text, arg.size, arg.encoding, arg.verdict, arg.location_text.as_deref()))
            .collect();
        assert_eq!(
            args,
            [
                ("cmd", Some(8), Some(Encoding::Unsigned), Some(Verdict::Live), Some("%rdi")),
                ("lun", Some(4), Some(Encoding::Signed), Some(Verdict::Live), Some("%esi")),
            ]
        );
        let rows: Vec<_> =
            resolution.rows().iter().map(|row| (row.id, row.function.to_owned(), row.copies())).collect();
        assert_eq!(
            rows,
            [
                (1, "g".to_owned(), 1),
                (2, "f".to_owned(), 2),
                (3, "<discarded>".to_owned(), 0),
                (4, "<eliminated>".to_owned(), 0),
                (5, "g".to_owned(), 1)
            ]
        );
        assert_eq!(found.markers.iter().map(|marker| marker.id).collect::<Vec<_>>(), [1, 3, 4, 5]);
    }
}

#[test]
fn tombstones_are_dead_and_nothing_else_is() {
    let mut strings = Strings::default();
    let texts = ["a:b", "f.c", "", "", ""];
    let site = strings.site(0, 1, texts);
    let small = Site { address_size: 4, ..site };
    let records = [
        Site { pc: u64::MAX, line: 2, ..site },
        Site { pc: u64::MAX - 1, line: 3, ..site },
        Site { pc: 0xffff_ffff, line: 4, ..small },
        Site { pc: 0xffff_ffff, line: 5, ..site },
        Site { pc: 1, line: 6, ..site },
        site,
    ];
    let resolution = resolve("a", &Linked::new().markers(&[], &records, strings).build());
    let found: Vec<_> = survival(&resolution).into_iter().map(|(_, line, survival)| (line, survival)).collect();
    let (dead, live) = (Some(Survival::Discarded), Some(Survival::Live));
    assert_eq!(found, [(2, dead), (3, dead), (4, dead), (5, live), (6, live), (1, dead)]);
}

#[test]
fn without_a_site_section_survival_is_unknown() {
    let image = Linked::new().section(DECLARATIONS, declaration("a:b", "f.c", 3, "x", ""));
    let resolution = resolve("a", &image.build());
    assert_eq!(survival(&resolution), [("a:b".to_owned(), 3, None)]);
    assert_eq!(resolution.rows()[0].function, "<unknown>");
    let because = ".debug.simple_marker.2: no such section, whether markers survived is unknown \
                   (removed by strip, or a macro that records no sites)";
    assert_eq!(diagnostics(&resolution), [(DiagnosticSeverity::Note, because.to_owned())]);
}

#[test]
fn a_bad_record_is_told_and_the_rest_is_read() {
    let mut declarations = declaration("a:b", "f.c", 3, "x", "");
    declarations.extend_from_slice(b"c:d\0f.c\x004\0");
    let mut strings = Strings::default();
    let texts = ["e:f", "f.c", "", "", ""];
    let good = strings.site(0x1004, 9, texts);
    let outside = Site { name: 0x1000, ..good };
    let image = Linked::new().section(DECLARATIONS, declarations);
    let image = image.section(SITES, sites(&[outside, good], ByteOrder::Little)).section(STRINGS, strings.0);
    let resolution = resolve("a", &image.build());
    assert_eq!(
        diagnostics(&resolution),
        [
            (
                DiagnosticSeverity::Error,
                "__simple_marker.1 at 0xd: truncated record: 3 of its 5 strings end before the section does".to_owned()
            ),
            (
                DiagnosticSeverity::Error,
                ".debug.simple_marker.str at 0x1000: offset is outside the string table of 0xb bytes".to_owned()
            ),
            (
                DiagnosticSeverity::Note,
                ".debug.simple_marker.2: not all records could be read, whether markers without one survived is unknown"
                    .to_owned()
            ),
        ]
    );
    // Not eliminated, because its site may be the unreadable one.
    assert_eq!(survival(&resolution), [("a:b".to_owned(), 3, None), ("e:f".to_owned(), 9, Some(Survival::Live))]);
}

#[test]
fn relocations_decide_in_an_object() {
    for architecture in [Architecture::X86_64, Architecture::I386] {
        let resolution = resolve("f.o", &relocatable(architecture));
        assert_eq!(diagnostics(&resolution), [], "{architecture:?}");
        assert_eq!(resolution.images[0].kind, ImageKind::Relocatable);
        assert_eq!(
            survival(&resolution),
            [("a:b".to_owned(), 3, Some(Survival::Live)), ("a:b".to_owned(), 4, Some(Survival::Discarded))]
        );
        let site = &resolution.images[0].markers[0].sites[0];
        assert_eq!(site.place, Some(SitePlace::Section { section: ".text.f".into(), offset: SectionOffset(0) }));
        assert_eq!((site.function.as_deref(), site.symbol_offset), (Some("f"), Some(0)));
        let text = support_text_offset(architecture);
        assert_eq!(site.file_offset, Some(FileOffset(text)));
    }
}

/// The offset at which object::write puts the first section: after the ELF header, aligned to 1.
fn support_text_offset(architecture: Architecture) -> u64 {
    if architecture == Architecture::X86_64 { 64 } else { 52 }
}

#[test]
fn what_is_linked_is_not_relocated_again() {
    // A relocation section that would change every pc, as `--emit-relocs` leaves it.
    let mut strings = Strings::default();
    let records = [strings.site(0x1004, 9, ["e:f", "f.c", "", "", ""])];
    let mut relocations = 4u64.to_le_bytes().to_vec();
    relocations.extend_from_slice(&((1u64 << 32) | 1).to_le_bytes());
    relocations.extend_from_slice(&0x1004u64.to_le_bytes());
    let image = Linked::new().markers(&[], &records, strings).section(".rela.debug.simple_marker.2", relocations);
    let resolution = resolve("a", &image.build());
    assert_eq!(resolution.images[0].markers[0].sites[0].place, Some(SitePlace::Address(Vaddr(0x1004))));
}

#[test]
fn the_function_is_the_innermost_and_best_known() {
    let mut strings = Strings::default();
    let texts = ["a:b", "f.c", "", "", ""];
    let mut site = |pc, line| strings.site(pc, line, texts);
    let records = [
        site(0x1000, 1),
        site(0x1014, 2),
        site(0x1020, 3),
        site(0x1028, 4),
        site(0x1040, 5),
        site(0x1050, 6),
        site(0x1090, 7),
    ];
    let mut image = Linked::new();
    image.functions = vec![
        ("local", 0x1000, 0x40, false),
        ("global", 0x1000, 0x40, true),
        ("sizeless", 0x1000, 0, true),
        ("inner", 0x1010, 0x18, false),
        ("entry", 0x1050, 0, true),
        // It may extend to 0x1090, or a function without a symbol may start in between.
        ("last", 0x1080, 0, true),
    ];
    let resolution = resolve("a", &image.markers(&[], &records, strings).build());
    let named: Vec<_> = functions(&resolution).into_iter().flatten().collect();
    assert_eq!(
        named,
        [
            some("global", 0),
            some("inner", 4),
            some("inner", 0x10),
            some("global", 0x28),
            // Past the end of both, and in no other function: after a call that does not return.
            some("global", 0x40),
            some("entry", 0),
            None,
        ]
    );
    assert_eq!(resolution.rows().last().unwrap().function, "<no function>");
}

#[test]
fn archives_have_an_image_for_each_member_with_markers() {
    let object = relocatable(Architecture::X86_64);
    let plain = Linked::new().build();
    let data = archive(&[("f.o", &object), ("text.txt", b"hello"), ("plain.o", &plain), ("bad.o", b"\x7fELFxx")]);
    let resolution = resolve("lib/libscsi.a", &data);
    let images: Vec<_> = resolution.images.iter().map(|image| (image.path.as_str(), &*image.module)).collect();
    assert_eq!(images, [("lib/libscsi.a(f.o)", "libscsi")]);
    let failures: Vec<_> = resolution.failures.iter().map(|failure| failure.path.as_str()).collect();
    assert_eq!(failures, ["lib/libscsi.a(bad.o)"]);
    let thin = resolve("thin.a", b"!<thin>\n");
    assert_eq!(
        thin.failures[0].error.to_string(),
        "thin archive: its members are files of their own, give those instead"
    );
}

#[test]
fn files_that_are_not_elf_say_what_they_are() {
    let message = |data| resolve("a", data).failures[0].error.to_string();
    assert_eq!(message(b""), "not an ELF file: it is empty");
    assert_eq!(message(b"hello"), "not an ELF file");
    assert_eq!(message(b"\xfd7zXZ\0\0\0"), "not an ELF file: it is compressed (xz), unpack it first");
    assert_eq!(message(b"\x7fELF\x02"), "malformed ELF file: could not read file magic");
}

#[test]
fn a_truncated_file_says_what_is_missing() {
    let image = scsi().build();
    let headers = u64::from_le_bytes(image[0x28..0x30].try_into().unwrap()) as usize;
    let resolution = resolve("a", &image[..headers + 64]);
    let [failure] = resolution.failures.as_slice() else { panic!("{resolution:#?}") };
    let size = image.len() - headers;
    let expected = format!(
        "truncated ELF file: its section headers, {size:#x} bytes at {headers:#x}, lie outside of its {:#x} bytes",
        headers + 64
    );
    assert_eq!(failure.error.to_string(), expected);
}

#[test]
fn a_section_outside_of_the_file_is_told() {
    let mut image = scsi();
    image.sections[2].size = Some(1 << 40);
    let offset = 64 + 2 * 56 + 0x100 + image.sections[1].data.len();
    let resolution = resolve("a", &image.build());
    assert_eq!(
        diagnostics(&resolution)[0],
        (
            DiagnosticSeverity::Error,
            format!("{SITES}: its 0x10000000000 bytes at {offset:#x} of the file lie outside of it")
        )
    );
    assert_eq!(resolution.images[0].markers.len(), 3);
    assert!(resolution.images[0].markers.iter().all(|marker| marker.survival.is_none()));
}

/// A section compressed as in the gABI: a header, then a zlib stream with one stored block.
fn compressed(data: &[u8], claimed: u64) -> Vec<u8> {
    let mut section = [1u32.to_le_bytes(), [0; 4]].concat();
    section.extend_from_slice(&claimed.to_le_bytes());
    section.extend_from_slice(&1u64.to_le_bytes());
    let length = data.len() as u16;
    section.extend_from_slice(&[0x78, 0x01, 0x01]);
    section.extend_from_slice(&length.to_le_bytes());
    section.extend_from_slice(&(!length).to_le_bytes());
    section.extend_from_slice(data);
    let (a, b) = data.iter().fold((1u32, 0u32), |(a, b), &byte| {
        let a = (a + u32::from(byte)) % 65521;
        (a, (b + a) % 65521)
    });
    section.extend_from_slice(&(b << 16 | a).to_be_bytes());
    section
}

#[test]
fn compressed_sections_are_read_up_to_a_bound() {
    let mut image = scsi();
    for section in &mut image.sections[2..4] {
        section.flags = COMPRESSED;
        section.data = compressed(&section.data, section.data.len() as u64);
    }
    let resolution = resolve("a", &image.build());
    assert_eq!(diagnostics(&resolution), []);
    assert_eq!(functions(&resolution)[0], [some("g", 0x10), some("f", 8), some("f", 0x10)]);

    let mut image = scsi();
    image.sections[2] = Section { flags: COMPRESSED, ..Section::new(SITES, compressed(b"x", 1 << 40)) };
    let resolution = resolve("a", &image.build());
    let what = ".debug.simple_marker.2: 0x10000000000 bytes uncompressed from 0xc is refused: above 0x13060, \
                which is 1032 times as much (the most that deflate reaches) and 64 KiB, or 4 GiB";
    assert_eq!(diagnostics(&resolution)[0], (DiagnosticSeverity::Error, what.to_owned()));
}

#[test]
fn a_debug_companion_has_no_file_offsets() {
    let mut image = scsi();
    image.sections[0].kind = NOBITS;
    image.pie = true;
    let resolution = resolve("a.debug", &image.build());
    assert_eq!(resolution.images[0].kind, ImageKind::Pie);
    let site = &resolution.images[0].markers[0].sites[0];
    assert_eq!((site.place.clone(), site.file_offset), (Some(SitePlace::Address(Vaddr(0x1010))), None));
}

#[test]
fn one_place_is_one_site_and_anchors_are_told() {
    let mut strings = Strings::default();
    let site = strings.site(0x1004, 9, ["e:f", "f.c", "", "", ""]);
    let anchored = Site { flags: site::ANCHORED, pc: 0x1008, ..site };
    let resolution = resolve("a", &Linked::new().markers(&[], &[site, site, anchored], strings).build());
    let found: Vec<_> = resolution.images[0].markers[0].sites.iter().map(|site| site.anchored).collect();
    assert_eq!(found, [false, true]);
}

#[test]
fn text_that_is_pointed_at_again_and_again_is_bounded() {
    // Each record points one byte further into a long string.
    let long = "x".repeat(200_000);
    let mut strings = Strings::default();
    let first = strings.site(0x1004, 1, [&long, "", "", "", ""]);
    let records: Vec<_> = (0..20_000).map(|index| Site { name: first.name + index, ..first }).collect();
    let resolution = resolve("a", &Linked::new().markers(&[], &records, strings).build());
    let (severity, message) = &diagnostics(&resolution)[0];
    assert_eq!(*severity, DiagnosticSeverity::Error);
    assert!(message.contains("text of the records is above the bound of"), "{message}");
    let text: usize = resolution.images[0].markers.iter().map(|marker| marker.name.len()).sum();
    assert!(text < 70 << 20, "{text}");
}

#[test]
fn members_of_an_archive_are_joined() {
    let with_code = relocatable(Architecture::X86_64);
    let only_declared =
        |line| Linked::new().section(DECLARATIONS, declaration("a:b", "f.c", line, "x %d", "x")).build();
    let resolution =
        resolve("lib.a", &archive(&[("one.o", &only_declared(3)), ("two.o", &with_code), ("3.o", &only_declared(9))]));
    let found: Vec<_> = resolution.images.iter().map(|image| (image.path.as_str(), image.markers.len())).collect();
    assert_eq!(found, [("lib.a(two.o)", 2), ("lib.a(3.o)", 1)]);
    assert_eq!(survival(&resolution)[2], ("a:b".to_owned(), 9, None));
}

#[test]
fn the_end_of_one_function_and_the_start_of_the_next_are_told() {
    let mut strings = Strings::default();
    let site = strings.site(0x1040, 9, ["e:f", "f.c", "", "", ""]);
    let image = |flags| {
        let mut image = Linked::new();
        image.functions = vec![("f", 0x1000, 0x40, true), ("g", 0x1040, 0x10, true)];
        let strings = Strings(strings.0.clone());
        resolve("a", &image.markers(&[], &[Site { flags, ..site }], strings).build())
    };
    let what = ".debug.simple_marker.2: the site at 0x1040 is at the end of `f` and the start of `g`, it is taken to be in the latter";
    assert_eq!(diagnostics(&image(0)), [(DiagnosticSeverity::Note, what.to_owned())]);
    assert_eq!(functions(&image(0)), [[some("g", 0)]]);
    // If the marker has its own instruction at that address, it can only belong to the next
    // function.
    assert_eq!(diagnostics(&image(site::ANCHORED)), []);
}

#[test]
fn the_debug_information_names_what_symbols_do_not() {
    let mut strings = Strings::default();
    let texts = ["a:b", "f.c", "", "", ""];
    let mut site = |pc, line| strings.site(pc, line, texts);
    let records = [site(0x1004, 1), site(0x1040, 2), site(0x1044, 3), site(0x1070, 4)];
    // `main` is [0x1000, 0x1040). Without other information it would be the name for 0x1040.
    let image = Linked::new().markers(&[], &records, strings).sections(dwarf::described());
    let resolution = resolve("a", &image.build());
    let found: Vec<_> = resolution.rows().iter().map(|row| row.function.to_owned()).collect();
    assert_eq!(found, ["main", "described", "described", "<no function>"]);
    assert_eq!(diagnostics(&resolution), []);
    assert_eq!(resolution.images[0].markers[1].sites[0].symbol, None);
}
