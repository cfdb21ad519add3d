//! Which variables the operands of a note are: a variable of the innermost function at the note that
//! is where the operand is, and has its size. If two variables are there, none is said.

use std::sync::Arc;

use super::{Argument, Verdict};
use crate::Error;
use crate::dwarf::{DebugInfo, Frame};
use crate::types::{Shape, Type};

/// A variable that an operand is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OperandVariable {
    pub(super) name: Arc<str>,
    pub(super) of: Arc<Type>,
}

/// The variable of each operand of a note; `None` where it is not known. Stops at an error.
pub(super) fn variables(
    debug: &DebugInfo<'_>,
    frame: &Frame,
    operands: &[Argument],
) -> Result<Vec<Option<OperandVariable>>, Error> {
    let places: Vec<_> = operands
        .iter()
        .map(|operand| {
            let is_read = operand.verdict == Some(Verdict::Live);
            operand.location.as_ref().zip(operand.size).filter(|_| is_read)
        })
        .collect();
    if places.iter().all(Option::is_none) {
        return Ok(vec![None; operands.len()]);
    }
    let found = debug.variables_at(frame, &places)?;
    let described = |found: Option<(Arc<str>, _)>| {
        let Some((name, of)) = found else { return Ok(None) };
        let of = debug.describe_type_briefly(of, 1)?;
        Ok(is_scalar(&of).then_some(OperandVariable { name, of }))
    };
    found.into_iter().map(described).collect()
}

/// Whether an operand can hold the value. A reference of C++ holds the address of another object.
fn is_scalar(of: &Type) -> bool {
    let is_shape = matches!(
        of.shape,
        Shape::Integer { .. }
            | Shape::Boolean
            | Shape::Character { .. }
            | Shape::Float
            | Shape::Pointer { .. }
            | Shape::Function
            | Shape::Enumeration { .. }
    );
    is_shape && !of.name.ends_with('&')
}

/// The variables that the operands are at all sites. `None` for one that is another one at a site, or
/// is not known there.
pub(super) fn common<'s>(
    sites: impl Iterator<Item = &'s [Option<OperandVariable>]>,
    count: usize,
) -> Vec<Option<OperandVariable>> {
    let mut common: Option<Vec<Option<OperandVariable>>> = None;
    for site in sites {
        let of = |index: usize| site.get(index).cloned().flatten();
        match &mut common {
            None => common = Some((0..count).map(of).collect()),
            Some(common) => {
                for (index, known) in common.iter_mut().enumerate() {
                    if *known != of(index) {
                        *known = None;
                    }
                }
            }
        }
    }
    common.unwrap_or_else(|| vec![None; count])
}
