//! Whole values of a probe: the address of a place, and a word that says which bytes belong to it.
//!
//! | bits of the word | |
//! | --- | --- |
//! | 0 to 30 | how many bytes there are; [`NO_SIZE`] if they are more |
//! | 31 | the bytes are behind a pointer in the place |
//! | 32 to 62 | 0, or the number of the pointer, from 1, among the words of the place: at most [`POINTERS`] |
//! | 63 | 1: a length of a text never has it, but for one that is all ones |
//!
//! The lower half is what the record has in place of the length of a text ([`super::event`]).

/// The bit of the second word that makes it that of a whole value.
pub const VALUE: u64 = 1 << 63;

/// The bit of the lower half that says that the bytes are behind a pointer.
pub const BEHIND: u32 = 1 << 31;

/// The size of a value that has so many bytes, or more.
pub const NO_SIZE: u32 = BEHIND - 1;

/// In how many words of a place the pointer may be: `Vec` and `String` have three.
pub const POINTERS: u32 = 3;

/// The upper half of a word whose pointer is the first word of the place.
pub const FIRST_POINTER: u32 = (VALUE >> 32) as u32 + 1;

/// The second word for `size` bytes in the place, or behind its word number `pointer`.
#[must_use]
pub const fn word(size: usize, pointer: Option<u32>) -> u64 {
    let size = if size > NO_SIZE as usize { NO_SIZE } else { size as u32 };
    match pointer {
        None => VALUE | size as u64,
        Some(number) => ((FIRST_POINTER + number) as u64) << 32 | (BEHIND | size) as u64,
    }
}

/// Whether a second word is that of a whole value, and not the length of a text.
#[must_use]
pub const fn is_value(word: u64) -> bool {
    word & VALUE != 0 && word != u64::MAX
}

/// Which word of the place has the pointer to the bytes; `None` if they are in the place.
#[must_use]
pub const fn pointer(word: u64) -> Option<u32> {
    let number = ((word >> 32) as u32).wrapping_sub(FIRST_POINTER);
    if number < POINTERS { Some(number) } else { None }
}

/// The number of bytes; `None` if it is not known.
#[must_use]
pub const fn size(word: u32) -> Option<u32> {
    let size = word & !BEHIND;
    if size == NO_SIZE { None } else { Some(size) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_what_it_was_made_of() {
        for (bytes, place) in [(0, None), (7, None), (7, Some(0)), (512, Some(2)), (0, Some(1))] {
            let word = word(bytes, place);
            assert!(is_value(word));
            assert_eq!((size(word as u32), pointer(word)), (Some(bytes as u32), place));
            assert_eq!(word as u32 & BEHIND != 0, place.is_some());
        }
        assert_eq!(size(word(usize::MAX, None) as u32), None);
        for length in [0, 5, u64::MAX >> 1, u64::MAX] {
            assert!(!is_value(length) && pointer(length).is_none(), "{length:#x}");
        }
    }
}
