//! Ghosts that clang compiled: each copy has a label in the debug information.
//!
//! A label does not hold its place: the optimiser moves code across it, and drops it with a block or a
//! copy of its function that has no code left. Counts of generated programs (`tests/src/bin/ghosts.rs`)
//! say which to trust.

use super::certainty::{Certainty, GhostPlace, OfUnit};
use super::unit_ghosts::UnitGhosts;
use crate::Error;
use crate::dwarf::{CodeAtLabel, DebugInfo, Label, LabelCopy, LinePlaces};
use crate::resolve::instructions::Instructions;
use crate::resolve::{ApproximateReason, LikelyReason, Origin};

/// How the names of the labels start. The number is their version.
const PREFIX: &[u8] = b"simple_ghost_1_";

/// What the labels of a unit say of ghosts: for each one, in their order.
pub(super) fn find<'a>(
    info: &'a DebugInfo<'a>,
    instructions: Option<&'a Instructions<'a>>,
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
struct Labels<'a> {
    info: &'a DebugInfo<'a>,
    instructions: Option<&'a Instructions<'a>>,
    unit: usize,
    is_from_link_time: bool,
}

impl Labels<'_> {
    fn place(&self, label: &Label, copy: &LabelCopy, known: &mut LinePlaces) -> Result<GhostPlace, Error> {
        let place = |address, certainty| GhostPlace { address, origin: Origin::Label, certainty };
        let Some(at) = copy.address else { return Ok(place(None, Certainty::Likely(LikelyReason::Label))) };
        let code = self.instructions.zip(copy.function).and_then(|(all, function)| all.function(function));
        // clang 14 puts the label of a block behind a call in front of the padding before the
        // block, where other ways into the block do not pass.
        let behind = code.as_ref().map_or(at, |code| code.after_padding(at));
        // Behind the end of an inlined copy is the code of its caller.
        let address = if self.info.is_in_instance(self.unit, copy, behind)? { behind } else { at };
        let places = self.info.places_of_line_at(known, self.unit, address)?;
        let facts = LabelFacts {
            places,
            missing: label.missing,
            code: self.info.code_at_label(self.unit, &label.declared, address)?,
            is_branch: code.as_ref().is_some_and(|code| code.is_conditional(address)),
            is_inlined: copy.is_inlined(),
            is_from_link_time: self.is_from_link_time,
        };
        let certainty = judge(&facts);
        Ok(place(Some(address), certainty))
    }
}

/// What is known of the place of a label.
struct LabelFacts {
    /// How many places the line of the label has at its address.
    places: u32,
    /// How many copies of the label's function have no label.
    missing: u32,
    code: CodeAtLabel,
    /// Whether a conditional branch is at the place.
    is_branch: bool,
    is_inlined: bool,
    is_from_link_time: bool,
}

/// A rule: why hits at the place are not the passes of the ghost; `None` if it knows nothing against it.
type LabelRule = fn(&LabelFacts) -> Option<ApproximateReason>;

/// All rules. The first reason counts.
const RULES: [LabelRule; 4] = [repeated_line, missing_copies, inside_statement, earlier_branch];

fn judge(facts: &LabelFacts) -> Certainty {
    match RULES.iter().find_map(|rule| rule(facts)) {
        Some(reason) => Certainty::Approximate(reason),
        None if facts.is_inlined => Certainty::Likely(LikelyReason::Inlined),
        None if facts.is_from_link_time => Certainty::Likely(LikelyReason::LinkTime),
        None => Certainty::Likely(LikelyReason::Label),
    }
}

/// LLVM keeps one label of all copies that it makes of a piece of code.
fn repeated_line(&LabelFacts { places, .. }: &LabelFacts) -> Option<ApproximateReason> {
    (places > 1).then_some(ApproximateReason::RepeatedLine { places })
}

/// It drops a label with a copy that has no code left.
fn missing_copies(&LabelFacts { missing, .. }: &LabelFacts) -> Option<ApproximateReason> {
    (missing > 0).then_some(ApproximateReason::MissingCopies { count: missing })
}

/// It makes copies in one piece, too: of an unrolled loop.
fn inside_statement(facts: &LabelFacts) -> Option<ApproximateReason> {
    (facts.code == CodeAtLabel::Inside).then_some(ApproximateReason::InsideStatement)
}

/// It moves a label in front of the branch that decides whether the ghost is passed.
fn earlier_branch(facts: &LabelFacts) -> Option<ApproximateReason> {
    (facts.code == CodeAtLabel::Before && facts.is_branch).then_some(ApproximateReason::EarlierBranch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_counts() {
        let plain = || LabelFacts {
            places: 1,
            missing: 0,
            code: CodeAtLabel::Before,
            is_branch: false,
            is_inlined: false,
            is_from_link_time: false,
        };
        assert_eq!(judge(&plain()), Certainty::Likely(LikelyReason::Label));
        assert_eq!(
            judge(&LabelFacts { is_inlined: true, is_from_link_time: true, ..plain() }),
            Certainty::Likely(LikelyReason::Inlined)
        );
        assert_eq!(
            judge(&LabelFacts { is_from_link_time: true, ..plain() }),
            Certainty::Likely(LikelyReason::LinkTime)
        );
        let approximate = |facts: LabelFacts| match judge(&facts) {
            Certainty::Approximate(reason) => reason.name(),
            other => panic!("{other:?}"),
        };
        assert_eq!(approximate(LabelFacts { is_branch: true, ..plain() }), "approximate_earlier_branch");
        let inside = || LabelFacts { code: CodeAtLabel::Inside, is_branch: true, ..plain() };
        assert_eq!(approximate(inside()), "approximate_inside_statement");
        assert_eq!(approximate(LabelFacts { missing: 2, ..inside() }), "approximate_missing_copies");
        assert_eq!(approximate(LabelFacts { missing: 2, places: 2, ..inside() }), "approximate_repeated_line");
    }
}
