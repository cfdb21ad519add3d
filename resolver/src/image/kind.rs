//! What an ELF file is: more than `e_type` says, which is the same for a shared object and a position-independent executable.

use object::read::elf::{DynamicTable, ElfFile, FileHeader, ProgramHeader as _};
use object::{Endianness, elf};

use super::section_names::SectionNames;

/// What an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ImageKind {
    /// An executable at fixed addresses (`ET_EXEC`).
    Executable,
    /// A position-independent executable (`ET_DYN` with `DF_1_PIE`, or with an interpreter and without a name).
    Pie,
    /// A shared object (`ET_DYN`).
    Shared,
    /// A relocatable object (`ET_REL`).
    Relocatable,
    /// A Linux kernel.
    Kernel,
    /// A Linux kernel module (`ET_REL`).
    Module,
    /// Another `e_type`.
    Other,
}

impl ImageKind {
    /// The word for the kind in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Executable => "executable",
            Self::Pie => "pie",
            Self::Shared => "shared",
            Self::Relocatable => "relocatable",
            Self::Kernel => "kernel",
            Self::Module => "module",
            Self::Other => "other",
        }
    }

    pub(super) fn of(file: &object::File<'_>, names: &SectionNames<'_>) -> Self {
        match file {
            object::File::Elf32(elf) => Self::of_elf(elf, names),
            object::File::Elf64(elf) => Self::of_elf(elf, names),
            _ => Self::Other,
        }
    }

    fn of_elf<Elf: FileHeader<Endian = Endianness>>(file: &ElfFile<'_, Elf>, names: &SectionNames<'_>) -> Self {
        let has = |name| names.find(name).next().is_some();
        // The kernel's table of exported symbols and its exception table; arm64's kernel is ET_DYN, x86's ET_EXEC.
        let is_kernel = || has("__ksymtab") || has("__ex_table") && has(".init.text");
        match file.elf_header().e_type(file.endian()) {
            elf::ET_REL if has(".gnu.linkonce.this_module") => Self::Module,
            elf::ET_REL => Self::Relocatable,
            elf::ET_EXEC | elf::ET_DYN if is_kernel() => Self::Kernel,
            elf::ET_EXEC => Self::Executable,
            elf::ET_DYN if is_pie(file) => Self::Pie,
            elf::ET_DYN => Self::Shared,
            _ => Self::Other,
        }
    }
}

/// `DF_1_PIE` is what linkers write for `-pie`. Older ones did not; a shared object that can be run (libc) has an interpreter too,
/// but also a name.
fn is_pie<Elf: FileHeader<Endian = Endianness>>(file: &ElfFile<'_, Elf>) -> bool {
    let endian = file.endian();
    let mut has_name = false;
    for entry in file.elf_dynamic_table().iter().flat_map(DynamicTable::iter) {
        has_name |= entry.tag == elf::DT_SONAME;
        if entry.tag == elf::DT_FLAGS_1 && entry.val & u64::from(elf::DF_1_PIE) != 0 {
            return true;
        }
    }
    let has_interpreter = file.elf_program_headers().iter().any(|header| header.p_type(endian) == elf::PT_INTERP);
    has_interpreter && !has_name
}
