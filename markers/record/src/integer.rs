//! Integers of less than 8 bytes.

/// The number in the lowest bytes, with its sign. `size` is how many bytes it has, from 1 to 8.
#[must_use]
pub const fn signed(bits: u64, size: u8) -> i64 {
    let unused = unused(size);
    (bits << unused) as i64 >> unused
}

/// The number in the lowest bytes, without a sign. `size` is how many bytes it has, from 1 to 8.
#[must_use]
pub const fn unsigned(bits: u64, size: u8) -> u64 {
    let unused = unused(size);
    bits << unused >> unused
}

/// How many bits of 8 bytes are not in the number. A wrong size counts as the nearest right one.
const fn unused(size: u8) -> u32 {
    match size {
        0 => 56,
        1..=8 => 64 - size as u32 * 8,
        9.. => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lowest_bytes_count() {
        let bits = 0xffff_ffff_8765_4380;
        assert_eq!((signed(bits, 1), unsigned(bits, 1)), (-0x80, 0x80));
        assert_eq!((signed(bits, 2), unsigned(bits, 2)), (0x4380, 0x4380));
        assert_eq!((signed(bits, 4), unsigned(bits, 4)), (-0x789a_bc80, 0x8765_4380));
        assert_eq!((signed(bits, 8), unsigned(bits, 8)), (-0x789a_bc80, bits));
        assert_eq!((signed(bits, 0), signed(bits, u8::MAX)), (-0x80, -0x789a_bc80));
    }
}
