//! Later addresses that stand for an address: the choice of the instruction is worth a factor of ten in the cost of a probe.
//!
//! From an address on, as long as the code goes straight on: no store, call or branch is passed and nothing else leads in. Whether what a
//! probe is to read is still the same there is for the caller to say, who knows where it is; what was overwritten is given.

use super::cfg::{Cfg, Successors};
use super::probe::{Cost, Probe, probe};
use super::{Arch, Function, aarch64, reaching_definitions, x86};
use crate::address::Vaddr;

/// An address that is reached whenever an earlier one is, with the same memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equivalent {
    /// The address.
    pub at: Vaddr,
    /// What has been written since.
    pub overwritten: Registers,
    /// What a probe there does.
    pub probe: Probe,
}

/// A set of registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Registers {
    /// By the bits of `x86::bit` or `aarch64::written`.
    mask: u64,
    arch: Option<Arch>,
}

impl Registers {
    /// Whether a register is in the set, by the number that the processor's ABI gives it for debug information. One that is not tracked
    /// (flags, masks, x87) is in it whenever anything was written.
    #[must_use]
    pub fn contains(self, number: u16) -> bool {
        // System V ABI for x86-64, figure 3.36: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp.
        const X86_64: [u32; 8] = [0, 2, 1, 3, 6, 7, 5, 4];
        let bit = match (self.arch, number) {
            (None, _) => return false,
            (Some(Arch::X86_64), 0..=7) => X86_64.get(usize::from(number)).copied(),
            (Some(Arch::X86_64), 8..=15) => Some(u32::from(number)),
            (Some(Arch::X86_64), 17..=32) => Some(u32::from(number) - 1),
            (Some(Arch::X86_64), 67..=82) => Some(u32::from(number) - 67 + 32),
            (Some(Arch::I386), 0..=7) => Some(u32::from(number)),
            (Some(Arch::I386), 21..=28) => Some(u32::from(number) - 21 + 16),
            (Some(Arch::Aarch64), 0..=31) => Some(u32::from(number)),
            (Some(Arch::Aarch64), 64..=95) => Some(u32::from(number) - 32),
            _ => None,
        };
        bit.map_or(self.mask != 0, |bit| self.mask & (1 << bit) != 0)
    }

    /// Whether nothing is in the set.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.mask == 0
    }
}

/// How many instructions are looked at.
const FAR: usize = 32;

impl Cfg {
    /// The addresses that stand for `pc`, `pc` itself first; empty where it is no instruction of the function.
    #[must_use]
    pub fn equivalents(&self, function: &Function<'_>, pc: Vaddr) -> Vec<Equivalent> {
        let Some(first) = self.index(pc.0) else { return Vec::new() };
        let mut found = Vec::new();
        let mut overwritten = Registers { mask: 0, arch: Some(self.arch) };
        let mut factory = iced_x86::InstructionInfoFactory::new();
        let mut index = first;
        // An unknown indirect jump may lead to any address behind `pc`.
        let is_known =
            self.indirect.iter().all(|(_, what)| !matches!(what, super::Indirect::Unknown)) && self.undecoded.is_none();
        for _ in 0..FAR {
            let Some(&it) = self.instructions.get(index) else { break };
            if index != first && (self.predecessors(index).len() != 1 || !is_known) {
                break;
            }
            let code = reaching_definitions::bytes(function, it.at);
            found.push(Equivalent { at: Vaddr(it.at), overwritten, probe: probe(self.arch, Vaddr(it.at), code) });
            let (writes, stores) = match self.arch {
                Arch::Aarch64 => {
                    aarch64::word(code).map_or((u64::MAX, true), |word| (aarch64::written(word), aarch64::stores(word)))
                }
                _ => x86::decode(if self.arch == Arch::I386 { 32 } else { 64 }, it.at, code)
                    .map_or((u64::MAX, true), |iced| {
                        (x86::written(&mut factory, &iced), x86::stores(&mut factory, &iced))
                    }),
            };
            if it.successors != Successors::Next || stores {
                break;
            }
            overwritten.mask |= writes;
            match self.index(it.end()) {
                Some(next) => index = next,
                None => break,
            }
        }
        found
    }

    /// The cheapest address that stands for `pc` and that `keep` agrees to; the first of equals. `None` where there is none that the kernel
    /// takes and that fires once for each pass.
    #[must_use]
    pub fn best(&self, function: &Function<'_>, pc: Vaddr, keep: &dyn Fn(&Equivalent) -> bool) -> Option<Equivalent> {
        let candidates = self.equivalents(function, pc).into_iter();
        candidates.filter(|it| it.probe.cost().is_some() && keep(it)).min_by_key(|it| match it.probe.cost() {
            // The call in its place writes below the stack pointer, where leaf functions keep variables.
            Some(Cost::Rewritten) | None => 2u8,
            Some(Cost::Emulated) => 0,
            Some(Cost::Stepped) => 1,
        })
    }
}
