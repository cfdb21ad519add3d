//! A jump table, and what an instruction set can ask to find one.
//!
//! [`bound`] goes back from a table to the check of its index.

use simple_markers_record::integer;

/// The position and the format of a jump table's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct JumpTable {
    /// The address of the first entry.
    pub(crate) at: u64,
    /// Bytes of an entry.
    pub(crate) size: u8,
    /// The number that is added to each entry after the shift.
    pub(crate) base: u64,
    /// The number of bits by which an entry is shifted to the left.
    pub(crate) shift: u8,
    pub(crate) signed: bool,
    pub(crate) entries: Entries,
}

/// How many entries a jump table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Entries {
    /// As many as the check of the index allows.
    Checked(u64),
    /// At most this number.
    AtMost(u64),
}

impl JumpTable {
    /// The target of an entry with these bytes.
    pub(super) fn target(&self, entry: &[u8], address_bits: u32) -> u64 {
        let mut value = entry.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
        if self.signed && self.size < 8 {
            value = integer::signed(value, self.size) as u64;
        }
        let target = self.base.wrapping_add(value.wrapping_shl(u32::from(self.shift)));
        if address_bits == 32 { target & u64::from(u32::MAX) } else { target }
    }

    /// Whether the entries are addresses and no check limits the index. The programmer may have
    /// written such a table (`goto *labels[op]`), and it may have holes.
    pub(super) fn may_have_holes(&self) -> bool {
        self.base == 0 && matches!(self.entries, Entries::AtMost(_))
    }
}

/// What an instruction set can ask about a function to find the tables of a jump. Instructions are
/// counted by address.
pub(crate) trait JumpTableSearch {
    /// The address and the code of an instruction.
    fn code(&self, index: usize) -> Option<(u64, &[u8])>;

    /// All instructions that may have written a register before the instruction at `index`, by the
    /// bit in [`Effects::written`](super::instruction::Effects); `None` if they are not known.
    fn definitions(&mut self, index: usize, register: u64) -> Option<Vec<usize>>;

    /// The only one of [`Self::definitions`]; `None` if there are several.
    fn definition(&mut self, index: usize, register: u64) -> Option<usize> {
        match *self.definitions(index, register)? {
            [one] => Some(one),
            _ => None,
        }
    }

    /// The only predecessor of an instruction.
    fn only_predecessor(&self, index: usize) -> Option<usize>;

    /// Whether a branch is taken on the way to the instruction at `index`. The branch is that
    /// instruction's only predecessor.
    fn is_taken(&self, branch: usize, index: usize) -> bool;

    /// Whether an instruction may write one of the registers.
    fn may_write(&self, index: usize, registers: u64) -> bool;

    /// Whether an instruction is a call.
    fn is_call(&self, index: usize) -> bool;
}

/// How many instructions before the jump are searched for the check of an index.
const FAR: usize = 200;

/// How many moves and additions are followed to a constant.
pub(crate) const MOVES: u32 = 3;

/// The way back from a table to the check of its index.
pub(crate) struct Walk<H> {
    /// What holds the index.
    pub(crate) holder: H,
    /// After a branch on "above" or its opposite: the number of index values, less the number in
    /// the comparison. `None` if there was no such branch, or another instruction sets its flags.
    pub(crate) beyond: Option<u64>,
    /// How many values the index can have because of its size.
    pub(crate) limit: u64,
}

/// What an instruction on the way back shows.
pub(crate) enum TableStep {
    /// Go on to the instruction before it.
    Continue,
    /// The index has this many values.
    Found(u64),
    /// There is no check, or an unknown form of one.
    GiveUp,
}

/// How many values an index may have at the instruction at `index`. `step` gets each instruction on
/// the way back, and the one after it.
///
/// Goes back over instructions with one predecessor each. So every path to the jump passes the
/// check.
pub(crate) fn bound<H>(
    search: &dyn JumpTableSearch,
    mut index: usize,
    holder: H,
    step: impl Fn(&mut Walk<H>, usize, usize) -> TableStep,
) -> Entries {
    let mut walk = Walk { holder, beyond: None, limit: u64::MAX };
    for _ in 0..FAR {
        let Some(before) = search.only_predecessor(index) else { break };
        match step(&mut walk, before, index) {
            TableStep::Continue => index = before,
            TableStep::Found(entries) => return Entries::Checked(entries.min(walk.limit)),
            TableStep::GiveUp => break,
        }
    }
    Entries::AtMost(walk.limit)
}
