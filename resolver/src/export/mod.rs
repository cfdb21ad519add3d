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
mod gdb_value;
mod load_addresses;
mod member_fetch;
mod omission;
mod perf;
mod plan;
mod processor;
pub mod sdt;
mod stap;
mod symbols;
mod tool;
pub mod uprobe;
mod value_bytes;
mod whole_value;
mod writer;

pub use member_fetch::{MemberFetch, fetch_member, fetch_variant};
pub use omission::{ArgumentOmission, ExportError, Note, SiteOmission};
pub use plan::{At, ExportSettings, PlanEntry, PlannedArgument, Point, PointSwitch, Precision, points};
pub use tool::Tool;
pub use value_bytes::{ValueBytes, WholeFetch};
pub use whole_value::fetch_whole;
pub use writer::{Breakpoint, ExportText};

use crate::resolve::{Marker, ResolvedImage};
use writer::Writer;

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
    settings: &ExportSettings,
) -> Result<ExportText, ExportError> {
    let mut writer = Writer { image, path, exported: ExportText::default() };
    let uprobe = to != Consumer::Gdb;
    let tool = match to {
        Consumer::Uprobe => Tool::Kernel,
        Consumer::Perf => Tool::Perf,
        Consumer::Bpftrace => Tool::Bpftrace,
        Consumer::Stap => Tool::SystemTap,
        Consumer::Gdb => Tool::Gdb,
    };
    plan::check(image, &|set| set.is_exported_to(tool))?;
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
