//! DWARF expressions as data: the stack machine runs over symbolic computations instead of numbers
//! (DWARF 5, 2.5 and 2.6.1).
//!
//! An expression is translated completely, or refused with a reason that names the operation.
//! Nothing is read: registers and memory are steps of the computation. [`super::frame`] and
//! [`super::entry_value`] supply the frame base, the call frame and entry values.

use gimli::{Encoding, Expression};

use super::sections::Reader;
use super::unit::Die;
use crate::location::{Expr, Location};
pub(super) use evaluator::{EvaluationContext, Evaluator, ExpressionRefusal};
use stack_machine::StackMachine;

mod evaluator;
mod stack_machine;
#[cfg(test)]
mod tests;

impl<'s> Evaluator<'_, 's> {
    /// The location that an expression of `from` describes; `None` if the expression says that
    /// there is no location.
    pub(super) fn location(
        &self,
        from: Die,
        expression: Expression<Reader<'s>>,
    ) -> Result<Option<Location>, ExpressionRefusal> {
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
    ) -> Result<Expr, ExpressionRefusal> {
        let mut machine = StackMachine::new(self);
        machine.operations(unit, encoding, expression.0, self.depth)?;
        machine.value()
    }
}
