//! The jump tables of gcc, clang and rustc on RISC-V.
//!
//! `auipc/addi T` in `%t`; `slli %i, i, 2` (or `slli %i, i, 32; srli %i, %i, 30` for an index of 32
//! bits); `add %a, %i, %t`; `lw %e, 0(%a)`; `add %e, %e, %t`; `jr %e`. Without position-independent
//! code the entries are addresses. A check comes first: `li %n, n; bltu %n, i, default`.

use super::decode::{AUIPC, BRANCH, InstructionWord, JALR, LOAD, LUI, OP_IMM, OP_IMM_32, ZERO};
use crate::code::jump_table::{self, Entries, JumpTable, JumpTableSearch, MOVES, TableStep};

/// The tables that the jump at `index` goes through; `None` if it may not use a table.
pub(super) fn tables(search: &mut dyn JumpTableSearch, index: usize) -> Option<Vec<JumpTable>> {
    let mut shapes = Riscv64Tables { search };
    let (_, jump) = shapes.word(index)?;
    if jump.opcode() != JALR || jump.immediate() != 0 {
        return None;
    }
    let mut tables = Vec::new();
    for definition in shapes.definitions(index, jump.rs1())? {
        tables.push(shapes.target(definition)?);
    }
    Some(tables)
}

struct Riscv64Tables<'a> {
    search: &'a mut dyn JumpTableSearch,
}

/// What holds the index, and the comparison on the way to the table.
struct IndexRegister {
    register: u32,
    compared: Option<BoundCheck>,
}

/// A comparison of a register with a constant.
struct BoundCheck {
    register: u32,
    /// The constant, or the register that holds it.
    with: Result<u64, u32>,
    /// The number of index values, less the constant.
    beyond: u64,
}

type RegisterWalk = jump_table::Walk<IndexRegister>;

impl Riscv64Tables<'_> {
    /// An instruction, and its address.
    fn word(&self, index: usize) -> Option<(u64, InstructionWord)> {
        let (at, code) = self.search.code(index)?;
        Some((at, InstructionWord::of(code)?))
    }

    fn definitions(&mut self, index: usize, register: u32) -> Option<Vec<usize>> {
        self.search.definitions(index, 1 << register)
    }

    /// The only instruction that gives a register its value at the instruction at `index`.
    fn definition(&mut self, index: usize, register: u32) -> Option<(usize, InstructionWord)> {
        let definition = self.search.definition(index, 1 << register)?;
        Some((definition, self.word(definition)?.1))
    }

    /// The only constant that a register holds at the instruction at `index`.
    fn constant(&mut self, index: usize, register: u32, deep: u32) -> Option<u64> {
        let mut value = None;
        for definition in self.definitions(index, register)? {
            let (at, word) = self.word(definition)?;
            let one = match word.opcode() {
                AUIPC => at.wrapping_add_signed(word.upper()),
                LUI => word.upper() as u64,
                _ if word.is_addi() && deep > 0 => {
                    self.constant(definition, word.rs1(), deep - 1)?.wrapping_add_signed(word.immediate())
                }
                _ => return None,
            };
            if value.replace(one).is_some_and(|other| other != one) {
                return None;
            }
        }
        value
    }

    /// A sum of a constant and another register: both; `None` for other instructions.
    fn sum(&mut self, index: usize) -> Option<(u64, u32)> {
        let (_, word) = self.word(index)?;
        if !word.is_op(0, 0) {
            return None;
        }
        let (one, other) = (word.rs1(), word.rs2());
        match self.constant(index, one, MOVES) {
            Some(constant) => Some((constant, other)),
            None => Some((self.constant(index, other, MOVES)?, one)),
        }
    }

    /// The table of a jump to the value that the instruction at `index` computes.
    fn target(&mut self, index: usize) -> Option<JumpTable> {
        let (_, word) = self.word(index)?;
        let (base, load, loaded) = match word.opcode() {
            LOAD => (0, index, word),
            _ => {
                let (base, entry) = self.sum(index)?;
                let (load, loaded) = match self.definition(index, entry)? {
                    // Without optimisation gcc extends the sign of what `lw` loads again.
                    (copy, word) if copied(word).is_some() => {
                        let extended = self.definition(copy, word.rs1())?;
                        (extended.1.funct3() == 2).then_some(extended)?
                    }
                    other => other,
                };
                (base, load, loaded)
            }
        };
        // lw, ld, lwu
        let (size, shift, signed) = match (loaded.opcode(), loaded.funct3()) {
            (LOAD, 2) => (4, 2, true),
            (LOAD, 3) => (8, 3, false),
            (LOAD, 6) => (4, 2, false),
            _ => return None,
        };
        let (address, _) = self.definition(load, loaded.rs1())?;
        let (table, scaled) = self.sum(address)?;
        let (scaling, index) = self.index(address, scaled, shift)?;
        let at = table.wrapping_add_signed(loaded.immediate());
        Some(JumpTable { at, size, base, shift: 0, signed, entries: self.bound(scaling, index) })
    }

    /// Where an index is scaled by the size of an entry, and its register there.
    fn index(&mut self, at: usize, scaled: u32, shift: i64) -> Option<(usize, u32)> {
        let (scaling, word) = self.definition(at, scaled)?;
        match (word.opcode(), word.funct3(), word.immediate()) {
            (OP_IMM, 1, by) if by == shift => Some((scaling, word.rs1())),
            (OP_IMM, 5, by) if by == 32 - shift => {
                let (widening, word) = self.definition(scaling, word.rs1())?;
                let is_widening = word.opcode() == OP_IMM && word.funct3() == 1 && word.immediate() == 32;
                is_widening.then(|| (widening, word.rs1()))
            }
            _ => None,
        }
    }

    /// How many values an index register may have at the instruction at `index`.
    fn bound(&self, index: usize, register: u32) -> Entries {
        let holder = IndexRegister { register, compared: None };
        jump_table::bound(self.search, index, holder, |walk, before, after| self.step(walk, before, after))
    }

    /// Goes back over an instruction.
    fn step(&self, walk: &mut RegisterWalk, index: usize, after: usize) -> TableStep {
        let Some((_, word)) = self.word(index) else { return TableStep::GiveUp };
        if word.opcode() == BRANCH {
            walk.holder.pass_branch(word, self.search.is_taken(index, after));
        }
        if self.search.is_call(index) {
            return TableStep::GiveUp;
        }
        let is_written = |register: u32| self.search.may_write(index, 1 << register);
        if let Some(compared) = &mut walk.holder.compared {
            match compared.with {
                Err(register) if is_written(register) => match word.is_addi() && word.rs1() == ZERO {
                    true => compared.with = Ok(word.immediate() as u64),
                    false => walk.holder.compared = None,
                },
                _ if is_written(compared.register) => match copied(word) {
                    Some(from) => compared.register = from,
                    None => walk.holder.compared = None,
                },
                _ => {}
            }
        }
        if is_written(walk.holder.register) {
            match copied(word) {
                Some(from) => walk.holder.register = from,
                None => return TableStep::GiveUp,
            }
        }
        match &walk.holder.compared {
            Some(BoundCheck { register, with: Ok(number), beyond }) if *register == walk.holder.register => {
                number.checked_add(*beyond).map_or(TableStep::GiveUp, TableStep::Found)
            }
            _ => TableStep::Continue,
        }
    }
}

impl IndexRegister {
    /// Takes account of a branch between the check and the table.
    fn pass_branch(&mut self, word: InstructionWord, is_taken: bool) {
        let (register, with, beyond) = match (word.funct3(), is_taken) {
            // bltu
            (6, false) => (word.rs2(), word.rs1(), 1),
            (6, true) => (word.rs1(), word.rs2(), 0),
            // bgeu
            (7, false) => (word.rs1(), word.rs2(), 0),
            (7, true) => (word.rs2(), word.rs1(), 1),
            _ => return,
        };
        self.compared = Some(BoundCheck { register, with: Err(with), beyond });
    }
}

/// The register whose low 32 bits an instruction copies: `mv` and `sext.w`.
fn copied(word: InstructionWord) -> Option<u32> {
    let is_copy = word.is_addi() || word.opcode() == OP_IMM_32 && word.funct3() == 0;
    (is_copy && word.immediate() == 0 && word.rs1() != ZERO).then(|| word.rs1())
}
