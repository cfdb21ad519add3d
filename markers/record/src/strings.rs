//! `.debug.simple_marker.str`: NUL-terminated strings. Site records refer to them by offset.

use crate::{Error, ErrorKind, STRINGS};

/// The string table of the site records.
#[derive(Clone, Copy, Debug)]
pub struct Strings<'a> {
    section: &'a [u8],
}

impl<'a> Strings<'a> {
    /// Reads `section`, the contents of `.debug.simple_marker.str`.
    #[must_use]
    pub fn new(section: &'a [u8]) -> Self {
        Self { section }
    }

    /// The string at `offset`, without its NUL.
    ///
    /// # Errors
    ///
    /// The offset lies outside the table, or no NUL follows it.
    pub fn get(&self, offset: u32) -> Result<&'a [u8], Error> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let error = |kind| Error::new(STRINGS, start, kind);
        let tail = self
            .section
            .get(start..)
            .filter(|tail| !tail.is_empty())
            .ok_or_else(|| error(ErrorKind::StringOutside { size: self.section.len() }))?;
        let length = tail.iter().position(|&byte| byte == 0).ok_or_else(|| error(ErrorKind::StringUnterminated))?;
        Ok(tail.get(..length).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_found_by_offset() {
        let strings = Strings::new(b"\0abc\0tail");
        assert_eq!(strings.get(0), Ok(&b""[..]));
        assert_eq!(strings.get(1), Ok(&b"abc"[..]));
        assert_eq!(strings.get(2), Ok(&b"bc"[..]));
        assert_eq!(strings.get(5).map_err(|error| error.kind), Err(ErrorKind::StringUnterminated));
        assert_eq!(strings.get(9).map_err(|error| error.kind), Err(ErrorKind::StringOutside { size: 9 }));
        assert_eq!(strings.get(u32::MAX).map_err(|error| error.offset), Err(u32::MAX as usize));
    }
}
