//! The names of files.

use core::ffi::CStr;
use core::fmt::Write as _;

use simple_markers_record::buffer::control::FOLDER_SIZE;

use crate::control::control;
use crate::sys::{self, Errno};

/// A text of bounded size, with room for a NUL.
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

/// Whether readers find a file.
#[derive(Clone, Copy)]
pub(super) enum Stage {
    /// It is being made; its name begins with a dot.
    Hidden,
    /// It is complete.
    Final,
}

/// Names in the folder of the control block: `PID-NUMBER`.
pub(super) struct Path {
    text: Text<{ FOLDER_SIZE + 32 }>,
    folder: usize,
    pid: u32,
}

impl Path {
    pub(super) fn new(pid: u32) -> Result<Self, Errno> {
        let mut room = [0; FOLDER_SIZE];
        let mut text = Text::new();
        text.push(control().folder(&mut room)?)?;
        text.push(b"/")?;
        let folder = text.len();
        Ok(Self { text, folder, pid })
    }

    pub(super) fn name(&mut self, stage: Stage, number: u32) -> Result<&CStr, Errno> {
        self.text.cut(self.folder);
        let dot = match stage {
            Stage::Hidden => ".",
            Stage::Final => "",
        };
        write!(self.text, "{dot}{}-{number}", self.pid).map_err(|_| libc::ENAMETOOLONG)?;
        self.text.as_c_str()
    }

    /// Shows a complete file to readers.
    pub(super) fn publish(&mut self, number: u32) -> Result<(), Errno> {
        self.rename(number, Stage::Hidden, Stage::Final)
    }

    /// Hides a file from readers.
    pub(super) fn hide(&mut self, number: u32) -> Result<(), Errno> {
        self.rename(number, Stage::Final, Stage::Hidden)
    }

    fn rename(&mut self, number: u32, from: Stage, to: Stage) -> Result<(), Errno> {
        let mut before = Self { text: Text::new(), folder: self.folder, pid: self.pid };
        before.text.push(self.text.bytes().get(..self.folder).unwrap_or_default())?;
        sys::rename(before.name(from, number)?, self.name(to, number)?)
    }

    /// Removes a file that is not complete.
    pub(super) fn remove(&mut self, number: u32) {
        if let Ok(name) = self.name(Stage::Hidden, number) {
            sys::remove(name);
        }
    }
}
