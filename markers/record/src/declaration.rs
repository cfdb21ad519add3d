//! `__simple_marker.1`: a sequence of records of five NUL-terminated strings,
//! `name file line format args`.
//!
//! This is the section of 2008, unchanged. Linkers may insert padding between the contributions of
//! two objects, so NUL bytes between records are skipped. A NUL inside a record is an empty string.

use alloc::vec::Vec;

use crate::{DECLARATIONS, Error, ErrorKind};

/// One record of `__simple_marker.1`: the marker as it was written. Strings are bytes; UTF-8 is
/// expected, not required.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Declaration<'a> {
    /// Offset of the record in its section, in bytes.
    pub offset: usize,
    /// The marker's name, `subsystem:component` by convention. Never empty.
    pub name: &'a [u8],
    /// The source file, as the compiler was given it (remapped prefixes applied).
    pub file: &'a [u8],
    /// The source line, counted from 1.
    pub line: u32,
    /// Whether the marker is a ghost: its line is written with a zero before it.
    pub is_ghost: bool,
    /// The printf format.
    pub format: &'a [u8],
    /// The argument list as written, separated by commas; empty if there are no arguments.
    pub args: &'a [u8],
}

impl Declaration<'_> {
    /// Appends the record to `section`. The strings must not contain a NUL.
    pub fn write(&self, section: &mut Vec<u8>) {
        let mut string = |bytes: &[u8]| {
            section.extend_from_slice(bytes);
            section.push(0);
        };
        string(self.name);
        string(self.file);
        let zero = if self.is_ghost { "0" } else { "" };
        string(alloc::format!("{zero}{}", self.line).as_bytes());
        string(self.format);
        string(self.args);
    }
}

/// The records of a section, in order. Reading continues after a bad record; each run of bad bytes
/// is one error.
#[derive(Clone, Debug)]
pub struct Declarations<'a> {
    section: &'a [u8],
    offset: usize,
}

/// What is at an offset.
enum Candidate<'a> {
    Record(Declaration<'a>, usize),
    /// Four strings of a record whose empty name was skipped as padding.
    Nameless(usize),
    /// Five strings whose third is not a line number; where the last one ends, and where the first
    /// one ends.
    BadLine {
        end: usize,
        next_string: usize,
    },
    /// Fewer than five terminated strings are left.
    Truncated {
        found: usize,
    },
}

impl<'a> Declarations<'a> {
    /// Reads `section`, the contents of `__simple_marker.1`.
    #[must_use]
    pub fn new(section: &'a [u8]) -> Self {
        Self { section, offset: 0 }
    }

    /// The next record; `None` at the end of the section.
    ///
    /// # Errors
    ///
    /// The record is truncated, its line is not a number, or its name is empty. The error has its
    /// offset in the section.
    pub fn next_declaration(&mut self) -> Option<Result<Declaration<'a>, Error>> {
        let padding_start = self.offset;
        self.offset = self.skip_padding(self.offset);
        let start = self.offset;
        if start >= self.section.len() {
            return None;
        }
        let padded = start > padding_start;
        match self.candidate(start, padded) {
            Candidate::Record(declaration, end) => {
                self.offset = end;
                Some(Ok(declaration))
            }
            Candidate::Nameless(end) => {
                self.offset = end;
                Some(Err(Error::new(DECLARATIONS, start.saturating_sub(1), ErrorKind::EmptyName)))
            }
            Candidate::Truncated { found } => {
                self.offset = self.section.len();
                Some(Err(Error::new(DECLARATIONS, start, ErrorKind::TruncatedDeclaration { found })))
            }
            Candidate::BadLine { end, next_string } => {
                let kind = self.resynchronise(end, next_string);
                Some(Err(Error::new(DECLARATIONS, start, kind)))
            }
        }
    }

    /// Moves to the next offset where a record can be read, and says what was skipped: one record
    /// with a bad line if another record or the end of the section follows it, else a run of
    /// foreign bytes.
    fn resynchronise(&mut self, end: usize, next_string: usize) -> ErrorKind {
        let following = self.skip_padding(end);
        if following >= self.section.len() || matches!(self.candidate(following, false), Candidate::Record(..)) {
            self.offset = end;
            return ErrorKind::LineNotANumber;
        }
        let mut offset = next_string;
        loop {
            offset = self.skip_padding(offset);
            match self.candidate(offset, false) {
                Candidate::Record(..) => break,
                Candidate::BadLine { next_string, .. } | Candidate::Nameless(next_string) => offset = next_string,
                Candidate::Truncated { .. } => {
                    offset = self.section.len();
                    break;
                }
            }
        }
        self.offset = offset;
        ErrorKind::NotDeclarations { end: offset }
    }

    fn skip_padding(&self, offset: usize) -> usize {
        let rest = self.section.get(offset..).unwrap_or_default();
        offset + rest.iter().take_while(|&&byte| byte == 0).count()
    }

    /// Reads what is at `start`, which is not a NUL. `padded`: a NUL before it may be an empty
    /// name.
    fn candidate(&self, start: usize, padded: bool) -> Candidate<'a> {
        let mut strings = [&[][..]; 5];
        let mut ends = [0; 5];
        let mut position = start;
        for (found, (string, end)) in strings.iter_mut().zip(&mut ends).enumerate() {
            let Some((bytes, next)) = self.string(position) else {
                return Candidate::Truncated { found };
            };
            (*string, *end) = (bytes, next);
            position = next;
        }
        let [name, file, line, format, args] = strings;
        let [name_end, _, _, format_end, end] = ends;
        if let Some((line, is_ghost)) = parse_line(line) {
            Candidate::Record(Declaration { offset: start, name, file, line, is_ghost, format, args }, end)
        } else if padded && parse_line(file).is_some() {
            Candidate::Nameless(format_end)
        } else {
            Candidate::BadLine { end, next_string: name_end }
        }
    }

    /// The string at `offset`, and the offset after its NUL; `None` if no NUL follows.
    fn string(&self, offset: usize) -> Option<(&'a [u8], usize)> {
        let tail = self.section.get(offset..)?;
        let length = tail.iter().position(|&byte| byte == 0)?;
        Some((tail.get(..length)?, offset + length + 1))
    }
}

impl<'a> Iterator for Declarations<'a> {
    type Item = Result<Declaration<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_declaration()
    }
}

/// A line number of decimal digits that fits 32 bits, and whether a zero is before it; `None` for
/// anything else.
pub(crate) fn parse_line(digits: &[u8]) -> Option<(u32, bool)> {
    if digits.is_empty() {
        return None;
    }
    let line = digits.iter().try_fold(0u32, |line, &digit| {
        let value = digit.checked_sub(b'0').filter(|&value| value < 10)?;
        line.checked_mul(10)?.checked_add(u32::from(value))
    })?;
    Some((line, digits.len() > 1 && digits.starts_with(b"0")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn read(section: &[u8]) -> Vec<Result<(&[u8], u32), Error>> {
        Declarations::new(section).map(|record| record.map(|d| (d.name, d.line))).collect()
    }

    fn error(offset: usize, kind: ErrorKind) -> Error {
        Error::new(DECLARATIONS, offset, kind)
    }

    #[test]
    fn what_is_written_is_read() {
        let declaration = Declaration {
            offset: 0,
            name: b"scsi:queuecommand",
            file: b"drivers/scsi/\xc3\xa9.c",
            line: 4_294_967_295,
            is_ghost: false,
            format: b"100%% \"{}\" %d",
            args: b"cmd",
        };
        let mut section = Vec::new();
        declaration.write(&mut section);
        let second = Declaration { offset: section.len() + 3, format: b"", args: b"", is_ghost: true, ..declaration };
        section.extend_from_slice(&[0; 3]);
        second.write(&mut section);
        let read: Vec<_> = Declarations::new(&section).collect();
        assert_eq!(read, vec![Ok(declaration), Ok(second)]);
    }

    #[test]
    fn a_truncated_last_record_is_reported_and_the_others_read() {
        assert_eq!(
            read(b"a\0f.c\x001\0\0\0b\0f.c\x002\0x"),
            vec![Ok((&b"a"[..], 1)), Err(error(10, ErrorKind::TruncatedDeclaration { found: 3 }))]
        );
    }

    #[test]
    fn a_bad_line_costs_one_record() {
        for bad in ["", "x", "-1", "1x", "4294967296", "99999999999999999999"] {
            let mut section = b"a\0f.c\0".to_vec();
            section.extend_from_slice(bad.as_bytes());
            section.extend_from_slice(b"\0fmt\0args\0b\0f.c\x002\0\0\0");
            assert_eq!(read(&section), vec![Err(error(0, ErrorKind::LineNotANumber)), Ok((&b"b"[..], 2))], "{bad:?}");
        }
    }

    #[test]
    fn an_empty_name_is_told_from_padding() {
        assert_eq!(
            read(b"a\0f.c\x001\0\0\0\0f.c\x002\0fmt\0\0b\0f.c\x003\0\0\0"),
            vec![Ok((&b"a"[..], 1)), Err(error(10, ErrorKind::EmptyName)), Ok((&b"b"[..], 3))]
        );
    }

    #[test]
    fn somebody_elses_bytes_are_one_error() {
        let mut section = b"GNU\0some\0other\0words\0that\0are\0no\0records\0".to_vec();
        let end = section.len();
        section.extend_from_slice(b"a\0f.c\x001\0\0\0");
        assert_eq!(read(&section), vec![Err(error(0, ErrorKind::NotDeclarations { end })), Ok((&b"a"[..], 1))]);
        let binary: Vec<u8> = (1..=255).collect();
        assert_eq!(read(&binary), vec![Err(error(0, ErrorKind::TruncatedDeclaration { found: 0 }))]);
    }

    #[test]
    fn padding_alone_is_no_record() {
        assert_eq!(read(&[0; 9]), vec![]);
        assert_eq!(read(b""), vec![]);
    }
}
