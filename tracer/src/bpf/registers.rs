//! Where the kernel keeps the registers of an interrupted x86-64 program (`struct pt_regs`).

use simple_markers_resolver::location::Register;

/// The offset of the instruction pointer.
pub(super) const INSTRUCTION_POINTER: i16 = 128;

/// The offset of a register by its number in DWARF (System V ABI for AMD64, figure 3.36); `None` if
/// it is not there, as the vector registers.
pub(super) fn offset(register: Register) -> Option<i16> {
    // r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss.
    const WORDS: [i16; 17] = [10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16];
    match register.0 {
        49 => Some(18 * 8),
        number => WORDS.get(usize::from(number)).map(|word| word * 8),
    }
}
