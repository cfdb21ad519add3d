//! Whether a unit was compiled without optimisation.
//!
//! DWARF does not say so. Without optimisation, gcc and LLVM give a variable one place in the frame
//! for its whole scope. Exceptions are functions that are inlined by force, and entry points.

use gimli::{AttributeValue, Reader as _, constants as dw};

use super::functions::{FunctionIndex, Functions};
use super::sections::Reader;
use super::unit::Die;
use crate::Error;

/// How many variables in the frame there are for each one that has another location, at least.
const MOSTLY: u64 = 9;

/// After so many other locations the search ends, if the frame has not enough by then.
const ENOUGH: u64 = 32;

impl FunctionIndex<'_> {
    /// Whether nearly all local variables of a unit that have a location have a single one in the
    /// frame.
    pub(super) fn is_unoptimized(&self, unit: usize) -> Result<bool, Error> {
        let functions = self.of_unit(unit)?;
        if let Some(known) = functions.unoptimized.get() {
            return Ok(*known);
        }
        let is_unoptimized = self.find_unoptimized(unit, &functions)?;
        Ok(*functions.unoptimized.get_or_init(|| is_unoptimized))
    }

    fn find_unoptimized(&self, unit: usize, functions: &Functions) -> Result<bool, Error> {
        let (mut in_frame, mut elsewhere): (u64, u64) = (0, 0);
        for &offset in functions.variables() {
            match self.units.own_attribute(Die { unit, offset }, dw::DW_AT_location)? {
                Some(AttributeValue::Exprloc(gimli::Expression(bytes)) | AttributeValue::Block(bytes)) => {
                    match VariablePlace::of(bytes) {
                        VariablePlace::Frame => in_frame += 1,
                        VariablePlace::Static => {}
                        VariablePlace::Other => elsewhere += 1,
                    }
                }
                Some(_) => elsewhere += 1,
                None => {}
            }
            if elsewhere >= ENOUGH && in_frame < MOSTLY * elsewhere {
                break;
            }
        }
        Ok(in_frame > 0 && in_frame >= MOSTLY * elsewhere)
    }
}

/// What an expression starts from.
enum VariablePlace {
    Frame,
    Static,
    Other,
}

impl VariablePlace {
    fn of(mut expression: Reader<'_>) -> Self {
        match expression.read_u8().map(gimli::DwOp) {
            Ok(dw::DW_OP_fbreg) => Self::Frame,
            // %rbp and %rsp on x86-64, %ebp and %esp on i386, x29 and sp on AArch64. A computed
            // value ends with an operation.
            Ok(
                dw::DW_OP_breg4
                | dw::DW_OP_breg5
                | dw::DW_OP_breg6
                | dw::DW_OP_breg7
                | dw::DW_OP_breg29
                | dw::DW_OP_breg31,
            ) => match expression.read_sleb128().is_ok() && !ends_as_value(expression) {
                true => Self::Frame,
                false => Self::Other,
            },
            Ok(dw::DW_OP_addr | dw::DW_OP_addrx | dw::DW_OP_GNU_addr_index) => Self::Static,
            // The offset of a thread-local variable.
            Ok(dw::DW_OP_const4u | dw::DW_OP_const8u | dw::DW_OP_constx | dw::DW_OP_GNU_const_index) => Self::Static,
            _ => Self::Other,
        }
    }
}

fn ends_as_value(expression: Reader<'_>) -> bool {
    expression.slice().last() == Some(&dw::DW_OP_stack_value.0)
}
