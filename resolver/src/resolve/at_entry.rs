//! Where the function of a frame is entered, for arguments that are only known as what registers had there, and
//! whether a second probe can read them (`docs/live.md`, "Values at the entry").
//!
//! The frame is that of the function out of line, also for an inlined one. Its entry is told from others by
//! the stack pointer at the entry, which call frame information gives at the site.

use super::frame_entry::FoundEntry;
use super::instructions::{Instructions, SiteQuery};
use super::pc::Pc;
use super::site_answer::Surroundings;
use super::site_debug::SiteDebug;
use super::{EntryProblem, EntryReading};
use crate::location::{Expr, Location, Node, Register, Source, ValueType};

/// Finds the entry of the frame of a site if arguments are to be read there, or says why they are not.
pub(super) fn find_entry(
    debug: Option<&SiteDebug<'_>>,
    instructions: Option<&Instructions<'_>>,
    pc: Pc,
    known: &mut Surroundings,
) {
    let readable = known.args.iter().filter_map(|argument| argument.at_entry.as_ref()?.location());
    let mut values: Vec<Expr> = readable.flat_map(Location::entry_values).collect();
    values.dedup();
    if values.is_empty() {
        return;
    }
    let found = debug.zip(instructions).ok_or(EntryProblem::CodeUnknown);
    match found.and_then(|(debug, instructions)| entry(debug, instructions, pc, known, values)) {
        Ok(found) => known.frame_entry = Some(found),
        Err(problem) => {
            for reading in known.args.iter_mut().filter_map(|argument| argument.at_entry.as_mut()) {
                if reading.location().is_some() {
                    *reading = EntryReading::Refused(problem.clone());
                }
            }
        }
    }
}

fn entry(
    debug: &SiteDebug<'_>,
    instructions: &Instructions<'_>,
    pc: Pc,
    known: &Surroundings,
    values: Vec<Expr>,
) -> Result<FoundEntry, EntryProblem> {
    let code = known.instance.and_then(|function| instructions.function(function));
    let code = code.ok_or(EntryProblem::CodeUnknown)?;
    let address = code.entry();
    // A jump back to the first instruction would pass for another call.
    let entry = debug.pc(address).filter(|_| code.is_entry(address)).ok_or(EntryProblem::CodeUnknown)?;
    let stack_pointer = instructions.stack_pointer();
    let here = Expr::new(Node::Register(stack_pointer, ValueType::Generic));
    let here = here.filter(|here| debug.info().entry_stack_pointer(address).as_ref() == Some(here));
    let entry_stack_pointer = here.ok_or(EntryProblem::NoCallFrame)?;
    let at_site = debug.address(pc).and_then(|pc| debug.info().entry_stack_pointer(pc));
    let at_site = at_site.ok_or(EntryProblem::NoCallFrame)?;
    let mut registers: Vec<Register> = values.into_iter().flat_map(registers_of).collect();
    registers.push(stack_pointer);
    let probed = instructions.site(&SiteQuery {
        pc: entry,
        anchored: false,
        is_probe: false,
        owns_instruction: false,
        copies: 1,
        may_be_elsewhere: true,
        function: known.instance,
        is_not_there: false,
        registers: &registers,
    });
    match probed.probe {
        Some(probe) if probe.can_be_put() => {
            Ok(FoundEntry { pc: entry, probe, entry_stack_pointer, stack_pointer: at_site })
        }
        Some(probe) => Err(EntryProblem::NoProbe(probe.reason)),
        None => Err(EntryProblem::NoProbe(None)),
    }
}

/// The registers that a value is computed from.
pub(super) fn registers_of(value: Expr) -> Vec<Register> {
    Location::whole(Source::Value(value)).registers()
}
