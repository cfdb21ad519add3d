//! Measures how far the values of markers can be believed: compares what the resolver's locations
//! read in optimised programs with what the programs say about themselves (`oracle`).
//!
//! ```text
//! truth [--seeds 0..20] [--kinds plain,rich,used] [--functions 60] [--rounds 60]
//!       [--program FILE [--args "A B"] [--stdin FILE]] [--real lua,ripgrep]
//!       [--compilers rustc,gcc,clang] [--levels 1,2,3,s,g] [--lto none,thin,fat] [--dwarf 4,5]
//!       [--variants place,anchor,keep,keep-anchor] [--most 100] [--jobs 2] [--json FILE] [--wrong FILE]
//!       [--keep FOLDER] [--tables FOLDER] [--minimise TEXT]
//! ```
//!
//! Without `--program` and `--real`, the programs are generated. `--most` is the number of passes
//! of each marker that are compared. It prints tables; `--json` writes a line for each argument of
//! each site, `--wrong` a line for each argument with a wrong value. `--tables` writes the tables of
//! `docs/truth.md` there instead of printing others. `--keep` leaves sources and images there.
//! `--minimise TEXT` prints the smallest program that it finds with a wrong value whose line, as
//! `--wrong` writes it, has this text: `--minimise "stack slot"`.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

use simple_markers_tests::oracle::builds::{self, Options, With};
use simple_markers_tests::oracle::corpus::{Generated, Job, Run, examine_all};
use simple_markers_tests::oracle::examine::{Found, absolute};
use simple_markers_tests::oracle::minimise::minimise;
use simple_markers_tests::oracle::row::Row;
use simple_markers_tests::oracle::{believed, real, tables};

/// The command line.
struct Arguments(HashMap<String, String>);

impl Arguments {
    const KNOWN: [&str; 20] = [
        "minimise",
        "tables",
        "real",
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

    fn compilers(&self) -> Result<Vec<With>, String> {
        let mut found = Vec::new();
        for name in self.list("compilers", "rustc,gcc,clang") {
            let with = With::ALL.into_iter().find(|with| with.name() == name).ok_or_else(|| format!("{name}?"))?;
            if builds::is_installed(with) {
                found.push(with);
            }
        }
        Ok(found)
    }

    fn jobs(&self, folder: &Path) -> Result<Vec<Job>, String> {
        let compilers = self.compilers()?;
        if self.0.contains_key("real") && !self.0.contains_key("seeds") {
            return Ok(Vec::new());
        }
        if let Some(path) = self.0.get("program") {
            let source = absolute(Path::new(path));
            let fitting = compilers.into_iter().filter(|with| with.compiles(&source));
            let job = |with| Job {
                program: path.clone(),
                variant: "source".to_owned(),
                source: source.clone(),
                with,
                builds: self.builds(with),
            };
            return Ok(fitting.map(job).collect());
        }
        let seeds = self.get("seeds", "0..4");
        let (first, last) = seeds.split_once("..").ok_or_else(|| format!("--seeds {seeds}? It is like 0..20"))?;
        let seed = |text: &str| text.parse::<u64>().map_err(|_| format!("--seeds {seeds}?"));
        let generated = Generated {
            seeds: seed(first)?..seed(last)?,
            functions: self.number("functions", 60)?,
            kinds: self.list("kinds", "plain,rich,used"),
            variants: self.list("variants", "place,anchor"),
        };
        generated.jobs(folder, &compilers, &|with| self.builds(with))
    }

    fn run(&self, folder: &Path) -> Result<Run, String> {
        let arguments = match self.0.get("args") {
            Some(words) => words.split_whitespace().map(str::to_owned).collect(),
            None if self.0.contains_key("program") => Vec::new(),
            None => vec![self.number("rounds", 60)?.to_string()],
        };
        Ok(Run {
            arguments,
            stdin: self.0.get("stdin").map(PathBuf::from),
            most: self.number("most", 100)?,
            folder: folder.to_owned(),
            keeps: self.0.contains_key("keep"),
        })
    }
}

fn measure() -> Result<(), String> {
    let arguments = Arguments::parse()?;
    let temporary = tempfile::tempdir().map_err(|why| why.to_string())?;
    let folder = arguments.0.get("keep").map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    fs::create_dir_all(&folder).map_err(|why| why.to_string())?;
    let folder = absolute(&folder);
    let (jobs, run) = (arguments.jobs(&folder)?, arguments.run(&folder)?);
    if let Some(part) = arguments.0.get("minimise") {
        return minimised(&arguments, &jobs, &run, part);
    }
    let (mut found, mut failures) = examine_all(&jobs, &run, arguments.number("jobs", 2)?);
    for name in arguments.list("real", "") {
        let builds: Vec<_> = arguments.compilers()?.into_iter().flat_map(|with| arguments.builds(with)).collect();
        let result = match &*name {
            "" => Ok(Vec::new()),
            "lua" => real::lua(&builds, &run),
            "ripgrep" => real::ripgrep(&builds, &run),
            other => Err(format!("--real: {other}?")),
        };
        match result {
            Ok(more) => found.extend(more),
            Err(why) => failures.push(why),
        }
    }
    report(&arguments, found, &failures)
}

/// Minimises the first program with a wrong value that has this text in its line.
fn minimised(arguments: &Arguments, jobs: &[Job], run: &Run, part: &str) -> Result<(), String> {
    let is_meant = |row: &Row| tables::wrong(std::slice::from_ref(row)).contains(part);
    for job in jobs.iter().filter(|job| !job.program.contains("plain")) {
        let seed = job.program.split(' ').nth(1).and_then(|seed| seed.parse().ok()).ok_or("a seed")?;
        for build in &job.builds {
            let job = Job { builds: vec![build.clone()], ..job.clone() };
            if let Ok((text, rows)) = minimise(seed, arguments.number("functions", 60)?, &job, run, &is_meant) {
                println!("{text}\n{}", tables::wrong(&rows));
                return Ok(());
            }
        }
    }
    Err(format!("no wrong value with {part}"))
}

fn report(arguments: &Arguments, found: Vec<Found>, failures: &[String]) -> Result<(), String> {
    let (compared, inexact) = found.iter().fold((0, 0), |sum, of| (sum.0 + of.compared, sum.1 + of.inexact));
    let complaints: Vec<String> = found.iter().flat_map(|of| of.complaints.clone()).collect();
    let rows: Vec<_> = found.into_iter().flat_map(|of| of.rows).collect();
    if let Some(path) = arguments.0.get("json") {
        let file = fs::File::create(path).map_err(|why| format!("{path}: {why}"))?;
        let mut file = std::io::BufWriter::new(file);
        for row in &rows {
            writeln!(file, "{}", row.json()).map_err(|why| format!("{path}: {why}"))?;
        }
    }
    let wrong = tables::wrong(&rows);
    match arguments.0.get("wrong") {
        Some(path) => fs::write(path, wrong).map_err(|why| format!("{path}: {why}"))?,
        None => println!("{}", wrong.lines().take(40).collect::<Vec<_>>().join("\n")),
    }
    let total = tables::total(&rows);
    match arguments.0.get("tables") {
        Some(folder) => {
            fs::create_dir_all(folder).map_err(|why| format!("{folder}: {why}"))?;
            for (name, table) in believed::tables(&rows) {
                let path = Path::new(folder).join(format!("{name}.md"));
                fs::write(&path, table).map_err(|why| format!("{}: {why}", path.display()))?;
            }
        }
        None => println!("{}\n{}", tables::by_build(&rows), tables::by_form(&rows)),
    }
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
