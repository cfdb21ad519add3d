//! The instruction sets whose code is understood.

use super::instruction_set::InstructionSet;
use super::{aarch64, x86};

/// All instruction sets whose code is understood.
const SUPPORTED: [&dyn InstructionSet; 3] = [&x86::X86_64, &x86::I386, &aarch64::AARCH64];

/// The instruction set of an ELF machine (`e_machine`); `None` if it is not supported.
pub(crate) fn of_machine(machine: u16) -> Option<&'static dyn InstructionSet> {
    SUPPORTED.into_iter().find(|set| set.machine() == machine)
}

#[cfg(test)]
mod tests {
    use object::elf;

    use super::*;

    #[test]
    fn sets_are_found_by_their_machine() {
        for set in SUPPORTED {
            assert_eq!(of_machine(set.machine()).map(InstructionSet::machine), Some(set.machine()));
        }
        assert!(of_machine(elf::EM_RISCV).is_none());
    }
}
