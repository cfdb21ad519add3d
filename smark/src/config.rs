//! `smark config`: the settings that hold, and where each comes from.

use std::io;

use clap::Args;

use crate::console::{Console, Status};
use crate::project::Defaults;

/// The profile of a lock file, if none is named.
pub(crate) const PROFILE: &str = "default";

/// Print the settings that hold, and where each comes from
///
/// A project sets in `smark.toml` what is the same for each run: deny, warn, allow, debug-dir, lock, profile and views, as the options are
/// called. `[package.metadata.smark]` and `[workspace.metadata.smark]` in Cargo.toml may have the same keys. The first of these files
/// that is found counts, and none else. Options win. The output can be a smark.toml.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Config {
    /// Print JSON: each value and its line in the file, null for a default
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
EXAMPLES
  What holds here:
      smark config
  Without the settings of the project:
      smark --settings none config";

impl Config {
    pub(crate) fn run(&self, console: &Console) -> anyhow::Result<Status> {
        let defaults = Defaults { lock: None, profile: PROFILE };
        console.settings.write(&mut io::stdout().lock(), &defaults, self.json)?;
        Ok(Status::Done)
    }
}
