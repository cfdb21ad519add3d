//! The header of a packet, of [`HEADER`] bytes. It is also a packet of the Common Trace Format 1.8.
//!
//! [`CONTENT_SIZE`] alone says which records are complete: it is written after the record, by one
//! store. A packet that is [`CLOSED`] gets no more records.
//!
//! A reader of a ring looks for packet k in its place. It is there if [`SEQUENCE`] is k. The reader
//! reads [`CLOSED`], then [`CONTENT_SIZE`], then the records, then [`SEQUENCE`] again. If that has
//! changed, the packet was overwritten in between, and what was read is thrown away.
//!
//! In a ring that overwrites its packets some numbers are left out if the disk is full. A reader that does
//! not find the next number looks for the least greater one of all places, and goes on there if the next one
//! is still missing.

use super::{u32_at, u64_at};

/// The size of the header.
pub const HEADER: usize = 64;

/// The first bytes.
pub const MAGIC: u32 = 0xc1fc_1fc1;

/// The smallest size of a packet.
pub const MIN_SIZE: u32 = 1 << 12;

/// The largest size of a packet of a ring. The last packet of a growing file reaches to its end and
/// can be larger.
pub const MAX_SIZE: u32 = 1 << 26;

/// Offset of the number of the stream, 4 bytes: 0.
pub const STREAM: usize = 4;

/// Offset of whether no record follows, 8 bytes: 0 or 1.
pub const CLOSED: usize = 8;

/// Offset of the time at which the packet was begun, 8 bytes.
pub const BEGIN: usize = 16;

/// Offset of the size of the header and the complete records in bits, 8 bytes.
pub const CONTENT_SIZE: usize = 24;

/// Offset of the size of the packet in bits, 8 bytes.
pub const PACKET_SIZE: usize = 32;

/// Offset of the number of hits that were lost since the file was begun, 8 bytes.
pub const DISCARDED: usize = 40;

/// Offset of the number of the packet in its file, 8 bytes, from 0. It is [`NO_SEQUENCE`] while a
/// packet is begun.
pub const SEQUENCE: usize = 48;

/// The number of a packet that is being begun.
pub const NO_SEQUENCE: u64 = u64::MAX;

/// Offset of the process id, 4 bytes.
pub const PID: usize = 56;

/// Offset of the thread id, 4 bytes.
pub const TID: usize = 60;

/// A header. None of it is to be trusted: the process can write anything there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Whether no record follows.
    pub is_closed: bool,
    /// The time at which the packet was begun.
    pub begin: u64,
    /// Bits of the header and of the complete records.
    pub content_size: u64,
    /// Bits of the packet.
    pub packet_size: u64,
    /// Hits that were lost since the file was begun.
    pub discarded: u64,
    /// The number of the packet in its file.
    pub sequence: u64,
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
}

impl Header {
    /// Reads a header; `None` if it is too short, or has another magic number or stream.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        if u32_at(bytes, 0)? != MAGIC || u32_at(bytes, STREAM)? != 0 {
            return None;
        }
        Some(Self {
            is_closed: u64_at(bytes, CLOSED)? != 0,
            begin: u64_at(bytes, BEGIN)?,
            content_size: u64_at(bytes, CONTENT_SIZE)?,
            packet_size: u64_at(bytes, PACKET_SIZE)?,
            discarded: u64_at(bytes, DISCARDED)?,
            sequence: u64_at(bytes, SEQUENCE)?,
            pid: u32_at(bytes, PID)?,
            tid: u32_at(bytes, TID)?,
        })
    }

    /// The size of the header and of the complete records in bytes; `None` if it is smaller than a
    /// header, no multiple of 8, or larger than the packet.
    #[must_use]
    pub fn content(&self) -> Option<u64> {
        let is_valid = self.content_size % 64 == 0 && self.content_size <= self.packet_size;
        Some(self.content_size / 8).filter(|&size| is_valid && size >= HEADER as u64)
    }
}
