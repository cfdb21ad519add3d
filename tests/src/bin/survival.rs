//! Prints `docs/measured/survival.md`, which says how many markers survive: `survival [FOLDER]`.
//! FOLDER keeps the programs that were built.
//!
//! It compiles the generated programs (`generator`) and the examples with every compiler at several
//! levels, and counts the resolver's verdicts on markers, sites and arguments. The numbers apply to
//! these compilers and programs, and are the same in each run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use simple_markers_resolver::resolve::{Exactness, Survival, Verdict, resolve};
use simple_markers_tests::fixture;
use simple_markers_tests::generator::{Form, Program, Variant};
use simple_markers_tests::header::{Compiler, Language};
use simple_markers_tests::matrix::{Markers, Toolchain};
use simple_markers_tests::tools::run;

/// The number of generated programs. Their seeds are 1, 2, ...
const PROGRAMS: u64 = 2;
const FUNCTIONS: usize = 64;

const VARIANTS: [(Variant, &str); 3] = [
    (Variant::Place, "Places, without anything that holds them"),
    (Variant::Keep, "Kept arguments (`keep`, `simple_mark_keep`)"),
    (Variant::Anchor, "Places at an anchor (`options(anchor)`, `simple_mark_anchor`)"),
];

/// A C compiler, its name in the tables, and its options for link-time optimisation.
struct Cc {
    name: &'static str,
    command: fn() -> Command,
    link_time: &'static [&'static [&'static str]],
}

const CCS: [Cc; 3] = [
    Cc { name: "gcc", command: || Compiler::Gcc.command(Language::C), link_time: &[&["-flto"]] },
    Cc {
        name: "clang",
        command: || Compiler::Clang.command(Language::C),
        link_time: &[&["-flto=thin", "-fuse-ld=lld"], &["-flto=full", "-fuse-ld=lld"]],
    },
    Cc {
        name: "gcc, AArch64",
        command: || {
            let mut command = Command::new("aarch64-linux-gnu-gcc");
            command.current_dir(fixture::workspace()).args(["-I", "markers/include"]);
            command
        },
        link_time: &[&["-flto"]],
    },
];

/// Optimisation levels, as in `-O` and `-Copt-level`.
const LEVELS: [&str; 4] = ["0", "2", "3", "s"];

/// The levels at which kept arguments, anchors and the examples are counted.
const FEW_LEVELS: [&str; 2] = ["2", "3"];

/// The levels for a variant.
fn levels(variant: Variant) -> &'static [&'static str] {
    if variant == Variant::Place { &LEVELS } else { &FEW_LEVELS }
}

/// Kinds of link-time optimisation, as rustc and Cargo profiles name them.
const LINK_TIME: [&str; 2] = ["thin", "fat"];

/// The totals of one row.
#[derive(Default)]
struct Counts {
    /// Markers in the source. The declaration of a marker that a C compiler removes is gone too.
    markers: usize,
    live: usize,
    sites: usize,
    exactness: [usize; EXACTNESS.len() + 1],
    arguments: usize,
    verdicts: [usize; VERDICTS.len() + 1],
}

/// The verdicts with a column of their own. The others are counted together.
const EXACTNESS: [Exactness; 3] = [Exactness::Exact, Exactness::Shared, Exactness::Unproven];
const VERDICTS: [Verdict; 5] = [Verdict::Live, Verdict::Constant, Verdict::Doubtful, Verdict::Entry, Verdict::Lost];

impl Counts {
    /// Adds the results for an image of a program with this number of markers.
    fn add(&mut self, image: &Path, markers: usize) {
        self.markers += markers;
        let data = fs::read(image).expect("the image");
        let resolution = resolve(&image.to_string_lossy(), &data);
        assert!(resolution.failures.is_empty(), "{:?}", resolution.failures);
        for marker in resolution.images.iter().flat_map(|image| &image.markers) {
            self.live += usize::from(marker.survival == Some(Survival::Live));
            for site in marker.sites.iter().filter(|site| site.place.is_some()) {
                self.sites += 1;
                let exactness = site.exactness.expect("every live site is judged");
                self.exactness[column(&EXACTNESS, &exactness)] += 1;
                for argument in &site.args {
                    self.arguments += 1;
                    let verdict = argument.verdict.expect("every argument is judged");
                    self.verdicts[column(&VERDICTS, &verdict)] += 1;
                }
            }
        }
    }

    /// Prints a row of a table.
    fn print(&self, name: &str) {
        let share = |count: usize, whole: usize| match (count, whole) {
            (0, _) => String::new(),
            _ => format!("{:.1}", 100.0 * count as f64 / whole as f64),
        };
        let sites = self.exactness.map(|count| share(count, self.sites));
        let arguments = self.verdicts.map(|count| share(count, self.arguments));
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} |",
            self.markers,
            share(self.live, self.markers),
            self.sites,
            sites.join(" | "),
            self.arguments,
            arguments.join(" | ")
        );
    }
}

/// The column of a verdict: that of the others is behind those with a name.
fn column<V: PartialEq>(named: &[V], verdict: &V) -> usize {
    named.iter().position(|other| other == verdict).unwrap_or(named.len())
}

fn head(first: &str) {
    let verdicts = VERDICTS.map(Verdict::as_str).join(" | ");
    let exactness = EXACTNESS.map(Exactness::as_str).join(" | ");
    println!("| {first} | markers | live | sites | {exactness} | other | arguments | {verdicts} | other |");
    println!("| --- {}|", "| ---: ".repeat(6 + EXACTNESS.len() + VERDICTS.len()));
}

/// The generated programs, compiled by `cc` at each level.
fn generated_in_c(cc: &Cc, variant: Variant, programs: &[Program], folder: &Path) {
    let levels = levels(variant).iter().map(|level| (format!("-O{level}"), Vec::new()));
    let link_time = cc.link_time.iter().filter(|_| variant == Variant::Place).map(|options| {
        let words = options.iter().filter(|option| option.starts_with("-flto")).copied().collect::<Vec<_>>();
        (format!("-O2 {}", words.join(" ")), options.to_vec())
    });
    for (name, options) in levels.chain(link_time) {
        let mut counts = Counts::default();
        for (index, program) in programs.iter().enumerate() {
            let source = folder.join(format!("{index}.c"));
            let image = folder.join(format!("{}-{index}-{variant:?}{}", cc.name, name).replace([' ', ','], ""));
            fs::write(&source, program.c(Form::Marked(variant)).text).expect("the source");
            let mut command = (cc.command)();
            command.args(["-w", "-g"]).args(name.split(' ').take(1)).args(&options).arg(&source).arg("-o").arg(&image);
            run(&mut command);
            counts.add(&image, program.markers.len());
        }
        counts.print(&format!("{} `{name}`", cc.name));
    }
}

/// The generated programs, compiled by rustc at each level.
fn generated_in_rust(toolchain: &Toolchain, variant: Variant, programs: &[Program], folder: &Path) {
    let levels = levels(variant).iter().map(|level| (format!("-Copt-level={level}"), None));
    let link_time = LINK_TIME.iter().filter(|_| variant == Variant::Place);
    let link_time = link_time.map(|kind| (format!("-Copt-level=3 -Clto={kind}"), Some(kind)));
    for (name, link_time) in levels.chain(link_time) {
        let mut counts = Counts::default();
        for (index, program) in programs.iter().enumerate() {
            let build = toolchain.build(Markers::On);
            let source = folder.join(format!("program{index}.rs"));
            fs::write(&source, program.rust(Form::Marked(variant)).text).expect("the source");
            let mut options = vec!["--crate-type=bin", "-Cdebuginfo=2"];
            options.extend(name.split(' '));
            if link_time.is_none() {
                options.push("-Ccodegen-units=16");
            }
            fixture::succeeds_silently(&mut build.compilation(&source, &options));
            counts.add(&build.folder().join(format!("program{index}")), program.markers.len());
        }
        counts.print(&format!("rustc `{name}`"));
    }
}

/// The number of markers in a C source.
fn markers_in_c(source: &Path) -> usize {
    let text = fs::read_to_string(source).expect("the source");
    text.lines().filter(|line| line.trim_start().starts_with("simple_mark")).count()
}

/// The examples, unchanged: with places, kept arguments, and some anchors.
fn examples(folder: &Path) {
    let sources = ["main.c", "queue.c", "device.c"].map(|file| format!("examples/c-queue/{file}"));
    let written = sources.iter().map(|file| markers_in_c(&fixture::workspace().join(file))).sum();
    for cc in &CCS {
        for level in FEW_LEVELS {
            let image = folder.join(format!("c-queue{level}"));
            let mut command = (cc.command)();
            run(command.args(["-g", &format!("-O{level}")]).args(&sources).arg("-o").arg(&image));
            let mut counts = Counts::default();
            counts.add(&image, written);
            counts.print(&format!("c-queue, {} `-O{level}`", cc.name));
        }
    }
    for level in FEW_LEVELS {
        let mut build = fixture::cargo();
        build.args(["build", "--quiet", "--release", "--package", "io-queue", "--package", "constructs"]);
        build.current_dir(fixture::workspace()).env("CARGO_TARGET_DIR", folder.join("cargo"));
        build.env("CARGO_PROFILE_RELEASE_DEBUG", "full").env("CARGO_PROFILE_RELEASE_OPT_LEVEL", level);
        run(&mut build);
        for program in ["io-queue", "constructs"] {
            let mut counts = Counts::default();
            let image = folder.join("cargo/release").join(program);
            let declared: BTreeSet<_> = fixture::declarations(&image).into_iter().collect();
            counts.add(&image, declared.len());
            counts.print(&format!("{program}, rustc `opt-level = {level}`"));
        }
    }
}

fn main() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = std::env::args_os().nth(1).map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    fs::create_dir_all(&folder).expect("the folder");
    let programs: Vec<Program> = (1..=PROGRAMS).map(|seed| Program::generate(seed, FUNCTIONS)).collect();
    let toolchain = Toolchain::new();
    for (variant, title) in VARIANTS {
        println!("### {title}\n");
        head("compiler");
        for cc in &CCS {
            generated_in_c(cc, variant, &programs, &folder);
        }
        generated_in_rust(&toolchain, variant, &programs, &folder);
        println!();
    }
    println!("### The examples\n");
    head("program and compiler");
    examples(&folder);
}
