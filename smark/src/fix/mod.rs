//! `smark check --fix`: changes the sources until the check passes.
//!
//! `session` always applies changes to the original sources, so leaving a change out takes it back.
//! `build` builds. If that fails, `messages` reads what the compiler says, and `blame` finds the changes
//! that it is about. `report` says what became of each marker.
//! `files` says which files may be changed, `vcs` whether the repository allows changes.

mod blame;
mod build;
pub(crate) mod files;
mod messages;
mod report;
mod session;
pub(crate) mod vcs;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use crate::check::Check;
use crate::console::{Console, Status};
use build::{Build, Built};
use session::{Probes, Session};

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
    build: Option<String>,
    /// The program that builds the FILEs, and its arguments; `cargo smark` sets it
    #[arg(long, value_name = "ARGUMENT", requires = "fix", conflicts_with = "build", hide = true)]
    build_argument: Vec<OsString>,
    /// Which markers of Rust become probes (`simple_probe!`) if an argument cannot be kept, or `keep`
    /// did not help. A probe costs two or three instructions while it is off
    #[arg(long, value_name = "WHICH", requires = "fix", default_value = "async", value_enum)]
    probe: Probes,
    /// Print the changes as a diff, and change nothing
    #[arg(long, requires = "fix")]
    dry_run: bool,
    /// Change only sources below this folder [default: the repository of the current folder, else
    /// the current folder]
    #[arg(long, value_name = "FOLDER", requires = "fix")]
    within: Option<PathBuf>,
    /// Fix even if the repository has uncommitted changes
    #[arg(long, requires = "fix")]
    allow_dirty: bool,
    /// Fix even if the repository has staged changes
    #[arg(long, requires = "fix")]
    allow_staged: bool,
    /// Fix even if the sources are in no git repository
    #[arg(long, requires = "fix")]
    allow_no_vcs: bool,
}

/// The highest number of builds and checks. Each round tries at least one new change.
const MOST_ROUNDS: usize = 100;

impl Fix {
    /// Checks, and changes the sources until no change helps. Prints the last check as
    /// [`Check::run`] does.
    pub(crate) fn run(&self, check: &Check, console: &Console) -> anyhow::Result<Status> {
        let root = self.root()?;
        if !self.dry_run {
            let allowed =
                vcs::Allowed { dirty: self.allow_dirty, staged: self.allow_staged, no_vcs: self.allow_no_vcs };
            vcs::check(&root, allowed)?;
        }
        if !self.build()?.succeeds {
            anyhow::bail!("the build fails; nothing was changed");
        }
        let mut looked = check.look(console)?;
        let mut session = Session::new(&root, self.probe).with_context(|| root.display().to_string())?;
        session.begin(&looked);
        if self.dry_run {
            session.propose(&looked);
            let mut out = io::stdout().lock();
            out.write_all(session.diff().as_bytes())?;
            out.flush()?;
            drop(out);
            session.report(&mut io::stderr().lock(), &looked, false)?;
            return Ok(looked.status);
        }
        let quiet = Console { quiet: true, ..*console };
        for round in 0..MOST_ROUNDS {
            if round > 0 {
                session.take_back(&looked);
            }
            session.propose(&looked);
            if !session.is_changed() {
                break;
            }
            if self.build_command().is_none() {
                session.write()?;
                break;
            }
            self.build_with(&mut session)?;
            looked = check.look(&quiet)?;
        }
        let needs_build = self.build_command().is_none() && session.has_changes();
        let mut said = Vec::new();
        session.report(&mut said, &looked, needs_build)?;
        check.print(&looked, &said, console)?;
        Ok(looked.status)
    }

    /// Builds with the changes of the session. If the build fails, leaves out the changes that the
    /// compiler complains about, or else finds those that do not compile by halves.
    fn build_with(&self, session: &mut Session) -> anyhow::Result<()> {
        session.write()?;
        // Each round takes back or replaces at least one change.
        loop {
            let built = self.build()?;
            if built.succeeds {
                session.accept();
                return Ok(());
            }
            if !session.correct(&built.complaints) {
                break;
            }
            session.write()?;
        }
        let changes = session.withdraw_new();
        let mut is_built = false;
        // Groups of changes, and whether it is known that the build fails with all of a group.
        let mut waiting = vec![(changes, true)];
        while let Some((changes, fails)) = waiting.pop() {
            if changes.is_empty() {
                continue;
            }
            if !fails {
                is_built = self.tries(session, &changes)?;
                if is_built {
                    continue;
                }
            }
            if let [change] = changes.as_slice() {
                session.does_not_build(change, None);
                continue;
            }
            let [first, rest] = session.halves(changes);
            is_built = self.tries(session, &first)?;
            // With the first half in the sources, the other half is what makes the build fail.
            waiting.push((rest, is_built));
            if !is_built {
                waiting.push((first, true));
            }
        }
        if !is_built {
            session.write()?;
            if !self.build()?.succeeds {
                anyhow::bail!("the build fails with sources that it succeeded with before");
            }
        }
        session.accept();
        Ok(())
    }

    /// Builds with more changes. They stay if the build succeeds, which is returned.
    fn tries(&self, session: &mut Session, changes: &[session::Change]) -> anyhow::Result<bool> {
        session.add(changes);
        session.write()?;
        let built = self.build()?;
        match built.succeeds {
            true => session.accept(),
            false => drop(session.withdraw_new()),
        }
        Ok(built.succeeds)
    }

    /// Runs the build.
    fn build(&self) -> anyhow::Result<Built> {
        match self.build_command() {
            Some(build) => build.run(),
            None => Ok(Built { succeeds: true, complaints: Vec::new() }),
        }
    }

    /// The build command; `None` if none was given.
    fn build_command(&self) -> Option<Build<'_>> {
        if let Some(build) = &self.build {
            return Some(Build::Shell(build));
        }
        let (program, arguments) = self.build_argument.split_first()?;
        Some(Build::Cargo(program, arguments))
    }

    fn root(&self) -> anyhow::Result<PathBuf> {
        if let Some(within) = &self.within {
            return Ok(within.clone());
        }
        let current = std::env::current_dir().context("cannot read the current folder")?;
        Ok(vcs::repository(Path::new(&current)).unwrap_or(current))
    }
}
