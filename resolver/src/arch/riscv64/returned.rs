//! Where functions leave their results: the psABI, "Integer Calling Convention" and "Hardware
//! Floating-point Calling Convention".

use object::elf;

use crate::arch::returned_value::{
    CallLanguage, Enclosure, Passing, RegisterPart, ResultProblem, ReturnedKind, ReturnedPlace, ReturnedValue,
    ScalarField, ScalarKind,
};

/// a0 and a1, fa0 and fa1 by their DWARF numbers.
const INTEGERS: [u16; 2] = [10, 11];
const FLOATS: [u16; 2] = [42, 43];

/// `elf_flags` are those of the file's header.
pub(super) fn of(value: &ReturnedValue, elf_flags: u32) -> Result<ReturnedPlace, ResultProblem> {
    let widest_float = match elf_flags & elf::EF_RISCV_FLOAT_ABI {
        elf::EF_RISCV_FLOAT_ABI_SINGLE => 4,
        elf::EF_RISCV_FLOAT_ABI_DOUBLE => 8,
        elf::EF_RISCV_FLOAT_ABI_QUAD => 16,
        _ => 0,
    };
    match (value.language, &value.kind) {
        (_, ReturnedKind::Scalar(kind)) => scalar(*kind, value.size, widest_float),
        (CallLanguage::Rust, _) => match value.rust(8)?.as_deref() {
            Some([kind]) => scalar(*kind, value.size, widest_float),
            Some(_) => Ok(ReturnedPlace::words(&INTEGERS, 8, value.size)),
            None => Err(ResultProblem::AddressLost),
        },
        (CallLanguage::C, ReturnedKind::Aggregate { passing: Passing::Reference, .. }) => {
            Err(ResultProblem::AddressLost)
        }
        (CallLanguage::C, ReturnedKind::Aggregate { passing: Passing::Unknown, .. }) => {
            Err(ResultProblem::ClassUnknown)
        }
        (CallLanguage::C, ReturnedKind::Aggregate { fields, .. }) => match floats(fields, widest_float) {
            Some(parts) => Ok(ReturnedPlace::Registers(parts)),
            None if value.size > 16 => Err(ResultProblem::AddressLost),
            None => Ok(ReturnedPlace::words(&INTEGERS, 8, value.size)),
        },
    }
}

fn scalar(kind: ScalarKind, size: u64, widest_float: u64) -> Result<ReturnedPlace, ResultProblem> {
    match kind {
        ScalarKind::Float if size <= widest_float => Ok(ReturnedPlace::register(FLOATS[0], size)),
        _ if size <= 16 => Ok(ReturnedPlace::words(&INTEGERS, 8, size)),
        _ => Err(ResultProblem::Type),
    }
}

/// The parts of one or two numbers of which one at least is a floating-point number: each in a register of
/// its kind. `None` for other aggregates: a pointer is no integer here, and a union is none of them.
fn floats(fields: &[ScalarField], widest_float: u64) -> Option<Vec<RegisterPart>> {
    let mut fields = fields.to_vec();
    fields.sort_by_key(|field| field.offset);
    let is_float = |field: &ScalarField| field.kind == ScalarKind::Float;
    let fits = |field: &ScalarField| field.size <= if is_float(field) { widest_float.saturating_mul(8) } else { 64 };
    let overlaps = fields.windows(2).any(|two| matches!(two, [one, other] if one.offset == other.offset));
    let is_number =
        |field: &ScalarField| field.kind != ScalarKind::Pointer && field.enclosure != Enclosure::Union && fits(field);
    if fields.len() > 2 || overlaps || !fields.iter().any(is_float) || !fields.iter().all(is_number) {
        return None;
    }
    let (mut integers, mut floats) = (INTEGERS.into_iter(), FLOATS.into_iter());
    let part = |field: &ScalarField| {
        let register = if is_float(field) { floats.next() } else { integers.next() }?;
        Some(RegisterPart { register, offset: field.offset / 8, size: field.size.div_ceil(8) })
    };
    fields.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOUBLE: u32 = elf::EF_RISCV_FLOAT_ABI_DOUBLE;

    fn field(offset: u64, size: u64, kind: ScalarKind) -> ScalarField {
        ScalarField { offset: offset * 8, size: size * 8, kind, is_bit_field: false, enclosure: Enclosure::Structure }
    }

    fn place(size: u64, fields: &[ScalarField], flags: u32) -> Result<ReturnedPlace, ResultProblem> {
        let kind = ReturnedKind::Aggregate { fields: fields.to_vec(), passing: Passing::Value };
        of(&ReturnedValue { size, kind, language: CallLanguage::C }, flags)
    }

    #[test]
    fn floats_are_in_their_registers_if_the_abi_says_so() {
        let part = |register, offset, size| RegisterPart { register, offset, size };
        let number =
            ReturnedValue { size: 8, kind: ReturnedKind::Scalar(ScalarKind::Float), language: CallLanguage::C };
        assert_eq!(of(&number, DOUBLE), Ok(ReturnedPlace::register(42, 8)));
        assert_eq!(of(&number, elf::EF_RISCV_FLOAT_ABI_SINGLE), Ok(ReturnedPlace::register(10, 8)));
        let mixed = [field(0, 4, ScalarKind::Integer), field(8, 8, ScalarKind::Float)];
        assert_eq!(place(16, &mixed, DOUBLE), Ok(ReturnedPlace::Registers(vec![part(10, 0, 4), part(42, 8, 8)])));
        assert_eq!(place(16, &mixed, 0), Ok(ReturnedPlace::Registers(vec![part(10, 0, 8), part(11, 8, 8)])));
        let three: Vec<_> = (0..3).map(|index| field(index * 4, 4, ScalarKind::Float)).collect();
        assert_eq!(place(12, &three, DOUBLE), Ok(ReturnedPlace::Registers(vec![part(10, 0, 8), part(11, 8, 4)])));
        assert_eq!(place(24, &[], DOUBLE), Err(ResultProblem::AddressLost));
    }
}
