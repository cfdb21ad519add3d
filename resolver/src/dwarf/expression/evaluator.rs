//! An evaluation of an expression: its context, and why an expression is refused.

use super::super::frame::{Frame, Moment};
use super::super::locations::Locations;
use super::super::unsupported::{EntryValue, Malformed, Unsupported};
use crate::Error;
use crate::address::Vaddr;

/// Why an expression is refused.
#[derive(Debug)]
pub(in crate::dwarf) enum ExpressionRefusal {
    /// It needs a value from the time of entry to the function.
    Entry(EntryValue),
    /// It needs something that is not supported.
    Unsupported(Unsupported),
    /// The debug information there cannot be read.
    Broken(Error),
}

impl ExpressionRefusal {
    pub(in crate::dwarf) fn too_large() -> Self {
        Self::Unsupported(Unsupported::TooLarge)
    }
}

impl From<Error> for ExpressionRefusal {
    fn from(error: Error) -> Self {
        Self::Broken(error)
    }
}

impl From<Unsupported> for ExpressionRefusal {
    fn from(why: Unsupported) -> Self {
        Self::Unsupported(why)
    }
}

impl From<Malformed> for ExpressionRefusal {
    fn from(what: Malformed) -> Self {
        Self::Unsupported(Unsupported::Malformed(what))
    }
}

impl From<gimli::Error> for ExpressionRefusal {
    fn from(error: gimli::Error) -> Self {
        Malformed::Parser(error.to_string()).into()
    }
}

/// The context of an expression.
#[derive(Clone, Copy, Debug)]
pub(in crate::dwarf) enum EvaluationContext<'a> {
    /// A place in a function.
    Frame(&'a Frame),
    /// The same, for the expression of the frame base itself, which cannot use the frame base.
    FrameBase(&'a Frame),
    /// No place. The expression is only checked for whether it can be read.
    Unknown,
}

impl EvaluationContext<'_> {
    /// The address and the moment; `None` for no place. A frame base does not change between
    /// statements.
    pub(in crate::dwarf) fn moment(&self) -> Option<(Vaddr, Moment)> {
        match self {
            Self::Frame(frame) => Some((frame.pc, frame.moment)),
            Self::FrameBase(frame) => Some((frame.pc, Moment::Last)),
            Self::Unknown => None,
        }
    }
}

/// The context of an evaluation.
#[derive(Clone, Debug)]
pub(in crate::dwarf) struct Evaluator<'i, 's> {
    pub(in crate::dwarf) info: &'i Locations<'s>,
    pub(in crate::dwarf) context: EvaluationContext<'i>,
    /// How deeply this expression is nested in others: calls, frame bases, entry values.
    pub(in crate::dwarf) depth: u8,
    /// Whether the result may have values of the function's entry that are gone at the place.
    pub(in crate::dwarf) takes_entry_values: bool,
}
