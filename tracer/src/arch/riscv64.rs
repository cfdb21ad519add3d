//! 64-bit RISC-V: "RISC-V DWARF Specification", and `arch/riscv/include/uapi/asm/ptrace.h` of the kernel.
//! Plans are made for it; no hit was compared on such a machine.

use object::elf::{EM_RISCV, R_RISCV_TLS_DTPMOD64, R_RISCV_TLS_TPREL64};
use simple_markers_resolver::location::{Processor, Register};

use super::conventions::{Conventions, ThreadLocalSlot};

/// The size of what precedes the thread pointer (`tcbhead_t`), with the address of the table first.
const HEAD: u64 = 16;

#[derive(Debug)]
pub(super) struct Riscv64;

impl Conventions for Riscv64 {
    fn processor(&self) -> Processor {
        Processor::Riscv64
    }

    fn elf_machine(&self) -> u16 {
        EM_RISCV
    }

    /// `struct user_regs_struct` has `pc` in the place of `x0`, which is always 0, and `x1` to `x31`.
    fn register(&self, register: Register) -> Option<i16> {
        i16::try_from(register.0).ok().filter(|number| (1..32).contains(number)).map(|number| number * 8)
    }

    fn registers_size(&self) -> u16 {
        32 * 8
    }

    fn instruction_pointer(&self) -> i16 {
        0
    }

    fn stack_pointer(&self) -> Register {
        Register(2)
    }

    /// It is a register of the program, and the kernel keeps no copy of it.
    fn thread_pointer(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// The block starts at the thread pointer (variant 1 of "ELF Handling For Thread-Local Storage",
    /// Drepper, 3.4, with the thread pointer behind the head: "RISC-V ELF psABI").
    fn thread_local_distance(&self, _: u64, _: u64) -> Option<u64> {
        Some(0)
    }

    fn thread_local_slot(&self, relocation: u32) -> Option<ThreadLocalSlot> {
        match relocation {
            R_RISCV_TLS_TPREL64 => Some(ThreadLocalSlot::Distance),
            R_RISCV_TLS_DTPMOD64 => Some(ThreadLocalSlot::Module),
            _ => None,
        }
    }

    fn thread_table(&self) -> u64 {
        HEAD.wrapping_neg()
    }

    /// `arch/riscv/include/asm/syscall_wrapper.h`; before Linux 6.6 the functions have no wrappers.
    fn system_call_prefixes(&self) -> &'static [&'static str] {
        &["__riscv_sys_", "__riscv_compat_sys_", "__se_sys_", "sys_"]
    }

    fn loader(&self) -> &'static [u8] {
        b"ld-linux-riscv64-lp64d.so.1"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_where_the_kernel_keeps_them() {
        // zero, ra, sp, t6; the first of floating point.
        let offsets = [0, 1, 2, 31, 32].map(|number| Riscv64.register(Register(number)));
        assert_eq!(offsets, [None, Some(8), Some(16), Some(248), None]);
        assert_eq!(Riscv64.instruction_pointer(), 0);
    }
}
