//! `smark list`: the markers of programs, one line each.

use std::io::{self, BufWriter, Write as _};

use clap::Args;
use simple_markers_resolver::report::{self, Layout};
use simple_markers_resolver::resolve::Detail;

use crate::inputs::{Inputs, STATUS};
use crate::{Console, Status};

/// List the markers in programs, one line for each marker and function that holds it
///
/// A FILE is an executable, a shared or relocatable object, a kernel image or module, an archive (.a, .rlib), each plain or compressed
/// (.gz, .xz, .zst), or with -r a folder. A PATTERN is a glob for marker names. Which of the two an operand is: what contains a `/` or names an existing file or folder is
/// a FILE, everything else is a PATTERN.
///
/// Globs match a whole field: `*` any characters, `?` one, `[a-z]` one of a class. Patterns of one kind are or-ed, the kinds are
/// and-ed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{STATUS}"))]
pub(crate) struct List {
    #[command(flatten)]
    inputs: Inputs,
    /// Add the variables and the sites of each marker
    #[arg(short, long)]
    verbose: bool,
    /// Print everything that was found out, as JSON (-v adds nothing to it)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
EXAMPLES
  All markers of a program:
      smark list target/release/server
  Those of one subsystem in a kernel module, with their variables and addresses:
      smark list -v 'scsi:*' drivers/scsi/scsi_mod.ko
  What the compiler removed, in everything that was built:
      smark list -r -f '<eliminated>' target/release
  For a program to read:
      smark list --json ./server | jq '.images[].markers[].name'";

impl List {
    pub(crate) fn run(&self, console: &Console) -> anyhow::Result<Status> {
        // Rows need the names of functions only, and those the symbols mostly know.
        let detail = if self.verbose || self.json { Detail::Places } else { Detail::Names };
        let selected = self.inputs.select(console, detail)?;
        let rows = selected.rows();
        let chosen = selected.chosen(&rows);
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        if self.json {
            report::json::write(&mut out, &selected.resolution, &selected.keeps(&chosen))?;
        } else {
            let layout = Layout { colour: console.colour, width: console.width, verbose: self.verbose };
            report::list::write(&mut out, &chosen, layout)?;
        }
        out.flush()?;
        drop(out);
        Ok(selected.report(console, &rows, &chosen))
    }
}
