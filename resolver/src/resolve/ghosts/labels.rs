//! Ghosts that clang compiled: each copy has a label in the debug information.
//!
//! A label does not hold its place: the optimiser moves code across it, and drops it with a block or a
//! copy of its function that has no code left. Counts of generated programs (`tests/src/bin/ghosts.rs`)
//! say which to trust.

use super::{Certainty, OfUnit, Place, UnitGhosts};
use crate::Error;
use crate::dwarf::{CodeAtLabel, DebugInfo, Label, LabelCopy, LinePlaces};
use crate::resolve::instructions::Instructions;
use crate::resolve::{ApproximateReason, LikelyReason, Origin};

/// How the names of the labels start. The number is their version.
const PREFIX: &[u8] = b"simple_ghost_1_";

/// What the labels of a unit say of ghosts: for each one, in their order.
pub(super) fn find<'a>(
    info: &DebugInfo<'_>,
    instructions: Option<&'a Instructions<'a, 'a, 'a, 'a>>,
    unit: usize,
    asked: &UnitGhosts<'_>,
) -> Result<Vec<OfUnit>, Error> {
    let mut found: Vec<OfUnit> = asked.ghosts.iter().map(|_| OfUnit::default()).collect();
    let mut known = LinePlaces::default();
    let labels = Labels { info, instructions, unit, is_from_link_time: info.is_from_link_time(unit) };
    for label in info.labels(unit, PREFIX)? {
        let (file, line) = &label.declared;
        let ghost = asked.at(info, file, *line, |ghost| !ghost.shares_line)?;
        let Some(of_unit) = ghost.and_then(|ghost| found.get_mut(ghost)) else { continue };
        of_unit.missing = of_unit.missing.saturating_add(label.missing);
        for copy in &label.copies {
            of_unit.places.push(labels.place(&label, copy, &mut known)?);
        }
    }
    Ok(found)
}

/// The labels of a unit.
struct Labels<'l, 'a, 's> {
    info: &'l DebugInfo<'s>,
    instructions: Option<&'a Instructions<'a, 'a, 'a, 'a>>,
    unit: usize,
    is_from_link_time: bool,
}

impl Labels<'_, '_, '_> {
    fn place(&self, label: &Label, copy: &LabelCopy, known: &mut LinePlaces) -> Result<Place, Error> {
        let place = |address, certainty| Place { address, origin: Origin::Label, certainty };
        let Some(at) = copy.address else { return Ok(place(None, Certainty::Likely(LikelyReason::Label))) };
        let code = self.instructions.zip(copy.function).and_then(|(all, function)| all.function(function));
        // clang 14 puts the label of a block behind a call in front of the padding before the
        // block, where other ways into the block do not pass.
        let behind = code.as_ref().map_or(at, |code| code.after_padding(at));
        // Behind the end of an inlined copy is the code of its caller.
        let address = if self.info.is_in_instance(self.unit, copy, behind)? { behind } else { at };
        let is_branch = || code.as_ref().is_some_and(|code| code.is_conditional(address));
        let places = self.info.places_of_line_at(known, self.unit, address)?;
        let certainty = match self.info.code_at_label(self.unit, &label.declared, address)? {
            // LLVM keeps one label of all copies that it makes of a piece of code.
            _ if places > 1 => Certainty::Approximate(ApproximateReason::RepeatedLine { places }),
            _ if label.missing > 0 => Certainty::Approximate(ApproximateReason::MissingCopies { count: label.missing }),
            // It makes them in one piece, too: of an unrolled loop.
            CodeAtLabel::Inside => Certainty::Approximate(ApproximateReason::InsideStatement),
            CodeAtLabel::Before if is_branch() => Certainty::Approximate(ApproximateReason::EarlierBranch),
            _ if copy.is_inlined() => Certainty::Likely(LikelyReason::Inlined),
            _ if self.is_from_link_time => Certainty::Likely(LikelyReason::LinkTime),
            _ => Certainty::Likely(LikelyReason::Label),
        };
        Ok(place(Some(address), certainty))
    }
}
