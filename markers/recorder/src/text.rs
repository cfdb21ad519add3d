//! A text of bounded size, since nothing is allocated.

use core::ffi::CStr;

use crate::sys::Errno;

/// The text, with room for a NUL.
pub(crate) struct Text<const SIZE: usize> {
    bytes: [u8; SIZE],
    length: usize,
}

impl<const SIZE: usize> Text<SIZE> {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; SIZE], length: 0 }
    }

    /// Keeps only the first `length` bytes.
    pub(crate) fn cut(&mut self, length: usize) {
        self.length = length.min(self.length);
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// Appends bytes; an error if there is no room.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let end = self.length + bytes.len();
        if end >= SIZE {
            return Err(libc::ENAMETOOLONG);
        }
        self.bytes.get_mut(self.length..end).ok_or(libc::ENAMETOOLONG)?.copy_from_slice(bytes);
        self.length = end;
        Ok(())
    }

    /// The text with a NUL.
    pub(crate) fn as_c_str(&mut self) -> Result<&CStr, Errno> {
        if let Some(end) = self.bytes.get_mut(self.length) {
            *end = 0;
        }
        CStr::from_bytes_until_nul(&self.bytes).map_err(|_| libc::ENAMETOOLONG)
    }
}

impl<const SIZE: usize> core::fmt::Write for Text<SIZE> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.push(text.as_bytes()).map_err(|_| core::fmt::Error)
    }
}
