//! Reads lines of programs that other people wrote, which were built from unchanged sources, and
//! compares each hit and value with the program's twin (`field::lines`).
//!
//! ```text
//! lines --folder FOLDER [--programs sqlite,zstd,quickjs,jaq,ripgrep] [--compilers gcc,clang,rustc]
//!       [--levels 2] [--count 200] [--most 2000] [--seed 1] [--smark FILE] [--readers smark,gdb,perf]
//!       [--gdb 2000] [--perf 50] [--json FILE]
//! ```
//!
//! `--most` is the number of passes of a line in the program without optimisation. gdb is asked only for
//! lines with at most `--gdb` passes, because each hit takes it milliseconds, and perf for the first
//! `--perf` lines, because each takes it seconds. `lines-COMPILER-LEVEL.txt` in the folder of a program
//! lists what is wrong, and the same with `.jsonl` has each line. It fails if an exact line has other hits
//! than passes.

use std::path::{Path, PathBuf};
use std::{fs, process};

use serde_json::{Value as Json, json};
use simple_markers_tests::arguments::Arguments;
use simple_markers_tests::field::compare::Run;
use simple_markers_tests::field::lines::judged::{judge, passed_at_most};
use simple_markers_tests::field::lines::summary::ReaderLines;
use simple_markers_tests::field::lines::{self, others, watched};
use simple_markers_tests::field::marked::{Choice, Marked};
use simple_markers_tests::field::places::Shows;
use simple_markers_tests::field::program::{Initial, Kind, Program, at};
use simple_markers_tests::field::programs;

const KNOWN: [&str; 12] =
    ["folder", "programs", "compilers", "levels", "count", "most", "seed", "smark", "readers", "gdb", "perf", "json"];

/// The most seconds of a processor that a twin takes.
const SECONDS: u64 = 300;
/// The variables of a line.
const VARIABLES: usize = 2;

/// Measures one program, and returns the counts, and the exact lines that are wrong.
fn program(arguments: &Arguments, folder: &Path, program: &dyn Program) -> Result<(Vec<Json>, Vec<String>), String> {
    let count = arguments.number("count", 200)?;
    let choice = Choice {
        count: 2 * count,
        most: arguments.number("most", 2000)? as u64,
        seed: arguments.number("seed", 1)? as u64,
        shows: Shows::Scalars,
        kind: Kind::Twin(Initial::Zero),
    };
    let mut marked = Marked::choose(program, folder, choice)?;
    let all = lines::of_places(&mut marked, count, VARIABLES)?;
    let folder = marked.folder.clone();
    let smark = arguments.smark();
    let readers = arguments.list("readers", "smark,gdb,perf");
    let (mut rows, mut wrong) = (Vec::new(), Vec::new());
    for with in arguments.compilers()?.into_iter().filter(|with| program.compilers().contains(with)) {
        let (one, results) = marked.twin(with, Initial::Zero, SECONDS)?;
        let (other, _) = marked.twin(with, Initial::Pattern, SECONDS)?;
        // A marker that one compiler refuses is gone.
        let known: Vec<_> =
            all.iter().filter(|line| marked.places.iter().any(|place| place.number == line.number)).cloned().collect();
        for level in arguments.list("levels", "2") {
            let built = program.build(&marked.source, with, Kind::Optimised(&level), &folder);
            let image = built.map_err(|why| format!("{why:?}"))?;
            let (written, printed) = (folder.join("results-optimised"), folder.join("printed"));
            let run = Run {
                smark: &smark,
                image: &image,
                arguments: &program.arguments(&folder, &written)?,
                printed: &printed,
                hits: &folder.join("hits"),
            };
            let (mut listing, mut each) = (Vec::new(), Vec::new());
            for reader in &readers {
                let (reader, asked, read) = match &**reader {
                    "smark" => ("smark", known.clone(), watched::read(run, &known, &folder.join("marks"))?),
                    "gdb" => {
                        let most = arguments.number("gdb", 2000)?;
                        let few = passed_at_most(most, &known, &one);
                        let read = others::by_gdb(run, &few, most, &folder)?;
                        ("gdb", few, read)
                    }
                    "perf" => {
                        let few = known.get(..arguments.number("perf", 50)?).unwrap_or(&known).to_vec();
                        let read = others::by_perf(run, &few, &folder)?;
                        ("perf", few, read)
                    }
                    other => return Err(format!("{other}? The readers are smark, gdb, perf")),
                };
                let path = if program.prints_results() { &printed } else { &written };
                if reader == "smark" && at(path, fs::read(path))? != results {
                    return Err(format!("{}: other results than the twin", image.display()));
                }
                let found = ReaderLines { reader, lines: judge(&asked, read, (&one, &other)) };
                let mut row = found.json();
                row["build"] = json!(format!("{} {} {} -O{level}", program.name(), program.version(), with.name()));
                println!("{row}");
                rows.push(row);
                each.extend(found.each().iter().map(Json::to_string));
                listing.extend(found.wrong_hits());
                listing.extend(found.wrong_values());
                if reader == "smark" {
                    wrong.extend(found.wrong_hits().into_iter().filter(|line| line.contains(": exact,")));
                }
            }
            for (ending, texts) in [("txt", listing), ("jsonl", each)] {
                let path = folder.join(format!("lines-{}-{level}.{ending}", with.name()));
                at(&path, fs::write(&path, texts.join("\n") + "\n"))?;
            }
        }
    }
    Ok((rows, wrong))
}

fn measure() -> Result<(), String> {
    let arguments = Arguments::parse(&KNOWN)?;
    let folder: PathBuf = arguments.folder()?;
    let names = arguments.list("programs", "sqlite,zstd,quickjs,jaq,ripgrep");
    let (mut rows, mut wrong) = (Vec::new(), Vec::new());
    for of in programs().filter(|program| names.iter().any(|name| name == program.name())) {
        let (counts, exact) = program(&arguments, &folder, of)?;
        rows.extend(counts.iter().map(Json::to_string));
        wrong.extend(exact);
    }
    if let Some(path) = arguments.given("json") {
        at(Path::new(path), fs::write(path, rows.join("\n") + "\n"))?;
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

fn main() {
    if let Err(why) = measure() {
        eprintln!("lines: {why}");
        process::exit(1);
    }
}
