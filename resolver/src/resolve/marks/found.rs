//! A marker that a mark makes, and its places.

use std::sync::Arc;

use super::certainty::PlaceCertainty;
use crate::resolve::pc::Pc;
use crate::resolve::{LineProblem, Origin};

/// A marker that a mark makes.
pub(super) struct FoundMark {
    pub(super) name: String,
    /// Where it is declared.
    pub(super) file: Arc<str>,
    pub(super) line: u32,
    /// The line that decides which variables are declared before it.
    pub(super) scope_line: u32,
    /// The text that is shown, and the arguments.
    pub(super) format: String,
    pub(super) args: String,
    pub(super) sites: Vec<FoundSite>,
    /// Why there are none.
    pub(super) problem: Option<LineProblem>,
}

/// A place of a mark.
pub(super) struct FoundSite {
    pub(super) pc: Pc,
    pub(super) origin: Origin,
    pub(super) certainty: PlaceCertainty,
}
