//! A resolution for the tools that people use: lines for `uprobe_events`, `perf probe`, bpftrace, SystemTap, gdb, and an image with SDT
//! notes. One file for each; `fetch` says what of an argument is to be read, `plan` which sites are exported.
//!
//! Never wrong: what a consumer cannot express, or cannot be told for certain, is left out with a comment that says why. Text of the
//! image is escaped as the consumer's syntax asks, or refused. What is written is described in `docs/export.md`.

mod arithmetic;
mod bpftrace;
mod fetch;
mod format;
mod gdb;
mod perf;
mod plan;
pub mod sdt;
mod stap;
mod symbols;
mod uprobe;

pub use plan::{At, Settings};

use crate::resolve::{Marker, ResolvedImage};
use crate::text::shown;
use plan::{Planned, Point};

/// Who reads what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consumer {
    /// The kernel: `uprobe_events` of tracefs.
    Uprobe,
    /// A shell, which runs `perf probe`.
    Perf,
    /// bpftrace.
    Bpftrace,
    /// SystemTap.
    Stap,
    /// gdb.
    Gdb,
}

/// What is written, and what of it was left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// The text.
    pub text: String,
    /// How many probes are in it.
    pub probes: usize,
    /// How many sites were left out; the text says why.
    pub left_out: usize,
}

/// An image's markers that `keep` takes, for a consumer. `path` is the absolute path by which the consumer finds the image, `bytes` are
/// those of the image.
///
/// # Errors
///
/// Why nothing can be written: the kind of the image, its processor, or the path.
pub fn text(
    image: &ResolvedImage,
    bytes: &[u8],
    path: &str,
    keep: &dyn Fn(&Marker) -> bool,
    to: Consumer,
    settings: &Settings,
) -> Result<Exported, String> {
    let mut writer = Writer { image, path, exported: Exported::default() };
    let uprobe = to != Consumer::Gdb;
    let both = ["x86_64", "aarch64"];
    plan::check(image, if matches!(to, Consumer::Bpftrace | Consumer::Stap) { &both[..1] } else { &both })?;
    if bytes.get(5) != Some(&1) {
        return Err("not supported for big-endian images".to_owned());
    }
    let planned = plan::plan(image, keep, settings, uprobe);
    match to {
        Consumer::Uprobe => uprobe::write(&mut writer, &planned)?,
        Consumer::Perf => perf::write(&mut writer, &planned, bytes)?,
        Consumer::Bpftrace => bpftrace::write(&mut writer, &planned, bytes)?,
        Consumer::Stap => stap::write(&mut writer, &planned)?,
        Consumer::Gdb => gdb::write(&mut writer, &planned, bytes)?,
    }
    Ok(writer.exported)
}

/// Text that is being written.
struct Writer<'r> {
    image: &'r ResolvedImage,
    path: &'r str,
    exported: Exported,
}

/// The longest comment, in characters: the kernel reads lines of less than 4096 bytes.
const COMMENT: usize = 900;

impl Writer<'_> {
    /// A line that is no comment.
    fn line(&mut self, line: &str) {
        self.exported.text.push_str(line);
        self.exported.text.push('\n');
    }

    /// A comment, `mark` before it: one line, whatever is in it.
    fn comment(&mut self, mark: &str, text: &str) {
        let text = shown(text);
        let cut: String = text.chars().take(COMMENT).collect();
        let dots = if cut.len() < text.len() { ".." } else { "" };
        self.line(&format!("{mark} {cut}{dots}"));
    }

    /// What every text starts with.
    fn heading(&mut self, mark: &str, use_it: &[&str]) {
        let build = self.image.build_id.as_deref().map(|id| format!(", build id {id}")).unwrap_or_default();
        self.comment(mark, &format!("Markers of {}{build}, by smark {}", self.path, env!("CARGO_PKG_VERSION")));
        for line in use_it {
            self.comment(mark, line);
        }
    }

    /// Goes through what is planned: what is left out becomes a comment, the rest is written by `probe`, which may leave out too.
    fn each(
        &mut self,
        mark: &str,
        planned: &[Planned<'_>],
        probe: &mut dyn FnMut(&mut Self, &Point<'_>) -> Result<(), String>,
    ) {
        for planned in planned {
            self.line("");
            let (name, place, why) = match planned {
                Planned::Point(point) => {
                    self.comment(mark, &point.heading());
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
            self.comment(mark, &format!("left out: {name} at {place}: {why}"));
        }
    }

    /// Says that an argument is left out.
    fn without(&mut self, mark: &str, argument: &str, why: &str) {
        self.comment(mark, &format!("without {argument}: {why}"));
    }
}
