//! `smark export`: writes markers as probes of other tools. The library makes the text; this file
//! writes it safely.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use simple_markers_resolver::english;
use simple_markers_resolver::export::{self, Consumer};
use simple_markers_resolver::resolve::{Detail, Marker, ResolvedImage};
use simple_markers_resolver::uprobe_rules::ALL_KERNELS;

use crate::choice::Choice;
use crate::console::{Console, Status};
use crate::files::{self, Input};
use crate::inputs::Inputs;
use crate::output;
use crate::verify;

/// Write probes for uprobe_events, perf, bpftrace, SystemTap or gdb, or a copy of the program with SDT notes
///
/// FILE is an executable or a shared object. PATTERN is a glob for marker names. An operand is a FILE if it contains a `/` or names an
/// existing file.
///
/// Each site of a marker becomes a probe with the arguments that can be read there. Anything that the tool cannot express is left out,
/// and a comment says why. A site where a probe may fire without the marker is left out too, and so is a doubtful argument, unless
/// --include names the kind. `smark show` lists them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{STATUS}"))]
pub(crate) struct Export {
    /// The tool to write for
    #[arg(long, value_name = "CONSUMER")]
    to: ExportTarget,
    #[command(flatten)]
    inputs: Inputs,
    /// Write to this file instead of stdout; required for `sdt`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite FILE if it exists; an input is never overwritten
    #[arg(long)]
    force: bool,
    /// Let gdb set the breakpoints, without running anything of the program, and fail if one is elsewhere than the marker; for `gdb`
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    choice: Choice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportTarget {
    /// Lines for uprobe_events of tracefs
    Uprobe,
    /// A shell script of `perf probe` commands
    Perf,
    /// A bpftrace program
    Bpftrace,
    /// A SystemTap script
    Stap,
    /// A gdb command file
    Gdb,
    /// A copy of the program with SDT notes
    Sdt,
}

const EXAMPLES: &str = "\
EXAMPLES
  Trace a program's markers with the kernel alone:
      smark export --to uprobe ./server >> /sys/kernel/tracing/uprobe_events
      echo 1 > /sys/kernel/tracing/events/queue/enable; cat /sys/kernel/tracing/trace_pipe
  With perf:
      smark export --to perf ./server | sh; perf record -e 'queue:*' -aR
  With bpftrace or SystemTap:
      smark export --to bpftrace -o queue.bt 'queue:*' ./server; bpftrace queue.bt
      smark export --to stap -o queue.stp 'queue:*' ./server; stap queue.stp
  In a debugger, which prints each marker in its own format:
      smark export --to gdb --verify -o server.gdb ./server; gdb -x server.gdb ./server
  As SDT probes, which all these tools read:
      smark export --to sdt -o server.sdt ./server; bpftrace -l 'usdt:./server.sdt:*'";

const STATUS: &str = "\
EXIT STATUS
  0  written; comments list what was left out, stderr says how much
  1  a pattern matches nothing
  2  a file could not be read or exported, the output exists, or gdb does not confirm the breakpoints";

impl Export {
    pub(crate) fn run(&self, console: &Console) -> anyhow::Result<Status> {
        if self.to == ExportTarget::Sdt && self.output.is_none() {
            bail!("--to sdt writes a program: name it with -o FILE");
        }
        if self.verify && self.to != ExportTarget::Gdb {
            bail!("--verify is for --to gdb");
        }
        // gdb is told the names of the types of whole values.
        let detail = if self.to == ExportTarget::Gdb { Detail::Everything } else { Detail::Places };
        let selected = self.inputs.select(console, detail, ALL_KERNELS)?;
        let rows = selected.rows();
        let chosen = selected.chosen(&rows);
        let keep = selected.keeps(&chosen);
        let images: Vec<&ResolvedImage> =
            selected.resolution.images.iter().filter(|image| image.markers.iter().any(&keep)).collect();
        // Checked before any work, and again right before the file is replaced.
        let inputs: Vec<PathBuf> = selected.resolution.images.iter().map(|image| PathBuf::from(&image.path)).collect();
        if let Some(output) = &self.output {
            output::check(output, &inputs, self.force)?;
        }
        let mut status = Status::Done;
        if self.to == ExportTarget::Sdt {
            let [image] = images.as_slice() else {
                selected.report(console, &rows, &chosen);
                bail!("--to sdt copies one program, but {} with selected markers were given", images.len());
            };
            self.copy(console, image, &keep, &inputs)?;
        } else {
            if self.to == ExportTarget::Gdb && images.len() > 1 {
                bail!("a gdb command file is for one program, but {} with selected markers were given", images.len());
            }
            let mut text = String::new();
            for image in images {
                match self.text(console, image, &keep) {
                    Ok(exported) => text.push_str(&exported),
                    Err(error) => {
                        console.error(&format!("{}: {error:#}", image.path));
                        status = Status::Unreadable;
                    }
                }
            }
            match &self.output {
                Some(output) => output::place(output, text.as_bytes(), None, &inputs, self.force)?,
                None => {
                    let mut out = io::stdout().lock();
                    out.write_all(text.as_bytes())?;
                    out.flush()?;
                }
            }
        }
        Ok(selected.report(console, &rows, &chosen).max(status))
    }

    fn text(&self, console: &Console, image: &ResolvedImage, keep: &dyn Fn(&Marker) -> bool) -> anyhow::Result<String> {
        let to = match self.to {
            ExportTarget::Uprobe => Consumer::Uprobe,
            ExportTarget::Perf => Consumer::Perf,
            ExportTarget::Bpftrace => Consumer::Bpftrace,
            ExportTarget::Stap => Consumer::Stap,
            ExportTarget::Gdb | ExportTarget::Sdt => Consumer::Gdb,
        };
        let (path, bytes) = open(image)?;
        let exported = export::text(image, &bytes, &path, keep, to, &self.choice.settings())?;
        if self.verify {
            verify::breakpoints(&exported, &path, image.arch)?;
            console.note(&format!(
                "{}: gdb sets each of {} breakpoints at its marker",
                image.path,
                exported.breakpoints.len()
            ));
        }
        said(console, image, exported.probes, exported.left_out);
        Ok(exported.text)
    }

    fn copy(
        &self,
        console: &Console,
        image: &ResolvedImage,
        keep: &dyn Fn(&Marker) -> bool,
        inputs: &[PathBuf],
    ) -> anyhow::Result<()> {
        let Some(output) = &self.output else { bail!("no output") };
        let (_, bytes) = open(image)?;
        let exported =
            export::sdt::image(image, &bytes, keep, &self.choice.settings()).with_context(|| image.path.clone())?;
        for note in &exported.notes {
            console.note(&format!("{}: {}", image.path, english::export::note(note)));
        }
        // Keeps the permission bits, not set-user-ID and the like.
        let mut permissions = fs::metadata(&image.path).with_context(|| image.path.clone())?.permissions();
        permissions.set_mode(permissions.mode() & 0o777);
        output::place(output, &exported.bytes, Some(permissions), inputs, self.force)?;
        said(console, image, exported.probes, exported.left_out);
        Ok(())
    }
}

/// Notes how many places were left out, if any.
fn said(console: &Console, image: &ResolvedImage, probes: usize, left_out: usize) {
    if left_out > 0 {
        console
            .note(&format!("{}: wrote {probes} probes and left out {left_out} places (comments say why)", image.path));
    }
}

/// The absolute path of an image, which consumers need, and its bytes.
fn open(image: &ResolvedImage) -> anyhow::Result<(String, files::Bytes)> {
    let path = fs::canonicalize(&image.path)
        .with_context(|| "it is not a file of its own: export the program that it is linked into")?;
    let Some(text) = path.to_str() else { bail!("its path is not UTF-8") };
    let text = text.to_owned();
    let input = Input::new(path, false);
    match files::open(&input).map_err(|error| anyhow::anyhow!(files::reason(&error)))? {
        Some(files::Bytes::Unpacked(_)) => bail!("it is compressed: unpack it first"),
        Some(bytes) => Ok((text, bytes)),
        None => bail!("it is not ELF"),
    }
}
