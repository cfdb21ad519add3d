//! Watches programs that other people wrote, with markers at random places, and compares each hit and
//! value with the program's twin (`field`).
//!
//! ```text
//! field --folder FOLDER [--programs sqlite,quickjs,zstd] [--compilers gcc,clang] [--levels 1,2,3,s,g]
//!       [--count 60] [--most 20000] [--seed 1] [--smark FILE] [--json FILE] [--rates FILE]
//!       [--known FOLDER]
//! ```
//!
//! The sources, the programs and lists of what is wrong stay in FOLDER. `--most` is the number of
//! passes of a marker in the program without optimisation. `--rates` writes how often doubtful values
//! were wrong, as lines of `real COMPILER REASON VALUES WRONG`. It fails if an exact site has other
//! hits than passes, and if a value that is called live or constant is wrong and not in a file of
//! `--known`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, process};

use simple_markers_tests::arguments::Arguments;
use simple_markers_tests::field::places::{self, Choice, Place};
use simple_markers_tests::field::programs::{self, Failure, Initial, Kind, PROGRAMS, Program};
use simple_markers_tests::field::report::{self, Watched};
use simple_markers_tests::field::scopes::Scopes;
use simple_markers_tests::field::{compare, known};
use simple_markers_tests::fixture;
use simple_markers_tests::oracle::builds::With;
use simple_markers_tests::oracle::twin::{self, Passes};

const KNOWN: [&str; 11] =
    ["folder", "programs", "compilers", "levels", "count", "most", "seed", "smark", "json", "rates", "known"];

/// The most seconds of a processor that a twin takes.
const SECONDS: u64 = 300;

struct Field {
    arguments: Arguments,
    folder: PathBuf,
    smark: PathBuf,
}

fn at<T>(path: &Path, result: std::io::Result<T>) -> Result<T, String> {
    result.map_err(|why| format!("{}: {why}", path.display()))
}

impl Field {
    /// Chooses the places for a program.
    fn places(&self, program: &Program, source: &Path, folder: &Path) -> Result<Vec<Place>, String> {
        let out = folder.join("counted");
        let image = program.build(source, With::Gcc, Kind::Counted, &out).map_err(|why| format!("{why:?}"))?;
        let arguments = program.arguments(&folder.join("results-counted"));
        let mut command = Command::new(&image);
        let status = at(&image, command.args(arguments).stdin(Stdio::null()).status())?;
        if !status.success() {
            return Err(format!("{}: {status}", image.display()));
        }
        let scopes = Scopes::read(&at(&image, fs::read(&image))?)?;
        let passed = programs::passed(&out)?;
        let choice = Choice {
            folder: source,
            scopes: &scopes,
            passed: &passed,
            most: self.arguments.number("most", 20000)? as u64,
            count: self.arguments.number("count", 60)?,
            seed: self.arguments.number("seed", 1)? as u64,
        };
        at(source, places::choose(&choice))
    }

    /// Builds a program with its markers. Those that the compiler refuses are left out.
    fn marked(
        &self,
        program: &Program,
        (source, places): (&Path, &[Place]),
        (with, kind): (With, Kind<'_>),
        left_out: &mut HashSet<usize>,
        folder: &Path,
    ) -> Result<PathBuf, String> {
        let marked = folder.join("marked");
        for _ in 0..5 {
            at(&marked, places::insert(places, source, &marked, left_out))?;
            let out = folder.join(format!("{}-{kind:?}", with.name()).replace(['"', '(', ')'], "-"));
            match program.build(&marked, with, kind, &out) {
                Ok(image) => return Ok(image),
                Err(Failure::Markers(refused)) => left_out.extend(refused),
                Err(Failure::Other(why)) => return Err(why),
            }
        }
        Err(format!("{}: markers that do not compile", program.name))
    }

    fn twin(
        &self,
        program: &Program,
        image: &Path,
        folder: &Path,
        initial: Initial,
    ) -> Result<(Passes, Vec<u8>), String> {
        let results = folder.join(format!("results-{initial:?}"));
        let mut command = Command::new(image);
        command.args(program.arguments(&results)).stdin(Stdio::null());
        if initial == Initial::Pattern {
            command.env("MALLOC_PERTURB_", "85");
        }
        let (passes, _) = twin::run(command, SECONDS)?;
        Ok((twin::by_marker(passes), at(&results, fs::read(&results))?))
    }

    fn program(&self, program: &Program) -> Result<Vec<Watched>, String> {
        let folder = self.folder.join(program.name);
        at(&folder, fs::create_dir_all(&folder))?;
        let source = program.fetch(&self.folder.join(program.name))?;
        let chosen = self.places(program, &source, &folder)?;
        let marked = folder.join("marked");
        if marked.exists() {
            at(&marked, fs::remove_dir_all(&marked))?;
        }
        simple_markers_tests::oracle::real::copy(&source, &marked)?;
        let mut found = Vec::new();
        let mut left_out = HashSet::new();
        for with in self.arguments.compilers()?.into_iter().filter(|with| *with != With::Rustc) {
            let mut twins = Vec::new();
            for initial in [Initial::Zero, Initial::Pattern] {
                let image =
                    self.marked(program, (&source, &chosen), (with, Kind::Twin(initial)), &mut left_out, &folder)?;
                twins.push(self.twin(program, &image, &folder, initial)?);
            }
            let [(one, results), (other, again)] = &twins[..] else { return Err("two twins".to_owned()) };
            if results != again {
                return Err(format!("{}: two runs of the twin have other results", program.name));
            }
            for level in self.arguments.list("levels", "2") {
                let kind = Kind::Optimised(&level);
                let image = self.marked(program, (&source, &chosen), (with, kind), &mut left_out, &folder)?;
                let mut markers = compare::list(&self.smark, &image)?;
                let written = folder.join("results-optimised");
                compare::watch((&self.smark, &image), &program.arguments(&written), (one, other), &mut markers)?;
                if at(&written, fs::read(&written))? != *results {
                    return Err(format!("{}: other results than the twin", image.display()));
                }
                let watched = Watched {
                    program: program.name.to_owned(),
                    version: program.version.to_owned(),
                    compiler: with.name().to_owned(),
                    level: level.clone(),
                    markers,
                };
                println!("{}", watched.json());
                for line in watched.wrong_hits().into_iter().chain(watched.wrong(false)) {
                    println!("{line}");
                }
                let lines = watched.wrong(true).join("\n");
                let path = folder.join(format!("wrong-{}-{level}.txt", with.name()));
                at(&path, fs::write(&path, lines))?;
                found.push(watched);
            }
        }
        let listing: String = chosen
            .iter()
            .filter(|place| !left_out.contains(&place.number))
            .map(|place| format!("{} {}:{} {}\n", place.name(), place.file.display(), place.line, place.function))
            .collect();
        let path = folder.join("places.txt");
        at(&path, fs::write(&path, listing))?;
        Ok(found)
    }
}

fn measure() -> Result<(), String> {
    let arguments = Arguments::parse(&KNOWN)?;
    let folder = PathBuf::from(arguments.given("folder").ok_or("--folder FOLDER?")?);
    at(&folder, fs::create_dir_all(&folder))?;
    let folder = at(&folder, fs::canonicalize(&folder))?;
    let smark = arguments.given("smark").map_or_else(|| fixture::smark().to_owned(), PathBuf::from);
    let field = Field { arguments, folder, smark };
    let names = field.arguments.list("programs", "sqlite,quickjs,zstd");
    let mut all = Vec::new();
    for program in PROGRAMS.iter().filter(|program| names.iter().any(|name| name == program.name)) {
        all.extend(field.program(program)?);
    }
    let written = |name: &str, lines: Vec<String>| match field.arguments.given(name) {
        Some(path) => at(Path::new(path), fs::write(path, lines.join("\n") + "\n")),
        None => Ok(()),
    };
    written("json", all.iter().map(|watched| watched.json().to_string()).collect())?;
    written("rates", report::rates(&all))?;
    let known = match field.arguments.given("known") {
        Some(folder) => known::read(Path::new(folder))?,
        None => Vec::new(),
    };
    let mut wrong: Vec<String> = all.iter().flat_map(Watched::wrong_hits).collect();
    wrong.extend(all.iter().flat_map(|watched| known::unknown(watched, &known)));
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

fn main() {
    if let Err(why) = measure() {
        eprintln!("field: {why}");
        process::exit(1);
    }
}
