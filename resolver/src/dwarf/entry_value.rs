//! Values that registers had on entry to the function (`DW_OP_entry_value`; DWARF 5, 2.5.1.7).
//!
//! Compilers write this operation when the register has a new value. The value is
//! recovered if it provably still exists: at the entry itself, or if call frame information
//! says where the function saved it. The caller's call site information is not used.
//!
//! Otherwise it is a value of the entry ([`Node::AtEntry`]) if an evaluator takes such values, and
//! refused if not.

use gimli::{Encoding, Expression};

use super::expression::{EvaluationContext, Evaluator, ExpressionRefusal};
use super::sections::Reader;
use super::unsupported::EntryValue;
use crate::location::{Expr, Node, ValueType};

impl<'s> Evaluator<'_, 's> {
    /// The value that an expression had on entry, if it can be read at the place.
    pub(super) fn entry_value(
        &self,
        unit: Option<usize>,
        encoding: Encoding,
        expression: Expression<Reader<'s>>,
    ) -> Result<Expr, ExpressionRefusal> {
        let value = self.value(unit, encoding, expression)?;
        let info = self.info;
        if let EvaluationContext::Frame(frame) | EvaluationContext::FrameBase(frame) = self.context {
            if frame.at_entry {
                return Ok(value);
            }
            if let Node::Register(register, ValueType::Generic) = value.node() {
                if let Some(saved) = info.saved(frame, *register, self.depth.saturating_add(1))? {
                    return Ok(saved);
                }
            }
        }
        if self.takes_entry_values && value.is_of_registers() {
            return Expr::new(Node::AtEntry(value)).ok_or_else(ExpressionRefusal::too_large);
        }
        Err(ExpressionRefusal::Entry(EntryValue::Expression(value)))
    }
}
