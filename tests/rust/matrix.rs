//! Compiles and links the same Rust crates with many sets of options.
//!
//! `tests/rust/matrix/` has two libraries, a program, and a library for C. They do not use the
//! standard library, because it would dominate optimisation and linking. Every image is compared
//! with the compiler's listing of its inputs, which has the expected address of each marker; with
//! the call after it that has the marker's own number; and with the same image without markers.
//!
//! Three kinds of image, four linkers, and these options:
//!
//! | link-time optimisation | opt-level, codegen-units |
//! | --- | --- |
//! | none | 0, 2, 3 with 1, 16 |
//! | thin | 0 with 16; 2 with 1; 3 with 16 |
//! | fat | 0 with 1; 2 with 16; 3 with 1 |
//!
//! What is left out, and why: the other half of thin and fat, because nothing differed in a run of
//! all 216 images (fat has one unit in the end, and 2 and 3 gave the same sites everywhere);
//! opt-levels 1, `s` and `z`, which `zero_cost.rs` compares; `lto = "off"`, which is "none" without
//! optimisation between the units of a crate; static position-independent programs, which are
//! linked from the same code as others; Debian's lld for `-C linker-plugin-lto`, which cannot read
//! the intermediate code of a newer LLVM. Transformations start from one configuration for each
//! linker, because they do not depend on the compiler. `examples/constructs` uses the standard
//! library, and is linked by each linker, once with fat link-time optimisation and once without.
//!
//! Exceptions, each with its test:
//!
//! - lld and mold fold functions with `--icf=all`. The marker of the folded function gets the
//!   address of a removed function;
//! - GNU ld and lld compress only sections named `.debug_*`; mold and objcopy compress our sections
//!   too;
//! - mold 1.10 damages strings with `-r`, including those of DWARF;
//! - a library unit that the linker does not use has no sites, because it is an unused archive
//!   member.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use simple_markers_tests::fixture::{self, Site};
use simple_markers_tests::image::Code;
use simple_markers_tests::listing::Function;
use simple_markers_tests::matrix::{self, Build, Link, Markers, TOOLCHAIN};
use simple_markers_tests::source::{self, Marker, Outcome};
use simple_markers_tests::tools;

static LINKERS: LazyLock<Vec<Link>> = LazyLock::new(matrix::linkers);

const FOLDER: &str = "tests/rust/matrix";

/// The output of the program, and of the driver for the library.
const PRINTED: [&str; 2] = ["6554 1314001\n", "6554 1314201\n"];

/// The optimisation across crates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lto {
    /// Cargo's `lto = false`: only between the units of a crate.
    None,
    Thin,
    Fat,
}

/// The kind of image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// At a fixed address, including libc.
    Static,
    Pie,
    /// A library for C.
    Cdylib,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Static, Self::Pie, Self::Cdylib];

    /// The source of the last crate.
    fn source(self) -> &'static str {
        if self == Self::Cdylib { "plugin" } else { "program" }
    }

    /// The name that it is compiled under.
    fn name(self) -> &'static str {
        match self {
            Self::Static => "fixed",
            Self::Pie => "pie",
            Self::Cdylib => "plugin",
        }
    }

    fn options(self) -> &'static [&'static str] {
        match self {
            // rustc ends its arguments with -Bdynamic.
            Self::Static => &["-Ctarget-feature=+crt-static", "-Crelocation-model=static", "-Clink-arg=-Wl,-Bstatic"],
            Self::Pie => &[],
            Self::Cdylib => &["--crate-type=cdylib"],
        }
    }

    /// The markers of the sources, with their files.
    fn markers(self) -> Vec<(String, Marker)> {
        let files = ["base", "middle", self.source()].map(|name| format!("{FOLDER}/{name}.rs"));
        markers(&files)
    }

    /// The output of the image.
    fn run(self, image: &Path) -> String {
        static DRIVER: LazyLock<PathBuf> = LazyLock::new(|| {
            let driver = TOOLCHAIN.folder().join("driver");
            let source = fixture::workspace().join(FOLDER).join("driver.c");
            fixture::succeeds_silently(Command::new("cc").arg(source).arg("-o").arg(&driver).arg("-ldl"));
            driver
        });
        match self {
            Self::Static | Self::Pie => tools::run(&mut Command::new(image)),
            Self::Cdylib => tools::run(Command::new(&*DRIVER).arg(image)),
        }
    }
}

fn markers(files: &[String]) -> Vec<(String, Marker)> {
    let text = |file: &String| fs::read_to_string(fixture::workspace().join(file)).expect("a source");
    let of_file =
        |file: &String| source::markers(&text(file)).into_iter().map(move |found| (file.clone(), found)).collect();
    files.iter().flat_map(|file| -> Vec<_> { of_file(file) }).collect()
}

/// The compiler options.
#[derive(Clone, Debug)]
struct Configuration {
    lto: Lto,
    level: &'static str,
    units: &'static str,
    more: &'static [&'static str],
}

impl Configuration {
    fn new(lto: Lto, level: &'static str, units: &'static str) -> Self {
        Self { lto, level, units, more: &[] }
    }

    /// The compilation of a crate.
    fn compilation(&self, build: &Build<'_>, source: &str, emit: &str) -> Command {
        let options = ["-Cdebuginfo=2", "-Cpanic=abort", "--check-cfg=cfg(twins)", "--emit", emit];
        let mut command = build.compilation(&Path::new(FOLDER).join(source).with_extension("rs"), &options);
        command.args([format!("-Copt-level={}", self.level), format!("-Ccodegen-units={}", self.units)]);
        command.args(self.more);
        command
    }

    /// Compiles the two libraries.
    fn libraries(&self, build: &Build<'_>) {
        for (source, externs) in [("base", &[][..]), ("middle", &["--extern=base"])] {
            let mut command = self.compilation(build, source, "link,asm");
            fixture::succeeds_silently(command.arg("--crate-type=lib").args(externs));
        }
    }

    /// Compiles the last crate and links it in each way. Returns the paths of the images.
    fn link(&self, build: &Build<'_>, kind: Kind, links: &[Link]) -> Vec<PathBuf> {
        let mut command = self.compilation(build, kind.source(), "link,asm");
        command.args([&format!("--crate-name={}", kind.name()), "--extern=base", "--extern=middle"]);
        command.args(["-Cdefault-linker-libraries=yes"]).args(kind.options());
        match self.lto {
            Lto::None => {}
            Lto::Thin => drop(command.arg("-Clto=thin")),
            Lto::Fat => drop(command.arg("-Clto=fat")),
        }
        let named = |link: &Link| Link { name: format!("{}-{}", kind.name(), link.name), ..link.clone() };
        let links: Vec<_> = links.iter().map(named).collect();
        build.link(&mut command, &links);
        links.iter().map(|link| build.folder().join(&link.name)).collect()
    }

    /// The compiler's listing of the linked code.
    fn listing(&self, build: &Build<'_>, kind: Kind) -> Vec<Vec<Function>> {
        match self.lto {
            Lto::None => build.listing(&["base", "middle", kind.name()]),
            Lto::Thin | Lto::Fat => build.listing(&[kind.name()]),
        }
    }
}

/// An image with markers, read without the resolver.
struct Image {
    what: String,
    path: PathBuf,
    code: Code,
    sites: Vec<Site>,
}

impl Image {
    fn of(what: String, path: &Path) -> Self {
        Self { what, path: path.to_owned(), code: Code::of(path), sites: fixture::sites(path) }
    }

    /// The numbers of live and dead sites of a marker.
    fn count(&self, marker: &Marker) -> (usize, usize) {
        let of_it = || self.sites.iter().filter(|site| site.name == marker.name);
        (of_it().filter(|site| site.pc != 0).count(), of_it().filter(|site| site.pc == 0).count())
    }

    /// Checks that the declarations and sites match the source.
    fn check_records(&self, markers: &[(String, Marker)]) {
        let records = |(file, marker): &(String, Marker)| -> Vec<[String; 5]> {
            let Marker { name, places, format, args, .. } = marker;
            let lines = places.iter().map(|(line, _)| line.to_string());
            lines.map(|line| [name.clone(), file.clone(), line, format.clone(), args.clone()]).collect()
        };
        let mut expected: Vec<_> = markers.iter().flat_map(records).collect();
        expected.sort();
        assert_eq!(fixture::declarations(&self.path), expected, "{}", self.what);
        for site in &self.sites {
            let is_of = |(file, marker): &&(String, Marker)| {
                let said = (&site.name, &site.file, &site.format, &site.args, site.flags & 1 != 0);
                said == (&marker.name, file, &marker.format, &marker.args, marker.anchored)
                    && marker.places.contains(&(site.line, site.column))
            };
            assert!(markers.iter().any(|marker| is_of(&marker)), "{}: {site:?}", self.what);
        }
    }

    /// Checks the expected outcome of each marker.
    fn check_outcomes(&self, markers: &[(String, Marker)], configuration: &Configuration) {
        for (_, marker) in markers {
            let (live, dead) = self.count(marker);
            let outcome = marker.outcome[usize::from(configuration.level != "0")];
            let met = match outcome {
                // The listing decides how many copies there must be.
                Outcome::Live(..) => live > 0,
                // The optimiser may also remove the function itself.
                Outcome::Discarded => live == 0 && (dead > 0 || configuration.lto != Lto::None),
                Outcome::Eliminated => (live, dead) == (0, 0),
                Outcome::Absent => panic!("{} is declared", marker.name),
            };
            assert!(met, "{}: {}: {outcome:?}, but {live} live and {dead} gone", self.what, marker.name);
        }
    }

    /// Checks that each live site leads to the witness of its marker. Returns the number of sites.
    fn check_witnesses(&self, markers: &[(String, Marker)], symbol: &str) -> usize {
        let mut led = 0;
        for (_, marker) in markers.iter().filter(|(_, marker)| marker.witness.is_some()) {
            for site in self.sites.iter().filter(|site| site.name == marker.name && site.pc != 0) {
                let found = matrix::witness(&self.code, site.pc, symbol);
                assert_eq!(found, marker.witness, "{}: {} at {:#x}", self.what, site.name, site.pc);
                led += 1;
            }
        }
        led
    }

    /// Checks the three sections and the flags that keep them out of memory. They may be compressed
    /// or not.
    fn check_sections(&self) {
        let headers = fixture::section_headers(&self.path);
        let sections = headers.lines().filter_map(|line| {
            let fields: Vec<_> = line.split_once(']')?.1.split_whitespace().collect();
            let [name, kind, address, _, _, _, flags @ .., _, _, _] = fields.as_slice() else { return None };
            let ours = name.contains("simple_marker") && *kind != "RELA";
            ours.then(|| format!("{name} {kind} {address} {}", flags.concat().replace('C', "")))
        });
        let expected = [
            ".debug.simple_marker.2 PROGBITS 0000000000000000 ",
            ".debug.simple_marker.str PROGBITS 0000000000000000 MS",
            "__simple_marker.1 PROGBITS 0000000000000000 ",
        ];
        assert_eq!(sections.collect::<BTreeSet<_>>(), expected.map(str::to_owned).into(), "{}", self.what);
    }

    /// Checks that the loaded parts are the same without markers: the functions by name, and each
    /// section by size.
    fn check_without(&self, without: &PathBuf) {
        assert!(fixture::sites(without).is_empty() && fixture::declarations(without).is_empty(), "{}", self.what);
        assert_eq!(names(&self.code), names(&Code::of(without)), "{}", self.what);
        let [mut with, mut without] = [&self.path, without].map(|image| fixture::loaded_sections(image));
        // The compiler orders its units by size, and markers count. So some constants are in
        // another order, with other padding.
        let [constants, without_markers] = [&mut with, &mut without].map(|sections| sections.remove(".rodata"));
        let apart = constants.unwrap_or_default().abs_diff(without_markers.unwrap_or_default());
        assert!(apart < 64, "{}: {apart} bytes of .rodata", self.what);
        assert_eq!(with, without, "{}", self.what);
    }
}

/// How many functions have each name.
fn names(code: &Code) -> BTreeMap<&str, usize> {
    let mut names = BTreeMap::new();
    for function in code.functions() {
        // The hash after this covers the whole unit, including its markers.
        let name = function.name.split(".llvm.").next().unwrap_or_default();
        *names.entry(name).or_default() += 1;
    }
    names
}

/// Runs one kind of link-time optimisation with these levels and numbers of units. A slice has one
/// of them, and one kind of image.
fn prove(lto: Lto, configurations: &[(&'static str, &'static str)], picked: usize) {
    let configurations = tools::slice(&format!("matrix {lto:?}"), configurations, &[picked]);
    let kinds = tools::slice(&format!("images {lto:?}"), &Kind::ALL, &[picked]);
    let (mut images, mut sites, mut led) = (0, 0, 0);
    for (level, units) in &configurations {
        let configuration = Configuration::new(lto, level, units);
        let builds = [Markers::OnWithoutAlloc, Markers::Off].map(|markers| TOOLCHAIN.build(markers));
        for build in &builds {
            configuration.libraries(build);
        }
        for kind in kinds.iter().copied() {
            let [with, without] = builds.each_ref().map(|build| configuration.link(build, kind, &LINKERS));
            let markers = kind.markers();
            let listing = configuration.listing(&builds[0], kind);
            for (path, without) in with.iter().zip(&without) {
                let what = format!("{lto:?}, opt-level {level}, {units} units, {}", path.display());
                let image = Image::of(what, path);
                image.check_records(&markers);
                image.check_outcomes(&markers, &configuration);
                image.check_sections();
                sites += matrix::check_addresses(&image.what, &listing, &image.code, &image.sites);
                led += image.check_witnesses(&markers, "4base7witness");
                image.check_without(without);
                for image in [path, without] {
                    assert_eq!(kind.run(image), PRINTED[usize::from(kind == Kind::Cdylib)], "{}", image.display());
                }
                images += 1;
            }
        }
    }
    note!("{lto:?}: {images} images, {sites} live sites, {led} of them with their witness");
    assert_eq!(images, configurations.len() * kinds.len() * LINKERS.len());
    assert_eq!(led, sites, "every marker has a witness");
}

#[test]
fn without_link_time_optimisation() {
    prove(Lto::None, &[("0", "1"), ("0", "16"), ("2", "1"), ("2", "16"), ("3", "1"), ("3", "16")], 0);
}

#[test]
fn thin_link_time_optimisation() {
    prove(Lto::Thin, &[("0", "16"), ("2", "1"), ("3", "16")], 2);
}

#[test]
fn fat_link_time_optimisation() {
    prove(Lto::Fat, &[("0", "1"), ("2", "16"), ("3", "1")], 1);
}

/// The program, linked with more options by all linkers or by the named ones.
fn linked_with(build: &Build<'_>, configuration: &Configuration, linkers: &[&str], options: &[&str]) -> Vec<Image> {
    let suffix: String = options.concat().chars().filter(char::is_ascii_alphanumeric).collect();
    let chosen = LINKERS.iter().filter(|link| linkers.is_empty() || linkers.contains(&link.name.as_str()));
    let links: Vec<_> = chosen.map(|link| link.with(&suffix, options)).collect();
    let paths = configuration.link(build, Kind::Pie, &links);
    paths.iter().map(|path| Image::of(path.display().to_string(), path)).collect()
}

/// The plain program, with its listing and markers. Images are compared with it.
struct Plain<'a> {
    build: Build<'a>,
    configuration: Configuration,
    listing: Vec<Vec<Function>>,
    markers: Vec<(String, Marker)>,
    images: Vec<Image>,
}

/// The sites of the plain program, and the live ones among them.
const PLAIN_SITES: usize = 33;
const PLAIN_LIVE: usize = 21;

impl Plain<'_> {
    fn new(more: &'static [&'static str]) -> Self {
        let build = TOOLCHAIN.build(Markers::OnWithoutAlloc);
        let configuration = Configuration { more, ..Configuration::new(Lto::None, "2", "1") };
        configuration.libraries(&build);
        let images = linked_with(&build, &configuration, &[], &[]);
        let listing = configuration.listing(&build, Kind::Pie);
        let plain = Self { build, configuration, listing, markers: Kind::Pie.markers(), images };
        for image in &plain.images {
            plain.check(image, PLAIN_LIVE);
        }
        plain
    }

    fn link(&self, linkers: &[&str], options: &[&str]) -> Vec<Image> {
        linked_with(&self.build, &self.configuration, linkers, options)
    }

    /// Checks that the records match the source, the live sites match the listing, and `live` sites
    /// are live.
    fn check(&self, image: &Image, live: usize) {
        image.check_records(&self.markers);
        image.check_sections();
        let found = matrix::check_addresses(&image.what, &self.listing, &image.code, &image.sites);
        assert_eq!((found, image.sites.len()), (live, PLAIN_SITES), "{}", image.what);
        assert_eq!(image.check_witnesses(&self.markers, "4base7witness"), live, "{}", image.what);
    }
}

/// Compressed sections, relocations and dead functions that are kept, and stripped debug
/// information.
#[test]
fn linkers_write_the_records_as_they_are_told() {
    let plain = Plain::new(&[]);
    let compressed =
        |image: &Image| fixture::section_headers(&image.path).lines().filter(|line| is_compressed(line)).count();
    // lld 14 does not support zstd.
    for (format, linkers) in [("zlib", &["bfd", "lld", "mold", "rust-lld"][..]), ("zstd", &["bfd", "mold", "rust-lld"])]
    {
        for image in plain.link(linkers, &[&format!("-Wl,--compress-debug-sections={format}")]) {
            plain.check(&image, PLAIN_LIVE);
            // The sites and their strings. GNU ld and lld leave sections not named `.debug_*`
            // alone.
            let expected = if image.what.contains("-mold") { 2 } else { 0 };
            assert_eq!(compressed(&image), expected, "{}", image.what);
        }
    }
    for image in plain.link(&[], &["-Wl,--emit-relocs"]) {
        plain.check(&image, PLAIN_LIVE);
        let headers = fixture::section_headers(&image.path);
        assert!(headers.contains(" .rela.debug.simple_marker.2 "), "{}", image.what);
    }
    for image in plain.link(&[], &["-Wl,--no-gc-sections"]) {
        plain.check(&image, PLAIN_SITES);
    }
    for option in ["-Wl,--strip-debug", "-Wl,--strip-all"] {
        for (image, plain) in plain.link(&[], &[option]).iter().zip(&plain.images) {
            assert_eq!(image.sites, [], "{}", image.what);
            assert_eq!(fixture::declarations(&image.path), fixture::declarations(&plain.path), "{}", image.what);
        }
    }
}

/// Whether the header belongs to one of our sections and has the flag `C`.
fn is_compressed(header: &str) -> bool {
    let fields: Vec<_> = header.split_whitespace().collect();
    header.contains(" .debug.simple_marker.") && fields.iter().rev().nth(3).is_some_and(|flags| flags.contains('C'))
}

/// Two functions with the same code, apart from their markers, are merged. All three linkers that
/// fold functions treat the folded function's marker as removed, although its code runs.
#[test]
fn of_identical_functions_one_keeps_its_markers() {
    let plain = Plain::new(&["--cfg=twins"]);
    for image in plain.link(&["lld", "mold", "rust-lld"], &["-Wl,--icf=all"]) {
        image.check_records(&plain.markers);
        image.check_sections();
        assert_eq!(image.check_witnesses(&plain.markers, "4base7witness"), PLAIN_LIVE - 1, "{}", image.what);
        let [one, other] = ["base:twin", "base:other_twin"].map(|name| {
            let [site] = image.sites.iter().filter(|site| site.name == name).collect::<Vec<_>>()[..] else {
                panic!("{}: one site of {name}", image.what);
            };
            site.pc
        });
        let in_function = image.code.functions_at(other).any(|function| function.name.contains("10other_twin"));
        assert!(one == 0 && in_function, "{}: {one:#x} {other:#x}", image.what);
        assert_eq!(tools::run(&mut Command::new(&image.path)), tools::run(&mut Command::new(&plain.images[0].path)));
    }
    // Without markers, the compiler merges the two. A marker distinguishes them.
    let functions = [Markers::OnWithoutAlloc, Markers::Off].map(|markers| {
        let build = TOOLCHAIN.build(markers);
        let fat = Configuration { lto: Lto::Fat, ..plain.configuration.clone() };
        fat.libraries(&build);
        let images = linked_with(&build, &fat, &[], &[]);
        images
            .iter()
            .map(|image| names(&image.code).keys().filter(|name| name.contains("twin")).count())
            .collect::<Vec<_>>()
    });
    assert_eq!(functions, [vec![2; LINKERS.len()], vec![1; LINKERS.len()]]);
}

/// The output of `ld -r`, and the image linked from it.
#[test]
fn relocatable_objects_are_linked_again() {
    let plain = Plain::new(&[]);
    let sysroot = tools::run(matrix::rustc().args(["--print", "sysroot"]));
    let libraries = Path::new(sysroot.trim_end()).join("lib/rustlib/x86_64-unknown-linux-gnu/lib");
    let mut libraries =
        fs::read_dir(libraries).expect("the folder of core").map(|entry| entry.expect("an entry").path());
    let core = libraries.find(|path| path.to_string_lossy().contains("/libcore-")).expect("core");
    let objects = [("base", "lib"), ("middle", "lib"), ("program", "bin")].map(|(source, kind)| {
        let object = plain.build.folder().join(source).with_extension("o");
        let emit = format!("obj={}", object.display());
        let mut command = plain.configuration.compilation(&plain.build, source, &emit);
        command.args(["--extern=base", "--extern=middle", &format!("--crate-type={kind}"), "--crate-name"]);
        command.arg(if kind == "bin" { Kind::Pie.name() } else { source });
        fixture::succeeds_silently(&mut command);
        object
    });
    let mut all: Vec<_> = objects.iter().flat_map(|object| fixture::sites(object)).collect();
    all.sort();
    let mut declared: Vec<_> = objects.iter().flat_map(|object| fixture::declarations(object)).collect();
    declared.sort();
    for link in &*LINKERS {
        let [combined, image] =
            ["combined", "again"].map(|name| plain.build.folder().join(format!("{name}-{}", link.name)));
        let mut command = Command::new("cc");
        command.args(&link.options).args(["-nostdlib", "-r", "-o"]).arg(&combined).args(&objects);
        fixture::succeeds_silently(&mut command);
        assert_eq!(fixture::declarations(&combined), declared, "{}", link.name);
        // mold 1.10 merges strings with -r and does not correct references to them, neither here
        // nor in .debug_str.
        if link.name == "mold" {
            continue;
        }
        assert_eq!(fixture::sites(&combined), all, "{}", link.name);
        let mut command = Command::new("cc");
        command.args(&link.options).args(["-Wl,--gc-sections", "-o"]).arg(&image).args([&combined, &core]);
        fixture::succeeds_silently(&mut command);
        plain.check(&Image::of(format!("{} after -r", link.name), &image), PLAIN_LIVE);
    }
}

/// Sections that are not only for debuggers stay in the image.
#[test]
fn split_debug_information_leaves_the_records_in_the_image() {
    for (more, extension, files) in
        [(&["-Csplit-debuginfo=packed"][..], "dwp", 1), (&["-Csplit-debuginfo=unpacked"], "dwo", 3)]
    {
        let plain = Plain::new(more);
        let entries = fs::read_dir(plain.build.folder()).expect("the folder is there");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let split: Vec<_> = paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
        assert_eq!(split.len(), files, "{split:?}");
        for path in split {
            let headers = fixture::section_headers(&path);
            assert!(headers.contains(".debug_info.dwo") && !headers.contains("simple_marker"), "{headers}");
        }
    }
}

/// A tool that makes a changed copy of an image.
struct Transformation {
    tool: &'static str,
    /// `IN` and `OUT` are replaced by files.
    arguments: &'static [&'static str],
    keeps_sites: bool,
}

const TRANSFORMATIONS: [Transformation; 13] = {
    const fn transformation(
        tool: &'static str,
        arguments: &'static [&'static str],
        keeps_sites: bool,
    ) -> Transformation {
        Transformation { tool, arguments, keeps_sites }
    }
    [
        transformation("strip", &["-g", "-o", "OUT", "IN"], false),
        transformation("strip", &["-s", "-o", "OUT", "IN"], false),
        transformation("llvm-strip", &["-g", "-o", "OUT", "IN"], false),
        transformation("eu-strip", &["-g", "-o", "OUT", "IN"], true),
        transformation("objcopy", &["--strip-unneeded", "IN", "OUT"], false),
        transformation("objcopy", &["--only-keep-debug", "IN", "OUT"], true),
        transformation("llvm-objcopy", &["--only-keep-debug", "IN", "OUT"], true),
        transformation("objcopy", &["--compress-debug-sections=zlib", "IN", "OUT"], true),
        transformation("objcopy", &["--compress-debug-sections=zlib-gnu", "IN", "OUT"], true),
        transformation("objcopy", &["--compress-debug-sections=zstd", "IN", "OUT"], true),
        transformation("llvm-objcopy", &["--compress-debug-sections=zlib", "IN", "OUT"], true),
        transformation("eu-elfcompress", &["-t", "zlib", "-o", "OUT", "IN"], true),
        transformation("dwz", &["-o", "OUT", "IN"], true),
    ]
};

/// A transformation must keep the records, or remove the sites together with the debug information.
#[test]
fn tools_keep_the_records() {
    let plain = Plain::new(&[]);
    let output = plain.build.folder().join("output");
    let mut kept = 0;
    for Transformation { tool, arguments, keeps_sites } in TRANSFORMATIONS {
        if tools::find(tool).is_none() {
            continue;
        }
        for image in &plain.images {
            let arguments = arguments.iter().map(|argument| match *argument {
                "IN" => image.path.as_os_str(),
                "OUT" => output.as_os_str(),
                other => other.as_ref(),
            });
            fixture::succeeds_silently(Command::new(tool).args(arguments));
            let what = format!("{tool} of {}", image.what);
            assert_eq!(fixture::declarations(&output), fixture::declarations(&image.path), "{what}");
            assert_eq!(fixture::sites(&output), if keeps_sites { &image.sites[..] } else { &[] }, "{what}");
            fs::remove_file(&output).expect("the tool wrote a file");
            kept += 1;
        }
    }
    assert!(kept > 0);
}

/// The linker optimises the compiler's intermediate code. Only the linker that comes with rustc
/// reads this version of it.
#[test]
fn the_linker_optimises_across_crates() {
    if !LINKERS.iter().any(|link| link.name == "rust-lld") {
        return;
    }
    let configuration = Configuration { lto: Lto::Fat, level: "2", units: "16", more: &["-Clinker-plugin-lto"] };
    let images = [Markers::OnWithoutAlloc, Markers::Off].map(|markers| {
        let build = TOOLCHAIN.build(markers);
        // `-C lto` is then left to the linker.
        let configuration = Configuration { lto: Lto::None, ..configuration.clone() };
        configuration.libraries(&build);
        let image = linked_with(&build, &configuration, &["rust-lld"], &[]).remove(0);
        (build, image)
    });
    let [(_, image), (_, without)] = &images;
    let markers = Kind::Pie.markers();
    image.check_records(&markers);
    image.check_outcomes(&markers, &configuration);
    image.check_sections();
    image.check_without(&without.path);
    let live = image.sites.iter().filter(|site| site.pc != 0).count();
    assert_eq!((live, image.check_witnesses(&markers, "4base7witness")), (PLAIN_LIVE, PLAIN_LIVE));
}

/// Every construct of `examples/constructs`, with the standard library, at opt-level 3.
fn prove_constructs(lto: Lto) {
    let folder = "examples/constructs/src";
    let names = fs::read_dir(fixture::workspace().join(folder)).expect("the example");
    let names = names.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name in UTF-8"));
    let markers = markers(&names.map(|name| format!("{folder}/{name}")).collect::<Vec<_>>());
    let configuration = Configuration::new(lto, "3", "1");
    let build = TOOLCHAIN.build(Markers::On);
    let options = ["-Copt-level=3", "-Ccodegen-units=1", "-Cdebuginfo=1", "--cap-lints=allow", "--emit=link,asm"];
    let source = |file: &str| Path::new(folder).join(file);
    let mut library = build.compilation(&source("library.rs"), &options);
    fixture::succeeds_silently(library.args(["--crate-name=constructs_library", "--crate-type=lib"]));
    let mut main = build.compilation(&source("main.rs"), &options);
    main.args(["--crate-name=constructs", "--extern=constructs_library"]);
    if lto == Lto::Fat {
        main.arg("-Clto=fat");
    }
    build.link(&mut main, &LINKERS);
    let listing = build.listing(if lto == Lto::Fat { &["constructs"] } else { &["constructs", "constructs_library"] });
    for link in &*LINKERS {
        let image = Image::of(format!("constructs, {lto:?}, {}", link.name), &build.folder().join(&link.name));
        assert_eq!(tools::run(&mut Command::new(&image.path)), "224 witnesses, sum 1722220\n", "{}", image.what);
        image.check_records(&markers);
        image.check_outcomes(&markers, &configuration);
        image.check_sections();
        let live = matrix::check_addresses(&image.what, &listing, &image.code, &image.sites);
        let led = image.check_witnesses(&markers, "18constructs_library7witness");
        note!("{}: {live} live sites, {led} of them with their witness", image.what);
        assert!(led >= 210, "{}: {led}", image.what);
    }
}

#[test]
fn constructs_with_the_standard_library() {
    for lto in tools::slice("constructs with the standard library", &[Lto::None, Lto::Fat], &[0]) {
        prove_constructs(lto);
    }
}
