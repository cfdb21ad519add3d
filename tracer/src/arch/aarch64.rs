//! AArch64: "DWARF for the Arm 64-bit Architecture", and `arch/arm64/include/uapi/asm/ptrace.h` of the
//! kernel.

use object::elf::{EM_AARCH64, R_AARCH64_TLS_DTPMOD, R_AARCH64_TLS_TPREL};
use simple_markers_resolver::location::{Processor, Register};

use super::conventions::{Conventions, ThreadLocalSlot};

/// The size of what precedes the first block of thread-local storage (`tcbhead_t`).
const HEAD: u64 = 16;

#[derive(Debug)]
pub(super) struct Aarch64;

impl Conventions for Aarch64 {
    fn processor(&self) -> Processor {
        Processor::Aarch64
    }

    fn elf_machine(&self) -> u16 {
        EM_AARCH64
    }

    /// `struct user_pt_regs` has `regs[31]`, `sp`, `pc` and `pstate`, of 8 bytes each, in the order of
    /// the numbers.
    fn register(&self, register: Register) -> Option<i16> {
        i16::try_from(register.0).ok().filter(|number| *number <= 32).map(|number| number * 8)
    }

    /// Pointer authentication signs the bits above those of an address (`CONFIG_ARM64_VA_BITS`: at most 48
    /// unless the program asks for more).
    fn code_address(&self, address: u64) -> u64 {
        address & ((1 << 48) - 1)
    }

    fn registers_size(&self) -> u16 {
        34 * 8
    }

    fn instruction_pointer(&self) -> i16 {
        32 * 8
    }

    fn stack_pointer(&self) -> Register {
        Register(31)
    }

    /// The kernel stores it there when it creates a thread, and when another one takes its place: a
    /// thread that sets its own register is seen with the value before, until then.
    fn thread_pointer(&self) -> Option<&'static [&'static str]> {
        Some(&["thread", "uw", "tp_value"])
    }

    /// The block follows the two words at the thread pointer (variant 1 of "ELF Handling For
    /// Thread-Local Storage", Drepper, 3.4).
    fn thread_local_distance(&self, _: u64, alignment: u64) -> Option<u64> {
        HEAD.checked_next_multiple_of(alignment.max(1)).map(u64::wrapping_neg)
    }

    fn thread_local_slot(&self, relocation: u32) -> Option<ThreadLocalSlot> {
        match relocation {
            R_AARCH64_TLS_TPREL => Some(ThreadLocalSlot::Distance),
            R_AARCH64_TLS_DTPMOD => Some(ThreadLocalSlot::Module),
            _ => None,
        }
    }

    fn thread_table(&self) -> u64 {
        0
    }

    /// `arch/arm64/include/asm/syscall_wrapper.h`.
    fn system_call_prefixes(&self) -> &'static [&'static str] {
        &["__arm64_sys_", "__arm64_compat_sys_"]
    }

    fn loader(&self) -> &'static [u8] {
        b"ld-linux-aarch64.so.1"
    }
}

#[cfg(test)]
mod tests {
    use simple_markers_resolver::address::Vaddr;
    use simple_markers_resolver::export::uprobe;
    use simple_markers_resolver::location::{Expr, Node};

    use super::*;

    #[test]
    fn registers_are_where_the_kernel_keeps_them() {
        // x0, x30, sp, pc; the return address state, the first vector register.
        let offsets = [0, 30, 31, 32, 34, 64].map(|number| Aarch64.register(Register(number)));
        assert_eq!(offsets, [Some(0), Some(240), Some(248), Some(256), None, None]);
        assert_eq!(Aarch64.instruction_pointer(), 256);
    }

    #[test]
    fn registers_have_their_names_in_the_language_of_the_kernel() {
        let name = |number| uprobe::register(Register(number), Aarch64.processor()).ok();
        assert_eq!(name(0).as_deref(), Some("%x0"));
        assert_eq!(name(30).as_deref(), Some("%x30"));
        assert_eq!(name(Aarch64.stack_pointer().0).as_deref(), Some("%sp"));
        assert_eq!(name(64), None);
        let here = Expr::new(Node::Address(Vaddr(0x1100))).expect("an address");
        let text = uprobe::memory(&here, Vaddr(0x1000), Aarch64.processor());
        assert_eq!(text.expect("it can be computed"), "+256(%pc)");
    }

    #[test]
    fn the_block_of_an_executable_follows_the_head() {
        let distances = [1, 8, 16, 64].map(|alignment| Aarch64.thread_local_distance(0x100, alignment));
        assert_eq!(distances, [16, 16, 16, 64].map(|size: u64| Some(size.wrapping_neg())));
    }
}
