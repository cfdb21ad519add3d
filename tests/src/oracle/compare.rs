//! Compares the value of an argument with the one that the twin printed.
//!
//! Values are compared by their scalars. Padding has no value. Of a pointer only whether it is null
//! is compared, because addresses differ between the two programs, and what it points at.

use simple_markers_resolver::address::RuntimeAddress;
use simple_markers_resolver::location::Machine;
use simple_markers_resolver::resolve::{Argument, Encoding};
use simple_markers_resolver::types::{Member, Sequence, Shape, Type, Variants};

use super::twin::Truth;

/// The outcome for one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The same, or both have no scalar.
    Right,
    /// A Boolean whose lowest bit is right, with other bits set.
    Masked,
    /// The evaluator could not read it.
    Unreadable,
    /// The type says too little: a union, or a type that is not described.
    Unknown,
    /// The pointer may be right. What it points at is not.
    WrongBehind,
    /// Another value.
    Wrong,
}

/// Compares one value. Also returns our bytes.
#[must_use]
pub fn compare(argument: &Argument, machine: &dyn Machine, truth: &Truth) -> (Outcome, Vec<u8>) {
    let (Some(location), Some(size)) = (&argument.location, argument.size) else {
        return (Outcome::Unreadable, Vec::new());
    };
    let Ok(ours) = location.evaluate(machine, size) else { return (Outcome::Unreadable, Vec::new()) };
    let outcome = match &argument.ty {
        _ if argument.is_kept => kept(argument, &ours, &truth.bytes),
        Some(ty) => typed(ty, machine, &ours, truth),
        None => whole(&ours, &truth.bytes),
    };
    (outcome, ours)
}

fn right(is_right: bool) -> Outcome {
    if is_right { Outcome::Right } else { Outcome::Wrong }
}

/// Compares numbers whose sizes may differ by an extension.
fn whole(ours: &[u8], theirs: &[u8]) -> Outcome {
    let size = ours.len().min(theirs.len());
    right(size > 0 && ours[..size] == theirs[..size])
}

/// A kept argument. A pointer is recognised by the value of both, because no type is recorded.
fn kept(argument: &Argument, ours: &[u8], theirs: &[u8]) -> Outcome {
    match (argument.encoding, <[u8; 4]>::try_from(theirs)) {
        // A `float` is kept as a `double`.
        (Some(Encoding::Float), Ok(single)) if ours.len() == 8 => {
            right(f64::from(f32::from_le_bytes(single)).to_le_bytes() == ours)
        }
        // The twin only says that `&x` is an address, also where the conversion shows `x`.
        _ if argument.text.starts_with('&') => match is_address(ours) {
            true => Outcome::Right,
            false => Outcome::Unknown,
        },
        _ if is_address(ours) && is_address(theirs) => Outcome::Right,
        _ => whole(ours, theirs),
    }
}

/// Whether the bytes look like an address of a process.
fn is_address(bytes: &[u8]) -> bool {
    <[u8; 8]>::try_from(bytes).is_ok_and(|bytes| (0x1000..1 << 47).contains(&u64::from_le_bytes(bytes)))
}

fn typed(ty: &Type, machine: &dyn Machine, ours: &[u8], truth: &Truth) -> Outcome {
    let theirs = &truth.bytes;
    match &ty.shape {
        // In C, an array decays.
        Shape::Array { .. } if truth.behind.is_some() => {
            let text = ours.split(|byte| *byte == 0).next().unwrap_or_default();
            let shown = truth.behind.as_deref().unwrap_or_default();
            return right(text.starts_with(shown));
        }
        Shape::Array { .. } if ours.len() != theirs.len() => return Outcome::Unknown,
        // A bit-field is printed with the size of its promoted type.
        Shape::Integer { .. } | Shape::Enumeration { .. } | Shape::Boolean if ours.len() != theirs.len() => {
            return whole(ours, theirs);
        }
        _ if ours.len() != theirs.len() => return Outcome::Wrong,
        _ => {}
    }
    let value = scalars(ty, (ours, 0), (theirs, 0));
    match &truth.behind {
        Some(shown) if value < Outcome::Unreadable && !is_same_behind(ty, machine, ours, shown) => Outcome::WrongBehind,
        _ => value,
    }
}

/// Bytes, and the number of the first bit in them.
type Bits<'a> = (&'a [u8], u64);

/// The worst outcome of the scalars of two values.
fn scalars(ty: &Type, ours: Bits<'_>, theirs: Bits<'_>) -> Outcome {
    let bits = ty.size.unwrap_or(0) * 8;
    match &ty.shape {
        Shape::Void => Outcome::Right,
        Shape::Boolean => match (number(ours, bits), number(theirs, bits)) {
            (Some(ours), Some(theirs)) if ours == theirs => Outcome::Right,
            (Some(ours), Some(theirs)) if ours & 1 == theirs => Outcome::Masked,
            _ => Outcome::Wrong,
        },
        Shape::Integer { .. } | Shape::Character { .. } | Shape::Float | Shape::Enumeration { .. } => {
            same(ours, theirs, bits)
        }
        Shape::Pointer { .. } | Shape::Function => match (number(ours, bits), number(theirs, bits)) {
            (Some(ours), Some(theirs)) => right((ours == 0) == (theirs == 0)),
            _ => Outcome::Wrong,
        },
        Shape::Struct { members } => worst(members.iter().map(|of| member(of, ours, theirs))),
        Shape::Array { element, count: Some(count), stride } => {
            let stride = stride.or(element.size).unwrap_or(0) * 8;
            let at = |(bytes, start): (_, u64), index| (bytes, start + index * stride);
            worst((0..(*count).min(4096)).map(|index| scalars(element, at(ours, index), at(theirs, index))))
        }
        Shape::Sequence(of) => sequence(of, ours, theirs),
        Shape::Variants(of) => variants(of, ours, theirs),
        Shape::Union { .. } | Shape::Array { .. } | Shape::Collection(_) | Shape::Dynamic(_) | Shape::Opaque(_) => {
            Outcome::Unknown
        }
    }
}

/// [`Outcome::Right`] if there are none.
fn worst(outcomes: impl Iterator<Item = Outcome>) -> Outcome {
    outcomes.max().unwrap_or(Outcome::Right)
}

fn member(of: &Member, (ours, start): Bits<'_>, (theirs, theirs_start): Bits<'_>) -> Outcome {
    let (ours, theirs) = ((ours, start + of.bit_offset), (theirs, theirs_start + of.bit_offset));
    match of.bit_size {
        Some(bits) => same(ours, theirs, bits),
        None => scalars(&of.of, ours, theirs),
    }
}

fn sequence(of: &Sequence, ours: Bits<'_>, theirs: Bits<'_>) -> Outcome {
    member(&of.length, ours, theirs).max(member(&of.data, ours, theirs))
}

/// The active variants must be the same, and their members.
fn variants(of: &Variants, ours: Bits<'_>, theirs: Bits<'_>) -> Outcome {
    let active = |(bytes, start): Bits<'_>| match &of.discriminant {
        None => Some(0),
        Some(tag) => {
            let bits = tag.bit_size.or(Some(tag.of.size? * 8))?;
            let value = number((bytes, start + tag.bit_offset), bits)?;
            let unused = 128 - u32::try_from(bits).ok()?;
            let signed = ((value << unused) as i128) >> unused;
            let is_one = |(from, to): &(i128, i128)| {
                (*from..=*to).contains(&signed)
                    || i128::try_from(value).is_ok_and(|value| (*from..=*to).contains(&value))
            };
            let listed = of.variants.iter().position(|of| of.values.iter().flatten().any(is_one));
            listed.or_else(|| of.variants.iter().position(|of| of.values.is_none()))
        }
    };
    match (active(ours), active(theirs)) {
        (Some(ours_active), Some(active)) if ours_active == active => {
            let members = of.variants.get(active).into_iter().flat_map(|of| &of.members).chain(&of.common);
            worst(members.map(|of| member(of, ours, theirs)))
        }
        (None, None) => Outcome::Unknown,
        _ => Outcome::Wrong,
    }
}

fn same(ours: Bits<'_>, theirs: Bits<'_>, bits: u64) -> Outcome {
    match (number(ours, bits), number(theirs, bits)) {
        (Some(ours), Some(theirs)) => right(ours == theirs),
        _ => Outcome::Wrong,
    }
}

/// At most 128 bits of little-endian bytes.
fn number((bytes, start): Bits<'_>, bits: u64) -> Option<u128> {
    let mut value = 0;
    for bit in 0..bits.min(128) {
        let at = start.checked_add(bit)?;
        let byte = bytes.get(usize::try_from(at / 8).ok()?)?;
        value |= u128::from(byte >> (at % 8) & 1) << bit;
    }
    Some(value)
}

/// Whether the memory behind a pointer, or the text, is what the twin has there.
fn is_same_behind(ty: &Type, machine: &dyn Machine, ours: &[u8], shown: &[u8]) -> bool {
    let read = |address: u64| {
        let mut bytes = vec![0; shown.len()];
        (shown.is_empty() || machine.read(RuntimeAddress(address), &mut bytes)).then_some(bytes)
    };
    let pointer = |bits: Bits<'_>| number(bits, 64).map(|address| address as u64);
    let text = |bytes: &[u8], of: &Sequence| read(pointer((bytes, of.data.bit_offset))?.wrapping_add(of.offset));
    let behind = match &ty.shape {
        Shape::Pointer { to } => match to.as_deref().map(|to| (&to.shape, to.size)) {
            // A reference to a string.
            Some((Shape::Sequence(of), Some(size))) => {
                let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
                let address = pointer((ours, 0)).unwrap_or(0);
                machine.read(RuntimeAddress(address), &mut bytes).then(|| text(&bytes, of)).flatten()
            }
            _ => pointer((ours, 0)).and_then(read),
        },
        Shape::Sequence(of) => text(ours, of),
        // The wrapper is not known here.
        _ => return true,
    };
    behind.is_some_and(|bytes| bytes == shown)
}

#[cfg(test)]
mod tests {
    use simple_markers_resolver::types::Variant;

    use super::*;

    fn scalar(shape: Shape, size: u64) -> Type {
        Type { name: "t".into(), size: Some(size), shape }
    }

    fn unsigned(size: u64) -> Type {
        scalar(Shape::Integer { signed: false }, size)
    }

    fn member(name: &str, byte: u64, of: Type) -> Member {
        Member { name: name.into(), bit_offset: byte * 8, bit_size: None, of: of.into() }
    }

    fn outcome(ty: &Type, ours: &[u8], theirs: &[u8]) -> Outcome {
        scalars(ty, (ours, 0), (theirs, 0))
    }

    #[test]
    fn scalars_are_compared_and_padding_is_not() {
        assert_eq!(outcome(&unsigned(2), &[1, 2], &[1, 2]), Outcome::Right);
        assert_eq!(outcome(&unsigned(2), &[1, 2], &[1, 3]), Outcome::Wrong);
        let padded = Shape::Struct { members: [member("a", 0, unsigned(1)), member("b", 2, unsigned(2))].into() };
        let padded = scalar(padded, 4);
        assert_eq!(outcome(&padded, &[1, 9, 2, 3], &[1, 7, 2, 3]), Outcome::Right);
        assert_eq!(outcome(&padded, &[1, 9, 2, 3], &[1, 9, 2, 4]), Outcome::Wrong);
        let boolean = scalar(Shape::Boolean, 1);
        assert_eq!(outcome(&boolean, &[17], &[1]), Outcome::Masked);
        assert_eq!(outcome(&boolean, &[16], &[1]), Outcome::Wrong);
        let pointer = scalar(Shape::Pointer { to: None }, 2);
        assert_eq!(outcome(&pointer, &[1, 0], &[0, 5]), Outcome::Right);
        assert_eq!(outcome(&pointer, &[0, 0], &[0, 5]), Outcome::Wrong);
    }

    #[test]
    fn only_the_active_variant_is_compared() {
        let payload = |size| scalar(Shape::Struct { members: [member("0", 1, unsigned(size))].into() }, 3);
        let variant = |value, name: &str, size| Variant {
            values: Some(vec![(value, value)]),
            name: name.into(),
            members: vec![member(name, 0, payload(size))],
            state: None,
        };
        let variants = Variants {
            discriminant: Some(member("tag", 0, unsigned(1))),
            variants: vec![variant(0, "A", 1), variant(1, "B", 2)],
            common: Vec::new(),
        };
        let of = scalar(Shape::Variants(variants.into()), 3);
        assert_eq!(outcome(&of, &[0, 7, 1], &[0, 7, 2]), Outcome::Right);
        assert_eq!(outcome(&of, &[1, 7, 1], &[1, 7, 2]), Outcome::Wrong);
        assert_eq!(outcome(&of, &[1, 7, 1], &[0, 7, 1]), Outcome::Wrong);
    }
}
