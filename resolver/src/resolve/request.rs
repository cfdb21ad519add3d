//! What a resolution is asked for.

use crate::debug_files::{DebugFiles, NoDebugFiles};
use crate::marks::Mark;
use crate::notes::{NO_DESCRIPTIONS, NoteDescriptions};
use crate::uprobe_rules::{ALL_KERNELS, UprobeRules};
use crate::views::{NO_VIEWS, ViewTable};

/// How much a resolution finds out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Detail {
    /// Where each site is, and which function holds it. Debug information is read only for
    /// functions without a symbol.
    Names,
    /// Also the inlined functions and the arguments of each site, from debug information. This is
    /// enough for a report.
    Places,
    /// Also the full types of all arguments, so that values can be read and shown, and the names by which
    /// debuggers find the types.
    Everything,
}

/// What a resolution is asked for, and what it may ask itself.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Request<'c> {
    /// How much is found out.
    pub detail: Detail,
    /// Opens separate debug files.
    pub debug_files: &'c dyn DebugFiles,
    /// Those of the kernels for which uprobes are judged: by the worst of them. What a uprobe does is
    /// unknown if there are none.
    pub rules: &'c [&'c dyn UprobeRules],
    /// Whether a note of a static probe is read, by its name.
    pub wants_note: &'c dyn Fn(&str) -> bool,
    /// Places that a user named. Debug information is read for them, whatever `detail` is.
    pub marks: &'c [Mark],
    /// What is said of the arguments of notes.
    pub notes: &'c NoteDescriptions,
    /// Views of a user, which come before the built-in ones.
    pub views: &'c ViewTable,
    /// Whether it is found out where the image has the numbers of tasks, which reads all debug information.
    pub finds_tasks: bool,
}

impl<'c> Request<'c> {
    /// All markers and notes, judged for all kernels, without separate debug files.
    #[must_use]
    pub fn new(detail: Detail) -> Self {
        Self {
            detail,
            debug_files: &NoDebugFiles,
            rules: ALL_KERNELS,
            wants_note: &|_| true,
            notes: &NO_DESCRIPTIONS,
            marks: &[],
            views: &NO_VIEWS,
            finds_tasks: false,
        }
    }

    /// The same with the numbers of tasks.
    #[must_use]
    pub fn find_tasks(self, finds_tasks: bool) -> Self {
        Self { finds_tasks, ..self }
    }

    /// The same with separate debug files.
    #[must_use]
    pub fn debug_files(self, debug_files: &'c dyn DebugFiles) -> Self {
        Self { debug_files, ..self }
    }

    /// The same, judged for these kernels.
    #[must_use]
    pub fn rules(self, rules: &'c [&'c dyn UprobeRules]) -> Self {
        Self { rules, ..self }
    }

    /// The same with the notes whose name is accepted.
    #[must_use]
    pub fn notes(self, wants_note: &'c dyn Fn(&str) -> bool) -> Self {
        Self { wants_note, ..self }
    }

    /// The same with places that a user named.
    #[must_use]
    pub fn marks(self, marks: &'c [Mark]) -> Self {
        Self { marks, ..self }
    }

    /// The same with what is said of the arguments of notes.
    #[must_use]
    pub fn describe_notes(self, notes: &'c NoteDescriptions) -> Self {
        Self { notes, ..self }
    }

    /// The same with views of a user.
    #[must_use]
    pub fn views(self, views: &'c ViewTable) -> Self {
        Self { views, ..self }
    }
}
