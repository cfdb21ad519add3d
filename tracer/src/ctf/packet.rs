//! The header and the context of a packet, which the metadata describes too.
//!
//! | offset | size | what |
//! | ---: | ---: | --- |
//! | 0 | 4 | 0xc1fc1fc1 |
//! | 4 | 16 | the identity of the trace |
//! | 20 | 4 | number of the stream: 0 |
//! | 24 | 8 | time of the first event |
//! | 32 | 8 | time of the last event |
//! | 40 | 8 | size of the packet in bits without what pads it |
//! | 48 | 8 | size of the packet in bits |
//! | 56 | 8 | how many hits were lost since the start of the recording |
//! | 64 | | the events |
//!
//! An event has a number of 2 bytes (`description`), the time in 8 bytes, the CPU in 2, the process
//! and the thread in 4 each, and the name of the thread with a NUL. The address of the site follows
//! if the class has several sites, and then the fields. Numbers are in little-endian order.

/// The first bytes of every packet.
pub const MAGIC: u32 = 0xc1fc_1fc1;

/// The size of what precedes the events.
pub const HEADER: usize = 64;

/// The state of a field in the full form of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FieldState {
    /// It has its value.
    Value = 0,
    /// It could not be read.
    Unreadable = 1,
    /// It is at two places, and they had different values.
    Doubtful = 2,
    /// A null pointer in place of a text.
    Null = 3,
    /// A text of which the first bytes were read.
    Cut = 4,
    /// A text without bytes.
    Empty = 5,
    /// It is at two places, and they had different values. This is the one at the place that the debug
    /// information says.
    Maybe = 6,
    /// The same of a text of which the first bytes were read.
    MaybeCut = 7,
    /// The same of a null pointer in place of a text.
    MaybeNull = 8,
    /// It is a value of the entry of the function, and that was not seen.
    EntryUnseen = 9,
}

impl FieldState {
    /// The state with a number; `None` if there is none.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        const ALL: [FieldState; 10] = [
            FieldState::Value,
            FieldState::Unreadable,
            FieldState::Doubtful,
            FieldState::Null,
            FieldState::Cut,
            FieldState::Empty,
            FieldState::Maybe,
            FieldState::MaybeCut,
            FieldState::MaybeNull,
            FieldState::EntryUnseen,
        ];
        ALL.get(usize::from(number)).copied()
    }
}

/// What precedes the events of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The identity of the trace.
    pub uuid: [u8; 16],
    /// The time of the first event in ns.
    pub begin: u64,
    /// The time of the last event in ns.
    pub end: u64,
    /// The size of the packet in bytes without what pads it.
    pub content: u64,
    /// The size of the packet in bytes.
    pub size: u64,
    /// How many hits were lost since the start of the recording.
    pub discarded: u64,
}

/// Why a header cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The file ends within it.
    #[error("the file ends in the header of a packet")]
    Cut,
    /// Another magic number.
    #[error("no packet starts here")]
    Magic,
    /// Another trace, or another stream.
    #[error("the packet belongs to another trace")]
    Foreign,
    /// Its sizes contradict each other.
    #[error("the size of the packet is malformed")]
    Size,
}

impl Header {
    /// Its bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        let numbers =
            [self.begin, self.end, self.content.saturating_mul(8), self.size.saturating_mul(8), self.discarded];
        let parts = MAGIC.to_le_bytes().into_iter().chain(self.uuid).chain([0; 4]);
        let parts = parts.chain(numbers.into_iter().flat_map(u64::to_le_bytes));
        bytes.iter_mut().zip(parts).for_each(|(byte, part)| *byte = part);
        bytes
    }

    /// Reads the header at the start of some bytes.
    ///
    /// # Errors
    ///
    /// It is not complete, or not a header of a packet of the trace `uuid`.
    pub fn from_bytes(bytes: &[u8], uuid: [u8; 16]) -> Result<Self, HeaderError> {
        let header: &[u8; HEADER] = bytes.first_chunk().ok_or(HeaderError::Cut)?;
        let part = |at: usize| header.get(at..).unwrap_or_default();
        let number = |at| part(at).first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        if part(0).first_chunk() != Some(&MAGIC.to_le_bytes()) {
            return Err(HeaderError::Magic);
        }
        if part(4).first_chunk() != Some(&uuid) || part(20).first_chunk() != Some(&[0u8; 4]) {
            return Err(HeaderError::Foreign);
        }
        let (content, size) = (number(40), number(48));
        if content % 8 != 0 || size % 8 != 0 || content > size || content / 8 < HEADER as u64 {
            return Err(HeaderError::Size);
        }
        let (begin, end, discarded) = (number(24), number(32), number(56));
        Ok(Self { uuid, begin, end, content: content / 8, size: size / 8, discarded })
    }
}
