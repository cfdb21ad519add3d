//! The output of `smark export`, byte for byte where it matters: escapes, limits, refusals, and
//! notes read by another reader.

use images::{Linked, Strings, linked_by_gnu_ld, notes, one, relocatable, scsi};
use object::read::elf::ElfFile64;
use object::{Architecture, Endianness, Object as _, ObjectSection as _};
use simple_markers_resolver::english;
use simple_markers_resolver::export::{self, Consumer, ExportError, ExportSettings, ExportText};
use simple_markers_resolver::record::ByteOrder;
use simple_markers_resolver::resolve::{Exactness, Reason, ResolvedImage, Verdict, resolve};

fn resolved(bytes: &[u8]) -> ResolvedImage {
    let mut resolution = resolve("/x/prog", bytes);
    assert_eq!(resolution.images.len(), 1, "{:?}", resolution.failures);
    resolution.images.remove(0)
}

fn text_at(path: &str, bytes: &[u8], to: Consumer, settings: &ExportSettings) -> Result<ExportText, ExportError> {
    export::text(&resolved(bytes), bytes, path, &|_| true, to, settings)
}

fn text(bytes: &[u8], to: Consumer) -> String {
    text_at("/x/prog", bytes, to, &ExportSettings::default()).unwrap().text
}

/// The lines that are not comments.
fn lines<'t>(text: &'t str, mark: &str) -> Vec<&'t str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with(mark)).collect()
}

#[test]
fn each_consumer_gets_its_syntax() {
    let image = one("a:b", "x %d y %lu p %p", "x, s->y, p", "-4@%esi 8@-16(%rbp) 8@%rdi");
    assert_eq!(
        lines(&text(&image, Consumer::Uprobe), "#"),
        ["p:a/b_ /x/prog:0xc0 x=%si:s32 s_y=-16(%bp):u64 p=%di:x64"]
    );
    // The address is not a file offset, so perf gets the line of uprobe_events.
    let perf = text(&image, Consumer::Perf);
    let line = "define 'p:a/b_ /x/prog:0xc0 x=%si:s32 s_y=-16(%bp):u64 p=%di:x64'";
    assert_eq!(perf.lines().last(), Some(line));
    let bpftrace = text(&image, Consumer::Bpftrace);
    let line = "uprobe:/x/prog:0x1010 { printf(\"a:b x %ld y %lu p %p\\n\", (((reg(\"si\") & 0xffffffff) ^ 0x80000000) - \
                0x80000000), *(uint64 *)((reg(\"bp\") - 16)), reg(\"di\")); }";
    assert_eq!(bpftrace.lines().last(), Some(line));
    let stap = text(&image, Consumer::Stap);
    let line = "probe process(\"/x/prog\").statement(0x1010) { printf(\"a:b x %d y %u p %p\\n\", (((u_register(\"rsi\") & \
                0xffffffff) ^ 0x80000000) - 0x80000000), user_uint64((u_register(\"rbp\") - 16)), u_register(\"rdi\")) }";
    assert_eq!(stap.lines().last(), Some(line));
    let gdb = text(&image, Consumer::Gdb);
    let line = "dprintf *(*(unsigned long *)($smark_base_prog + 0x1010) == 0x9090909090909090UL ? $smark_base_prog + 0x1010 : 1/0), \
                \"a:b x %ld y %lu p %p\\n\", (long)((((unsigned long)$rsi & 0xffffffffUL) ^ 0x80000000UL) - \
                0x80000000UL), (unsigned long)*(unsigned long *)(((unsigned long)$rbp - 0x10UL)), (void *)(unsigned long)$rdi";
    assert_eq!(gdb.lines().last(), Some(line));
}

#[test]
fn text_of_the_image_stays_text() {
    let format = "\"%d\" 100%% \\ `id` $(id) 'x'\n}\u{1} */ #";
    let image = one("a:b", format, "x", "-4@%esi");
    let value = "(((reg(\"si\") & 0xffffffff) ^ 0x80000000) - 0x80000000)";
    assert_eq!(
        lines(&text(&image, Consumer::Bpftrace), "//"),
        [format!(
            "uprobe:/x/prog:0x1010 {{ printf(\"a:b \\\"%ld\\\" 100%c \\\\ `id` $(id) 'x'\\n}}%c */ #\\n\", {value}, 37, 1); }}"
        )]
    );
    let stap = text(&image, Consumer::Stap);
    assert!(stap.contains("printf(\"a:b \\\"%d\\\" 100%% \\\\ `id` $(id) 'x'\\n}\\001 */ #\\n\", "), "{stap}");
    let gdb = text(&image, Consumer::Gdb);
    assert!(gdb.contains(", \"a:b \\\"%ld\\\" 100%% \\\\ `id` %c(id) 'x'\\n}%c */ #\\n\", "), "{gdb}");
    assert!(gdb.ends_with(", 36, 1\n"), "{gdb}");
    for (to, mark) in [(Consumer::Uprobe, "#"), (Consumer::Perf, "#"), (Consumer::Stap, "#"), (Consumer::Gdb, "#")] {
        let text = text(&image, to);
        // The comment is on one line, and so is the probe.
        assert_eq!(
            text.lines()
                .filter(|line| line.starts_with(&format!("{mark} a:b \"\\\"%d\\\"")) || line.contains("'x'\\n}\\x01"))
                .count(),
            1,
            "{text}"
        );
        assert!(!text.contains('\u{1}'), "{text}");
    }
    let path = "/x/it's $(id)";
    let image = one("a:b", "", "", "");
    assert!(text_at(path, &image, Consumer::Perf, &ExportSettings::default()).is_err());
    let perf = text_at("/x/it's$(id)`", &image, Consumer::Perf, &ExportSettings::default());
    // What the kernel cannot accept is refused, even if the shell could accept it.
    assert!(perf.is_err(), "{perf:?}");
    let perf = text_at("/x/it's$`id`;", &image, Consumer::Perf, &ExportSettings::default()).unwrap();
    assert!(perf.text.ends_with("define 'p:a/b_ /x/it'\\''s$`id`;:0xc0'\n"), "{}", perf.text);
}

#[test]
fn paths_that_a_consumer_would_take_apart_are_refused() {
    let image = one("a:b", "", "", "");
    for (to, bad) in [
        (Consumer::Uprobe, &["/a b", "/a:b", "/a#b", "/a\nb", "prog"][..]),
        (Consumer::Perf, &["/a b", "/a:b", "/a\nb"]),
        (Consumer::Bpftrace, &["/a b", "/a*", "/a{b", "prog", "/\u{e9}"]),
        (Consumer::Stap, &["/a\"b", "/a*", "/a[b]", "/a\\b", "/a\nb"]),
    ] {
        for path in bad {
            assert!(text_at(path, &image, to, &ExportSettings::default()).is_err(), "{to:?} {path:?}");
        }
    }
}

#[test]
fn the_limits_of_the_kernel_are_kept() {
    let long = "long_".repeat(40);
    let names: Vec<String> = (0..140).map(|index| format!("{long}{}", index % 3)).collect();
    let operands = vec!["-4@%esi"; 140].join(" ");
    let image = one(&format!("{long}:{long}"), &"%d ".repeat(140), &names.join(", "), &operands);
    let text = text(&image, Consumer::Uprobe);
    let [line] = lines(&text, "#")[..] else { panic!("{text}") };
    assert!(line.len() < 4096);
    let (name, arguments) = line.split_once(' ').unwrap();
    let (group, event) = name[2..].split_once('/').unwrap();
    assert!(group.len() <= 63 && event.len() <= 63, "{name}");
    let arguments: Vec<&str> = arguments.split(' ').skip(1).collect();
    let mut taken: Vec<&str> = arguments.iter().map(|argument| argument.split_once('=').unwrap().0).collect();
    assert!(taken.iter().all(|name| name.len() < 32));
    let count = taken.len();
    taken.sort_unstable();
    taken.dedup();
    assert_eq!(taken.len(), count);
    assert!(count <= 128 && count > 50, "{count}");
    assert_eq!(text.matches("the kernel accepts no more arguments in one line").count(), 140 - count);
    assert!(text.lines().all(|line| line.len() < 4096));
}

#[test]
fn names_become_identifiers_of_their_own() {
    let mut strings = Strings::default();
    let records = [
        strings.site(0x1010, 10, ["a:b", "a.c", "", "", ""]),
        strings.site(0x1011, 10, ["a:b", "a.c", "", "", ""]),
        strings.site(0x1012, 11, ["a:b_1", "a.c", "", "", ""]),
        strings.site(0x1013, 12, ["alone", "a.c", "", "", ""]),
        strings.site(0x1014, 13, ["x:y:z", "a.c", "%d %d %d", "common_pid, a.b, a->b", "-4@%esi -4@%edi -4@$-7"]),
    ];
    let image = linked_by_gnu_ld().markers(&[], &records, strings).build();
    assert_eq!(
        lines(&text(&image, Consumer::Uprobe), "#"),
        [
            "p:a/b__1 /x/prog:0xc0",
            "p:a/b__2 /x/prog:0xc1",
            "p:a/b_1 /x/prog:0xc2",
            "p:prog/alone /x/prog:0xc3",
            "p:x/y_z /x/prog:0xc4 common_pid_2=%si:s32 a_b=%di:s32 a_b_2=\\-7:s32"
        ]
    );
}

#[test]
fn what_is_not_exact_is_asked_for() {
    let mut linked = scsi();
    // A jump from 0x1000 to the marker at 0x1010.
    linked.sections[0].data[..2].copy_from_slice(&[0x74, 0x0e]);
    let image = linked.build();
    let exported = text_at("/x/prog", &image, Consumer::Uprobe, &ExportSettings::default()).unwrap();
    assert!(exported.text.contains("# left out: scsi:queue at 0x1010: shared: 2 ways in"), "{}", exported.text);
    assert!(exported.text.contains("# left out: scsi:gone at nowhere: eliminated\n"), "{}", exported.text);
    let settings = ExportSettings { include: vec![Exactness::Shared], ..ExportSettings::default() };
    let more = text_at("/x/prog", &image, Consumer::Uprobe, &settings).unwrap();
    assert_eq!((more.probes, more.left_out), (exported.probes + 1, exported.left_out - 1));
    assert!(
        more.text.contains("; shared: a probe there may fire where the marker is not passed\np:scsi/queue_"),
        "{}",
        more.text
    );
}

#[test]
fn what_is_doubtful_is_asked_for() {
    let bytes = one("a:b", "x %d y %d", "x, y", "-4@%esi -4@%edi");
    let mut image = resolved(&bytes);
    let argument = &mut image.markers[0].sites[0].args[1];
    argument.verdict = Some(Verdict::Doubtful);
    argument.reason = Some(Reason::Replaced { before: None, text: Some("%eax".into()) });
    let why = "its location changes here (from %eax), and nothing tells whether before or after the marker";
    let export = |to, doubtful| {
        let settings = ExportSettings { doubtful, ..ExportSettings::default() };
        export::text(&image, &bytes, "/x/prog", &|_| true, to, &settings).unwrap().text
    };
    for (to, mark, without, with) in [
        (Consumer::Uprobe, "#", "x=%si:s32\n", "x=%si:s32 y=%di:s32\n"),
        (Consumer::Perf, "#", "x=%si:s32'\n", "x=%si:s32 y=%di:s32'\n"),
        (Consumer::Bpftrace, "//", "\"a:b x %ld y ?\\n\"", "\"a:b x %ld y %ld\\n\""),
        (Consumer::Stap, "#", "\"a:b x %d y ?\\n\"", "\"a:b x %d y %d\\n\""),
        (Consumer::Gdb, "#", "\"a:b x %ld y ?\\n\"", "\"a:b x %ld y %ld\\n\""),
    ] {
        let text = export(to, false);
        assert!(text.contains(&format!("{mark} without y: doubtful: {why} (--include doubtful)")), "{text}");
        assert!(text.contains(without) && !text.contains(with), "{text}");
        let text = export(to, true);
        assert!(text.contains(&format!("{mark} y is doubtful: {why}\n")) && !text.contains("without y"), "{text}");
        assert!(text.contains(with), "{text}");
    }
    let copy = |doubtful| {
        let settings = ExportSettings { doubtful, ..ExportSettings::default() };
        let exported = export::sdt::image(&image, &bytes, &|_| true, &settings).unwrap();
        let said: Vec<String> = exported.notes.iter().map(english::export::note).collect();
        (notes(&exported.bytes)[0].3[2].clone(), said)
    };
    let (operands, said) = copy(false);
    assert_eq!(operands, "-4@%rsi");
    let expected = format!("without the arguments from y on: doubtful: {why} (--include doubtful)");
    assert!(said.len() == 1 && said[0].contains(&expected), "{said:?}");
    let (operands, said) = copy(true);
    assert_eq!(operands, "-4@%rsi -4@%rdi");
    assert_eq!(said, [""; 0]);
}

#[test]
fn images_that_cannot_be_exported_are_refused() {
    let object = relocatable(Architecture::X86_64);
    let why = text_at("/x/prog", &object, Consumer::Uprobe, &ExportSettings::default()).unwrap_err();
    assert!(why.to_string().starts_with("a relocatable object has no addresses yet"), "{why}");
    assert!(export::sdt::image(&resolved(&object), &object, &|_| true, &ExportSettings::default()).is_err());
    let mut big = scsi();
    big.order = ByteOrder::Big;
    // Site records use the image's byte order too.
    let big = Linked { order: ByteOrder::Big, ..linked_by_gnu_ld() }.build();
    let image = resolved(&big);
    let why =
        export::text(&image, &big, "/x/prog", &|_| true, Consumer::Uprobe, &ExportSettings::default()).unwrap_err();
    assert_eq!(why.to_string(), "not supported for big-endian images");
}

#[test]
fn notes_are_read_back() {
    let image = one("a:b", "x %d y %lu %d %hhd %f", "x, s->y, z, w, f", "-4@%esi 8@-16(%rbp) -4@$-7 -1@%r9b 8f@%xmm0");
    let exported = export::sdt::image(&resolved(&image), &image, &|_| true, &ExportSettings::default()).unwrap();
    let said = "a:b at 0x1010: without the arguments from f on: readers of SDT notes do not agree on the syntax of floating-point numbers";
    let told: Vec<String> = exported.notes.iter().map(english::export::note).collect();
    assert_eq!((exported.probes, exported.left_out, told.as_slice()), (1, 0, &[said.to_owned()][..]));
    let expected = (0x1010, 0x1010, 0, ["a", "b", "-4@%rsi 8@-16(%rbp) -4@$-7 -1@%r9"].map(str::to_owned).to_vec());
    assert_eq!(notes(&exported.bytes), std::slice::from_ref(&expected));
    // The same byte of code by its address and by its offset.
    let elf = ElfFile64::<Endianness>::parse(&*exported.bytes).unwrap();
    let base = elf.section_by_name(".stapsdt.base").unwrap();
    assert_eq!((base.address(), base.size(), base.file_range()), (0x1010, 1, Some((0xc0, 1))));
    // Everything is kept, and other sections stay in place.
    let before = ElfFile64::<Endianness>::parse(&*image).unwrap();
    for section in before.sections().filter(|section| section.name() != Ok(".shstrtab")) {
        let after = elf.section_by_name(section.name().unwrap()).unwrap();
        assert_eq!(
            (after.address(), after.file_range(), after.data()),
            (section.address(), section.file_range(), section.data())
        );
    }
    let changed = (0..image.len()).filter(|at| image[*at] != exported.bytes[*at]);
    assert!(changed.into_iter().all(|at| (0x28..0x30).contains(&at) || (0x3c..0x40).contains(&at)));
    // Existing notes stay, before the new ones.
    let again =
        export::sdt::image(&resolved(&exported.bytes), &exported.bytes, &|_| true, &ExportSettings::default()).unwrap();
    assert_eq!(notes(&again.bytes), [expected.clone(), expected]);
}

#[test]
fn no_bytes_of_an_image_make_the_copy_panic() {
    let image = one("a:b", "x %d", "x", "-4@%esi");
    let resolved = resolved(&image);
    let copy = |bytes: &[u8]| export::sdt::image(&resolved, bytes, &|_| true, &ExportSettings::default());
    assert!(copy(&image).is_ok());
    for end in 0..image.len() {
        assert!(copy(&image[..end]).is_err(), "{end}");
    }
    let headers = (0..64).chain(image.len() - 600..image.len());
    for at in headers {
        for value in [0, 1, 0x7f, 0xff] {
            let mut broken = image.clone();
            broken[at] = value;
            // Any result is fine, if there is one.
            let _ = copy(&broken);
            for to in [Consumer::Gdb, Consumer::Perf, Consumer::Bpftrace] {
                let _ = export::text(&resolved, &broken, "/x/prog", &|_| true, to, &ExportSettings::default());
            }
        }
    }
}
