//! The kind of an ELF file. `e_type` alone is not enough: shared objects and position-independent
//! executables have the same type.

use object::read::elf::{DynamicTable, ElfFile, FileHeader, ProgramHeader as _};
use object::{Endianness, elf};

use super::section_names::SectionNames;

/// The kind of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[non_exhaustive]
pub enum ImageKind {
    /// An executable at fixed addresses (`ET_EXEC`).
    Executable,
    /// A position-independent executable (`ET_DYN` with `DF_1_PIE`, or with an interpreter and
    /// without a `DT_SONAME`).
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
    /// The word for this kind in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
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
        // These sections hold the kernel's exported symbols and its exception table. The kernel is
        // ET_DYN on arm64 and ET_EXEC on x86.
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

/// Linkers set `DF_1_PIE` for `-pie`, but older linkers did not. A shared object that can be
/// executed (libc) also has an interpreter, but it has a `DT_SONAME` too.
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
