//! The jump tables of gcc, clang and rustc on x86.
//!
//! | shape | written by |
//! | --- | --- |
//! | `lea T(%rip),%b; movslq (%b,%i,4),%r; add %b,%r; jmp *%r` | all three, position-independent |
//! | `jmp *T(,%i,8)`, `mov T(,%i,8),%r; jmp *%r` | gcc and clang, at fixed addresses |
//! | `lea 0(,%i,4),%o; lea T(%rip),%b; mov (%o,%b),%eax; cltq; add; jmp` | gcc -O0 |
//!
//! before it `cmp $n,%i; ja default`, or the index masked.

use iced_x86::{Instruction as Iced, Mnemonic, OpKind, Register};

use super::cfg::{Cfg, Successors};
use super::jump_tables::{Entries, JumpTable, Resolver};
use super::reaching_definitions::{ReachingDefinitions, bytes};
use super::x86;

/// How far back the check of an index is looked for, in instructions.
const FAR: usize = 200;

struct Shapes<'a, 'f> {
    resolver: &'a Resolver<'f>,
    cfg: &'a Cfg,
    reach: &'a mut ReachingDefinitions,
    bitness: u32,
}

/// The tables that the jump at `index` goes through; `None` where it may be something else.
pub(super) fn tables(
    resolver: &Resolver<'_>,
    cfg: &Cfg,
    reach: &mut ReachingDefinitions,
    index: usize,
    bitness: u32,
) -> Option<Vec<JumpTable>> {
    let mut shapes = Shapes { resolver, cfg, reach, bitness };
    let jump = shapes.decode(index)?;
    match jump.op0_kind() {
        OpKind::Memory => shapes.absolute(index, &jump),
        OpKind::Register => {
            let mut tables = Vec::new();
            // gcc merges the jumps of several tables into one.
            for definition in shapes.definitions(index, jump.op0_register())? {
                tables.extend(shapes.computed(definition, 3)?);
            }
            Some(tables)
        }
        _ => None,
    }
}

/// Whether a jump could be a tail call: not what reads an array of addresses.
pub(super) fn may_leave(code: &[u8], at: u64, bitness: u32) -> bool {
    x86::decode(bitness, at, code)
        .is_some_and(|it| it.op0_kind() == OpKind::Register || it.memory_index() == Register::None)
}

/// The depth of the stack, and that of the frame pointer where it holds one, after an instruction; `None` where unknown.
pub(super) fn depth(code: &[u8], at: u64, bitness: u32, depth: i64, frame: Option<i64>) -> Option<(i64, Option<i64>)> {
    let it = x86::decode(bitness, at, code)?;
    let (stack, base) = if bitness == 64 { (Register::RSP, Register::RBP) } else { (Register::ESP, Register::EBP) };
    let to = if it.op0_kind() == OpKind::Register { it.op0_register() } else { Register::None };
    let immediate = || it.try_immediate(1).ok().map(|bits| bits as i64);
    let depth = match it.mnemonic() {
        Mnemonic::Sub if to == stack => depth.wrapping_add(immediate()?),
        Mnemonic::Add if to == stack => depth.wrapping_sub(immediate()?),
        Mnemonic::Lea if to == stack && it.memory_index() == Register::None => {
            let offset = it.memory_displacement64() as i64;
            let offset = if bitness == 32 { i64::from(it.memory_displacement32() as i32) } else { offset };
            match it.memory_base() {
                from if from == stack => depth.wrapping_sub(offset),
                from if from == base => frame?.wrapping_sub(offset),
                _ => return None,
            }
        }
        Mnemonic::Mov if to == stack && it.op1_register() == base => frame?,
        Mnemonic::Leave => frame?.wrapping_sub(i64::from(bitness / 8)),
        // A call gives back what it takes.
        _ if it.is_call_near() || it.is_call_near_indirect() => depth,
        _ if to == stack
            && it.mnemonic() != Mnemonic::Push
            && it.mnemonic() != Mnemonic::Cmp
            && it.mnemonic() != Mnemonic::Test =>
        {
            return None;
        }
        _ => depth.wrapping_sub(i64::from(it.stack_pointer_increment())),
    };
    let frame = match it.mnemonic() {
        Mnemonic::Mov if to == base && it.op1_register() == stack => Some(depth),
        Mnemonic::Lea if to == base && it.memory_base() == stack && it.memory_index() == Register::None => {
            Some(depth.wrapping_sub(it.memory_displacement64() as i64))
        }
        Mnemonic::Leave => None,
        Mnemonic::Push | Mnemonic::Cmp | Mnemonic::Test => frame,
        _ if to == base => None,
        _ => frame,
    };
    Some((depth, frame))
}

impl Shapes<'_, '_> {
    fn decode(&self, index: usize) -> Option<Iced> {
        let at = self.cfg.instructions.get(index)?.at;
        x86::decode(self.bitness, at, bytes(self.resolver.function, at))
    }

    fn definitions(&mut self, index: usize, register: Register) -> Option<Vec<usize>> {
        self.reach.definitions(self.cfg, index, x86::bit(register))
    }

    fn definition(&mut self, index: usize, register: Register) -> Option<usize> {
        match *self.definitions(index, register)? {
            [one] => Some(one),
            _ => None,
        }
    }

    /// The constants that a register may hold where the instruction at `index` begins.
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

    /// The address that is loaded or jumped to is itself in the table.
    fn absolute(&mut self, index: usize, it: &Iced) -> Option<Vec<JumpTable>> {
        let size = u8::try_from(self.bitness / 8).ok()?;
        if it.is_ip_rel_memory_operand() || it.memory_index_scale() != u32::from(size) || !it.memory_index().is_gpr() {
            return None;
        }
        let starts = match it.memory_base() {
            Register::None => vec![0],
            base => self.constants(index, base, 3)?,
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

    /// One of the two is an entry of a table, the other the table.
    fn sum(&mut self, index: usize, one: Register, other: Register) -> Option<Vec<JumpTable>> {
        self.relative(index, one, other).or_else(|| self.relative(index, other, one))
    }

    fn relative(&mut self, index: usize, entry: Register, base: Register) -> Option<Vec<JumpTable>> {
        let bases = self.constants(index, base, 3)?;
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
            4 => (self.constants(load, it.memory_base(), 3)?, self.bound(load, it.memory_index())),
            // The index is scaled before.
            1 => {
                let (one, other) = (it.memory_base(), it.memory_index());
                let (starts, scaled) = match self.constants(load, one, 3) {
                    Some(starts) => (starts, other),
                    None => (self.constants(load, other, 3)?, one),
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
            // One jump for several tables: each is relative to itself.
            _ if starts == bases => Some(starts.iter().map(|&start| table(start, start)).collect()),
            _ => None,
        }
    }

    /// How many values the index register may have where the instruction at `index` begins.
    ///
    /// Goes back over instructions with one way in each: the check is then passed on every way to the jump.
    fn bound(&mut self, index: usize, register: Register) -> Entries {
        let mut limit = u64::MAX;
        match self.check(index, register, &mut limit) {
            Some(entries) => Entries::Checked(entries.min(limit)),
            None => Entries::AtMost(limit),
        }
    }

    /// The check of [`Self::bound`]; lowers `limit` to how many values the index has by its size.
    fn check(&mut self, index: usize, register: Register, limit: &mut u64) -> Option<u64> {
        let mut index = index;
        // What holds the index: a register, or where gcc -O0 keeps it in memory, that place.
        let mut register = register.full_register();
        let mut place: Option<(Register, u64)> = None;
        let mut check: Option<u64> = None;
        for _ in 0..FAR {
            let Some(before) = self.reach.only_before(index) else { break };
            let Some(it) = self.decode(before) else { break };
            if it.is_jcc_short_or_near() {
                let is_taken =
                    self.cfg.is(before, |was| was.end() != self.cfg.instructions.get(index).map_or(0, |it| it.at));
                // Entries beyond the number in the comparison that may still be used.
                check = match (it.condition_code(), is_taken) {
                    (iced_x86::ConditionCode::a, false) | (iced_x86::ConditionCode::be, true) => Some(1),
                    (iced_x86::ConditionCode::ae, false) | (iced_x86::ConditionCode::b, true) => Some(0),
                    _ => None,
                };
                index = before;
                continue;
            }
            let is_ours = |kind: OpKind, operand: Register| match (kind, place) {
                (OpKind::Register, None) => operand.full_register() == register,
                (OpKind::Memory, Some(place)) => {
                    it.memory_index() == Register::None && (it.memory_base(), it.memory_displacement64()) == place
                }
                _ => false,
            };
            if it.mnemonic() == Mnemonic::Cmp && is_ours(it.op0_kind(), it.op0_register()) {
                if let (Some(beyond), Ok(last)) = (check, it.try_immediate(1)) {
                    let bits = if place.is_some() { it.memory_size().size() } else { it.op0_register().size() } * 8;
                    let last = if bits < 64 { last & (1u64 << bits).wrapping_sub(1) } else { last };
                    return last.checked_add(beyond);
                }
            }
            if it.rflags_modified() != 0 {
                check = None;
            }
            let writes_ours = match place {
                None => self.reach.writes.get(before).is_none_or(|written| written & x86::bit(register) != 0),
                // A store to the place, or of a call's callee through a pointer to it.
                Some(_) => {
                    it.op0_kind() == OpKind::Memory && is_ours(OpKind::Memory, Register::None)
                        || self.cfg.is(before, |it| it.successors == Successors::Call)
                }
            };
            if writes_ours {
                if place.is_some() {
                    break;
                }
                match (it.mnemonic(), it.op1_kind()) {
                    (Mnemonic::And, _) if it.op0_kind() == OpKind::Register => {
                        let mask = it.try_immediate(1).ok()?;
                        return mask.checked_add(1);
                    }
                    (Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsxd | Mnemonic::Movsx, from) => {
                        let size =
                            if from == OpKind::Memory { it.memory_size().size() } else { it.op1_register().size() };
                        if it.mnemonic() == Mnemonic::Movzx && size <= 2 {
                            *limit = 1u64 << (8 * size);
                        }
                        match from {
                            OpKind::Register => register = it.op1_register().full_register(),
                            OpKind::Memory if it.memory_index() == Register::None => {
                                place = Some((it.memory_base(), it.memory_displacement64()));
                            }
                            _ => break,
                        }
                    }
                    (Mnemonic::Cdqe, _) => {}
                    _ => break,
                }
            } else if let Some((base, _)) = place {
                if self.reach.writes.get(before).is_none_or(|written| written & x86::bit(base) != 0) {
                    break;
                }
            }
            index = before;
        }
        None
    }
}
