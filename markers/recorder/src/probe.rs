//! The probes of this image, with their handlers.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, Ordering};

use simple_markers_record::args;
use simple_markers_record::buffer::{HANDLED, Layout, MAX_ID, NO_ID};

use crate::image::image;

/// The descriptor of a probe, in the section `__simple_probe`.
#[repr(C, align(32))]
struct Descriptor {
    /// How many tools stop at the site.
    semaphore: AtomicU16,
    /// What the recorder writes with each hit: 1 to [`MAX_ID`]. 0 while nobody records,
    /// [`NO_ID`] if there is a handler.
    id: AtomicU16,
    /// [`Layout`], or [`HANDLED`] and the index of the descriptor while there is a handler.
    layout: AtomicU32,
    /// name, file, line, format, arguments and types, each with a NUL.
    strings: *const core::ffi::c_char,
    handler: AtomicPtr<Handler>,
    /// The layout, if the probe has had a handler.
    kept_layout: AtomicU32,
    reserved: u32,
}

/// A handler. It is never freed or changed, since other threads may run it at any time.
#[derive(Clone, Copy)]
pub(crate) struct Handler {
    pub(crate) call: Call,
    pub(crate) data: *const (),
}

/// Gets the probe, the words and the data of the handler.
pub(crate) type Call = unsafe fn(Probe, *const u64, *const ());

impl PartialEq for Handler {
    fn eq(&self, other: &Self) -> bool {
        // Functions with one address are the same code.
        core::ptr::fn_addr_eq(self.call, other.call) && self.data == other.data
    }
}

/// A probe of this program or shared library.
#[derive(Clone, Copy)]
pub struct Probe {
    descriptor: &'static Descriptor,
    number: u16,
}

// SAFETY: the strings are constants, and the rest is atomic.
unsafe impl Send for Probe {}
// SAFETY: as for `Send`.
unsafe impl Sync for Probe {}

impl Probe {
    /// Probe number `index` of the image, from 0.
    pub(crate) fn with_index(index: usize) -> Option<Self> {
        let image = image();
        let count = (image.probes_end as usize).saturating_sub(image.probes as usize) / size_of::<Descriptor>();
        // Greater numbers are not those of records.
        let number = u16::try_from(index + 1).ok().filter(|&number| index < count && number <= MAX_ID)?;
        // SAFETY: the linker puts the descriptors of the image between these addresses.
        let descriptor = unsafe { &*image.probes.cast::<Descriptor>().add(index) };
        Some(Self { descriptor, number })
    }

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

    /// The arguments as written, one by one.
    pub fn argument_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let names = args::split(self.arguments().as_bytes());
        names.take(self.layout().arguments() as usize).map(|name| core::str::from_utf8(name).unwrap_or_default())
    }

    /// Whether the probe is on: for the recorder, for a handler, or for a tool that stops at it.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.descriptor.semaphore.load(Ordering::Relaxed) != 0 || self.descriptor.id.load(Ordering::Relaxed) != 0
    }

    /// Whether the recorder records hits.
    pub(crate) fn is_recorded(&self) -> bool {
        (1..=MAX_ID).contains(&self.descriptor.id.load(Ordering::Relaxed))
    }

    /// Makes the recorder record hits, or no longer.
    pub(crate) fn set_recorded(&self, is_recorded: bool) {
        let off = if self.handler().is_some() { NO_ID } else { 0 };
        self.descriptor.id.store(if is_recorded { self.number } else { off }, Ordering::SeqCst);
    }

    /// The handler of hits.
    pub(crate) fn handler(&self) -> Option<&'static Handler> {
        // SAFETY: handlers are never freed.
        unsafe { self.descriptor.handler.load(Ordering::SeqCst).as_ref() }
    }

    /// Sets the handler, or removes it. A tool that switches the probe off writes the id, then looks
    /// for a handler; here it is the other way round, so one of both sees what the other one did.
    pub(crate) fn set_handler(&self, handler: Option<&'static Handler>) {
        let Descriptor { id, layout, handler: to, kept_layout, .. } = self.descriptor;
        let pointer = handler.map_or(core::ptr::null_mut(), |handler| core::ptr::from_ref(handler).cast_mut());
        let change_id = |from, to| {
            // Any other number is that of a recorder.
            let _ = id.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst);
        };
        let real = self.layout().0;
        if handler.is_some() {
            to.store(pointer, Ordering::SeqCst);
            kept_layout.store(real, Ordering::Release);
            layout.store(HANDLED | (u32::from(self.number) - 1), Ordering::Release);
            change_id(0, NO_ID);
        } else {
            to.store(pointer, Ordering::SeqCst);
            change_id(NO_ID, 0);
            layout.store(real, Ordering::Release);
        }
    }

    /// The number of hits in recordings of this program: 1 for the first probe.
    pub(crate) fn number(&self) -> u16 {
        self.number
    }

    /// The layout of the values.
    pub(crate) fn layout(&self) -> Layout {
        let layout = self.descriptor.layout.load(Ordering::Acquire);
        let is_handled = layout & HANDLED != 0;
        Layout(if is_handled { self.descriptor.kept_layout.load(Ordering::Acquire) } else { layout })
    }

    /// The type of each argument: its size in bytes, after `-` if it is signed, before `f` for a
    /// floating-point number and `p` for a pointer; or `s` for a text, `v` for a
    /// whole value.
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
        let probe = Probe::with_index(self.next)?;
        self.next += 1;
        Some(probe)
    }
}
