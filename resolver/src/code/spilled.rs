//! Whether the function keeps the value that it was entered with in its frame too, and stores
//! another one there.

use std::collections::{HashMap, HashSet};

use super::cfg::Cfg;
use super::data_flow::{Gpr, RegisterValue};
use super::instruction::Successors;
use super::values::{State, Symbolic, ValueSymbol, Values};
use crate::address::Vaddr;

/// What an instruction does to the slots.
#[derive(Default)]
struct SlotEffect {
    /// The slots that get the value of the entry.
    fills: Vec<Symbolic>,
    /// The bytes of the frame that get another value.
    stores: Vec<(Symbolic, u32)>,
    is_call: bool,
}

/// The frame of a function, seen from one register of its entry.
struct FrameSlots {
    effects: HashMap<usize, SlotEffect>,
    /// The addresses that a callee may have.
    taken: HashSet<Symbolic>,
}

impl Values {
    /// An instruction that stores another value over the place in the frame to which the function
    /// copied a register of `size` bytes at its entry, if the register still has the value of the
    /// entry at an address.
    pub(crate) fn stored_over(&self, cfg: &Cfg, pc: Vaddr, register: u32, size: u64) -> Option<Vaddr> {
        let site = cfg.index(pc.0)?;
        let value = self.before(cfg, site)?.register(Gpr::try_from(register).ok()?)?;
        let ValueSymbol::Entry(entered) = value.symbol else { return None };
        match value.offset {
            0 => self.stored_over_value(cfg, site, entered, size),
            _ => None,
        }
    }

    /// The same whatever the register has at the address.
    pub(crate) fn stored_over_entry(&self, cfg: &Cfg, pc: Vaddr, register: u32, size: u64) -> Option<Vaddr> {
        self.stored_over_value(cfg, cfg.index(pc.0)?, Gpr::try_from(register).ok()?, size)
    }

    fn stored_over_value(&self, cfg: &Cfg, site: usize, entered: Gpr, size: u64) -> Option<Vaddr> {
        let frame = self.frame(cfg, entered, size);
        let mut slots: Vec<Symbolic> = frame.effects.values().flat_map(|effect| effect.fills.clone()).collect();
        slots.sort_unstable();
        slots.dedup();
        slots.into_iter().find_map(|slot| self.overwritten(cfg, site, &frame, (slot, size)))
    }

    fn frame(&self, cfg: &Cfg, entered: Gpr, size: u64) -> FrameSlots {
        let sp = self.convention.stack_pointer;
        let mut frame = FrameSlots { effects: HashMap::new(), taken: HashSet::new() };
        self.any(cfg, |index, before: &State, after: &State| {
            let Some(flow) = self.flows.get(index) else { return false };
            let mut effect =
                SlotEffect { is_call: cfg.is(index, |it| it.successors == Successors::Call), ..SlotEffect::default() };
            // A push keeps a register over a call.
            let is_push = flow.writes.iter().any(|(register, _)| *register == sp);
            for access in flow.accesses.iter().filter(|access| access.writes && !access.is_indexed) {
                let Some(address) = before.address(access).filter(|address| address.symbol.is_stack(sp)) else {
                    continue;
                };
                let stored = access.stored.and_then(|register| before.register(register));
                let is_entry =
                    stored.is_some_and(|value| value.symbol == ValueSymbol::Entry(entered) && value.offset == 0);
                match is_entry && !is_push && u64::from(access.size) == size {
                    true => effect.fills.push(address),
                    false => effect.stores.push((address, access.size)),
                }
            }
            for (register, computed) in flow.writes.iter().filter(|(register, _)| *register != sp) {
                if matches!(computed, RegisterValue::Sum(..)) {
                    frame.taken.extend(after.register(*register).filter(|address| address.symbol.is_stack(sp)));
                }
            }
            frame.effects.insert(index, effect);
            false
        });
        frame
    }

    /// The instruction that gives a slot another value on a way to the site.
    fn overwritten(&self, cfg: &Cfg, site: usize, frame: &FrameSlots, (slot, size): (Symbolic, u64)) -> Option<Vaddr> {
        let size = i64::try_from(size).ok()?;
        let is_taken = frame.taken.contains(&slot);
        let overlaps = |(address, bytes): &(Symbolic, u32)| {
            address.symbol == slot.symbol
                && address.offset < slot.offset.saturating_add(size)
                && slot.offset < address.offset.saturating_add(i64::from(*bytes))
        };
        let mut seen = HashSet::new();
        let mut todo = vec![site];
        while let Some(at) = todo.pop() {
            for before in self.predecessors(cfg, at) {
                let effect = frame.effects.get(&before);
                if effect.is_some_and(|effect| effect.fills.contains(&slot)) || !seen.insert(before) {
                    continue;
                }
                if effect.is_some_and(|effect| effect.stores.iter().any(overlaps) || (is_taken && effect.is_call)) {
                    return cfg.instructions.get(before).map(|it| Vaddr(it.at));
                }
                todo.push(before);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::x86;
    use crate::code::{Function, NoMemory};

    const RDI: u32 = 7;
    const RBX: u32 = 3;

    fn stored_over(code: &[u8], pc: u64, (register, size): (u32, u64)) -> Option<u64> {
        let function = Function::in_one_piece(Vaddr(0x1000), code);
        let cfg = Cfg::of(&function, &NoMemory, &x86::X86_64);
        let values = Values::of_function(&function, &cfg).expect("its paths are known");
        values.stored_over(&cfg, Vaddr(pc), register, size).map(|at| at.0)
    }

    #[test]
    fn another_value_in_the_frame_is_found() {
        // 1000: mov %dil,-4(%rsp); 1005: mov %edi,%ebx; 1007: movb $0,-4(%rsp); 100c: ret
        let code = [0x40, 0x88, 0x7c, 0x24, 0xfc, 0x89, 0xfb, 0xc6, 0x44, 0x24, 0xfc, 0x00, 0xc3];
        assert_eq!(stored_over(&code, 0x100c, (RDI, 1)), Some(0x1007));
        assert_eq!(stored_over(&code, 0x100c, (RBX, 1)), Some(0x1007));
        assert_eq!(stored_over(&code, 0x1007, (RDI, 1)), None);
        // The copy has another size: it is another variable.
        assert_eq!(stored_over(&code, 0x100c, (RDI, 4)), None);
    }

    #[test]
    fn it_is_found_where_the_register_has_another_value() {
        // 1000: mov %edi,-4(%rsp); 1004: xor %edi,%edi; 1006: movl $0,-4(%rsp); 100e: ret
        let code = [0x89, 0x7c, 0x24, 0xfc, 0x31, 0xff, 0xc7, 0x44, 0x24, 0xfc, 0, 0, 0, 0, 0xc3];
        let function = Function::in_one_piece(Vaddr(0x1000), &code);
        let cfg = Cfg::of(&function, &NoMemory, &x86::X86_64);
        let values = Values::of_function(&function, &cfg).expect("its paths are known");
        let over = |pc| values.stored_over_entry(&cfg, Vaddr(pc), RDI, 4).map(|at| at.0);
        assert_eq!((over(0x1006), over(0x100e)), (None, Some(0x1006)));
        assert_eq!(stored_over(&code, 0x100e, (RDI, 4)), None);
    }

    #[test]
    fn the_same_value_or_another_slot_is_not() {
        // 1000: mov %edi,-4(%rsp); 1004: movl $0,-8(%rsp); 100c: mov %edi,-4(%rsp); 1010: ret
        let code = [0x89, 0x7c, 0x24, 0xfc, 0xc7, 0x44, 0x24, 0xf8, 0, 0, 0, 0, 0x89, 0x7c, 0x24, 0xfc, 0xc3];
        assert_eq!(stored_over(&code, 0x1010, (RDI, 4)), None);
        // 1000: push %rdi; 1001: pop %rdi; 1002: push %rbx; 1003: pop %rbx; 1004: ret
        assert_eq!(stored_over(&[0x57, 0x5f, 0x53, 0x5b, 0xc3], 0x1004, (RDI, 8)), None);
        // 1000: mov %edi,-4(%rsp); 1004: xor %edi,%edi; 1006: mov %edi,-4(%rsp); 100a: ret
        let code = [0x89, 0x7c, 0x24, 0xfc, 0x31, 0xff, 0x89, 0x7c, 0x24, 0xfc, 0xc3];
        assert_eq!(stored_over(&code, 0x100a, (RDI, 4)), None);
    }

    #[test]
    fn a_callee_that_has_the_address_may_store() {
        // 1000: push %rbx; 1001: sub $16,%rsp; 1005: mov %edi,%ebx; 1007: mov %edi,12(%rsp);
        // 100b: lea 12(%rsp),%rdi; 1010: call 1015; 1015: add $16,%rsp; 1019: pop %rbx; 101a: ret
        let code = [
            0x53, 0x48, 0x83, 0xec, 0x10, 0x89, 0xfb, 0x89, 0x7c, 0x24, 0x0c, 0x48, 0x8d, 0x7c, 0x24, 0x0c, 0xe8, 0, 0,
            0, 0, 0x48, 0x83, 0xc4, 0x10, 0x5b, 0xc3,
        ];
        assert_eq!(stored_over(&code, 0x1010, (RBX, 4)), None);
        assert_eq!(stored_over(&code, 0x1015, (RBX, 4)), Some(0x1010));
        // The address is not taken: nopl 0(%rax,%rax,1) in place of lea.
        let mut code = code;
        code[11..16].copy_from_slice(&[0x0f, 0x1f, 0x44, 0x00, 0x00]);
        assert_eq!(stored_over(&code, 0x1015, (RBX, 4)), None);
    }
}
