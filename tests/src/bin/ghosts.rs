//! Counts how often what `smark` says of ghosts is right, on generated programs.
//!
//! ```text
//! ghosts [--seeds 1..3] [--functions 96] [--rounds 100] [--compilers rustc,gcc,clang]
//!        [--levels 1,2,3,s] [--lto none,thin,fat] [--dwarf 5] [--variants ghost,place]
//!        [--wrong exact,likely] [--most 20] [--keep FOLDER]
//! ```
//!
//! It prints a line for each build, and one for each compiler. The verdict on a marker is the worst
//! one on its sites. For each verdict there are its markers, and those that are hit as often as
//! passed, more often, and less often. `--wrong` lists the markers of these verdicts with other hits
//! than passes, at most `--most` for each build; `other` is every verdict without a column.
//! `--variants place` counts plain markers in the same way. `--keep` leaves sources and images there.
//! Uses the kernel's uprobes as root, and otherwise gdb, for fewer rounds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, process};

use simple_markers_resolver::resolve::Exactness;
use simple_markers_tests::arguments::Arguments;
use simple_markers_tests::generator::{Program, Variant};
use simple_markers_tests::ghosts::{Counted, Probes, Tally, Truth, VERDICTS};
use simple_markers_tests::oracle::builds::Options;
use simple_markers_tests::oracle::examine::absolute;

const KNOWN: [&str; 11] =
    ["seeds", "functions", "rounds", "compilers", "levels", "lto", "dwarf", "variants", "wrong", "most", "keep"];

fn variant(name: &str) -> Result<Variant, String> {
    Ok(match name {
        "ghost" => Variant::Ghost,
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
    is_meant && counted.hits().is_some_and(|hits| hits != counted.passes)
}

fn name(variant: &str, options: &Options) -> String {
    let Options { with, level, lto, dwarf } = options;
    let lto = if lto == "none" { String::new() } else { format!(" lto {lto}") };
    format!("{} -O{level}{lto} dwarf {dwarf} {variant}", with.name())
}

fn measure(arguments: &Arguments, folder: &Path) -> Result<(), String> {
    let probes = Probes::open();
    let rounds = arguments.number("rounds", probes.rounds() as usize)?;
    let rounds = u32::try_from(rounds).map_err(|why| why.to_string())?;
    let most = arguments.number("most", 20)?;
    let (variants, wrong) = (arguments.list("variants", "ghost"), arguments.list("wrong", "exact"));
    let mut totals: BTreeMap<String, Tally> = BTreeMap::new();
    println!("{}", Tally::head());
    for seed in arguments.seeds("1..3")? {
        let truth = Truth::new(Program::generate(seed, arguments.number("functions", 96)?), rounds, folder)?;
        for with in arguments.compilers()? {
            for (word, options) in variants
                .iter()
                .flat_map(|word| arguments.builds(with, "1,2,3,s", "5").into_iter().map(move |options| (word, options)))
            {
                let build = name(word, &options);
                let stem = folder.join(format!("seed{seed} {build}").replace(' ', "-"));
                let counted = truth.count(variant(word)?, &options, &stem, &probes)?;
                let tally = Tally::of(&counted);
                println!("{}", tally.line(&format!("seed {seed} {build}")));
                for counted in counted.iter().filter(|counted| is_wrong(counted, &wrong)).take(most) {
                    println!("  {counted}");
                }
                for counted in &counted {
                    if let Some(site) = counted.outside() {
                        println!("  not in its function: {} at {}\n  {counted}", counted.marker.name, site.address);
                    }
                }
                totals.entry(build).or_default().add(&tally);
                totals.entry(format!("{} {word}", with.name())).or_default().add(&tally);
                if arguments.given("keep").is_none() {
                    let _ = fs::remove_file(stem.with_extension("elf"));
                }
            }
        }
    }
    println!("\n{}", Tally::head());
    totals.iter().for_each(|(name, tally)| println!("{}", tally.line(name)));
    Ok(())
}

fn run() -> Result<(), String> {
    let arguments = Arguments::parse(&KNOWN)?;
    let temporary = tempfile::tempdir().map_err(|why| why.to_string())?;
    let folder = arguments.given("keep").map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    fs::create_dir_all(&folder).map_err(|why| why.to_string())?;
    measure(&arguments, &absolute(&folder))
}

fn main() {
    if let Err(why) = run() {
        eprintln!("ghosts: {why}");
        process::exit(1);
    }
}
