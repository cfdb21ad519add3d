//! The names of files.

use core::ffi::CStr;
use core::fmt::Write as _;
use core::sync::atomic::{AtomicU32, Ordering};

use simple_markers_record::buffer::control::FOLDER_SIZE;

use crate::control::control;
use crate::sys::{self, Errno};
use crate::text::Text;

/// The numbers of the files of a process. Zeros are those of a process without files.
pub(crate) struct Numbers(AtomicU32);

impl Numbers {
    /// The number of the next file.
    pub(super) fn next(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed)
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
