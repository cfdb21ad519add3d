//! Builds images in memory: linked images by hand, because object::write only makes relocatable
//! objects, and the rest with object::write. `dwarf.rs` makes their debug information.
#![allow(missing_docs, reason = "the fields of the formats")]

use std::sync::Arc;

use object::read::elf::ElfFile64;
use object::write::{Object, Relocation, SectionId, Symbol, SymbolId, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, Object as _, ObjectSection as _, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope,
};
use simple_markers_resolver::address::{FileOffset, SectionOffset, Vaddr};
use simple_markers_resolver::location::{Expr, Location, Source};
use simple_markers_resolver::record::declaration::Declaration;
use simple_markers_resolver::record::site::{self, Site};
use simple_markers_resolver::record::{ByteOrder, DECLARATIONS, SITES, STRINGS};
use simple_markers_resolver::resolve::ImageKind;
use simple_markers_resolver::resolve::{
    Argument, DebugSource, DebugSourceKind, DeclaredArgument, Diagnostic, DiagnosticKind, DiagnosticSeverity, Encoding,
    GivenType, InlinedFunction, Marker, Mismatch, MismatchHelp, Operation, Origin, Reason, Resolution, ResolvedImage,
    SitePlace, Survival, Unsupported, Verdict,
};

pub mod dwarf;

pub const PROGBITS: u32 = 1;
pub const NOBITS: u32 = 8;
pub const ALLOC_EXEC: u64 = 6;
pub const ALLOC_WRITE: u64 = 3;
pub const COMPRESSED: u64 = 1 << 11;

/// A declaration's bytes.
pub fn declaration(name: &str, file: &str, line: u32, format: &str, args: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let [name, file, format, args] = [name, file, format, args].map(str::as_bytes);
    Declaration { offset: 0, name, file, line, is_ghost: false, format, args }.write(&mut bytes);
    bytes
}

/// The bytes of the declaration of a ghost without arguments.
pub fn ghost(name: &str, file: &str, line: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let [name, file] = [name, file].map(str::as_bytes);
    Declaration { offset: 0, name, file, line, is_ghost: true, format: b"", args: b"" }.write(&mut bytes);
    bytes
}

/// A string table, with the offset of each string.
#[derive(Default)]
pub struct Strings(pub Vec<u8>);

impl Strings {
    pub fn add(&mut self, text: &str) -> u32 {
        let offset = self.0.len() as u32;
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
        offset
    }

    /// A site: flags, pc, and the strings of its marker.
    pub fn site(&mut self, pc: u64, line: u32, texts: [&str; 5]) -> Site {
        let [name, file, format, args, operands] = texts.map(|text| self.add(text));
        let flags = if texts[4].is_empty() { 0 } else { site::HAS_OPERANDS };
        Site {
            offset: 0,
            flags,
            address_size: 8,
            pc,
            line,
            column: 5,
            name,
            file,
            format,
            args,
            operands,
            switch: None,
        }
    }
}

/// The bytes of site records.
pub fn sites(sites: &[Site], order: ByteOrder) -> Vec<u8> {
    let mut bytes = Vec::new();
    for site in sites {
        site.write(&mut bytes, order);
    }
    bytes
}

pub struct Section {
    pub name: &'static str,
    pub kind: u32,
    pub flags: u64,
    pub address: u64,
    pub data: Vec<u8>,
    /// The size in the section header, if it is not that of `data`.
    pub size: Option<u64>,
}

impl Section {
    pub fn new(name: &'static str, data: Vec<u8>) -> Self {
        Self { name, kind: PROGBITS, flags: 0, address: 0, data, size: None }
    }
}

/// A function symbol: name, address, size, and whether it is global.
pub type Function = (&'static str, u64, u64, bool);

/// A 64-bit linked image (`ET_EXEC` or, with `pie`, `ET_DYN` with an interpreter) whose `.text` of
/// 0x100 bytes is loaded at 0x1000. Each writable section is loaded by a segment of its own.
pub struct Linked {
    pub order: ByteOrder,
    pub pie: bool,
    pub sections: Vec<Section>,
    pub functions: Vec<Function>,
}

impl Default for Linked {
    fn default() -> Self {
        Self::new()
    }
}

impl Linked {
    pub fn new() -> Self {
        let text = Section { flags: ALLOC_EXEC, address: 0x1000, ..Section::new(".text", vec![0x90; 0x100]) };
        Self {
            order: ByteOrder::Little,
            pie: false,
            sections: vec![text],
            functions: vec![("main", 0x1000, 0x40, true)],
        }
    }

    pub fn section(mut self, name: &'static str, data: Vec<u8>) -> Self {
        self.sections.push(Section::new(name, data));
        self
    }

    pub fn sections(self, sections: Vec<(&'static str, Vec<u8>)>) -> Self {
        sections.into_iter().fold(self, |image, (name, data)| image.section(name, data))
    }

    /// Adds the three marker sections.
    pub fn markers(self, declarations: &[Vec<u8>], records: &[Site], strings: Strings) -> Self {
        let order = self.order;
        self.section(DECLARATIONS, declarations.concat())
            .section(SITES, sites(records, order))
            .section(STRINGS, strings.0)
    }

    /// The file: ELF header, two program headers, the sections' bytes, section headers.
    pub fn build(&self) -> Vec<u8> {
        let mut names = vec![0];
        let mut strtab = vec![0];
        let mut symtab = vec![0; 24];
        for (name, address, size, global) in &self.functions {
            self.put(&mut symtab, strtab.len() as u64, 4);
            symtab.push(if *global { 0x12 } else { 0x02 });
            symtab.push(0);
            self.put(&mut symtab, 1, 2);
            self.put(&mut symtab, *address, 8);
            self.put(&mut symtab, *size, 8);
            strtab.extend_from_slice(name.as_bytes());
            strtab.push(0);
        }
        let is_data = |section: &Section| section.flags & ALLOC_WRITE == ALLOC_WRITE;
        let segments = 2 + self.sections.iter().filter(|section| is_data(section)).count();
        let mut file = vec![0; 64 + segments * 56];
        let mut headers = vec![0; 64];
        let count = self.sections.len() as u64;
        let own =
            [(".symtab", 2, symtab, count + 2, 24), (".strtab", 3, strtab, 0, 0), (".shstrtab", 3, Vec::new(), 0, 0)];
        let (mut text_offset, mut data) = (0, Vec::new());
        for section in &self.sections {
            let offset = file.len() as u64;
            if is_data(section) {
                data.push((1, 6, offset, section.address, section.data.len() as u64));
            }
            if section.name == ".text" {
                text_offset = offset;
            }
            if section.kind != NOBITS {
                file.extend_from_slice(&section.data);
            }
            let size = section.size.unwrap_or(section.data.len() as u64);
            let fields = [section.flags, section.address, offset, size];
            self.header(&mut headers, &mut names, section.name, section.kind, fields, 0, 0);
        }
        for (name, kind, data, link, entry) in own {
            let offset = file.len() as u64;
            let mut data = data;
            if name == ".shstrtab" {
                data = names.clone();
                data.extend_from_slice(b".shstrtab\0");
            }
            file.extend_from_slice(&data);
            self.header(&mut headers, &mut names, name, kind, [0, 0, offset, data.len() as u64], link, entry);
        }
        let table = file.len() as u64;
        file.extend_from_slice(&headers);
        let mut start = b"\x7fELF".to_vec();
        start.extend_from_slice(&[
            2,
            if self.order == ByteOrder::Little { 1 } else { 2 },
            1,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
        ]);
        for (value, size) in
            [(if self.pie { 3 } else { 2 }, 2), (62, 2), (1, 4), (0x1000, 8), (64, 8), (table, 8), (0, 4)]
        {
            self.put(&mut start, value, size);
        }
        for value in [64, 56, segments as u64, 64, count + 4, count + 3] {
            self.put(&mut start, value, 2);
        }
        // PT_LOAD for .text, PT_INTERP or nothing, and PT_LOAD for each section of data.
        let loaded = [(1, 5, text_offset, 0x1000, 0x100), (if self.pie { 3 } else { 0 }, 5, 0, 0, 0)];
        for (kind, flags, offset, address, size) in loaded.into_iter().chain(data) {
            for (value, size) in
                [(kind, 4), (flags, 4), (offset, 8), (address, 8), (address, 8), (size, 8), (size, 8), (1, 8)]
            {
                self.put(&mut start, value, size);
            }
        }
        file[..start.len()].copy_from_slice(&start);
        file
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of a section header")]
    fn header(
        &self,
        headers: &mut Vec<u8>,
        names: &mut Vec<u8>,
        name: &str,
        kind: u32,
        [flags, address, offset, size]: [u64; 4],
        link: u64,
        entry: u64,
    ) {
        self.put(headers, names.len() as u64, 4);
        names.extend_from_slice(name.as_bytes());
        names.push(0);
        for (value, size) in
            [(kind.into(), 4), (flags, 8), (address, 8), (offset, 8), (size, 8), (link, 4), (1, 4), (1, 8), (entry, 8)]
        {
            self.put(headers, value, size);
        }
    }

    fn put(&self, out: &mut Vec<u8>, value: u64, size: usize) {
        match self.order {
            ByteOrder::Little => out.extend_from_slice(&value.to_le_bytes()[..size]),
            ByteOrder::Big => out.extend_from_slice(&value.to_be_bytes()[8 - size..]),
        }
    }
}

/// The image for most tests: a marker with two copies in `f` and one in `g`, one that the linker
/// dropped, one that the compiler dropped, and one without a declaration.
pub fn scsi() -> Linked {
    let mut strings = Strings::default();
    let queue = ["scsi:queue", "scsi.c", "Command %p for %d", "cmd, lun", "8@%rdi -4@esi"];
    let dead = ["scsi:dead", "scsi.c", "", "", ""];
    let records = [
        strings.site(0x1060, 10, queue),
        strings.site(0x1058, 10, queue),
        strings.site(0x1010, 10, queue),
        strings.site(0, 20, dead),
        strings.site(0x1018, 40, ["scsi:alone", "scsi.c", "alone", "", ""]),
    ];
    let declarations = [
        declaration("scsi:queue", "scsi.c", 10, "Command %p for %d", "cmd, lun"),
        declaration("scsi:dead", "scsi.c", 20, "", ""),
        declaration("scsi:queue", "scsi.c", 10, "Command %p for %d", "cmd, lun"),
        declaration("scsi:gone", "scsi.c", 30, "100%% of %d", "n"),
    ];
    let mut image = Linked::new();
    image.functions = vec![("f", 0x1050, 0x20, true), ("g", 0x1000, 0x40, false)];
    image.markers(&declarations, &records, strings)
}

/// Where [`probe`] has the switches of its probes.
pub const SWITCHES: u64 = 0x3000;

/// An image with a probe of two copies that share a switch, and a marker.
pub fn probe() -> Linked {
    let mut strings = Strings::default();
    let asleep = ["queue:asleep", "queue.c", "%d %s %g", "id, name, load", "-4@%edi 8@rax+8@rdx 8f@rcx"];
    let site = |strings: &mut Strings, pc| {
        let site = strings.site(pc, 10, asleep);
        Site { flags: site.flags | site::ANCHORED, switch: Some(SWITCHES), ..site }
    };
    let records = [
        site(&mut strings, 0x1010),
        site(&mut strings, 0x1020),
        strings.site(0x1030, 20, ["queue:plain", "queue.c", "", "", ""]),
    ];
    let declarations = [
        declaration("queue:asleep", "queue.c", 10, "%d %s %g", "id, name, load"),
        declaration("queue:plain", "queue.c", 20, "", ""),
    ];
    let mut image = linked_by_gnu_ld();
    // Behind the switch: four words, three arguments, and the second is text.
    let mut descriptor = vec![0; 32];
    descriptor[4..8].copy_from_slice(&[4, 3, 2, 0]);
    let switches = Section { flags: ALLOC_WRITE, address: SWITCHES, ..Section::new("__simple_probe", descriptor) };
    image.sections.push(switches);
    image.markers(&declarations, &records, strings)
}

/// A relocatable object with one function `f` in `.text.f`, a site at its offset 0, and a site
/// without a relocation.
pub fn relocatable(architecture: Architecture) -> Vec<u8> {
    let is_64 = architecture == Architecture::X86_64;
    let bits = if is_64 { 64 } else { 32 };
    let mut object = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
    let text = object.add_section(Vec::new(), b".text.f".to_vec(), SectionKind::Text);
    object.append_section_data(text, &[0x90; 16], 1);
    let function = symbol(&mut object, b"f", text, 16);
    let mut strings = Strings::default();
    // Not zero, so that a missing addend is noticed.
    strings.add("padding");
    let mut live = strings.site(0, 3, ["a:b", "f.c", "x %d", "x", ""]);
    live.address_size = bits / 8;
    let dead = Site { line: 4, ..live };
    let section = object.add_section(Vec::new(), DECLARATIONS.into(), SectionKind::Other);
    let declarations = [3, 4].map(|line| declaration("a:b", "f.c", line, "x %d", "x"));
    object.append_section_data(section, &declarations.concat(), 1);
    let table = object.add_section(Vec::new(), STRINGS.into(), SectionKind::DebugString);
    object.append_section_data(table, &strings.0, 1);
    let table = object.section_symbol(table);
    let blank = |site: Site| Site { name: 0, file: 0, format: 0, args: 0, operands: 0, ..site };
    let section = object.add_section(Vec::new(), SITES.into(), SectionKind::Debug);
    object.append_section_data(section, &sites(&[blank(live), blank(dead)], ByteOrder::Little), 1);
    let length = 32 + u64::from(bits / 8);
    for (index, site) in [live, dead].into_iter().enumerate() {
        let start = index as u64 * length;
        if index == 0 {
            relocate(&mut object, section, start + 4, function, 0, bits);
        }
        let strings = [site.name, site.file, site.format, site.args, site.operands];
        for (field, offset) in strings.into_iter().enumerate() {
            let at = start + 4 + u64::from(bits / 8) + 8 + 4 * field as u64;
            relocate(&mut object, section, at, table, offset.into(), 32);
        }
    }
    object.write().unwrap()
}

fn symbol(object: &mut Object<'_>, name: &[u8], section: SectionId, size: u64) -> SymbolId {
    object.add_symbol(Symbol {
        name: name.to_vec(),
        value: 0,
        size,
        kind: SymbolKind::Text,
        scope: SymbolScope::Linkage,
        weak: false,
        section: SymbolSection::Section(section),
        flags: SymbolFlags::None,
    })
}

fn relocate(object: &mut Object<'_>, section: SectionId, offset: u64, symbol: SymbolId, addend: i64, size: u8) {
    let flags = object::write::RelocationFlags::Generic {
        kind: object::RelocationKind::Absolute,
        encoding: object::RelocationEncoding::Generic,
        size,
    };
    object.add_relocation(section, Relocation { offset, symbol, addend, flags }).unwrap();
}

/// An archive of `members`, as written by `ar`.
pub fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, data) in members {
        let name = format!("{name}/");
        archive.extend_from_slice(
            format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, data.len()).as_bytes(),
        );
        archive.extend_from_slice(data);
        if data.len() % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}

/// A resolved argument: text, verdict, location or reason.
fn argument(text: &str, verdict: Verdict, location: Option<&str>, reason: Option<Reason>) -> Argument {
    let text: Arc<str> = text.into();
    Argument { verdict: Some(verdict), location_text: location.map(Into::into), reason, ..Argument::unresolved(&text) }
}

/// A resolution with every case that a report can have: each verdict, inlined functions, several
/// sites, the nearest line, an offset in a section, and discarded, eliminated and unknown markers.
/// It is written by hand, because no single image has them all.
pub fn everything() -> Resolution {
    use simple_markers_resolver::resolve::Site;
    let site = |address, origin| Site {
        entry_stack_pointer: None,
        frame_entry: None,
        place: Some(SitePlace::Address(Vaddr(address))),
        file_offset: Some(FileOffset(address - 0x1000)),
        symbol: Some("_Z3runv".into()),
        symbol_offset: Some(address - 0x1000),
        function: Some("run()".into()),
        inlined: Vec::new(),
        source_function: None,
        scope_ended: false,
        column: Some(5),
        origin,
        callee: None,
        record_offset: None,
        anchored: false,
        exactness: None,
        exactness_reason: None,
        predecessors: Vec::new(),
        instruction: None,
        probe: None,
        switch: None,
        args: Vec::new(),
    };
    let computed = Location::whole(Source::Value(Expr::constant(0)));
    let missing = Reason::MissingBytes { bytes: std::iter::once(8..16).collect(), members: Vec::new() };
    let args = vec![
        Argument {
            name: "self".into(),
            type_name: Some("usize".into()),
            size: Some(8),
            encoding: Some(Encoding::Unsigned),
            ..argument("self.queue.depth", Verdict::Live, Some("*(%rdi+0x18)"), None)
        },
        Argument {
            is_kept: true,
            size: Some(4),
            encoding: Some(Encoding::Signed),
            ..argument("tag", Verdict::Live, Some("%esi"), None)
        },
        Argument {
            type_name: Some("int".into()),
            size: Some(4),
            encoding: Some(Encoding::Signed),
            mismatch: Some(Mismatch::Type {
                conversion: "%s".into(),
                given: GivenType { name: "int".into(), size: Some(4), is_signed: Some(true) },
                help: Some(MismatchHelp::Conversion("%d".into())),
            }),
            ..argument("limit", Verdict::Constant, Some("= 64"), None)
        },
        Argument {
            type_name: Some("struct span".into()),
            size: Some(16),
            ..argument("span", Verdict::Partial, Some("%rax, 8 bytes gone"), Some(missing))
        },
        argument("request", Verdict::Entry, None, None),
        Argument {
            type_name: Some("struct device *".into()),
            size: Some(8),
            ranges: vec![0x1000..0x100c, 0x1020..0x1030],
            ..argument("device", Verdict::Lost, None, Some(Reason::NotDescribedHere { nearest: None }))
        },
        argument("CURRENT", Verdict::Absent, None, None),
        argument(
            "total",
            Verdict::Unsupported,
            None,
            Some(Reason::Unsupported(Unsupported::Operation { operation: Operation(0x18) })),
        ),
        Argument::unresolved(&"rest".into()),
    ];
    let conversions = ["%zu", "%d", "%s", "%p", "%p", "%p", "%p", "%d"];
    let declared = |index: usize, argument: &Argument| DeclaredArgument {
        text: Arc::clone(&argument.text),
        conversion: conversions.get(index).map(|conversion| Arc::from(*conversion)),
        words: None,
        mistake: None,
        form: None,
    };
    let marker = |name: &str, line| Marker {
        id: 0,
        name: name.into(),
        file: "queue.c".into(),
        path: None,
        line,
        column: Some(5),
        format: "".into(),
        description: "".into(),
        args: [].into(),
        declared: true,
        survival: Some(Survival::Live),
        is_probe: false,
        is_note: false,
        is_mark: false,
        inlined_copies: 0,
        task_point: None,
        note: None,
        is_ghost: false,
        sites: Vec::new(),
        absence: None,
    };
    let inlined = vec![
        InlinedFunction { function: "submit".into(), call_file: Some("queue.c".into()), call_line: Some(40) },
        InlinedFunction { function: "drain".into(), call_file: None, call_line: None },
    ];
    let mut second = args.clone();
    second[0].location_text = Some("(%rsi & 0xffffffff) * 2".into());
    second[0].location = Some(computed);
    second[1] = argument("tag", Verdict::Lost, None, None);
    let whole = Marker {
        format: "depth %zu".into(),
        description: "depth $self.queue.depth".into(),
        args: args.iter().enumerate().map(|(index, argument)| declared(index, argument)).collect(),
        sites: vec![
            Site { inlined, scope_ended: true, args, ..site(0x1010, Origin::Record) },
            Site { args: second, ..site(0x1040, Origin::Nearest { line: 14 }) },
            Site {
                place: None,
                file_offset: None,
                symbol: None,
                symbol_offset: None,
                function: None,
                ..site(0x1000, Origin::Record)
            },
        ],
        ..marker("queue:all", 12)
    };
    let nameless =
        Site { symbol: None, symbol_offset: None, function: None, file_offset: None, ..site(0x2000, Origin::Record) };
    let markers = vec![
        whole,
        Marker { survival: Some(Survival::Eliminated), column: None, ..marker("queue:gone", 20) },
        Marker {
            survival: Some(Survival::Discarded),
            sites: vec![Site { place: None, ..nameless.clone() }],
            ..marker("queue:dropped", 30)
        },
        Marker { survival: None, ..marker("queue:unknown", 40) },
        Marker { declared: false, sites: vec![nameless], ..marker("queue:nameless", 50) },
    ];
    let section = SitePlace::Section { section: ".text.f".into(), offset: SectionOffset(8) };
    let in_section = Site {
        anchored: true,
        place: Some(section),
        symbol: Some("f".into()),
        function: Some("f".into()),
        symbol_offset: Some(8),
        ..site(0x1048, Origin::Line)
    };
    let diagnostic = Diagnostic {
        severity: DiagnosticSeverity::Note,
        section: None,
        offset: None,
        kind: DiagnosticKind::More { count: 3 },
    };
    let image = |path: &str, kind, markers| ResolvedImage {
        path: path.to_owned(),
        module: "queue".into(),
        build_id: Some("0123456789abcdef".to_owned()),
        arch: simple_markers_resolver::resolve::Architecture::X86_64,
        kind,
        debug: Some(DebugSource { source: DebugSourceKind::Image, path: path.to_owned(), supplements: Vec::new() }),
        markers,
        diagnostics: vec![diagnostic.clone()],
        recorder: None,
        unplaced: Vec::new(),
        note_sections: Default::default(),
        tasks: Vec::new(),
    };
    let object = vec![Marker { sites: vec![in_section], ..marker("queue:object", 60) }];
    let object = ResolvedImage { build_id: None, debug: None, ..image("queue.o", ImageKind::Relocatable, object) };
    let mut resolution =
        Resolution { images: vec![image("build/queue", ImageKind::Pie, markers), object], failures: Vec::new() };
    resolution.number();
    resolution
}

/// An image in the style of GNU ld, which folds no functions.
pub fn linked_by_gnu_ld() -> Linked {
    Linked::new().section(".comment", b"GCC: (GNU) 12.2.0\0".to_vec())
}

/// An image with one marker in `main`, which is at 0x1000, and at offset 0xb0 of the file.
pub fn one(name: &str, format: &str, args: &str, operands: &str) -> Vec<u8> {
    let mut strings = Strings::default();
    let records = [strings.site(0x1010, 10, [name, "a.c", format, args, operands])];
    linked_by_gnu_ld().markers(&[declaration(name, "a.c", 10, format, args)], &records, strings).build()
}

/// The SDT notes that `object` finds: address, base, semaphore, provider, name, arguments.
pub fn notes(file: &[u8]) -> Vec<(u64, u64, u64, Vec<String>)> {
    let elf = ElfFile64::<Endianness>::parse(file).unwrap();
    let section = elf.section_by_name(".note.stapsdt").unwrap();
    let mut found = Vec::new();
    let mut rest = section.data().unwrap();
    while !rest.is_empty() {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!((word(0), word(8), &rest[12..20]), (8, 3, &b"stapsdt\0"[..]));
        let description = &rest[20..20 + word(4)];
        let address = |at: usize| u64::from_le_bytes(description[at..at + 8].try_into().unwrap());
        let texts = description[24..].strip_suffix(&[0]).unwrap().split(|byte| *byte == 0);
        let texts = texts.map(|text| String::from_utf8(text.to_vec()).unwrap()).collect();
        found.push((address(0), address(8), address(16), texts));
        rest = &rest[20 + word(4).next_multiple_of(4)..];
    }
    found
}
