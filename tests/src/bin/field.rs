//! Watches programs that other people wrote, with markers at random places, and compares each hit and
//! value with the program's twin (`field`).
//!
//! ```text
//! field --folder FOLDER [--programs sqlite,quickjs,zstd,bzip2,jaq,pulldown-cmark,hexyl]
//!       [--compilers gcc,clang,rustc] [--levels 1,2,3,s,g] [--count 60] [--most 20000] [--seed 1]
//!       [--smark FILE] [--json FILE] [--rates FILE] [--known FOLDER] [--whole yes]
//! ```
//!
//! The sources, the programs and lists of what is wrong stay in FOLDER. A level of rustc may have a
//! variant: `3+one` has one codegen unit, `3+thin` and `3+fat` are linked with optimisation. `--most` is
//! the number of passes of a marker in the program without optimisation. With `--whole` each marker
//! shows a whole value, and its members are compared. `--rates` writes how often doubtful values were
//! wrong, as lines of `places COMPILER REASON VALUES WRONG`. It fails if an exact site has other hits than passes, if a value is another one at the site than at the address where it
//! is watched, and if a value that is called live or constant is wrong and not in a file of `--known`.

use std::path::{Path, PathBuf};
use std::{fs, process};

use simple_markers_tests::arguments::Arguments;
use simple_markers_tests::field::compare::{self, Run};
use simple_markers_tests::field::marked::{Choice, Marked};
use simple_markers_tests::field::places::Shows;
use simple_markers_tests::field::program::{Initial, Kind, Program, at};
use simple_markers_tests::field::report::{self, Watched};
use simple_markers_tests::field::{known, programs, wholes};

const KNOWN: [&str; 12] =
    ["folder", "programs", "compilers", "levels", "count", "most", "seed", "smark", "json", "rates", "known", "whole"];

/// The most seconds of a processor that a twin takes.
const SECONDS: u64 = 300;

struct Field {
    arguments: Arguments,
    folder: PathBuf,
    smark: PathBuf,
}

impl Field {
    fn program(&self, program: &dyn Program) -> Result<Vec<Watched>, String> {
        let choice = Choice {
            count: self.arguments.number("count", 60)?,
            most: self.arguments.number("most", 20000)? as u64,
            seed: self.arguments.number("seed", 1)? as u64,
            shows: if self.arguments.given("whole").is_some() { Shows::Wholes } else { Shows::Scalars },
            kind: Kind::Twin(Initial::Zero),
        };
        let mut marked = Marked::choose(program, &self.folder, choice)?;
        let folder = marked.folder.clone();
        let mut found = Vec::new();
        for with in self.arguments.compilers()?.into_iter().filter(|with| program.compilers().contains(with)) {
            let (one, results) = marked.twin(with, Initial::Zero, SECONDS)?;
            let (other, again) = marked.twin(with, Initial::Pattern, SECONDS)?;
            if results != again {
                return Err(format!("{}: two runs of the twin have other results", program.name()));
            }
            for level in self.arguments.list("levels", "2") {
                let image = marked.build(with, Kind::Optimised(&level))?;
                let mut markers = compare::list(&self.smark, &image)?;
                wholes::split(&mut markers, &marked.places);
                let (written, printed) = (folder.join("results-optimised"), folder.join("printed"));
                let run = Run {
                    smark: &self.smark,
                    image: &image,
                    arguments: &program.arguments(&folder, &written)?,
                    printed: &printed,
                    hits: &folder.join("hits"),
                };
                compare::watch(run, (&one, &other), &mut markers)?;
                let written = if program.prints_results() { &printed } else { &written };
                if at(written, fs::read(written))? != results {
                    return Err(format!("{}: other results than the twin", image.display()));
                }
                compare::watch_at_site(run, &mut markers)?;
                let watched = Watched {
                    program: program.name().to_owned(),
                    version: program.version().to_owned(),
                    compiler: with.name().to_owned(),
                    level: level.clone(),
                    markers,
                };
                println!("{}", watched.json());
                for line in watched.wrong_hits().into_iter().chain(watched.wrong(false)).chain(watched.moved()) {
                    println!("{line}");
                }
                let lines = watched.wrong(true).join("\n");
                let path = folder.join(format!("wrong-{}-{level}.txt", with.name()));
                at(&path, fs::write(&path, lines))?;
                found.push(watched);
            }
        }
        let listing: String = marked
            .places
            .iter()
            .map(|place| format!("{} {}:{} {}\n", place.name(), place.file.display(), place.line, place.function))
            .collect();
        let path = folder.join("places.txt");
        at(&path, fs::write(&path, listing))?;
        Ok(found)
    }
}

fn measure() -> Result<(), String> {
    let arguments = Arguments::parse(&KNOWN)?;
    let (folder, smark) = (arguments.folder()?, arguments.smark());
    let field = Field { arguments, folder, smark };
    let every: Vec<&str> = programs().map(Program::name).collect();
    let names = field.arguments.list("programs", &every.join(","));
    if let Some(other) = names.iter().find(|name| !every.contains(&&***name)) {
        return Err(format!("{other}? The programs are {}", every.join(", ")));
    }
    let mut all = Vec::new();
    for program in programs().filter(|program| names.iter().any(|name| name == program.name())) {
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
    wrong.extend(all.iter().flat_map(Watched::moved));
    wrong.extend(all.iter().flat_map(|watched| known::unknown(watched, &known)));
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

fn main() {
    if let Err(why) = measure() {
        eprintln!("field: {why}");
        process::exit(1);
    }
}
