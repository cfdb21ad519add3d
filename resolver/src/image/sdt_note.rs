//! Notes of static probes, as `<sys/sdt.h>` writes them (SystemTap wiki,
//! "UserSpaceProbeImplementation"; the framing is that of gABI, "Note Section").
//!
//! | field | bytes |
//! | --- | --- |
//! | sizes of owner and description, type | 3 x 4 |
//! | owner: `stapsdt`, with padding to 4 bytes | 8 |
//! | addresses of the probe, of `.stapsdt.base`, and of the semaphore or 0 | 3 x 4 or 3 x 8 |
//! | provider, name and arguments, each with a NUL | |
//! | padding to 4 bytes | |

use simple_markers_record::ByteOrder;

use crate::address::SectionOffset;
use crate::error::{Error, SdtNoteProblem};

/// The section of the notes.
pub(crate) const SDT_NOTES: &str = ".note.stapsdt";

/// The section whose address tells how far an image was moved since its notes were written.
pub(crate) const SDT_BASE: &str = ".stapsdt.base";

/// The owner of the notes.
const OWNER: &[u8] = b"stapsdt\0";

/// `NT_STAPSDT`.
const TYPE: u64 = 3;

/// What notes are padded to, in bytes.
const ALIGN: usize = 4;

/// A note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SdtNote<'data> {
    /// The offset of the note in its section.
    pub(crate) offset: u64,
    /// The offset of the address of the probe in the section. The other addresses follow.
    pub(crate) addresses: u64,
    /// The link-time address of the probe's instruction.
    pub(crate) pc: u64,
    /// The address of `.stapsdt.base` when the note was written; 0 if the linker dropped that
    /// section.
    pub(crate) base: u64,
    /// The link-time address of the semaphore; 0 if there is none.
    pub(crate) semaphore: u64,
    pub(crate) provider: &'data [u8],
    pub(crate) name: &'data [u8],
    /// The operands of the arguments.
    pub(crate) arguments: &'data [u8],
}

impl SdtNote<'_> {
    /// Appends the note, little-endian and with 64-bit addresses, to a section.
    pub(crate) fn write(&self, section: &mut Vec<u8>) {
        let mut description = Vec::new();
        for address in [self.pc, self.base, self.semaphore] {
            description.extend(address.to_le_bytes());
        }
        for text in [self.provider, self.name, self.arguments] {
            description.extend(text.iter().filter(|byte| **byte != 0));
            description.push(0);
        }
        for number in [OWNER.len() as u32, description.len() as u32, TYPE as u32] {
            section.extend(number.to_le_bytes());
        }
        section.extend(OWNER);
        section.extend(description);
        section.resize(section.len().next_multiple_of(ALIGN), 0);
    }
}

/// The notes of a section, in order. Notes of other owners and types are skipped.
#[derive(Clone, Debug)]
pub(crate) struct SdtNotes<'data> {
    section: &'data [u8],
    order: ByteOrder,
    address_size: u8,
    offset: usize,
}

impl<'data> SdtNotes<'data> {
    /// Reads `section`, in an image with addresses of `address_size` bytes.
    pub(crate) fn new(section: &'data [u8], order: ByteOrder, address_size: u8) -> Self {
        Self { section, order, address_size, offset: 0 }
    }

    /// The next note; `None` at the end of the section.
    ///
    /// # Errors
    ///
    /// The note is damaged. If it says how long it is, reading continues after it.
    pub(crate) fn next_note(&mut self) -> Option<Result<SdtNote<'data>, Error>> {
        loop {
            let start = self.offset;
            let rest = self.section.get(start..).filter(|rest| !rest.is_empty())?;
            match self.read(start, rest) {
                Ok(None) => {}
                Ok(Some(note)) => return Some(Ok(note)),
                Err(problem) => {
                    let offset = SectionOffset(start as u64);
                    return Some(Err(Error::SdtNote { section: SDT_NOTES, offset, problem }));
                }
            }
        }
    }

    fn read(&mut self, start: usize, rest: &'data [u8]) -> Result<Option<SdtNote<'data>>, SdtNoteProblem> {
        self.offset = self.section.len();
        let truncated = |needed: u64| SdtNoteProblem::Truncated { needed, available: rest.len() as u64 };
        let mut fields = NoteFields { rest, order: self.order };
        let mut number = || fields.integer(4).ok_or(truncated(12));
        let (owner_size, size, kind) = (number()?, number()?, number()?);
        let padded = |size: u64| size.next_multiple_of(ALIGN as u64);
        // The last note of a section may lack its padding.
        let needed = 12 + padded(owner_size) + size;
        let owner = fields.take(owner_size).ok_or(truncated(needed))?;
        fields.take(padded(owner_size) - owner_size).ok_or(truncated(needed))?;
        let addresses = (start as u64).saturating_add(12 + padded(owner_size));
        let description = fields.take(size).ok_or(truncated(needed))?;
        let end = addresses.saturating_add(padded(size)).min(self.section.len() as u64);
        self.offset = usize::try_from(end).unwrap_or(self.section.len());
        if owner != OWNER || kind != TYPE {
            return Ok(None);
        }
        let mut fields = NoteFields { rest: description, order: self.order };
        let mut address = || fields.integer(self.address_size.into()).ok_or(SdtNoteProblem::NoAddresses { size });
        let (pc, base, semaphore) = (address()?, address()?, address()?);
        let mut text = || fields.text().ok_or(SdtNoteProblem::Unterminated);
        let (provider, name, arguments) = (text()?, text()?, text()?);
        if name.is_empty() {
            return Err(SdtNoteProblem::NoName);
        }
        Ok(Some(SdtNote { offset: start as u64, addresses, pc, base, semaphore, provider, name, arguments }))
    }
}

impl<'data> Iterator for SdtNotes<'data> {
    type Item = Result<SdtNote<'data>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_note()
    }
}

/// Takes fields off the front of a note.
struct NoteFields<'data> {
    rest: &'data [u8],
    order: ByteOrder,
}

impl<'data> NoteFields<'data> {
    fn take(&mut self, size: u64) -> Option<&'data [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(usize::try_from(size).ok()?)?;
        self.rest = rest;
        Some(bytes)
    }

    /// The next `size` bytes (at most 8) as an unsigned integer.
    fn integer(&mut self, size: u64) -> Option<u64> {
        let bytes = self.take(size)?;
        let shift = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
        Some(match self.order {
            ByteOrder::Little => bytes.iter().rev().fold(0, shift),
            ByteOrder::Big => bytes.iter().fold(0, shift),
        })
    }

    /// The bytes up to a NUL, which is taken too.
    fn text(&mut self) -> Option<&'data [u8]> {
        let end = self.rest.iter().position(|&byte| byte == 0)?;
        let text = self.take(end as u64)?;
        self.take(1).map(|_| text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: SdtNote<'static> = SdtNote {
        offset: 0,
        addresses: 20,
        pc: 0x1122_3344_5566_7788,
        base: 0x2000,
        semaphore: 0x3010,
        provider: b"queue",
        name: b"submit",
        arguments: b"-4@%eax 8@-80(%rbx)",
    };

    fn two() -> Vec<u8> {
        let mut section = Vec::new();
        NOTE.write(&mut section);
        SdtNote { provider: b"", semaphore: 0, arguments: b"", ..NOTE }.write(&mut section);
        section
    }

    fn all(section: &[u8]) -> Vec<Result<SdtNote<'_>, Error>> {
        SdtNotes::new(section, ByteOrder::Little, 8).collect()
    }

    fn damaged(offset: u64, problem: SdtNoteProblem) -> Result<SdtNote<'static>, Error> {
        Err(Error::SdtNote { section: SDT_NOTES, offset: SectionOffset(offset), problem })
    }

    #[test]
    fn what_is_written_is_read() {
        let section = two();
        let offset = 12 + 8 + 24 + 6 + 7 + 20 + 3;
        let second = SdtNote { offset, addresses: offset + 20, provider: b"", semaphore: 0, arguments: b"", ..NOTE };
        assert_eq!(all(&section), [Ok(NOTE), Ok(second)]);
    }

    #[test]
    fn addresses_have_the_size_and_the_order_of_the_image() {
        let mut section = Vec::new();
        for number in [8u32, 12 + 6 + 2 + 1, 3] {
            section.extend(number.to_be_bytes());
        }
        section.extend(OWNER);
        for number in [0x0804_8010u32, 0x0804_9000, 0] {
            section.extend(number.to_be_bytes());
        }
        section.extend(b"queue\0a\0\0");
        let note = SdtNote { pc: 0x0804_8010, base: 0x0804_9000, semaphore: 0, name: b"a", arguments: b"", ..NOTE };
        // Without the padding at its end.
        assert_eq!(SdtNotes::new(&section, ByteOrder::Big, 4).collect::<Vec<_>>(), [Ok(note)]);
    }

    #[test]
    fn other_notes_are_skipped() {
        let mut section = Vec::new();
        for (owner, kind) in [(&b"GNU\0"[..], 3), (OWNER, 4)] {
            for number in [owner.len() as u32, 2, kind] {
                section.extend(number.to_le_bytes());
            }
            section.extend(owner);
            section.extend([0xff; 4]);
        }
        let start = section.len() as u64;
        NOTE.write(&mut section);
        assert_eq!(all(&section), [Ok(SdtNote { offset: start, addresses: start + 20, ..NOTE })]);
    }

    #[test]
    fn a_damaged_note_does_not_stop_the_next() {
        let whole = two();
        let second = all(&whole)[1].clone();
        let mut section = whole.clone();
        let end = 12 + 8 + 24 + 6 + 7 + 20;
        section[end - 1..end + 3].fill(b'x');
        assert_eq!(all(&section), [damaged(0, SdtNoteProblem::Unterminated), second.clone()]);
        let mut section = whole.clone();
        section[12 + 8 + 24 + 6] = 0;
        assert_eq!(all(&section), [damaged(0, SdtNoteProblem::NoName), second]);
        let mut short = Vec::new();
        for number in [8u32, 20, 3] {
            short.extend(number.to_le_bytes());
        }
        short.extend(OWNER);
        short.extend([0; 20]);
        let at = short.len() as u64;
        NOTE.write(&mut short);
        let after = Ok(SdtNote { offset: at, addresses: at + 20, ..NOTE });
        assert_eq!(all(&short), [damaged(0, SdtNoteProblem::NoAddresses { size: 20 }), after]);
    }

    #[test]
    fn truncated_and_flipped_notes_are_no_panic() {
        let whole = two();
        let first = 12 + 8 + 24 + 6 + 7 + 20 + 3;
        for end in 0..whole.len() {
            let found = all(&whole[..end]);
            // The padding of a note may be missing.
            let is_second_whole = end > first + 12 + 8 + 24 + 1 + 7;
            let problem = || SdtNoteProblem::Truncated {
                needed: if end - first < 12 { 12 } else { 20 + 24 + 1 + 7 + 1 },
                available: (end - first) as u64,
            };
            match end {
                0 => assert_eq!(found, []),
                _ if end < first - 3 => assert!(matches!(found[..], [Err(_)]), "{end}"),
                _ if end <= first => assert_eq!(found, [Ok(NOTE)], "{end}"),
                _ if is_second_whole => assert_eq!(found.len(), 2, "{end}"),
                _ => assert_eq!(found, [Ok(NOTE), damaged(first as u64, problem())], "{end}"),
            }
        }
        for bit in 0..whole.len() * 8 {
            let mut section = whole.clone();
            section[bit / 8] ^= 1 << (bit % 8);
            let mut last = None;
            for note in all(&section) {
                let offset = note.map_or_else(|error| error.offset().map(|offset| offset.0), |note| Some(note.offset));
                assert!(offset > last && offset < Some(section.len() as u64), "notes go forward and stay inside");
                last = offset;
            }
        }
    }
}
