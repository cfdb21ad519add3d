//! Whether a function keeps something below its stack pointer: the red zone of 128 bytes (System V ABI for
//! x86-64, 3.2.2). Compilers use it only in functions that call nothing, because a callee would
//! overwrite it.

use super::Function;
use super::cfg::{Cfg, Indirect};
use super::instruction::{Instruction, Successors};

impl Cfg {
    /// Whether the function may use its red zone; `true` also if not all of its code is known.
    #[must_use]
    pub(crate) fn may_use_red_zone(&self, function: &Function<'_>) -> bool {
        if self.undecoded.is_some() {
            return true;
        }
        if self.instructions.iter().any(|it| it.successors == Successors::Call) {
            return false;
        }
        // What is jumped to may be another part of the function.
        let leaves = |it: &Instruction| match it.successors {
            Successors::Conditional(target) | Successors::Jump(target) => self.index(target).is_none(),
            _ => false,
        };
        let is_unknown = |indirect: &Indirect| !matches!(indirect, Indirect::JumpTable { .. });
        let reaches = |it: &Instruction| self.set.may_reach_below_stack(it.at, function.code_at(it.at));
        self.indirect.iter().any(|(_, indirect)| is_unknown(indirect))
            || self.instructions.iter().any(|it| leaves(it) || reaches(it))
    }
}
