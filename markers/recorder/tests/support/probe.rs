//! Descriptors of probes, and the code of an armed probe, without the macro.

use std::arch::asm;
use std::ffi::c_char;
use std::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, Ordering};

use simple_markers_record::buffer::{HANDLED, Layout};
// Only the assembly of probes refers to it.
use simple_markers_recorder as _;

#[repr(C, align(32))]
pub struct Descriptor {
    pub semaphore: AtomicU16,
    pub id: AtomicU16,
    pub layout: AtomicU32,
    pub strings: *const c_char,
    pub handler: AtomicPtr<()>,
    pub kept_layout: AtomicU32,
    pub reserved: u32,
}

// SAFETY: the pointer to the strings is a constant.
unsafe impl Sync for Descriptor {}

/// A static descriptor in the section of descriptors.
#[macro_export]
macro_rules! descriptor {
    ($vis:vis $name:ident: $probe:literal, $format:literal, $arguments:literal, $types:literal, $is_text:expr $(; $values:ident)?) => {
        #[unsafe(link_section = "__simple_probe")]
        #[used]
        $vis static $name: $crate::support::probe::Descriptor = $crate::support::probe::Descriptor {
            semaphore: std::sync::atomic::AtomicU16::new(0),
            id: std::sync::atomic::AtomicU16::new(0),
            layout: std::sync::atomic::AtomicU32::new(
                simple_markers_record::buffer::Layout::new(&$is_text).unwrap()$(.$values())?.0,
            ),
            strings: concat!($probe, "\0", file!(), "\0", line!(), "\0", $format, "\0", $arguments, "\0", $types, "\0")
                .as_ptr()
                .cast(),
            handler: std::sync::atomic::AtomicPtr::new(std::ptr::null_mut()),
            kept_layout: std::sync::atomic::AtomicU32::new(0),
            reserved: 0,
        };
    };
}

impl Descriptor {
    pub fn layout(&self) -> Layout {
        let layout = self.layout.load(Ordering::Relaxed);
        Layout(if layout & HANDLED == 0 { layout } else { self.kept_layout.load(Ordering::Relaxed) })
    }

    pub fn id(&self) -> u16 {
        self.id.load(Ordering::Relaxed)
    }

    /// What a probe does: tests its switch, and if that is on calls the recorder.
    #[inline(always)]
    pub fn hit<const WORDS: usize>(&self, words: &[u64; WORDS]) {
        if self.semaphore.load(Ordering::Relaxed) == 0 && self.id.load(Ordering::Relaxed) == 0 {
            return;
        }
        self.awake(words);
    }

    /// What an armed probe does.
    #[inline(always)]
    pub fn awake<const WORDS: usize>(&self, words: &[u64; WORDS]) {
        debug_assert_eq!(self.layout().words() as usize, WORDS);
        // SAFETY: these are the instructions of a probe. The recorder keeps all registers.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            asm!(
                "nop",
                "lea rsp, [rsp - 128]",
                ".set simple_marker_word, {count}",
                ".rept {count}",
                ".set simple_marker_word, simple_marker_word - 1",
                "push qword ptr [{words} + 8 * simple_marker_word]",
                ".endr",
                "push qword ptr [{descriptor}]",
                "call simple_marker_record",
                "lea rsp, [rsp + 128 + 8 * ({count} + 1)]",
                count = const WORDS,
                words = in(reg) words,
                descriptor = in(reg) self,
            );
        }
        // SAFETY: as above, but for those that are named.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            asm!(
                "nop",
                "sub sp, sp, #({count} + 2) / 2 * 16",
                "add x17, sp, #8",
                "mov x16, #{count}",
                "2:",
                "cbz x16, 3f",
                "sub x16, x16, #1",
                "ldr x30, [{words}, x16, lsl #3]",
                "str x30, [x17, x16, lsl #3]",
                "b 2b",
                "3:",
                "ldar x16, [{descriptor}]",
                "str x16, [sp]",
                "bl simple_marker_record",
                "add sp, sp, #({count} + 2) / 2 * 16",
                count = const WORDS,
                words = in(reg) words,
                descriptor = in(reg) self,
                out("x16") _, out("x17") _, out("x30") _,
            );
        }
    }
}

/// The two words of a text.
pub fn text(text: &[u8]) -> [u64; 2] {
    [text.as_ptr() as u64, text.len() as u64]
}
