//! Relocations of branches (System V ABI for x86-64, 4.4).

use object::elf;

use crate::address::Vaddr;

/// The offset to a target that the object does not define: after all its code, but within reach of
/// a branch.
const FAR: u64 = 0x7fff_0000;

pub(super) fn relocated(bitness: u32, relocation: u32, here: Vaddr, target: &dyn Fn() -> Option<Vaddr>) -> Option<u32> {
    let is_branch = match bitness {
        32 => matches!(relocation, elf::R_386_PC32 | elf::R_386_PLT32),
        _ => matches!(relocation, elf::R_X86_64_PC32 | elf::R_X86_64_PLT32),
    };
    is_branch.then(|| target().map_or(FAR, |target| target.0.wrapping_sub(here.0)) as u32)
}
