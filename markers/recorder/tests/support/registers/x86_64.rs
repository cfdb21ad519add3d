//! The registers of x86-64.

use std::arch::global_asm;

use tools::Choices;

use crate::support::probe::Descriptor;

/// What a processor has. A vector register is as long as it can be.
#[repr(C, align(64))]
#[derive(Clone, Copy, PartialEq, Debug)]
struct Registers {
    vectors: [[u64; 8]; 32],
    masks: [u64; 8],
    general: [u64; 16],
    mxcsr: u64,
    x87: u64,
}

// extern "C" fn test_registers(given: *const Registers, found: *mut Registers, descriptor, words,
// count, level): level 0 has xmm0 to xmm15, 1 ymm, 2 zmm0 to zmm31 and masks.
global_asm!(
    ".pushsection .bss.test,\"aw\",@nobits",
    ".balign 16",
    "test_stack: .zero 8",
    "test_found: .zero 8",
    "test_level: .zero 8",
    "test_rax: .zero 8",
    ".popsection",
    ".macro test_general operation",
    "\\operation rcx, 1",
    "\\operation rdx, 2",
    "\\operation rbx, 3",
    "\\operation rbp, 5",
    "\\operation rsi, 6",
    "\\operation r8, 8",
    "\\operation r9, 9",
    "\\operation r10, 10",
    "\\operation r11, 11",
    "\\operation r12, 12",
    "\\operation r13, 13",
    "\\operation r14, 14",
    "\\operation r15, 15",
    ".endm",
    ".macro test_load register, number",
    "mov \\register, qword ptr [rdi + 2112 + 8 * \\number]",
    ".endm",
    ".macro test_store register, number",
    "mov qword ptr [rax + 2112 + 8 * \\number], \\register",
    ".endm",
    ".text",
    ".globl test_registers",
    ".hidden test_registers",
    "test_registers:",
    "push rbx",
    "push rbp",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "mov qword ptr [rip + test_stack], rsp",
    "mov qword ptr [rip + test_found], rsi",
    "mov qword ptr [rip + test_level], r9",
    "lea rsp, [rsp - 128]",
    "2:",
    "test r8, r8",
    "jz 3f",
    "dec r8",
    "push qword ptr [rcx + 8 * r8]",
    "jmp 2b",
    "3:",
    "push qword ptr [rdx]",
    "cmp r9, 1",
    "je 5f",
    "ja 6f",
    ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
    "movups xmm\\number, xmmword ptr [rdi + 64 * \\number]",
    ".endr",
    "jmp 7f",
    "5:",
    ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
    "vmovups ymm\\number, ymmword ptr [rdi + 64 * \\number]",
    ".endr",
    "jmp 7f",
    "6:",
    ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "vmovups zmm\\number, zmmword ptr [rdi + 64 * \\number]",
    ".endr",
    ".irp number, 0,1,2,3,4,5,6,7",
    "kmovq k\\number, qword ptr [rdi + 2048 + 8 * \\number]",
    ".endr",
    "7:",
    "ldmxcsr dword ptr [rdi + 2240]",
    "fild qword ptr [rdi + 2248]",
    "test_general test_load",
    "mov rax, qword ptr [rdi + 2112]",
    "mov rdi, qword ptr [rdi + 2112 + 56]",
    "call simple_marker_record",
    "mov qword ptr [rip + test_rax], rax",
    "mov rax, qword ptr [rip + test_found]",
    "test_general test_store",
    "mov qword ptr [rax + 2112 + 56], rdi",
    "mov rdi, qword ptr [rip + test_rax]",
    "mov qword ptr [rax + 2112], rdi",
    "mov rdi, rax",
    "stmxcsr dword ptr [rdi + 2240]",
    "fistp qword ptr [rdi + 2248]",
    "cmp qword ptr [rip + test_level], 1",
    "je 5f",
    "ja 6f",
    ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
    "movups xmmword ptr [rdi + 64 * \\number], xmm\\number",
    ".endr",
    "jmp 7f",
    "5:",
    ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
    "vmovups ymmword ptr [rdi + 64 * \\number], ymm\\number",
    ".endr",
    "vzeroupper",
    "jmp 7f",
    "6:",
    ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "vmovups zmmword ptr [rdi + 64 * \\number], zmm\\number",
    ".endr",
    ".irp number, 0,1,2,3,4,5,6,7",
    "kmovq qword ptr [rdi + 2048 + 8 * \\number], k\\number",
    ".endr",
    "vzeroupper",
    "7:",
    "mov rsp, qword ptr [rip + test_stack]",
    "mov dword ptr [rsp - 8], 0x1f80",
    "ldmxcsr dword ptr [rsp - 8]",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbp",
    "pop rbx",
    "ret",
);

unsafe extern "C" {
    fn test_registers(
        given: *const Registers,
        found: *mut Registers,
        descriptor: *const Descriptor,
        words: *const u64,
        count: usize,
        level: u64,
    );
}

/// The highest level that this processor has.
pub(crate) fn level() -> u64 {
    if is_x86_feature_detected!("avx512bw") { 2 } else { is_x86_feature_detected!("avx").into() }
}

/// Passes a probe with random registers and compares.
pub(crate) fn hit(probe: &Descriptor, words: &[u64], choices: &mut Choices) {
    let mut next = || choices.number();
    for level in 0..=level() {
        let mut given = Registers { vectors: [[0; 8]; 32], masks: [0; 8], general: [0; 16], mxcsr: 0x3f80, x87: 77 };
        // What the level has of each vector, and how many there are.
        let (words_of_vector, vectors) = [(2, 16), (4, 16), (8, 32)][level as usize];
        for vector in &mut given.vectors[..vectors] {
            vector[..words_of_vector].fill_with(&mut next);
        }
        if level == 2 {
            given.masks.fill_with(&mut next);
        }
        given.general.fill_with(&mut next);
        // The stack pointer.
        given.general[4] = 0;
        let mut found = Registers { vectors: [[0; 8]; 32], masks: [0; 8], general: [0; 16], mxcsr: 0, x87: 0 };
        assert!(words.len() == probe.layout().words() as usize);
        // SAFETY: the code is that of a probe, between two functions.
        unsafe { test_registers(&given, &mut found, probe, words.as_ptr(), words.len(), level) };
        assert!(given == found, "level {level}: {given:x?} {found:x?}");
    }
}
