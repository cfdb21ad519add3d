//! What a user says of the notes of static probes: provider files of DTrace, with the names and types
//! of arguments, and formats. `resolve/note_description.rs` applies it to the notes of an image.

mod c_type;
mod format;
mod provider;
mod token;

pub use c_type::{CClass, CSize, CType};
pub use format::{NoteFormat, NoteFormatProblem};
pub use provider::{ProviderFile, ProviderParameter, ProviderProbe};
pub use token::{ProviderError, ProviderProblem};

/// What is said of notes. What stands first counts.
#[derive(Clone, Debug, Default)]
pub struct NoteDescriptions {
    /// The provider files.
    pub providers: Vec<ProviderFile>,
    /// The formats.
    pub formats: Vec<NoteFormat>,
    /// Whether the debug information says nothing either: arguments are called `arg0` and so on.
    pub is_plain: bool,
}

/// Nothing is said of notes.
pub(crate) static NO_DESCRIPTIONS: NoteDescriptions =
    NoteDescriptions { providers: Vec::new(), formats: Vec::new(), is_plain: false };

/// What notes say themselves.
pub static PLAIN_NOTES: NoteDescriptions =
    NoteDescriptions { providers: Vec::new(), formats: Vec::new(), is_plain: true };

impl NoteDescriptions {
    /// The probe of a note with this name (`provider:name`); `None` if no file declares it.
    #[must_use]
    pub fn probe(&self, name: &str) -> Option<&ProviderProbe> {
        self.providers.iter().find_map(|file| file.probe(name))
    }

    /// The format for notes with this name; `None` if there is none. One for exactly this name counts
    /// before those whose glob matches it.
    #[must_use]
    pub fn format(&self, name: &str) -> Option<&NoteFormat> {
        let exact = self.formats.iter().find(|format| &*format.name == name);
        exact.or_else(|| self.formats.iter().find(|format| format.matches(name)))
    }
}
