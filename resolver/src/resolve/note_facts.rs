//! What is known of the arguments of a note of a static probe, and who says it. `note_description.rs`
//! finds it out.

use std::sync::Arc;

use super::conversions::Mismatch;
use crate::notes::CClass;

/// What is known of the arguments of a note.
#[derive(Clone, Debug, PartialEq)]
pub struct NoteDescription {
    /// Who says the format.
    pub format_from: NoteSource,
    /// What is known of each of [`Marker::args`](super::Marker::args).
    pub parameters: Vec<NoteParameter>,
}

/// What is known of an argument of a note.
#[derive(Clone, Debug, PartialEq)]
pub struct NoteParameter {
    /// Which argument of the note it is, from 0.
    pub index: usize,
    /// Who says its name.
    pub name_from: NoteSource,
    /// The name of its type; `None` if nobody says it.
    pub type_name: Option<Arc<str>>,
    /// Who says its type.
    pub type_from: NoteSource,
    /// The size of that type in bytes, if the note has values of another size.
    pub type_size: Option<u8>,
    /// What its type is.
    pub(super) class: Option<CClass>,
    /// Why its conversion does not fit it.
    pub(super) mismatch: Option<Mismatch>,
}

/// Who says something of the arguments of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum NoteSource {
    /// The note itself, which has sizes and signs.
    Note,
    /// The debug information: the operand is a variable.
    DebugInfo,
    /// A provider file.
    Provider,
    /// A format that the user gave.
    Format,
}

impl NoteSource {
    /// The word in JSON, stable over versions.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Why something that is said of a note is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoteProblem {
    /// The provider file has another number of parameters than the note has arguments.
    ParameterCount {
        /// The line of the probe in the file.
        line: u32,
        /// The parameters.
        parameters: usize,
        /// The arguments of the note.
        arguments: usize,
    },
    /// The format names an argument that the note does not have.
    NoArgument {
        /// The name.
        name: Arc<str>,
        /// Those that it has.
        known: Vec<Arc<str>>,
    },
}

/// Which sections that come with notes an image has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoteSections {
    /// The notes (`.note.stapsdt`).
    pub notes: bool,
    /// The section by whose address the notes are moved (`.stapsdt.base`).
    pub base: bool,
    /// The semaphores (`.probes`).
    pub semaphores: bool,
    /// Any sections at all that are named as compilers do.
    pub any: bool,
}
