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
//! each site, `--wrong` a line for each argument with a wrong value. `--tables` writes the tables
//! of `docs/measured/truth.md` there instead of printing others. `--keep` leaves sources and images
//! there. `--minimise TEXT` prints the smallest program that it finds with a wrong value whose
//! line, as `--wrong` writes it, has this text: `--minimise "stack slot"`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, process};

use simple_markers_tests::arguments::Arguments;
use simple_markers_tests::oracle::builds::{Options, With};
use simple_markers_tests::oracle::corpus::{Generated, Job, Run, examine_all};
use simple_markers_tests::oracle::examine::{Found, absolute};
use simple_markers_tests::oracle::minimise::minimise;
use simple_markers_tests::oracle::row::Row;
use simple_markers_tests::oracle::{believed, real, tables};

/// The options.
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

fn jobs(arguments: &Arguments, folder: &Path) -> Result<Vec<Job>, String> {
    let compilers = arguments.compilers()?;
    if arguments.given("real").is_some() && arguments.given("seeds").is_none() {
        return Ok(Vec::new());
    }
    if let Some(path) = arguments.given("program") {
        let source = absolute(Path::new(path));
        let fitting = compilers.into_iter().filter(|with| with.compiles(&source));
        let job = |with| Job {
            program: path.to_owned(),
            variant: "source".to_owned(),
            source: source.clone(),
            with,
            builds: builds(arguments, with),
        };
        return Ok(fitting.map(job).collect());
    }
    let generated = Generated {
        seeds: arguments.seeds("0..4")?,
        functions: arguments.number("functions", 60)?,
        kinds: arguments.list("kinds", "plain,rich,used"),
        variants: arguments.list("variants", "place,anchor"),
    };
    generated.jobs(folder, &compilers, &|with| builds(arguments, with))
}

fn builds(arguments: &Arguments, with: With) -> Vec<Options> {
    arguments.builds(with, "1,2,3,s,g", "4,5")
}

fn run(arguments: &Arguments, folder: &Path) -> Result<Run, String> {
    let words = match arguments.given("args") {
        Some(words) => words.split_whitespace().map(str::to_owned).collect(),
        None if arguments.given("program").is_some() => Vec::new(),
        None => vec![arguments.number("rounds", 60)?.to_string()],
    };
    Ok(Run {
        arguments: words,
        stdin: arguments.given("stdin").map(PathBuf::from),
        most: arguments.number("most", 100)?,
        folder: folder.to_owned(),
        keeps: arguments.given("keep").is_some(),
    })
}

fn measure() -> Result<(), String> {
    let arguments = Arguments::parse(&KNOWN)?;
    let temporary = tempfile::tempdir().map_err(|why| why.to_string())?;
    let folder = arguments.given("keep").map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    fs::create_dir_all(&folder).map_err(|why| why.to_string())?;
    let folder = absolute(&folder);
    let (jobs, run) = (jobs(&arguments, &folder)?, run(&arguments, &folder)?);
    if let Some(part) = arguments.given("minimise") {
        return minimised(&arguments, &jobs, &run, part);
    }
    let (mut found, mut failures) = examine_all(&jobs, &run, arguments.number("jobs", 2)?);
    for name in arguments.list("real", "") {
        let builds: Vec<_> = arguments.compilers()?.into_iter().flat_map(|with| builds(&arguments, with)).collect();
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
    if let Some(path) = arguments.given("json") {
        let file = fs::File::create(path).map_err(|why| format!("{path}: {why}"))?;
        let mut file = std::io::BufWriter::new(file);
        for row in &rows {
            writeln!(file, "{}", row.json()).map_err(|why| format!("{path}: {why}"))?;
        }
    }
    let wrong = tables::wrong(&rows);
    match arguments.given("wrong") {
        Some(path) => fs::write(path, wrong).map_err(|why| format!("{path}: {why}"))?,
        None => println!("{}", wrong.lines().take(40).collect::<Vec<_>>().join("\n")),
    }
    let total = tables::total(&rows);
    match arguments.given("tables") {
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
