//! Notes of static probes (`<sys/sdt.h>`).

use images::{ALLOC_WRITE, Linked, Section, Strings, linked_by_gnu_ld};
use simple_markers_resolver::address::{FileOffset, SectionOffset, Vaddr};
use simple_markers_resolver::english;
use simple_markers_resolver::record::ByteOrder;
use simple_markers_resolver::report::{TextLayout, Verbosity, json, list, show};
use simple_markers_resolver::resolve::{
    Detail, Exactness, Origin, Request, ResolvedImage, SitePlace, Survival, SwitchProblem, Verdict, resolve,
    resolve_request,
};

fn note(order: ByteOrder, addresses: [u64; 3], texts: [&str; 3]) -> Vec<u8> {
    let put = |out: &mut Vec<u8>, value: u64, size: usize| match order {
        ByteOrder::Little => out.extend_from_slice(&value.to_le_bytes()[..size]),
        ByteOrder::Big => out.extend_from_slice(&value.to_be_bytes()[8 - size..]),
    };
    let size = 24 + texts.iter().map(|text| text.len() + 1).sum::<usize>();
    let mut bytes = Vec::new();
    for number in [8, size as u64, 3] {
        put(&mut bytes, number, 4);
    }
    bytes.extend_from_slice(b"stapsdt\0");
    for address in addresses {
        put(&mut bytes, address, 8);
    }
    for text in texts {
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(0);
    }
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// An image with a probe of two copies, of which one has a semaphore, one of the same name with
/// other arguments, and one that the linker dropped.
fn notes(order: ByteOrder, base: u64) -> Linked {
    let notes = [
        ([0x1010, 0x2000, 0], ["queue", "submit", "-4@%edi 8@-8(%rbp)"]),
        ([0x1018, 0x2000, 0], ["queue", "submit", "8@%rdi"]),
        ([0x1020, 0x2000, 0x3002], ["queue", "submit", "4@%eax 8@.LC0(%rip)"]),
        ([0, 0x2000, 0], ["queue", "dead", ""]),
    ];
    let mut image = linked_by_gnu_ld();
    image.order = order;
    let bytes = notes.map(|(addresses, texts)| note(order, addresses, texts)).concat();
    let mut section = |kind, flags, address, name, data| {
        image.sections.push(Section { kind, flags, address, ..Section::new(name, data) });
    };
    section(7, 0, 0, ".note.stapsdt", bytes);
    section(1, ALLOC_WRITE, 0x3000, ".probes", vec![0; 4]);
    section(1, 2, base, ".stapsdt.base", vec![0]);
    image
}

fn resolved(bytes: &[u8]) -> ResolvedImage {
    let mut resolution = resolve("/x/prog", bytes);
    assert_eq!(resolution.images.len(), 1, "{:?}", resolution.failures);
    resolution.images.remove(0)
}

fn places(image: &ResolvedImage) -> Vec<(String, Vec<Option<u64>>)> {
    let at = |place: &Option<SitePlace>| match place {
        Some(SitePlace::Address(address)) => Some(address.0),
        _ => None,
    };
    let of = |marker: &simple_markers_resolver::resolve::Marker| {
        (marker.name.to_string(), marker.sites.iter().map(|site| at(&site.place)).collect())
    };
    image.markers.iter().map(of).collect()
}

#[test]
fn notes_of_one_name_are_sites_of_one_marker() {
    let image = resolved(&notes(ByteOrder::Little, 0x2000).build());
    assert_eq!(image.diagnostics, []);
    let submit = "queue:submit".to_owned();
    assert_eq!(
        places(&image),
        [
            (submit.clone(), vec![Some(0x1010), Some(0x1020)]),
            (submit, vec![Some(0x1018)]),
            ("queue:dead".to_owned(), vec![None]),
        ]
    );
    let [first, ..] = &*image.markers else { panic!() };
    assert!(first.is_note && !first.is_probe && !first.is_ghost && !first.declared);
    assert_eq!((&*first.file, first.line), ("", 0));
    assert_eq!((&*first.format, &*first.description), ("arg0 %d, arg1 %lu", "arg0 %d, arg1 %lu"));
    let [one, other] = &*first.sites else { panic!() };
    assert_eq!((one.origin, one.anchored, one.exactness), (Origin::Note, true, Some(Exactness::Exact)));
    assert_eq!(one.switch, None);
    let switch = other.switch.as_ref().unwrap();
    assert_eq!(switch.place, Some(SitePlace::Address(Vaddr(0x3002))));
    // It is loaded from the file, and writable.
    assert!(matches!(switch.file_offset, Some(FileOffset(1..))) && switch.words.is_none());
    let verdicts: Vec<_> = other.args.iter().map(|arg| arg.verdict.unwrap()).collect();
    assert_eq!(verdicts, [Verdict::Live, Verdict::Unsupported]);
    let why = english::arguments::reason(other.args[1].reason.as_ref().unwrap());
    assert_eq!(why, "`.LC0(%rip)`: the image has no symbol `.LC0`");
    assert_eq!(image.markers[2].survival, Some(Survival::Discarded));
}

#[test]
fn both_byte_orders_have_the_same_markers() {
    let [little, big] = [ByteOrder::Little, ByteOrder::Big].map(|order| resolved(&notes(order, 0x2000).build()));
    assert_eq!(places(&little), places(&big));
}

#[test]
fn an_image_that_was_moved_moves_its_notes() {
    let image = resolved(&notes(ByteOrder::Little, 0x2008).build());
    assert_eq!(places(&image)[0].1, [Some(0x1018), Some(0x1028)]);
    let switch = image.markers[0].sites[1].switch.as_ref().unwrap();
    assert_eq!(switch.place, Some(SitePlace::Address(Vaddr(0x300a))));
    // That is behind what is loaded.
    assert_eq!(switch.problem, Some(SwitchProblem::NotInFile));
}

#[test]
fn a_damaged_note_is_reported_and_the_rest_is_read() {
    let mut image = notes(ByteOrder::Little, 0x2000);
    let section = image.sections.iter_mut().find(|section| section.name == ".note.stapsdt").unwrap();
    let second = note(ByteOrder::Little, [0x1010, 0x2000, 0], ["queue", "submit", "-4@%edi 8@-8(%rbp)"]).len();
    section.data[second + 4] = 20;
    section.data.truncate(second + 20 + 20);
    section.data.extend(note(ByteOrder::Little, [0x1030, 0x2000, 0], ["", "after", ""]));
    let image = resolved(&image.build());
    let submit = ("queue:submit".to_owned(), vec![Some(0x1010)]);
    assert_eq!(places(&image), [submit, ("after".to_owned(), vec![Some(0x1030)])]);
    let told: Vec<_> = image.diagnostics.iter().map(english::diagnostics::diagnostic).collect();
    let what = "0x14 bytes are too few for the addresses of a probe";
    assert_eq!(told, [format!(".note.stapsdt at {}: {what}", SectionOffset(second as u64))]);
}

#[test]
fn a_note_of_a_recorded_marker_is_left_out() {
    let mut strings = Strings::default();
    let records = [strings.site(0x1030, 10, ["queue:submit", "a.c", "", "", ""])];
    let image = notes(ByteOrder::Little, 0x2000).markers(&[], &records, strings);
    let names: Vec<_> = places(&resolved(&image.build())).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["queue:submit", "queue:dead"]);
}

#[test]
fn only_the_notes_that_are_wanted_are_read() {
    let bytes = notes(ByteOrder::Little, 0x2000).build();
    let wants = |name: &str| name.ends_with("dead");
    let found = resolve_request("/x/prog", &bytes, Request::new(Detail::Places).rules(&[]).notes(&wants));
    assert_eq!(places(&found.images[0]), [("queue:dead".to_owned(), vec![None])]);
}

#[test]
fn reports_say_that_it_is_a_note() {
    let mut resolution = resolve("/x/prog", &notes(ByteOrder::Little, 0x2000).build());
    resolution.number();
    let written = |write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let layout = TextLayout { verbosity: Verbosity::Rows, width: None, colour: false };
    let rows = resolution.rows();
    let listed = written(&|out| list::write(out, &rows, layout));
    assert_eq!(
        listed,
        "   ID MODULE  FUNCTION            NAME         DESCRIPTION\n    \
         1 prog    main (x2, note)     queue:submit arg0 %d, arg1 %lu\n    \
         2 prog    main (note)         queue:submit arg0 %lu\n    \
         3 prog    <discarded> (note)  queue:dead\n"
    );
    let shown = written(&|out| show::write(out, &resolution, &|_| true, &mut |_, _| None, layout));
    assert!(shown.contains("origin     note: of a static probe (sys/sdt.h), in the image\n"), "{shown}");
    let document = written(&|out| json::write(out, &resolution, &|_| true));
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let marker = &document["images"][0]["markers"][0];
    assert_eq!((marker["is_note"].as_bool(), marker["is_probe"].as_bool()), (Some(true), Some(false)));
    assert!(marker["file"].is_null() && marker["line"].is_null());
    let site = &marker["sites"][1];
    assert_eq!((site["origin"].as_str(), site["switch"]["address"].as_str()), (Some("note"), Some("0x3002")));
    assert_eq!(site["args"][1]["reason"], "operand");
}
