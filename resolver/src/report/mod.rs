//! Writes a [`crate::resolve::Resolution`]: as text for people, as JSON for programs.

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
    /// Columns of the terminal; `None` if the output is no terminal: nothing is cut or wrapped
    /// then.
    pub width: Option<usize>,
    /// Whether a list adds the variables and sites of each marker.
    pub verbose: bool,
}
