//! The registers of AArch64.

use std::arch::{global_asm, is_aarch64_feature_detected};

use tools::Choices;

use crate::support::probe::Descriptor;

/// What a processor has. The vectors and predicates stand one after the other, as long as they are.
#[repr(C, align(16))]
#[derive(Clone, Copy, PartialEq, Debug)]
struct Registers {
    /// x0 to x30. Probes declare that x16, x17 and x30 change.
    general: [u64; 32],
    fpcr: u64,
    fpsr: u64,
    /// p0 to p15 and ffr.
    predicates: [u8; 17 * 32],
    vectors: [u8; 32 * 256],
}

impl Registers {
    const NONE: Self = Self { general: [0; 32], fpcr: 0, fpsr: 0, predicates: [0; 17 * 32], vectors: [0; 32 * 256] };
}

// extern "C" fn test_registers(given: *const Registers, found: *mut Registers, descriptor, words,
// count, level): level 0 has v0 to v31, 1 those of SVE.
global_asm!(
    ".pushsection .bss.test,\"aw\",@nobits",
    ".balign 16",
    "test_stack: .zero 8",
    "test_found: .zero 8",
    "test_level: .zero 8",
    "test_fpcr: .zero 8",
    ".popsection",
    ".arch_extension sve",
    ".macro test_general operation",
    "\\operation x0, x1, [x16, #0]",
    "\\operation x2, x3, [x16, #16]",
    "\\operation x4, x5, [x16, #32]",
    "\\operation x6, x7, [x16, #48]",
    "\\operation x8, x9, [x16, #64]",
    "\\operation x10, x11, [x16, #80]",
    "\\operation x12, x13, [x16, #96]",
    "\\operation x14, x15, [x16, #112]",
    "\\operation x18, x19, [x16, #144]",
    "\\operation x20, x21, [x16, #160]",
    "\\operation x22, x23, [x16, #176]",
    "\\operation x24, x25, [x16, #192]",
    "\\operation x26, x27, [x16, #208]",
    "\\operation x28, x29, [x16, #224]",
    ".endm",
    ".macro test_kept operation",
    "\\operation x19, x20, [sp, #16]",
    "\\operation x21, x22, [sp, #32]",
    "\\operation x23, x24, [sp, #48]",
    "\\operation x25, x26, [sp, #64]",
    "\\operation x27, x28, [sp, #80]",
    "\\operation d8, d9, [sp, #96]",
    "\\operation d10, d11, [sp, #112]",
    "\\operation d12, d13, [sp, #128]",
    "\\operation d14, d15, [sp, #144]",
    ".endm",
    ".macro test_address register, symbol",
    "adrp \\register, \\symbol",
    "add \\register, \\register, :lo12:\\symbol",
    ".endm",
    ".text",
    ".globl test_registers",
    ".hidden test_registers",
    ".balign 4",
    "test_registers:",
    "stp x29, x30, [sp, #-160]!",
    "test_kept stp",
    "test_address x6, test_stack",
    "mov x7, sp",
    "stp x7, x1, [x6]",
    "mrs x7, fpcr",
    "stp x5, x7, [x6, #16]",
    "add x6, x4, #2",
    "and x6, x6, #-2",
    "sub sp, sp, x6, lsl #3",
    "ldr x6, [x2]",
    "str x6, [sp]",
    "add x7, sp, #8",
    "2:",
    "cbz x4, 3f",
    "sub x4, x4, #1",
    "ldr x6, [x3, x4, lsl #3]",
    "str x6, [x7, x4, lsl #3]",
    "b 2b",
    "3:",
    "mov x16, x0",
    "add x6, x16, #272",
    "add x7, x16, #816",
    "cbnz x5, 5f",
    ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "ldr q\\number, [x7, #16 * \\number]",
    ".endr",
    "b 6f",
    "5:",
    ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "ldr z\\number, [x7, #\\number, mul vl]",
    ".endr",
    "ldr p0, [x6, #16, mul vl]",
    "wrffr p0.b",
    ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
    "ldr p\\number, [x6, #\\number, mul vl]",
    ".endr",
    "6:",
    "ldp x6, x7, [x16, #256]",
    "msr fpcr, x6",
    "msr fpsr, x7",
    "test_general ldp",
    "bl simple_marker_record",
    "test_address x16, test_found",
    "ldr x16, [x16]",
    "test_general stp",
    "mrs x0, fpcr",
    "mrs x1, fpsr",
    "stp x0, x1, [x16, #256]",
    "add x6, x16, #272",
    "add x7, x16, #816",
    "test_address x8, test_stack",
    "ldp x5, x9, [x8, #16]",
    "cbnz x5, 5f",
    ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "str q\\number, [x7, #16 * \\number]",
    ".endr",
    "b 6f",
    "5:",
    ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "str z\\number, [x7, #\\number, mul vl]",
    ".endr",
    ".irp number, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
    "str p\\number, [x6, #\\number, mul vl]",
    ".endr",
    "rdffr p0.b",
    "str p0, [x6, #16, mul vl]",
    "6:",
    "msr fpcr, x9",
    "ldr x8, [x8]",
    "mov sp, x8",
    "test_kept ldp",
    "ldp x29, x30, [sp], #160",
    "ret",
    ".arch_extension nosve",
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
    is_aarch64_feature_detected!("sve").into()
}

/// Bytes of a vector.
fn size(level: u64) -> usize {
    const PR_SVE_GET_VL: i32 = 51;
    // SAFETY: it takes no further arguments.
    if level == 0 { 16 } else { unsafe { libc::prctl(PR_SVE_GET_VL) as usize & 0xffff } }
}

/// Passes a probe with random registers and compares.
pub(crate) fn hit(probe: &Descriptor, words: &[u64], choices: &mut Choices) {
    for level in 0..=level() {
        // Another rounding, and some of the flags.
        let mut given = Registers { fpcr: 0x00c0_0000, fpsr: 0x0800_0015, ..Registers::NONE };
        let size = size(level);
        given.vectors[..32 * size].fill_with(|| choices.number() as u8);
        if level == 1 {
            given.predicates[..16 * size / 8].fill_with(|| choices.number() as u8);
            // Those of ffr are set from the first one on.
            given.predicates[16 * size / 8] = 0x1f;
        }
        given.general.fill_with(|| choices.number());
        for changed in [16, 17, 30, 31] {
            given.general[changed] = 0;
        }
        let mut found = Registers::NONE;
        assert!(words.len() == probe.layout().words() as usize);
        // SAFETY: the code is that of a probe, between two functions.
        unsafe { test_registers(&given, &mut found, probe, words.as_ptr(), words.len(), level) };
        assert!(given == found, "level {level}: {given:x?} {found:x?}");
    }
}
