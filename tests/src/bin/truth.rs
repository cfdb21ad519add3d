//! Measures how far the values of markers can be believed: compares what the resolver's locations
//! read in optimised programs with what the programs say about themselves (`oracle`).
//!
//! ```text
//! truth [--seeds 0..20] [--kinds plain,rich] [--functions 60] [--rounds 60] [--program FILE [--args "A B"] [--stdin FILE]]
//!       [--compilers rustc,gcc,clang] [--levels 1,2,3,s,g] [--lto none,thin,fat] [--dwarf 4,5]
//!       [--variants place,anchor,keep] [--most 100] [--jobs 2] [--json FILE] [--wrong FILE] [--keep FOLDER]
//! ```
//!
//! Without `--program`, the programs are generated. `--most` is the number of passes of each marker
//! that are compared. It prints tables; `--json` writes a line for each argument of each site,
//! `--wrong` a line for each argument with a wrong value.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, process, thread};

use simple_markers_tests::generator::{Form, Program, Rich, Tongue, Variant};
use simple_markers_tests::oracle::builds::{self, Options, With};
use simple_markers_tests::oracle::examine::{self, Found, absolute, examine};
use simple_markers_tests::oracle::{tables, twin};

/// A source, the compiler of its twin, and the builds that are compared with that.
struct Job {
    program: String,
    variant: String,
    source: PathBuf,
    with: With,
    builds: Vec<Options>,
}

/// The command line.
struct Arguments(HashMap<String, String>);

impl Arguments {
    const KNOWN: [&str; 17] = [
        "seeds",
        "kinds",
        "functions",
        "rounds",
        "program",
        "args",
        "stdin",
        "compilers",
        "levels",
        "lto",
        "dwarf",
        "variants",
        "most",
        "jobs",
        "json",
        "wrong",
        "keep",
    ];

    fn parse() -> Result<Self, String> {
        let mut words = env::args().skip(1);
        let mut found = HashMap::new();
        while let Some(word) = words.next() {
            let name = word.strip_prefix("--").filter(|name| Self::KNOWN.contains(name));
            let name = name.ok_or_else(|| format!("{word}? The options are --{}", Self::KNOWN.join(", --")))?;
            let value = words.next().ok_or_else(|| format!("--{name} needs a value"))?;
            found.insert(name.to_owned(), value);
        }
        Ok(Self(found))
    }

    fn get<'a>(&'a self, name: &str, otherwise: &'a str) -> &'a str {
        self.0.get(name).map_or(otherwise, String::as_str)
    }

    fn list(&self, name: &str, otherwise: &str) -> Vec<String> {
        self.get(name, otherwise).split(',').map(str::to_owned).collect()
    }

    fn number(&self, name: &str, otherwise: usize) -> Result<usize, String> {
        self.0.get(name).map_or(Ok(otherwise), |text| text.parse().map_err(|_| format!("--{name}: {text}?")))
    }

    fn builds(&self, with: With) -> Vec<Options> {
        let mut builds = Vec::new();
        for level in self.list("levels", "1,2,3,s,g").into_iter().filter(|level| with.levels().contains(&&**level)) {
            for lto in self.list("lto", "none").into_iter().filter(|lto| with.has_lto(lto)) {
                for dwarf in self.list("dwarf", "4,5").iter().filter_map(|text| text.parse().ok()) {
                    builds.push(Options { with, level: level.clone(), lto: lto.clone(), dwarf });
                }
            }
        }
        builds
    }

    fn jobs(&self, folder: &Path) -> Result<Vec<Job>, String> {
        let compilers = self.list("compilers", "rustc,gcc,clang");
        let mut withs = Vec::new();
        for name in &compilers {
            let with = With::ALL.into_iter().find(|with| with.name() == name).ok_or_else(|| format!("{name}?"))?;
            if builds::is_installed(with) {
                withs.push(with);
            }
        }
        let mut jobs = Vec::new();
        if let Some(path) = self.0.get("program") {
            let source = absolute(Path::new(path));
            for with in withs.into_iter().filter(|with| with.compiles(&source)) {
                let (program, builds) = (path.clone(), self.builds(with));
                jobs.push(Job { program, variant: "source".to_owned(), source: source.clone(), with, builds });
            }
            return Ok(jobs);
        }
        let seeds = self.get("seeds", "0..4");
        let (first, last) = seeds.split_once("..").ok_or_else(|| format!("--seeds {seeds}? It is like 0..20"))?;
        let seed = |text: &str| text.parse::<u64>().map_err(|_| format!("--seeds {seeds}?"));
        let functions = self.number("functions", 60)?;
        let kinds = self.list("kinds", "plain,rich");
        let (is_plain, is_rich) = (kinds.iter().any(|kind| kind == "plain"), kinds.iter().any(|kind| kind == "rich"));
        for number in seed(first)?..seed(last)? {
            let (program, rich) = (Program::generate(number, functions), Rich::generate(number, functions));
            for name in self.list("variants", "place,anchor") {
                let variant = match &*name {
                    "place" => Variant::Place,
                    "anchor" => Variant::Anchor,
                    "keep" => Variant::Keep,
                    "keep-anchor" => Variant::KeepAnchor,
                    _ => return Err(format!("--variants: {name}?")),
                };
                let form = Form::Marked(variant);
                let texts = [
                    ("plain.c", is_plain.then(|| program.c(form).text)),
                    ("plain.rs", is_plain.then(|| program.rust(form).text)),
                    ("rich.c", is_rich.then(|| rich.text(Tongue::C, variant))),
                    ("rich.cc", is_rich.then(|| rich.text(Tongue::Cxx, variant))),
                    ("rich.rs", is_rich.then(|| rich.text(Tongue::Rust, variant))),
                ];
                for (kind, text) in texts.into_iter().filter_map(|(kind, text)| Some((kind, text?))) {
                    let source = folder.join(format!("seed{number}-{name}-{kind}"));
                    fs::write(&source, text).map_err(|why| why.to_string())?;
                    for with in withs.iter().copied().filter(|with| with.compiles(&source)) {
                        jobs.push(Job {
                            program: format!("seed {number} {kind}"),
                            variant: name.clone(),
                            source: source.clone(),
                            with,
                            builds: self.builds(with),
                        });
                    }
                }
            }
        }
        Ok(jobs)
    }
}

/// Builds the twin, then each program, and compares them. Removes the images, which are large.
fn work(job: &Job, arguments: &Arguments, folder: &Path) -> Result<Vec<Found>, String> {
    let stem = job.source.file_name().unwrap_or_default().to_string_lossy().replace('.', "-");
    let sources = [job.source.clone()];
    let twin_image = folder.join(format!("{stem}-{}-twin", job.with.name()));
    let run_arguments: Vec<String> = match arguments.0.get("args") {
        Some(words) => words.split_whitespace().map(str::to_owned).collect(),
        None if arguments.0.contains_key("program") => Vec::new(),
        None => vec![arguments.number("rounds", 60)?.to_string()],
    };
    let stdin = arguments.0.get("stdin").map(PathBuf::from);
    builds::twin(&sources, job.with, &twin_image)?;
    let passes = twin::passes(&twin_image, &run_arguments, stdin.as_deref())?;
    let mut all = Vec::new();
    for options in &job.builds {
        let Options { level, lto, dwarf, with } = options;
        let image = folder.join(format!("{stem}-{}-{level}-{lto}-{dwarf}", with.name()));
        builds::program(&sources, options, &image)?;
        let program = examine::Program {
            build: options.build(&job.program, &job.variant),
            image: image.clone(),
            arguments: run_arguments.clone(),
            stdin: stdin.clone(),
            most: arguments.number("most", 100)?,
        };
        all.push(examine(&program, &passes)?);
        if !arguments.0.contains_key("keep") {
            let _ = fs::remove_file(image);
        }
    }
    Ok(all)
}

fn measure() -> Result<(), String> {
    let arguments = Arguments::parse()?;
    let temporary = tempfile::tempdir().map_err(|why| why.to_string())?;
    let folder = arguments.0.get("keep").map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    fs::create_dir_all(&folder).map_err(|why| why.to_string())?;
    let folder = absolute(&folder);
    let jobs = arguments.jobs(&folder)?;
    let (next, results) = (AtomicUsize::new(0), Mutex::new((Vec::new(), Vec::new())));
    let worker = || {
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = work(job, &arguments, &folder);
            let Ok(mut results) = results.lock() else { return };
            match result {
                Ok(found) => results.0.extend(found),
                Err(why) => results.1.push(format!("{} {} {}: {why}", job.program, job.with.name(), job.variant)),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..arguments.number("jobs", 2).unwrap_or(2) {
            scope.spawn(worker);
        }
    });
    let (found, failures) = results.into_inner().map_err(|_| "a worker panicked".to_owned())?;
    report(&arguments, found, &failures)
}

fn report(arguments: &Arguments, found: Vec<Found>, failures: &[String]) -> Result<(), String> {
    let (compared, inexact) = found.iter().fold((0, 0), |sum, of| (sum.0 + of.compared, sum.1 + of.inexact));
    let complaints: Vec<String> = found.iter().flat_map(|of| of.complaints.clone()).collect();
    let rows: Vec<_> = found.into_iter().flat_map(|of| of.rows).collect();
    let write = |path: &String, text: &[u8]| fs::write(path, text).map_err(|why| format!("{path}: {why}"));
    if let Some(path) = arguments.0.get("json") {
        let file = fs::File::create(path).map_err(|why| format!("{path}: {why}"))?;
        let mut file = std::io::BufWriter::new(file);
        for row in &rows {
            writeln!(file, "{}", row.json()).map_err(|why| format!("{path}: {why}"))?;
        }
    }
    let wrong = tables::wrong(&rows);
    match arguments.0.get("wrong") {
        Some(path) => write(path, wrong.as_bytes())?,
        None => println!("{}", wrong.lines().take(40).collect::<Vec<_>>().join("\n")),
    }
    let total = tables::total(&rows);
    println!("{}\n{}", tables::by_build(&rows), tables::by_form(&rows));
    println!(
        "{} values called live or constant: {} wrong ({:.0} in 10^6), {} Booleans to mask, {} wrong behind a pointer, {} \
         unreadable. {compared} markers compared, {inexact} have a site that is not exact.",
        total.values,
        total.wrong,
        total.per_million(),
        total.masked,
        total.behind,
        total.unreadable
    );
    for what in complaints.iter().chain(failures).take(20) {
        eprintln!("{what}");
    }
    match complaints.len() + failures.len() {
        0 => Ok(()),
        count => Err(format!("{count} complaints")),
    }
}

fn main() {
    if let Err(why) = measure() {
        eprintln!("truth: {why}");
        process::exit(1);
    }
}
