//! Edges that the instructions do not show.
//!
//! An exception continues at a landing pad, and a kernel patches its own code. If the tables that say where
//! cannot be read, other instructions may lead to the site. They cannot lead past an anchor.

use super::site_facts::{Judgement, SiteFacts};

/// Lowers an exact verdict if the graph of the function may lack edges.
pub(super) fn judge(facts: &SiteFacts<'_>, so_far: &Judgement) -> Option<Judgement> {
    let unknown = facts.hidden_edges.filter(|_| so_far.is_exact() && !facts.anchored)?;
    Some(Judgement::unproven(unknown.clone()))
}
