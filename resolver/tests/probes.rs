//! Probes: markers with a switch.

use images::{ALLOC_WRITE, Linked, NOBITS, SWITCHES, Section, Strings, linked_by_gnu_ld, notes, probe};
use object::write::{Object, Relocation, RelocationFlags, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationEncoding, RelocationKind, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope,
};
use simple_markers_record::buffer::Layout as Words;
use simple_markers_resolver::address::{FileOffset, SectionOffset, Vaddr};
use simple_markers_resolver::english;
use simple_markers_resolver::export::{self, Consumer, ExportSettings};
use simple_markers_resolver::record::site::{self, Site};
use simple_markers_resolver::record::{ByteOrder, SITES, STRINGS};
use simple_markers_resolver::report::{TextLayout, Verbosity, json, list, show};
use simple_markers_resolver::resolve::{ResolvedImage, SitePlace, Switch, SwitchProblem, Verdict, resolve};

fn resolved(bytes: &[u8]) -> ResolvedImage {
    let mut resolution = resolve("/x/prog", bytes);
    assert_eq!(resolution.images.len(), 1, "{:?}", resolution.failures);
    resolution.images.remove(0)
}

/// The offset of the switches in the file.
fn file_offset(bytes: &[u8]) -> u64 {
    let at = 64 + 2 * 56 + 8;
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// The image of [`probe`] with another section of switches.
fn with(change: impl FnOnce(&mut Section)) -> Linked {
    let mut image = probe();
    change(image.sections.iter_mut().find(|section| section.name == "__simple_probe").unwrap());
    image
}

#[test]
fn the_switch_has_an_address_and_an_offset() {
    let bytes = probe().build();
    let image = resolved(&bytes);
    assert_eq!(image.diagnostics, []);
    let markers: Vec<_> = image.markers.iter().map(|marker| (&*marker.name, marker.is_probe)).collect();
    assert_eq!(markers, [("queue:asleep", true), ("queue:plain", false)]);
    let switch = Switch {
        place: Some(SitePlace::Address(Vaddr(SWITCHES))),
        file_offset: Some(FileOffset(file_offset(&bytes))),
        problem: None,
        shares_page: false,
        words: Words::new(&[false, true, false]),
    };
    let switches: Vec<_> = image.markers[0].sites.iter().map(|site| site.switch.clone()).collect();
    assert_eq!(switches, [Some(switch.clone()), Some(switch)]);
    assert_eq!(image.markers[1].sites[0].switch, None);
    let args = &image.markers[0].sites[0].args;
    let found: Vec<_> =
        args.iter().map(|arg| (arg.verdict, arg.type_name.as_deref(), arg.location_text.as_deref())).collect();
    let live = Some(Verdict::Live);
    assert_eq!(
        found,
        [(live, None, Some("%edi")), (live, Some("text"), Some("%rax, length %rdx")), (live, None, Some("%rcx"))]
    );
}

#[test]
fn a_switch_that_the_kernel_cannot_write_is_reported() {
    let dropped = |switch| {
        let mut image = probe();
        let records = image.sections.iter_mut().find(|section| section.name == SITES).unwrap();
        for record in records.data.chunks_exact_mut(48).take(2) {
            record[40..].copy_from_slice(&u64::to_le_bytes(switch));
        }
        image.build()
    };
    for (bytes, problem, words) in [
        (
            with(|section| section.flags = 2).build(),
            SwitchProblem::NotInFile,
            "no segment loads its switch from the file",
        ),
        (
            with(|section| section.kind = NOBITS).build(),
            SwitchProblem::NotInFile,
            "no segment loads its switch from the file",
        ),
        (
            with(|section| section.data.truncate(2)).build(),
            SwitchProblem::NotWritable,
            "its switch is not in a writable segment",
        ),
        (dropped(0x1040), SwitchProblem::NotWritable, "its switch is not in a writable segment"),
        (dropped(SWITCHES + 1), SwitchProblem::NotAligned, "its switch is at an odd offset of the file"),
        (dropped(0), SwitchProblem::Dropped, "the linker dropped its switch"),
        (dropped(u64::MAX), SwitchProblem::Dropped, "the linker dropped its switch"),
        (dropped(u64::MAX - 1), SwitchProblem::Dropped, "the linker dropped its switch"),
    ] {
        let image = resolved(&bytes);
        let marker = &image.markers[0];
        let problems: Vec<_> = marker.sites.iter().map(|site| site.switch.as_ref().unwrap().problem).collect();
        assert_eq!((marker.is_probe, &*problems), (true, &[Some(problem), Some(problem)][..]));
        let diagnostics: Vec<String> = image.diagnostics.iter().map(english::diagnostics::diagnostic).collect();
        let expected =
            format!(".debug.simple_marker.2: queue:asleep (queue.c:10): uprobes cannot arm the probe: {words}");
        assert_eq!(diagnostics, [expected]);
        let uprobe =
            export::text(&image, &bytes, "/x/prog", &|_| true, Consumer::Uprobe, &ExportSettings::default()).unwrap();
        assert_eq!((uprobe.probes, uprobe.left_out), (1, 2));
        let left_out = format!("# left out: queue:asleep at 0x1010: its probe cannot be armed: {words}\n");
        assert!(uprobe.text.contains(&left_out), "{}", uprobe.text);
    }
}

#[test]
fn a_page_of_the_file_in_two_segments_is_reported() {
    let mut image = probe();
    let other = |address, size| Section { flags: ALLOC_WRITE, address, ..Section::new(".data.rel.ro", vec![0; size]) };
    image.sections.insert(1, other(0x2000, 0x10));
    let found = resolved(&image.build());
    let diagnostics: Vec<String> = found.diagnostics.iter().map(english::diagnostics::diagnostic).collect();
    let expected = "queue:asleep (queue.c:10): uprobes arm the probe in running processes only, not in those that start later: \
                    two writable segments share the page of the file that its switch is in (link with -z \
                    separate-loadable-segments)";
    assert_eq!(diagnostics, [format!(".debug.simple_marker.2: {expected}")]);
    assert!(found.markers[0].sites[0].switch.as_ref().unwrap().shares_page);
    // A page lies between them.
    image.sections.insert(2, Section::new(".space", vec![0; 0x1000]));
    assert_eq!(resolved(&image.build()).diagnostics, []);
}

#[test]
fn a_record_without_its_switch_is_an_error() {
    let mut strings = Strings::default();
    let record = strings.site(0x1010, 10, ["queue:asleep", "queue.c", "", "", ""]);
    let mut image = linked_by_gnu_ld().markers(&[], &[record], strings);
    let sites = image.sections.iter_mut().find(|section| section.name == SITES).unwrap();
    sites.data[2] |= site::PROBE;
    let diagnostics: Vec<String> =
        resolved(&image.build()).diagnostics.iter().map(english::diagnostics::diagnostic).collect();
    assert_eq!(diagnostics, [".debug.simple_marker.2 at 0x0: record of 0x26 bytes is too short for its fields"]);
}

/// A relocatable object with a probe in `.text.f` whose switch is at offset 32 of its section.
/// `with_switch` says whether there is a relocation for it.
fn relocatable(with_switch: bool) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let mut section = |name: &str, kind, data: &[u8]| {
        let section = object.add_section(Vec::new(), name.into(), kind);
        object.append_section_data(section, data, 1);
        section
    };
    let text = section(".text.f", SectionKind::Text, &[0x90; 16]);
    let switches = section("__simple_probe", SectionKind::Data, &[0; 64]);
    let mut strings = Strings::default();
    let record = strings.site(0, 3, ["a:b", "f.c", "", "", ""]);
    let mut bytes = Vec::new();
    Site { switch: Some(0), ..record }.write(&mut bytes, ByteOrder::Little);
    section(STRINGS, SectionKind::DebugString, &strings.0);
    let records = section(SITES, SectionKind::Debug, &bytes);
    let mut relocate = |offset, name: &str, section, value, kind| {
        let symbol = object.add_symbol(Symbol {
            name: name.into(),
            value,
            size: 16,
            kind,
            scope: SymbolScope::Linkage,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        });
        let (kind, encoding) = (RelocationKind::Absolute, RelocationEncoding::Generic);
        let flags = RelocationFlags::Generic { kind, encoding, size: 64 };
        object.add_relocation(records, Relocation { offset, symbol, addend: 0, flags }).unwrap();
    };
    relocate(4, "f", text, 0, SymbolKind::Text);
    if with_switch {
        relocate(40, "switch", switches, 32, SymbolKind::Data);
    }
    object.write().unwrap()
}

#[test]
fn in_an_object_a_relocation_says_where_the_switch_is() {
    let image = resolved(&relocatable(true));
    assert_eq!(image.diagnostics, []);
    let switch = image.markers[0].sites[0].switch.clone().unwrap();
    let place = SitePlace::Section { section: "__simple_probe".into(), offset: SectionOffset(32) };
    assert_eq!((switch.place, switch.problem), (Some(place), None));
    assert!(switch.file_offset.is_some());
    let image = resolved(&relocatable(false));
    let switch = image.markers[0].sites[0].switch.clone().unwrap();
    assert_eq!((switch.place, switch.problem), (None, Some(SwitchProblem::Dropped)));
}

#[test]
fn reports_say_that_it_is_a_probe() {
    let bytes = probe().build();
    let at = file_offset(&bytes);
    let resolution = resolve("/x/prog", &bytes);
    let layout = |verbosity| TextLayout { verbosity, ..TextLayout::default() };
    let mut out = Vec::new();
    list::write(&mut out, &resolution.rows(), layout(Verbosity::Sites)).unwrap();
    let listed = String::from_utf8(out).unwrap();
    let expected = format!(
        "   ID MODULE  FUNCTION          NAME         DESCRIPTION
    1 prog    main (x2, probe)  queue:asleep $id $name $load
      variables:
        id    %d  kept in %edi (4 bytes, signed)
        name  %s  kept in %rax, length %rdx (text)
        load  %g  kept in %rcx (8 bytes, float)
      switch: 0x3000, at {at:#x} of the file
      sites:
        0x1010  file 0xf8   main+0x10  queue.c:10:5  anchored
        0x1020  file 0x108  main+0x20  queue.c:10:5  anchored
    2 prog    main              queue:plain
      sites:
        0x1030  file 0x118  main+0x30  queue.c:20:5
"
    );
    assert_eq!(listed, expected);
    let mut out = Vec::new();
    let keep = |marker: &simple_markers_resolver::resolve::Marker| marker.is_probe;
    show::write(&mut out, &resolution, &keep, &mut |_, _| None, layout(Verbosity::Rows)).unwrap();
    let shown = String::from_utf8(out).unwrap();
    let lines = [
        "  probe        asleep until armed: by smark trace, count and record while they watch it, or as exported\n"
            .to_owned(),
        format!("    switch     0x3000, at {at:#x} of the file\n"),
    ];
    for line in lines {
        assert!(shown.contains(&line), "{shown}");
    }
    let mut out = Vec::new();
    json::write(&mut out, &resolution, &|_| true).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let marker = &document["images"][0]["markers"][0];
    let offset = format!("{at:#x}");
    let switch = serde_json::json!({ "address": "0x3000", "file_offset": offset, "section": null, "problem": null, "shares_page": false });
    assert_eq!((&marker["is_probe"], &marker["sites"][1]["switch"]), (&true.into(), &switch));
}

#[test]
fn exports_arm_it() {
    let bytes = probe().build();
    let (image, at) = (resolved(&bytes), file_offset(&bytes));
    let text = |to| {
        let exported =
            export::text(&image, &bytes, "/x/prog", &|marker| marker.is_probe, to, &ExportSettings::default());
        exported.unwrap().text
    };
    let definition = |copy, offset| {
        format!("p:queue/asleep_{copy} /x/prog:{offset:#x}({at:#x}) id=%di:s32 name=%ax:x64 name_len=%dx:u64")
    };
    let uprobe = text(Consumer::Uprobe);
    let lines: Vec<_> = uprobe.lines().filter(|line| line.starts_with("p:")).collect();
    assert_eq!(lines, [definition(1, 0xf8), definition(2, 0x108)]);
    let perf = text(Consumer::Perf);
    let lines: Vec<_> = perf.lines().filter_map(|line| line.strip_prefix("define '")).collect();
    assert_eq!(lines, [definition(1, 0xf8) + "'", definition(2, 0x108) + "'"]);
    // A place is a number behind the base, and gdb compares the code there.
    let gdb = text(Consumer::Gdb);
    let arm = "define smark_arm_prog\nset var *(unsigned short *)($smark_base_prog + 0x3000) += 1\nend\n\
               define smark_disarm_prog\nset var *(unsigned short *)($smark_base_prog + 0x3000) -= 1\nend\n\
               if $_thread\nsmark_arm_prog\nelse\n\
               break *(*(unsigned long *)($smark_base_prog + 0x1000) == 0x9090909090909090UL ? $smark_base_prog + 0x1000 : 1/0)\n\
               commands\nsilent\nsmark_arm_prog\ncontinue\nend\nend\n";
    assert!(gdb.ends_with(arm), "{gdb}");
    for (to, mark) in
        [(Consumer::Bpftrace, "// asleep: a uprobe of bpftrace"), (Consumer::Stap, "# asleep: a statement probe")]
    {
        let text = text(to);
        assert_eq!(text.lines().filter(|line| line.starts_with(mark)).count(), 2, "{text}");
    }
    let copy = export::sdt::image(&image, &bytes, &|_| true, &ExportSettings::default()).unwrap();
    let found = notes(&copy.bytes);
    let semaphores: Vec<_> = found.iter().map(|(pc, _, semaphore, _)| (*pc, *semaphore)).collect();
    assert_eq!(semaphores, [(0x1010, SWITCHES), (0x1020, SWITCHES), (0x1030, 0)]);
    // The readers find the offset of a semaphore by this section, and bcc wants it before the notes.
    let names: Vec<_> = section_names(&copy.bytes);
    let place = |name: &str| names.iter().position(|(known, ..)| known == name).unwrap();
    assert!(place(".probes") < place(".note.stapsdt"));
    assert_eq!(names[place(".probes")], (".probes".to_owned(), SWITCHES, at));
    // A copy of the copy has the notes twice, and one section of semaphores.
    let image = resolved(&copy.bytes);
    let again = export::sdt::image(&image, &copy.bytes, &|_| true, &ExportSettings::default()).unwrap();
    assert_eq!(notes(&again.bytes).len(), 6);
    let names = section_names(&again.bytes);
    assert_eq!(names.iter().filter(|(name, ..)| name == ".probes").count(), 1);
}

/// The name, the address and the offset of each section.
fn section_names(bytes: &[u8]) -> Vec<(String, u64, u64)> {
    use object::{Object as _, ObjectSection as _};
    let elf = object::read::elf::ElfFile64::<Endianness>::parse(bytes).unwrap();
    let section = |section: object::read::elf::ElfSection64<'_, '_, Endianness>| {
        let offset = section.file_range().map_or(0, |(offset, _)| offset);
        (section.name().unwrap().to_owned(), section.address(), offset)
    };
    elf.sections().map(section).collect()
}

#[test]
fn notes_of_the_program_stay_behind_the_semaphores() {
    let mut image = probe();
    image.sections.push(Section { kind: 7, ..Section::new(".note.stapsdt", Vec::new()) });
    let bytes = image.build();
    let copy = export::sdt::image(&resolved(&bytes), &bytes, &|_| true, &ExportSettings::default()).unwrap();
    assert_eq!(notes(&copy.bytes).len(), 3);
    let names = section_names(&copy.bytes);
    let place = |name: &str| names.iter().position(|(known, ..)| known == name).unwrap();
    assert!(place(".probes") < place(".note.stapsdt"), "{names:?}");
}
