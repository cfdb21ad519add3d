//! What an export asks about the processor of an image.

use super::{ArgumentOmission, ExportError, Tool};
use crate::arch::{InstructionSet, Processor, SUPPORTED};
use crate::location::Register;
use crate::resolve::Architecture;

/// Fails unless the processor is one of those that `accepts` accepts.
pub(super) fn check(
    processor: Architecture,
    accepts: &dyn Fn(&'static dyn InstructionSet) -> bool,
) -> Result<(), ExportError> {
    let is_accepted = |image: &Architecture| Processor::of(*image).set().is_some_and(accepts);
    let supported: Vec<Architecture> = SUPPORTED.iter().copied().filter(is_accepted).collect();
    match supported.contains(&processor) {
        true => Ok(()),
        false => Err(ExportError::Processor { processor, supported }),
    }
}

/// What a tool calls a register.
pub(super) fn register(tool: Tool, register: Register, processor: Processor) -> Result<String, ArgumentOmission> {
    let name = processor.set().and_then(|set| set.tool_register(tool, register.0));
    name.ok_or(ArgumentOmission::Register(tool, register, processor))
}

/// What a tool calls the instruction pointer in an address.
pub(super) fn instruction_pointer(tool: Tool, processor: Processor) -> Result<&'static str, ArgumentOmission> {
    processor.set().and_then(|set| set.instruction_pointer(tool)).ok_or(ArgumentOmission::FixedAddress)
}
