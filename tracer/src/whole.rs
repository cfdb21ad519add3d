//! The bytes of a whole value, as a program of the kernel reads them: chunks, each with the address
//! from which it was read. The first one is the value itself.
//!
//! | offset | size | what |
//! | ---: | ---: | --- |
//! | 0 | 8 | the address; 0 for a value that was not in memory |
//! | 8 | 4 | how many bytes follow |
//! | 12 | 2 | the first step of what the chunk refers to ([`ReadTable`]); for the kernel only |
//! | 14 | 2 | 4 in a chunk without bytes: its address is the load bias of the image; 2 in the first chunk if something changed while it was read; 1 if the memory could not be read, and how many bytes of it in the upper 12 bits |
//! | 16 | | the bytes, filled up to a multiple of 8 |
//!
//! [`ReadTable`]: simple_markers_resolver::types::ReadTable

use simple_markers_resolver::types::MemoryChunk;

use crate::plan::{MAX_WHOLE, WholeInput};

/// The size of what precedes the bytes of a chunk.
pub const CHUNK_HEADER: u16 = 16;
/// The bit of a chunk that says that its memory could not be read, in the word at offset 8.
pub const UNREADABLE_BIT: u32 = 48;
/// The first of the bits there that say how many bytes could not be read. Earlier recordings have 0.
pub const UNREADABLE_SIZE_BIT: u32 = 52;

/// The bit of the first chunk there that says that a byte of the value was another one when it was read a
/// second time.
pub const CHANGED_BIT: u32 = 49;

/// The bit of a chunk without bytes there that says that its address is the load bias of the image.
pub const LOAD_BIAS_BIT: u32 = 50;

/// The size of the memory for the chunks of a value of which so many bytes are read at most: a power of
/// two, by which the kernel knows that nothing is written behind it. The last 8 bytes are not used.
#[must_use]
pub const fn area(most: u16) -> u16 {
    let size = if most > MAX_WHOLE { MAX_WHOLE } else { most } + 8;
    if size < 64 { 64 } else { size.next_power_of_two() }
}

/// The most bytes of a value itself.
#[must_use]
pub const fn root_room(input: &WholeInput) -> u16 {
    let headers = if input.has_load_bias { 2 * CHUNK_HEADER } else { CHUNK_HEADER };
    input.most.saturating_sub(headers)
}

/// Adds a chunk to those of a value. `flags` are the bits of its word at offset 8 above the number of bytes.
pub(crate) fn add_chunk(to: &mut Vec<u8>, address: u64, bytes: &[u8], flags: u64) {
    to.extend(address.to_le_bytes());
    to.extend((bytes.len() as u64 | flags).to_le_bytes());
    to.extend(bytes);
    to.resize(to.len().next_multiple_of(8), 0);
}

/// The chunks of a value. They end where the bytes are no chunk.
pub fn chunks(bytes: &[u8]) -> impl Iterator<Item = MemoryChunk<'_>> + Clone {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (address, behind) = rest.split_first_chunk()?;
        let (word, behind) = behind.split_first_chunk()?;
        let (address, word) = (u64::from_le_bytes(*address), u64::from_le_bytes(*word));
        let length = word as u32 as usize;
        let bytes = behind.get(..length)?;
        rest = behind.get(length.next_multiple_of(8)..).unwrap_or_default();
        let unreadable = (word >> UNREADABLE_SIZE_BIT).max(1) * (word >> UNREADABLE_BIT & 1);
        Some(MemoryChunk { address, bytes, unreadable })
    })
}

/// The load bias of the image, if the chunks of a value have it. It is behind the first chunk.
#[must_use]
pub fn load_bias(bytes: &[u8]) -> Option<u64> {
    let word = |at: usize| bytes.get(at..).and_then(<[u8]>::first_chunk).map(|word| u64::from_le_bytes(*word));
    let length = usize::try_from(word(8)? as u32).ok()?;
    let next = usize::from(CHUNK_HEADER).checked_add(length.checked_next_multiple_of(8)?)?;
    word(next).filter(|_| word(next.saturating_add(8)) == Some(1 << LOAD_BIAS_BIT))
}

/// Whether something changed while the chunks of a value were read.
#[must_use]
pub fn is_changing(bytes: &[u8]) -> bool {
    let word = bytes.get(8..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_le_bytes(*word));
    word >> CHANGED_BIT & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_end_where_the_bytes_do() {
        let chunk =
            |address: u64, word: u64, bytes: &[u8]| [&address.to_le_bytes()[..], &word.to_le_bytes(), bytes].concat();
        let unreadable = 1 << UNREADABLE_BIT | 40 << UNREADABLE_SIZE_BIT;
        let all = [chunk(0x1000, 3 | 7 << 32, b"abc.....").as_slice(), &chunk(0x2000, unreadable, &[])].concat();
        let first = MemoryChunk { address: 0x1000, bytes: b"abc", unreadable: 0 };
        let second = MemoryChunk { address: 0x2000, bytes: b"", unreadable: 40 };
        assert_eq!(chunks(&all).collect::<Vec<_>>(), [first, second]);
        let of_earlier = chunk(0x2000, 1 << UNREADABLE_BIT, &[]);
        assert_eq!(chunks(&of_earlier).next().map(|chunk| chunk.unreadable), Some(1));
        assert_eq!(chunks(&all[..all.len() - 1]).collect::<Vec<_>>(), [first]);
        assert_eq!(chunks(&chunk(1, u64::from(u32::MAX), b"abc")).count(), 0);
        assert_eq!(chunks(b"").count(), 0);
        let changed = chunk(1, 1 << CHANGED_BIT, &[]);
        assert_eq!([&all[..], &changed, &changed[..15], b""].map(is_changing), [false, true, false, false]);
    }

    #[test]
    fn the_load_bias_is_behind_the_first_chunk() {
        let chunk = |address: u64, word: u64| [address.to_le_bytes(), word.to_le_bytes()].concat();
        let biased = [chunk(0x1000, 3), b"abc.....".to_vec(), chunk(0x5555_0000, 1 << LOAD_BIAS_BIT)].concat();
        assert_eq!(load_bias(&biased), Some(0x5555_0000));
        assert_eq!(chunks(&biased).map(|chunk| chunk.bytes.len()).collect::<Vec<_>>(), [3, 0]);
        assert_eq!(load_bias(&biased[..biased.len() - 1]), None);
        assert_eq!(load_bias(&[chunk(0x1000, 0), chunk(0x2000, 8)].concat()), None);
        assert_eq!((load_bias(&chunk(1, u32::MAX.into())), load_bias(b"")), (None, None));
    }
}
