//! Counts how often what `smark` says of ghosts is right, on generated programs.
//!
//! ```text
//! ghosts [--seeds 1..3] [--functions 96] [--compilers rustc,gcc,clang] [--levels 1,2,3,s]
//!        [--lto none,thin,fat] [--dwarf 5] [--variants ghost,ghosts,place] [--wrong exact,likely]
//!        [--most 20] [--keep FOLDER] [--tables survival]
//! ```
//!
//! It prints a line for each program and build, and totals. The verdict on a marker is the worst one
//! on its sites. A program runs several times, for 1 to 100 rounds. For each verdict there are its
//! markers, those that are hit as often as passed in each run, those with more hits in some run, and
//! those with fewer. `--wrong` lists the markers of these verdicts with other hits than passes, at
//! most `--most` for each build; `other` is every verdict without a column. `--variants place` counts
//! plain markers in the same way, `ghosts` those of functions with that attribute, in Rust. `--keep`
//! leaves sources and images there. `--tables survival` and `--tables promises` print tables of
//! `docs/measured/survival.md` instead. Uses the kernel's uprobes as root, and otherwise gdb, for 2
//! and 6 rounds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, process};

use simple_markers_resolver::resolve::Exactness;
use simple_markers_tests::arguments::Arguments;
use simple_markers_tests::generator::{Program, Variant};
use simple_markers_tests::ghosts::{Counted, Hits, Probes, Tally, Truth, VERDICTS, table};
use simple_markers_tests::oracle::builds::{Options, With};
use simple_markers_tests::oracle::examine::absolute;

const KNOWN: [&str; 11] =
    ["seeds", "functions", "compilers", "levels", "lto", "dwarf", "variants", "wrong", "most", "keep", "tables"];

fn variant(name: &str) -> Result<Variant, String> {
    Ok(match name {
        "ghost" => Variant::Ghost,
        "ghosts" => Variant::Ghosts,
        "place" => Variant::Place,
        "anchor" => Variant::Anchor,
        "keep" => Variant::Keep,
        _ => return Err(format!("{name}: no kind of markers")),
    })
}

/// Whether the marker is to be listed: it has one of these verdicts, and other hits than passes.
fn is_wrong(counted: &Counted, verdicts: &[String]) -> bool {
    let word = |verdict: Exactness| if VERDICTS.contains(&verdict) { verdict.as_str() } else { "other" };
    let is_meant = counted.verdict().is_some_and(|verdict| verdicts.iter().any(|of| of == word(verdict)));
    is_meant && matches!(counted.compare(), Some(Hits::More | Hits::Fewer))
}

fn name(options: &Options, variant: &str) -> String {
    let Options { with, level, lto, dwarf } = options;
    let lto = if lto == "none" { String::new() } else { format!(" lto {lto}") };
    format!("{} -O{level}{lto} dwarf {dwarf} {variant}", with.name())
}

/// The programs, and what counts the hits.
struct Measurement {
    arguments: Arguments,
    folder: PathBuf,
    probes: Probes,
    programs: Vec<(u64, Truth)>,
}

impl Measurement {
    fn new(arguments: Arguments, folder: &Path) -> Result<Self, String> {
        let probes = Probes::open();
        let functions = arguments.number("functions", 96)?;
        let programs = arguments
            .seeds("1..3")?
            .map(|seed| Ok((seed, Truth::new(Program::generate(seed, functions), &probes, folder)?)));
        let programs = programs.collect::<Result<_, String>>()?;
        Ok(Self { arguments, folder: folder.to_owned(), probes, programs })
    }

    fn builds(&self, with: With) -> Vec<Options> {
        self.arguments.builds(with, "1,2,3,s", "5")
    }

    /// The kinds of markers to count. The attribute `#[ghosts]` is for Rust alone.
    fn variants(&self, with: With) -> Vec<String> {
        let mut words = self.arguments.list("variants", "ghost,ghosts");
        words.retain(|word| with == With::Rustc || word != "ghosts");
        words
    }

    /// Counts in one build of each program, with markers of a kind, and hands on the results.
    fn count(&self, options: &Options, word: &str, take: &mut dyn FnMut(u64, &[Counted])) -> Result<(), String> {
        for (seed, truth) in &self.programs {
            let build = format!("seed{seed} {}", name(options, word));
            let stem = self.folder.join(build.replace(' ', "-"));
            let counted = truth.count(variant(word)?, options, &stem, &self.probes);
            take(*seed, &counted.map_err(|why| format!("{build}: {why}"))?);
            if self.arguments.given("keep").is_none() {
                let _ = fs::remove_file(stem.with_extension("elf"));
            }
        }
        Ok(())
    }

    /// Prints a line for each program and build, what is wrong in it, and totals.
    fn lines(&self) -> Result<(), String> {
        let most = self.arguments.number("most", 20)?;
        let wrong = self.arguments.list("wrong", "exact");
        let mut totals: BTreeMap<String, Tally> = BTreeMap::new();
        println!("{}", Tally::head());
        for with in self.arguments.compilers()? {
            for options in self.builds(with) {
                for word in self.variants(with) {
                    let name = name(&options, &word);
                    self.count(&options, &word, &mut |seed, counted| {
                        let tally = Tally::of(counted);
                        println!("{}", tally.line(&format!("seed {seed} {name}")));
                        for counted in counted.iter().filter(|counted| is_wrong(counted, &wrong)).take(most) {
                            println!("  {counted}");
                        }
                        for outside in counted.iter().filter(|counted| counted.outside().is_some()) {
                            println!("  not in its function: {outside}");
                        }
                        totals.entry(name.clone()).or_default().add(&tally);
                        totals.entry(format!("{} {word}", with.name())).or_default().add(&tally);
                    })?;
                }
            }
        }
        println!("\n{}", Tally::head());
        totals.iter().for_each(|(name, tally)| println!("{}", tally.line(name)));
        Ok(())
    }

    /// Prints the table of plain markers and ghosts that are passed.
    fn survival(&self) -> Result<(), String> {
        println!("{}", table::head());
        for with in self.arguments.compilers()? {
            for options in self.builds(with) {
                let passed = |word: &str| {
                    let mut tally = Tally::default();
                    self.count(&options, word, &mut |_, counted| {
                        tally.add(&Tally::of(counted.iter().filter(|counted| counted.is_passed())));
                    })?;
                    Ok::<_, String>(tally)
                };
                let plain = passed("place")?;
                for word in self.variants(with) {
                    let lto = if options.lto == "none" { String::new() } else { format!(", LTO `{}`", options.lto) };
                    let attribute = if word == "ghosts" { ", `#[ghosts]`" } else { "" };
                    let name = format!("{} `{}`{lto}{attribute}", with.name(), options.level);
                    println!("{}", table::row(&name, &plain, &passed(&word)?));
                }
            }
        }
        Ok(())
    }

    /// Prints the table of what the verdicts promise.
    fn promises(&self) -> Result<(), String> {
        println!("{}", table::PROMISES);
        for with in self.arguments.compilers()? {
            for word in self.variants(with) {
                let mut tally = Tally::default();
                for options in self.builds(with) {
                    self.count(&options, &word, &mut |_, counted| tally.add(&Tally::of(counted)))?;
                }
                let attribute = if word == "ghosts" { ", `#[ghosts]`" } else { "" };
                println!("{}", table::promises(&format!("{}{attribute}", with.name()), &tally));
            }
        }
        Ok(())
    }
}

fn run() -> Result<(), String> {
    let arguments = Arguments::parse(&KNOWN)?;
    let temporary = tempfile::tempdir().map_err(|why| why.to_string())?;
    let folder = arguments.given("keep").map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    fs::create_dir_all(&folder).map_err(|why| why.to_string())?;
    let measurement = Measurement::new(arguments, &absolute(&folder))?;
    match measurement.arguments.get("tables", "") {
        "" => measurement.lines(),
        "survival" => measurement.survival(),
        "promises" => measurement.promises(),
        other => Err(format!("--tables {other}?")),
    }
}

fn main() {
    if let Err(why) = run() {
        eprintln!("ghosts: {why}");
        process::exit(1);
    }
}
