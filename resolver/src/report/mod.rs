//! A [`crate::resolve::Resolution`] as bytes: text for people, JSON for programs. Writes to what it is given, decides nothing else.

pub mod json;
pub mod list;
mod style;
mod verbose;

/// How text is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Whether to colour (ANSI escapes).
    pub colour: bool,
    /// Columns of the terminal; `None` where the output is none, and nothing is cut.
    pub width: Option<usize>,
    /// Whether to add the variables and sites of each marker.
    pub verbose: bool,
}
