//! `smark export`: markers for the tools that people use. Opens the output; what is in it is made by the library.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use simple_markers_resolver::export::{self, Consumer, Settings};
use simple_markers_resolver::resolve::{Detail, Exactness, Marker, ResolvedImage};

use crate::files::{self, Input};
use crate::inputs::Inputs;
use crate::{Console, Status};

/// Write probes at markers for uprobe_events, perf, bpftrace, SystemTap, gdb, or as SDT notes in a copy of the program
///
/// A FILE is an executable or a shared object, a PATTERN a glob for marker names (what contains a `/` or names an existing file is a FILE).
/// Every site of the markers becomes a probe with the arguments that can be read there. What a tool cannot express is left out, and a
/// comment says why.
///
/// A site where a probe may fire although the marker is not passed (`smark show` says which) is left out unless it is asked for.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{STATUS}"))]
pub(crate) struct Export {
    /// For whom
    #[arg(long, value_name = "CONSUMER")]
    to: To,
    #[command(flatten)]
    inputs: Inputs,
    /// Write to this file; `sdt` needs one, the others print
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite the output; never an input
    #[arg(long)]
    force: bool,
    /// Also export sites that are not exact, of these kinds; may be given several times or with commas between
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    include: Vec<Include>,
    /// The same as --include with every kind
    #[arg(long)]
    all: bool,
    /// Where to put uprobes: at the cheapest address that stands for the site, or at the site itself
    #[arg(long, value_name = "WHERE", default_value = "best")]
    at: At,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum To {
    /// Lines for the kernel's uprobe_events
    Uprobe,
    /// A shell script of perf probe commands
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Include {
    /// Several ways lead there, and not all need pass the marker
    Shared,
    /// Functions were folded there
    Folded,
    /// There is nothing of the marker's function
    Outside,
    /// It is not known whether it is exact
    Unproven,
    /// It is not known what a uprobe does there
    UnknownProbe,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum At {
    /// The cheapest address that stands for the site
    Best,
    /// The site
    Site,
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
  In a debugger, each marker printed in its own format when it is passed:
      smark export --to gdb -o server.gdb ./server; gdb -x server.gdb ./server
  As SDT probes, which all of them know:
      smark export --to sdt -o server.sdt ./server; bpftrace -l 'usdt:./server.sdt:*'";

const STATUS: &str = "\
EXIT STATUS
  0  written; what was left out is said in comments, and how much of it on stderr
  1  a pattern matches nothing
  2  a file could not be read or exported, or the output exists";

impl Export {
    pub(crate) fn run(&self, console: &Console) -> anyhow::Result<Status> {
        if self.to == To::Sdt && self.output.is_none() {
            bail!("--to sdt writes a program: say where with -o FILE");
        }
        let selected = self.inputs.select(console, Detail::Places)?;
        let rows = selected.rows();
        let chosen = selected.chosen(&rows);
        let keep = selected.keeps(&chosen);
        let images: Vec<&ResolvedImage> =
            selected.resolution.images.iter().filter(|image| image.markers.iter().any(&keep)).collect();
        // Before anything is made, and again when it is put in place.
        let inputs: Vec<PathBuf> = selected.resolution.images.iter().map(|image| PathBuf::from(&image.path)).collect();
        if let Some(output) = &self.output {
            check_output(output, &inputs, self.force)?;
        }
        let mut status = Status::Done;
        if self.to == To::Sdt {
            let [image] = images.as_slice() else {
                selected.report(console, &rows, &chosen);
                bail!("--to sdt copies one program, and {} with such markers are given", images.len());
            };
            self.copy(console, image, &keep, &inputs)?;
        } else {
            if self.to == To::Gdb && images.len() > 1 {
                bail!("a gdb command file is for one program, and {} with such markers are given", images.len());
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
                Some(output) => place(output, text.as_bytes(), None, &inputs, self.force)?,
                None => {
                    let mut out = io::stdout().lock();
                    out.write_all(text.as_bytes())?;
                    out.flush()?;
                }
            }
        }
        Ok(selected.report(console, &rows, &chosen).max(status))
    }

    fn settings(&self) -> Settings {
        let is = |kind| self.all || self.include.contains(&kind);
        let kinds = [
            (Include::Shared, Exactness::Shared),
            (Include::Folded, Exactness::Folded),
            (Include::Outside, Exactness::Outside),
            (Include::Unproven, Exactness::Unproven),
        ];
        Settings {
            at: match self.at {
                At::Best => export::At::Best,
                At::Site => export::At::Site,
            },
            include: kinds.into_iter().filter(|(kind, _)| is(*kind)).map(|(_, exactness)| exactness).collect(),
            unknown_probes: is(Include::UnknownProbe),
        }
    }

    fn text(&self, console: &Console, image: &ResolvedImage, keep: &dyn Fn(&Marker) -> bool) -> anyhow::Result<String> {
        let to = match self.to {
            To::Uprobe => Consumer::Uprobe,
            To::Perf => Consumer::Perf,
            To::Bpftrace => Consumer::Bpftrace,
            To::Stap => Consumer::Stap,
            To::Gdb | To::Sdt => Consumer::Gdb,
        };
        let (path, bytes) = open(image)?;
        let exported = export::text(image, &bytes, &path, keep, to, &self.settings()).map_err(anyhow::Error::msg)?;
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
        let exported = export::sdt::image(image, &bytes, keep, &self.settings())
            .map_err(anyhow::Error::msg)
            .with_context(|| image.path.clone())?;
        for note in &exported.notes {
            console.note(&format!("{}: {note}", image.path));
        }
        // Whether it can be run, not whose rights it gets when it is.
        let mut permissions = fs::metadata(&image.path).with_context(|| image.path.clone())?.permissions();
        permissions.set_mode(permissions.mode() & 0o777);
        place(output, &exported.bytes, Some(permissions), inputs, self.force)?;
        said(console, image, exported.probes, exported.left_out);
        Ok(())
    }
}

/// How much was left out; nothing where all is there.
fn said(console: &Console, image: &ResolvedImage, probes: usize, left_out: usize) {
    if left_out > 0 {
        console.note(&format!(
            "{}: {probes} probes written, {left_out} places left out (the comments say why)",
            image.path
        ));
    }
}

/// The absolute path of an image, by which consumers find it, and its bytes.
fn open(image: &ResolvedImage) -> anyhow::Result<(String, files::Bytes)> {
    let path =
        fs::canonicalize(&image.path).with_context(|| "it is no file of its own: export what it is linked to")?;
    let Some(text) = path.to_str() else { bail!("its path is not UTF-8") };
    let text = text.to_owned();
    let input = Input { path, found: false };
    match files::open(&input).map_err(|error| anyhow::anyhow!(files::reason(&error)))? {
        Some(files::Bytes::Unpacked(_)) => bail!("it is compressed, and no tool runs that: unpack it"),
        Some(bytes) => Ok((text, bytes)),
        None => bail!("it is not ELF"),
    }
}

/// Whether the output may be written.
fn check_output(output: &Path, inputs: &[PathBuf], force: bool) -> anyhow::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(output) else { return Ok(()) };
    let same = |input: &PathBuf| match (fs::canonicalize(input), fs::canonicalize(output)) {
        (Ok(input), Ok(output)) if input == output => true,
        _ => is_same_file(input, output),
    };
    if inputs.iter().any(same) {
        bail!("{}: is an input, which is never overwritten", output.display());
    }
    // Putting a file in its place would take away a device (`/dev/null`, `/dev/stdout`) for everybody.
    if !fs::metadata(output).unwrap_or(metadata).is_file() {
        bail!("{}: is not a regular file", output.display());
    }
    if !force {
        bail!("{}: exists; --force overwrites it", output.display());
    }
    Ok(())
}

/// Whether two paths lead to one file, also where it has two names.
fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

/// Writes a file beside the output and puts it in its place, so that nobody sees half of it.
fn place(
    output: &Path,
    bytes: &[u8],
    permissions: Option<fs::Permissions>,
    inputs: &[PathBuf],
    force: bool,
) -> anyhow::Result<()> {
    let shown = || output.display().to_string();
    let Some(name) = output.file_name() else { bail!("{}: is no file", shown()) };
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}", std::process::id()));
    let temporary = output.with_file_name(temporary);
    let write = || -> anyhow::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        file.write_all(bytes)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        drop(file);
        check_output(output, inputs, force)?;
        if force {
            fs::rename(&temporary, output)?;
        } else {
            // A link is refused where something is there by now; a rename would take its place.
            fs::hard_link(&temporary, output)?;
            fs::remove_file(&temporary)?;
        }
        Ok(())
    };
    let result = write().with_context(shown);
    if result.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    result
}
