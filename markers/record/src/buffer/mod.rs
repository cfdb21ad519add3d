//! What the recorder of a program writes while probes are on, and where a tool tells it to.
//!
//! Everything is in the byte order of the processor, which is little-endian on the processors that
//! have a recorder. Offsets are in bytes.
//!
//! - [`control`]: the block of a program in which a tool names the folder and the size of buffers;
//! - [`ring`]: the page before the packets of a buffer that a tool empties;
//! - [`packet`]: what precedes the records of a packet;
//! - [`event`]: the records;
//! - [`value`]: what a probe hands on of a whole value;
//! - [`Layout`]: which values a probe has.

pub mod control;
pub mod event;
mod layout;
pub mod packet;
pub mod ring;
pub mod value;

pub use layout::{HANDLED, Layout, MAX_WORDS};

/// The greatest number of a probe in records; the least is 1.
pub const MAX_ID: u16 = i16::MAX as u16;

/// The number of a probe that is on for a handler of the program, and not recorded. Whoever stops
/// recording a probe writes it in place of 0 if [`HANDLER`] of the descriptor is not 0, and looks
/// there again after it.
pub const NO_ID: u16 = u16::MAX;

/// Offset of the handler in a descriptor, 8 bytes; 0 if there is none.
pub const HANDLER: usize = 16;

/// The `clock` of a program that takes times from `CLOCK_MONOTONIC`, in ns.
pub const CLOCK_MONOTONIC: u32 = 0;

/// The `clock` of a program that takes times from the counter of the processor (the TSC, or
/// `cntvct_el0`).
pub const CLOCK_COUNTER: u32 = 1;

/// The `clock` of a program that has recorded nothing yet.
pub const CLOCK_UNKNOWN: u32 = 2;

/// The bytes at `offset` as an integer; `None` if they are not all there.
#[must_use]
pub fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let bytes = bytes.get(offset..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

/// The bytes at `offset` as an integer; `None` if they are not all there.
#[must_use]
pub fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    let bytes = bytes.get(offset..)?.first_chunk()?;
    Some(u64::from_le_bytes(*bytes))
}
