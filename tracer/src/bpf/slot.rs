//! A slot: the memory in which a program reads the whole values of a hit.

use crate::plan::MAX_WHOLE;
use crate::whole::{CHUNK_HEADER, area};

/// How many slots there are, without the one behind them that is used where none is free.
pub const SLOTS: u32 = 64;
/// The same for the slots of a CPU, where no program interrupts another one.
pub const SLOTS_OF_CPU: u32 = 16;
/// Offsets in a slot: not 0 while a hit owns it,
pub(super) const OWNER: i16 = 0;
/// how many bytes of chunks there are,
pub(super) const USED: i16 = 8;
/// the chunk whose elements are looked at,
pub(super) const CHUNK: i16 = 16;
/// the offset of the element in it,
pub(super) const ELEMENT: i16 = 24;
/// the next step,
pub(super) const STEP: i16 = 32;
/// the address that is read,
pub(super) const ADDRESS: i16 = 40;
/// how many bytes of it,
pub(super) const LENGTH: i16 = 48;
/// a byte that is read to make its page present,
pub(super) const TOUCHED: i16 = 56;
/// and the chunks. As many bytes behind them belong to the slot, because the kernel does not know that
/// what is read ends with the chunks.
pub(super) const CHUNKS: i16 = 64;

/// The same chunks, read a second time.
pub(super) const AGAIN: i16 = CHUNKS + area(MAX_WHOLE) as i16;

/// The size of a slot.
pub const SLOT_SIZE: u32 = AGAIN as u32 + 2 * area(MAX_WHOLE) as u32 + CHUNK_HEADER as u32;
