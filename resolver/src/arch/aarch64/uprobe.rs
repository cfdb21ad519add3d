//! What the kernel does with a uprobe on AArch64. Taken from
//! `arch/arm64/kernel/probes/decode-insn.c` of Linux 6.14 and the masks in
//! `arch/arm64/include/asm/insn.h`. `.ci/kernels` compares on real kernels which probes are taken;
//! what a hit costs was not measured.

use super::decode;
use crate::code::probe::{BreaksReason, Effect, ProbeCost, RefusedReason};
use crate::uprobe_rules::UprobeRules;

pub(super) fn text(pc: u64, bytes: &[u8]) -> Option<String> {
    let word = decode::word(bytes)?;
    Some(decode::text(pc, bytes).unwrap_or_else(|| format!(".inst {word:#010x}")))
}

pub(super) fn effect(pc: u64, bytes: &[u8], rules: &dyn UprobeRules) -> Effect {
    match decode::word(bytes) {
        // The kernel steps what it does not know. What the processor does with it is not known here
        // either.
        Some(word) if decode::text(pc, bytes).is_some() => match pc % 4 {
            0 => effect_of(word, rules),
            _ => Effect::Refused(RefusedReason::NotAligned),
        },
        _ => Effect::Unknown,
    }
}

fn effect_of(word: u32, rules: &dyn UprobeRules) -> Effect {
    const SIMULATED: Effect = Effect::Fires(ProbeCost::Emulated);
    const STEPPED: Effect = Effect::Fires(ProbeCost::Stepped);
    let is = |mask: u32, value: u32| word & mask == value;
    if word == 0xd503_201f {
        return if rules.emulates_fixed_size_nops() { SIMULATED } else { STEPPED };
    }
    if is(0x1c00_0000, 0x1400_0000) {
        // b, bl, b.cond, cbz, cbnz, tbz, tbnz, br, blr, ret
        let is_simulated = is(0x7c00_0000, 0x1400_0000)
            || is(0xff00_0010, 0x5400_0000)
            || is(0x7e00_0000, 0x3400_0000)
            || is(0x7e00_0000, 0x3600_0000)
            || is(0xffff_fc1f, 0xd61f_0000)
            || is(0xffff_fc1f, 0xd63f_0000)
            || is(0xffff_fc1f, 0xd65f_0000);
        if is_simulated {
            return SIMULATED;
        }
        return match word {
            // drps, which no program may run.
            _ if word == 0xd6bf_03e0 => STEPPED,
            _ if is(0xfe00_0000, 0xd600_0000) => Effect::Refused(RefusedReason::AuthenticatedBranch),
            _ if is(0xff00_0000, 0xd400_0000) => Effect::Refused(RefusedReason::RaisesException),
            _ if is(0xfff8_f01f, 0xd500_401f) || is(0xfff0_0000, 0xd510_0000) => {
                Effect::Refused(RefusedReason::WritesSystemRegister)
            }
            // daif, which no program may read. Reads of others are stepped.
            _ if is(0xfff0_0000, 0xd530_0000) && word >> 5 & 0xffff == 0xda11 => {
                Effect::Refused(RefusedReason::ReadsInterruptMask)
            }
            _ if is(0xffff_f01f, 0xd503_201f) => match word >> 5 & 0x7f {
                // xpaclri, paciX1716, paciXz, paciXsp, bti
                7 | 8 | 10 | 24..=27 | 32 | 34 | 36 | 38 => STEPPED,
                // autiX1716, autiXz, autiXsp: refused since they may fault (FEAT_FPAC).
                12 | 14 | 28..=31 => Effect::Refused(RefusedReason::AuthenticatesPointer),
                _ => Effect::Refused(RefusedReason::Hint),
            },
            _ if is(0xff00_0000, 0xd500_0000) => STEPPED,
            _ => Effect::Refused(RefusedReason::Branch),
        };
    }
    // adr, adrp
    if is(0x1f00_0000, 0x1000_0000) {
        return SIMULATED;
    }
    // Literals: kprobes simulate some of them, uprobes none.
    if is(0xbf00_0000, 0x1800_0000) || is(0xff00_0000, 0x9800_0000) || is(0xff00_0000, 0xd800_0000) {
        return Effect::Refused(RefusedReason::ReadsRelative);
    }
    // Exclusive loads and stores, and `casp`, which shares the mask.
    if is(0x3f80_0000, 0x0800_0000) {
        return Effect::Refused(RefusedReason::Exclusive);
    }
    if is(0x3b20_0c00, 0x1900_0400) {
        return Effect::Refused(RefusedReason::MemoryCopy);
    }
    // The kernel does not know the load of a vector literal. It steps a copy, which reads relative
    // to the copy.
    if is(0x3f00_0000, 0x1c00_0000) {
        return Effect::Breaks(BreaksReason::ReadsRelative);
    }
    STEPPED
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uprobe_rules::LinuxVersion;

    const EMULATED: &str = "emulated";
    const STEPPED: &str = "stepped";
    const REFUSED: &str = "refused";
    const BREAKS: &str = "breaks";

    /// The encodings are from GNU as. The expected results are from the masks in the kernel's
    /// header, by a script of its own. The kernel steps loads of vector literals, which breaks
    /// them.
    #[rustfmt::skip]
    const INSTRUCTIONS: [(u32, &str, &str); 109] = [
        (0xd503_201f, EMULATED, "nop"),
        (0xd503_203f, REFUSED, "yield"),
        (0xd503_205f, REFUSED, "wfe"),
        (0xd503_207f, REFUSED, "wfi"),
        (0xd503_209f, REFUSED, "sev"),
        (0xd503_20bf, REFUSED, "sevl"),
        (0xd503_221f, REFUSED, "esb"),
        (0xd503_223f, REFUSED, "psb csync"),
        (0xd503_229f, REFUSED, "csdb"),
        (0xd503_20ff, STEPPED, "xpaclri"),
        (0xd503_211f, STEPPED, "pacia1716"),
        (0xd503_215f, STEPPED, "pacib1716"),
        (0xd503_219f, REFUSED, "autia1716"),
        (0xd503_21df, REFUSED, "autib1716"),
        (0xd503_231f, STEPPED, "paciaz"),
        (0xd503_233f, STEPPED, "paciasp"),
        (0xd503_235f, STEPPED, "pacibz"),
        (0xd503_237f, STEPPED, "pacibsp"),
        (0xd503_239f, REFUSED, "autiaz"),
        (0xd503_23bf, REFUSED, "autiasp"),
        (0xd503_23df, REFUSED, "autibz"),
        (0xd503_23ff, REFUSED, "autibsp"),
        (0xd503_241f, STEPPED, "bti"),
        (0xd503_245f, STEPPED, "bti c"),
        (0xd503_249f, STEPPED, "bti j"),
        (0xd503_24df, STEPPED, "bti jc"),
        (0x1400_0002, EMULATED, "b .+8"),
        (0x9400_0002, EMULATED, "bl .+8"),
        (0x5400_0040, EMULATED, "b.eq .+8"),
        (0xb400_0040, EMULATED, "cbz x0, .+8"),
        (0x3500_0040, EMULATED, "cbnz w0, .+8"),
        (0x3608_0040, EMULATED, "tbz w0, #1, .+8"),
        (0xb708_0040, EMULATED, "tbnz x0, #33, .+8"),
        (0xd61f_0020, EMULATED, "br x1"),
        (0xd63f_0020, EMULATED, "blr x1"),
        (0xd65f_03c0, EMULATED, "ret"),
        (0xd65f_0060, EMULATED, "ret x3"),
        (0xd71f_0801, REFUSED, "braa x0, x1"),
        (0xd63f_081f, REFUSED, "blraaz x0"),
        (0xd65f_0bff, REFUSED, "retaa"),
        (0xd65f_0fff, REFUSED, "retab"),
        (0xd69f_03e0, REFUSED, "eret"),
        (0xd6bf_03e0, STEPPED, "drps"),
        (0xd400_0001, REFUSED, "svc #0"),
        (0xd400_0002, REFUSED, "hvc #0"),
        (0xd400_0003, REFUSED, "smc #0"),
        (0xd420_0020, REFUSED, "brk #1"),
        (0xd440_0000, REFUSED, "hlt #0"),
        (0xd4a0_0001, REFUSED, "dcps1"),
        (0xd503_42df, REFUSED, "msr daifset, #2"),
        (0xd500_41bf, REFUSED, "msr spsel, #1"),
        (0xd51b_d040, REFUSED, "msr tpidr_el0, x0"),
        (0xd53b_d040, STEPPED, "mrs x0, tpidr_el0"),
        (0xd53b_4200, STEPPED, "mrs x0, nzcv"),
        (0xd53b_e040, STEPPED, "mrs x0, cntvct_el0"),
        (0xd53b_4220, REFUSED, "mrs x0, daif"),
        (0xd503_3bbf, STEPPED, "dmb ish"),
        (0xd503_3f9f, STEPPED, "dsb sy"),
        (0xd503_3fdf, STEPPED, "isb"),
        (0xd503_3f5f, STEPPED, "clrex"),
        (0xd50b_7420, STEPPED, "dc zva, x0"),
        (0xd50b_7520, STEPPED, "ic ivau, x0"),
        (0xd500_401f, REFUSED, "cfinv"),
        (0x1000_0040, EMULATED, "adr x0, .+8"),
        (0x9000_0000, EMULATED, "adrp x0, ."),
        (0x5800_0040, REFUSED, "ldr x0, .+8"),
        (0x1800_0040, REFUSED, "ldr w0, .+8"),
        (0x9800_0040, REFUSED, "ldrsw x0, .+8"),
        (0xd800_0040, REFUSED, "prfm pldl1keep, .+8"),
        (0x1c00_0040, BREAKS, "ldr s0, .+8"),
        (0x5c00_0040, BREAKS, "ldr d0, .+8"),
        (0x9c00_0040, BREAKS, "ldr q0, .+8"),
        (0xc85f_7c20, REFUSED, "ldxr x0, [x1]"),
        (0x885f_fc20, REFUSED, "ldaxr w0, [x1]"),
        (0xc802_7c20, REFUSED, "stxr w2, x0, [x1]"),
        (0xc802_fc20, REFUSED, "stlxr w2, x0, [x1]"),
        (0xc87f_0820, REFUSED, "ldxp x0, x2, [x1]"),
        (0xc823_0820, REFUSED, "stxp w3, x0, x2, [x1]"),
        (0x085f_7c20, REFUSED, "ldxrb w0, [x1]"),
        (0x4802_7c20, REFUSED, "stxrh w2, w0, [x1]"),
        (0xc8df_fc20, STEPPED, "ldar x0, [x1]"),
        (0xc89f_fc20, STEPPED, "stlr x0, [x1]"),
        (0x08df_fc20, STEPPED, "ldarb w0, [x1]"),
        (0xc8df_7c20, STEPPED, "ldlar x0, [x1]"),
        (0xc8a0_7c41, STEPPED, "cas x0, x1, [x2]"),
        (0x88e0_fc41, STEPPED, "casal w0, w1, [x2]"),
        (0x4820_7c82, REFUSED, "casp x0, x1, x2, x3, [x4]"),
        (0xf820_0041, STEPPED, "ldadd x0, x1, [x2]"),
        (0xf820_8041, STEPPED, "swp x0, x1, [x2]"),
        (0xf8bf_c020, STEPPED, "ldapr x0, [x1]"),
        (0xf940_0020, STEPPED, "ldr x0, [x1]"),
        (0xf840_8c20, STEPPED, "ldr x0, [x1, #8]!"),
        (0xf800_8420, STEPPED, "str x0, [x1], #8"),
        (0xa8c1_7bfd, STEPPED, "ldp x29, x30, [sp], #16"),
        (0xa9bf_7bfd, STEPPED, "stp x29, x30, [sp, #-16]!"),
        (0x3dc0_0000, STEPPED, "ldr q0, [x0]"),
        (0x4c40_7000, STEPPED, "ld1 {v0.16b}, [x0]"),
        (0x8b02_0020, STEPPED, "add x0, x1, x2"),
        (0xd280_0020, STEPPED, "mov x0, #1"),
        (0x1e62_2820, STEPPED, "fadd d0, d1, d2"),
        (0x9e66_0000, STEPPED, "fmov x0, d0"),
        (0x9a82_0020, STEPPED, "csel x0, x1, x2, eq"),
        (0xeb01_001f, STEPPED, "cmp x0, x1"),
        (0xdac1_0020, STEPPED, "pacia x0, x1"),
        (0xdac1_1020, STEPPED, "autia x0, x1"),
        (0xdac1_43e0, STEPPED, "xpaci x0"),
        (0xf820_0420, STEPPED, "ldraa x0, [x1]"),
        (0xf840_0820, STEPPED, "ldtr x0, [x1]"),
        (0xf980_0000, STEPPED, "prfm pldl1keep, [x0]"),
    ];

    #[test]
    fn instructions_are_taken_by_the_kernels_masks() {
        for (word, expected, text) in INSTRUCTIONS {
            let found = match effect(0x1000, &word.to_le_bytes(), &LinuxVersion::new(6, 18)) {
                Effect::Fires(ProbeCost::Emulated) => EMULATED,
                Effect::Fires(ProbeCost::Stepped) => STEPPED,
                Effect::Refused(_) => REFUSED,
                Effect::Breaks(_) => BREAKS,
                effect => panic!("{text}: {effect:?}"),
            };
            assert_eq!(found, expected, "{text}");
        }
    }
}
