//! Access to the memory that pointers of a value lead to: of a running program, of a core file, or
//! of what was copied when a marker was hit.

/// The outcome of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryRead {
    /// All bytes were read.
    Complete,
    /// There is no such memory, or it may not be read.
    Unreadable,
    /// The memory was not copied, because a limit was reached.
    NotCaptured,
}

/// The memory of a program.
pub trait ValueMemory {
    /// Fills the bytes from memory at an address. Their content is undefined if the outcome is not
    /// [`MemoryRead::Complete`].
    fn read(&self, address: u64, into: &mut [u8]) -> MemoryRead;

    /// How many of `size` bytes from the address may be read at once. At most `size`. A snapshot may
    /// have only the first elements of a list.
    fn available(&self, _address: u64, size: u64) -> u64 {
        size
    }
}

/// ValueMemory that a function reads. It returns `false` if the memory cannot be read.
#[derive(Clone, Copy, Debug)]
pub struct MemoryFunction<F>(pub F);

impl<F: Fn(u64, &mut [u8]) -> bool> ValueMemory for MemoryFunction<F> {
    fn read(&self, address: u64, into: &mut [u8]) -> MemoryRead {
        if (self.0)(address, into) { MemoryRead::Complete } else { MemoryRead::Unreadable }
    }
}

/// Consecutive bytes that were copied from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryChunk<'a> {
    /// The address of the first byte.
    pub address: u64,
    /// The bytes. There are fewer than wanted if a limit was reached, or none if they could not be
    /// read.
    pub bytes: &'a [u8],
    /// How many bytes behind them could not be read.
    pub unreadable: u64,
}

/// What was copied from memory. All else is [`MemoryRead::NotCaptured`].
#[derive(Clone, Copy, Debug, Default)]
pub struct MemorySnapshot<'a> {
    /// The chunks, in any order. They may overlap. There are few of them.
    pub chunks: &'a [MemoryChunk<'a>],
}

impl<'a> MemorySnapshot<'a> {
    /// The bytes from an address to the end of the chunk that has the most of them.
    fn bytes_at(&self, address: u64) -> &'a [u8] {
        let rest = |chunk: &MemoryChunk<'a>| {
            let bytes: &'a [u8] = chunk.bytes;
            bytes.get(usize::try_from(address.checked_sub(chunk.address)?).ok()?..)
        };
        self.chunks.iter().filter_map(rest).max_by_key(|rest| rest.len()).unwrap_or_default()
    }
}

impl ValueMemory for MemorySnapshot<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> MemoryRead {
        if let Some(bytes) = self.bytes_at(address).get(..into.len()) {
            into.copy_from_slice(bytes);
            return MemoryRead::Complete;
        }
        let end = address.saturating_add(into.len() as u64);
        let is_unreadable = |chunk: &MemoryChunk<'_>| {
            let from = chunk.address.saturating_add(chunk.bytes.len() as u64);
            chunk.unreadable > 0 && from < end && address < from.saturating_add(chunk.unreadable)
        };
        if self.chunks.iter().any(is_unreadable) { MemoryRead::Unreadable } else { MemoryRead::NotCaptured }
    }

    fn available(&self, address: u64, size: u64) -> u64 {
        size.min(self.bytes_at(address).len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_has_what_was_copied() {
        let chunk = |address, bytes, unreadable| MemoryChunk { address, bytes, unreadable };
        let chunks = [chunk(0x10, b"abcd".as_slice(), 0), chunk(0x12, b"cdef", 0), chunk(0x40, b"x", 2)];
        let snapshot = MemorySnapshot { chunks: &chunks };
        let read = |address, size| {
            let mut into = vec![0; size];
            let outcome = snapshot.read(address, &mut into);
            (outcome, if outcome == MemoryRead::Complete { into } else { Vec::new() })
        };
        assert_eq!(read(0x11, 2), (MemoryRead::Complete, b"bc".to_vec()));
        assert_eq!(read(0x13, 3), (MemoryRead::Complete, b"def".to_vec()));
        assert_eq!(read(0x13, 4), (MemoryRead::NotCaptured, vec![]));
        assert_eq!(read(0x40, 1), (MemoryRead::Complete, b"x".to_vec()));
        assert_eq!(read(0x40, 2), (MemoryRead::Unreadable, vec![]));
        assert_eq!(read(0x42, 2), (MemoryRead::Unreadable, vec![]));
        assert_eq!(read(0x43, 2), (MemoryRead::NotCaptured, vec![]));
        assert_eq!(read(u64::MAX, 8), (MemoryRead::NotCaptured, vec![]));
        let available = [(0x12, 9), (0x12, 2), (0x16, 1), (0x41, 1)].map(|(at, size)| snapshot.available(at, size));
        assert_eq!(available, [4, 2, 0, 0]);
    }
}
