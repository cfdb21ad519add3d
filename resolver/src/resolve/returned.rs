//! `$return`: the result of the function that a site returns from, as the root of a place.
//!
//! The type is that of the function (DWARF 5, 3.3.2), the location follows from the calling convention
//! of the processor (`arch/*/returned.rs`).

use crate::arch::returned_value::{RegisterPart, ResultProblem, ReturnedPlace};
use crate::dwarf::{Die, FunctionResult};
use crate::location::{Expr, Location, Node, Piece, Register, Source, ValueType};

use super::arguments::{Arguments, PlaceObject, Stop};
use super::path::{Locator, Path};
use super::refusal::Refusal;
use super::{Origin, Reason};

/// Why there is no result at a site, by where the site comes from; `None` at a return.
pub(super) fn no_result(origin: Origin) -> Option<ResultProblem> {
    match origin {
        Origin::Return => None,
        Origin::TailCall => Some(ResultProblem::OfTailCall),
        _ => Some(ResultProblem::NotAReturn),
    }
}

impl Arguments<'_> {
    /// The result of the function that holds a stop.
    pub(super) fn returned(&self, stop: &Stop<'_>) -> Result<PlaceObject, Refusal> {
        let unsupported = |problem| Refusal::unsupported(Reason::Result(problem));
        if let Some(problem) = stop.no_result {
            return Err(Refusal::absent(Reason::Result(problem)));
        }
        let function = stop.frame.function.ok_or_else(|| unsupported(ResultProblem::NoFunction))?;
        let FunctionResult::Value(of, _) = self.debug.result_of(function)? else {
            return Err(Refusal::absent(Reason::ReturnsNothing));
        };
        let size = self.debug.type_size(of)?;
        Ok(PlaceObject::root(self.locator.result(function), Path::of_result(function), Some(of), size))
    }
}

impl Locator<'_> {
    /// Where a function leaves its result.
    pub(super) fn result(&self, function: Die) -> Result<Location, Refusal> {
        let unsupported = |problem| Refusal::unsupported(Reason::Result(problem));
        let FunctionResult::Value(_, value) = self.debug.result_of(function)? else {
            return Err(Refusal::absent(Reason::ReturnsNothing));
        };
        let value = value.map_err(unsupported)?;
        let entry = self.debug.entry_of(function)?;
        let entry = entry.or(self.debug.code_of(function)?.first().map(|range| range.start));
        if entry.is_some_and(|entry| self.names.may_have_no_result(entry)) {
            return Err(unsupported(ResultProblem::Changed));
        }
        let set = self.debug.processor().set().ok_or_else(|| unsupported(ResultProblem::Convention))?;
        let place = set.returned(&value, self.names.elf_flags()).map_err(unsupported)?;
        location(place, value.size).ok_or_else(|| Refusal::absent(Reason::ReturnsNothing))
    }
}

/// The location of a result of `size` bytes; `None` if no byte of it is returned.
fn location(place: ReturnedPlace, size: u64) -> Option<Location> {
    let parts = match place {
        ReturnedPlace::MemoryAt(register) => {
            let address = Expr::new(Node::Register(Register(register), ValueType::Generic))?;
            return Some(Location::whole(Source::Memory(address)));
        }
        ReturnedPlace::Registers(parts) => parts,
    };
    if let [RegisterPart { register, offset: 0, size: part }] = *parts.as_slice() {
        if part >= size {
            return Some(Location::whole(Source::Register(Register(register))));
        }
    }
    let (mut pieces, mut end) = (Vec::new(), 0u64);
    let mut push = |bytes: u64, source| {
        if bytes > 0 {
            pieces.push(Piece { bits: Some(bytes.saturating_mul(8)), source, offset: 0 });
        }
    };
    for part in &parts {
        push(part.offset.saturating_sub(end), Source::OptimizedOut);
        push(part.size, Source::Register(Register(part.register)));
        end = part.offset.saturating_add(part.size);
    }
    push(size.saturating_sub(end), Source::OptimizedOut);
    (!parts.is_empty()).then(|| Location { pieces: pieces.into() })
}
