//! A [`crate::resolve::Resolution`] as bytes: text for people, JSON for programs. Writes to what it is given, decides nothing else.

pub mod json;
pub mod list;
pub mod show;
pub(crate) mod style;
mod verbose;

/// How text is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Whether to colour (ANSI escapes).
    pub colour: bool,
    /// Columns of the terminal; `None` where the output is none, and nothing is cut or wrapped.
    pub width: Option<usize>,
    /// Whether a list adds the variables and sites of each marker.
    pub verbose: bool,
}
