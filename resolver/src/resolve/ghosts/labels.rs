//! Ghosts that clang compiled: each copy has a label in the debug information.

use super::{Asked, Certainty, OfUnit, Place};
use crate::Error;
use crate::dwarf::{DebugInfo, LinePlaces};
use crate::resolve::{ApproximateReason, LikelyReason, Origin};

/// How the names of the labels start. The number is their version.
const PREFIX: &[u8] = b"simple_ghost_1_";

/// What the labels of a unit say of ghosts: for each one, in their order.
pub(super) fn find(info: &DebugInfo<'_>, unit: usize, asked: &Asked<'_>) -> Result<Vec<OfUnit>, Error> {
    let mut found: Vec<OfUnit> = asked.ghosts.iter().map(|_| OfUnit::default()).collect();
    let mut known = LinePlaces::default();
    let is_from_link_time = info.is_from_link_time(unit);
    for label in info.labels(unit, PREFIX)? {
        let (file, line) = &label.declared;
        let ghost = asked.at(info, file, *line, |ghost| !ghost.shares_line)?;
        let Some(of_unit) = ghost.and_then(|ghost| found.get_mut(ghost)) else { continue };
        of_unit.missing = of_unit.missing.saturating_add(label.missing);
        for address in label.copies {
            let places = address.map(|address| info.places_of_line_at(&mut known, unit, address)).transpose()?;
            let certainty = match places {
                // LLVM keeps one label of all copies that it makes of a piece of code.
                Some(places @ 2..) => Certainty::Approximate(ApproximateReason::RepeatedLine { places }),
                _ if is_from_link_time => Certainty::Likely(LikelyReason::LinkTime),
                // Counting the hits of generated programs finds labels behind or before their code, and
                // copies of code without a label: 1 in 30 (`docs/survival.md`).
                _ => Certainty::Likely(LikelyReason::Label),
            };
            of_unit.places.push(Place { address, origin: Origin::Label, certainty });
        }
    }
    Ok(found)
}
