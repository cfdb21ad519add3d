//! Builds programs in C, and counts what a run of one passes.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use super::programs::{Source, generated};
use super::types::Types;
use super::{members, statements};
use crate::field::places::{Candidate, Place, number_of, write_changed};
use crate::field::program::{Failure, Initial, Kind, Program, Wanted, at, dependency};
use crate::field::scopes::Scopes;
use crate::fixture::workspace;
use crate::oracle::builds::With;
use crate::oracle::real;

impl Program for Source {
    fn name(&self) -> &'static str {
        self.name
    }

    fn version(&self) -> &'static str {
        self.version
    }

    fn compilers(&self) -> &'static [With] {
        &[With::Gcc, With::Clang]
    }

    fn fetch(&self, folder: &Path) -> Result<PathBuf, String> {
        let (package, version) = self.package;
        if self.is_generated() {
            let source = folder.join("source");
            at(&source, fs::create_dir_all(&source))?;
            at(&source, write_changed(&source.join("program.c"), generated().as_bytes()))?;
            return Ok(source);
        }
        let vendored = folder.join("fetched/vendor");
        if !vendored.join(package).exists() {
            real::fetched(&folder.join("fetched"), &dependency(package, version))?;
        }
        Ok(vendored.join(package).join(self.folder))
    }

    fn candidates(&self, wanted: Wanted<'_>) -> Result<Vec<Candidate>, String> {
        let Wanted { source, folder, most } = wanted;
        let out = folder.join("counted");
        // Counts each line, with variables in memory.
        let flags = ["-O0", "-g", "--coverage"].map(str::to_owned);
        // A program adds its counts to those of the runs before.
        if out.exists() {
            at(&out, fs::remove_dir_all(&out))?;
        }
        let image = self.compile(source, With::Gcc, &flags, &[], &out).map_err(|why| format!("{why:?}"))?;
        let arguments = self.arguments(folder, &folder.join("results-counted"))?;
        let status = at(&image, Command::new(&image).args(arguments).stdin(Stdio::null()).status())?;
        if !status.success() {
            return Err(format!("{}: {status}", image.display()));
        }
        let scopes = Scopes::read(&at(&image, fs::read(&image))?, &mut Types)?;
        let passed = passed(&out)?;
        let mut files: Vec<&Path> = scopes.files().filter(|file| file.starts_with(source)).collect();
        files.sort_unstable();
        let mut candidates = Vec::new();
        for file in files {
            let Some(passed) = passed.get(file) else { continue };
            let bytes = at(file, fs::read(file))?;
            let text = String::from_utf8_lossy(&bytes);
            let lines: Vec<&str> = text.lines().collect();
            let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(end, _)| end + 1);
            let starts: Vec<usize> = std::iter::once(0).chain(ends).collect();
            for line in statements::of_c(&text) {
                if !passed.get(&line).is_some_and(|count| (1..=most).contains(count)) {
                    continue;
                }
                let Some((function, variables)) = scopes.at(file, line) else { continue };
                let index = line as usize - 1;
                let text = lines.get(index).copied().unwrap_or_default();
                let arguments = members::arguments(text, &variables);
                let wholes = members::wholes(text, &variables);
                let Some(offset) = starts.get(index).copied() else { continue };
                candidates.push(Candidate {
                    file: file.strip_prefix(source).unwrap_or(file).to_owned(),
                    offset,
                    line,
                    column: None,
                    function: function.to_owned(),
                    arguments,
                    wholes,
                });
            }
        }
        Ok(candidates)
    }

    fn spare(&self, _: usize) -> usize {
        0
    }

    fn header(&self) -> &'static str {
        "#include <simple_marker.h>\n"
    }

    fn marker(&self, place: &Place, prints: bool) -> String {
        format!("simple_mark({});", place.inside(prints))
    }

    fn build(&self, source: &Path, with: With, kind: Kind<'_>, folder: &Path) -> Result<PathBuf, Failure> {
        let include = |folder: &str| format!("-I{}", workspace().join(folder).display());
        let out = folder.join(format!("{}-{kind}", with.name()));
        match kind {
            Kind::Twin(initial) => {
                let mut flags = vec!["-O0".to_owned(), include("tests/twin/c")];
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
                self.compile(source, with, &flags, &[workspace().join("tests/twin/c/twin.c")], &out)
            }
            Kind::Optimised(level) => {
                let flags = [format!("-O{level}"), "-g".to_owned(), include("markers/include")];
                self.compile(source, with, &flags, &[], &out)
            }
        }
    }

    fn arguments(&self, _: &Path, results: &Path) -> Result<Vec<String>, String> {
        if self.is_generated() {
            return Ok(vec![ROUNDS.to_owned()]);
        }
        let input = workspace().join("tests/field").join(self.input);
        let mut arguments = Vec::new();
        if !self.input.is_empty() {
            arguments.push(input.to_string_lossy().into_owned());
        }
        arguments.push(results.to_string_lossy().into_owned());
        Ok(arguments)
    }

    fn prints_results(&self) -> bool {
        self.is_generated()
    }
}

/// How often a generated program calls each function.
const ROUNDS: &str = "30";

impl Source {
    fn is_generated(&self) -> bool {
        self.package.0.is_empty()
    }

    /// The files to compile, of which markers may be in those of the program.
    fn files(&self, source: &Path) -> Result<Vec<PathBuf>, String> {
        let mut files = Vec::new();
        for name in self.sources {
            let path = source.join(name);
            match path.is_dir() {
                false => files.push(path),
                true => {
                    let paths = at(&path, fs::read_dir(&path))?.filter_map(|entry| Some(entry.ok()?.path()));
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

    /// Compiles it with these flags and `more` files, and returns the path of the image in `out`.
    fn compile(
        &self,
        source: &Path,
        with: With,
        flags: &[String],
        more: &[PathBuf],
        out: &Path,
    ) -> Result<PathBuf, Failure> {
        at(out, fs::create_dir_all(out))?;
        let mut files = self.files(source)?;
        files.extend_from_slice(more);
        let include = format!("-I{}", source.display());
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
                        command.current_dir(out).env("LC_ALL", "C").args(self.flags).args(["-w", &include]);
                        command.args(flags).arg("-c").arg(file).arg("-o").arg(object);
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
            return Err(if markers.is_empty() { Failure::Other(errors) } else { Failure::Markers(markers, errors) });
        }
        let image = out.join(self.name);
        let mut command = Command::new(with.name());
        command.args(&objects).arg("-o").arg(&image).args(self.libraries);
        command.args(flags.iter().filter(|flag| *flag == "--coverage"));
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
        found.extend(text.lines().nth(number.saturating_sub(1)).and_then(number_of));
    }
    found
}

/// How often each line of each file was passed in a run of an image in this folder, which was built
/// to count.
fn passed(folder: &Path) -> Result<HashMap<PathBuf, HashMap<u32, u64>>, String> {
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
