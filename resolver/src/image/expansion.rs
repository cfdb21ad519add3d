//! How much compressed contents may expand.

/// The highest ratio of decompressed to compressed size that is accepted. Deflate expands one byte
/// to at most 1032 bytes (RFC 1951: a length of 258 in two bits). zstd can exceed this ratio, but
/// sections with text or records come nowhere near it. [`SMALL`] is added for very small sections.
const RATIO: u64 = 1032;
const SMALL: u64 = 64 << 10;
/// The largest section that is decompressed, in bytes.
const LARGEST: u64 = 4 << 30;

/// The most bytes that so many compressed ones may have.
pub(super) fn bound(compressed: u64) -> u64 {
    compressed.saturating_mul(RATIO).saturating_add(SMALL).min(LARGEST)
}
