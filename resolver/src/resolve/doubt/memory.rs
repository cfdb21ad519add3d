//! A value in memory whose store may be missing.
//!
//! A compiler may delay a store until something reads the memory, and drop it if nothing does:
//! `self.n += 1; mark(self.n); self.n += 1;`. The variable is described in memory all the same.
//!
//! The trace: on no way from the site an instruction reads the bytes before another one overwrites them, no
//! callee may read them, and the caller cannot. Code outside of the block that declares the object does not
//! count, because another object may have its bytes there. The pointers that the argument follows, and
//! references, are such values too: `*h.pointer` of a structure that was passed by value.
//!
//! Memory that nothing reads is doubted by rustc only: of such values, 900 of 3,463 by rustc are wrong in
//! generated programs, 516 of 10,830 by clang and none of 9,080 by gcc (seeds 9320 to 9323, 9400 and 9401), and in
//! real programs 58 of 15,967 by rustc and none of 61,178 by the others.
//!
//! Smallest cases: `delayed:element`, `delayed:cleared`. In generated programs (seeds 9320 to
//! 9323) 965 of 22,895 values are wrong that are overwritten, and 299 of 396 where the code cannot be followed.
//! zstd and pulldown-cmark have overwritten ones that are wrong.

use std::ops::Range;

use super::place::{Root, chain};
use super::{Case, Reason};
use crate::code::{MemoryPlace, NextUse};
use crate::location::{Expr, Node, Piece, Source};
use crate::resolve::arguments::FollowedPointer;
use crate::resolve::instructions::FunctionCode;

/// Why the memory that a value is read from may not hold it.
pub(super) fn doubt(case: &Case<'_>) -> Option<Reason> {
    reads(case).iter().find_map(|read| read.unsettled(case))
}

/// The places in memory that a value, and the pointers to it, are read from.
pub(super) fn reads<'c>(case: &Case<'c>) -> Vec<Read<'c>> {
    let mut reads = Vec::new();
    for piece in &*case.location.pieces {
        match &piece.source {
            Source::Memory(address) => reads.push(Read::of_piece(address, piece, case)),
            Source::Value(value) => add_reads(value, &mut reads),
            Source::Register(_) | Source::Bytes(_) | Source::ImplicitPointer { .. } | Source::OptimizedOut => {}
        }
    }
    // A pointer whose store is missing leads elsewhere.
    for pointer in case.way {
        if let Some(Source::Memory(address)) = pointer.location.source() {
            let FollowedPointer { size, object, is_behind, .. } = *pointer;
            reads.push(Read { address, offset: 0, size, object, outlives: is_behind, is_behind: false });
        }
    }
    reads
}

/// A read of memory.
pub(super) struct Read<'c> {
    address: &'c Expr,
    offset: i64,
    size: u64,
    object: (u64, u64),
    outlives: bool,
    /// Whether it is behind a pointer that the argument names.
    pub(super) is_behind: bool,
}

/// What memory an address is in.
pub(super) enum ReadMemory {
    /// A static or thread-local variable.
    Static,
    Place(MemoryPlace),
    /// The address cannot be followed.
    Unknown,
}

impl<'c> Read<'c> {
    fn of_piece(address: &'c Expr, piece: &Piece, case: &Case<'_>) -> Self {
        let size = piece.bits.map(|bits| bits.div_ceil(8)).or(case.argument.size).unwrap_or(1).max(1);
        let offset = i64::try_from(piece.offset / 8).unwrap_or(0);
        let (object, is_behind) = (case.object, case.is_behind);
        Self { address, offset, size, object, outlives: is_behind, is_behind }
    }

    /// The memory that is read.
    pub(super) fn memory(&self, code: Option<&FunctionCode<'_>>) -> ReadMemory {
        let Some((root, mut offsets)) = chain(self.address) else { return ReadMemory::Unknown };
        if matches!(root, Root::Image(_) | Root::Thread) && offsets.len() == 1 {
            return ReadMemory::Static;
        }
        let Some(root) = code.and_then(|code| root.place(code)) else { return ReadMemory::Unknown };
        if let Some(last) = offsets.last_mut() {
            *last = last.wrapping_add(self.offset);
        }
        let (before, after) = self.object;
        let (Ok(before), Ok(after)) = (i64::try_from(before), i64::try_from(after)) else { return ReadMemory::Unknown };
        let object = before.saturating_neg()..after.max(1);
        let (size, outlives) = (self.size, self.outlives);
        ReadMemory::Place(MemoryPlace { root, offsets, size, object, outlives, block: Vec::new() })
    }

    fn unsettled(&self, case: &Case<'_>) -> Option<Reason> {
        let unknown = Some(Reason::CodeNotFollowed);
        let mut place = match self.memory(case.code) {
            ReadMemory::Static => return None,
            ReadMemory::Place(place) => place,
            ReadMemory::Unknown => return unknown,
        };
        let Some(code) = case.code else { return unknown };
        let mut next = code.next_use(case.pc, &place);
        if let NextUse::Read(at) | NextUse::Passed(at) = next {
            let is_left = |block: &Vec<Range<u64>>| !block.iter().any(|range| range.contains(&at.0));
            let block = || case.description.block_of_object(self.address);
            let block = (place.offsets.len() == 1).then(block).flatten();
            if let Some(block) = block.filter(is_left) {
                place.block = block;
                next = code.next_use(case.pc, &place);
            }
        }
        match next {
            NextUse::Read(_) | NextUse::Passed(_) | NextUse::Returned(_) => None,
            NextUse::Overwritten(at) => Some(Reason::OverwrittenUnread { at: at.0 }),
            NextUse::Unused => case.is_by_rustc().then_some(Reason::NeverReadAgain),
            NextUse::Unknown => unknown,
        }
    }
}

/// The reads that a computation does.
fn add_reads<'c>(value: &'c Expr, reads: &mut Vec<Read<'c>>) {
    match value.node() {
        Node::Memory { address, size, .. } => {
            let size = u64::from(*size).max(1);
            reads.push(Read { address, offset: 0, size, object: (0, size), outlives: true, is_behind: false });
        }
        Node::Unary(_, a) | Node::Convert(_, a) | Node::Reinterpret(_, a) | Node::ThreadLocal(a) => add_reads(a, reads),
        Node::Binary(_, a, b) => {
            add_reads(a, reads);
            add_reads(b, reads);
        }
        Node::Constant(_) | Node::Address(_) | Node::Register(..) | Node::AtEntry(_) => {}
    }
}
