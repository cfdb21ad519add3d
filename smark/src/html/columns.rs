//! Many numbers in few bytes, as `assets/columns.js` reads them: each as LEB128, the least significant seven bits first, and
//! all of them as a zlib stream (RFC 1950).

use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Numbers below 2^53, the largest that the code of a page keeps.
#[derive(Debug, Default)]
pub(crate) struct NumberColumn {
    bytes: Vec<u8>,
    last: u64,
}

impl NumberColumn {
    /// Appends a number.
    pub(crate) fn push(&mut self, number: u64) {
        let mut left = number;
        while left >= 0x80 {
            // Seven bits fit.
            self.bytes.push((left & 0x7f) as u8 | 0x80);
            left >>= 7;
        }
        self.bytes.push(left as u8);
    }

    /// Appends how much a number is larger than the one before. Numbers must not become smaller.
    pub(crate) fn push_larger(&mut self, number: u64) {
        self.push(number.saturating_sub(self.last));
        self.last = self.last.max(number);
    }

    /// The bytes of the zlib stream.
    ///
    /// # Errors
    ///
    /// None is known.
    pub(crate) fn deflated(&self) -> io::Result<Vec<u8>> {
        deflated(&self.bytes)
    }
}

/// Bytes as a zlib stream.
pub(crate) fn deflated(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(bytes)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn numbers_have_seven_bits_a_byte() {
        let mut column = NumberColumn::default();
        [0, 127, 128, 624_485].into_iter().for_each(|number| column.push(number));
        // The last one is the example of DWARF 5, 7.6.
        assert_eq!(column.bytes, [0, 127, 0x80, 1, 0xe5, 0x8e, 0x26]);
        let mut column = NumberColumn::default();
        [5, 5, 300].into_iter().for_each(|number| column.push_larger(number));
        assert_eq!(column.bytes, [5, 0, 0xa7, 2]);
        let mut read = Vec::new();
        let bytes = column.deflated().expect("memory");
        flate2::read::ZlibDecoder::new(&bytes[..]).read_to_end(&mut read).expect("a stream");
        assert_eq!(read, column.bytes);
    }
}
