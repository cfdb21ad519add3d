//! Checks exactness by counting. Generated programs are compiled by three compilers at several
//! levels. The verdict on each site is compared with how often the site is passed, and how often a
//! probe at its address fires.
//!
//! Passes are counted in the same instructions that the probes are placed on (`counted`). The sum
//! over the sites of a marker must be the count of the abstract program, which a build with
//! counters in the source prints. Hits come from the kernel's uprobes, or, without permission for
//! those, from fewer rounds under gdb's breakpoints. For each site:
//!
//! | verdict | hits at its address |
//! | --- | --- |
//! | exact | as often as the marker is passed there |
//! | shared, folded, unproven | at least as often as each copy there is passed; each shape that is
//! ever shared has a site with more hits |
//! | outside | the marker is never passed |
//! | the kernel takes no probe | none |
//!
//! A probe at the cheaper address that we suggest must fire as often as one at the site's own
//! address, and read the same values.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::english;
use simple_markers_resolver::resolve::{Exactness, ExactnessReason, Site, SitePlace};
use simple_markers_tests::computer::Computer;
use simple_markers_tests::counted::with_counters;
use simple_markers_tests::fixture;
use simple_markers_tests::gdb::{Next, Session, known_bytes};
use simple_markers_tests::generator::{Form, Program, ROUNDS, Shape, Variant};
use simple_markers_tests::header::{Compiler, Language};
use simple_markers_tests::matrix::{Markers, Toolchain};
use simple_markers_tests::second_opinion::resolve;
use simple_markers_tests::tools::{find, run, slice, tries_everything};
use simple_markers_tests::uprobes::Uprobes;

/// The seed of the program. The variable `COUNTING_SEED` changes it.
const SEED: u64 = 1;
const FUNCTIONS: usize = 96;

/// The number of rounds under gdb, where a hit takes a hundred times as long.
const ROUNDS_OF_GDB: u32 = 6;

/// The compilers of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Maker {
    C(Compiler),
    Rustc,
}

/// One way to compile the program.
#[derive(Clone, Copy, Debug)]
struct Row {
    maker: Maker,
    level: &'static str,
    more: &'static [&'static str],
    variant: Variant,
    /// Whether to compare argument values too, which takes a second.
    reads: bool,
}

const fn row(maker: Maker, level: &'static str, more: &'static [&'static str], variant: Variant) -> Row {
    let reads = matches!(variant, Variant::Place) && more.is_empty() && matches!(level.as_bytes(), b"2");
    Row { maker, level, more, variant, reads }
}

const GCC: Maker = Maker::C(Compiler::Gcc);
const CLANG: Maker = Maker::C(Compiler::Clang);
const NO_PIE: &[&str] = &["-fno-pie", "-no-pie"];

const ROWS: [Row; 18] = [
    row(GCC, "1", &[], Variant::Place),
    row(GCC, "2", &[], Variant::Place),
    row(GCC, "3", &[], Variant::Place),
    row(GCC, "s", &[], Variant::Place),
    row(GCC, "2", NO_PIE, Variant::Keep),
    row(GCC, "2", &["-fcf-protection"], Variant::Place),
    row(GCC, "s", &[], Variant::Anchor),
    row(CLANG, "1", &[], Variant::Place),
    row(CLANG, "2", &[], Variant::Place),
    row(CLANG, "3", &[], Variant::Place),
    row(CLANG, "s", &[], Variant::Place),
    row(CLANG, "2", NO_PIE, Variant::Keep),
    row(Maker::Rustc, "1", &[], Variant::Place),
    row(Maker::Rustc, "2", &[], Variant::Place),
    row(Maker::Rustc, "3", &[], Variant::Place),
    row(Maker::Rustc, "s", &[], Variant::Place),
    row(Maker::Rustc, "2", &[], Variant::Keep),
    row(Maker::Rustc, "3", &[], Variant::KeepAnchor),
];

/// The rows of a slice. They cover each compiler at two levels, and each level, variant and option.
const SLICE: [usize; 6] = [5, 6, 7, 11, 13, 17];

impl Row {
    fn name(&self) -> String {
        let maker = match self.maker {
            Maker::C(compiler) => compiler.name(),
            Maker::Rustc => "rustc",
        };
        let mut name = format!("{maker} -O{}", self.level);
        self.more.iter().take(1).for_each(|option| name.push_str(&format!(" {option}")));
        match self.variant {
            Variant::Place => name,
            other => format!("{name} {other:?}").to_lowercase(),
        }
    }

    /// The driver that assembles and links. gas cannot read everything that LLVM writes.
    fn driver(&self) -> &'static str {
        match self.maker {
            Maker::C(compiler) => compiler.name(),
            Maker::Rustc => "clang",
        }
    }
}

/// The program and its compilations.
struct Suite {
    program: Program,
    /// How often each marker is passed, and the result of the program, by the number of rounds.
    passed: HashMap<u32, (Vec<u64>, String)>,
    folder: tempfile::TempDir,
    toolchain: Toolchain,
    uprobes: Option<Uprobes>,
}

/// One compilation.
struct Image {
    path: PathBuf,
    /// The marker and address of each site, in record order.
    records: Vec<(usize, Vaddr)>,
    /// The same image with counters.
    counted: PathBuf,
}

/// The results for one compilation.
#[derive(Default)]
struct Tally {
    lines: Vec<String>,
    complaints: Vec<String>,
    sites: usize,
    unproven: usize,
    /// For each shape in the source, the number of sites that are exact, that are shared, and that
    /// are shared with more hits than passes.
    shapes: BTreeMap<Shape, [usize; 3]>,
    /// For each set of kinds of predecessors, which decides the verdict, the number of shared
    /// sites, and of those with more hits than passes.
    ways: BTreeMap<BTreeSet<&'static str>, [usize; 2]>,
    better: usize,
    read: usize,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.lines.extend(other.lines);
        self.complaints.extend(other.complaints);
        self.sites += other.sites;
        self.unproven += other.unproven;
        for (shape, counts) in other.shapes {
            let ours = self.shapes.entry(shape).or_default();
            ours.iter_mut().zip(counts).for_each(|(ours, theirs)| *ours += theirs);
        }
        for (ways, counts) in other.ways {
            let ours = self.ways.entry(ways).or_default();
            ours.iter_mut().zip(counts).for_each(|(ours, theirs)| *ours += theirs);
        }
        self.better += other.better;
        self.read += other.read;
    }
}

impl Suite {
    fn new() -> Self {
        let seed = std::env::var("COUNTING_SEED").map_or(SEED, |seed| seed.parse().expect("a number"));
        let program = Program::generate(seed, FUNCTIONS);
        let folder = tempfile::tempdir().expect("a folder");
        let counted = folder.path().join("counted");
        let source = counted.with_extension("c");
        fs::write(&source, program.c(Form::Counted).text).expect("the source");
        run(Compiler::Gcc.command(Language::C).args(["-w", "-O1"]).arg(&source).arg("-o").arg(&counted));
        let passed = [ROUNDS, ROUNDS_OF_GDB].map(|rounds| {
            let said = run(Command::new(&counted).arg(rounds.to_string()));
            let (counts, result) = said.trim_end().rsplit_once('\n').expect("lines");
            let count = |line: &str| line.split(' ').nth(1).and_then(|count| count.parse().ok()).expect("a count");
            (rounds, (counts.lines().map(count).collect(), result.to_owned()))
        });
        let toolchain = Toolchain::new();
        let uprobes = Uprobes::open();
        Self { program, passed: HashMap::from(passed), folder, toolchain, uprobes }
    }

    /// Compiles once and assembles twice.
    fn image(&self, index: usize, row: &Row) -> Image {
        let form = Form::Marked(row.variant);
        let stem = self.folder.path().join(format!("program{index}"));
        let assembly = match row.maker {
            Maker::C(compiler) => {
                let source = stem.with_extension("c");
                fs::write(&source, self.program.c(form).text).expect("the source");
                let mut command = compiler.command(Language::C);
                command.args(["-w", "-g", "-S", "-DSMARK_NO_MAIN", &format!("-O{}", row.level)]).args(row.more);
                let assembly = stem.with_extension("s");
                run(command.arg(&source).arg("-o").arg(&assembly));
                fs::read_to_string(assembly).expect("the assembly")
            }
            Maker::Rustc => {
                let build = self.toolchain.build(Markers::On);
                let source = build.folder().join("program.rs");
                fs::write(&source, self.program.rust(form).text).expect("the source");
                let level = format!("-Copt-level={}", row.level);
                let options =
                    ["--crate-type=lib", "--emit=asm", "-Cpanic=abort", "-Ccodegen-units=1", "-Cdebuginfo=2", &level];
                fixture::succeeds_silently(&mut build.compilation(&source, &options));
                fs::read_to_string(build.folder().join("program.s")).expect("the assembly")
            }
        };
        let (with, count) = with_counters(&assembly);
        let link = |suffix: &str, text: &str, define: &[String]| {
            let image = stem.with_file_name(format!("program{index}{suffix}"));
            let source = image.with_extension(format!("{suffix}.s"));
            fs::write(&source, text).expect("the assembly");
            let mut command = Command::new(row.driver());
            command.args(row.more.iter().filter(|option| !option.contains("cf-protection"))).args(define);
            command.arg(&source).arg(fixture::workspace().join("tests/uprobe/driver.c")).arg("-o").arg(&image);
            run(&mut command);
            image
        };
        let path = link("plain", &assembly, &[]);
        let counted = link("counted", &with, &[format!("-DCOUNTED={count}")]);
        let record = |site: fixture::Site<Vec<u8>>| {
            let name = String::from_utf8(site.name).expect("UTF-8");
            (number(&name), Vaddr(site.pc))
        };
        let records: Vec<_> = fixture::site_records(&path).into_iter().map(record).collect();
        assert_eq!(records.len(), count, "{}: a counter for each record", row.name());
        Image { path, records, counted }
    }

    /// Runs a program with counters and with probes.
    fn measure(&self, name: &str, image: &Image, offsets: &BTreeMap<Vaddr, u64>, tally: &mut Tally) -> Measured {
        let rounds = if self.uprobes.is_some() { ROUNDS } else { ROUNDS_OF_GDB };
        let words = rounds.to_string();
        let (passed, result) = &self.passed[&rounds];
        let counted = run(Command::new(&image.counted).arg(&words));
        let counted: Vec<u64> = counted.lines().map(|line| line.parse().expect("a number")).collect();
        let (computed, counted) = counted.split_last().expect("a result");
        assert_eq!(computed.to_string(), *result, "{name}: what the program with counters computes");

        let addresses: Vec<Vaddr> = offsets.keys().copied().collect();
        let hits = match &self.uprobes {
            Some(uprobes) => {
                let offsets: Vec<u64> = offsets.values().copied().collect();
                let placed = uprobes.place(&image.path, &offsets);
                let said = run(Command::new(&image.path).arg(&words));
                assert_eq!(said.trim(), result, "{name}: what the program computes under probes");
                placed.hits()
            }
            None => Session::start(Computer::Here, &image.path, &words).count(&addresses),
        };
        let mut measured = Measured { hits: addresses.into_iter().zip(hits).collect(), passed: HashMap::new() };

        let mut whole = vec![0; self.program.markers.len()];
        for ((marker, address), count) in image.records.iter().zip(counted) {
            whole[*marker] += count;
            measured.passed.entry((*marker, *address)).or_default().push(*count);
        }
        for (marker, (whole, passed)) in whole.iter().zip(passed).enumerate() {
            if whole != passed {
                let what = format!("{name} m{marker}: passed {passed} times, all of its sites {whole} times");
                tally.complaints.push(what);
            }
        }
        measured
    }

    /// Measures and judges one compilation.
    fn examine(&self, index: usize, row: &Row) -> Tally {
        let name = row.name();
        let mut tally = Tally::default();
        let image = self.image(index, row);
        let data = fs::read(&image.path).expect("the program");
        let resolution = resolve(&image.path.to_string_lossy(), &data);
        assert!(resolution.failures.is_empty(), "{:?}", resolution.failures);
        let mut sites: Vec<(usize, Vaddr, &Site)> = Vec::new();
        let mut offsets: BTreeMap<Vaddr, u64> = BTreeMap::new();
        for marker in resolution.images.iter().flat_map(|image| &image.markers) {
            for site in &marker.sites {
                let (Some(SitePlace::Address(address)), Some(offset)) = (&site.place, site.file_offset) else {
                    continue;
                };
                sites.push((number(&marker.name), *address, site));
                offsets.insert(*address, offset.0);
                if let Some(best) = best(site) {
                    offsets.insert(best, offset.0 + (best.0 - address.0));
                }
            }
        }
        let measured = self.measure(&name, &image, &offsets, &mut tally);
        let mut verdicts: BTreeMap<&str, usize> = BTreeMap::new();
        let (mut right, mut better) = (0, 0);
        for (marker, address, site) in &sites {
            let shape = self.program.markers[*marker].shape;
            let exactness = site.exactness.expect("a verdict");
            let (hits, passed) = (measured.hits[address], measured.passed[&(*marker, *address)].iter().sum());
            *verdicts.entry(exactness.as_str()).or_default() += 1;
            let is_shared = exactness == Exactness::Shared;
            right += usize::from(is_shared && hits == passed);
            let counts = tally.shapes.entry(shape).or_default();
            counts[0] += usize::from(exactness == Exactness::Exact);
            counts[1] += usize::from(is_shared);
            counts[2] += usize::from(is_shared && hits > passed);
            if is_shared && site.predecessors.len() > 1 {
                let ways =
                    tally.ways.entry(site.predecessors.iter().map(|it| way_of(it.kind.name())).collect()).or_default();
                ways[0] += 1;
                ways[1] += usize::from(hits > passed);
            }
            better += usize::from(best(site).is_some());
            if let Some(why) = self.judge(&measured, *marker, *address, site) {
                let (text, why_so) =
                    (site.instruction.as_deref(), site.exactness_reason.as_ref().map(english::exactness::reason));
                tally.complaints.push(format!(
                    "{name} m{marker} {shape:?} at {address}: {why}; {exactness:?} ({}), `{}`",
                    why_so.unwrap_or_default(),
                    text.unwrap_or_default()
                ));
            }
        }
        tally.sites = sites.len();
        tally.unproven = verdicts.get("unproven").copied().unwrap_or_default();
        tally.better = better;
        let of = |word: &str| verdicts.get(word).copied().unwrap_or_default();
        tally.lines.push(format!(
            "{name:<28} {:>5} {:>5} {:>6} {right:>6} {:>6} {:>7} {:>8} {better:>6} {:>8}",
            sites.len(),
            of("exact"),
            of("shared"),
            of("folded"),
            of("outside"),
            of("unproven"),
            measured.hits.values().sum::<u64>(),
        ));
        if row.reads {
            self.read(&name, &image, &sites, &mut tally);
        }
        tally
    }

    /// The errors in our verdict on a site.
    fn judge(&self, measured: &Measured, marker: usize, address: Vaddr, site: &Site) -> Option<String> {
        let (hits, copies) = (measured.hits[&address], &measured.passed[&(marker, address)]);
        let passed: u64 = copies.iter().sum();
        let exactness = site.exactness?;
        // gdb can place a breakpoint on any instruction.
        let (is_refused, fires) = match &site.probe {
            Some(probe) if self.uprobes.is_some() => (!probe.accepted, probe.cost.is_some()),
            _ => (false, true),
        };
        if is_refused {
            return (hits != 0).then(|| format!("the kernel takes no probe there, and it fires {hits} times"));
        }
        let is_right = match exactness {
            Exactness::Outside => passed == 0,
            Exactness::Exact if fires => hits == passed,
            // Every pass is a hit. If copies share an address, they are hit together, and our
            // verdict must say so.
            _ => copies.iter().all(|copy| hits >= *copy) && (hits >= passed || says_copies(site)),
        };
        if !is_right {
            return Some(format!("passed {copies:?} times, {hits} hits"));
        }
        if site.anchored && exactness != Exactness::Exact {
            return Some("it has an instruction of its own".to_owned());
        }
        let there = best(site).map(|best| (best, measured.hits[&best]));
        let (best, there) = there.filter(|(_, there)| fires && *there != hits)?;
        Some(format!("{hits} hits, and {there} at {best}, which is to stand for it"))
    }

    /// Compares the values read at the cheaper addresses with those read at the sites' own
    /// addresses.
    fn read(&self, name: &str, image: &Image, sites: &[(usize, Vaddr, &Site)], tally: &mut Tally) {
        let pairs: Vec<_> =
            sites.iter().filter_map(|(marker, at, site)| Some((*marker, *at, best(site)?, *site))).collect();
        let both: BTreeSet<Vaddr> = pairs.iter().flat_map(|(_, at, best, _)| [*at, *best]).collect();
        let session = Session::start(Computer::Here, &image.path, &ROUNDS_OF_GDB.to_string());
        session.stop_at(&both.into_iter().collect::<Vec<_>>(), STOPS);
        type Values = Vec<Option<Result<(Vec<u8>, Vec<u8>), String>>>;
        let mut read: HashMap<(usize, bool), Vec<Values>> = HashMap::new();
        loop {
            let address = match session.resume() {
                Next::Stopped(address) => address,
                Next::Exited(_) => break,
                Next::Signal(signal) => panic!("{name}: {signal}"),
            };
            let machine = session.stopped();
            for (pair, (_, at, best, site)) in pairs.iter().enumerate() {
                for is_there in [false, true] {
                    if address == if is_there { *best } else { *at } {
                        let values = site.args.iter().map(|argument| known_bytes(argument, &machine)).collect();
                        read.entry((pair, is_there)).or_default().push(values);
                    }
                }
            }
        }
        for (pair, (marker, at, best, _)) in pairs.iter().enumerate() {
            let (here, there) = (read.get(&(pair, false)), read.get(&(pair, true)));
            tally.read += here.into_iter().flatten().flatten().flatten().count();
            if here != there {
                tally.complaints.push(format!("{name} m{marker}: {here:?} at {at}, {there:?} at {best}"));
            }
        }
    }
}

/// How often markers were passed, and addresses were hit.
struct Measured {
    hits: HashMap<Vaddr, u64>,
    /// By marker and address, which several copies of a marker may share.
    passed: HashMap<(usize, Vaddr), Vec<u64>>,
}

/// How often gdb stops at each address to read values.
const STOPS: u32 = 2;

/// The form of a predecessor that the verdict depends on: one that falls through, or one that jumps
/// here.
fn way_of(kind: &'static str) -> &'static str {
    match kind {
        "fall_through" | "call_return" => "falls",
        "jump" | "conditional" => "branches",
        other => other,
    }
}

/// Whether our verdict says that copies of the marker share an address.
fn says_copies(site: &Site) -> bool {
    matches!(
        site.exactness_reason,
        Some(
            ExactnessReason::SeveralCopies { .. }
                | ExactnessReason::SeveralRecords { .. }
                | ExactnessReason::AndSeveralRecords { .. }
        )
    )
}

fn number(name: &str) -> usize {
    let number = name.strip_prefix("generated:m").and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("{name}?"))
}

fn best(site: &Site) -> Option<Vaddr> {
    site.probe.as_ref()?.best_address.map(Vaddr)
}

#[test]
fn what_is_said_of_generated_programs_is_what_is_counted() {
    if find("gcc").is_none() || find("gdb").is_none() {
        return;
    }
    let has_clang = find("clang").is_some();
    let rows = slice("counting", &ROWS, &SLICE);
    let rows: Vec<_> = rows.iter().filter(|row| has_clang || row.maker == GCC).collect();
    let suite = Suite::new();
    if suite.uprobes.is_none() {
        note!("without the right to use uprobes: {ROUNDS_OF_GDB} rounds of {ROUNDS}, under gdb");
    }
    let (next, whole) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((index, row)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|index| Some((index, *rows.get(index)?)))
                {
                    let tally = suite.examine(index, row);
                    whole.lock().expect("no other one panicked").add(tally);
                }
            });
        }
    });
    let mut tally = whole.into_inner().expect("none panicked");
    tally.lines.sort();
    note!("{:<28} sites exact shared  right folded outside unproven better     hits", "");
    note!("{}", tally.lines.join("\n"));
    note!(
        "{} markers, {} sites, {:.1} % unproven; {} cheaper addresses, {} values read at both",
        suite.program.markers.len(),
        tally.sites,
        tally.unproven as f64 * 100.0 / tally.sites as f64,
        tally.better,
        tally.read
    );
    note!("\n{:<28} exact shared  more", "a marker that is ..");
    for (Shape { within, position }, [exact, shared, more]) in &tally.shapes {
        note!("{:<28} {exact:>5} {shared:>6} {more:>5}", format!("{position:?} in {within:?}"));
    }
    note!("\n{:<28}       shared  more", "ways in");
    for (ways, [shared, more]) in &tally.ways {
        let ways: Vec<_> = ways.iter().copied().collect();
        note!("{:<34} {shared:>6} {more:>5}", ways.join(" "));
    }
    let shown: Vec<_> = tally.complaints.iter().take(40).map(String::as_str).collect();
    assert!(tally.complaints.is_empty(), "{} complaints\n{}", tally.complaints.len(), shown.join("\n"));
    let never: Vec<_> = tally.ways.iter().filter(|(_, [_, more])| *more == 0).collect();
    assert!(never.is_empty(), "shared, and never hit more often than passed: {never:?}");
    assert!(tally.unproven * 20 < tally.sites, "{} of {} sites are unproven", tally.unproven, tally.sites);
    let sites = if tries_everything() { 5000 } else { 2500 };
    assert!(tally.sites > sites && tally.better > 100 && tally.read > 100, "too little was looked at");
}
