//! What a resolution is asked for.

use crate::debug_files::DebugFiles;
use crate::uprobe_rules::UprobeRules;

/// How much a resolution finds out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Detail {
    /// Where each site is, and which function holds it. Debug information is read only for
    /// functions without a symbol.
    Names,
    /// Also the inlined functions and the arguments of each site, from debug information. This is
    /// enough for a report.
    Places,
    /// Also the full types of all arguments, so that values can be read and shown.
    Everything,
}

/// How much is to be found out, and what opens files.
#[derive(Clone, Copy)]
pub(super) struct Request<'c> {
    pub(super) detail: Detail,
    pub(super) debug_files: &'c dyn DebugFiles,
    /// Those of the kernels for which uprobes are judged.
    pub(super) rules: &'c [&'c dyn UprobeRules],
    /// Whether a note of a static probe is read, by its name.
    pub(super) wants_note: &'c dyn Fn(&str) -> bool,
}
