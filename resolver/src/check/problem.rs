//! What is wrong with a marker, and why: closed enums with their data. `english/check.rs` renders
//! them.

use std::sync::Arc;

use super::least::{Least, code_of};
use super::profile_settings::ProfileSettings;
use crate::resolve::{
    Absence, Diagnostic, DiagnosticKind, Exactness, ExactnessReason, InlinedFunction, LineProblem, LocationEnd,
    Mismatch, Predecessor, ProbeReason, Reason, Verdict,
};
use crate::verdicts::Code;

/// What is wrong with a marker or with one of its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The marker was compiled, and no copy of it is in the image.
    Eliminated,
    /// The linker dropped every function that contains the marker.
    Discarded,
    /// It has no site record, and the line table has no place for it.
    Unresolved,
    /// It has no site record, and its file may be one of several.
    Ambiguous,
    /// The image does not tell whether the marker is in the program.
    UnknownSurvival,
    /// Its site was found on another line.
    Nearest {
        /// The line of the marker.
        declared: u32,
        /// The line of the site.
        line: u32,
    },
    /// A probe at the marker is not exact.
    Exactness(Exactness),
    /// No probe can be put at an exact site.
    Refused,
    /// The argument cannot be read everywhere. `None` if there is no verdict on it.
    Argument(Option<Verdict>),
    /// The debug information of the image has no variables. The marker of the finding is the first
    /// one with such an argument.
    NoVariables {
        /// How many markers have an argument that is not described.
        markers: usize,
        /// How many such arguments there are.
        arguments: usize,
        /// Whether the debug information describes lines.
        has_lines: bool,
        /// Whether some of the markers are in Rust.
        rust: bool,
        /// Whether some of the markers are in C.
        c: bool,
        /// What sets the debug information of the program; `None` if that is not known.
        setting: Option<ProfileSettings>,
    },
    /// The argument is in a vector register.
    InVectorRegister {
        /// The name of the register.
        register: Arc<str>,
    },
    /// The argument has another type than its conversion expects.
    Format {
        /// The conversion; `None` if the argument has none.
        conversion: Option<Arc<str>>,
        /// The type of the argument; `None` if it is not known.
        type_name: Option<Arc<str>>,
    },
    /// The name is also declared elsewhere.
    Duplicate {
        /// The file of the first declaration.
        file: Arc<str>,
        /// Its line.
        line: u32,
        /// How many declarations there are.
        declarations: usize,
    },
    /// The marker is not in the lock file.
    New,
    /// The argument is not in the lock file.
    NewArgument,
    /// The marker has another name in the lock file.
    Renamed {
        /// The name in the lock file.
        before: Arc<str>,
    },
    /// The marker has fewer sites than in the lock file.
    FewerCopies {
        /// How many sites it has.
        found: u64,
        /// How many it has in the lock file.
        accepted: u64,
    },
    /// The verdict on the argument is below the one in the lock file.
    Worse {
        /// The verdict.
        found: Least,
        /// The one in the lock file.
        accepted: Least,
    },
    /// The verdict on the argument is above the one in the lock file.
    Better {
        /// The verdict.
        found: Least,
        /// The one in the lock file.
        accepted: Least,
    },
    /// The marker is in the lock file and not in the program.
    Gone,
    /// The argument is in the lock file and not in the program.
    GoneArgument,
    /// The note of a static probe is in the lock file and not in the program.
    NoteGone,
    /// The note of a static probe has other arguments than in the lock file.
    NoteArguments {
        /// The sizes of its arguments, as notes write them (`-4, 8`).
        found: Arc<str>,
        /// Those in the lock file.
        accepted: Arc<str>,
    },
    /// The note of a static probe has no semaphore any more.
    NoSemaphore,
}

impl Problem {
    /// Its code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Eliminated => Code::Eliminated,
            Self::Discarded => Code::Discarded,
            Self::Unresolved => Code::Unresolved,
            Self::Ambiguous => Code::Ambiguous,
            Self::UnknownSurvival => Code::UnknownSurvival,
            Self::Nearest { .. } => Code::Nearest,
            Self::Exactness(exactness) => exactness.code(),
            Self::Refused => Code::Refused,
            Self::Argument(verdict) => code_of(*verdict),
            Self::NoVariables { .. } => Code::Undescribed,
            Self::InVectorRegister { .. } => Code::InVectorRegister,
            Self::Format { .. } => Code::FormatMismatch,
            Self::Duplicate { .. } => Code::Duplicate,
            Self::New | Self::NewArgument => Code::New,
            Self::Renamed { .. } => Code::Renamed,
            Self::FewerCopies { .. } => Code::FewerCopies,
            Self::Worse { .. } => Code::Worse,
            Self::Better { .. } => Code::Better,
            Self::Gone | Self::GoneArgument => Code::Gone,
            Self::NoteGone => Code::NoteGone,
            Self::NoteArguments { .. } | Self::NoSemaphore => Code::NoteChanged,
        }
    }
}

/// A cause of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// Why the marker is not in the image.
    Absence {
        /// The reason.
        absence: Absence,
        /// The source file, as in [`Finding::file`](super::Finding::file).
        file: Arc<str>,
    },
    /// The linker dropped every function that contains the marker, for an unknown reason.
    DroppedFunctions,
    /// The image itself does not tell.
    Image(Diagnostic),
    /// The line table has no row for the line of the marker.
    NoRow {
        /// The line of the marker.
        declared: u32,
        /// The next line of its function that has a row.
        line: u32,
    },
    /// Why a site is not exact, or why that is unknown.
    Exactness(ExactnessReason),
    /// What a uprobe does at an instruction.
    Probe {
        /// The instruction; `None` if it is not known.
        instruction: Option<Arc<str>>,
        /// Why it is refused, or what is wrong with it.
        reason: Option<ProbeReason>,
    },
    /// A predecessor of a shared site.
    Predecessor(Predecessor),
    /// There are more predecessors than are listed.
    MorePredecessors {
        /// How many.
        count: usize,
    },
    /// The marker is the last thing in its function.
    ScopeEnded,
    /// The instructions are not understood, or not in the file.
    UnknownInstructions,
    /// Why the argument cannot be read.
    Argument(Reason),
    /// What ended the live range of the argument. Its `shared` is always `None`.
    RangeEnded(LocationEnd),
    /// The argument shared its register with another variable until the live range ended.
    SharedRegister {
        /// The other variable.
        variable: Arc<str>,
    },
    /// The debug information of an inlined copy does not have the argument.
    InlinedWithoutPlace {
        /// The inlined function.
        function: Arc<str>,
    },
    /// How an affected copy was inlined.
    InlinedThrough {
        /// The function that contains the copy; `None` if it has no name.
        function: Option<Arc<str>>,
        /// The inlined functions, innermost first.
        inlined: Vec<InlinedFunction>,
    },
    /// The compiler made several copies of the code around the marker.
    Duplicated {
        /// The function that contains them; `None` if it has no name.
        function: Option<Arc<str>>,
        /// How many.
        count: usize,
    },
    /// Several copies were inlined through the same lines.
    InlinedTwice {
        /// The function that contains them; `None` if it has no name.
        function: Option<Arc<str>>,
        /// How many.
        count: usize,
    },
    /// In C nothing remains of a marker that was removed before code generation.
    RemovedEarly,
    /// Why the argument is not what its conversion expects.
    Mismatch(Mismatch),
    /// A declaration of the name.
    Declared {
        /// Its file.
        file: Arc<str>,
        /// Its line.
        line: u32,
    },
    /// What the image has in place of the note of a static probe.
    Notes {
        /// The image.
        image: Arc<str>,
        /// What it has.
        absence: NoteAbsence,
    },
    /// Copies that are in the program.
    Copies {
        /// The function that contains them; `None` if it has no name.
        function: Option<Arc<str>>,
        /// How many.
        count: u64,
    },
}

impl Cause {
    /// Makes the names of source files relative to the folder `root`.
    pub(super) fn make_relative(&mut self, root: &str) {
        let relative = |file: &mut Arc<str>| {
            let inside = file.strip_prefix(root).and_then(|inside| inside.strip_prefix('/'));
            if let Some(inside) = inside.map(Arc::from) {
                *file = inside;
            }
        };
        match self {
            Self::Absence {
                absence:
                    Absence::Ambiguous { files } | Absence::Unresolved { problem: LineProblem::SeveralFiles(files) },
                ..
            } => files.iter_mut().for_each(relative),
            Self::Image(Diagnostic { kind: DiagnosticKind::NoSite { file, .. }, .. }) => relative(file),
            Self::Predecessor(predecessor) => predecessor.file.iter_mut().for_each(relative),
            Self::InlinedThrough { inlined, .. } => {
                inlined.iter_mut().filter_map(|inlined| inlined.call_file.as_mut()).for_each(relative);
            }
            _ => {}
        }
    }
}

/// What an image has in place of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoteAbsence {
    /// Other notes.
    Others,
    /// What comes with notes, without them: a tool removed them.
    Removed,
    /// Nothing that comes with notes: it was built without them.
    NotBuilt,
    /// No sections that can be told apart.
    NoSections,
}

/// Why a finding is excepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exception {
    /// The lock file accepts the verdict.
    Accepted(Least),
    /// The lock file has an exception.
    Written {
        /// What the user wrote.
        reason: Arc<str>,
    },
}

/// Whether `keep` helps an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CanKeep {
    /// A register can hold the argument, or its type is not known.
    #[default]
    Yes,
    /// It is a text of Rust: registers can hold its pointer and its length.
    PointerAndLength,
    /// No register can hold it.
    No,
}

/// A remark that is not a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remark {
    /// An exception of the lock file no longer applies.
    StaleException {
        /// The line in the lock file, from 1.
        line: usize,
        /// The marker.
        marker: Arc<str>,
        /// The argument; `None` for the marker itself.
        argument: Option<Arc<str>>,
        /// The code, word or group, as written.
        code: Arc<str>,
    },
}
