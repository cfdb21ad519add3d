//! The static of a probe. Its layout is that of the section `__simple_probe`
//! (`docs/section-format.md`).

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize};

/// The switch of a probe, and what the recorder needs to know of it.
#[derive(Debug)]
#[repr(C, align(32))]
pub struct Probe {
    /// Off if 0. The first two bytes count the tools that stop at the site, the others are the number
    /// under which the recorder writes the probe.
    switch: AtomicU32,
    /// Number of words, number of arguments (8 bits each), and a bit for each argument that is text.
    /// The recorder changes it while there is a handler.
    layout: AtomicU32,
    /// Name, file, line, format, arguments and their types, each with a NUL at its end; null without
    /// a recorder.
    strings: *const u8,
    /// A function of the program that gets the values, or null.
    handler: AtomicPtr<()>,
    /// The layout, while there is a handler.
    kept_layout: AtomicUsize,
}

// SAFETY: `strings` points to constant text, and the other fields are atomic.
unsafe impl Sync for Probe {}

impl Probe {
    /// The static of a probe that is off. `strings` is empty without a recorder.
    #[must_use]
    pub const fn new(layout: u32, strings: &'static str) -> Self {
        Self {
            switch: AtomicU32::new(0),
            layout: AtomicU32::new(layout),
            strings: if strings.is_empty() { ptr::null() } else { strings.as_ptr() },
            handler: AtomicPtr::new(ptr::null_mut()),
            kept_layout: AtomicUsize::new(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::offset_of;

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_layout_is_that_of_the_section() {
        assert_eq!((size_of::<Probe>(), align_of::<Probe>()), (32, 32));
        let offsets = [
            offset_of!(Probe, switch),
            offset_of!(Probe, layout),
            offset_of!(Probe, strings),
            offset_of!(Probe, handler),
            offset_of!(Probe, kept_layout),
        ];
        assert_eq!(offsets, [0, 4, 8, 16, 24]);
    }
}
