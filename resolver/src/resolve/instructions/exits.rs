//! Where functions are left: their returns and tail calls, with the names of the functions that these
//! lead to.

use std::sync::Arc;

use super::Instructions;
use super::decoded_function::Key;
use crate::address::Vaddr;
use crate::code::ExitGap;
use crate::dwarf::Die;
use crate::resolve::ExactnessReason;
use crate::resolve::exits::Exits;

impl Instructions<'_> {
    /// Where a function of the debug information is left; else why its code could not be decoded.
    pub(in crate::resolve) fn exits(&self, function: Die) -> Result<Exits, ExactnessReason> {
        self.exits_of(Key::Described(function))
    }

    /// Where the function of a symbol is left, by the address of its entry; else why its code could not be
    /// decoded.
    pub(in crate::resolve) fn exits_of_symbol(&self, entry: Vaddr) -> Result<Exits, ExactnessReason> {
        self.exits_of(Key::Symbol(entry.0))
    }

    fn exits_of(&self, key: Key) -> Result<Exits, ExactnessReason> {
        let found = self.code_of(key)?.function_exits().ok_or(ExactnessReason::TooMuchCode)?;
        let mut exits = Exits { returns: found.returns, gaps: found.gaps, ..Exits::default() };
        // Compilers write no data between the instructions of a function. Whoever writes assembly may.
        if matches!(key, Key::Described(_)) {
            exits.returns.extend(found.unreached);
        }
        for tail_call in found.tail_calls {
            let name = tail_call.callee.and_then(|callee| self.callee(callee));
            match name {
                Some(name) if self.set.is_return_thunk(&name) => exits.returns.push(tail_call.at),
                name => exits.tail_calls.push((tail_call.at, name.map(Arc::from))),
            }
        }
        for jump in found.inner_jumps {
            let name = jump.callee.and_then(|callee| self.callee(callee));
            if name.is_some_and(|name| self.set.is_return_thunk(&name)) {
                exits.returns.push(jump.at);
                exits.gaps.retain(|gap| *gap != ExitGap::JumpOut(jump.at));
            }
        }
        exits.returns.sort_unstable();
        Ok(exits)
    }
}
