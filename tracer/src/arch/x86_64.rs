//! x86-64: the System V ABI for AMD64, and `arch/x86/include/asm/ptrace.h` of the kernel.

use object::elf::{EM_X86_64, R_X86_64_DTPMOD64, R_X86_64_TPOFF64};
use simple_markers_resolver::location::{Processor, Register};

use super::conventions::{Conventions, ThreadLocalSlot};

#[derive(Debug)]
pub(super) struct X86_64;

impl Conventions for X86_64 {
    fn processor(&self) -> Processor {
        Processor::X86_64
    }

    fn elf_machine(&self) -> u16 {
        EM_X86_64
    }

    /// The numbers are those of figure 3.36 of the ABI.
    fn register(&self, register: Register) -> Option<i16> {
        // r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss.
        const WORDS: [i16; 17] = [10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16];
        match register.0 {
            49 => Some(18 * 8),
            number => WORDS.get(usize::from(number)).map(|word| word * 8),
        }
    }

    fn registers_size(&self) -> u16 {
        21 * 8
    }

    fn instruction_pointer(&self) -> i16 {
        16 * 8
    }

    fn stack_pointer(&self) -> Register {
        Register(7)
    }

    fn thread_pointer(&self) -> Option<&'static [&'static str]> {
        Some(&["thread", "fsbase"])
    }

    /// The block ends at the thread pointer (variant 2 of "ELF Handling For Thread-Local Storage",
    /// Drepper, 3.4).
    fn thread_local_distance(&self, size: u64, alignment: u64) -> Option<u64> {
        size.checked_next_multiple_of(alignment.max(1))
    }

    fn thread_local_slot(&self, relocation: u32) -> Option<ThreadLocalSlot> {
        match relocation {
            R_X86_64_TPOFF64 => Some(ThreadLocalSlot::Distance),
            R_X86_64_DTPMOD64 => Some(ThreadLocalSlot::Module),
            _ => None,
        }
    }

    fn thread_table(&self) -> u64 {
        8
    }

    /// `arch/x86/include/asm/syscall_wrapper.h`.
    fn system_call_prefixes(&self) -> &'static [&'static str] {
        &["__x64_sys_", "__ia32_sys_", "__ia32_compat_sys_", "__x64_compat_sys_"]
    }

    fn loader(&self) -> &'static [u8] {
        b"ld-linux-x86-64.so.2"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_where_the_kernel_keeps_them() {
        // rax, rdx, rsp, r15, the return address, rflags; the first vector register.
        let offsets = [0, 1, 7, 15, 16, 49, 17].map(|number| X86_64.register(Register(number)));
        assert_eq!(offsets, [Some(80), Some(96), Some(152), Some(0), Some(128), Some(144), None]);
    }

    #[test]
    fn the_block_of_an_executable_ends_at_the_thread_pointer() {
        let distances = [(0, 0), (4, 1), (0x11, 0x10), (u64::MAX, 8)].map(|(s, a)| X86_64.thread_local_distance(s, a));
        assert_eq!(distances, [Some(0), Some(4), Some(0x20), None]);
    }
}
