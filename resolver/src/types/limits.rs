//! How much of a value is read and written.

/// Limits on the amount of data read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of nested pointers to follow.
    pub depth: u32,
    /// Maximum number of array elements to show.
    pub elements: usize,
    /// Maximum number of bytes of a text to show.
    pub text: usize,
    /// Maximum number of bytes to read from memory at once.
    pub memory: usize,
    /// Approximate maximum number of bytes to write. The output may be slightly longer.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 1, elements: 32, text: 256, memory: 1 << 16, output: 4096 }
    }
}
