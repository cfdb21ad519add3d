//! Where functions leave their results: System V ABI for x86-64 (3.2.3) and for i386 (2.2, "Functions
//! returning values").

use crate::arch::returned_value::{
    CallLanguage, Passing, RegisterPart, ResultProblem, ReturnedKind, ReturnedPlace, ReturnedValue, ScalarField,
    ScalarKind,
};

/// rax, rdx, xmm0 and xmm1 by their DWARF numbers.
const RAX: u16 = 0;
const INTEGERS: [u16; 2] = [RAX, 1];
const VECTORS: [u16; 2] = [17, 18];

/// eax and edx by their DWARF numbers in 32-bit programs.
const EAX: u16 = 0;
const EDX: u16 = 2;

pub(super) fn of_64(value: &ReturnedValue) -> Result<ReturnedPlace, ResultProblem> {
    match (value.language, &value.kind) {
        (_, ReturnedKind::Scalar(kind)) => scalar(*kind, value.size),
        (CallLanguage::Rust, _) => match value.rust(8)?.as_deref() {
            Some([kind]) => scalar(*kind, value.size),
            Some(_) => Ok(ReturnedPlace::words(&INTEGERS, 8, value.size)),
            // LLVM returns the address of such a result for each calling convention.
            None => Ok(ReturnedPlace::MemoryAt(RAX)),
        },
        (CallLanguage::C, ReturnedKind::Aggregate { passing, .. })
            if value.size > 16 || *passing == Passing::Reference =>
        {
            Ok(ReturnedPlace::MemoryAt(RAX))
        }
        (CallLanguage::C, ReturnedKind::Aggregate { fields, passing }) => aggregate(value.size, fields, *passing),
    }
}

pub(super) fn of_32(value: &ReturnedValue) -> Result<ReturnedPlace, ResultProblem> {
    match (value.language, &value.kind) {
        (CallLanguage::Rust, ReturnedKind::Scalar(ScalarKind::Integer | ScalarKind::Pointer)) => {
            Ok(integer_32(value.size))
        }
        // Its floating-point numbers are in other registers since version 1.85.
        (CallLanguage::Rust, _) => Err(ResultProblem::RustType),
        (_, ReturnedKind::Scalar(ScalarKind::Float)) => Err(ResultProblem::X87),
        (_, ReturnedKind::Scalar(_)) if value.size <= 8 => Ok(integer_32(value.size)),
        (_, ReturnedKind::Scalar(_)) => Err(ResultProblem::Type),
        (_, ReturnedKind::Aggregate { .. }) => Ok(ReturnedPlace::MemoryAt(EAX)),
    }
}

fn integer_32(size: u64) -> ReturnedPlace {
    ReturnedPlace::words(&[EAX, EDX], 4, size)
}

fn scalar(kind: ScalarKind, size: u64) -> Result<ReturnedPlace, ResultProblem> {
    match kind {
        ScalarKind::Float if size <= 8 => Ok(ReturnedPlace::words(&VECTORS, 8, size)),
        ScalarKind::Float => Err(ResultProblem::X87),
        _ if size <= 16 => Ok(ReturnedPlace::words(&INTEGERS, 8, size)),
        _ => Err(ResultProblem::Type),
    }
}

/// An aggregate of at most 16 bytes, each 8 of which have a class.
fn aggregate(size: u64, fields: &[ScalarField], passing: Passing) -> Result<ReturnedPlace, ResultProblem> {
    if passing == Passing::Unknown {
        return Err(ResultProblem::ClassUnknown);
    }
    if fields.iter().any(|field| field.kind == ScalarKind::Float && field.size > 64) {
        return Err(ResultProblem::X87);
    }
    // Fields of 16 bytes are aligned to 16.
    let is_aligned = |field: &ScalarField| field.size == 0 || field.offset % field.size == 0;
    if !fields.iter().all(|field| field.is_bit_field || is_aligned(field)) {
        return Ok(ReturnedPlace::MemoryAt(RAX));
    }
    let (mut integers, mut vectors) = (INTEGERS.into_iter(), VECTORS.into_iter());
    let mut parts = Vec::new();
    for offset in (0..size).step_by(8) {
        let is_in = |field: &&ScalarField| {
            field.offset < offset.saturating_add(8).saturating_mul(8)
                && field.offset.saturating_add(field.size) > offset.saturating_mul(8)
        };
        let mut kinds = fields.iter().filter(is_in).map(|field| field.kind).peekable();
        // Padding is in no register.
        if kinds.peek().is_none() {
            continue;
        }
        let registers = if kinds.all(|kind| kind == ScalarKind::Float) { &mut vectors } else { &mut integers };
        let register = registers.next().ok_or(ResultProblem::Type)?;
        parts.push(RegisterPart { register, offset, size: size.saturating_sub(offset).min(8) });
    }
    Ok(ReturnedPlace::Registers(parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::returned_value::Enclosure;

    fn field(offset: u64, size: u64, kind: ScalarKind) -> ScalarField {
        ScalarField { offset: offset * 8, size: size * 8, kind, is_bit_field: false, enclosure: Enclosure::Structure }
    }

    fn of(size: u64, fields: &[ScalarField]) -> Result<ReturnedPlace, ResultProblem> {
        let kind = ReturnedKind::Aggregate { fields: fields.to_vec(), passing: Passing::Value };
        of_64(&ReturnedValue { size, kind, language: CallLanguage::C })
    }

    fn parts(parts: &[(u16, u64, u64)]) -> Result<ReturnedPlace, ResultProblem> {
        let part = |&(register, offset, size): &(u16, u64, u64)| RegisterPart { register, offset, size };
        Ok(ReturnedPlace::Registers(parts.iter().map(part).collect()))
    }

    const INTEGER: ScalarKind = ScalarKind::Integer;
    const FLOAT: ScalarKind = ScalarKind::Float;

    #[test]
    fn each_eightbyte_has_a_class() {
        assert_eq!(of(4, &[field(0, 4, INTEGER)]), parts(&[(0, 0, 4)]));
        assert_eq!(of(16, &[field(0, 8, INTEGER), field(8, 8, INTEGER)]), parts(&[(0, 0, 8), (1, 8, 8)]));
        assert_eq!(of(12, &[field(0, 8, FLOAT), field(8, 4, INTEGER)]), parts(&[(17, 0, 8), (0, 8, 4)]));
        assert_eq!(of(16, &[field(0, 8, INTEGER), field(8, 8, FLOAT)]), parts(&[(0, 0, 8), (17, 8, 8)]));
        let floats: Vec<_> = (0..3).map(|index| field(index * 4, 4, FLOAT)).collect();
        assert_eq!(of(12, &floats), parts(&[(17, 0, 8), (18, 8, 4)]));
        // An integer beside a float in one eightbyte, and padding behind it.
        assert_eq!(of(8, &[field(0, 4, FLOAT), field(4, 4, INTEGER)]), parts(&[(0, 0, 8)]));
        assert_eq!(of(16, &[field(0, 1, INTEGER)]), parts(&[(0, 0, 8)]));
    }

    #[test]
    fn large_and_unaligned_aggregates_are_in_memory() {
        let memory = Ok(ReturnedPlace::MemoryAt(0));
        assert_eq!(of(24, &[]), memory);
        assert_eq!(of(9, &[field(0, 1, INTEGER), field(1, 8, INTEGER)]), memory);
        assert_eq!(of(16, &[field(0, 16, FLOAT)]), Err(ResultProblem::X87));
        let kind = ReturnedKind::Aggregate { fields: vec![field(0, 8, INTEGER)], passing: Passing::Reference };
        assert_eq!(of_64(&ReturnedValue { size: 8, kind, language: CallLanguage::C }), memory);
    }

    #[test]
    fn integers_of_32_bit_programs_are_in_two_registers() {
        let of = |size, kind| of_32(&ReturnedValue { size, kind, language: CallLanguage::C });
        assert_eq!(of(2, ReturnedKind::Scalar(INTEGER)), parts(&[(0, 0, 2)]));
        assert_eq!(of(8, ReturnedKind::Scalar(INTEGER)), parts(&[(0, 0, 4), (2, 4, 4)]));
        assert_eq!(of(8, ReturnedKind::Scalar(FLOAT)), Err(ResultProblem::X87));
        let kind = ReturnedKind::Aggregate { fields: Vec::new(), passing: Passing::Unknown };
        assert_eq!(of(4, kind), Ok(ReturnedPlace::MemoryAt(0)));
    }

    #[test]
    fn rust_returns_scalars_and_pairs_of_words() {
        let of = |size, fields: &[ScalarField]| {
            let kind = ReturnedKind::Aggregate { fields: fields.to_vec(), passing: Passing::Value };
            of_64(&ReturnedValue { size, kind, language: CallLanguage::Rust })
        };
        assert_eq!(of(16, &[field(0, 8, INTEGER), field(8, 8, INTEGER)]), parts(&[(0, 0, 8), (1, 8, 8)]));
        assert_eq!(of(8, &[field(0, 8, FLOAT)]), parts(&[(17, 0, 8)]));
        assert_eq!(of(8, &[field(0, 4, INTEGER), field(4, 4, INTEGER)]), Err(ResultProblem::RustType));
        let element = ScalarField { enclosure: Enclosure::Array, ..field(0, 8, INTEGER) };
        assert_eq!(of(16, &[element, ScalarField { offset: 64, ..element }]), Err(ResultProblem::RustType));
        assert_eq!(of(24, &[]), Ok(ReturnedPlace::MemoryAt(0)));
    }
}
