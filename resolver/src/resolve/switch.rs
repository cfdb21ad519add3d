//! The switch of a probe: plain values (`docs/probes.md`).

use simple_markers_record::buffer::Layout as Words;

use super::SitePlace;
use crate::address::FileOffset;

/// The size of the switch in bytes. The kernel counts in the first two.
pub(super) const SIZE: u64 = 4;

/// The size of the semaphore of a note, in which the kernel counts, in bytes.
pub(super) const SEMAPHORE_SIZE: u64 = 2;

/// The word that arms a probe when it is not 0: that of a marker, or the semaphore of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Where it is; `None` if the linker dropped it.
    pub place: Option<SitePlace>,
    /// Where that is in the file, which is what the kernel calls `ref_ctr_offset`; `None` if the file
    /// has no byte for it.
    pub file_offset: Option<FileOffset>,
    /// Why the kernel cannot arm the probe; `None` if it can, and in an image that no process runs.
    pub problem: Option<SwitchProblem>,
    /// Whether another writable segment is mapped from the same page of the file. The kernel then arms
    /// the probe in running processes, but not in those that start later: while the loader maps a file,
    /// the kernel takes the first mapping of the page.
    pub shares_page: bool,
    /// What the program's recorder writes for a hit, which is noted behind the switch; `None` if that
    /// cannot be read.
    pub words: Option<Words>,
}

/// Why the kernel cannot arm a probe. `Display` gives a few words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum SwitchProblem {
    /// The linker dropped the switch.
    Dropped,
    /// No segment loads it from the file.
    NotInFile,
    /// The segment that loads it is not writable.
    NotWritable,
    /// Its offset in the file is odd.
    NotAligned,
}

impl SwitchProblem {
    /// The name of the problem, stable over versions (`docs/json.md`).
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}
