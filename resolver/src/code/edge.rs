//! The edges of a control-flow graph.

use crate::address::Vaddr;

/// An edge of the control-flow graph, as its target sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Edge {
    /// The predecessor: the instruction that leads to the target. For [`EdgeKind::Entry`] the
    /// target itself.
    pub(crate) from: Vaddr,
    /// How the predecessor leads there.
    pub(crate) kind: EdgeKind,
}

/// How control reaches an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum EdgeKind {
    /// A call of the function.
    Entry,
    /// The preceding instruction continues here, past the marker.
    FallThrough,
    /// The preceding call returns here. Counted also where the callee never returns: the
    /// instructions do not show that.
    CallReturn,
    /// An unconditional jump.
    Jump,
    /// A conditional branch that is taken.
    Conditional,
    /// An entry of a jump table. Two entries with the same target are two edges: both entries of
    /// `case 1: MARK; case 2:` have one address.
    #[strum(serialize = "table")]
    JumpTable {
        /// The index of the entry.
        entry: u32,
    },
    /// The unwinder enters a landing pad.
    LandingPad,
    /// A jump that the kernel patches in at run time.
    Patched,
    /// The kernel continues there after the predecessor faulted.
    Fixup,
    /// A jump from another function.
    #[strum(serialize = "foreign")]
    OtherFunction,
}

impl EdgeKind {
    /// The stable name in JSON (`docs/json.md`, `ways_in`).
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}
