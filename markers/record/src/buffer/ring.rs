//! The first page of a ring. The packets follow: packet number k is in place k modulo their number.

use super::{u32_at, u64_at};

/// The size of the page.
pub const SIZE: usize = 4096;

/// The first bytes: "SMRB".
pub const MAGIC: u32 = u32::from_le_bytes(*b"SMRB");

/// The version.
pub const VERSION: u32 = 1;

/// Offset of the version, 4 bytes.
pub const VERSION_AT: usize = 4;

/// Offset of the size of a packet, 4 bytes.
pub const PACKET_SIZE: usize = 8;

/// Offset of the number of packets, 4 bytes.
pub const PACKETS: usize = 12;

/// Offset of the process id, 4 bytes.
pub const PID: usize = 16;

/// Offset of the clock, 4 bytes: one of the `CLOCK` constants of [`super`].
pub const CLOCK: usize = 20;

/// Offset of the number of hits that were dropped, 8 bytes. The program writes it.
pub const LOST: usize = 24;

/// Offset of the number of packets that the reader is done with, 8 bytes. The reader writes it.
/// Packet number k may be begun if k < this number + the number of packets.
pub const CONSUMED: usize = 64;

/// The size of the bell behind the packets. Nothing is stored there. The program frees this page
/// (`madvise(2)`, `MADV_REMOVE`) to wake a reader that watches the folder for changes of files
/// (`inotify(7)`, `IN_MODIFY`). A file that is shorter has no bell.
pub const BELL: usize = 4096;

/// What the page says. None of it is to be trusted: the process can write anything there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The size of a packet in bytes.
    pub packet_size: u32,
    /// The number of packets.
    pub packets: u32,
    /// The process.
    pub pid: u32,
    /// The clock.
    pub clock: u32,
    /// Hits that were dropped.
    pub lost: u64,
    /// Packets that the reader is done with.
    pub consumed: u64,
}

impl Page {
    /// Reads the page; `None` if it is too short, or has another magic number or version.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        if u32_at(bytes, 0)? != MAGIC || u32_at(bytes, VERSION_AT)? != VERSION {
            return None;
        }
        Some(Self {
            packet_size: u32_at(bytes, PACKET_SIZE)?,
            packets: u32_at(bytes, PACKETS)?,
            pid: u32_at(bytes, PID)?,
            clock: u32_at(bytes, CLOCK)?,
            lost: u64_at(bytes, LOST)?,
            consumed: u64_at(bytes, CONSUMED)?,
        })
    }
}
