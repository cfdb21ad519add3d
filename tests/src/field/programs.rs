//! The programs in C: their sources, and how they are built.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use crate::fixture::workspace;
use crate::oracle::builds::With;
use crate::oracle::real;

/// A program from a crate that bundles sources in C, and the driver in `tests/field/` that calls it.
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// Its own version.
    pub version: &'static str,
    /// The crate, and the version of that.
    package: (&'static str, &'static str),
    /// The folder of the sources in the crate.
    folder: &'static str,
    /// The sources, or folders of them.
    sources: &'static [&'static str],
    flags: &'static [&'static str],
    libraries: &'static [&'static str],
    /// The driver; the program has a `main` of its own if it is empty.
    driver: &'static str,
    /// The input in `tests/field/`.
    input: &'static str,
}

/// All of them.
pub const PROGRAMS: [Program; 3] = [
    Program {
        name: "sqlite",
        version: "3.50.2",
        package: ("libsqlite3-sys", "0.35.0"),
        folder: "sqlite3",
        sources: &["sqlite3.c"],
        flags: &["-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"],
        libraries: &["-lm"],
        driver: "sqlite.c",
        input: "sqlite.sql",
    },
    Program {
        name: "quickjs",
        version: "0.11.0",
        package: ("rquickjs-sys", "0.11.0"),
        folder: "quickjs",
        sources: &[
            "cutils.c",
            "dtoa.c",
            "libregexp.c",
            "libunicode.c",
            "quickjs.c",
            "quickjs-libc.c",
            "qjs.c",
            "gen/repl.c",
            "gen/standalone.c",
        ],
        flags: &["-D_GNU_SOURCE"],
        libraries: &["-lm", "-ldl", "-pthread"],
        driver: "",
        input: "quickjs.js",
    },
    Program {
        name: "zstd",
        version: "1.5.7",
        package: ("zstd-sys", "2.0.16"),
        folder: "zstd/lib",
        sources: &["common", "compress", "decompress", "dictBuilder"],
        flags: &["-DZSTD_DISABLE_ASM"],
        libraries: &[],
        driver: "zstd.c",
        input: "",
    },
];

/// The value of a variable that the program does not initialise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initial {
    /// 0 in each byte.
    Zero,
    /// Another byte, which depends on the compiler.
    Pattern,
}

/// What a program is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'a> {
    /// Without markers and optimisation: counts how often each line is passed.
    Counted,
    /// The markers print.
    Twin(Initial),
    /// The program that is watched, with this level.
    Optimised(&'a str),
}

/// Why a program was not built.
#[derive(Debug)]
pub enum Failure {
    /// These markers do not compile.
    Markers(HashSet<usize>),
    /// Another reason.
    Other(String),
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self::Other(why)
    }
}

impl Program {
    /// Fetches the sources into this folder, and returns theirs.
    ///
    /// # Errors
    ///
    /// Cargo cannot fetch the crate.
    pub fn fetch(&self, folder: &Path) -> Result<PathBuf, String> {
        let (package, version) = self.package;
        let vendored = folder.join("fetched/vendor");
        if !vendored.join(package).exists() {
            real::fetched(
                &folder.join("fetched"),
                &format!("{package} = {{ version = \"={version}\", default-features = false }}"),
            )?;
        }
        Ok(vendored.join(package).join(self.folder))
    }

    /// The files to compile, of which markers may be in those of the program.
    fn files(&self, source: &Path) -> Result<Vec<PathBuf>, String> {
        let mut files = Vec::new();
        for name in self.sources {
            let path = source.join(name);
            match path.is_dir() {
                false => files.push(path),
                true => {
                    let entries = fs::read_dir(&path).map_err(|why| format!("{}: {why}", path.display()))?;
                    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
                    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|it| it == "c")).collect();
                    paths.sort();
                    files.extend(paths);
                }
            }
        }
        if !self.driver.is_empty() {
            files.push(workspace().join("tests/field").join(self.driver));
        }
        Ok(files)
    }

    /// The arguments of a run that writes its results to this file.
    #[must_use]
    pub fn arguments(&self, results: &Path) -> Vec<String> {
        let input = workspace().join("tests/field").join(self.input);
        let mut arguments = Vec::new();
        if !self.input.is_empty() {
            arguments.push(input.to_string_lossy().into_owned());
        }
        arguments.push(results.to_string_lossy().into_owned());
        arguments
    }

    /// Builds it, and returns the path of the image in `out`.
    ///
    /// # Errors
    ///
    /// See [`Failure`].
    pub fn build(&self, source: &Path, with: With, kind: Kind<'_>, out: &Path) -> Result<PathBuf, Failure> {
        fs::create_dir_all(out).map_err(|why| format!("{}: {why}", out.display()))?;
        let mut flags: Vec<String> = self.flags.iter().chain(&["-w"]).map(|flag| (*flag).to_owned()).collect();
        let mut files = self.files(source)?;
        flags.push(format!("-I{}", source.display()));
        let include = |folder: &str| format!("-I{}", workspace().join(folder).display());
        match kind {
            Kind::Counted => flags.extend(["-O0", "-g", "--coverage"].map(str::to_owned)),
            Kind::Twin(initial) => {
                flags.extend(["-O0".to_owned(), include("tests/twin/c")]);
                match (with, initial) {
                    (_, Initial::Pattern) => flags.push("-ftrivial-auto-var-init=pattern".to_owned()),
                    (With::Clang, Initial::Zero) => {
                        flags.push("-ftrivial-auto-var-init=zero".to_owned());
                        flags.push(
                            "-enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang".to_owned(),
                        );
                    }
                    (_, Initial::Zero) => flags.push("-ftrivial-auto-var-init=zero".to_owned()),
                }
                files.push(workspace().join("tests/twin/c/twin.c"));
            }
            Kind::Optimised(level) => flags.extend([format!("-O{level}"), "-g".to_owned(), include("markers/include")]),
        }
        let objects: Vec<PathBuf> = (0..files.len()).map(|number| out.join(format!("{number}.o"))).collect();
        let next = AtomicUsize::new(0);
        let errors = Mutex::new(String::new());
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let (Some(file), Some(object)) = (files.get(number), objects.get(number)) else { return };
                        let mut command = Command::new(with.name());
                        command
                            .current_dir(out)
                            .env("LC_ALL", "C")
                            .args(&flags)
                            .arg("-c")
                            .arg(file)
                            .arg("-o")
                            .arg(object);
                        let failed = match command.output() {
                            Ok(output) if output.status.success() => continue,
                            Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
                            Err(why) => format!("{command:?}: {why}"),
                        };
                        errors.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push_str(&failed);
                    }
                });
            }
        });
        let errors = errors.into_inner().unwrap_or_default();
        if !errors.is_empty() {
            let markers = refused(&errors);
            return Err(if markers.is_empty() { Failure::Other(errors) } else { Failure::Markers(markers) });
        }
        let image = out.join(self.name);
        let mut command = Command::new(with.name());
        command.args(&objects).arg("-o").arg(&image).args(self.libraries);
        if kind == Kind::Counted {
            command.arg("--coverage");
        }
        real::run(&mut command)?;
        Ok(image)
    }
}

/// The numbers of the markers that a compiler refuses.
fn refused(errors: &str) -> HashSet<usize> {
    let mut files: HashMap<&str, String> = HashMap::new();
    let mut found = HashSet::new();
    for line in errors.lines().filter(|line| line.contains("error:")) {
        let mut fields = line.split(':');
        let (Some(path), Some(Ok(number))) = (fields.next(), fields.next().map(str::parse::<usize>)) else { continue };
        let text = files.entry(path).or_insert_with(|| fs::read_to_string(path).unwrap_or_default());
        let marked = text.lines().nth(number.saturating_sub(1)).unwrap_or_default();
        let name = marked.strip_prefix("simple_mark(field:m").and_then(|rest| rest.split(',').next());
        found.extend(name.and_then(|name| name.parse::<usize>().ok()));
    }
    found
}

/// How often each line of each file was passed in a run of an image in this folder, which was built
/// as [`Kind::Counted`].
///
/// # Errors
///
/// `gcov` fails.
pub fn passed(folder: &Path) -> Result<HashMap<PathBuf, HashMap<u32, u64>>, String> {
    let entries = fs::read_dir(folder).map_err(|why| why.to_string())?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let notes: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|it| it == "gcda")).collect();
    let mut passed: HashMap<PathBuf, HashMap<u32, u64>> = HashMap::new();
    for note in notes {
        let mut gcov = Command::new("gcov");
        gcov.current_dir(folder).args(["--json-format", "--stdout"]).arg(&note);
        let output = gcov.output().map_err(|why| format!("{gcov:?}: {why}"))?;
        for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let json: serde_json::Value = serde_json::from_slice(line).map_err(|why| format!("{gcov:?}: {why}"))?;
            for file in json["files"].as_array().into_iter().flatten() {
                let of = passed.entry(PathBuf::from(file["file"].as_str().unwrap_or_default())).or_default();
                for line in file["lines"].as_array().into_iter().flatten() {
                    let number = line["line_number"].as_u64().and_then(|number| u32::try_from(number).ok());
                    *of.entry(number.unwrap_or(0)).or_default() += line["count"].as_u64().unwrap_or(0);
                }
            }
        }
    }
    Ok(passed)
}
