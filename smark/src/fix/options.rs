//! The options of `--fix`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The options of `--fix`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Fixes")]
pub(crate) struct Fix {
    /// Change the sources until the check passes: keep lost arguments, anchor markers that are not
    /// exact
    ///
    /// Only findings that are denied are fixed. A change that does not help, or does not compile,
    /// is taken back. A marker in async code becomes a probe if an argument cannot be kept (`--probe`).
    #[arg(long, conflicts_with = "update")]
    pub(crate) fix: bool,
    /// The shell command that builds the FILEs. It runs before the first check and after each
    /// change; without it the sources are changed once, and you have to build and check the program
    /// again
    #[arg(long, value_name = "COMMAND", requires = "fix")]
    pub(super) build: Option<String>,
    /// The program that builds the FILEs, and its arguments; `cargo smark` sets it
    #[arg(long, value_name = "ARGUMENT", requires = "fix", conflicts_with = "build", hide = true)]
    pub(super) build_argument: Vec<OsString>,
    /// Which markers of Rust become probes (`simple_probe!`) if an argument cannot be kept, or `keep`
    /// did not help. A probe costs two or three instructions while it is off
    #[arg(long, value_name = "WHICH", requires = "fix", default_value = "async", value_enum)]
    pub(super) probe: Probes,
    /// Print the changes as a diff, and change nothing
    #[arg(long, requires = "fix")]
    pub(super) dry_run: bool,
    /// Change only sources below this folder [default: the repository of the current folder, else
    /// the current folder]
    #[arg(long, value_name = "FOLDER", requires = "fix")]
    pub(super) within: Option<PathBuf>,
    /// Fix even if the repository has uncommitted changes
    #[arg(long, requires = "fix")]
    pub(super) allow_dirty: bool,
    /// Fix even if the repository has staged changes
    #[arg(long, requires = "fix")]
    pub(super) allow_staged: bool,
    /// Fix even if the sources are in no git repository
    #[arg(long, requires = "fix")]
    pub(super) allow_no_vcs: bool,
}

/// Which markers may become probes if `keep` does not settle their arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Probes {
    /// None
    Never,
    /// Those in async functions, blocks and closures
    Async,
    /// All markers of Rust
    Always,
}
