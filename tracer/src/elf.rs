//! What a plan needs of an image besides its resolution.

use object::elf::{FileHeader64, PT_TLS, ProgramHeader64};
use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _};
use object::{Endianness, Object as _};
use simple_markers_resolver::text::hexadecimal;

/// Whether it is a 64-bit ELF file.
#[must_use]
pub fn is_elf(bytes: &[u8]) -> bool {
    FileHeader64::<Endianness>::parse(bytes).is_ok()
}

/// The GNU build id of an image in hexadecimal. `None` if the image has none, or is not a 64-bit ELF
/// file.
#[must_use]
pub fn build_id(bytes: &[u8]) -> Option<String> {
    let id = ElfFile64::<Endianness>::parse(bytes).ok()?.build_id().ok()??;
    Some(hexadecimal(id))
}

/// The size of the thread-local storage of an image, rounded up to its alignment; 0 if it has none.
/// `None` if the image is not a 64-bit ELF file.
#[must_use]
pub fn thread_local_size(bytes: &[u8]) -> Option<u64> {
    let (headers, endian) = program_headers(bytes)?;
    let Some(storage) = headers.iter().find(|header| header.p_type(endian) == PT_TLS) else { return Some(0) };
    storage.p_memsz(endian).checked_next_multiple_of(storage.p_align(endian).max(1))
}

/// The path of the program interpreter, which loads the libraries (`PT_INTERP`). `None` if the image
/// has none, because it is static or a shared object, and if it is not a 64-bit ELF file.
#[must_use]
pub fn interpreter(bytes: &[u8]) -> Option<&[u8]> {
    let (headers, endian) = program_headers(bytes)?;
    headers.iter().find_map(|header| header.interpreter(endian, bytes).ok().flatten())
}

fn program_headers(bytes: &[u8]) -> Option<(&[ProgramHeader64<Endianness>], Endianness)> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    Some((header.program_headers(endian, bytes).ok()?, endian))
}
