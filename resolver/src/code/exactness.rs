//! Does a probe at an address fire when, and only when, the marker there is passed.
//!
//! A marker has no length. It stands between two instructions, and its address is that of the second: whatever leads there from
//! elsewhere passes the address without the marker. What is not proven is not exact.

use super::flow::{Flow, Indirect, Kind};
use super::{Arch, Way, WayIn};
use crate::address::Vaddr;

/// Whether a probe fires when, and only when, the marker is passed, and by which ways its address is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The verdict.
    pub exactness: Exactness,
    /// All known ways to the address; empty for [`Exactness::Outside`].
    pub ways: Vec<WayIn>,
}

/// How sure it is that a probe stands for the marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exactness {
    /// It fires when, and only when, the marker is passed.
    Exact(Why),
    /// There are two or more ways to the address: it may also fire on one that does not pass the marker.
    Shared,
    /// Markers of different functions are at the address, for the linker folded the functions. Not told from the instructions: the caller
    /// that knows all markers sets it.
    Folded,
    /// The address is not in the function.
    Outside,
    /// Not known.
    Unproven(Unproven),
}

/// Why a site is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// The marker has an instruction of its own.
    Anchored,
    /// The address is where the function is entered, and nothing else leads there.
    Entry,
    /// The instruction before goes on past the marker, and nothing else leads there.
    FallThrough,
    /// One branch leads there, and nothing else.
    OneWayIn,
}

/// Why it is not known whether a site is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unproven {
    /// These bytes of the function are no instruction.
    Undecoded(Vaddr),
    /// The address is in the middle of an instruction.
    InsideInstruction,
    /// This indirect jump may lead to the address.
    Indirect(Vaddr),
    /// Nothing that is known leads to the address: it is dead, or reached in a way that the instructions do not show.
    NoWayIn,
}

impl Flow {
    /// Whether a probe at `pc` stands for a marker there. `anchored`: the marker emitted a one-byte no-operation (AArch64: a `nop`) of its
    /// own at `pc`; believed only where there is one.
    #[must_use]
    pub fn exactness(&self, pc: Vaddr, anchored: bool) -> Verdict {
        if !self.contains(pc) {
            return Verdict { exactness: Exactness::Outside, ways: Vec::new() };
        }
        let unproven = |why, ways| Verdict { exactness: Exactness::Unproven(why), ways };
        let Some(index) = self.index(pc.0) else {
            // Behind what is no instruction there are none either.
            let why = self.undecoded.map_or(Unproven::InsideInstruction, Unproven::Undecoded);
            return unproven(why, Vec::new());
        };
        let ways = self.ways_to(index);
        let length = if self.arch == Arch::Aarch64 { 4 } else { 1 };
        if anchored && self.is(index, |it| it.kind == Kind::Padding && it.size == length) {
            return Verdict { exactness: Exactness::Exact(Why::Anchored), ways };
        }
        if ways.len() > 1 {
            return Verdict { exactness: Exactness::Shared, ways };
        }
        if let Some(at) = self.undecoded {
            return unproven(Unproven::Undecoded(at), ways);
        }
        let is_mark = self.is(index, |it| it.kind == Kind::Mark);
        let jump = self.indirect.iter().find(|(_, what)| match what {
            Indirect::Unknown => true,
            Indirect::Marked => is_mark,
            Indirect::Table { .. } | Indirect::Leaves => false,
        });
        if let Some(&(jump, _)) = jump {
            return unproven(Unproven::Indirect(jump), ways);
        }
        let why = match ways.first().map(|way| way.way) {
            None => return unproven(Unproven::NoWayIn, ways),
            Some(Way::Entry) => Why::Entry,
            Some(Way::FallThrough | Way::CallReturn) => Why::FallThrough,
            Some(_) => Why::OneWayIn,
        };
        Verdict { exactness: Exactness::Exact(why), ways }
    }
}
