//! What the kernel does with a uprobe on AArch64 (`arch/arm64/kernel/probes/decode-insn.c` of Linux 6.14, by its masks; not measured).

use super::aarch64;
use super::probe::{Cost, Effect, Probe};

pub(super) fn probe(pc: u64, bytes: &[u8]) -> Probe {
    let Some(word) = aarch64::word(bytes) else {
        return Probe { instruction: "(bad)".to_owned(), effect: Effect::Unknown };
    };
    match aarch64::text(pc, bytes) {
        Some(instruction) => {
            Probe { instruction, effect: if pc % 4 == 0 { effect(word) } else { Effect::Refused("not aligned") } }
        }
        // The kernel steps what it does not know; what the processor makes of it we do not know either.
        None => Probe { instruction: format!(".inst {word:#010x}"), effect: Effect::Unknown },
    }
}

fn effect(word: u32) -> Effect {
    const SIMULATED: Effect = Effect::Fires(Cost::Emulated);
    const STEPPED: Effect = Effect::Fires(Cost::Stepped);
    let is = |mask: u32, value: u32| word & mask == value;
    // Since Linux 6.14; stepped before.
    if word == 0xd503_201f {
        return SIMULATED;
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
            _ if is(0xfe00_0000, 0xd600_0000) => Effect::Refused("an authenticated branch"),
            _ if is(0xff00_0000, 0xd400_0000) => Effect::Refused("it raises an exception"),
            _ if is(0xfff8_f01f, 0xd500_401f) || is(0xfff0_0000, 0xd510_0000) => {
                Effect::Refused("it writes a system register")
            }
            // daif is the exception, and no program may read it.
            _ if is(0xfff0_0000, 0xd530_0000) && word >> 5 & 0x7fff != 0x5a11 => {
                Effect::Refused("it reads a system register")
            }
            _ if is(0xffff_f01f, 0xd503_201f) => match word >> 5 & 0x7f {
                // xpaclri, paciX1716, autiX1716, paciXz, paciXsp, autiXz, autiXsp, bti
                7 | 8 | 10 | 12 | 14 | 24..=31 | 32 | 34 | 36 | 38 => STEPPED,
                _ => Effect::Refused("a hint that is not stepped"),
            },
            _ if is(0xff00_0000, 0xd500_0000) => STEPPED,
            _ => Effect::Refused("a branch that is not simulated"),
        };
    }
    // adr, adrp
    if is(0x1f00_0000, 0x1000_0000) {
        return SIMULATED;
    }
    // Literals: kprobes simulate some of them, uprobes none.
    if is(0xbf00_0000, 0x1800_0000) || is(0xff00_0000, 0x9800_0000) || is(0xff00_0000, 0xd800_0000) {
        return Effect::Refused("it reads relative to its own address");
    }
    // Exclusive loads and stores, and those with acquire and release, which share the mask.
    if is(0x3f80_0000, 0x0800_0000) {
        return Effect::Refused("part of an exclusive sequence");
    }
    if is(0x3b20_0c00, 0x1900_0400) {
        return Effect::Refused("part of a memory copy");
    }
    // A vector literal is none to the kernel: it is stepped, and reads beside its own copy.
    if is(0x3f00_0000, 0x1c00_0000) {
        return Effect::Breaks("it reads relative to its own address, and runs elsewhere");
    }
    STEPPED
}
