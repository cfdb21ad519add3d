//! `smark show`: markers in full.

use std::io::{self, BufWriter, Write as _};

use clap::Args;
use simple_markers_resolver::report::{self, TextLayout};
use simple_markers_resolver::resolve::Detail;

use crate::console::{Console, Status};
use crate::inputs::{Inputs, STATUS};
use crate::kernels::Kernels;
use crate::pager::Pager;
use crate::sources::Sources;

/// Show markers in full: each site, and which variables can be read there
///
/// NAME is a glob for marker names. FILE is any file that `smark list` takes. An operand is a FILE if it contains a `/` or names an
/// existing file or folder; otherwise it is a NAME. At least one NAME, -m, -f or -n is required.
///
/// All sites of a marker are shown, also with -f. The source line is shown if the recorded path, relative to the current folder,
/// exists.
#[derive(Debug, Args)]
#[command(
    override_usage = "smark show [OPTIONS] <NAME>... <FILE>...",
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{STATUS}")
)]
pub(crate) struct Show {
    #[command(flatten)]
    inputs: Inputs,
    /// Say on stderr where debug information was searched, and which files were taken
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    kernels: Kernels,
    /// Print the whole resolution as JSON, the same as `smark list --json`
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
        let console = &Console { verbose: self.verbose, ..*console };
        if self.inputs.is_without_patterns() {
            anyhow::bail!("no NAME given: `smark show '*' FILE` shows all markers, `smark list FILE` lists them");
        }
        let selected = self.inputs.select(console, Detail::Places, &self.kernels.rules())?;
        let rows = selected.rows();
        let chosen = selected.chosen(&rows);
        let keep = selected.keeps(&chosen);
        let _pager = (!self.json).then(|| Pager::start(console));
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        if self.json {
            report::json::write(&mut out, &selected.resolution, &keep)?;
        } else {
            let layout = TextLayout { colour: console.colour, width: console.width, ..TextLayout::default() };
            let mut sources = Sources::default();
            let mut line = |image: &_, marker: &_| sources.line(image, marker);
            report::show::write(&mut out, &selected.resolution, &keep, &mut line, layout)?;
        }
        out.flush()?;
        drop(out);
        Ok(selected.report(console, &rows, &chosen))
    }
}
