//! Where a function is left.

use std::sync::Arc;

use super::ExitGap;
use crate::address::Vaddr;

/// Where a function is left, as the instructions say. Each list is in the order of the addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Exits {
    /// The instructions that return to the caller.
    pub(super) returns: Vec<Vaddr>,
    /// The jumps to other functions, with their names; `None` if a name is not known.
    pub(super) tail_calls: Vec<(Vaddr, Option<Arc<str>>)>,
    /// Why it may be left elsewhere too; empty if it is not.
    pub(super) gaps: Vec<ExitGap>,
}
