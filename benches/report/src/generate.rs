//! Generated crates and C files, and their compilation.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::contender::Contender;

/// This workspace's folder.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A generated crate.
pub(crate) struct Package {
    folder: PathBuf,
    name: String,
}

/// How a crate is compiled: arguments of cargo and variables of its environment.
#[derive(Clone, Copy)]
pub(crate) struct Mode<'a> {
    pub(crate) arguments: &'a [&'a str],
    pub(crate) variables: &'a [(&'a str, &'a str)],
}

impl Package {
    /// The crate `name` with the dependency of `contender` and more `dependencies`. `kind` is its
    /// `crate-type`. Versions are those in the lock file of this workspace.
    pub(crate) fn new(
        folder: &Path,
        name: &str,
        kind: &str,
        contender: &Contender,
        dependencies: &str,
        source: &str,
    ) -> Result<Self> {
        let folder = folder.join(name);
        let markers = std::env::var("MARKERS").map_or_else(|_| workspace().join("../markers"), PathBuf::from);
        let dependency = contender.dependency.replace("{markers}", &markers.display().to_string());
        let manifest = format!(
            "[package]\nname = \"{name}\"\nedition = \"2024\"\n\n[lib]\ncrate-type = [\"{kind}\"]\n\n[dependencies]\n\
             {dependency}\n{dependencies}\n\n[workspace]\n"
        );
        fs::create_dir_all(folder.join("src"))?;
        fs::write(folder.join("Cargo.toml"), manifest)?;
        fs::write(folder.join("src/lib.rs"), source)?;
        fs::copy(workspace().join("Cargo.lock"), folder.join("Cargo.lock")).context("Cargo.lock of the benchmarks")?;
        Ok(Self { folder, name: name.to_owned() })
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs cargo; returns its target folder.
    pub(crate) fn cargo(&self, mode: Mode<'_>) -> Result<PathBuf> {
        let target = self.folder.with_file_name("target");
        let mut command = Command::new("cargo");
        command.args(mode.arguments).arg("--quiet").current_dir(&self.folder);
        command.env("CARGO_TARGET_DIR", &target).env("CARGO_INCREMENTAL", "0").envs(mode.variables.iter().copied());
        run(&mut command)?;
        Ok(target)
    }

    /// Compiles it as a `cdylib` in release mode; returns the file.
    pub(crate) fn library(&self, variables: &[(&str, &str)]) -> Result<PathBuf> {
        let target = self.cargo(Mode { arguments: &["build", "--release"], variables })?;
        Ok(target.join(format!("release/lib{}.so", self.name)))
    }

    /// Writes `source`. The next build compiles it even if it is unchanged.
    pub(crate) fn write(&self, source: &str) -> Result<()> {
        fs::write(self.folder.join("src/lib.rs"), source).context("cannot write the source")
    }
}

/// Compiles `source` as C with the points of `contender` (`NONE`, `MARK`, ..) to a shared library;
/// returns the file.
pub(crate) fn c_library(
    folder: &Path,
    compiler: &str,
    contender: &str,
    flags: &[&str],
    name: &str,
    source: &str,
) -> Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let base = format!("{name}_{compiler}_{}{}", contender.to_lowercase(), flags.concat());
    let (input, output) = (folder.join(&base).with_extension("c"), folder.join(&base).with_extension("so"));
    fs::write(&input, source)?;
    let mut command = Command::new(compiler);
    command.args(["-std=gnu11", "-fPIC", "-shared"]).args(flags).arg(format!("-DPOINT_{contender}"));
    command.arg("-I").arg(workspace().join("c")).arg("-I").arg(workspace().join("../markers/include"));
    run(command.arg(&input).arg("-o").arg(&output))?;
    Ok(output)
}

/// Builds the recorder for C; returns the library.
pub(crate) fn recorder_library(folder: &Path) -> Result<PathBuf> {
    let target = folder.join("target");
    let mut command = Command::new("cargo");
    command.args(["build", "--quiet", "--release", "--package", "simple-markers-c", "--target-dir"]).arg(&target);
    run(command.current_dir(workspace().join("..")))?;
    Ok(target.join("release/libsimple_marker.a"))
}

/// Runs a command.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}
