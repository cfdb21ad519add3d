//! The buffer of a thread, as a file that the program maps.
//!
//! The program may write anything to the file at any time, and may cut it. So the file is read into
//! memory of our own, piece by piece, and no size in it is believed.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{Ordering, fence};

use simple_markers_record::buffer::event::{Event, Events};
use simple_markers_record::buffer::packet::{self, Header};
use simple_markers_record::buffer::ring::{self, Page};

/// The sizes of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes of a packet.
    pub packet: u32,
    /// The number of packets.
    pub packets: u32,
}

/// Why a buffer is not read further.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(io::Error),
    /// The file ends too early.
    #[error("the buffer is cut")]
    Short,
    /// The first page is not that of a buffer.
    #[error("the file is no buffer of a probe")]
    NoBuffer,
    /// The buffer has other sizes than the program was told to use.
    #[error("the buffer has other sizes than it should have")]
    OtherSizes,
    /// A packet is not as a recorder writes it.
    #[error("packet {number} is damaged")]
    Damaged {
        /// The number of the packet.
        number: u64,
    },
}

impl From<io::Error> for RingError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof { Self::Short } else { Self::Read(error) }
    }
}

/// A buffer, and how far it was read.
#[derive(Debug)]
pub struct Ring {
    file: File,
    sizes: Sizes,
    /// The clock of its times: one of the `CLOCK` constants.
    pub clock: u32,
    /// The packet that is read.
    number: u64,
    /// How many bytes of it were read.
    done: usize,
    bytes: Vec<u8>,
}

impl Ring {
    /// The buffer in a file.
    ///
    /// # Errors
    ///
    /// It cannot be read, is no buffer, or has other sizes than these.
    pub fn new(file: File, sizes: Sizes) -> Result<Self, RingError> {
        let page = page(&file)?;
        if (page.packet_size, page.packets) != (sizes.packet, sizes.packets) {
            return Err(RingError::OtherSizes);
        }
        Ok(Self { file, sizes, clock: page.clock, number: page.consumed, done: packet::HEADER, bytes: Vec::new() })
    }

    /// How many hits the thread dropped.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn lost(&self) -> Result<u64, RingError> {
        Ok(page(&self.file)?.lost)
    }

    /// Hands on the events that are complete, with the header of their packet, and frees the packets
    /// that are read. Reads at most as many packets as the buffer has. Returns how many are read to
    /// their ends.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or a packet is damaged. Nothing more is handed on then.
    pub fn read(&mut self, each: &mut dyn FnMut(&Header, &Event<'_>)) -> Result<u32, RingError> {
        for count in 0..self.sizes.packets {
            if !self.read_packet(each)? {
                return Ok(count);
            }
            // The program can write any number there.
            self.number = self.number.wrapping_add(1);
            self.done = packet::HEADER;
            self.file.write_all_at(&self.number.to_le_bytes(), ring::CONSUMED as u64)?;
        }
        Ok(self.sizes.packets)
    }

    /// Hands on what is new in the packet. Returns whether it is read to its end.
    fn read_packet(&mut self, each: &mut dyn FnMut(&Header, &Event<'_>)) -> Result<bool, RingError> {
        let place = self.number % u64::from(self.sizes.packets);
        let start = ring::SIZE as u64 + place * u64::from(self.sizes.packet);
        let header = || -> Result<Option<Header>, RingError> {
            let mut bytes = [0; packet::HEADER];
            self.file.read_exact_at(&mut bytes, start)?;
            // What is read next is read after it.
            fence(Ordering::Acquire);
            Ok(Header::read(&bytes).filter(|header| header.sequence == self.number))
        };
        // A place that was never used has no header.
        let Some(first) = header()? else { return Ok(false) };
        if !first.is_closed && first.content() == Some(self.done as u64) {
            return Ok(false);
        }
        // The parts of a header are read in any order, so the first one may say that the packet before
        // it in this place is closed. And if the packet is closed, its size does not change any more.
        // So the number is read, then whether the packet is closed, then its size.
        let (Some(second), Some(third)) = (header()?, header()?) else { return Ok(false) };
        let damaged = || RingError::Damaged { number: self.number };
        let content = third.content().and_then(|size| usize::try_from(size).ok());
        let content = content.filter(|&size| size <= self.sizes.packet as usize && size >= self.done);
        let content = content.ok_or_else(damaged)?;
        self.bytes.resize(content - self.done, 0);
        self.file.read_exact_at(&mut self.bytes, start + self.done as u64)?;
        for event in Events::new(&self.bytes) {
            each(&third, &event.map_err(|()| damaged())?);
        }
        self.done = content;
        Ok(second.is_closed)
    }

    /// Whether the program can tell of a hit in this buffer.
    ///
    /// # Errors
    ///
    /// The file cannot be asked.
    pub fn has_bell(&self) -> Result<bool, RingError> {
        let packets = u64::from(self.sizes.packets) * u64::from(self.sizes.packet);
        let size = self.file.metadata().map_err(RingError::Read)?.len();
        Ok(size >= ring::SIZE as u64 + packets + ring::BELL as u64)
    }

    /// The file of the buffer.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }
}

fn page(file: &File) -> Result<Page, RingError> {
    let mut bytes = [0; ring::SIZE];
    file.read_exact_at(&mut bytes, 0)?;
    Page::read(&bytes).ok_or(RingError::NoBuffer)
}
