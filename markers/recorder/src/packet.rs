//! How packets are begun, filled and closed: the order of stores that a reader relies on.
//!
//! A reader may look at any moment, and the process may be killed at any moment. So a packet is
//! complete after each store. `model.rs` checks this order.

use core::sync::atomic::{Ordering, fence};

use simple_markers_record::buffer::packet;

/// Memory with a packet. Loads and stores are of 8 bytes, and a reader sees stores in their order.
pub(crate) trait Memory {
    /// The word at `offset`.
    fn load(&self, offset: usize) -> u64;
    /// Changes the word at `offset`, after all stores before.
    fn store(&self, offset: usize, word: u64);
    /// Stores after it, also of records, are seen after those before it.
    fn barrier(&self) {
        fence(Ordering::Release);
    }
}

/// What the header of a new packet says.
#[derive(Clone, Copy)]
pub(crate) struct Begin {
    pub(crate) time: u64,
    /// Bytes of the packet.
    pub(crate) size: u64,
    /// Hits that were lost before.
    pub(crate) discarded: u64,
    pub(crate) sequence: u64,
    pub(crate) pid: u32,
    pub(crate) tid: u32,
}

/// Begins a packet. If the memory has an older packet, that one is marked as gone first.
pub(crate) fn begin(memory: &impl Memory, begin: &Begin) {
    memory.store(packet::SEQUENCE, packet::NO_SEQUENCE);
    // A reader of the older packet must not see records of the new one under the older number.
    memory.barrier();
    memory.store(packet::CLOSED, 0);
    memory.store(packet::CONTENT_SIZE, bits(packet::HEADER as u64));
    memory.store(0, packet::MAGIC.into());
    memory.store(packet::BEGIN, begin.time);
    memory.store(packet::PACKET_SIZE, bits(begin.size));
    memory.store(packet::DISCARDED, begin.discarded);
    memory.store(packet::PID, u64::from(begin.pid) | u64::from(begin.tid) << 32);
    memory.store(packet::SEQUENCE, begin.sequence);
}

/// Bytes of the header and the complete records.
pub(crate) fn content(memory: &impl Memory) -> u64 {
    memory.load(packet::CONTENT_SIZE) / 8
}

/// Makes the record visible that was written behind the complete records and ends at `content`.
pub(crate) fn publish(memory: &impl Memory, content: u64) {
    memory.store(packet::CONTENT_SIZE, bits(content));
}

/// Closes a packet: no record follows in it.
pub(crate) fn close(memory: &impl Memory, discarded: u64) {
    memory.store(packet::DISCARDED, discarded);
    memory.store(packet::CLOSED, 1);
}

/// Ends the last packet of a growing file, which reached to the end of the file, where the next one
/// begins.
pub(crate) fn end(memory: &impl Memory, size: u64) {
    memory.store(packet::PACKET_SIZE, bits(size));
}

/// A number of bytes in bits.
pub(crate) fn bits(bytes: u64) -> u64 {
    bytes.wrapping_mul(8)
}
