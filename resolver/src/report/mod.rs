//! Writes a [`crate::resolve::Resolution`]: as text for people, as JSON for programs.

pub mod json;
pub mod list;
pub mod show;
pub(crate) mod style;
mod verbose;

/// How much a list has for each marker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// A line.
    #[default]
    Rows,
    /// Also a line for each variable and for each site.
    Sites,
    /// Also the inlined functions of each site, and the variables that differ there.
    Full,
}

/// How text is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextLayout {
    /// Whether to colour (ANSI escapes).
    pub colour: bool,
    /// Columns of the terminal; `None` if the output is no terminal: nothing is cut or wrapped
    /// then.
    pub width: Option<usize>,
    /// How much a list has for each marker.
    pub verbosity: Verbosity,
}
