//! Where functions leave their results: the procedure call standard (AAPCS64, 6.9).

use crate::arch::returned_value::{
    CallLanguage, Passing, RegisterPart, ResultProblem, ReturnedKind, ReturnedPlace, ReturnedValue, ScalarField,
    ScalarKind,
};

const INTEGERS: [u16; 2] = [0, 1];

/// v0 by its DWARF number.
const V0: u16 = 64;

/// The most floating-point numbers that are returned in registers.
const MOST_FLOATS: usize = 4;

pub(super) fn of(value: &ReturnedValue) -> Result<ReturnedPlace, ResultProblem> {
    match (value.language, &value.kind) {
        (_, ReturnedKind::Scalar(kind)) => scalar(*kind, value.size),
        (CallLanguage::Rust, _) => match value.rust(8)?.as_deref() {
            Some([kind]) => scalar(*kind, value.size),
            Some(_) => Ok(ReturnedPlace::words(&INTEGERS, 8, value.size)),
            None => Err(ResultProblem::AddressLost),
        },
        (CallLanguage::C, ReturnedKind::Aggregate { fields, passing }) => match passing {
            Passing::Reference => Err(ResultProblem::AddressLost),
            Passing::Unknown => Err(ResultProblem::ClassUnknown),
            Passing::Value => match floats(value.size, fields) {
                Some(parts) => Ok(ReturnedPlace::Registers(parts)),
                None if value.size > 16 => Err(ResultProblem::AddressLost),
                None => Ok(ReturnedPlace::words(&INTEGERS, 8, value.size)),
            },
        },
    }
}

fn scalar(kind: ScalarKind, size: u64) -> Result<ReturnedPlace, ResultProblem> {
    match kind {
        ScalarKind::Float if size <= 16 => Ok(ReturnedPlace::register(V0, size)),
        ScalarKind::Integer | ScalarKind::Pointer if size <= 16 => Ok(ReturnedPlace::words(&INTEGERS, 8, size)),
        _ => Err(ResultProblem::Type),
    }
}

/// The parts of a homogeneous floating-point aggregate: one to four numbers of one format, and nothing
/// else. `None` if it is none.
fn floats(size: u64, fields: &[ScalarField]) -> Option<Vec<RegisterPart>> {
    let first = fields.first()?;
    let mut offsets: Vec<u64> = fields.iter().map(|field| field.offset).collect();
    offsets.sort_unstable();
    // The members of a union have the same offsets.
    offsets.dedup();
    let is_same = |field: &ScalarField| field.kind == ScalarKind::Float && field.size == first.size;
    let bits = first.size.checked_mul(offsets.len() as u64)?;
    if !fields.iter().all(is_same) || offsets.len() > MOST_FLOATS || bits != size.checked_mul(8)? {
        return None;
    }
    let part = |(register, offset): (u16, &u64)| RegisterPart { register, offset: offset / 8, size: first.size / 8 };
    Some((V0..).zip(&offsets).map(part).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::returned_value::Enclosure;

    fn place(size: u64, fields: &[(u64, u64, ScalarKind)]) -> Result<ReturnedPlace, ResultProblem> {
        let field = |&(offset, size, kind): &(u64, u64, ScalarKind)| ScalarField {
            offset: offset * 8,
            size: size * 8,
            kind,
            is_bit_field: false,
            enclosure: Enclosure::Structure,
        };
        let fields = fields.iter().map(field).collect();
        of(&ReturnedValue {
            size,
            kind: ReturnedKind::Aggregate { fields, passing: Passing::Value },
            language: CallLanguage::C,
        })
    }

    #[test]
    fn up_to_four_floats_are_in_vector_registers() {
        let part = |register, offset, size| RegisterPart { register, offset, size };
        let double = |offset| (offset, 8, ScalarKind::Float);
        let of = place(24, &[double(0), double(8), double(16)]);
        assert_eq!(of, Ok(ReturnedPlace::Registers(vec![part(64, 0, 8), part(65, 8, 8), part(66, 16, 8)])));
        let five: Vec<_> = (0..5).map(|index| double(index * 8)).collect();
        assert_eq!(place(40, &five), Err(ResultProblem::AddressLost));
        let mixed = place(16, &[double(0), (8, 4, ScalarKind::Float)]);
        assert_eq!(mixed, Ok(ReturnedPlace::Registers(vec![part(0, 0, 8), part(1, 8, 8)])));
        assert_eq!(place(3, &[(0, 1, ScalarKind::Integer)]), Ok(ReturnedPlace::register(0, 3)));
        assert_eq!(place(17, &[(0, 1, ScalarKind::Integer)]), Err(ResultProblem::AddressLost));
    }
}
