//! The memory that jump tables are read from.

use crate::address::Vaddr;

/// The memory of an image as it was linked. Jump tables are read from it.
pub(crate) trait Memory {
    /// `size` bytes at an address; `None` if the file does not hold them, or relocations are yet to
    /// be applied to them.
    fn read(&self, at: Vaddr, size: usize) -> Option<&[u8]>;
}

/// No memory: every jump table is unknown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NoMemory;

impl Memory for NoMemory {
    fn read(&self, _: Vaddr, _: usize) -> Option<&[u8]> {
        None
    }
}
