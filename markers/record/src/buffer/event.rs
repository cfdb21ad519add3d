//! The records of a packet, one for each hit, in the order of their times.
//!
//! A record has a header of [`HEADER`] bytes, then the arguments in order. A scalar has 8 bytes. A
//! text has the number of stored bytes (4 bytes; a multiple of 8, 8 to [`MAX_TEXT`]), its length (4
//! bytes) and the stored bytes: the first [`MAX_TEXT`] bytes of the text, and zeros. A whole value has
//! the same; in place of its length is the lower half of [`super::value`], and at most [`MAX_VALUE`]
//! bytes are stored. Which ones are whole values is said by the types of the arguments.

use super::{Layout, u32_at, u64_at, value};

/// The size of the header of a record.
pub const HEADER: usize = 16;

/// Offset of the time, 8 bytes.
pub const TIME: usize = 0;

/// Offset of the number of the probe, 2 bytes.
pub const ID: usize = 8;

/// Offset of the size of the record in words of 8 bytes, 2 bytes.
pub const WORDS: usize = 10;

/// Offset of the CPU, 4 bytes; [`NO_CPU`] if it is not known.
pub const CPU: usize = 12;

/// The CPU of a hit for which it is not known.
pub const NO_CPU: u32 = u32::MAX;

/// The most bytes of a text that are stored.
pub const MAX_TEXT: usize = 256;

/// The length of a text whose length does not fit, or is not known because no NUL was found in the
/// first [`MAX_TEXT`] bytes.
pub const NO_LENGTH: u32 = u32::MAX;

/// The most bytes of a whole value that are stored.
pub const MAX_VALUE: usize = 512;

/// The size of the largest record: six whole values.
pub const MAX_SIZE: usize = HEADER + 6 * (8 + MAX_VALUE);

/// One hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The time, by the clock of the program.
    pub time: u64,
    /// The number of the probe.
    pub id: u16,
    /// The CPU; [`NO_CPU`] if it is not known.
    pub cpu: u32,
    /// The arguments, see [`Arguments`].
    pub arguments: &'a [u8],
}

/// The records of a packet.
#[derive(Clone, Debug)]
pub struct Events<'a> {
    rest: &'a [u8],
}

impl<'a> Events<'a> {
    /// Reads `records`, the complete records of a packet without its header.
    #[must_use]
    pub fn new(records: &'a [u8]) -> Self {
        Self { rest: records }
    }

    fn read(&mut self) -> Option<Event<'a>> {
        let rest = self.rest;
        let cpu = u32_at(rest, CPU)?;
        let id_and_words = u32_at(rest, ID)?;
        let size = (id_and_words >> 16) as usize * 8;
        let event =
            Event { time: u64_at(rest, TIME)?, id: id_and_words as u16, cpu, arguments: rest.get(HEADER..size)? };
        self.rest = rest.get(size..)?;
        Some(event)
    }
}

/// `Err(())` comes once, if what follows is no record; nothing comes after it.
impl<'a> Iterator for Events<'a> {
    type Item = Result<Event<'a>, ()>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        Some(self.read().ok_or_else(|| self.rest = &[]))
    }
}

/// The value of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument<'a> {
    /// An integer that was extended to 64 bits, a pointer, or the bits of an `f64`.
    Scalar(u64),
    /// A text.
    Text {
        /// The bytes that were stored, at most [`MAX_TEXT`].
        bytes: &'a [u8],
        /// The length of the text, if that is known.
        length: Option<u32>,
    },
    /// A whole value.
    Value {
        /// The bytes that were stored, at most [`MAX_VALUE`].
        bytes: &'a [u8],
        /// How many there are, if that is known.
        size: Option<u32>,
        /// Whether they are behind a pointer in the place.
        is_behind: bool,
    },
}

/// The arguments of a record.
#[derive(Clone, Debug)]
pub struct Arguments<'a> {
    layout: Layout,
    values: u32,
    next: u32,
    rest: &'a [u8],
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of an event of a probe with this layout. Bit n of `values` says that argument
    /// n is a whole value if it has two words.
    #[must_use]
    pub fn new(event: &Event<'a>, layout: Layout, values: u32) -> Self {
        Self { layout, values, next: 0, rest: event.arguments }
    }

    fn read(&mut self) -> Option<Argument<'a>> {
        let rest = self.rest;
        let argument = self.next;
        self.next += 1;
        if !self.layout.has_two_words(argument) {
            self.rest = rest.get(8..)?;
            return Some(Argument::Scalar(u64_at(rest, 0)?));
        }
        let stored = u32_at(rest, 0)? as usize;
        let length = u32_at(rest, 4)?;
        let (bytes, after) = rest.get(8..)?.split_at_checked(stored)?;
        let is_value = self.values.checked_shr(argument).unwrap_or(0) & 1 == 1;
        if stored == 0 || stored % 8 != 0 || stored > if is_value { MAX_VALUE } else { MAX_TEXT } {
            return None;
        }
        self.rest = after;
        if is_value {
            let (size, is_behind) = (value::size(length), length & value::BEHIND != 0);
            let bytes = size.and_then(|size| bytes.get(..size as usize)).unwrap_or(bytes);
            return Some(Argument::Value { bytes, size, is_behind });
        }
        let bytes = bytes.get(..length as usize).unwrap_or(bytes);
        Some(Argument::Text { bytes, length: Some(length).filter(|&length| length != NO_LENGTH) })
    }
}

/// `Err(())` comes once, if the record does not have the layout; nothing comes after it.
impl<'a> Iterator for Arguments<'a> {
    type Item = Result<Argument<'a>, ()>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.layout.arguments() {
            return if core::mem::take(&mut self.rest).is_empty() { None } else { Some(Err(())) };
        }
        Some(self.read().ok_or_else(|| {
            self.next = u32::MAX;
            self.rest = &[];
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, vec, vec::Vec};

    fn record(words: u16, body: &[u8]) -> Vec<u8> {
        let mut record = Vec::new();
        record.extend_from_slice(&7u64.to_le_bytes());
        record.extend_from_slice(&3u16.to_le_bytes());
        record.extend_from_slice(&words.to_le_bytes());
        record.extend_from_slice(&1u32.to_le_bytes());
        record.extend_from_slice(body);
        record
    }

    fn text(stored: u32, length: u32, bytes: &[u8]) -> Vec<u8> {
        [&stored.to_le_bytes(), &length.to_le_bytes(), bytes].concat()
    }

    #[test]
    fn records_have_scalars_and_texts() {
        let body = [&5u64.to_le_bytes()[..], &text(8, 2, b"ab\0\0\0\0\0\0"), &text(8, 9, b"12345678")].concat();
        let records = [record(7, &body), record(2, &[])].concat();
        let events: Vec<_> = Events::new(&records).collect();
        assert_eq!(events[0], Ok(Event { time: 7, id: 3, cpu: 1, arguments: &body }));
        assert_eq!(events[1], Ok(Event { time: 7, id: 3, cpu: 1, arguments: &[] }));
        assert_eq!(events.len(), 2);
        let layout = Layout::new(&[false, true, true]).unwrap();
        let arguments: Vec<_> = Arguments::new(&events[0].unwrap(), layout, 0).collect();
        assert_eq!(
            arguments,
            vec![
                Ok(Argument::Scalar(5)),
                Ok(Argument::Text { bytes: b"ab", length: Some(2) }),
                Ok(Argument::Text { bytes: b"12345678", length: Some(9) })
            ]
        );
    }

    #[test]
    fn what_is_no_record_ends_the_packet() {
        for records in [&record(1, &[])[..], &record(0, &[]), &record(3, &[0; 7]), &[1]] {
            assert_eq!(Events::new(records).collect::<Vec<_>>(), vec![Err(())], "{records:?}");
        }
    }

    #[test]
    fn a_record_of_another_layout_is_an_error() {
        let arguments = |texts: &[bool], body: &[u8]| {
            let event = Event { time: 0, id: 1, cpu: 0, arguments: body };
            Arguments::new(&event, Layout::new(texts).unwrap(), 0).map(|argument| argument.is_ok()).collect::<Vec<_>>()
        };
        assert_eq!(arguments(&[false, false], &[0; 8]), [true, false]);
        assert_eq!(arguments(&[false], &[0; 16]), [true, false]);
        assert_eq!(arguments(&[true], &text(0, 0, &[])), [false]);
        assert_eq!(arguments(&[true], &text(7, 7, &[0; 7])), [false]);
        assert_eq!(arguments(&[true], &text(16, 0, &[0; 8])), [false]);
        assert_eq!(arguments(&[true], &text(264, 0, &[0; 264])), [false]);
        assert_eq!(arguments(&[true], &text(256, NO_LENGTH, &[0; 256])), [true]);
    }

    #[test]
    fn a_whole_value_may_be_behind_a_pointer() {
        let read = |body: &[u8]| {
            let event = Event { time: 0, id: 1, cpu: 0, arguments: body };
            let layout = Layout::new(&[true]).unwrap().with_values();
            format!("{:?}", Arguments::new(&event, layout, 1).collect::<Vec<_>>())
        };
        let value = |size: u32, is_behind: bool, bytes: &[u8]| {
            format!(
                "[Ok({:?})]",
                Argument::Value { bytes, size: Some(size).filter(|&it| it != value::NO_SIZE), is_behind }
            )
        };
        assert_eq!(read(&text(8, 3, b"abc\0\0\0\0\0")), value(3, false, b"abc"));
        assert_eq!(read(&text(8, value::BEHIND | 8, b"12345678")), value(8, true, b"12345678"));
        assert_eq!(read(&text(8, 0, &[0; 8])), value(0, false, b""));
        assert_eq!(read(&text(512, 4096, &[7; 512])), value(4096, false, &[7; 512]));
        assert_eq!(read(&text(512, value::NO_SIZE, &[7; 512])), value(value::NO_SIZE, false, &[7; 512]));
        assert_eq!(read(&text(520, 520, &[0; 520])), "[Err(())]");
    }
}
