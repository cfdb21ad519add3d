//! The instructions that made the value of a register, looking through copies.

use std::collections::HashSet;
use std::ops::Range;

use super::cfg::Cfg;
use super::data_flow::{Gpr, RegisterValue};
use super::instruction::Successors;
use super::values::Values;
use crate::address::Vaddr;

/// The most instructions that are searched for those that made a value.
const STEPS: usize = 20_000;

impl Values {
    /// What made the value of `size` bytes that a register has at an address; `None` if that is not known.
    /// The entry of the function stands for its caller.
    pub(crate) fn made(&self, cfg: &Cfg, pc: Vaddr, register: u32, size: u64) -> Option<Vec<Vaddr>> {
        self.definitions(cfg, pc, register, |value| match value {
            RegisterValue::Sum(from, 0) => Some(from),
            RegisterValue::Low(from) if size <= 4 => Some(from),
            _ => None,
        })
    }

    /// The calls that changed a register last on a way to an address, and leave no result in it; `None` if they
    /// are not known.
    pub(crate) fn clobbered(&self, cfg: &Cfg, pc: Vaddr, register: u32) -> Option<Vec<Range<u64>>> {
        if self.convention.results & 1u64.checked_shl(register)? != 0 {
            return Some(Vec::new());
        }
        let written = self.definitions(cfg, pc, register, |_| None)?.into_iter();
        let calls = written.filter_map(|at| cfg.at(at.0)).filter(|it| it.successors == Successors::Call);
        Some(calls.map(|it| it.at..it.end()).collect())
    }

    /// The last instructions that wrote a register, or the one from which `copied` says that it was copied.
    fn definitions(
        &self,
        cfg: &Cfg,
        pc: Vaddr,
        register: u32,
        copied: impl Fn(RegisterValue) -> Option<Gpr>,
    ) -> Option<Vec<Vaddr>> {
        let mut made = Vec::new();
        let mut seen = HashSet::new();
        let mut todo = vec![(cfg.index(pc.0)?, Gpr::try_from(register).ok()?)];
        let mut left = STEPS;
        while let Some((at, register)) = todo.pop() {
            if !seen.insert((at, register)) {
                continue;
            }
            left = left.checked_sub(1)?;
            if cfg.is(at, |it| it.at == cfg.entry) {
                made.push(Vaddr(cfg.entry));
            }
            for before in self.predecessors(cfg, at) {
                let flow = self.flows.get(before)?;
                let is_call = cfg.is(before, |it| it.successors == Successors::Call);
                let is_result = is_call && self.is_clobbered(register);
                let written = flow.writes.iter().find(|(written, _)| *written == register).map(|(_, value)| *value);
                match (written, written.and_then(&copied)) {
                    (None, _) if !is_result => todo.push((before, register)),
                    (_, Some(from)) => todo.push((before, from)),
                    _ => made.push(Vaddr(cfg.instructions.get(before)?.at)),
                }
            }
        }
        Some(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::x86;
    use crate::code::{Function, NoMemory};

    const ENTRY: u64 = 0x1000;
    const RAX: u32 = 0;
    const RDI: u32 = 7;

    /// The offsets of the instructions that made the value of a register at an offset of a function.
    fn made(code: &[u8], offset: u64, register: u32, size: u64) -> Vec<u64> {
        let function = Function::in_one_piece(Vaddr(ENTRY), code);
        let cfg = Cfg::of(&function, &NoMemory, &x86::X86_64);
        let values = Values::of_function(&function, &cfg).expect("its paths are known");
        let made = values.made(&cfg, Vaddr(ENTRY + offset), register, size).expect("it is known");
        let mut offsets: Vec<u64> = made.into_iter().map(|at| at.0 - ENTRY).collect();
        offsets.sort_unstable();
        offsets.dedup();
        offsets
    }

    #[test]
    fn copies_are_looked_through() {
        // nop; imul $21,%rdi,%rdx; mov %rdx,%rax; mov %eax,%eax; ret
        let code = [0x90, 0x48, 0x6b, 0xd7, 0x15, 0x48, 0x89, 0xd0, 0x89, 0xc0, 0xc3];
        assert_eq!(made(&code, 8, RAX, 8), [1]);
        // The lower half of a register is the value of four bytes, and another one of eight.
        assert_eq!((made(&code, 10, RAX, 4), made(&code, 10, RAX, 8)), (vec![1], vec![8]));
        // The caller made a parameter.
        assert_eq!(made(&code, 8, RDI, 8), [0]);
    }

    #[test]
    fn loops_and_calls_are_followed() {
        // nop; 1: dec %edi; jne 1b; ret
        let code = [0x90, 0xff, 0xcf, 0x75, 0xfc, 0xc3];
        assert_eq!(made(&code, 1, RDI, 4), [0, 1]);
        // nop; call +0; ret: the call made the result, and may have changed the parameter.
        let code = [0x90, 0xe8, 0, 0, 0, 0, 0xc3];
        assert_eq!((made(&code, 6, RAX, 4), made(&code, 6, RDI, 4)), (vec![1], vec![1]));
    }

    #[test]
    fn calls_clobber_what_they_do_not_return() {
        // nop; test %edi,%edi; je 1f; call +0; 1: mov %rdi,%rax; ret
        let code = [0x90, 0x85, 0xff, 0x74, 0x05, 0xe8, 0, 0, 0, 0, 0x48, 0x89, 0xf8, 0xc3];
        let function = Function::in_one_piece(Vaddr(ENTRY), &code);
        let cfg = Cfg::of(&function, &NoMemory, &x86::X86_64);
        let values = Values::of_function(&function, &cfg).expect("its paths are known");
        let clobbered = |offset, register| values.clobbered(&cfg, Vaddr(ENTRY + offset), register);
        let call = ENTRY + 5..ENTRY + 10;
        assert_eq!(clobbered(10, RDI), Some(vec![call]));
        assert_eq!(
            (clobbered(5, RDI), clobbered(10, RAX), clobbered(13, RAX)),
            (Some(vec![]), Some(vec![]), Some(vec![]))
        );
        assert_eq!(made(&code, 13, RAX, 8), [0, 5]);
    }
}
