//! `smark show`: markers in full.

use std::io::{self, BufWriter, Write as _};

use clap::Args;
use simple_markers_resolver::report::{self, Layout};
use simple_markers_resolver::resolve::Detail;

use crate::inputs::{Inputs, STATUS};
use crate::sources::Sources;
use crate::{Console, Status};

/// Show markers in full: each place in the code, and what can be read there
///
/// A NAME is a glob for marker names, a FILE what `smark list` takes. Which of the two an operand is: what contains a `/` or names an
/// existing file or folder is a FILE, everything else is a NAME. At least one NAME, or -m, -f or -n, says which markers are meant.
///
/// A marker is shown whole: with -f too all its sites are, not those of that function alone. The line of its source is shown where
/// that file is at hand, by its recorded path from the current folder.
#[derive(Debug, Args)]
#[command(
    override_usage = "smark show [OPTIONS] <NAME>... <FILE>...",
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{STATUS}")
)]
pub(crate) struct Show {
    #[command(flatten)]
    inputs: Inputs,
    /// Print everything that was found out, as JSON: the same as `smark list --json`
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
EXAMPLES
  One marker of a program:
      smark show queue:complete target/release/server
  Why a variable cannot be read:
      smark show 'scsi:*' drivers/scsi/scsi_mod.ko | grep lost
  Whatever is in one function:
      smark show -f scsi_dispatch_cmd drivers/scsi/scsi_mod.ko
  What a change of the compiler does:
      diff <(smark show '*' old/server) <(smark show '*' new/server)";

impl Show {
    pub(crate) fn run(&self, console: &Console) -> anyhow::Result<Status> {
        if self.inputs.is_without_patterns() {
            anyhow::bail!("no NAME to show; `smark show '*' FILE` shows all markers, `smark list FILE` lists them");
        }
        let selected = self.inputs.select(console, Detail::Places)?;
        let rows = selected.rows();
        let chosen = selected.chosen(&rows);
        let keep = selected.keeps(&chosen);
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        if self.json {
            report::json::write(&mut out, &selected.resolution, &keep)?;
        } else {
            let layout = Layout { colour: console.colour, width: console.width, verbose: true };
            let mut sources = Sources::default();
            let mut line = |image: &_, marker: &_| sources.line(image, marker);
            report::show::write(&mut out, &selected.resolution, &keep, &mut line, layout)?;
        }
        out.flush()?;
        drop(out);
        Ok(selected.report(console, &rows, &chosen))
    }
}
