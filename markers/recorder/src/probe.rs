//! The probes of this image.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU16, Ordering};

use simple_markers_record::buffer::Layout;

use crate::entry::image;

/// The descriptor of a probe, in the section `__simple_probe`.
#[repr(C, align(32))]
struct Descriptor {
    /// How many tools stop at the site.
    semaphore: AtomicU16,
    /// What the recorder writes with each hit; 0 while it does not record.
    id: AtomicU16,
    layout: u32,
    /// name, file, line, format, arguments and types, each with a NUL.
    strings: *const core::ffi::c_char,
    handler: *const u8,
    reserved: u64,
}

/// A probe of this program or shared library.
#[derive(Clone, Copy)]
pub struct Probe {
    descriptor: &'static Descriptor,
    number: u16,
}

// SAFETY: the strings are constants, and the rest is atomic or never changes.
unsafe impl Send for Probe {}
// SAFETY: as for `Send`.
unsafe impl Sync for Probe {}

impl Probe {
    /// The name, such as `queue:submit`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.string(0)
    }

    /// The source file, as the compiler was given it.
    #[must_use]
    pub fn file(&self) -> &'static str {
        self.string(1)
    }

    /// The source line, counted from 1; 0 if it is not a number.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.string(2).parse().unwrap_or(0)
    }

    /// The printf format.
    #[must_use]
    pub fn format(&self) -> &'static str {
        self.string(3)
    }

    /// The arguments as written, separated by commas.
    #[must_use]
    pub fn arguments(&self) -> &'static str {
        self.string(4)
    }

    /// Whether the probe is on: for the recorder, or for a tool that stops at it.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.descriptor.semaphore.load(Ordering::Relaxed) != 0 || self.is_recorded()
    }

    /// Whether the recorder records hits.
    pub(crate) fn is_recorded(&self) -> bool {
        self.descriptor.id.load(Ordering::Relaxed) != 0
    }

    /// Makes the recorder record hits, or no longer.
    pub(crate) fn set_recorded(&self, is_recorded: bool) {
        let id = if is_recorded { self.number } else { 0 };
        self.descriptor.id.store(id, Ordering::Release);
    }

    /// The number of hits in recordings of this program: 1 for the first probe.
    pub(crate) fn number(&self) -> u16 {
        self.number
    }

    /// The layout of the values.
    pub(crate) fn layout(&self) -> Layout {
        Layout(self.descriptor.layout)
    }

    /// The type of each argument: its size in bytes, after `-` if it is signed, before `f` for a
    /// floating-point number and `p` for a pointer; or `s` for a text.
    pub(crate) fn types(&self) -> &'static str {
        self.string(5)
    }

    /// String `number` of the descriptor, up to a byte that is not UTF-8.
    fn string(&self, number: usize) -> &'static str {
        let mut at = self.descriptor.strings;
        if at.is_null() {
            return "";
        }
        for _ in 0..number {
            // SAFETY: a descriptor has six strings, one after the other.
            at = unsafe { at.add(CStr::from_ptr(at).to_bytes_with_nul().len()) };
        }
        // SAFETY: as above; they are constants.
        let bytes = unsafe { CStr::from_ptr(at) }.to_bytes();
        match core::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                bytes.get(..error.valid_up_to()).and_then(|valid| core::str::from_utf8(valid).ok()).unwrap_or("")
            }
        }
    }
}

impl core::fmt::Debug for Probe {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.debug_struct("Probe")
            .field("name", &self.name())
            .field("file", &self.file())
            .field("line", &self.line())
            .field("format", &self.format())
            .field("arguments", &self.arguments())
            .field("is_armed", &self.is_armed())
            .finish()
    }
}

/// The probes of this program or shared library.
///
/// # Examples
///
/// ```
/// for probe in simple_markers_recorder::probes() {
///     println!("{}:{} {} \"{}\"", probe.file(), probe.line(), probe.name(), probe.format());
/// }
/// ```
#[must_use]
pub fn probes() -> Probes {
    Probes { next: 0 }
}

/// The iterator of [`probes`].
#[derive(Clone, Debug)]
pub struct Probes {
    next: usize,
}

impl Iterator for Probes {
    type Item = Probe;

    fn next(&mut self) -> Option<Probe> {
        let image = image();
        let count = (image.probes_end as usize).saturating_sub(image.probes as usize) / size_of::<Descriptor>();
        // Numbers of more than 16 bits do not fit into a record.
        let number = u16::try_from(self.next + 1).ok().filter(|_| self.next < count)?;
        // SAFETY: the linker puts the descriptors of the image between these addresses.
        let descriptor = unsafe { &*image.probes.cast::<Descriptor>().add(self.next) };
        self.next += 1;
        Some(Probe { descriptor, number })
    }
}
