//! Measures what the README offers: plain markers at random places of programs that other people wrote,
//! and what `smark check --fix` makes of them (`offer`).
//!
//! ```text
//! offer --folder FOLDER [--programs bzip2,jaq] [--compilers gcc,clang,rustc] [--levels 2] [--count 60]
//!       [--seed 1] [--smark FILE]
//! ```
//!
//! It prints a row of a table for each build. A place is any statement that a run passes, however often.
//! `exact` are the sites where a probe has a hit for each pass, and `readable` the arguments at all sites
//! that are live or constant. valgrind counts the instructions of the run: without markers, and how many
//! percent more with the markers as they were placed, and as `--fix` left them. The results of all three
//! must be the same. `--rebuild yes` is how `--fix` builds again.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::{env, fs};

use simple_markers_tests::arguments::Arguments;
use simple_markers_tests::field::compare::{self, Site};
use simple_markers_tests::field::marked::{Choice, Marked};
use simple_markers_tests::field::places::Shows;
use simple_markers_tests::field::program::{Failure, Kind, Program, at};
use simple_markers_tests::field::programs;
use simple_markers_tests::oracle::builds::With;
use simple_markers_tests::oracle::real;

const KNOWN: [&str; 8] = ["folder", "programs", "compilers", "levels", "count", "seed", "smark", "rebuild"];

/// The verdicts of the sites of an image.
#[derive(Default)]
struct Verdicts {
    markers: usize,
    live: usize,
    sites: usize,
    exact: usize,
    arguments: usize,
    readable: usize,
}

impl Verdicts {
    fn read(smark: &Path, image: &Path) -> Result<Self, String> {
        let markers = compare::list(smark, image)?;
        let sites: Vec<&Site> = markers.iter().flat_map(|marker| &marker.sites).collect();
        let arguments = || sites.iter().flat_map(|site| &site.arguments);
        Ok(Self {
            markers: markers.len(),
            live: markers.iter().filter(|marker| !marker.sites.is_empty()).count(),
            sites: sites.len(),
            exact: sites.iter().filter(|site| site.is_exact).count(),
            arguments: arguments().count(),
            readable: arguments().filter(|argument| argument.is_claimed()).count(),
        })
    }
}

impl fmt::Display for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sites, exact, arguments, readable, .. } = self;
        write!(f, "{exact} of {sites} | {readable} of {arguments}")
    }
}

/// A run of an image.
struct Run {
    instructions: u64,
    results: Vec<u8>,
}

impl Run {
    fn of(program: &dyn Program, image: &Path, folder: &Path) -> Result<Self, String> {
        let [stripped, results, counts] = ["stripped", "results-offer", "counts-offer"].map(|name| folder.join(name));
        // valgrind 3.19 gives up at some debug information of clang.
        real::run(Command::new("objcopy").arg("--strip-debug").args([image, &stripped]))?;
        let mut command = Command::new("valgrind");
        command
            .args(["--tool=cachegrind", "--cache-sim=no"])
            .arg(format!("--cachegrind-out-file={}", counts.display()));
        command.arg(&stripped).args(program.arguments(folder, &results)?).stdin(Stdio::null());
        let output = command.output().map_err(|why| format!("{command:?}: {why}"))?;
        if !output.status.success() {
            return Err(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
        }
        let counted = at(&counts, fs::read_to_string(&counts))?;
        let total = counted.lines().find_map(|line| line.strip_prefix("summary: ")?.trim().parse().ok());
        let results = if program.prints_results() { output.stdout } else { at(&results, fs::read(&results))? };
        Ok(Self { instructions: total.ok_or_else(|| format!("{}: no summary", counts.display()))?, results })
    }

    /// How many percent more instructions it has.
    fn more_than(&self, other: &Self) -> Result<f64, String> {
        match self.results == other.results {
            true => Ok(100.0 * (self.instructions as f64 / other.instructions as f64 - 1.0)),
            false => Err("the markers change the results".to_owned()),
        }
    }
}

/// What is measured, and with what.
struct Offer<'a> {
    arguments: &'a Arguments,
    folder: PathBuf,
    smark: PathBuf,
}

impl Offer<'_> {
    /// The rows of a program.
    fn program(&self, program: &dyn Program) -> Result<(), String> {
        let compilers = self.arguments.compilers()?;
        for with in compilers.into_iter().filter(|with| program.compilers().contains(with)) {
            for level in self.arguments.list("levels", "2") {
                self.build(program, with, &level)?;
            }
        }
        Ok(())
    }

    fn build(&self, program: &dyn Program, with: With, level: &str) -> Result<(), String> {
        let kind = Kind::Optimised(level);
        let choice = Choice {
            count: self.arguments.number("count", 60)?,
            most: u64::MAX,
            seed: self.arguments.number("seed", 1)? as u64,
            shows: Shows::Scalars,
            kind,
        };
        let mut marked = Marked::choose(program, &self.folder, choice)?;
        let folder = marked.folder.clone();
        let sources = folder.join("marked");
        at(&sources, fs::remove_dir_all(&sources))?;
        real::copy(&marked.source, &sources)?;
        let image = program.build(&sources, with, kind, &folder).map_err(|why| format!("{why:?}"))?;
        let without = Run::of(program, &image, &folder)?;
        let image = marked.build(with, kind)?;
        let placed = Verdicts::read(&self.smark, &image)?;
        let plain = Run::of(program, &image, &folder)?.more_than(&without)?;
        let wrote = self.fix(program, with, level, &image)?;
        let fixed = Verdicts::read(&self.smark, &image)?;
        let after = Run::of(program, &image, &folder)?.more_than(&without)?;
        let Verdicts { markers, live, .. } = placed;
        println!(
            "| {} {} | {} `-O{level}` | {live} of {markers} | {placed} | {plain:+.2} | {wrote} | {fixed} | {after:+.2} |",
            program.name(),
            program.version(),
            with.name(),
        );
        Ok(())
    }

    /// Lets `smark check --fix` write what helps, and returns how many markers it changed.
    fn fix(&self, program: &dyn Program, with: With, level: &str, image: &Path) -> Result<usize, String> {
        let this = env::current_exe().map_err(|why| why.to_string())?;
        let folder = self.folder.join(program.name());
        let marked = folder.join("marked");
        let build = format!(
            "{:?} --rebuild yes --folder {:?} --programs {} --compilers {} --levels {level}",
            this,
            self.folder,
            program.name(),
            with.name(),
        );
        let mut command = Command::new(&self.smark);
        command.current_dir(&marked).args(["check", "--fix", "--allow-no-vcs", "--deny", "arguments,exactness"]);
        command.arg("--within").arg(&marked).args(["--build", &build]).arg(image).stdin(Stdio::null());
        let output = command.output().map_err(|why| format!("{command:?}: {why}"))?;
        let said = [output.stdout, output.stderr].concat();
        let log = folder.join(format!("fix-{}-{level}.txt", with.name()));
        at(&log, fs::write(&log, &said))?;
        match output.status.code() {
            Some(0 | 1) => {}
            _ => return Err(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&said))),
        }
        Ok(String::from_utf8_lossy(&said).lines().filter(|line| line.starts_with("fixed ")).count())
    }

    /// Builds what is in the folder with markers.
    fn rebuild(&self, program: &dyn Program) -> Result<(), String> {
        let folder = self.folder.join(program.name());
        let with = *self.arguments.compilers()?.first().ok_or("--compilers?")?;
        let kind = Kind::Optimised(self.arguments.get("levels", "2"));
        match program.build(&folder.join("marked"), with, kind, &folder) {
            Ok(_) => Ok(()),
            Err(Failure::Markers(_, said) | Failure::Other(said)) => Err(said),
        }
    }
}

fn measure() -> Result<(), String> {
    let arguments = Arguments::parse(&KNOWN)?;
    let (folder, smark) = (arguments.folder()?, arguments.smark());
    let offer = Offer { arguments: &arguments, folder, smark };
    let wanted = arguments.list("programs", "bzip2,zstd,quickjs,sqlite,hexyl,jaq,pulldown-cmark,xsv");
    for name in wanted {
        let program = programs().find(|program| program.name() == name).ok_or_else(|| format!("{name}?"))?;
        match arguments.given("rebuild") {
            Some(_) => offer.rebuild(program)?,
            None => offer.program(program)?,
        }
    }
    Ok(())
}

fn main() {
    if let Err(why) = measure() {
        eprintln!("{why}");
        process::exit(1);
    }
}
