//! The jump tables of gcc, clang and rustc on x86.
//!
//! | shape | written by |
//! | --- | --- |
//! | `lea T(%rip),%b; movslq (%b,%i,4),%r; add %b,%r; jmp *%r` | all three, position-independent |
//! | `jmp *T(,%i,8)`, `mov T(,%i,8),%r; jmp *%r` | gcc and clang, at fixed addresses |
//! | `lea 0(,%i,4),%o; lea T(%rip),%b; mov (%o,%b),%eax; cltq; add; jmp` | gcc -O0 |
//!
//! A check comes first: `cmp $n,%i; ja default`, or the index is masked.

use iced_x86::{ConditionCode, Instruction as Iced, Mnemonic, OpKind, Register};

use super::decode::{bit, decode};
use crate::code::jump_table::{self, Entries, JumpTable, JumpTableSearch, MOVES, TableStep};

/// The tables that the jump at `index` goes through; `None` if it may not use a table.
pub(super) fn tables(search: &mut dyn JumpTableSearch, index: usize, bitness: u32) -> Option<Vec<JumpTable>> {
    let mut shapes = X86Tables { search, bitness };
    let jump = shapes.decode(index)?;
    match jump.op0_kind() {
        OpKind::Memory => shapes.absolute(index, &jump),
        OpKind::Register => {
            let mut tables = Vec::new();
            // gcc merges the jumps of several tables into one.
            for definition in shapes.definitions(index, jump.op0_register())? {
                tables.extend(shapes.computed(definition, MOVES)?);
            }
            Some(tables)
        }
        _ => None,
    }
}

/// Whether a jump may be a tail call: one that reads an array of addresses is none.
pub(super) fn may_be_tail_call(bitness: u32, at: u64, code: &[u8]) -> bool {
    decode(bitness, at, code).is_some_and(|it| it.op0_kind() == OpKind::Register || it.memory_index() == Register::None)
}

struct X86Tables<'a> {
    search: &'a mut dyn JumpTableSearch,
    bitness: u32,
}

/// What holds the index of a table, on the way back from the table to the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IndexPlace {
    /// A full register.
    Register(Register),
    /// A variable in memory, where gcc -O0 keeps the index.
    Memory { base: Register, displacement: u64 },
}

type PlaceWalk = jump_table::Walk<IndexPlace>;

impl X86Tables<'_> {
    fn decode(&self, index: usize) -> Option<Iced> {
        let (at, code) = self.search.code(index)?;
        decode(self.bitness, at, code)
    }

    fn definitions(&mut self, index: usize, register: Register) -> Option<Vec<usize>> {
        self.search.definitions(index, bit(register))
    }

    fn definition(&mut self, index: usize, register: Register) -> Option<usize> {
        self.search.definition(index, bit(register))
    }

    /// The constants that a register may hold at the instruction at `index`.
    fn constants(&mut self, index: usize, register: Register, deep: u32) -> Option<Vec<u64>> {
        let mut values = Vec::new();
        for definition in self.definitions(index, register)? {
            let it = self.decode(definition)?;
            match it.mnemonic() {
                Mnemonic::Lea if it.is_ip_rel_memory_operand() => values.push(it.ip_rel_memory_address()),
                Mnemonic::Lea if it.memory_base() == Register::None && it.memory_index() == Register::None => {
                    values.push(it.memory_displacement64());
                }
                Mnemonic::Mov => match it.op1_kind() {
                    OpKind::Register if deep > 0 => {
                        values.extend(self.constants(definition, it.op1_register(), deep - 1)?);
                    }
                    _ => values.push(it.try_immediate(1).ok()?),
                },
                _ => return None,
            }
        }
        values.sort_unstable();
        values.dedup();
        Some(values)
    }

    /// The tables of an instruction that loads an address, or jumps to one, from a table of
    /// addresses.
    fn absolute(&mut self, index: usize, it: &Iced) -> Option<Vec<JumpTable>> {
        let size = u8::try_from(self.bitness / 8).ok()?;
        if it.is_ip_rel_memory_operand() || it.memory_index_scale() != u32::from(size) || !it.memory_index().is_gpr() {
            return None;
        }
        let starts = match it.memory_base() {
            Register::None => vec![0],
            base => self.constants(index, base, MOVES)?,
        };
        let entries = self.bound(index, it.memory_index());
        let table = |start: u64| {
            let at = start.wrapping_add(it.memory_displacement64());
            let at = if self.bitness == 32 { at & u64::from(u32::MAX) } else { at };
            JumpTable { at, size, base: 0, shift: 0, signed: false, entries }
        };
        Some(starts.into_iter().map(table).collect())
    }

    /// The tables of a jump to what the instruction at `index` computes.
    fn computed(&mut self, index: usize, deep: u32) -> Option<Vec<JumpTable>> {
        let it = self.decode(index)?;
        match it.mnemonic() {
            Mnemonic::Mov if it.op1_kind() == OpKind::Memory => self.absolute(index, &it),
            Mnemonic::Add if it.op1_kind() == OpKind::Register => self.sum(index, it.op0_register(), it.op1_register()),
            Mnemonic::Lea if it.memory_index_scale() == 1 && it.memory_displacement64() == 0 => {
                self.sum(index, it.memory_base(), it.memory_index())
            }
            // `mov %rax,%rdx; jmp *%rdx` (gcc -O0)
            Mnemonic::Mov if it.op1_kind() == OpKind::Register && deep > 0 => {
                let definition = self.definition(index, it.op1_register())?;
                self.computed(definition, deep - 1)
            }
            _ => None,
        }
    }

    /// The tables of a sum of two registers: one is an entry of a table, the other the table's
    /// address.
    fn sum(&mut self, index: usize, one: Register, other: Register) -> Option<Vec<JumpTable>> {
        self.relative(index, one, other).or_else(|| self.relative(index, other, one))
    }

    fn relative(&mut self, index: usize, entry: Register, base: Register) -> Option<Vec<JumpTable>> {
        let bases = self.constants(index, base, MOVES)?;
        let mut load = self.definition(index, entry)?;
        let mut it = self.decode(load)?;
        if it.mnemonic() == Mnemonic::Cdqe {
            load = self.definition(load, Register::RAX)?;
            it = self.decode(load)?;
            if it.mnemonic() != Mnemonic::Mov {
                return None;
            }
        } else if it.mnemonic() != Mnemonic::Movsxd {
            return None;
        }
        if it.op1_kind() != OpKind::Memory || it.is_ip_rel_memory_operand() {
            return None;
        }
        let (starts, entries) = match it.memory_index_scale() {
            4 => (self.constants(load, it.memory_base(), MOVES)?, self.bound(load, it.memory_index())),
            // An instruction before this one scales the index.
            1 => {
                let (one, other) = (it.memory_base(), it.memory_index());
                let (starts, scaled) = match self.constants(load, one, MOVES) {
                    Some(starts) => (starts, other),
                    None => (self.constants(load, other, MOVES)?, one),
                };
                let definition = self.definition(load, scaled)?;
                let scale = self.decode(definition)?;
                if scale.mnemonic() != Mnemonic::Lea
                    || scale.memory_index_scale() != 4
                    || scale.memory_base() != Register::None
                    || scale.memory_displacement64() != 0
                {
                    return None;
                }
                (starts, self.bound(definition, scale.memory_index()))
            }
            _ => return None,
        };
        let table = |at: u64, base| JumpTable {
            at: at.wrapping_add(it.memory_displacement64()),
            size: 4,
            base,
            shift: 0,
            signed: true,
            entries,
        };
        match (&*starts, &*bases) {
            (&[start], &[base]) => Some(vec![table(start, base)]),
            // One jump for several tables: the entries of each are relative to its own start.
            _ if starts == bases => Some(starts.iter().map(|&start| table(start, start)).collect()),
            _ => None,
        }
    }

    /// How many values an index register may have at the instruction at `index`.
    fn bound(&self, index: usize, register: Register) -> Entries {
        let holder = IndexPlace::Register(register.full_register());
        jump_table::bound(self.search, index, holder, |walk, before, after| self.step(walk, before, after))
    }

    /// Goes back over an instruction.
    fn step(&self, walk: &mut PlaceWalk, index: usize, after: usize) -> TableStep {
        let Some(it) = &self.decode(index) else { return TableStep::GiveUp };
        if it.is_jcc_short_or_near() {
            walk.pass_branch(it, self.search.is_taken(index, after));
            return TableStep::Continue;
        }
        if let Some(last) = walk.compared(it) {
            if let Some(beyond) = walk.beyond {
                return last.checked_add(beyond).map_or(TableStep::GiveUp, TableStep::Found);
            }
        }
        if it.rflags_modified() != 0 {
            walk.beyond = None;
        }
        match walk.holder {
            IndexPlace::Register(register) if self.search.may_write(index, bit(register)) => walk.follow(it),
            IndexPlace::Register(_) => TableStep::Continue,
            // A store to the variable; a call, whose callee may store through a pointer to it;
            // another base.
            IndexPlace::Memory { base, .. } => {
                let is_written = it.op0_kind() == OpKind::Memory && walk.is_held_by(it, 0)
                    || self.search.is_call(index)
                    || self.search.may_write(index, bit(base));
                if is_written { TableStep::GiveUp } else { TableStep::Continue }
            }
        }
    }
}

impl PlaceWalk {
    /// Whether the first (0) or another operand of an instruction is what holds the index.
    fn is_held_by(&self, it: &Iced, operand: u32) -> bool {
        match (it.op_kind(operand), self.holder) {
            (OpKind::Register, IndexPlace::Register(register)) => it.op_register(operand).full_register() == register,
            (OpKind::Memory, IndexPlace::Memory { base, displacement }) => {
                it.memory_index() == Register::None
                    && it.memory_base() == base
                    && it.memory_displacement64() == displacement
            }
            _ => false,
        }
    }

    /// Takes account of the condition of a branch between the check and the table.
    fn pass_branch(&mut self, it: &Iced, is_taken: bool) {
        self.beyond = match (it.condition_code(), is_taken) {
            (ConditionCode::a, false) | (ConditionCode::be, true) => Some(1),
            (ConditionCode::ae, false) | (ConditionCode::b, true) => Some(0),
            _ => None,
        };
    }

    /// The number that an instruction compares the index with.
    fn compared(&self, it: &Iced) -> Option<u64> {
        if it.mnemonic() != Mnemonic::Cmp || !self.is_held_by(it, 0) {
            return None;
        }
        let size = match self.holder {
            IndexPlace::Register(_) => it.op0_register().size(),
            IndexPlace::Memory { .. } => it.memory_size().size(),
        };
        let last = it.try_immediate(1).ok()?;
        Some(if size < 8 { last & (1u64 << (size * 8)).wrapping_sub(1) } else { last })
    }

    /// Continues with the source of an instruction that copies into the register with the index.
    fn follow(&mut self, it: &Iced) -> TableStep {
        match (it.mnemonic(), it.op1_kind()) {
            (Mnemonic::And, _) if it.op0_kind() == OpKind::Register => {
                let entries = it.try_immediate(1).ok().and_then(|mask| mask.checked_add(1));
                return entries.map_or(TableStep::GiveUp, TableStep::Found);
            }
            (Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsxd | Mnemonic::Movsx, from) => {
                let size = if from == OpKind::Memory { it.memory_size().size() } else { it.op1_register().size() };
                if it.mnemonic() == Mnemonic::Movzx && size <= 2 {
                    self.limit = 1u64 << (8 * size);
                }
                self.holder = match from {
                    OpKind::Register => IndexPlace::Register(it.op1_register().full_register()),
                    OpKind::Memory if it.memory_index() == Register::None => {
                        IndexPlace::Memory { base: it.memory_base(), displacement: it.memory_displacement64() }
                    }
                    _ => return TableStep::GiveUp,
                };
            }
            (Mnemonic::Cdqe, _) => {}
            _ => return TableStep::GiveUp,
        }
        TableStep::Continue
    }
}
