//! The input to rendering: the bytes of a value, some of which may be unknown, and access to
//! memory.

use std::ops::Range;

use simple_markers_record::ByteOrder;

use super::{Language, Limits};

/// The bytes of a value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Object<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// The unknown bits, numbered as in [`crate::types::Member::bit_offset`].
    pub optimized_out: &'a [Range<u64>],
}

/// How values are read and formatted.
#[derive(Clone, Copy)]
pub struct ReadContext<'a> {
    /// The byte order of numbers.
    pub byte_order: ByteOrder,
    /// The language whose syntax is used.
    pub language: Language,
    /// Whether a `long double` of 12 or 16 bytes has the x86 extended format. Otherwise it is IEEE
    /// 754 binary128.
    pub x87: bool,
    /// Fills the bytes from memory at an address. Returns `false` if the memory cannot be read.
    pub memory: &'a dyn Fn(u64, &mut [u8]) -> bool,
    /// Limits on the amount of data read and written.
    pub limits: Limits,
}

impl std::fmt::Debug for ReadContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { byte_order, language, x87, limits, .. } = self;
        f.debug_struct("ReadContext")
            .field("byte_order", byte_order)
            .field("language", language)
            .field("x87", x87)
            .field("limits", limits)
            .finish_non_exhaustive()
    }
}

/// The placeholder for unknown bits.
pub(super) const UNKNOWN: &str = "<optimised out>";

/// The placeholder for bits beyond the end of the value.
pub(super) const OUTSIDE: &str = "<not all of it was read>";

impl<'a> Object<'a> {
    /// Creates an object whose bytes are all known.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, optimized_out: &[] }
    }

    /// Reads up to 128 bits, starting at bit `from`. The error says why they are not known.
    pub(super) fn bits(&self, order: ByteOrder, from: u64, size: u64) -> Result<u128, &'static str> {
        self.check(from, size)?;
        let mut value = 0u128;
        for at in 0..size.min(128) {
            let bit = from.wrapping_add(at);
            let byte = usize::try_from(bit / 8).ok().and_then(|index| self.bytes.get(index)).ok_or(OUTSIDE)?;
            let weight = bit % 8;
            match order {
                ByteOrder::Little => value |= u128::from((byte >> weight) & 1) << at,
                ByteOrder::Big => value = (value << 1) | u128::from((byte >> (7 - weight)) & 1),
            }
        }
        Ok(value)
    }

    /// Reads bytes, starting at bit `from`. The error says why they are not known.
    pub(super) fn bytes(&self, from: u64, size: u64) -> Result<&'a [u8], &'static str> {
        self.check(from, size.saturating_mul(8))?;
        let range = || {
            let start = usize::try_from(from / 8).ok()?;
            let end = start.checked_add(usize::try_from(size).ok()?)?;
            self.bytes.get(start..end)
        };
        match from % 8 {
            0 => range().ok_or(OUTSIDE),
            _ => Err("<not at a whole byte>"),
        }
    }

    fn check(&self, from: u64, size: u64) -> Result<(), &'static str> {
        let end = from.checked_add(size).ok_or(OUTSIDE)?;
        if end > (self.bytes.len() as u64).saturating_mul(8) {
            return Err(OUTSIDE);
        }
        match self.optimized_out.iter().any(|bits| bits.start < end && from < bits.end) {
            true => Err(UNKNOWN),
            false => Ok(()),
        }
    }
}

/// Interprets `bits` as a number of the given width.
pub(super) fn number(bits: u128, size: u64, signed: bool) -> i128 {
    let unused = u32::try_from(128u64.saturating_sub(size)).unwrap_or(0);
    let raised = bits.checked_shl(unused).unwrap_or(0);
    match signed {
        true => (raised as i128).checked_shr(unused).unwrap_or(0),
        false => raised.checked_shr(unused).unwrap_or(0) as i128,
    }
}

impl ReadContext<'_> {
    /// Reads the bytes at an address. `None` if they cannot be read.
    pub(super) fn at(&self, address: u64, size: u64) -> Option<Vec<u8>> {
        let size = usize::try_from(size).ok().filter(|size| *size <= self.limits.memory)?;
        let mut bytes = vec![0; size];
        (size == 0 || (self.memory)(address, &mut bytes)).then_some(bytes)
    }

    /// Reads bytes up to a NUL, but at most `most`. Also returns whether a NUL was found. `None` if
    /// the memory ends first.
    pub(super) fn string_at(&self, address: u64, most: usize) -> Option<(Vec<u8>, bool)> {
        let (mut bytes, mut at) = (Vec::new(), address);
        while bytes.len() < most {
            // Read up to a multiple of 64, so that no read crosses a page boundary.
            let size = (64 - at % 64).min((most - bytes.len()) as u64);
            let (chunk, size) = match self.at(at, size) {
                Some(chunk) => (chunk, size),
                None => (self.at(at, 1)?, 1),
            };
            match chunk.iter().position(|byte| *byte == 0) {
                Some(end) => {
                    bytes.extend(chunk.iter().take(end));
                    return Some((bytes, true));
                }
                None => bytes.extend(chunk),
            }
            at = at.checked_add(size)?;
        }
        Some((bytes, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_the_byte_order() {
        let object = Object::new(&[0b1010_0110, 0b0000_0011]);
        assert_eq!(object.bits(ByteOrder::Little, 1, 3), Ok(0b011));
        assert_eq!(object.bits(ByteOrder::Little, 6, 4), Ok(0b1110));
        assert_eq!(object.bits(ByteOrder::Big, 0, 4), Ok(0b1010));
        assert_eq!(object.bits(ByteOrder::Big, 0, 16), Ok(0xa603));
        assert_eq!(object.bits(ByteOrder::Little, 9, 8), Err(OUTSIDE));
        assert_eq!(object.bits(ByteOrder::Little, u64::MAX, 8), Err(OUTSIDE));
        let gone = 8..16;
        let object = Object { optimized_out: std::slice::from_ref(&gone), ..object };
        assert_eq!(object.bits(ByteOrder::Little, 0, 8), Ok(0xa6));
        assert_eq!(object.bits(ByteOrder::Little, 7, 2), Err(UNKNOWN));
        assert_eq!((number(0xff, 8, true), number(0xff, 8, false), number(5, 3, true)), (-1, 255, -3));
    }
}
