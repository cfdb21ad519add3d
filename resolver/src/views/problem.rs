//! What is wrong with a table of views. `english/views.rs` has the sentences.

use strum::VariantNames as _;

use super::kind::ViewKind;
use crate::text::closest;

/// A table that cannot be read. `Display` gives line, column and message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewError {
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub problem: ViewProblem,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViewProblem {
    /// The first word is no name of a type.
    TypeName {
        /// The word.
        name: Box<str>,
    },
    /// There is nothing behind the name.
    NoKind,
    /// There is no kind of this name.
    NoSuchKind {
        /// The name.
        kind: Box<str>,
        /// The known one that is closest.
        closest: String,
    },
    /// A word is no part.
    NoPath {
        /// The word.
        word: Box<str>,
    },
    /// The kind has no part of this name.
    NoSuchPart {
        /// The kind.
        kind: &'static str,
        /// The name.
        part: Box<str>,
        /// The names that it has.
        known: Vec<&'static str>,
    },
    /// A part is missing.
    MissingPart {
        /// The kind.
        kind: &'static str,
        /// The part.
        part: &'static str,
    },
    /// Two parts have one name.
    SamePart {
        /// The name.
        part: Box<str>,
    },
    /// What polls or wakes tasks is no function, or the number of the task is no place there.
    TaskFunction {
        /// The text.
        text: Box<str>,
    },
    /// A path that is none.
    Path {
        /// The path.
        path: Box<str>,
        /// What is wrong with it.
        why: PathProblem,
    },
}

/// What is wrong with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathProblem {
    /// There is nothing between two dots.
    EmptyStep,
    /// `$` without a number.
    Parameter,
    /// More than one `@`.
    TwoPlaces,
    /// `[` without the first bit and the number of bits.
    Bits,
}

impl ViewProblem {
    pub(super) fn no_such_kind(kind: &str) -> Self {
        let closest = closest(kind, ViewKind::VARIANTS.iter().copied()).into_iter().next().unwrap_or_default();
        Self::NoSuchKind { kind: kind.into(), closest }
    }
}
