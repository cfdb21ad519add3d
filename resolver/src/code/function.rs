//! The machine code of a function, with the edges that its instructions do not show.

use std::ops::Range;

use super::edge::Edge;
#[cfg(doc)]
use super::edge::EdgeKind;
use crate::address::Vaddr;

/// The machine code of one function.
#[derive(Clone, Debug)]
pub(crate) struct Function<'a> {
    /// Where calls enter it.
    pub(crate) entry: Vaddr,
    /// All of its code. Compilers split functions (`.cold`, `.part.0`), and the ranges jump into
    /// each other.
    pub(crate) ranges: Vec<CodeRange<'a>>,
    /// Edges that the instructions do not show, each with its target: [`EdgeKind::LandingPad`],
    /// [`EdgeKind::Patched`], [`EdgeKind::Fixup`] and [`EdgeKind::OtherFunction`].
    pub(crate) hidden_edges: Vec<(Vaddr, Edge)>,
    /// Whether `hidden_edges` has all landing pads. If not, code without a predecessor may be a
    /// landing pad of any call.
    pub(crate) landing_pads_known: bool,
    /// Whether execution may continue after a trap. In a kernel `WARN()` is a `ud2` or `brk` that
    /// returns; in a program no trap does.
    pub(crate) traps_return: bool,
}

impl<'a> Function<'a> {
    /// The code from an address on; empty if the function has none there.
    pub(super) fn code_at(&self, at: u64) -> &'a [u8] {
        let from = |range: &CodeRange<'a>| {
            let offset = usize::try_from(at.checked_sub(range.start.0)?).ok()?;
            range.bytes.get(offset..).filter(|bytes| !bytes.is_empty())
        };
        self.ranges.iter().find_map(from).unwrap_or_default()
    }

    /// A function of a program, of which all code and all edges are in these bytes.
    #[cfg(test)]
    pub(super) fn in_one_piece(entry: Vaddr, bytes: &'a [u8]) -> Self {
        let ranges = vec![CodeRange { start: entry, bytes }];
        Self { entry, ranges, hidden_edges: Vec::new(), landing_pads_known: true, traps_return: false }
    }
}

/// Consecutive bytes of code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodeRange<'a> {
    /// The address of the first byte.
    pub(crate) start: Vaddr,
    /// The code.
    pub(crate) bytes: &'a [u8],
}

impl CodeRange<'_> {
    pub(super) fn addresses(&self) -> Range<u64> {
        self.start.0..self.start.0.saturating_add(self.bytes.len() as u64)
    }
}
