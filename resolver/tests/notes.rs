//! Notes of static probes (`<sys/sdt.h>`).

use images::{ALLOC_WRITE, Linked, Section, Strings, linked_by_gnu_ld};
use simple_markers_resolver::address::{FileOffset, SectionOffset, Vaddr};
use simple_markers_resolver::english;
use simple_markers_resolver::notes::{NoteDescriptions, NoteFormat, ProviderFile};
use simple_markers_resolver::record::ByteOrder;
use simple_markers_resolver::report::{TextLayout, Verbosity, json, list, show};
use simple_markers_resolver::resolve::{
    Detail, Encoding, Exactness, NoteSource, Origin, Request, ResolvedImage, SitePlace, Survival, SwitchProblem,
    Verdict, resolve, resolve_request,
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

/// The image with what a user says of its notes.
fn described(said: &NoteDescriptions) -> ResolvedImage {
    let bytes = notes(ByteOrder::Little, 0x2000).build();
    let request = Request::new(Detail::Places).describe_notes(said);
    resolve_request("/x/prog", &bytes, request).images.remove(0)
}

fn provider(text: &str) -> NoteDescriptions {
    let file = ProviderFile::parse(text.as_bytes()).unwrap();
    NoteDescriptions { providers: vec![file], ..Default::default() }
}

#[test]
fn a_provider_file_says_names_and_types() {
    let image = described(&provider("provider queue { probe submit(unsigned tag, const char *text); };"));
    let [first, second, ..] = &*image.markers else { panic!() };
    assert_eq!((&*first.format, &*first.description), ("tag %u, text %s", "tag %u, text %s"));
    let [one, other] = &*first.sites else { panic!() };
    let shown: Vec<_> = one.args.iter().map(|it| (&*it.text, it.alias.as_deref(), it.type_name.as_deref())).collect();
    assert_eq!(shown, [("tag", Some("arg0"), Some("unsigned")), ("text", Some("arg1"), Some("const char *"))]);
    // The note has a signed number of the size of the type, which decides.
    assert_eq!((one.args[0].encoding, other.args[0].encoding), (Some(Encoding::Unsigned), Some(Encoding::Unsigned)));
    let note = first.note.as_ref().unwrap();
    assert_eq!(note.format_from, NoteSource::Provider);
    let said: Vec<_> = note.parameters.iter().map(|it| (it.index, it.name_from, it.type_from, it.type_size)).collect();
    let by_file = NoteSource::Provider;
    assert_eq!(said, [(0, by_file, by_file, None), (1, by_file, by_file, None)]);
    // Notes of that name with another number of arguments are of another version of the program.
    assert_eq!((&*second.format, second.note.as_ref().unwrap().format_from), ("arg0 %lu", NoteSource::Note));
    let told: Vec<_> = image.diagnostics.iter().map(english::diagnostics::diagnostic).collect();
    let what = "not described by the provider file: line 1 has 2 parameters, and the note has 1 argument";
    assert_eq!(told, [format!(".note.stapsdt: queue:submit: {what}")]);
}

#[test]
fn the_note_decides_about_the_size() {
    let image = described(&provider("provider queue { probe submit(unsigned long, char); };"));
    let first = &image.markers[0];
    assert_eq!(&*first.format, "arg0 %d, arg1 %lu");
    let sizes: Vec<_> = first.note.as_ref().unwrap().parameters.iter().map(|it| it.type_size).collect();
    assert_eq!(sizes, [Some(8), Some(1)]);
    let mut out = Vec::new();
    let mut resolution = resolve("/x/prog", &notes(ByteOrder::Little, 0x2000).build());
    resolution.images = vec![image];
    resolution.number();
    show::write(&mut out, &resolution, &|_| true, &mut |_, _| None, TextLayout::default()).unwrap();
    let shown = String::from_utf8(out).unwrap();
    let line = "  names        arg0: `unsigned long` (provider file), which has 8 bytes: the note has another size, \
                which is read\n";
    assert!(shown.contains(line), "{shown}");
}

#[test]
fn a_format_of_the_user_chooses_and_orders_arguments() {
    let formats = |texts: &[&str]| texts.iter().map(|text| NoteFormat::parse(text).unwrap()).collect();
    let said = NoteDescriptions {
        formats: formats(&["queue:*=\"%.*s\", tag, arg1"]),
        ..provider("provider queue { probe submit(int tag, const char *text); };")
    };
    let image = described(&said);
    let first = &image.markers[0];
    assert_eq!((&*first.format, &*first.description), ("%.*s", "$text"));
    let args: Vec<_> = first.sites[0].args.iter().map(|it| (&*it.text, it.mismatch.is_some())).collect();
    assert_eq!(args, [("tag", false), ("text", false)]);
    let told: Vec<_> = image.diagnostics.iter().map(english::diagnostics::diagnostic).collect();
    assert!(
        told.iter().any(|told| told
            == ".note.stapsdt: queue:submit: not shown in the format of the user: it has no argument `tag`, only `arg0`"),
        "{told:?}"
    );
    // Those that it does not show stay, without a conversion.
    let image =
        described(&NoteDescriptions { formats: formats(&["queue:submit=\"%hhd\", arg1"]), ..Default::default() });
    let first = &image.markers[0];
    let declared: Vec<_> = first.args.iter().map(|it| (&*it.text, it.conversion.as_deref())).collect();
    assert_eq!(declared, [("arg1", Some("%hhd")), ("arg0", None)]);
    assert_eq!(first.note.as_ref().unwrap().format_from, NoteSource::Format);
    let mismatch = first.sites[0].args[0].mismatch.as_ref().map(english::mismatch::mismatch);
    assert_eq!(mismatch.as_deref(), Some("`%hhd` given `integer` (8 bytes, unsigned): use `%lu`"));
}
