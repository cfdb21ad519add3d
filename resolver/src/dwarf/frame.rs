//! A place where a variable is read, and the index of the call frames. `call_frames` reads them.

use super::unit::Die;
use crate::address::Vaddr;
use crate::ranges::RangeMap;

/// A place where a variable is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The instruction that is executed next.
    pub pc: Vaddr,
    /// The function that holds the place and was not inlined. Its `DW_AT_frame_base` counts.
    pub function: Option<Die>,
    /// Whether `pc` is the first instruction of the function *and* no branch leads back to it. Only
    /// then do registers have the values they had on entry. gcc and clang turn tail recursion into
    /// a loop to the first instruction, so the address alone proves nothing.
    pub at_entry: bool,
    /// The moment at that address.
    pub moment: Moment,
}

/// A moment at an address. Statements without an instruction change variables there, so that one
/// location of a variable ends at the address and another begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moment {
    /// Before all of these changes: a location that ends at the address holds.
    First,
    /// At a view number of gcc (`DW_AT_GNU_locviews`). Where a list has no view numbers, as
    /// [`Moment::Last`].
    View(u16),
    /// After all of these changes: a location that begins at the address holds. So debuggers read
    /// location lists.
    #[default]
    Last,
}

/// Where the call frame information of an address starts in its section.
#[derive(Debug)]
pub(super) struct Frames {
    pub(super) debug_frame: RangeMap<usize>,
    pub(super) eh_frame: RangeMap<usize>,
}
