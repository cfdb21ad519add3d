//! The input to rendering: the bytes of a value, some of which may be unknown, and access to
//! memory.

use std::ops::Range;

use simple_markers_record::ByteOrder;

use super::memory::{MemoryRead, ValueMemory};
use super::{Language, Limits, ValueProblem};

/// The bytes of a value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Object<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// The bits that were optimised out, numbered as in [`crate::types::Member::bit_offset`].
    pub optimized_out: &'a [Range<u64>],
    /// The bits in registers that were not read, numbered in the same way.
    pub unread: &'a [Range<u64>],
    /// Whether the value has more bytes, which were not copied because a limit was reached.
    pub is_cut: bool,
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
    /// The memory that pointers lead to.
    pub memory: &'a dyn ValueMemory,
    /// Limits on the amount of data read and written.
    pub limits: Limits,
    /// What is added to the link-time addresses of the image in which the type is described. `None` if
    /// that is not known.
    pub load_bias: Option<u64>,
}

impl std::fmt::Debug for ReadContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { byte_order, language, x87, limits, load_bias, .. } = self;
        f.debug_struct("ReadContext")
            .field("byte_order", byte_order)
            .field("language", language)
            .field("x87", x87)
            .field("limits", limits)
            .field("load_bias", load_bias)
            .finish_non_exhaustive()
    }
}

impl<'a> Object<'a> {
    /// Creates an object whose bytes are all known.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// Creates an object of `size` bytes, of which these are the first ones, or all.
    #[must_use]
    pub fn start(bytes: &'a [u8], size: u64) -> Self {
        Self { is_cut: (bytes.len() as u64) < size, ..Self::new(bytes) }
    }

    /// Reads up to 128 bits, starting at bit `from`. The error says why they are not known.
    pub(super) fn bits(&self, order: ByteOrder, from: u64, size: u64) -> Result<u128, ValueProblem> {
        self.check(from, size)?;
        let mut value = 0u128;
        for at in 0..size.min(128) {
            let bit = from.wrapping_add(at);
            let byte = usize::try_from(bit / 8)
                .ok()
                .and_then(|index| self.bytes.get(index))
                .ok_or(ValueProblem::Incomplete)?;
            let weight = bit % 8;
            match order {
                ByteOrder::Little => value |= u128::from((byte >> weight) & 1) << at,
                ByteOrder::Big => value = (value << 1) | u128::from((byte >> (7 - weight)) & 1),
            }
        }
        Ok(value)
    }

    /// Reads bytes, starting at bit `from`. The error says why they are not known.
    pub(super) fn bytes(&self, from: u64, size: u64) -> Result<&'a [u8], ValueProblem> {
        self.check(from, size.saturating_mul(8))?;
        let range = || {
            let start = usize::try_from(from / 8).ok()?;
            let end = start.checked_add(usize::try_from(size).ok()?)?;
            self.bytes.get(start..end)
        };
        match from % 8 {
            0 => range().ok_or(ValueProblem::Incomplete),
            _ => Err(ValueProblem::NotAligned),
        }
    }

    fn check(&self, from: u64, size: u64) -> Result<(), ValueProblem> {
        let end = from.checked_add(size).ok_or(ValueProblem::Incomplete)?;
        if end > (self.bytes.len() as u64).saturating_mul(8) {
            return Err(if self.is_cut { ValueProblem::NotCaptured } else { ValueProblem::Incomplete });
        }
        let has = |bits: &[Range<u64>]| bits.iter().any(|bits| bits.start < end && from < bits.end);
        match (has(self.optimized_out), has(self.unread)) {
            (true, _) => Err(ValueProblem::OptimizedOut),
            (false, true) => Err(ValueProblem::UnreadRegister),
            (false, false) => Ok(()),
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

impl<'a> ReadContext<'a> {
    /// The values of a program on a little-endian machine, with the default limits, and x86's `long double`.
    /// The load bias is not known.
    #[must_use]
    pub fn new(language: Language, memory: &'a dyn ValueMemory) -> Self {
        let (byte_order, limits) = (ByteOrder::Little, Limits::default());
        Self { byte_order, language, x87: true, memory, limits, load_bias: None }
    }

    /// Reads the bytes at an address. The error says why they are not known.
    pub(super) fn at(&self, address: u64, size: u64) -> Result<Vec<u8>, ValueProblem> {
        let unreadable = || ValueProblem::Unreadable { address, length: size };
        let length = usize::try_from(size).ok().filter(|size| *size <= self.limits.memory).ok_or_else(unreadable)?;
        let mut bytes = vec![0; length];
        if size == 0 {
            return Ok(bytes);
        }
        match self.memory.read(address, &mut bytes) {
            MemoryRead::Complete => Ok(bytes),
            MemoryRead::Unreadable => Err(unreadable()),
            MemoryRead::NotCaptured => Err(ValueProblem::NotCaptured),
        }
    }

    /// Reads the first bytes at an address, or all: those that are there. There is at least one, or
    /// `size` is 0. The error says why there is none.
    pub(super) fn start_at(&self, address: u64, size: u64) -> Result<Vec<u8>, ValueProblem> {
        match self.memory.available(address, size).min(size) {
            0 => self.at(address, size),
            available => self.at(address, available),
        }
    }

    /// Reads bytes up to a NUL, but at most `most`. Also returns whether a NUL was found. The error
    /// says why the memory ends first.
    pub(super) fn string_at(&self, address: u64, most: usize) -> Result<(Vec<u8>, bool), ValueProblem> {
        let (mut bytes, mut at) = (Vec::new(), address);
        while bytes.len() < most {
            // Read up to a multiple of 64, so that no read crosses a page boundary.
            let size = (64 - at % 64).min((most - bytes.len()) as u64);
            let chunk = match self.start_at(at, size).or_else(|_| self.at(at, 1)) {
                Err(ValueProblem::NotCaptured) if !bytes.is_empty() => return Ok((bytes, false)),
                chunk => chunk?,
            };
            let size = chunk.len() as u64;
            match chunk.iter().position(|byte| *byte == 0) {
                Some(end) => {
                    bytes.extend(chunk.iter().take(end));
                    return Ok((bytes, true));
                }
                None => bytes.extend(chunk),
            }
            at = at.checked_add(size).ok_or(ValueProblem::Unreadable { address: at, length: size })?;
        }
        Ok((bytes, false))
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
        assert_eq!(object.bits(ByteOrder::Little, 9, 8), Err(ValueProblem::Incomplete));
        assert_eq!(object.bits(ByteOrder::Little, u64::MAX, 8), Err(ValueProblem::Incomplete));
        let gone = 8..16;
        let object = Object { optimized_out: std::slice::from_ref(&gone), ..object };
        assert_eq!(object.bits(ByteOrder::Little, 0, 8), Ok(0xa6));
        assert_eq!(object.bits(ByteOrder::Little, 7, 2), Err(ValueProblem::OptimizedOut));
        assert_eq!((number(0xff, 8, true), number(0xff, 8, false), number(5, 3, true)), (-1, 255, -3));
    }
}
