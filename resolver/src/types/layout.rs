//! Where the parts of a value are: members, the active variant, the elements of a sequence.

use super::object::{Object, ReadContext, number};
use super::{Member, Sequence, Shape, ValueProblem, Variant, Variants};

/// A position in an object.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BitRange {
    /// The first bit.
    pub(super) bit: u64,
    /// The size in bits, if this is a bit-field.
    pub(super) bits: Option<u64>,
}

impl BitRange {
    /// The position of a member of the structure that is here.
    pub(super) fn of_member(self, member: &Member) -> Result<Self, ValueProblem> {
        let bit = self.bit.checked_add(member.bit_offset).ok_or(ValueProblem::Incomplete)?;
        Ok(Self { bit, bits: member.bit_size })
    }

    /// The position of an element of the array that is here. `stride` is the distance of elements in
    /// bytes.
    pub(super) fn of_element(self, index: u64, stride: u64) -> Result<Self, ValueProblem> {
        let bits = index.checked_mul(stride).and_then(|bytes| bytes.checked_mul(8));
        let bit = bits.and_then(|bits| bits.checked_add(self.bit)).ok_or(ValueProblem::Incomplete)?;
        Ok(Self { bit, bits: None })
    }
}

/// The active variant and the discriminant. The variant is `None` if the discriminant selects none.
pub(super) fn choose<'t>(
    variants: &'t Variants,
    object: Object<'_>,
    start: u64,
    context: &ReadContext<'_>,
) -> Result<(Option<&'t Variant>, i128), ValueProblem> {
    let Some(discriminant) = &variants.discriminant else {
        return Ok((variants.variants.first(), 0));
    };
    let signed = match discriminant.of.shape {
        Shape::Integer { signed } | Shape::Character { signed } | Shape::Enumeration { signed, .. } => signed,
        Shape::Pointer { .. } | Shape::Boolean => false,
        _ => return Err(ValueProblem::DiscriminantKind),
    };
    let size = discriminant.bit_size.or(discriminant.of.size.and_then(|size| size.checked_mul(8)));
    let bit = start.checked_add(discriminant.bit_offset).ok_or(ValueProblem::Incomplete)?;
    let bits = object.bits(context.byte_order, bit, size.ok_or(ValueProblem::Incomplete)?)?;
    let value = number(bits, size.unwrap_or(0), signed);
    let names = |values: &Vec<(i128, i128)>| values.iter().any(|(low, high)| (*low..=*high).contains(&value));
    let named = variants.variants.iter().find(|variant| variant.values.as_ref().is_some_and(names));
    Ok((named.or_else(|| variants.variants.iter().find(|variant| variant.values.is_none())), value))
}

/// The address of the first element and the number of elements.
pub(super) fn ends(
    sequence: &Sequence,
    object: Object<'_>,
    start: u64,
    context: &ReadContext<'_>,
) -> Result<(u64, u64), ValueProblem> {
    let number = |member: &Member| {
        let size = member.of.size.filter(|size| *size <= 8).ok_or(ValueProblem::TooLarge)?;
        let bit = start.checked_add(member.bit_offset).ok_or(ValueProblem::Incomplete)?;
        let bits = object.bits(context.byte_order, bit, size.saturating_mul(8))?;
        u64::try_from(bits).map_err(|_| ValueProblem::TooLarge)
    };
    let (address, length) = (number(&sequence.data)?, number(&sequence.length)?);
    Ok((address.wrapping_add(sequence.offset), length))
}
