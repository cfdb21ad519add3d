//! Why a text is no mark.

/// Why a text is no mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkError {
    /// Where the mistake is in the text, in bytes.
    pub offset: usize,
    /// What is wrong.
    pub kind: MarkErrorKind,
}

/// What is wrong with a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MarkErrorKind {
    /// It is neither a line nor a function.
    NoPlace,
    /// The line is no number from 1 to 4,294,967,295.
    Line,
    /// The function has no name.
    NoFunction,
    /// The glob of the functions is malformed.
    Glob,
    /// The format has no closing quote.
    OpenFormat,
    /// The format has an escape that C does not have, or one that is no character.
    Escape,
    /// Something other than a comma follows the format.
    Comma,
    /// The format has a malformed conversion.
    Conversion(String),
    /// The format takes another number of arguments than are given.
    Count {
        /// How many it takes.
        taken: usize,
        /// How many there are.
        given: usize,
    },
    /// `$return` stands where no function returns.
    Result,
}
