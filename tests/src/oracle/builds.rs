//! Compiles a source with the real markers, in many ways, and once as the twin.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use super::row::Build;
use crate::header::{Compiler, Language};
use crate::matrix::{self, Markers, Toolchain};
use crate::{fixture, tools};

/// A compiler, as the command line names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "they say it")]
pub enum With {
    Rustc,
    Gcc,
    Clang,
}

impl With {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Rustc, Self::Gcc, Self::Clang];

    /// The command.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rustc => "rustc",
            Self::Gcc => "gcc",
            Self::Clang => "clang",
        }
    }

    /// The first line of what `--version` prints; empty if it cannot be run.
    #[must_use]
    pub fn version(self) -> &'static str {
        static ALL: LazyLock<[String; 3]> = LazyLock::new(|| {
            With::ALL.map(|with| {
                let output = Command::new(with.name()).arg("--version").output();
                let text =
                    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
                text.lines().next().unwrap_or_default().to_owned()
            })
        });
        Self::ALL.iter().zip(&*ALL).find(|(with, _)| **with == self).map_or("", |(_, version)| version)
    }

    /// The levels that optimise.
    #[must_use]
    pub fn levels(self) -> &'static [&'static str] {
        match self {
            Self::Rustc => &["1", "2", "3", "s"],
            Self::Gcc | Self::Clang => &["1", "2", "3", "s", "g"],
        }
    }

    /// Whether it compiles this source.
    #[must_use]
    pub fn compiles(self, source: &Path) -> bool {
        (self == Self::Rustc) == source.extension().is_some_and(|extension| extension == "rs")
    }

    /// Kinds of link-time optimisation. gcc has only one.
    #[must_use]
    pub fn has_lto(self, kind: &str) -> bool {
        !(self == Self::Gcc && kind == "thin")
    }
}

/// The options of one build.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// The compiler.
    pub with: With,
    /// `-O`, or `opt-level`.
    pub level: String,
    /// `none`, `thin` or `fat`.
    pub lto: String,
    /// The version of DWARF.
    pub dwarf: u8,
}

impl Options {
    /// The words for the tables.
    #[must_use]
    pub fn build(&self, program: &str, variant: &str) -> Build {
        Build {
            program: program.to_owned(),
            compiler: self.with.name().to_owned(),
            producer: self.with.version().to_owned(),
            level: self.level.clone(),
            lto: self.lto.clone(),
            dwarf: self.dwarf,
            variant: variant.to_owned(),
        }
    }
}

/// The crate `simple-markers` and its twin, built once.
struct RustCrates {
    toolchain: Toolchain,
    dependencies: PathBuf,
    twin: PathBuf,
}

static RUST: LazyLock<RustCrates> = LazyLock::new(|| {
    let toolchain = Toolchain::new();
    let target = fixture::build(&["--offline", "--package", "simple-markers-twin", "--lib"]);
    let folder = target.join("debug");
    RustCrates { toolchain, dependencies: folder.join("deps"), twin: folder.join("libsimple_markers_twin.rlib") }
});

/// Compiles a program with the real markers. The first source is the program. In C, the others are
/// its other files; in Rust, they are crates that it uses.
///
/// # Errors
///
/// The compiler fails.
pub fn program(sources: &[PathBuf], options: &Options, image: &Path) -> Result<(), String> {
    let dwarf = options.dwarf;
    match options.with {
        With::Rustc => {
            let (source, libraries) = sources.split_first().ok_or("no source")?;
            let build = RUST.toolchain.build(Markers::On);
            let level = format!("-Copt-level={}", options.level);
            let version = format!("-Cdwarf-version={dwarf}");
            let lto = format!("-Clto={}", options.lto);
            let mut words = vec!["-Cdebuginfo=2", "--cap-lints=allow", &level, &version];
            for library in libraries {
                run(build.compilation(library, &words).arg("--crate-type=rlib"))?;
            }
            if options.lto != "none" {
                words.push(&lto);
            }
            let mut command = build.compilation(source, &words);
            command.args(libraries.iter().filter_map(|library| external(library)));
            run(command.arg("--crate-type=bin").arg("-o").arg(image))
        }
        With::Gcc | With::Clang => {
            let mut command = c_compiler(options.with, sources, "markers/include");
            command.args([format!("-O{}", options.level), format!("-gdwarf-{dwarf}")]);
            match (options.with, &*options.lto) {
                (_, "none") => {}
                (With::Gcc, _) => drop(command.arg("-flto")),
                (_, kind) => {
                    let kind = if kind == "fat" { "full" } else { kind };
                    command.args([&format!("-flto={kind}"), "-fuse-ld=lld"]);
                }
            }
            run(command.arg("-o").arg(image).args(sources).args(["-pthread", "-lm"]))
        }
    }
}

/// Compiles the twin of a program, as [`program`] does.
///
/// # Errors
///
/// The compiler fails.
pub fn twin(sources: &[PathBuf], with: With, image: &Path) -> Result<(), String> {
    match with {
        With::Rustc => {
            let (source, libraries) = sources.split_first().ok_or("no source")?;
            let folder = tempfile::tempdir().map_err(|why| why.to_string())?;
            let compilation = |source: &Path, kind: &str| {
                let mut command = matrix::rustc();
                command.current_dir(fixture::workspace()).arg(source).args(["--edition=2024", "--crate-type", kind]);
                command.args(["--cap-lints=allow", "-Copt-level=0", "-Coverflow-checks=no", "-Cdebug-assertions=no"]);
                command.arg(format!("--extern=simple_markers={}", RUST.twin.display()));
                command.arg(format!("-Ldependency={}", RUST.dependencies.display())).arg("-L").arg(folder.path());
                command
            };
            for library in libraries {
                run(compilation(library, "rlib").arg("--out-dir").arg(folder.path()))?;
            }
            let mut command = compilation(source, "bin");
            command.args(libraries.iter().filter_map(|library| external(library)));
            run(command.arg("-o").arg(image))
        }
        With::Gcc | With::Clang => {
            let mut command = c_compiler(with, sources, "tests/twin/c");
            command.arg("-O0").arg("-o").arg(image).args(sources);
            // Not as C++, in which the sources may be.
            command.args(["-x", "c", "tests/twin/c/twin.c", "-x", "none", "-pthread", "-lm"]);
            run(&mut command)
        }
    }
}

/// The option that names a crate.
fn external(library: &Path) -> Option<String> {
    Some(format!("--extern={}", library.file_stem()?.to_str()?))
}

fn c_compiler(with: With, sources: &[PathBuf], include: &str) -> Command {
    let is_cxx = sources.iter().any(|source| source.extension().is_some_and(|extension| extension == "cc"));
    let language = if is_cxx { Language::Cxx } else { Language::C };
    let compiler = if with == With::Gcc { Compiler::Gcc } else { Compiler::Clang };
    let real = compiler.command(language);
    let mut command = Command::new(real.get_program());
    command.current_dir(fixture::workspace()).env("LC_ALL", "C").args(["-w", "-I", include]);
    command
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|why| format!("{command:?}: {why}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
}

/// Whether the compiler is installed.
#[must_use]
pub fn is_installed(with: With) -> bool {
    with == With::Rustc || tools::find(with.name()).is_some()
}
