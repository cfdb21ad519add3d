//! What the image was linked with: its probes, and the restartable sequences of the C library.

use core::arch::global_asm;

use crate::sys;

global_asm!(
    // Each of these symbols may be missing.
    ".pushsection .data.rel.ro.simple_marker,\"aw\",@progbits",
    ".balign 8",
    ".weak __start___simple_probe",
    ".hidden __start___simple_probe",
    ".weak __stop___simple_probe",
    ".hidden __stop___simple_probe",
    ".weak __rseq_offset",
    ".weak __rseq_size",
    ".hidden simple_marker_image",
    ".globl simple_marker_image",
    "simple_marker_image:",
    ".quad __start___simple_probe",
    ".quad __stop___simple_probe",
    ".quad __rseq_offset",
    ".quad __rseq_size",
    ".weak __ehdr_start",
    ".hidden __ehdr_start",
    ".quad __ehdr_start",
    ".popsection",
);

/// What `simple_marker_image` has.
#[repr(C)]
pub(crate) struct Image {
    pub(crate) probes: *const u8,
    pub(crate) probes_end: *const u8,
    /// The distance of the registered memory from the thread pointer; null without a C library that
    /// registers it.
    pub(crate) rseq_offset: *const isize,
    /// 0 if it is not registered.
    pub(crate) rseq_size: *const u32,
    /// The header of the ELF file, if it is in memory.
    header: *const u8,
}

impl Image {
    /// Whether it is the program, and not a shared library, which can be unloaded.
    pub(crate) fn is_program(&self) -> bool {
        // Elf64_Ehdr.e_phoff
        const PROGRAM_HEADERS: usize = 32;
        if self.header.is_null() {
            return false;
        }
        // SAFETY: it is the header.
        let offset = unsafe { self.header.add(PROGRAM_HEADERS).cast::<u64>().read() };
        sys::program_headers() == self.header as usize + offset as usize
    }
}

// SAFETY: nobody writes it after the program was linked and relocated.
unsafe impl Sync for Image {}

unsafe extern "C" {
    safe static simple_marker_image: Image;
}

/// What the image was linked with.
pub(crate) fn image() -> &'static Image {
    &simple_marker_image
}
