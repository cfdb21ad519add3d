//! DWARF expressions as data: the stack machine runs over symbolic computations instead of numbers
//! (DWARF 5, 2.5 and 2.6.1).
//!
//! An expression is translated completely, or refused with a reason that names the operation.
//! Nothing is read: registers and memory are steps of the computation. [`super::frame`] and
//! [`super::entry_value`] supply the frame base, the call frame and entry values.

use gimli::{Encoding, Expression};

use super::frame::{Frame, Moment};
use super::locations::Locations;
use super::sections::Reader;
use super::unit::Die;
use super::unsupported::{EntryValue, Malformed, Unsupported};
use crate::Error;
use crate::address::Vaddr;
use crate::location::{Expr, Location};
use stack_machine::StackMachine;

mod stack_machine;
#[cfg(test)]
mod tests;

/// Why an expression is refused.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It needs a value from the time of entry to the function.
    Entry(EntryValue),
    /// It needs something that is not supported.
    Unsupported(Unsupported),
    /// The debug information there cannot be read.
    Broken(Error),
}

impl Refusal {
    pub(super) fn too_large() -> Self {
        Self::Unsupported(Unsupported::TooLarge)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Broken(error)
    }
}

impl From<Unsupported> for Refusal {
    fn from(why: Unsupported) -> Self {
        Self::Unsupported(why)
    }
}

impl From<Malformed> for Refusal {
    fn from(what: Malformed) -> Self {
        Self::Unsupported(Unsupported::Malformed(what))
    }
}

impl From<gimli::Error> for Refusal {
    fn from(error: gimli::Error) -> Self {
        Malformed::Parser(error.to_string()).into()
    }
}

/// The context of an expression.
#[derive(Clone, Copy, Debug)]
pub(super) enum EvaluationContext<'a> {
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
    pub(super) fn moment(&self) -> Option<(Vaddr, Moment)> {
        match self {
            Self::Frame(frame) => Some((frame.pc, frame.moment)),
            Self::FrameBase(frame) => Some((frame.pc, Moment::Last)),
            Self::Unknown => None,
        }
    }
}

/// The context of an evaluation.
#[derive(Clone, Debug)]
pub(super) struct Evaluator<'i, 's> {
    pub(super) info: &'i Locations<'s>,
    pub(super) context: EvaluationContext<'i>,
    /// How deeply this expression is nested in others: calls, frame bases, entry values.
    pub(super) depth: u8,
}

impl<'s> Evaluator<'_, 's> {
    /// The location that an expression of `from` describes; `None` if the expression says that
    /// there is no location.
    pub(super) fn location(&self, from: Die, expression: Expression<Reader<'s>>) -> Result<Option<Location>, Refusal> {
        let encoding = self.info.units.unit(from.unit)?.encoding();
        let mut machine = StackMachine::new(self);
        machine.operations(Some(from.unit), encoding, expression.0, self.depth)?;
        machine.location()
    }

    /// The value that an expression leaves on top of the stack.
    pub(super) fn value(
        &self,
        unit: Option<usize>,
        encoding: Encoding,
        expression: Expression<Reader<'s>>,
    ) -> Result<Expr, Refusal> {
        let mut machine = StackMachine::new(self);
        machine.operations(unit, encoding, expression.0, self.depth)?;
        machine.value()
    }
}
