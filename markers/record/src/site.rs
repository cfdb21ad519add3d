//! `.debug.simple_marker.2`: one record for each copy of a marker in the machine code.
//!
//! | field | bytes |
//! | --- | --- |
//! | length of what follows | 2 |
//! | flags | 1 |
//! | address size | 1 |
//! | pc | 4 or 8 |
//! | line | 4 |
//! | column | 4 |
//! | name, file, format, args, operands: offsets in the string table | 5 x 4 |
//! | of a probe: address of its switch | 4 or 8 |

use alloc::vec::Vec;

use crate::{ByteOrder, Error, ErrorKind, SITES};

/// Flag of a site whose marker has an instruction of its own, at `pc`.
pub const ANCHORED: u8 = 1 << 0;

/// Flag of a site with an operands string, which says where kept arguments are.
pub const HAS_OPERANDS: u8 = 1 << 1;

/// Flag of a site of a probe: the address of its switch follows the strings.
pub const PROBE: u8 = 1 << 2;

/// Bytes of a record before `pc`, including its length field.
const HEADER: usize = 4;

/// Bytes of the fields after `pc`.
const AFTER_PC: usize = 4 + 4 + 5 * 4;

/// The length field of a record with addresses of `address_size` bytes and nothing after the known
/// fields.
#[must_use]
pub const fn record_length(address_size: u8) -> u16 {
    (HEADER - 2 + AFTER_PC) as u16 + address_size as u16
}

/// The length field of a probe's record: that of a marker, and the address of the switch.
#[must_use]
pub const fn probe_record_length(address_size: u8) -> u16 {
    record_length(address_size) + address_size as u16
}

/// One record of `.debug.simple_marker.2`. Strings are offsets in `.debug.simple_marker.str`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// Offset of the record in its section, in bytes.
    pub offset: usize,
    /// [`ANCHORED`], [`HAS_OPERANDS`], [`PROBE`]; other bits are ignored.
    pub flags: u8,
    /// Size of `pc` in bytes: 4 or 8.
    pub address_size: u8,
    /// Link-time address of the next instruction, or of the marker's own if it is anchored.
    pub pc: u64,
    /// The source line, counted from 1.
    pub line: u32,
    /// The source column, counted from 1; 0 if unknown.
    pub column: u32,
    /// The marker's name.
    pub name: u32,
    /// The source file.
    pub file: u32,
    /// The printf format.
    pub format: u32,
    /// The argument list.
    pub args: u32,
    /// Where kept arguments are, see [`crate::operand`].
    pub operands: u32,
    /// Link-time address of the probe's switch; `None` if the record has no [`PROBE`].
    pub switch: Option<u64>,
}

impl Site {
    /// Offset of the `pc` field in the section, in bytes. In a relocatable object its relocation is
    /// there.
    #[must_use]
    pub fn pc_offset(&self) -> usize {
        self.offset.saturating_add(HEADER)
    }

    /// Offset of the `switch` field in the section, in bytes; `None` if the record is not of a
    /// probe. In a relocatable object its relocation is there.
    #[must_use]
    pub fn switch_offset(&self) -> Option<usize> {
        self.switch?;
        Some(self.pc_offset().saturating_add(usize::from(self.address_size)).saturating_add(AFTER_PC))
    }

    /// Whether the marker has an instruction of its own at `pc`.
    #[must_use]
    pub fn is_anchored(&self) -> bool {
        self.flags & ANCHORED != 0
    }

    /// Whether the operands string has an entry for each argument.
    #[must_use]
    pub fn has_operands(&self) -> bool {
        self.flags & HAS_OPERANDS != 0
    }

    /// Whether `pc` is a tombstone: the linker dropped the function. Linkers write 0, all ones or
    /// all ones - 1. In a relocatable object the relocation decides instead.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.is_tombstone(self.pc)
    }

    /// Whether an address of the record is a tombstone, as [`Self::is_dead`] says for `pc`.
    #[must_use]
    pub fn is_tombstone(&self, address: u64) -> bool {
        let all_ones = if self.address_size == 4 { u64::from(u32::MAX) } else { u64::MAX };
        address == 0 || address == all_ones || address == all_ones - 1
    }

    /// Appends the record to `section`. Addresses are cut to the address size. The flag [`PROBE`]
    /// follows `switch`.
    pub fn write(&self, section: &mut Vec<u8>, order: ByteOrder) {
        let mut integer = |value: u64, size: usize| match order {
            ByteOrder::Little => section.extend_from_slice(value.to_le_bytes().get(..size).unwrap_or_default()),
            ByteOrder::Big => section.extend_from_slice(value.to_be_bytes().get(8 - size..).unwrap_or_default()),
        };
        let address_size = if self.address_size == 4 { 4 } else { 8 };
        let (length, flags) = match self.switch {
            Some(_) => (probe_record_length(address_size), self.flags | PROBE),
            None => (record_length(address_size), self.flags & !PROBE),
        };
        integer(length.into(), 2);
        integer(flags.into(), 1);
        integer(address_size.into(), 1);
        integer(self.pc, address_size.into());
        for field in [self.line, self.column, self.name, self.file, self.format, self.args, self.operands] {
            integer(field.into(), 4);
        }
        if let Some(switch) = self.switch {
            integer(switch, address_size.into());
        }
    }
}

/// The records of a section, in order. Reading continues after a bad record, at the offset that its
/// length gives.
#[derive(Clone, Debug)]
pub struct Sites<'a> {
    section: &'a [u8],
    order: ByteOrder,
    offset: usize,
}

impl<'a> Sites<'a> {
    /// Reads `section`, the contents of `.debug.simple_marker.2` with relocations applied.
    #[must_use]
    pub fn new(section: &'a [u8], order: ByteOrder) -> Self {
        Self { section, order, offset: 0 }
    }

    /// The next record; `None` at the end of the section.
    ///
    /// # Errors
    ///
    /// The record is truncated, is too short for its fields, or has an address size other than 4 or
    /// 8. The error has its offset.
    pub fn next_site(&mut self) -> Option<Result<Site, Error>> {
        let start = self.offset;
        let rest = self.section.get(start..).filter(|rest| !rest.is_empty())?;
        Some(self.read(start, rest).map_err(|kind| Error::new(SITES, start, kind)))
    }

    fn read(&mut self, start: usize, rest: &[u8]) -> Result<Site, ErrorKind> {
        let mut fields = Fields { rest, order: self.order };
        self.offset = self.section.len();
        let truncated = |needed| ErrorKind::TruncatedSite { needed, available: rest.len().saturating_sub(2) };
        let length = fields.integer(2).ok_or(truncated(2))? as usize;
        if length == 0 {
            let end = start + rest.iter().take_while(|&&byte| byte == 0).count();
            self.offset = end;
            return Err(ErrorKind::ZeroPadding { end });
        }
        let body = fields.rest.get(..length).ok_or(truncated(length))?;
        self.offset = start + 2 + length;
        fields.rest = body;
        let too_short = ErrorKind::SiteTooShort { length };
        let flags = fields.integer(1).ok_or(too_short)? as u8;
        let address_size = fields.integer(1).ok_or(too_short)? as u8;
        if address_size != 4 && address_size != 8 {
            return Err(ErrorKind::AddressSize { size: address_size });
        }
        let pc = fields.integer(address_size.into()).ok_or(too_short)?;
        let mut word = || fields.integer(4).map(|value| value as u32).ok_or(too_short);
        let mut site = Site {
            offset: start,
            flags,
            address_size,
            pc,
            line: word()?,
            column: word()?,
            name: word()?,
            file: word()?,
            format: word()?,
            args: word()?,
            operands: word()?,
            switch: None,
        };
        if flags & PROBE != 0 {
            site.switch = Some(fields.integer(address_size.into()).ok_or(too_short)?);
        }
        Ok(site)
    }
}

impl Iterator for Sites<'_> {
    type Item = Result<Site, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_site()
    }
}

/// Takes integers off the front of a record.
struct Fields<'a> {
    rest: &'a [u8],
    order: ByteOrder,
}

impl Fields<'_> {
    /// The next `size` bytes (at most 8) as an unsigned integer; `None` if there are fewer.
    fn integer(&mut self, size: usize) -> Option<u64> {
        let (bytes, rest) = self.rest.split_at_checked(size)?;
        self.rest = rest;
        let shift = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
        Some(match self.order {
            ByteOrder::Little => bytes.iter().rev().fold(0, shift),
            ByteOrder::Big => bytes.iter().fold(0, shift),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const SITE: Site = Site {
        offset: 0,
        flags: ANCHORED | HAS_OPERANDS,
        address_size: 8,
        pc: 0x1122_3344_5566_7788,
        line: 12,
        column: 5,
        name: 1,
        file: 0x0203_0405,
        format: 3,
        args: 4,
        operands: 5,
        switch: None,
    };

    #[test]
    fn what_is_written_is_read_in_both_orders_and_sizes() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let mut section = Vec::new();
            SITE.write(&mut section, order);
            assert_eq!(section.len(), 40);
            let second = Site { offset: 40, address_size: 4, pc: 0x5566_7788, flags: 0, ..SITE };
            second.write(&mut section, order);
            assert_eq!(section.len(), 76);
            assert_eq!(Sites::new(&section, order).collect::<Vec<_>>(), vec![Ok(SITE), Ok(second)]);
        }
    }

    #[test]
    fn the_switch_of_a_probe_follows_the_strings() {
        let probe = Site { flags: SITE.flags | PROBE, switch: Some(0x1020), ..SITE };
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let mut section = Vec::new();
            probe.write(&mut section, order);
            assert_eq!(section.len(), 48);
            let short = Site { offset: 48, address_size: 4, pc: 0x5566_7788, ..probe };
            short.write(&mut section, order);
            assert_eq!(section.len(), 48 + 40);
            let field = probe.switch_offset().unwrap();
            assert!(section[field..field + 8].contains(&0x20));
            assert_eq!(Sites::new(&section, order).collect::<Vec<_>>(), vec![Ok(probe), Ok(short)]);
        }
        let mut section = Vec::new();
        SITE.write(&mut section, ByteOrder::Little);
        section[2] |= PROBE;
        let error = Error::new(SITES, 0, ErrorKind::SiteTooShort { length: 38 });
        assert_eq!(Sites::new(&section, ByteOrder::Little).collect::<Vec<_>>(), vec![Err(error)]);
    }

    #[test]
    fn what_a_later_version_appends_is_skipped() {
        let mut section = Vec::new();
        SITE.write(&mut section, ByteOrder::Little);
        section[0] += 3;
        section.extend_from_slice(b"new");
        SITE.write(&mut section, ByteOrder::Little);
        let second = Site { offset: 43, ..SITE };
        assert_eq!(Sites::new(&section, ByteOrder::Little).collect::<Vec<_>>(), vec![Ok(SITE), Ok(second)]);
    }

    #[test]
    fn a_bad_record_does_not_stop_the_next() {
        let mut section = vec![4, 0, 0, 8, 1, 2, 38, 0, 0, 3];
        section.extend_from_slice(&[0; 36]);
        section.extend_from_slice(&[0, 0, 0]);
        let start = section.len();
        SITE.write(&mut section, ByteOrder::Little);
        section.extend_from_slice(&[38, 0, 1]);
        let errors: Vec<_> = Sites::new(&section, ByteOrder::Little)
            .map(|site| site.map(|site| site.offset).map_err(|error| (error.offset, error.kind)))
            .collect();
        assert_eq!(
            errors,
            vec![
                Err((0, ErrorKind::SiteTooShort { length: 4 })),
                Err((6, ErrorKind::AddressSize { size: 3 })),
                Err((46, ErrorKind::ZeroPadding { end: start })),
                Ok(start),
                Err((start + 40, ErrorKind::TruncatedSite { needed: 38, available: 1 })),
            ]
        );
    }

    #[test]
    fn tombstones_are_dead() {
        for (address_size, pc, dead) in [
            (8, 0, true),
            (8, u64::MAX, true),
            (8, u64::MAX - 1, true),
            (8, 0xffff_ffff, false),
            (4, 0xffff_ffff, true),
            (4, 0xffff_fffe, true),
            (8, 0x1000, false),
        ] {
            assert_eq!(Site { address_size, pc, ..SITE }.is_dead(), dead, "{address_size} {pc:#x}");
        }
    }
}
