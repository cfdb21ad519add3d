//! What is known of an argument at a site when it is doubted.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use super::place::{entered_register, register};
use crate::address::Vaddr;
use crate::code::Block;
use crate::dwarf::{Change, SharingVariable};
use crate::location::{Expr, Location};
use crate::rates::Compiler;
use crate::resolve::Argument;
use crate::resolve::arguments::FollowedPointer;
use crate::resolve::instructions::FunctionCode;

/// The most instructions of the range of a location that a rule looks at.
pub(super) const STEPS: usize = 4096;
/// The most instructions in other ranges that it looks at.
pub(super) const OUTSIDE: usize = 64;

/// An argument at a site, and what is known around it.
pub(in crate::resolve) struct Case<'c> {
    /// The argument as the debug information describes it. It has a location.
    pub(in crate::resolve) argument: &'c Argument,
    pub(in crate::resolve) location: &'c Location,
    pub(in crate::resolve) pc: Vaddr,
    /// The code of the function that holds the site; `None` if it is not known.
    pub(in crate::resolve) code: Option<&'c FunctionCode<'c>>,
    /// What the debug information says of the argument elsewhere.
    pub(in crate::resolve) description: &'c dyn Description,
    /// The compiler of that function; `None` if it is none of those whose values were measured. Rules take
    /// it for LLVM.
    pub(in crate::resolve) compiler: Option<Compiler>,
    /// How the location of its variable changes at the site; `None` if it does not.
    pub(in crate::resolve) change: Option<Change>,
    /// Whether the argument is the address of a place or a bit-field. We compute these, not the
    /// compiler.
    pub(in crate::resolve) is_ours: bool,
    /// Whether its variable is a parameter.
    pub(in crate::resolve) is_parameter: bool,
    /// Whether the marker's function is inlined at the site.
    pub(in crate::resolve) is_inlined: bool,
    /// The object in memory that it is a part of: bytes before it, and bytes from it to the end.
    pub(in crate::resolve) object: (u64, u64),
    /// Whether it is behind a pointer that the argument names. A variable in memory that is behind
    /// no pointer is gone when the function returns.
    pub(in crate::resolve) is_behind: bool,
    /// The pointers in memory that the argument follows.
    pub(in crate::resolve) way: &'c [FollowedPointer],
    /// The block of the site, once it was asked for.
    pub(in crate::resolve) block: OnceCell<Option<Block>>,
}

/// What the debug information says of an argument, and of the code around its site.
pub(in crate::resolve) trait Description {
    /// Where the argument is at another address of the function; `None` if it cannot be read there.
    fn location_at(&self, pc: Vaddr) -> Option<Location>;

    /// Where the argument is on each way to the site, before the changes there.
    fn before(&self) -> Vec<PreviousPlace>;

    /// A location as the assembler and C write it.
    fn text(&self, location: &Location) -> Arc<str>;

    /// Whether it is known which lines the function of the marker has.
    fn has_lines(&self) -> bool;

    /// The line of an instruction, if it is of the marker's file.
    fn line(&self, at: Vaddr) -> Option<u32>;

    /// Where the line of an instruction is, seen from the marker.
    fn side(&self, at: Vaddr) -> SourceSide;

    /// Whether an instruction is a part of the marker's function, also where that is inlined.
    fn is_in_instance(&self, at: Vaddr) -> bool;

    /// The addresses of the block that declares the object at an address; `None` if it exists in all
    /// of the function, or that is not known.
    fn block_of_object(&self, address: &Expr) -> Option<Vec<Range<u64>>>;

    /// The addresses of the scope that declares the argument's variable; empty if that is not known.
    fn scope_of_variable(&self) -> Vec<Range<u64>>;

    /// The variable in scope that has the location of the argument's variable; `None` if there is none.
    fn shared(&self) -> Option<SharingVariable>;

    /// Whether no variable of the function has a location list, and one that holds for all of its scope
    /// has a location of which `is_meant` is true.
    fn has_only_whole_scopes(&self, is_meant: &dyn Fn(&Location) -> bool) -> bool;

    /// Whether a function that is inlined in the marker's function, with code in a range, lost a parameter
    /// that is a pointer to the type of the argument's variable.
    fn lost_pointer_in(&self, range: &Range<u64>) -> bool;
}

/// Where an argument is on a way to its site.
pub(in crate::resolve) struct PreviousPlace {
    /// The instruction that leads to the site; `None` if it is not known.
    pub(in crate::resolve) instruction: Option<u64>,
    /// The location at that instruction; `None` if it cannot be read there.
    pub(in crate::resolve) location: Option<Location>,
}

/// Where a line is, seen from the marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::resolve) enum SourceSide {
    Before,
    After,
    /// On the marker's line, in another function, or not known.
    Neither,
}

/// The register that holds an argument: its number and its mask in those of `code`.
pub(super) struct ArgumentRegister {
    pub(super) number: u32,
    pub(super) mask: u64,
}

impl Case<'_> {
    pub(super) fn is_by_gcc(&self) -> bool {
        self.compiler == Some(Compiler::Gcc)
    }

    pub(super) fn is_by_rustc(&self) -> bool {
        self.compiler == Some(Compiler::Rustc)
    }

    /// The addresses where the location at the site holds; `None` if it holds in all of the scope.
    pub(super) fn range(&self) -> Option<&Range<u64>> {
        self.argument.ranges.iter().find(|range| range.contains(&self.pc.0))
    }

    /// Whether the argument is a variable, and no part of one.
    pub(super) fn is_variable(&self) -> bool {
        self.argument.text.trim() == &*self.argument.name && !self.argument.name.contains("::")
    }

    /// The general-purpose register that holds the argument, converted or not.
    pub(super) fn held(&self) -> Option<ArgumentRegister> {
        let number = self.code?.register_bit(register(self.location)?)?;
        Some(ArgumentRegister { number, mask: 1u64.checked_shl(number)? })
    }

    /// The general-purpose register whose value at the entry of the function is the argument, converted or not.
    pub(super) fn entered(&self) -> Option<u32> {
        self.code?.register_bit(entered_register(self.location)?)
    }

    /// The instructions that run exactly when the site is passed; `None` if they, or the lines around the
    /// marker, are not known.
    pub(super) fn block(&self) -> Option<&Block> {
        let block = || self.code?.block(self.pc).filter(|_| self.description.has_lines());
        self.block.get_or_init(block).as_ref()
    }

    /// What made the value of a register at the site; `None` if that is not known.
    pub(super) fn made(&self, number: u32) -> Option<Vec<Vaddr>> {
        self.code?.made(self.pc, number, self.argument.size?)
    }

    /// The first instruction from the site on, in its block, that writes a register: its address, and that
    /// of the instruction behind it.
    pub(super) fn next_write(&self, mask: u64) -> Option<(Vaddr, Option<Vaddr>)> {
        let (code, after) = (self.code?, &self.block()?.after);
        let index = after.iter().position(|at| code.writes(at.0, mask))?;
        Some((*after.get(index)?, after.get(index.checked_add(1)?).copied()))
    }

    /// The line of the branch that ends the block of the site.
    pub(super) fn branch_line(&self) -> Option<u32> {
        self.description.line(*self.block()?.after.last()?)
    }
}
