//! `smark view`: walks a recording in the terminal. Without the feature `view` it only says how to get it.

#[cfg(feature = "view")]
mod backend;
#[cfg(feature = "view")]
mod draw;
#[cfg(feature = "view")]
mod hits;
#[cfg(feature = "view")]
mod index;
#[cfg(feature = "view")]
mod keys;
#[cfg(feature = "view")]
mod layout;
#[cfg(feature = "view")]
mod model;
#[cfg(feature = "view")]
mod prompt;
#[cfg(feature = "view")]
mod range;
#[cfg(feature = "view")]
mod read;
#[cfg(feature = "view")]
mod session;
#[cfg(all(test, feature = "view"))]
mod tests;
#[cfg(feature = "view")]
mod timeline;
#[cfg(feature = "view")]
mod wrap;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
#[cfg(feature = "view")]
use simple_markers_tracer::plan::StackNotes;

use crate::console::Console;
use crate::count::{Names, TimedInterval, names, timed};

/// Walk a recording in the terminal
///
/// Shows a timeline with a row for each thread or task, the hits, and all arguments of the selected hit with its stack and its source
/// line. The key ? shows what the keys do.
///
/// The hits of a pair, those of --time or of spans, are told: the key p goes from one to the other.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{STATUS}"))]
#[cfg_attr(not(feature = "view"), allow(dead_code, reason = "there is nothing that reads them"))]
pub(crate) struct RecordingView {
    /// The folder of the recording [default: the newest smark-NAME-DATE here]
    recording: Option<PathBuf>,
    /// Make pairs of each marker A and the next marker B in the same thread
    #[arg(long, value_name = "A..B", value_parser = timed)]
    time: Option<TimedInterval>,
    /// With --time, this argument tells which A a B belongs to, or several together; otherwise it is the thread
    #[arg(long, value_name = "ARG,..", value_parser = names, requires = "time")]
    key: Option<Names>,
}

const EXAMPLES: &str = "\
EXAMPLES
  The newest recording here:
      smark view
  With the pairs of requests, which p jumps along:
      smark view --time queue:submit..queue:complete --key tag trace";

const STATUS: &str = "\
EXIT STATUS
  0  done
  1  there is no marker that --time names
  2  the recording cannot be read, or not to its end, or there is no terminal";

impl RecordingView {
    #[cfg(feature = "view")]
    pub(crate) fn run(self, console: &Console) -> anyhow::Result<ExitCode> {
        let question =
            self.time.map(|timed| timed.question(self.key.as_ref(), Vec::new(), false, StackNotes::default()));
        session::run(self.recording, question, console)
    }

    #[cfg(not(feature = "view"))]
    pub(crate) fn run(self, _: &Console) -> anyhow::Result<ExitCode> {
        anyhow::bail!("view: {}", crate::features::without("view"))
    }
}
