//! The bits of kept floating-point numbers, which go through general registers.

/// The bits of an `f32`.
#[inline(always)]
#[must_use]
pub const fn bits32(value: f32) -> u32 {
    value.to_bits()
}

/// The bits of an `f64`.
#[inline(always)]
#[must_use]
pub const fn bits64(value: f64) -> u64 {
    value.to_bits()
}
