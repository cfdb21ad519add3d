//! Compares every marker of `examples/constructs`, in a debug and a release build, with the source,
//! the disassembly, the compiler's own listing, and the registers of the running program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::{env, fmt::Write as _, fs};

use simple_markers_tests::fixture::{self, Site};
use simple_markers_tests::image::{Code, Instruction};
use simple_markers_tests::source::{Marker, Outcome};
use simple_markers_tests::{listing, source, tools};

/// `examples/constructs`, built with one profile.
struct Build {
    profile: &'static str,
    /// The index into [`Marker::outcome`].
    outcome: usize,
    image: PathBuf,
    code: Code,
    sites: Vec<Site>,
}

static BUILDS: LazyLock<[Build; 2]> = LazyLock::new(|| [Build::new("dev", "debug", 0), Build::new("demo", "demo", 1)]);

/// The markers of the source, with their files.
static MARKERS: LazyLock<Vec<(String, Marker)>> = LazyLock::new(|| {
    let folder = "examples/constructs/src";
    let mut files: Vec<_> = fs::read_dir(fixture::workspace().join(folder))
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name in UTF-8"))
        .map(|name| format!("{folder}/{name}"))
        .collect();
    files.sort();
    let text = |file: &String| fs::read_to_string(fixture::workspace().join(file)).expect("a source file");
    files.iter().flat_map(|file| source::markers(&text(file)).into_iter().map(|found| (file.clone(), found))).collect()
});

impl Build {
    fn new(profile: &'static str, folder: &str, outcome: usize) -> Self {
        build("constructs", profile);
        let image = fixture::target().join(folder).join("constructs");
        Self { profile, outcome, code: Code::of(&image), sites: fixture::sites(&image), image }
    }

    /// The live sites of a marker.
    fn live<'a>(&'a self, file: &str, marker: &Marker) -> Vec<&'a Site> {
        self.sites.iter().filter(|site| site.pc != 0 && is_of(site, file, marker)).collect()
    }

    /// The number of sites of a marker whose function was removed.
    fn dead(&self, file: &str, marker: &Marker) -> usize {
        self.sites.iter().filter(|site| site.pc == 0 && is_of(site, file, marker)).count()
    }
}

/// Whether the site belongs to the marker, judged by its place alone. Another test compares the
/// rest.
fn is_of(site: &Site, file: &str, marker: &Marker) -> bool {
    let named = site.name == marker.name || site.format == marker.format;
    named && site.file == file && marker.places.contains(&(site.line, site.column))
}

/// Builds a package of the workspace with a profile.
fn build(package: &str, profile: &str) {
    let mut command = fixture::cargo();
    command.current_dir(fixture::workspace()).args(["build", "--offline", "--quiet"]);
    command.args(["--package", package, "--profile", profile]).env("CARGO_TARGET_DIR", fixture::target());
    // Incremental, as in normal development: this gives each module of a debug build its own object
    // file.
    command.env("CARGO_INCREMENTAL", if profile == "dev" { "1" } else { "0" });
    for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTC_WRAPPER"] {
        command.env_remove(variable);
    }
    tools::run(&mut command);
}

#[test]
fn the_source_has_the_markers_that_the_tests_are_about() {
    assert_eq!(MARKERS.len(), 239);
    let names: BTreeSet<_> = MARKERS.iter().map(|(_, marker)| marker.name.as_str()).collect();
    assert_eq!(names.len(), MARKERS.len(), "each name stands once");
    assert!(names.iter().all(|name| name.starts_with("construct")));
    let with = |what: fn(&Marker) -> bool| MARKERS.iter().filter(|(_, marker)| what(marker)).count();
    assert_eq!(with(|marker| marker.witness.is_some()), 225);
    assert_eq!(with(|marker| marker.anchored), 4);
    assert_eq!(with(|marker| !marker.keeps.is_empty()), 31);
}

#[test]
fn the_program_does_what_it_did() {
    for build in &*BUILDS {
        assert_eq!(tools::run(&mut Command::new(&build.image)), "224 witnesses, sum 1722220\n", "{}", build.profile);
    }
}

#[test]
fn every_marker_is_declared_as_it_is_written() {
    for build in &*BUILDS {
        let mut expected = Vec::new();
        for (file, marker) in MARKERS.iter().filter(|(_, marker)| marker.outcome[build.outcome] != Outcome::Absent) {
            let Marker { name, format, args, .. } = marker;
            let lines = marker.places.iter().map(|(line, _)| line.to_string());
            expected.extend(lines.map(|line| [name.clone(), file.clone(), line, format.clone(), args.clone()]));
        }
        expected.sort();
        assert_eq!(fixture::declarations(&build.image), expected, "{}", build.profile);
    }
}

#[test]
fn every_site_says_what_the_source_says() {
    for build in &*BUILDS {
        let mut found = 0;
        for (file, marker) in &*MARKERS {
            for site in build.sites.iter().filter(|site| is_of(site, file, marker)) {
                let said = (&site.name, &site.format, &site.args, site.flags & 1 != 0);
                let written = (&marker.name, &marker.format, &marker.args, marker.anchored);
                assert_eq!(said, written, "{}", build.profile);
                found += 1;
            }
        }
        assert_eq!(found, build.sites.len(), "{}: each site is of one marker", build.profile);
    }
}

#[test]
fn each_marker_meets_its_fate() {
    let mut differences = String::new();
    for build in &*BUILDS {
        for (file, marker) in &*MARKERS {
            let (live, dead) = (build.live(file, marker).len(), build.dead(file, marker));
            let met = match marker.outcome[build.outcome] {
                Outcome::Live(least, most) => (least..=most).contains(&live),
                Outcome::Eliminated | Outcome::Absent => (live, dead) == (0, 0),
                Outcome::Discarded => live == 0 && dead > 0,
            };
            if !met {
                let (profile, name, outcome) = (build.profile, &marker.name, marker.outcome[build.outcome]);
                let _ = writeln!(differences, "{profile}: {name}: {outcome:?}, but {live} live and {dead} discarded");
            }
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn the_three_sections_are_not_loaded() {
    for build in &*BUILDS {
        let headers = fixture::section_headers(&build.image);
        for (section, flags) in
            [("__simple_marker.1", ""), (".debug.simple_marker.2", ""), (".debug.simple_marker.str", "MS")]
        {
            let header = headers.lines().find(|line| line.contains(&format!(" {section} "))).expect(section);
            // Type, address, offset, size, entry size, flags, link, info, alignment.
            let mut fields: Vec<_> = header.split(section).nth(1).unwrap_or_default().split_whitespace().collect();
            fields.truncate(fields.len() - 3);
            assert_eq!(fields.split_off(5).concat(), flags, "{section}");
            assert_eq!((fields[0], fields[1]), ("PROGBITS", "0000000000000000"), "{section}");
        }
    }
}

#[test]
fn every_address_is_an_instruction_of_this_program() {
    for build in &*BUILDS {
        for site in build.sites.iter().filter(|site| site.pc != 0) {
            let Site { name, pc, .. } = site;
            let functions: Vec<_> = build.code.functions_at(*pc).collect();
            let at_end = functions.iter().any(|function| function.end == *pc);
            assert!(build.code.at(*pc).is_some() || at_end, "{name}: {pc:#x} is inside an instruction");
            let stem = Path::new(&site.file).file_stem().expect("a file").to_string_lossy();
            let module = if stem == "library" { "constructs_library" } else { &stem };
            // A mangled name has its length before it, or two dots after it in a type.
            let (segment, in_type) = (format!("{}{module}", module.len()), format!("constructs..{module}.."));
            let expected = |name: &str| match build.outcome {
                0 => name.contains(&segment) || name.contains(&in_type),
                // A site may be inlined into another function of the crate, or, if it runs in its
                // own thread, into one of the standard library.
                _ => name.contains("constructs") || site.name.starts_with("construct:thread") && name.contains("3std"),
            };
            assert!(functions.iter().any(|function| expected(&function.name)), "{}: {pc:#x}: {functions:?}", site.name);
        }
    }
}

/// The constant in `register` at `instruction`, if the code right before it sets one.
fn constant(code: &Code, instruction: &Instruction, path: &[&Instruction]) -> Option<u32> {
    let on_path = path.iter().rev().copied();
    let before = code.before(path.first().map_or(instruction.address, |first| first.address));
    let straight = before.take_while(|before| !before.branches() && before.mnemonic != "call");
    let mut writes = on_path.chain(straight).filter(|before| {
        before.operands.ends_with(",%edi") || before.operands.ends_with(",%rdi") || before.operands == "%rdi"
    });
    writes.next()?.constant_in("%edi")
}

fn is_witness(code: &Code, instruction: &Instruction) -> bool {
    let calls = instruction.mnemonic == "call" || instruction.mnemonic == "jmp";
    calls && code.callee(instruction).is_some_and(|symbol| symbol.contains("18constructs_library7witness"))
}

/// The call with the marker's own number follows each site, with no branch in between.
#[test]
fn every_address_leads_to_its_witness() {
    for build in &*BUILDS {
        let code = &build.code;
        let mut led = 0;
        for (file, marker) in &*MARKERS {
            let Some(number) = marker.witness else { continue };
            for site in build.live(file, marker) {
                let path = code.straight_line(site.pc);
                let call = path.iter().position(|instruction| is_witness(code, instruction));
                let call = call.unwrap_or_else(|| panic!("{}: {}: {path:#x?}", build.profile, marker.name));
                let given = constant(code, path[call], &path[..call]);
                assert_eq!(given, Some(number), "{}: {}: {path:#x?}", build.profile, marker.name);
                led += 1;
            }
        }
        // Nearly all. The test must not pass because nothing was compared.
        assert!(led >= 210, "{}: {led}", build.profile);
    }
}

/// A number has as many calls as the marker before them has sites, so no copy of the code lacks a
/// site.
#[test]
fn every_witness_has_its_site() {
    for build in &*BUILDS {
        let mut calls: BTreeMap<u32, usize> = BTreeMap::new();
        let functions = build.code.functions();
        let instructions: BTreeMap<_, _> = functions
            .iter()
            .flat_map(|function| build.code.instructions(function))
            .map(|instruction| (instruction.address, instruction))
            .collect();
        for call in instructions.values().filter(|instruction| is_witness(&build.code, instruction)) {
            if let Some(number) = constant(&build.code, call, &[]) {
                *calls.entry(number).or_default() += 1;
            }
        }
        let marked: BTreeMap<_, _> = MARKERS
            .iter()
            .filter_map(|(file, marker)| Some((marker.witness?, build.live(file, marker).len())))
            .filter(|(_, sites)| *sites > 0)
            .collect();
        let called: BTreeMap<_, _> = calls.into_iter().filter(|(number, _)| marked.contains_key(number)).collect();
        assert_eq!(called, marked, "{}", build.profile);
    }
}

#[test]
fn an_anchor_is_one_byte_that_does_nothing() {
    for build in &*BUILDS {
        let anchored: Vec<_> = build.sites.iter().filter(|site| site.flags & 1 != 0).collect();
        assert_eq!(anchored.len(), 4, "{}", build.profile);
        for site in anchored {
            let at = build.code.at(site.pc).unwrap_or_else(|| panic!("{} is at an instruction", site.name));
            assert_eq!((at.mnemonic.as_str(), at.operands.as_str()), ("nop", ""), "{}", site.name);
            let length = build.code.after(site.pc).map(|next| next.address - site.pc);
            assert_eq!(length, Some(1), "{}", site.name);
        }
    }
}

/// Compares the sites with the compiler's own listing. The sites must be exactly the markers in the
/// listing, at the same instructions. The sites without an address must be those of the removed
/// functions.
///
/// Runs the compiler directly, in a separate folder, because the listing must belong to exactly
/// this image.
#[test]
fn every_address_is_where_the_listing_has_the_marker() {
    for (profile, level) in [("dev", "0"), ("demo", "3")] {
        let markers = target_of_markers(profile);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let rustc = |file: &str, arguments: &[&str]| {
            let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
            rustc.current_dir(fixture::workspace()).arg(format!("examples/constructs/src/{file}.rs")).args(arguments);
            rustc.args(["--edition=2024", "--emit=link,asm", "-Cdebuginfo=2", "--cap-lints=allow", "--out-dir"]);
            rustc.arg(folder.path()).arg(format!("-Copt-level={level}"));
            rustc.arg(format!("--extern=simple_markers={}", markers.join("libsimple_markers.rlib").display()));
            rustc.arg(format!("-Ldependency={}", markers.join("deps").display()));
            tools::run(&mut rustc);
        };
        let library = folder.path().join("libconstructs_library.rlib");
        rustc("library", &["--crate-name=constructs_library", "--crate-type=lib"]);
        rustc("main", &["--crate-name=constructs", &format!("--extern=constructs_library={}", library.display())]);

        let image = folder.path().join("constructs");
        let read = |file: &str| fs::read_to_string(folder.path().join(file)).expect("a listing");
        let mut functions = listing::functions(&read("constructs.s"));
        functions.extend(listing::functions(&read("constructs_library.s")));
        let (mut placed, mut gone) = (Vec::new(), Vec::new());
        for Site { name, line, column, pc, .. } in fixture::sites(&image) {
            let marker = listing::Marker { name, place: (line, column) };
            if pc == 0 { gone.push(marker) } else { placed.push((marker, pc)) }
        }
        placed.sort();
        gone.sort();
        assert!(placed.len() >= 230, "{profile}: {}", placed.len());
        assert!(gone.len() >= 5, "{profile}: {gone:?}");
        assert_eq!(listing::addresses(&functions, &Code::of(&image)), (placed, gone), "{profile}");
    }
}

/// The folder with the crate `simple-markers`, built with `profile`.
fn target_of_markers(profile: &str) -> PathBuf {
    build("simple-markers", profile);
    fixture::target().join(if profile == "dev" { "debug" } else { profile })
}

/// Stops at the sites in a debugger, and compares the registers in the records with the values in
/// the comments.
#[test]
fn registers_hold_what_is_kept() {
    let Some(gdb) = tools::find("gdb") else { return };
    for build in &*BUILDS {
        let kept: Vec<_> = MARKERS.iter().filter(|(_, marker)| !marker.keeps.is_empty()).collect();
        let mut script = Script::new(build);
        let mut expected = BTreeMap::new();
        for (index, (file, marker)) in kept.iter().enumerate() {
            for site in build.live(file, marker) {
                let registers: Vec<_> = site.operands.split(' ').filter(|entry| *entry != "-").collect();
                assert_eq!(registers.len(), marker.keeps.len(), "{}: {}", marker.name, site.operands);
                let sizes: Vec<_> = registers.iter().map(|register| script_value(register).1).collect();
                script.stop(index, site.pc, &registers);
                let values = marker.keeps.iter().zip(sizes).map(|(value, size)| value & (u64::MAX >> (64 - 8 * size)));
                expected.insert(index, values.map(|value| format!(" {value:x}")).collect::<String>());
            }
        }
        let stops = script.run(&gdb);
        for (index, values) in &stops {
            assert_eq!(Some(values), expected.get(index), "{}: {}", build.profile, kept[*index].1.name);
        }
        let stopped: BTreeSet<_> = stops.iter().map(|(index, _)| *index).collect();
        let all: BTreeSet<_> = (0..kept.len()).collect();
        assert_eq!(stopped, all, "{}: each marker was passed", build.profile);
    }
}

/// The commands for gdb.
struct Script<'a> {
    build: &'a Build,
    text: String,
}

impl<'a> Script<'a> {
    fn new(build: &'a Build) -> Self {
        let main = build.code.functions().iter().find(|function| function.name == "main").expect("the C main").start;
        // Adds the load address, because the image is position-independent.
        let text = format!(
            "set pagination off\nset confirm off\nset language c\nstarti\nset $base = (unsigned long) &main - {main:#x}\n"
        );
        Self { build, text }
    }

    /// Prints the registers of a site at each pass.
    fn stop(&mut self, index: usize, pc: u64, registers: &[&str]) {
        let places = " %lx".repeat(registers.len());
        let values: String = registers.iter().map(|register| format!(", {}", script_value(register).0)).collect();
        let _ = writeln!(
            self.text,
            "break *($base + {pc:#x})\ncommands\nsilent\nprintf \"KEPT {index}{places}\\n\"{values}\ncontinue\nend"
        );
    }

    /// Returns the stops, each with its site and the printed values.
    fn run(mut self, gdb: &Path) -> Vec<(usize, String)> {
        self.text.push_str("continue\n");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let script = folder.path().join("script.gdb");
        fs::write(&script, &self.text).expect("the script is written");
        let mut command = Command::new(gdb);
        command.args(["-nx", "-batch", "-x"]).arg(&script).arg(&self.build.image).env("DEBUGINFOD_URLS", "");
        let output = tools::run(&mut command);
        let stops = output.lines().filter_map(|line| line.strip_prefix("KEPT "));
        let stops = stops.filter_map(|stop| stop.find(' ').map(|end| stop.split_at(end)));
        stops.map(|(index, values)| (index.parse().expect("a number"), values.to_owned())).collect()
    }
}

/// An entry of the operands string as a gdb expression, and its size in bytes.
fn script_value(entry: &str) -> (String, u32) {
    let (size, register) = entry.trim_start_matches('-').split_once('@').expect("SIZE@REGISTER");
    let register = register.trim_start_matches('%');
    // gdb has another name for the lowest byte of `r8` to `r15`.
    let low =
        register.strip_suffix('b').filter(|register| register.starts_with('r')).map(|register| format!("{register}l"));
    let register = low.as_deref().unwrap_or(register);
    match size {
        "1" => (format!("(unsigned long)(unsigned char)${register}"), 1),
        "2" => (format!("(unsigned long)(unsigned short)${register}"), 2),
        // A float is its bits in a general register.
        "4" | "4f" => (format!("(unsigned long)(unsigned int)${register}"), 4),
        "8" | "8f" => (format!("(unsigned long)${register}"), 8),
        _ => panic!("{entry} is of no size"),
    }
}
