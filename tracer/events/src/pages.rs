//! The pages of a ring buffer of the kernel, as `trace_pipe_raw` hands them out
//! (`kernel/trace/ring_buffer.c`, `include/linux/ring_buffer.h`).
//!
//! A page starts with the time of its first event and the size of its data. Each event has a word
//! with a type or a length in 5 bits and the time since the event before in 27 bits.

use super::format;

/// Where the parts of a page are. `events/header_page` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFormat {
    commit: usize,
    /// The size of the commit field, and of the count of events that were lost before the page.
    word: usize,
    data: usize,
    size: usize,
}

/// The events were overwritten before the page was read.
const MISSED: u64 = 1 << 31;
/// Their number is behind the data.
const MISSED_STORED: u64 = 1 << 30;
/// The bits of the size of the data (`RB_WRITE_MASK`).
const SIZE: u64 = 0xf_ffff;

/// The largest length of an event in words that is in its type.
const LARGEST: u32 = 28;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// The bits of the time since the event before.
const DELTA_BITS: u32 = 27;
/// The bits that an absolute time does not have (`TS_MSB`).
const TIME_HIGH: u64 = 0xf8 << 56;

impl Default for PageFormat {
    /// The format on 64-bit machines with pages of 4 KiB.
    fn default() -> Self {
        Self { commit: 8, word: 8, data: 16, size: 4096 }
    }
}

impl PageFormat {
    /// Reads `events/header_page`. `None` if it does not say where the parts are.
    #[must_use]
    pub fn parse(header_page: &str) -> Option<Self> {
        let fields = format::fields(header_page).ok()?;
        let of = |name: &str| fields.iter().find(|field| field.name == name);
        let (time, commit, data) = (of("timestamp")?, of("commit")?, of("data")?);
        let number = |number: u32| usize::try_from(number).ok();
        let (start, size) = (number(data.offset)?, number(data.size)?);
        let is_known = (time.offset, time.size) == (0, 8) && matches!(commit.size, 4 | 8);
        let format = Self {
            commit: number(commit.offset)?,
            word: number(commit.size)?,
            data: start,
            size: start.checked_add(size)?,
        };
        is_known.then_some(format)
    }

    /// The size of a page in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }
}

/// A page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    time: u64,
    data: &'a [u8],
    missed: MissedEvents,
}

/// Whether events before a page were overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissedEvents {
    /// None were.
    None,
    /// So many were.
    Count(u64),
    /// Some were. The page had no space for their number.
    Unknown,
}

/// Why a page cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// The page ends within its header.
    #[error("a page of {0} bytes has no header")]
    Header(usize),
    /// The data are longer than the page.
    #[error("the data of a page would have {size:#x} bytes, the page has space for {space:#x}")]
    Data {
        /// The size of the data.
        size: u64,
        /// The size of the page without its header.
        space: usize,
    },
    /// An event ends behind the data.
    #[error("the event at offset {0:#x} of a page ends behind its data")]
    Event(usize),
}

/// An event in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// Its time in the unit of the buffer's clock.
    pub time: u64,
    /// Its record. The number of the event's format is in the first two bytes.
    pub record: &'a [u8],
}

impl<'a> Page<'a> {
    /// The page in some bytes.
    ///
    /// # Errors
    ///
    /// They are too short.
    pub fn new(bytes: &'a [u8], format: &PageFormat) -> Result<Self, PageError> {
        let header = || PageError::Header(bytes.len());
        let time = number(bytes, 0, 8).ok_or_else(header)?;
        let commit = number(bytes, format.commit, format.word).ok_or_else(header)?;
        let after = bytes.get(format.data..).ok_or_else(header)?;
        let size = commit & SIZE;
        let fits = usize::try_from(size).ok().and_then(|size| after.split_at_checked(size));
        let (data, rest) = fits.ok_or(PageError::Data { size, space: after.len() })?;
        let missed = match (commit & MISSED != 0, commit & MISSED_STORED != 0) {
            (false, _) => MissedEvents::None,
            (true, true) => number(rest, 0, format.word).map_or(MissedEvents::Unknown, MissedEvents::Count),
            (true, false) => MissedEvents::Unknown,
        };
        Ok(Self { time, data, missed })
    }

    /// Whether events before the page were overwritten.
    #[must_use]
    pub fn missed(&self) -> MissedEvents {
        self.missed
    }

    /// The events of the page.
    #[must_use]
    pub fn events(&self) -> Events<'a> {
        Events { time: self.time, data: self.data, offset: 0 }
    }
}

/// The events of a page, in the order in which they were written. It ends after an error.
#[derive(Clone, Debug)]
pub struct Events<'a> {
    /// The time of the last event.
    time: u64,
    data: &'a [u8],
    offset: usize,
}

impl<'a> Events<'a> {
    /// The next event; `None` after the last one.
    ///
    /// # Errors
    ///
    /// The event ends behind the data of the page.
    pub fn next_event(&mut self) -> Result<Option<Event<'a>>, PageError> {
        let error = PageError::Event(self.offset);
        let result = self.step();
        if result.is_none() {
            // Nothing can be read behind it.
            self.offset = self.data.len();
        }
        result.ok_or(error)
    }

    /// `None` for an event that ends behind the data.
    fn step(&mut self) -> Option<Option<Event<'a>>> {
        while self.offset < self.data.len() {
            let header = word(self.data, self.offset)?;
            // The bits are in the order of the machine (`struct ring_buffer_event`).
            let (kind, delta) = match cfg!(target_endian = "little") {
                true => (header & 0x1f, header >> 5),
                false => (header >> DELTA_BITS, header & ((1 << DELTA_BITS) - 1)),
            };
            let delta = u64::from(delta);
            let after = self.offset.checked_add(4)?;
            match kind {
                // Nothing follows in the page.
                PADDING if delta == 0 => self.offset = self.data.len(),
                // An event that was discarded.
                PADDING => {
                    self.time = self.time.wrapping_add(delta);
                    self.offset = self.end(after, word(self.data, after)?)?;
                }
                TIME_EXTEND | TIME_STAMP => {
                    let high = u64::from(word(self.data, after)?) << DELTA_BITS;
                    self.time = match kind {
                        TIME_EXTEND => self.time.wrapping_add(high.wrapping_add(delta)),
                        _ => self.time & TIME_HIGH | high.wrapping_add(delta) & !TIME_HIGH,
                    };
                    self.offset = after.checked_add(4)?;
                }
                kind => {
                    self.time = self.time.wrapping_add(delta);
                    let (start, length) = match kind {
                        // The length counts the word that it is in.
                        0 => (after.checked_add(4)?, word(self.data, after)?.checked_sub(4)?),
                        1..=LARGEST => (after, kind * 4),
                        _ => return None,
                    };
                    let end = self.end(start, length)?;
                    let record = self.data.get(start..end)?;
                    self.offset = end;
                    return Some(Some(Event { time: self.time, record }));
                }
            }
        }
        Some(None)
    }

    /// The end of `length` bytes at an offset, which must be in the data.
    fn end(&self, start: usize, length: u32) -> Option<usize> {
        // Events are aligned to words.
        let length = usize::try_from(length).ok()?.checked_next_multiple_of(4)?;
        start.checked_add(length).filter(|end| *end <= self.data.len())
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Result<Event<'a>, PageError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_event().transpose()
    }
}

/// A number of 4 or 8 bytes.
fn number(bytes: &[u8], offset: usize, size: usize) -> Option<u64> {
    match size {
        8 => Some(u64::from_ne_bytes(*bytes.get(offset..)?.first_chunk()?)),
        _ => word(bytes, offset).map(u64::from),
    }
}

fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(offset..)?.first_chunk()?))
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use super::*;

    const HEADER_PAGE: &str = "	field: u64 timestamp;	offset:0;	size:8;	signed:0;
	field: local_t commit;	offset:8;	size:8;	signed:1;
	field: int overwrite;	offset:8;	size:1;	signed:1;
	field: char data;	offset:16;	size:4080;	signed:0;
";

    fn header(kind: u32, delta: u32) -> [u8; 4] {
        (kind | delta << 5).to_le_bytes()
    }

    fn page(time: u64, flags: u64, data: &[u8]) -> Vec<u8> {
        let mut page = time.to_le_bytes().to_vec();
        page.extend((data.len() as u64 | flags).to_le_bytes());
        page.extend(data);
        page
    }

    fn events(bytes: &[u8]) -> Vec<Result<(u64, Vec<u8>), PageError>> {
        let page = Page::new(bytes, &PageFormat::default()).expect("a page");
        page.events().map(|event| event.map(|event| (event.time, event.record.to_vec()))).collect()
    }

    #[test]
    fn the_format_of_a_page_is_read() {
        assert_eq!(PageFormat::parse(HEADER_PAGE), Some(PageFormat::default()));
        let of_32_bits = HEADER_PAGE
            .replace("size:8;	signed:1", "size:4;	signed:1")
            .replace("offset:16;	size:4080", "offset:12;	size:4084");
        let expected = PageFormat { commit: 8, word: 4, data: 12, size: 4096 };
        assert_eq!(PageFormat::parse(&of_32_bits), Some(expected));
        assert_eq!(PageFormat::parse(&HEADER_PAGE.replace("data", "dates")), None);
    }

    #[test]
    fn every_kind_of_event_is_read() {
        let mut data = Vec::new();
        // Two words, 5 later.
        data.extend(header(2, 5));
        data.extend(b"12345678");
        // The length follows: 4 bytes and 6, padded to 8.
        data.extend(header(0, 7));
        data.extend(10u32.to_le_bytes());
        data.extend(b"abcdef\0\0");
        // A long time, then an event.
        data.extend(header(30, 3));
        data.extend(1u32.to_le_bytes());
        data.extend(header(1, 1));
        data.extend(b"late");
        // A discarded event counts for the time.
        data.extend(header(29, 4));
        data.extend(4u32.to_le_bytes());
        // An absolute time.
        let absolute = (1u64 << 50) + 9;
        data.extend(header(31, (absolute & ((1 << 27) - 1)) as u32));
        data.extend(((absolute >> 27) as u32).to_le_bytes());
        data.extend(header(1, 1));
        data.extend(b"last");
        // The rest of the page is empty.
        data.extend(header(29, 0));
        data.extend([0xff; 12]);
        let time = 0x0800_0000_0000_0000;
        let expected = [
            (time + 5, &b"12345678"[..]),
            (time + 12, &b"abcdef\0\0"[..]),
            (time + 16 + (1 << 27), &b"late"[..]),
            (time + absolute + 1, &b"last"[..]),
        ];
        let expected: Vec<_> = expected.map(|(time, record)| Ok((time, record.to_vec()))).to_vec();
        assert_eq!(events(&page(time, 0, &data)), expected);
    }

    #[test]
    fn missed_events_are_told() {
        let missed = |bytes: &[u8]| Page::new(bytes, &PageFormat::default()).expect("a page").missed();
        let mut bytes = page(1, MISSED | MISSED_STORED, b"");
        assert_eq!(missed(&bytes), MissedEvents::Unknown);
        bytes.extend(77u64.to_le_bytes());
        assert_eq!(missed(&bytes), MissedEvents::Count(77));
        assert_eq!(missed(&page(1, MISSED, b"")), MissedEvents::Unknown);
        assert_eq!(missed(&page(1, 0, b"")), MissedEvents::None);
    }

    #[test]
    fn what_ends_early_is_an_error() {
        let format = PageFormat::default();
        assert_eq!(Page::new(&[0; 15], &format).map(|_| ()), Err(PageError::Header(15)));
        let mut bytes = page(1, 0, b"1234");
        bytes.pop();
        assert_eq!(Page::new(&bytes, &format).map(|_| ()), Err(PageError::Data { size: 4, space: 3 }));
        let cut = |data: &[u8]| events(&page(1, 0, data));
        let good = [&header(1, 0)[..], b"good"].concat();
        for bad in [&header(2, 0)[..], &header(0, 0), &header(30, 0), &header(29, 1), b"\0"] {
            let both = [&good[..], bad].concat();
            assert_eq!(cut(&both), [Ok((1, b"good".to_vec())), Err(PageError::Event(8))], "{bad:?}");
        }
        // A length that does not count its own word.
        assert_eq!(cut(&[&header(0, 0)[..], &[3, 0, 0, 0]].concat()), [Err(PageError::Event(0))]);
    }
}
