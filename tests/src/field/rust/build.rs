//! Builds programs in Rust, and counts what a run of one passes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::messages::Refused;
use super::programs::Packages;
use super::statements::{self, Statement};
use super::types::{self, Types};
use crate::field::places::{Candidate, Place, with_lines, write_changed};
use crate::field::program::{Failure, Kind, Program, Wanted, at, dependency};
use crate::field::scopes::Scopes;
use crate::fixture::{self, workspace};
use crate::oracle::builds::With;
use crate::oracle::real;

/// The crate that the markers are of.
#[derive(Clone, Copy, Debug)]
enum Markers {
    Real,
    Printing,
}

impl Markers {
    /// The dependency of a package.
    fn dependency(self) -> String {
        let (package, path) = match self {
            Self::Real => ("simple-markers", "markers"),
            Self::Printing => ("simple-markers-twin", "tests/twin/rust"),
        };
        format!("[dependencies.simple-markers]\npackage = {package:?}\npath = {:?}\n", workspace().join(path))
    }
}

/// The profiles. The results of arithmetic do not depend on the profile.
const PROFILES: &str = "[profile.release]\ndebug = 2\n\
                        [profile.dev]\noverflow-checks = false\ndebug-assertions = false\n\
                        [profile.dev.package.\"*\"]\ndebug = false\n\
                        [profile.dev.package.simple-markers-twin]\nopt-level = 3\n";

impl Program for Packages {
    fn name(&self) -> &'static str {
        self.name
    }

    fn version(&self) -> &'static str {
        self.version
    }

    fn compilers(&self) -> &'static [With] {
        &[With::Rustc]
    }

    fn fetch(&self, folder: &Path) -> Result<PathBuf, String> {
        let source = folder.join("source");
        if source.join("Cargo.lock").exists() {
            return Ok(source);
        }
        let fetched = folder.join("fetched");
        let dependencies: Vec<String> = self.packages().map(|(name, version)| dependency(name, version)).collect();
        let vendored = real::fetched(&fetched, &dependencies.join("\n"))?;
        for (package, _) in self.packages() {
            real::copy(&vendored.join(package), &source.join(package))?;
            // `smark check --fix` does not change what cargo vendored, but this is a copy.
            let checksum = source.join(package).join(".cargo-checksum.json");
            at(&checksum, fs::remove_file(&checksum))?;
            declare_markers(&source.join(package))?;
        }
        let patches: String =
            self.libraries.iter().map(|(name, _)| format!("{name} = {{ path = {name:?} }}\n")).collect();
        let members: Vec<&str> = self.packages().map(|(name, _)| name).collect();
        let manifest =
            format!("[workspace]\nresolver = \"2\"\nmembers = {members:?}\n[patch.crates-io]\n{patches}{PROFILES}");
        at(&source, fs::write(source.join("Cargo.toml"), manifest))?;
        at(&source, fs::copy(fetched.join("Cargo.lock"), source.join("Cargo.lock")))?;
        // Cargo has the other packages too, and those for other systems are large.
        at(&vendored, fs::remove_dir_all(&vendored))?;
        Ok(source)
    }

    fn candidates(&self, wanted: Wanted<'_>) -> Result<Vec<Candidate>, String> {
        let Wanted { source, folder, most } = wanted;
        let counted = folder.join("counted");
        fresh(source, &counted)?;
        let mut all = Vec::new();
        for file in self.files(source)? {
            let path = source.join(&file);
            let text = at(&path, fs::read_to_string(&path))?;
            let statements = statements::of_rust(&text).map_err(|why| format!("{}: {why}", path.display()))?;
            let first = all.len();
            let lines = statements
                .iter()
                .enumerate()
                .map(|(index, statement)| (statement.offset, format!("::simple_markers::count({});", first + index)));
            let path = counted.join(&file);
            at(&path, fs::write(&path, with_lines(text.as_bytes(), lines.collect())))?;
            all.extend(statements.into_iter().map(|statement| (file.clone(), statement)));
        }
        let image = self.cargo(&counted, Markers::Printing, "dev", folder, &[]).map_err(|why| format!("{why:?}"))?;
        let counts = folder.join("counts");
        let mut command = Command::new(&image);
        command.args(self.arguments(folder, Path::new(""))?).env("SIMPLE_MARKER_COUNTS", &counts);
        let status = at(&image, command.stdin(Stdio::null()).stdout(Stdio::null()).status())?;
        if !status.success() {
            return Err(format!("{}: {status}", image.display()));
        }
        let counts = at(&counts, fs::read_to_string(&counts))?;
        let counts: Vec<u64> = counts.lines().map_while(|line| line.parse().ok()).collect();
        let mut types = Types::new(self.crates());
        let scopes = Scopes::read(&at(&image, fs::read(&image))?, &mut types)?;
        let numbered = numbered(&counted, self.files(source)?)?;
        let mut candidates = Vec::new();
        for (number, (file, Statement { offset, line, column, function })) in all.into_iter().enumerate() {
            if !counts.get(number).is_some_and(|count| (1..=most).contains(count)) {
                continue;
            }
            // The variables are those in scope at the call that counts.
            let line_of_call = numbered.get(&number).copied().unwrap_or(0);
            let Some((_, variables)) = scopes.at(&counted.join(&file), line_of_call) else { continue };
            let arguments = types::arguments(&variables);
            let wholes = types::wholes(&variables);
            if arguments.is_empty() && wholes.is_empty() {
                continue;
            }
            let function = format!("{} {function}", file.display());
            candidates.push(Candidate { file, offset, line, column: Some(column), function, arguments, wholes });
        }
        Ok(candidates)
    }

    fn spare(&self, count: usize) -> usize {
        count / 3
    }

    fn header(&self) -> &'static str {
        ""
    }

    fn marker(&self, place: &Place, prints: bool) -> String {
        format!("::simple_markers::simple_mark!({});", place.inside(prints))
    }

    fn build(&self, source: &Path, _: With, kind: Kind<'_>, folder: &Path) -> Result<PathBuf, Failure> {
        match kind {
            Kind::Twin(_) => self.cargo(source, Markers::Printing, "dev", folder, &[("DEV_DEBUG", "false")]),
            Kind::Optimised(level) => {
                let (level, variant) = level.split_once('+').unwrap_or((level, ""));
                let mut variables = vec![("RELEASE_OPT_LEVEL", level)];
                match variant {
                    "" => {}
                    "one" => variables.push(("RELEASE_CODEGEN_UNITS", "1")),
                    "thin" | "fat" => variables.push(("RELEASE_LTO", variant)),
                    _ => return Err(Failure::Other(format!("the variant {variant}? They are one, thin, fat"))),
                }
                self.cargo(source, Markers::Real, "release", folder, &variables)
            }
        }
    }

    fn arguments(&self, folder: &Path, _: &Path) -> Result<Vec<String>, String> {
        let input = folder.join("input");
        at(&input, (self.input)(&input))?;
        let mut arguments: Vec<String> = self.arguments.iter().map(|argument| (*argument).to_owned()).collect();
        if !self.script.is_empty() {
            arguments.push(workspace().join("tests/field").join(self.script).to_string_lossy().into_owned());
        }
        arguments.push(input.to_string_lossy().into_owned());
        Ok(arguments)
    }

    fn prints_results(&self) -> bool {
        true
    }
}

impl Packages {
    /// The packages with markers and their versions, the program first.
    fn packages(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        std::iter::once((self.name, self.version)).chain(self.libraries.iter().copied())
    }

    /// The crates with markers.
    fn crates(&self) -> impl Iterator<Item = String> {
        std::iter::once(self.image)
            .chain(self.libraries.iter().map(|(name, _)| *name))
            .map(|name| name.replace('-', "_"))
    }

    /// The sources, relative to their folder.
    fn files(&self, source: &Path) -> Result<Vec<PathBuf>, String> {
        let mut found = Vec::new();
        let mut folders: Vec<PathBuf> = self.libraries.iter().map(|(name, _)| source.join(name).join("src")).collect();
        folders.push(source.join(self.name).join(self.sources));
        while let Some(folder) = folders.pop() {
            for entry in at(&folder, fs::read_dir(&folder))? {
                let path = at(&folder, entry)?.path();
                match path.is_dir() {
                    true => folders.push(path),
                    false if path.extension().is_some_and(|it| it == "rs") => {
                        found.push(path.strip_prefix(source).unwrap_or(&path).to_owned());
                    }
                    false => {}
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// Builds the workspace in a folder, and returns the path of the image. `folder` keeps what cargo
    /// builds; `variables` are settings of the profile.
    fn cargo(
        &self,
        source: &Path,
        markers: Markers,
        profile: &str,
        folder: &Path,
        variables: &[(&str, &str)],
    ) -> Result<PathBuf, Failure> {
        for (package, _) in self.packages() {
            let path = source.join(package).join("Cargo.toml");
            let text = at(&path, fs::read_to_string(&path))?;
            let text = text.split("[dependencies.simple-markers]").next().unwrap_or_default();
            let text = format!("{}\n\n{}", text.trim_end(), markers.dependency());
            at(&path, write_changed(&path, text.as_bytes()))?;
        }
        let target = folder.join("target");
        let build = |offline: &[&str]| {
            let mut cargo = fixture::cargo();
            cargo.current_dir(source).args(["build", "--quiet", "--message-format", "json", "--package", self.name]);
            cargo.args(["--bin", self.image, "--profile", profile, "--no-default-features"]);
            cargo.args(["--features", self.features]).args(offline);
            cargo.env("CARGO_TARGET_DIR", &target).env("CARGO_INCREMENTAL", "0").env("RUSTFLAGS", "--cap-lints=allow");
            for (name, value) in variables {
                cargo.env(format!("CARGO_PROFILE_{name}"), value);
            }
            cargo.output().map_err(|why| format!("{cargo:?}: {why}"))
        };
        let mut output = build(&["--offline"])?;
        // Nothing was compiled: a dependency of the markers is not there yet.
        if !output.status.success() && output.stdout.is_empty() {
            output = build(&[])?;
        }
        if output.status.success() {
            let folder = if profile == "dev" { "debug" } else { profile };
            return Ok(target.join(folder).join(self.image));
        }
        let refused = Refused::read(&output.stdout, source);
        if refused.markers.is_empty() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Failure::Other(format!("{}\n{said}", refused.others.join("\n"))));
        }
        Err(Failure::Markers(refused.markers, String::from_utf8_lossy(&output.stdout).into_owned()))
    }
}

/// Lets a package of the edition 2015 name the crate of the markers: there it has to be declared.
fn declare_markers(package: &Path) -> Result<(), String> {
    let manifest = package.join("Cargo.toml");
    if at(&manifest, fs::read_to_string(&manifest))?.contains("\nedition = ") {
        return Ok(());
    }
    for root in ["src/main.rs", "src/lib.rs"].map(|name| package.join(name)).iter().filter(|root| root.exists()) {
        let text = at(root, fs::read_to_string(root))?;
        at(root, fs::write(root, format!("{text}\nextern crate simple_markers;\n")))?;
    }
    Ok(())
}

/// Copies a folder to one that has nothing else.
fn fresh(from: &Path, to: &Path) -> Result<(), String> {
    if to.exists() {
        at(to, fs::remove_dir_all(to))?;
    }
    real::copy(from, to)
}

/// The line of each call that counts.
fn numbered(folder: &Path, files: Vec<PathBuf>) -> Result<BTreeMap<usize, u32>, String> {
    let mut found = BTreeMap::new();
    for file in files {
        let path = folder.join(file);
        let text = at(&path, fs::read_to_string(&path))?;
        for (line, text) in (1..).zip(text.lines()) {
            let number = text.trim_start().strip_prefix("::simple_markers::count(");
            let number = number.and_then(|rest| rest.split(')').next()?.parse().ok());
            found.extend(number.map(|number: usize| (number, line)));
        }
    }
    Ok(found)
}
