//! Writes a resolution for other tools: `uprobe_events`, `perf probe`, bpftrace, SystemTap, gdb, and
//! a copy of the image with SDT notes. One file for each.
//!
//! `plan` selects the sites, `fetch` says what to read for an argument, `omission` says what is left
//! out. An export is never wrong: anything that a consumer cannot express is left out, with a comment
//! that says why. Text from the image is escaped for the consumer's syntax, or refused.
//! `docs/export.md` describes the output.

mod arithmetic;
mod bpftrace;
pub mod fetch;
mod format;
mod gdb;
mod loaded;
mod omission;
mod perf;
mod plan;
pub mod sdt;
mod stap;
mod symbols;
pub mod uprobe;

pub use omission::{ArgumentOmission, ExportError, SiteOmission};
pub use plan::{At, Planned, PlannedArgument, Point, PointSwitch, Precision, Settings, points};

use std::sync::Arc;

use crate::address::Vaddr;
use crate::english;
use crate::resolve::{Architecture, Marker, ResolvedImage};
use crate::text::shown;

/// The tool that reads an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Consumer {
    /// The kernel: `uprobe_events` of tracefs.
    Uprobe,
    /// A shell that runs `perf probe`.
    Perf,
    /// bpftrace.
    Bpftrace,
    /// SystemTap.
    Stap,
    /// gdb.
    Gdb,
}

/// A tool, or a kind of tools, whose limits are the reason that something is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Tool {
    /// The kernel's uprobes.
    Kernel,
    /// perf.
    Perf,
    /// bpftrace.
    Bpftrace,
    /// SystemTap.
    SystemTap,
    /// gdb.
    Gdb,
    /// Whatever reads SDT notes.
    SdtReaders,
}

/// An export in text form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// The text.
    pub text: String,
    /// How many probes are in it.
    pub probes: usize,
    /// How many sites were left out; comments in the text say why.
    pub left_out: usize,
    /// The breakpoints of a gdb script. Empty for other tools.
    pub breakpoints: Vec<Breakpoint>,
    /// The command of a gdb script that sets the breakpoints of a library once it is loaded; `None` if
    /// the script sets them itself.
    pub place: Option<String>,
}

/// A breakpoint of a gdb script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breakpoint {
    /// Its number in a gdb without other breakpoints.
    pub number: usize,
    /// The name of the marker.
    pub marker: Arc<str>,
    /// Its link-time address.
    pub address: Vaddr,
}

/// Writes the markers of an image that `keep` accepts for a consumer.
///
/// `path` is the absolute path by which the consumer finds the image. `bytes` is the image.
///
/// # Errors
///
/// The kind of the image, its processor or its path is not supported.
pub fn text(
    image: &ResolvedImage,
    bytes: &[u8],
    path: &str,
    keep: &dyn Fn(&Marker) -> bool,
    to: Consumer,
    settings: &Settings,
) -> Result<Exported, ExportError> {
    let mut writer = Writer { image, path, exported: Exported::default() };
    let uprobe = to != Consumer::Gdb;
    let supported: &[Architecture] = if matches!(to, Consumer::Bpftrace | Consumer::Stap) {
        &[Architecture::X86_64]
    } else {
        &[Architecture::X86_64, Architecture::Aarch64]
    };
    plan::check(image, supported)?;
    if bytes.get(5) != Some(&1) {
        return Err(ExportError::BigEndian);
    }
    let planned = plan::plan(image, keep, settings, uprobe);
    match to {
        Consumer::Uprobe => uprobe::write(&mut writer, &planned)?,
        Consumer::Perf => perf::write(&mut writer, &planned)?,
        Consumer::Bpftrace => bpftrace::write(&mut writer, &planned, bytes)?,
        Consumer::Stap => stap::write(&mut writer, &planned)?,
        Consumer::Gdb => gdb::write(&mut writer, &planned, bytes)?,
    }
    Ok(writer.exported)
}

/// The text being written.
struct Writer<'r> {
    image: &'r ResolvedImage,
    path: &'r str,
    exported: Exported,
}

/// The longest comment, in characters. The kernel reads lines of less than 4096 bytes.
const COMMENT: usize = 900;

impl Writer<'_> {
    /// Writes a line.
    fn line(&mut self, line: &str) {
        self.exported.text.push_str(line);
        self.exported.text.push('\n');
    }

    /// Writes a comment of one line, escaping line feeds.
    fn comment(&mut self, mark: &str, text: &str) {
        let text = shown(text);
        let cut: String = text.chars().take(COMMENT).collect();
        let dots = if cut.len() < text.len() { ".." } else { "" };
        self.line(&format!("{mark} {cut}{dots}"));
    }

    /// Writes the first lines of an export.
    fn heading(&mut self, mark: &str, use_it: &[&str]) {
        let build = self.image.build_id.as_deref().map(|id| format!(", build id {id}")).unwrap_or_default();
        self.comment(mark, &format!("Markers of {}{build}, by smark {}", self.path, env!("CARGO_PKG_VERSION")));
        for line in use_it {
            self.comment(mark, line);
        }
    }

    /// Writes each planned site with `probe`, and a comment for each site that is left out.
    fn each(
        &mut self,
        mark: &str,
        planned: &[Planned<'_>],
        probe: &mut dyn FnMut(&mut Self, &Point<'_>) -> Result<(), SiteOmission>,
    ) {
        for planned in planned {
            self.line("");
            let (name, place, why) = match planned {
                Planned::Point(point) => {
                    self.comment(mark, &point.heading());
                    for argument in point.doubtful() {
                        self.comment(mark, &english::export::doubtful(argument));
                    }
                    match probe(self, point) {
                        Ok(()) => {
                            self.exported.probes += 1;
                            continue;
                        }
                        Err(why) => (&point.marker.name, point.address.to_string(), why),
                    }
                }
                Planned::LeftOut { marker, place, why } => (&marker.name, place.clone(), why.clone()),
            };
            self.exported.left_out += 1;
            self.comment(mark, &format!("left out: {name} at {place}: {}", english::export::site(&why)));
        }
    }

    /// Comments that an argument is left out.
    fn without(&mut self, mark: &str, argument: &str, why: &ArgumentOmission) {
        self.comment(mark, &format!("without {argument}: {}", english::export::argument(why)));
    }

    /// Comments that an argument is left out, and that the text has a `?` for it.
    fn printed_as_question_mark(&mut self, mark: &str, argument: &str, why: &ArgumentOmission) {
        self.comment(mark, &format!("without {argument}: {}; printed as `?`", english::export::argument(why)));
    }
}
