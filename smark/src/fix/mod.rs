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
pub(crate) mod options;
mod report;
mod session;
pub(crate) mod vcs;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::check::Check;
use crate::console::{Console, Status};
use build::{Build, BuildResult};
use options::Fix;
use session::Session;

/// The highest number of builds and checks. Each round tries at least one new change.
const MOST_ROUNDS: usize = 100;

/// Checks, and changes the sources until no change helps.
pub(crate) fn run(mut check: Check, console: &Console) -> anyhow::Result<Status> {
    check.settle(console.settings)?;
    check.fix.run(&check, console)
}

impl Fix {
    /// Checks, and changes the sources until no change helps. Prints the last check as
    /// [`Check::run`] does.
    fn run(&self, check: &Check, console: &Console) -> anyhow::Result<Status> {
        let root = self.root()?;
        if !self.dry_run {
            let allowed =
                vcs::FixPermissions { dirty: self.allow_dirty, staged: self.allow_staged, no_vcs: self.allow_no_vcs };
            vcs::check(&root, allowed)?;
        }
        if !self.build()?.succeeds {
            anyhow::bail!("the build fails; nothing was changed");
        }
        let mut result = check.look(console)?;
        let mut session = Session::new(&root, self.probe).with_context(|| root.display().to_string())?;
        session.begin(&result);
        if self.dry_run {
            session.propose(&result);
            let mut out = io::stdout().lock();
            out.write_all(session.diff().as_bytes())?;
            out.flush()?;
            drop(out);
            session.report(&mut io::stderr().lock(), &result, false)?;
            return Ok(result.status);
        }
        let quiet = Console { quiet: true, ..*console };
        for round in 0..MOST_ROUNDS {
            if round > 0 {
                session.take_back(&result);
            }
            session.propose(&result);
            if !session.is_changed() {
                break;
            }
            if self.build_command().is_none() {
                session.write()?;
                break;
            }
            self.build_with(&mut session)?;
            result = check.look(&quiet)?;
        }
        let needs_build = self.build_command().is_none() && session.has_changes();
        let mut said = Vec::new();
        session.report(&mut said, &result, needs_build)?;
        check.print(&result, &said, console)?;
        Ok(result.status)
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
    fn build(&self) -> anyhow::Result<BuildResult> {
        match self.build_command() {
            Some(build) => build.run(),
            None => Ok(BuildResult { succeeds: true, complaints: Vec::new() }),
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
