//! A marker costs no instruction. Builds the examples with markers and without
//! (`simple_marker_off`) at every opt-level, and compares them function by function.
//!
//! A build without markers does not evaluate `keep` expressions, and has no anchors. Functions with
//! either are listed as different for that reason. Every other difference must have a reason in
//! [`Reason`].
//!
//! Each crate is one codegen unit, because markers would otherwise affect the assignment of
//! functions to units.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use simple_markers_tests::image::{Code, Instruction};
use simple_markers_tests::{fixture, tools};

const OPT_LEVELS: [&str; 6] = ["0", "1", "2", "3", "\"s\"", "\"z\""];

/// A program to compare.
struct Program {
    package: &'static str,
    target: &'static [&'static str],
    file: &'static str,
    /// The lowest number of functions with plain markers and no branches.
    straight: usize,
    /// The level in a slice.
    slice: usize,
    /// The largest difference in loaded size, in thousandths. `constructs` consists mostly of
    /// markers, and keeps dozens of values.
    apart: u64,
}

const PROGRAMS: [Program; 3] = [
    Program { package: "io-queue", target: &["--bin", "io-queue"], file: "io-queue", straight: 0, slice: 0, apart: 1 },
    Program { package: "ringlog", target: &["--lib"], file: "libringlog.so", straight: 0, slice: 4, apart: 1 },
    Program {
        package: "constructs",
        target: &["--bin", "constructs"],
        file: "constructs",
        straight: 10,
        slice: 2,
        apart: 8,
    },
];

/// Why the code of a function differs between the builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    /// It keeps a value, which the build without markers does not evaluate.
    Keeps,
    /// It has an anchor, which is an instruction.
    Anchored,
    /// It has branches. A block with a marker is not merged with another block, and its layout may
    /// differ.
    Branches,
    /// The same instructions in another order.
    Scheduled,
    /// Out of line in one build only: a callee of a kept value, or a function with markers that the
    /// other build inlines.
    OneBuildOnly,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keeps => "keeps a value",
            Self::Anchored => "has an anchor",
            Self::Branches => "has branches around a marker",
            Self::Scheduled => "has the same instructions in another order",
            Self::OneBuildOnly => "is out of line in one build only",
        })
    }
}

#[test]
fn io_queue_is_the_same_program_without_markers() {
    compare(&PROGRAMS[0]);
}

#[test]
fn ringlog_is_the_same_library_without_markers() {
    compare(&PROGRAMS[1]);
}

#[test(desk = false)]
fn constructs_is_the_same_program_without_markers() {
    compare(&PROGRAMS[2]);
}

/// Compares a program at every opt-level, or at those of a slice.
fn compare(program: &Program) {
    if tools::find("objdump").is_none() || tools::find("readelf").is_none() {
        return;
    }
    for opt_level in tools::slice(program.package, &OPT_LEVELS, &[program.slice]) {
        let with = build(program, opt_level, true);
        let without = build(program, opt_level, false);
        assert!(fixture::sites(&without).is_empty() && fixture::declarations(&without).is_empty());
        let anchors = fixture::sites(&with).iter().filter(|site| site.flags & 1 != 0).count();
        let listing = built(program, opt_level, true, "s");
        let listing =
            std::fs::read_to_string(&listing).unwrap_or_else(|error| panic!("{}: {error}", listing.display()));
        let written = instructions_of_markers(&listing);
        assert!(written >= anchors, "{} at {opt_level}: {written} nops for {anchors} anchors", program.package);
        let compared = Comparison::new(&with, &without);
        note!("{} at opt-level {opt_level}: {compared}", program.package);
        assert_eq!(compared.unexplained, Vec::<String>::new(), "{} at opt-level {opt_level}", program.package);
        assert!(
            compared.straight >= program.straight,
            "{} at {opt_level}: {} straight lines",
            program.package,
            compared.straight
        );
        check_loaded_size(&with, &without, program, opt_level);
    }
}

/// The target folder of all programs, which share what they depend on.
fn target() -> PathBuf {
    fixture::target().join("zero")
}

/// A file of one build.
fn built(program: &Program, opt_level: &str, markers: bool, extension: &str) -> PathBuf {
    let markers = if markers { "with" } else { "without" };
    let level = opt_level.trim_matches('"');
    target().join(format!("{}-opt-level-{level}-{markers}.{extension}", program.package))
}

fn build(program: &Program, opt_level: &str, markers: bool) -> PathBuf {
    let listing = built(program, opt_level, markers, "s");
    let mut command = fixture::cargo();
    command.current_dir(fixture::workspace()).args(["rustc", "--offline", "--quiet", "--profile", "demo"]);
    command.args(["--package", program.package]).args(program.target);
    // With a named target, the flags do not apply to procedural macros, so both builds share those.
    // A flag replaces the feature `off` here, because the feature would change the identity of the
    // crates, and with it the compiler's order of stack slots.
    let host = tools::host();
    command.args(["--target", &host]);
    command.arg("--config").arg(format!("profile.demo.opt-level={opt_level}"));
    command.args(["--config", "profile.demo.codegen-units=1"]);
    command.arg("--").arg(format!("--emit=link,asm={}", listing.display()));
    command.env("CARGO_TARGET_DIR", target()).env("CARGO_INCREMENTAL", "0");
    command.env("RUSTFLAGS", if markers { "" } else { "--cfg simple_marker_off" });
    tools::run(&mut command);
    // The next build writes the same path.
    let image = built(program, opt_level, markers, "elf");
    let copy = std::fs::copy(target().join(host).join("demo").join(program.file), &image);
    copy.unwrap_or_else(|error| panic!("{}: {error}", image.display()));
    image
}

/// Checks the text of all markers, between `#APP` and `#NO_APP`: directives, labels, and a `nop`
/// for each anchor. Returns the number of the latter.
fn instructions_of_markers(listing: &str) -> usize {
    let (mut blocks, mut nops) = (0, 0);
    let mut lines = listing.lines().map(str::trim);
    while lines.by_ref().any(|line| line == "#APP") {
        let block: Vec<_> = lines.by_ref().take_while(|line| *line != "#NO_APP").collect();
        if !block.iter().any(|line| line.contains(".debug.simple_marker.2")) {
            continue;
        }
        blocks += 1;
        for line in block {
            let is_text = line.is_empty() || line.starts_with('.') || line.ends_with(':') || line.starts_with('#');
            assert!(is_text || line == "nop", "a marker has the instruction `{line}`");
            nops += usize::from(line == "nop");
        }
    }
    assert!(blocks > 0, "the listing has markers");
    nops
}

/// A function's instructions, without parts that depend on the layout.
type Body = Vec<String>;

/// How two builds of a program differ.
struct Comparison {
    /// The number of functions that are the same in both builds, and of those with markers.
    same: usize,
    same_marked: usize,
    /// Functions with plain markers and no branches: identical, or with another instruction order.
    straight: usize,
    different: BTreeMap<Reason, BTreeSet<String>>,
    unexplained: Vec<String>,
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} functions are the same, of them {} with markers; {} straight lines with markers",
            self.same, self.same_marked, self.straight
        )?;
        for (reason, functions) in &self.different {
            for function in functions {
                write!(f, "\n  {function} {reason}")?;
            }
        }
        Ok(())
    }
}

impl Comparison {
    fn new(with: &Path, without: &Path) -> Self {
        let sites = fixture::sites(with);
        let (code, bodies) = bodies(with);
        let (_, plain) = self::bodies(without);
        let mut comparison =
            Self { same: 0, same_marked: 0, straight: 0, different: BTreeMap::new(), unexplained: Vec::new() };
        for (name, group) in &bodies {
            let functions = code.functions().iter().filter(|function| without_hash(&function.name) == *name);
            let ranges: Vec<_> = functions.map(|function| function.start..=function.end).collect();
            let flags: Vec<u8> = sites
                .iter()
                .filter(|site| site.pc != 0 && ranges.iter().any(|range| range.contains(&site.pc)))
                .map(|site| site.flags)
                .collect();
            comparison.add(name, &flags, group, plain.get(name));
        }
        for name in plain.keys().filter(|name| !bodies.contains_key(*name)) {
            comparison.differ(Reason::OneBuildOnly, name);
        }
        comparison
    }

    fn differ(&mut self, reason: Reason, name: &str) {
        self.different.entry(reason).or_default().insert(name.to_owned());
    }

    /// Adds a function. `flags` are those of each site in the functions of that name.
    fn add(&mut self, name: &str, flags: &[u8], with: &[Body], without: Option<&Vec<Body>>) {
        let is_plain = !flags.is_empty() && flags.iter().all(|flags| *flags == 0);
        let branches = |group: &[Body]| group.iter().flatten().any(|line| line.starts_with('j'));
        let Some(without) = without else { return self.differ(Reason::OneBuildOnly, name) };
        let is_straight = is_plain && !branches(with) && !branches(without);
        self.straight += usize::from(is_straight);
        if with == without.as_slice() {
            self.same += with.len();
            self.same_marked += usize::from(!flags.is_empty());
            return;
        }
        let reason = match () {
            () if with.len() != without.len() => Reason::OneBuildOnly,
            () if flags.iter().any(|flags| flags & 2 != 0) => Reason::Keeps,
            () if flags.iter().any(|flags| flags & 1 != 0) => Reason::Anchored,
            () if is_straight && sorted(with) == sorted(without) => Reason::Scheduled,
            () if is_plain && !is_straight => Reason::Branches,
            () => {
                let different = with.iter().flatten().zip(without.iter().flatten()).find(|(one, other)| one != other);
                self.unexplained.push(format!("{name}: {different:?}"));
                return;
            }
        };
        self.differ(reason, name);
    }
}

fn sorted(group: &[Body]) -> Vec<Body> {
    let sort = |body: &Body| {
        let mut body = body.clone();
        body.sort();
        body
    };
    group.iter().map(sort).collect()
}

/// The code of an image, and the bodies of its functions by name. Monomorphic copies may share a
/// name.
fn bodies(image: &Path) -> (Code, BTreeMap<String, Vec<Body>>) {
    let code = Code::of(image);
    let mut bodies: BTreeMap<String, Vec<Body>> = BTreeMap::new();
    for function in code.functions() {
        let body = code.instructions(function).into_iter().map(normalised).collect();
        bodies.entry(without_hash(&function.name)).or_default().push(body);
    }
    for group in bodies.values_mut() {
        group.sort();
    }
    (code, bodies)
}

/// An instruction without addresses, which depend on the code before it.
fn normalised(instruction: &Instruction) -> String {
    static RELATIVE: LazyLock<Regex> = LazyLock::new(|| regex(r"-?0x[0-9a-f]+\(%rip\)"));
    static BRANCH: LazyLock<Regex> = LazyLock::new(|| regex(r"(?-u:\b)[0-9a-f]+ <([^>+]*)(\+0x[0-9a-f]+)?>"));
    let text = format!("{} {}", instruction.mnemonic, without_hash(&instruction.operands));
    BRANCH.replace_all(&RELATIVE.replace_all(&text, "ADDRESS(%rip)"), "<$1>").into_owned()
}

/// The text without the hashes in mangled names, which depend on the compiler's flags.
fn without_hash(text: &str) -> String {
    static HASH: LazyLock<Regex> = LazyLock::new(|| regex("17h[0-9a-f]{16}E"));
    HASH.replace_all(text, "").into_owned()
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a regular expression")
}

/// Checks that the loaded size is the same with and without markers.
fn check_loaded_size(with: &Path, without: &Path, program: &Program, opt_level: &str) {
    let [with, without] = [with, without].map(|image| {
        let mut sections = fixture::loaded_sections(image);
        // It only fills a page.
        sections.remove(".relro_padding");
        sections
    });
    for name in with.keys().chain(without.keys()) {
        assert!(!name.contains("simple_marker"), "{name} is loaded");
    }
    let [size, plain] = [&with, &without].map(|sections| sections.values().sum::<u64>());
    let apart = size.abs_diff(plain);
    let different: Vec<_> = with.iter().filter(|(name, size)| without.get(*name) != Some(size)).collect();
    note!("  loaded: {size} bytes with markers, {plain} without; different: {different:?}");
    assert!(
        apart * 1000 < plain * program.apart,
        "{} at {opt_level}: {size} loaded, {plain} without markers",
        program.package
    );
}
