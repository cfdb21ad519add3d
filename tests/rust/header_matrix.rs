//! `simple_marker.h` across tool chains. Two programs, each of several files, are built by
//! compilers and linkers and changed by other tools. Their records are compared with the compiler's
//! own assembly, `readelf` and `objdump`.
//!
//! How an address is checked: the compiler writes assembly, and the test inserts a label before the
//! text of each marker, then assembles and links it. The linker's symbol table then has the address
//! of the marker, and the record must have the same one. A link-time optimiser writes no assembly
//! to label. Then the address must be an instruction of a function that the marker's own function
//! may be inlined into.
//!
//! What is left out, and why: `gcc -flto` with lld, which cannot read gcc's intermediate code;
//! `-flto` at -O3 and -Os, which uses the same optimiser and linker; `-flto=thin`, for the same
//! reason; gold, which Debian no longer maintains. Transformations start from one image for each
//! linker, because they do not depend on the compiler. Other targets are linked once each with gcc,
//! because the header has one code path for them, and tests/rust/targets.rs checks their object
//! files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use simple_markers_tests::fixture::{self, Site};
use simple_markers_tests::header::{self, Compiler, LEVELS, Marker, Source};
use simple_markers_tests::tools;
use tempfile::TempDir;

/// A program of several files.
struct Program {
    name: &'static str,
    /// The folder of the sources, from the root of the workspace.
    folder: &'static str,
    /// Markers in code that a C compiler never emits: after `if (0)`, or in an inline function that
    /// is not called.
    never: &'static [&'static str],
    /// Markers of functions that --gc-sections drops.
    dead: &'static [&'static str],
}

const QUEUE: Program =
    Program { name: "c-queue", folder: "examples/c-queue", never: &["cqueue:trace"], dead: &["cqueue:dump"] };
const PARTS: Program = Program {
    name: "parts",
    folder: "tests/c/parts",
    never: &["parts:never"],
    dead: &["parts:dropped", "parts:dropped_too"],
};

impl Program {
    /// The absolute paths of the sources and headers.
    fn files(&self, extensions: &[&str]) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(fixture::workspace().join(self.folder)).expect("the sources");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let of_kind =
            |path: &PathBuf| extensions.iter().any(|kind| path.extension().is_some_and(|found| found == *kind));
        let mut files: Vec<_> = paths.filter(of_kind).collect();
        files.sort();
        files
    }

    fn sources(&self) -> Vec<PathBuf> {
        self.files(&["c", "cc"])
    }

    /// The markers, with their files.
    fn markers(&self) -> Vec<(String, Marker)> {
        let files = self.files(&["c", "cc", "h"]);
        let sources = files.iter().map(|path| path.to_str().expect("UTF-8"));
        sources
            .flat_map(|path| Source::new(path).markers().into_iter().map(move |marker| (path.to_owned(), marker)))
            .collect()
    }

    /// For each function, the functions that it may be inlined into.
    fn inlined_into(&self) -> BTreeMap<String, BTreeSet<String>> {
        let files = self.files(&["c", "cc", "h"]);
        let texts: Vec<_> = files.iter().map(|path| std::fs::read_to_string(path).expect("a source")).collect();
        header::inlined_into(&texts.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// A compiler, its options, and its output folder.
struct Tools {
    compiler: Vec<String>,
    objdump: &'static str,
    folder: TempDir,
}

impl Tools {
    fn new(compiler: &[&str], objdump: &'static str) -> Self {
        let compiler = compiler.iter().map(|word| (*word).to_owned()).collect();
        Self { compiler, objdump, folder: TempDir::new().expect("a folder") }
    }

    fn command(&self, folder: &str) -> Command {
        let folder = self.folder.path().join(folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut command = Command::new(&self.compiler[0]);
        command.current_dir(folder).args(&self.compiler[1..]).env("LC_ALL", "C");
        command
    }

    fn compilation(&self, folder: &str) -> Command {
        let mut command = self.command(folder);
        command.args(["-g", "-Wall", "-Wextra", "-Werror", "-ffunction-sections", "-I"]);
        command.arg(fixture::workspace().join("markers/include"));
        command
    }

    /// The object files of a program.
    fn compile(&self, program: &Program, folder: &str, options: &[&str]) -> Vec<PathBuf> {
        let sources = program.sources();
        fixture::succeeds_silently(self.compilation(folder).args(options).arg("-c").args(&sources));
        self.products(&sources, folder, "o")
    }

    fn products(&self, sources: &[PathBuf], folder: &str, extension: &str) -> Vec<PathBuf> {
        let name = |source: &PathBuf| Path::new(source.file_name().expect("a name")).with_extension(extension);
        sources.iter().map(|source| self.folder.path().join(folder).join(name(source))).collect()
    }

    /// The object files of a program with a label at each marker, and the labels.
    fn compile_labelled(&self, program: &Program, folder: &str, options: &[&str]) -> (Vec<PathBuf>, Vec<Label>) {
        let sources = program.sources();
        fixture::succeeds_silently(self.compilation(folder).args(options).arg("-S").args(&sources));
        let listings = self.products(&sources, folder, "s");
        let mut labels = Vec::new();
        for listing in &listings {
            let text = std::fs::read_to_string(listing).expect("the compiler's assembly");
            std::fs::write(
                listing,
                labelled(&text, &listing.file_stem().unwrap_or_default().to_string_lossy(), &mut labels),
            )
            .expect("the same with labels");
        }
        fixture::succeeds_silently(self.command(folder).arg("-c").args(&listings));
        (self.products(&sources, folder, "o"), labels)
    }

    fn link(&self, objects: &[PathBuf], name: &str, options: &[&str]) -> PathBuf {
        let image = self.folder.path().join(name);
        let mut command = self.command("");
        command.args(objects).args(["-Wl,--gc-sections", "-pthread"]).args(options).arg("-o").arg(&image);
        fixture::succeeds_silently(&mut command);
        image
    }
}

/// A label at a marker in the compiler's assembly.
struct Label {
    /// Copies of a C++ function share it, because GNU ld compares the symbols of the copies that it
    /// drops.
    symbol: String,
    line: u32,
    function: String,
    /// Whether the function is in a group, of which the linker keeps one copy.
    in_group: bool,
}

/// Inserts a label before each statement that writes a record.
fn labelled(text: &str, file: &str, labels: &mut Vec<Label>) -> String {
    // gcc marks the start of each statement inside one #APP; clang writes an #APP for each.
    let lines: Vec<_> = text.lines().collect();
    let is_start = |line: &str| line.trim() == "#APP" || line.starts_with("# ") && line.ends_with("\" 1");
    let is_end = |line: &str| line.trim() == "#NO_APP" || line == "# 0 \"\" 2";
    let mut functions = BTreeSet::new();
    let mut function = "";
    let (mut in_group, mut number) = (false, 0);
    let mut result = String::new();
    for (index, line) in lines.iter().enumerate() {
        if let Some(name) = line.trim().strip_prefix(".type").and_then(|rest| rest.split_once(',')) {
            if name.1.trim().starts_with(['@', '%']) && name.1.contains("function") {
                functions.insert(name.0.trim());
            }
        }
        if let Some(name) = line.split(':').next().filter(|name| line.contains(':') && functions.contains(name)) {
            (function, number) = (name, 0);
        }
        if line.trim_start().starts_with(".section\t.text") {
            in_group = line.contains(",comdat");
        }
        result += line;
        result.push('\n');
        if !is_start(line) {
            continue;
        }
        let statement: Vec<_> =
            lines[index + 1..].iter().take_while(|line| !is_start(line) && !is_end(line)).copied().collect();
        if let Some(line) = recorded_line(&statement) {
            let symbol = format!("{function}.marker{number}{}", if in_group { "" } else { file });
            result += &format!("{symbol}:\n");
            number += 1;
            labels.push(Label { symbol, line, function: function.to_owned(), in_group });
        }
    }
    result
}

/// The line in the record that a statement writes: the first four-byte number after the address.
fn recorded_line(statement: &[&str]) -> Option<u32> {
    let record = statement.iter().position(|line| line.contains(".debug.simple_marker.2"))?;
    let number = |line: &&str| {
        let line = line.trim();
        let number = [".4byte", ".long", ".word"].iter().find_map(|directive| line.strip_prefix(directive))?;
        number.split(',').next()?.trim().parse().ok()
    };
    Some(statement[record..].iter().find_map(number).expect("a record has a line"))
}

/// An image as binutils read it.
struct Image<'a> {
    program: &'a Program,
    what: String,
    path: PathBuf,
    declarations: Vec<[String; 5]>,
    sites: Vec<Site>,
    symbols: BTreeSet<header::Symbol>,
    instructions: BTreeMap<u64, String>,
}

impl<'a> Image<'a> {
    fn of(program: &'a Program, what: String, path: PathBuf, objdump: &str) -> Self {
        let declarations = fixture::declarations(&path);
        let sites = fixture::sites(&path);
        let symbols = header::symbols(&path);
        let instructions = header::instructions(objdump, &path);
        Self { program, what, path, declarations, sites, symbols, instructions }
    }

    /// The functions that contain `pc` or end at it.
    fn functions_at(&self, pc: u64) -> impl Iterator<Item = &header::Symbol> {
        let functions = self.symbols.iter().filter(|symbol| symbol.kind == "FUNC" && symbol.size > 0);
        functions.filter(move |symbol| (symbol.start..=symbol.start + symbol.size).contains(&pc))
    }

    /// Checks that every record belongs to a marker of the sources, and that every emitted marker
    /// is declared once in each of the `objects`. A link-time optimiser merges the objects into
    /// one.
    fn check_records(&self, objects: Option<&[PathBuf]>) {
        let link_time = objects.is_none();
        let Self { what, declarations, sites, program, .. } = self;
        let markers = program.markers();
        let is_of = |(file, marker): &(String, Marker), record: &[String; 5]| {
            let [name, recorded, line, format, args] = record;
            *name == marker.name
                && recorded == file
                && line.parse().is_ok_and(|line| marker.lines.contains(&line))
                && *format == value(&marker.format, sites[0].address_size)
                && *args == marker.args
        };
        let of_site =
            |site: &Site| [&site.name, &site.file, &site.line.to_string(), &site.format, &site.args].map(String::clone);
        for record in declarations.iter().cloned().chain(sites.iter().map(of_site)) {
            assert!(markers.iter().any(|marker| is_of(marker, &record)), "{what}: {record:?} is of no marker");
        }
        let once = |sites: &[Site]| sites.iter().map(of_site).collect::<BTreeSet<_>>();
        let mut expected: Vec<_> = match objects {
            Some(objects) => objects.iter().flat_map(|object| once(&fixture::sites(object))).collect(),
            None => once(sites).into_iter().collect(),
        };
        expected.sort();
        assert_eq!(&expected, declarations, "{what}: a declaration for each marker and object");
        for (_, marker) in &markers {
            let declared = declarations.iter().any(|record| record[0] == marker.name);
            let live = sites.iter().any(|site| site.name == marker.name && site.pc != 0);
            let is_dead = program.dead.contains(&marker.name.as_str());
            let is_never = program.never.contains(&marker.name.as_str());
            if is_dead && link_time {
                // The optimiser may have dropped the function and its text.
                assert!(!live, "{what}: {} is live", marker.name);
            } else {
                assert_eq!((declared, live), (!is_never, !is_never && !is_dead), "{what}: {}", marker.name);
            }
        }
        let sizes: BTreeSet<_> = sites.iter().map(|site| (site.address_size, site.column)).collect();
        assert_eq!(sizes.len(), 1, "{what}: {sizes:?}");
    }

    /// Checks that every live address is that of an instruction, in a function that the marker's
    /// own function may be inlined into.
    fn check_functions(&self) {
        let markers = self.program.markers();
        let inlined_into = self.program.inlined_into();
        for site in self.sites.iter().filter(|site| site.pc != 0) {
            let what = format!("{}: {} at {:#x}", self.what, site.name, site.pc);
            let of_site = |(file, marker): &&(String, Marker)| *file == site.file && marker.name == site.name;
            let function = markers.iter().find(of_site).and_then(|(_, marker)| marker.function.as_ref());
            let possible = &inlined_into[function.expect("the function of a marker")];
            let mut found = self.functions_at(site.pc).peekable();
            assert!(found.peek().is_some(), "{what}: in no function");
            let mut inside = found.filter(|symbol| possible.contains(source_name(&symbol.name)));
            let at_instruction = |symbol: &header::Symbol| {
                symbol.start + symbol.size == site.pc || self.instructions.contains_key(&site.pc)
            };
            assert!(inside.any(at_instruction), "{what}: not at an instruction of {possible:?}");
            if site.flags & 1 != 0 {
                assert!(self.instructions[&site.pc].starts_with("nop"), "{what}: no nop");
            }
        }
    }

    /// Checks that the live records are at the labels, and that there are as many dead records as
    /// labels that the linker dropped. If GNU ld drops a function from a group, its record may
    /// point to the function that it kept.
    fn check_labels(&self, labels: &[Label], linker: &str) {
        let Self { what, .. } = self;
        assert!(!labels.is_empty(), "{what}: no labels");
        let mut expected = Vec::new();
        let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for label in labels {
            groups.entry(label.symbol.as_str()).or_default().push(label);
        }
        for (name, labels) in groups {
            let addresses = self.symbols.iter().filter(|symbol| symbol.name == name).map(|symbol| symbol.start);
            let addresses: Vec<_> = addresses.collect();
            let Label { line, function, in_group, .. } = labels[0];
            assert!(labels.len() == 1 || *in_group, "{what}: {name} is there {} times", labels.len());
            for address in &addresses {
                assert!(self.functions_at(*address).any(|found| found.name == *function), "{what}: {name}");
            }
            let of_dropped = if *in_group && linker == "bfd" { addresses.first().copied() } else { None };
            let addresses = addresses.into_iter().chain(std::iter::repeat(of_dropped.unwrap_or_default()));
            expected.extend(addresses.take(labels.len()).map(|address| (*line, address)));
        }
        let mut found: Vec<_> = self.sites.iter().map(|site| (site.line, site.pc)).collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{what}: the records, and the labels");
    }

    /// The functions of the program, by their names in the source.
    fn functions(&self) -> BTreeSet<&str> {
        let functions = self.symbols.iter().filter(|symbol| symbol.kind == "FUNC");
        functions.map(|symbol| source_name(&symbol.name)).collect()
    }

    fn runs(&self, runner: &[&str]) {
        let mut words = runner.iter().map(std::ffi::OsStr::new).chain([self.path.as_os_str()]);
        tools::run(Command::new(words.next().expect("a program")).args(words));
    }

    /// The size of each loaded section.
    fn loaded(&self) -> BTreeMap<String, u64> {
        let loaded = fixture::loaded_sections(&self.path);
        assert!(loaded.contains_key(".text"), "{loaded:?}");
        loaded
    }
}

/// A function's name in the source: without the suffix of a clone, and without C++ parameters.
fn source_name(symbol: &str) -> &str {
    // .cold, .part.0, .isra.0, .constprop.0, .lto_priv.0, .llvm.123
    let name = symbol.split('.').next().filter(|name| !name.is_empty()).unwrap_or(symbol);
    let Some(mangled) = name.strip_prefix("_Z") else { return name };
    let digits = mangled.bytes().take_while(u8::is_ascii_digit).count();
    mangled[..digits].parse::<usize>().map_or(name, |length| &mangled[digits..digits + length])
}

/// The value of a format as written: literals, and macros of <inttypes.h>.
fn value(format: &str, address_size: u8) -> String {
    let mut value = Vec::new();
    for (index, part) in format.split('"').enumerate() {
        if index % 2 == 1 {
            value.extend(header::unescape(part).expect("a literal without quotes in it"));
            continue;
        }
        value.extend(match (part.trim(), address_size) {
            ("", _) => &b""[..],
            ("PRIu32", _) => b"u",
            ("PRIu64", 8) => b"lu",
            ("PRIu64", _) => b"llu",
            (other, _) => panic!("{other}?"),
        });
    }
    String::from_utf8(value).expect("UTF-8")
}

const LINKERS: [(&str, &str); 3] = [("bfd", "-fuse-ld=bfd"), ("lld", "-fuse-ld=lld"), ("mold", "-fuse-ld=mold")];

fn linkers() -> impl Iterator<Item = (&'static str, &'static str)> {
    LINKERS.into_iter().filter(|(name, _)| tools::find(&format!("ld.{name}")).is_some())
}

/// Compares an image with the same one built with SIMPLE_MARKER_OFF: markers add no symbols or
/// sections to it, and only the code differs in the loaded sections.
fn compare_with_off(with: &Image<'_>, off: &Image<'_>, link_time: bool) {
    let Image { what, program, .. } = with;
    assert!(off.declarations.is_empty() && off.sites.is_empty(), "{what}: off");
    let different: Vec<_> = with.functions().symmetric_difference(&off.functions()).copied().collect();
    // A marker is part of its function, so it may affect whether the function is inlined into a
    // live one.
    let inlined_into = program.inlined_into();
    let is_called = |function: &&str| inlined_into.get(*function).is_some_and(|callers| callers.contains("main"));
    assert!(different.is_empty() || link_time && different.iter().all(is_called), "{what}: functions: {different:?}");
    let (with, off) = (with.loaded(), off.loaded());
    let names = |sections: &BTreeMap<String, u64>| sections.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&with), names(&off), "{what}: loaded sections");
    // The layout of the code and its unwind information may differ, and so may the padding that
    // mold inserts. Everything else must be the same.
    let is_code = |name: &str| matches!(name, ".text" | ".eh_frame" | ".eh_frame_hdr" | ".relro_padding");
    for (name, size) in with.iter().filter(|(name, _)| !is_code(name)) {
        assert_eq!(*size, off[name], "{what}: {name}");
    }
    let (code, difference) = (off[".text"], with[".text"] as i64 - off[".text"] as i64);
    note!("{what}: {code} bytes of code, {difference:+} with markers, inlined otherwise: {different:?}");
    let costs = program.markers().iter().any(|(_, marker)| marker.costs);
    assert!(difference == 0 || !what.contains("-O0") || costs, "{what}: {difference:+} bytes of code");
}

/// Builds the program at each level with each linker. Without CI, it is built at the levels at the indices
/// in `desk`, each with one linker.
fn prove(program: &Program, compiler: Compiler, desk: &[usize]) {
    if tools::find(compiler.name()).is_none() {
        return;
    }
    let tools = Tools::new(&[compiler.name()], "objdump");
    let all: Vec<_> = linkers().collect();
    let mut images = 0;
    let levels: Vec<_> = LEVELS.into_iter().enumerate().collect();
    for (index, level) in tools::slice(&format!("{} {}", program.name, compiler.name()), &levels, desk) {
        let linkers =
            tools::slice(&format!("{} {} {level}", program.name, compiler.name()), &all, &[index % all.len()]);
        let (objects, labels) = tools.compile_labelled(program, &format!("with{level}"), &[level]);
        let (off, none) = tools.compile_labelled(program, &format!("off{level}"), &[level, "-DSIMPLE_MARKER_OFF"]);
        assert!(none.is_empty());
        for (linker, option) in linkers {
            let what = format!("{} {} {level} {linker}", program.name, compiler.name());
            let image = |objects: &[PathBuf], name: &str| {
                let path = tools.link(objects, &format!("{name}{level}-{linker}"), &[option]);
                Image::of(program, what.clone(), path, tools.objdump)
            };
            let with = image(&objects, "with");
            with.check_records(Some(&objects));
            with.check_functions();
            with.check_labels(&labels, linker);
            with.runs(&[]);
            if level == "-O2" {
                // The labels, and the detour through assembly, must change nothing.
                let direct = image(&tools.compile(program, "direct", &[level]), "direct");
                assert_eq!(records(&direct.path), records(&with.path), "{what}");
                assert_eq!(direct.loaded(), with.loaded(), "{what}");
            }
            compare_with_off(&with, &image(&off, "off"), false);
            images += 1;
        }
    }
    for level in ["-O0", "-O2"] {
        let objects = tools.compile(program, &format!("lto{level}"), &[level, "-flto"]);
        let off = tools.compile(program, &format!("lto-off{level}"), &[level, "-flto", "-DSIMPLE_MARKER_OFF"]);
        let able: Vec<_> = linkers().filter(|(linker, _)| compiler == Compiler::Clang || *linker != "lld").collect();
        for (linker, option) in
            tools::slice(&format!("{} {} {level} -flto", program.name, compiler.name()), &able, &[able.len() - 1])
        {
            let what = format!("{} {} {level} -flto {linker}", program.name, compiler.name());
            let image = |objects: &[PathBuf], name: &str| {
                let path = tools.link(
                    objects,
                    &format!("{name}{level}-{linker}"),
                    &[option, level, "-flto", "-ffunction-sections"],
                );
                Image::of(program, what.clone(), path, tools.objdump)
            };
            let with = image(&objects, "lto");
            with.check_records(None);
            with.check_functions();
            with.runs(&[]);
            compare_with_off(&with, &image(&off, "lto-off"), true);
            images += 1;
        }
    }
    // 18 with clang and 16 with gcc, if every linker is installed.
    let lld = usize::from(compiler == Compiler::Gcc && tools::find("ld.lld").is_some());
    let expected = if tools::tries_everything() { 6 * all.len() - 2 * lld } else { desk.len() + 2 };
    assert_eq!(images, expected, "the images that were made");
}

#[test]
fn the_queue_with_gcc() {
    prove(&QUEUE, Compiler::Gcc, &[0, 2]);
}

#[test]
fn the_queue_with_clang() {
    prove(&QUEUE, Compiler::Clang, &[1, 2, 3]);
}

#[test]
fn parts_with_gcc() {
    prove(&PARTS, Compiler::Gcc, &[1, 2, 3]);
}

#[test]
fn parts_with_clang() {
    prove(&PARTS, Compiler::Clang, &[0, 2]);
}

/// The records of an image.
fn records(image: &Path) -> (Vec<[String; 5]>, Vec<Site>) {
    (fixture::declarations(image), fixture::sites(image))
}

/// Whether a section of an image has the compression flag.
fn is_compressed(image: &Path, section: &str) -> bool {
    let headers = fixture::section_headers(image);
    let row = headers.lines().find(|line| line.split_whitespace().any(|word| word == section)).expect("a section");
    // Flags, link, info, alignment.
    row.split_whitespace().rev().nth(3).is_some_and(|flags| flags.contains('C'))
}

/// Tools that change a linked image must leave the records unchanged, or remove the sites together
/// with the debug information.
#[test]
fn linked_images_are_transformed() {
    const NEEDED: [&str; 8] =
        ["gcc", "objcopy", "strip", "llvm-objcopy", "llvm-strip", "eu-strip", "eu-elfcompress", "dwz"];
    if NEEDED.iter().any(|tool| tools::find(tool).is_none()) {
        return;
    }
    let tools = Tools::new(&["gcc"], "objdump");
    let (objects, labels) = tools.compile_labelled(&QUEUE, "queue", &["-O2"]);
    let mut transformed = 0;
    for (linker, option) in linkers() {
        let image = tools.link(&objects, linker, &[option]);
        let expected = records(&image);
        Image::of(&QUEUE, linker.to_owned(), image.clone(), "objdump").check_labels(&labels, linker);
        let copy = tools.folder.path().join("copy");
        let keeps = [
            &["objcopy"][..],
            &["objcopy", "--only-keep-debug"],
            &["llvm-objcopy", "--only-keep-debug"],
            &["objcopy", "--compress-debug-sections=zlib"],
            &["objcopy", "--compress-debug-sections=zstd"],
            &["llvm-objcopy", "--compress-debug-sections=zlib"],
            &["eu-elfcompress", "--type=zlib", "--force", "-o"],
            // eu-strip chooses DWARF sections by name.
            &["eu-strip", "-g", "-o"],
            &["dwz", "-o"],
        ];
        for command in keeps {
            let what = format!("{linker}: {command:?}");
            let mut process = Command::new(command[0]);
            process.args(&command[1..]);
            // Some tools take the output first.
            if command.ends_with(&["-o"]) {
                process.arg(&copy).arg(&image)
            } else {
                process.arg(&image).arg(&copy)
            };
            tools::run(&mut process);
            assert_eq!(records(&copy), expected, "{what}");
            let compresses = command.iter().any(|word| word.ends_with("zlib") || word.ends_with("zstd"));
            assert_eq!(is_compressed(&copy, ".debug.simple_marker.2"), compresses, "{what}");
            std::fs::remove_file(&copy).expect("the copy");
            transformed += 1;
        }
        for strip in ["strip", "llvm-strip"] {
            tools::run(Command::new(strip).arg("-g").arg(&image).arg("-o").arg(&copy));
            assert_eq!(records(&copy), (expected.0.clone(), Vec::new()), "{linker}: {strip} -g");
            transformed += 1;
        }
        // Compressed by the linker.
        let formats: &[&str] = if linker == "lld" { &["zlib"] } else { &["zlib", "zstd"] };
        for format in formats {
            let compress = format!("-Wl,--compress-debug-sections={format}");
            let compressed = tools.link(&objects, "compressed", &[option, &compress]);
            assert!(is_compressed(&compressed, ".debug_info"), "{linker} {format}");
            assert_eq!(records(&compressed), expected, "{linker} {format}");
            transformed += 1;
        }
        // A reader must not apply these relocations.
        let emitted = tools.link(&objects, "emitted", &[option, "-Wl,--emit-relocs"]);
        assert!(fixture::section_headers(&emitted).contains(".rela.debug.simple_marker.2"), "{linker}");
        Image::of(&QUEUE, format!("{linker} --emit-relocs"), emitted, "objdump").check_labels(&labels, linker);
        transformed += 1;
    }
    let lld = usize::from(tools::find("ld.lld").is_some());
    assert_eq!(transformed, 14 * linkers().count() - lld, "the images that were made");
}

/// Linking the output of `ld -r` must give the same records as linking directly. Excludes `mold -r`
/// 1.10: it merges strings and adds old offsets to new ones, in `.debug_str` as well as in our
/// section.
#[test]
fn relocatable_objects() {
    if tools::find("gcc").is_none() {
        return;
    }
    let tools = Tools::new(&["gcc"], "objdump");
    for program in [&QUEUE, &PARTS] {
        let (objects, labels) = tools.compile_labelled(program, program.name, &["-O2"]);
        for (linker, _) in linkers().filter(|(linker, _)| *linker != "mold") {
            let what = format!("{}: ld.{linker} -r", program.name);
            let object = tools.folder.path().join(format!("{}-{linker}.o", program.name));
            let mut link = Command::new(format!("ld.{linker}"));
            fixture::succeeds_silently(link.arg("-r").args(&objects).arg("-o").arg(&object));
            relocations(&object, linker);
            Image::of(program, what.clone(), object.clone(), "objdump").check_labels(&labels, linker);
            let linked = Image::of(program, what, tools.link(&[object], "linked", &[]), "objdump");
            linked.check_records(Some(&objects));
            linked.check_functions();
            linked.check_labels(&labels, linker);
            linked.runs(&[]);
        }
    }
}

/// The relocations of an object's records: an absolute one for the address, and one of four bytes
/// for each string.
fn relocations(object: &Path, linker: &str) {
    let printed = tools::run(Command::new("readelf").args(["--relocs", "--wide"]).arg(object));
    let ours = printed.split("Relocation section '").find(|part| part.starts_with(".rela.debug.simple_marker.2'"));
    let rows = ours.expect("relocations").lines().filter_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let offset = u64::from_str_radix(words.first()?, 16).ok()?;
        Some((offset % 40, words.get(2)?.to_string())).filter(|(_, kind)| kind.starts_with("R_"))
    });
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    for row in rows {
        *counts.entry(row).or_default() += 1;
    }
    let sites = fixture::sites(object).len();
    let none = counts.remove(&(4, "R_X86_64_NONE".to_owned())).unwrap_or_default();
    assert!(none == 0 || linker == "lld", "ld.{linker} -r: {none} are gone");
    let strings = [20, 24, 28, 32, 36].map(|offset| ((offset, "R_X86_64_32".to_owned()), sites));
    let expected: BTreeMap<_, _> = [((4, "R_X86_64_64".to_owned()), sites - none)].into_iter().chain(strings).collect();
    assert_eq!(counts, expected, "ld.{linker} -r");
}

/// Functions with the same code are merged. All records but one must look like those of a dropped
/// function: lld and mold write no address of a folded function into a section named `.debug*`.
#[test]
fn identical_code_is_folded() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        if tools::find(compiler.name()).is_none() {
            continue;
        }
        let tools = Tools::new(&[compiler.name()], "objdump");
        let objects = tools.compile(&PARTS, "parts", &["-O2"]);
        for (linker, option) in linkers().filter(|(linker, _)| *linker != "bfd") {
            let what = format!("{} {linker} --icf=all", compiler.name());
            let path = tools.link(&objects, "folded", &[option, "-Wl,--icf=all"]);
            let folded = Image::of(&PARTS, what.clone(), path, "objdump");
            folded.check_functions();
            folded.runs(&[]);
            let plain = tools.link(&objects, "plain", &[option]);
            let (declarations, sites) = records(&plain);
            assert_eq!(folded.declarations, declarations, "{what}");
            let live = |sites: &[Site]| -> Vec<_> {
                let live = sites.iter().filter(|site| site.pc != 0);
                live.map(|site| (site.name.clone(), site.line)).collect()
            };
            let (folded, mut expected) = (live(&folded.sites), live(&sites));
            expected.retain(|(name, _)| name != "parts:same_two" || folded.iter().any(|(live, _)| live == name));
            expected.retain(|(name, _)| name != "parts:same_one" || folded.iter().any(|(live, _)| live == name));
            assert_eq!(folded, expected, "{what}");
            assert_eq!(folded.iter().filter(|(name, _)| name.starts_with("parts:same_")).count(), 1, "{what}");
        }
    }
}

/// Checks a program on another target: its records, its output, and the output of `smark list`.
fn on_target(program: &Program, compiler: &[&str], objdump: &'static str, runner: &[&str], address_size: u8) {
    let needed = [compiler[0], objdump].into_iter().chain(runner.first().copied());
    if needed.filter(|tool| tools::find(tool).is_none()).count() > 0 || !header::links(compiler) {
        return;
    }
    let tools = Tools::new(compiler, objdump);
    for level in ["-O0", "-O2"] {
        let (objects, labels) = tools.compile_labelled(program, level, &[level]);
        let what = format!("{} {compiler:?} {level}", program.name);
        let image = Image::of(program, what.clone(), tools.link(&objects, "linked", &[]), objdump);
        image.check_records(Some(&objects));
        image.check_functions();
        // Debian's compilers link with GNU ld.
        image.check_labels(&labels, "bfd");
        image.runs(runner);
        assert!(image.sites.iter().all(|site| site.address_size == address_size), "{what}");
        assert_eq!(listed(&image), named(&image), "{what}: smark list, and readelf");
    }
}

/// The name, address and symbol of each live site from `smark list`.
fn listed(image: &Image<'_>) -> BTreeSet<(String, String, String)> {
    let printed = tools::run(Command::new(fixture::smark()).args(["list", "--json"]).arg(&image.path));
    let resolution: serde_json::Value = serde_json::from_str(&printed).expect("smark prints JSON");
    let text = |value: &serde_json::Value| value.as_str().expect("a string").to_owned();
    let markers = resolution["images"][0]["markers"].as_array().expect("markers");
    let names: BTreeSet<_> = markers.iter().map(|marker| text(&marker["name"])).collect();
    let declared: BTreeSet<_> = image.declarations.iter().map(|[name, ..]| name.clone()).collect();
    assert_eq!(names, declared, "{}", image.what);
    let sites = markers.iter().flat_map(|marker| {
        let sites = marker["sites"].as_array().expect("sites").iter().filter(|site| !site["address"].is_null());
        sites.map(move |site| (text(&marker["name"]), text(&site["address"]), text(&site["symbol"])))
    });
    sites.collect()
}

/// The same from the records and the symbol table.
fn named(image: &Image<'_>) -> BTreeSet<(String, String, String)> {
    let live = image.sites.iter().filter(|site| site.pc != 0);
    let named = live.map(|site| {
        let inside = |symbol: &&header::Symbol| site.pc < symbol.start + symbol.size;
        let function = image.functions_at(site.pc).find(inside).expect("a function");
        (site.name.clone(), format!("{:#x}", site.pc), function.name.clone())
    });
    named.collect()
}

// Debian puts headers that 64-bit and 32-bit share in a folder that -m32 does not search.
const I686: [&str; 3] = ["gcc", "-m32", "-idirafter/usr/include/x86_64-linux-gnu"];

#[test]
fn the_queue_on_i686() {
    on_target(&QUEUE, &I686, "objdump", &[], 4);
}

#[test]
fn parts_on_i686() {
    on_target(&PARTS, &I686, "objdump", &[], 4);
}

#[test]
fn the_queue_on_aarch64() {
    let qemu = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"];
    on_target(&QUEUE, &["aarch64-linux-gnu-gcc"], "aarch64-linux-gnu-objdump", &qemu, 8);
}

#[test]
fn the_queue_on_riscv64() {
    let qemu = ["qemu-riscv64", "-L", "/usr/riscv64-linux-gnu"];
    on_target(&QUEUE, &["riscv64-linux-gnu-gcc"], "riscv64-linux-gnu-objdump", &qemu, 8);
}

#[test]
fn the_queue_on_x86_64_is_listed() {
    on_target(&QUEUE, &["gcc"], "objdump", &[], 8);
}
