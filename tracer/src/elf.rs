//! What a plan needs of an image besides its resolution.

use object::elf::{
    DT_AUDIT, DT_AUXILIARY, DT_DEPAUDIT, DT_FILTER, DT_RPATH, DT_RUNPATH, ET_DYN, FileHeader64, PT_LOAD, PT_TLS,
    ProgramHeader64,
};
use object::read::elf::{Dyn as _, ElfFile64, FileHeader as _, ProgramHeader as _};
use object::{Endianness, Object as _, ObjectSymbol as _};
use simple_markers_resolver::text::hexadecimal;

use crate::arch::Platform;

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

/// The distance in bytes from the start of an executable's thread-local storage to the thread pointer,
/// modulo 2^64; 0 if it has none. `None` if the image is not a 64-bit ELF file, or one of a platform
/// on which this is not known.
#[must_use]
pub fn thread_local_distance(bytes: &[u8]) -> Option<u64> {
    let (headers, endian) = program_headers(bytes)?;
    let Some(storage) = headers.iter().find(|header| header.p_type(endian) == PT_TLS) else { return Some(0) };
    let machine = FileHeader64::<Endianness>::parse(bytes).ok()?.e_machine(endian);
    let conventions = Platform::of_elf(machine)?.conventions();
    conventions.thread_local_distance(storage.p_memsz(endian), storage.p_align(endian))
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

/// The symbols of programs that trace other processes themselves, or that check memory and trace the
/// process for it at its end (`libsanitizer`). Under another tracer they fail.
const TRACERS: [&[u8]; 4] = [b"ptrace", b"__ptrace", b"__asan_init", b"__lsan_init"];

/// What the names of such functions end with in programs in Go.
const TRACERS_IN_GO: [&[u8]; 2] = [b".ptrace", b".PtraceAttach"];

/// Whether a program may trace other processes: whether it has or uses such a function.
#[must_use]
pub fn may_trace(bytes: &[u8]) -> bool {
    let Ok(file) = ElfFile64::<Endianness>::parse(bytes) else { return false };
    let is_tracer = |name: &[u8]| TRACERS.contains(&name) || TRACERS_IN_GO.iter().any(|end| name.ends_with(end));
    let mut symbols = file.dynamic_symbols().chain(file.symbols());
    symbols.any(|symbol| symbol.name_bytes().is_ok_and(is_tracer))
}

/// The offset in the file of the function that a loader calls when it has mapped libraries; `None` if the
/// file is not a loader of programs.
#[must_use]
pub fn loader_state(bytes: &[u8]) -> Option<u64> {
    let file = ElfFile64::<Endianness>::parse(bytes).ok()?;
    let is_it = |symbol: &object::read::elf::ElfSymbol64<'_, '_, Endianness>| {
        symbol.is_definition() && symbol.name_bytes() == Ok(b"_dl_debug_state")
    };
    let address = file.dynamic_symbols().find(is_it)?.address();
    let (headers, endian) = program_headers(bytes)?;
    headers.iter().filter(|header| header.p_type(endian) == PT_LOAD).find_map(|header| {
        let inside = address.checked_sub(header.p_vaddr(endian)).filter(|it| *it < header.p_filesz(endian))?;
        header.p_offset(endian).checked_add(inside)
    })
}

/// Whether an image says where its libraries are looked for, or names further ones for the loader alone
/// (`DT_RPATH`, `DT_RUNPATH`, `DT_AUDIT`, `DT_DEPAUDIT`, `DT_FILTER`, `DT_AUXILIARY`).
#[must_use]
pub fn has_search_path(bytes: &[u8]) -> bool {
    const TAGS: [i64; 6] = [DT_RPATH, DT_RUNPATH, DT_AUDIT, DT_DEPAUDIT, DT_FILTER, DT_AUXILIARY];
    let Some((headers, endian)) = program_headers(bytes) else { return false };
    let entries = headers.iter().find_map(|header| header.dynamic(endian, bytes).ok().flatten());
    entries.unwrap_or_default().iter().any(|entry| TAGS.contains(&entry.tag(endian)))
}

/// Whether a program is one whose loader, or whose own code before its first function, maps further files.
#[must_use]
pub fn has_loader(bytes: &[u8]) -> bool {
    let is_position_independent = |bytes| {
        let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
        Some(header.e_type(header.endian().ok()?) == ET_DYN)
    };
    interpreter(bytes).is_some() || is_position_independent(bytes) == Some(true)
}
