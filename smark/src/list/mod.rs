//! `smark list`: the markers of programs, or the events of the kernel, a line for each.

mod at;
mod kernel;
mod process;

use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};
use simple_markers_resolver::report::{self, TextLayout, Verbosity};
use simple_markers_resolver::resolve::Detail;
use simple_markers_resolver::uprobe_rules::ALL_KERNELS;

use crate::console::{Console, Status};
use crate::inputs::Inputs;
use crate::list::process::ProcessFiles;
use crate::pager::Pager;
use crate::watch::{Pids, pids};
use crate::{output, review};

/// List the markers in programs, a line for each marker and function
///
/// FILE is an executable, a shared or relocatable object, a kernel image or module, or an archive (.a, .rlib). It may be compressed
/// (.gz, .xz, .zst). With -r it may be a folder. PATTERN is a glob for marker names. An operand is a FILE if it contains a `/` or names
/// an existing file or folder; otherwise it is a PATTERN.
///
/// A glob matches the whole field: `*` matches any characters, `?` one character, `[a-z]` one of a set. A marker is listed if it matches
/// one pattern of each kind that is given.
///
/// With --kernel it lists the events of the running kernel instead: those that the kernel offers to its tracing tools.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{STATUS}"))]
#[command(mut_arg("operands", |operands| operands.required(false).required_unless_present_any(["kernel", "pid"])))]
pub(crate) struct List {
    #[command(flatten)]
    inputs: Inputs,
    /// Show the variables and sites of each marker, a line for each; -vv also shows the functions
    /// that were inlined there, and the variables of each site
    #[arg(short, long, action = ArgAction::Count)]
    verbose: u8,
    /// Print the whole resolution as JSON (-v changes nothing)
    #[arg(long)]
    json: bool,
    /// List the markers of the files that these processes have mapped, also of images that a program made in memory: numbers,
    /// separated by commas or blanks; may be given several times
    #[arg(short, long, value_name = "PID", value_parser = pids::parse)]
    pid: Vec<Pids>,
    /// List the events of the kernel; PATTERN and -n match `SUBSYSTEM:NAME` or NAME, -m selects
    /// subsystems, -v shows the fields
    #[arg(long, conflicts_with_all = ["recursive", "function", "debug_dir", "pid", "provider", "note_format", "views"])]
    kernel: bool,
    /// Show which variables can be read at a line of the source, in each of its copies, and name lines nearby where more can
    #[arg(long, value_name = "FILE:LINE", value_parser = at::FileLine::parse, conflicts_with_all = ["kernel", "mark", "marks"])]
    at: Option<at::FileLine>,
    /// Write the markers with their sources, sites and arguments for another tool
    #[arg(long, value_name = "TOOL", conflicts_with_all = ["json", "verbose", "kernel", "at"])]
    to: Option<ListTarget>,
    /// Write to this file
    #[arg(short, long, value_name = "FILE", requires = "to")]
    output: Option<PathBuf>,
    /// Replace the file
    #[arg(long, requires = "output")]
    force: bool,
}

/// What reads the markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ListTarget {
    /// A page for a browser
    Html,
}

const EXAMPLES: &str = "\
EXAMPLES
  All markers of a program:
      smark list target/release/server
  Those of one subsystem in a kernel module, with their variables and addresses:
      smark list -v 'scsi:*' drivers/scsi/scsi_mod.ko
  What the compiler removed, in everything that was built:
      smark list -r -f '<eliminated>' target/release
  Which variables can be read at a line, without a marker there:
      smark list --at queue.c:42 ./server
  For a program to read:
      smark list --json ./server | jq '.images[].markers[].name'
  The static probes of a running program:
      smark list -p $(pidof server) '*:*'
  A page for a browser, for a review:
      smark list --to html -o markers.html target/release/server
  The events of the kernel's scheduler:
      smark list --kernel 'sched:*'";

/// The last section of the help.
const STATUS: &str = "\
EXIT STATUS
  0  done; a file without markers is not an error
  1  a pattern matches nothing
  2  a file could not be read, is not ELF, or has malformed records; the rest is still shown. With --kernel: tracefs cannot be read";

impl List {
    pub(crate) fn run(self, console: &Console) -> anyhow::Result<Status> {
        if let Some(at) = &self.at {
            return at::list(self.inputs, at, self.json, console);
        }
        // Rows only need function names, and symbols usually have them.
        let verbosity = match self.verbose {
            0 => Verbosity::Rows,
            1 => Verbosity::Sites,
            _ => Verbosity::Full,
        };
        if self.kernel {
            let selection = self.inputs.selection()?;
            let layout = (!self.json).then_some(TextLayout { colour: console.colour, width: console.width, verbosity });
            let _pager = (!self.json).then(|| Pager::start(console));
            return kernel::list(console, &selection, layout);
        }
        // Only the debug information says which functions are inlined.
        let has_functions = self.inputs.selection()?.has_functions();
        let is_whole = self.json || self.to.is_some();
        let detail =
            if verbosity > Verbosity::Rows || is_whole || has_functions { Detail::Places } else { Detail::Names };
        let processes = ProcessFiles::find(console, &pids::all(&self.pid))?;
        let selected = self.inputs.select_also(console, (detail, ALL_KERNELS), processes.inputs())?;
        let rows = selected.rows();
        let chosen = selected.chosen(&rows);
        if self.to == Some(ListTarget::Html) {
            let html = review::page(&selected, None)?.html();
            let inputs: Vec<_> = selected.resolution.images.iter().map(|image| PathBuf::from(&image.path)).collect();
            match &self.output {
                Some(path) => output::place(path, html.as_bytes(), None, &inputs, self.force)?,
                None => output::print(&html)?,
            }
            return Ok(selected.report(console, &rows, &chosen));
        }
        let _pager = (!self.json).then(|| Pager::start(console));
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        if self.json {
            report::json::write(&mut out, &selected.resolution, &selected.keeps(&chosen))?;
        } else {
            let layout = TextLayout { colour: console.colour, width: console.width, verbosity };
            report::list::write(&mut out, &chosen, layout)?;
        }
        out.flush()?;
        drop(out);
        Ok(selected.report(console, &rows, &chosen))
    }
}
