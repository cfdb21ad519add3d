//! Whether a probe at a site fires exactly when the marker is passed (`docs/design.md`, "Exactness").
//!
//! [`SiteFacts`] is what is known, and each rule is a function of it in a file of its own. The file begins
//! with what compilers and linkers do. [`paths`] gives the first verdict, from the instructions that lead to
//! the site. Each rule of [`RULES`] may then lower the verdict of those before it.
//!
//! `tests/rust/counting.rs` compares exact sites with counts, on programs that no rule was made with.

mod another_function;
mod copies;
mod folding;
mod hidden_edges;
mod paths;
mod site_facts;

pub(super) use site_facts::{Judgement, SiteFacts};

/// A rule: what becomes of a verdict; `None` if it stays.
type ExactnessRule = fn(&SiteFacts<'_>, &Judgement) -> Option<Judgement>;

/// All rules, in this order.
const RULES: [ExactnessRule; 4] = [another_function::judge, hidden_edges::judge, copies::judge, folding::judge];

/// The verdict on a site.
pub(super) fn judge(facts: &SiteFacts<'_>) -> Judgement {
    RULES.iter().fold(paths::judge(facts), |so_far, rule| rule(facts, &so_far).unwrap_or(so_far))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Vaddr;
    use crate::code::{ExactReason, Outcome, UnprovenReason};
    use crate::resolve::folding::OtherNames;
    use crate::resolve::{Exactness, ExactnessReason, FoldingUnknown, FunctionNames};

    /// A site behind one instruction, with one record.
    fn plain() -> SiteFacts<'static> {
        SiteFacts {
            outcome: Outcome::Exact(ExactReason::FallThrough),
            predecessors: 1,
            layout: None,
            hidden_edges: None,
            anchored: false,
            is_probe: false,
            owns_instruction: false,
            is_not_there: false,
            copies: 1,
            may_be_in_several: false,
            may_be_elsewhere: false,
            names: Vec::new(),
        }
    }

    fn judged(facts: &SiteFacts<'_>) -> (Exactness, &'static str) {
        let Judgement { exactness, reason } = judge(facts);
        (exactness, reason.name())
    }

    #[test]
    fn the_paths_decide_first() {
        assert_eq!(judged(&plain()), (Exactness::Exact, "fall_through"));
        let shared = SiteFacts { outcome: Outcome::Shared, predecessors: 3, ..plain() };
        assert_eq!(judge(&shared).reason, ExactnessReason::SeveralPredecessors { count: 3 });
        assert_eq!(judged(&SiteFacts { outcome: Outcome::Outside, ..plain() }), (Exactness::Outside, "function_ends"));
        let outcome = Outcome::Unproven(UnprovenReason::IndirectJump(Vaddr(0x40)));
        let unproven = judge(&SiteFacts { outcome, ..plain() });
        assert_eq!(unproven, Judgement::unproven(ExactnessReason::IndirectJump { address: 0x40 }));
    }

    #[test]
    fn each_rule_lowers_an_exact_verdict() {
        let another = SiteFacts { is_not_there: true, ..plain() };
        assert_eq!(judged(&another), (Exactness::Unproven, "another_function"));
        let pads = ExactnessReason::LandingPadsUnknown { why: None };
        let hidden = SiteFacts { hidden_edges: Some(&pads), ..plain() };
        assert_eq!(judged(&hidden), (Exactness::Unproven, "landing_pads_unknown"));
        assert_eq!(judged(&SiteFacts { copies: 2, ..plain() }), (Exactness::Shared, "several_copies"));
        let several = SiteFacts { copies: 2, may_be_in_several: true, ..plain() };
        assert_eq!(judged(&several), (Exactness::Unproven, "several_records"));
        let functions = FunctionNames { first: Vec::new().into(), count: 2 };
        let folded = || SiteFacts { names: vec![OtherNames::Several(functions.clone())], ..plain() };
        assert_eq!(judged(&folded()), (Exactness::Folded, "folded_functions"));
        let differ = SiteFacts { may_be_elsewhere: true, ..folded() };
        assert_eq!(judged(&differ), (Exactness::Unproven, "folded_functions_may_differ"));
        let unknown = SiteFacts { names: vec![OtherNames::Unknown(FoldingUnknown::NoSymbol)], ..plain() };
        assert_eq!(judged(&unknown), (Exactness::Unproven, "folding_unknown_no_symbol"));
    }

    #[test]
    fn what_is_not_exact_keeps_its_reason() {
        let copies = SiteFacts { outcome: Outcome::Shared, predecessors: 2, copies: 4, ..plain() };
        let several = Box::new(ExactnessReason::SeveralPredecessors { count: 2 });
        let both = ExactnessReason::AndSeveralRecords { reason: several, records: 4 };
        assert_eq!(judge(&copies), Judgement::new(Exactness::Shared, both));
        let outside = SiteFacts { outcome: Outcome::Outside, copies: 4, ..plain() };
        assert_eq!(judged(&outside), (Exactness::Outside, "function_ends"));
        let names = vec![OtherNames::Unknown(FoldingUnknown::NoSymbol)];
        let shared = SiteFacts { outcome: Outcome::Shared, predecessors: 2, names, ..plain() };
        assert_eq!(judged(&shared), (Exactness::Shared, "several_predecessors"));
    }

    #[test]
    fn an_anchor_stands_before_other_copies_and_hidden_edges() {
        let pads = ExactnessReason::LandingPadsUnknown { why: None };
        let anchor = || SiteFacts {
            outcome: Outcome::Exact(ExactReason::Anchored),
            anchored: true,
            hidden_edges: Some(&pads),
            copies: 2,
            ..plain()
        };
        assert_eq!(judged(&anchor()), (Exactness::Exact, "anchored"));
        let another = SiteFacts { is_not_there: true, ..anchor() };
        assert_eq!(judged(&another), (Exactness::Unproven, "another_function"));
        // A note tells as much as symbols would.
        let unknown = || vec![OtherNames::Unknown(FoldingUnknown::NoSymbol)];
        assert_eq!(
            judged(&SiteFacts { names: unknown(), ..anchor() }),
            (Exactness::Unproven, "folding_unknown_no_symbol")
        );
        let note = SiteFacts { owns_instruction: true, names: unknown(), ..anchor() };
        assert_eq!(judged(&note), (Exactness::Exact, "anchored"));
        // The test of a switch leads to a probe, whatever the function is called.
        let functions = FunctionNames { first: Vec::new().into(), count: 2 };
        let names = vec![OtherNames::Several(functions)];
        let probe = SiteFacts { is_probe: true, is_not_there: true, names, ..anchor() };
        assert_eq!(judged(&probe), (Exactness::Exact, "anchored"));
    }
}
