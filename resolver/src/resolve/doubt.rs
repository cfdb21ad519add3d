//! Whether the location of an argument holds the value that the source has at the marker
//! (`docs/measured/truth.md`).
//!
//! Debug information describes a variable for addresses, and a marker is between two statements. A
//! statement without an instruction moves a variable at the marker's own address. A store that
//! nothing reads is delayed or dropped. So what the debug information says is doubted unless the
//! instructions confirm it.

mod copies;
mod moved_behind;
mod not_tracked;
mod step_ahead;
mod written_inlined;

use std::ops::Range;
use std::sync::Arc;

pub(super) use copies::doubt_copies;
pub(super) use moved_behind::moved_behind;
pub(super) use not_tracked::not_tracked;
pub(super) use step_ahead::step_ahead;
pub(super) use written_inlined::written_inlined;

use super::Reason;
use super::computed;
use super::instructions::Instructions;
use crate::address::Vaddr;
use crate::code::{Made, MemoryPlace, NextUse, PlaceRoot, ValuePlace};
use crate::dwarf::{Change, Die};
use crate::location::{Binary, Expr, Location, Node, Piece, Register, Source, Value, ValueType};

/// What is known of an argument besides its location.
pub(super) struct Evidence<'e> {
    pub(super) location: &'e Location,
    /// How its variable's location changes at the site; `None` if it does not.
    pub(super) change: Option<Change>,
    /// Whether the debug information computes the value with an operation that is no part of the
    /// location, because it had only constants, or changed nothing.
    pub(super) is_folded: bool,
    /// Where the argument is before the change, on each way to the site.
    pub(super) before: Vec<Before>,
    /// Whether the argument is the address of a place or a bit-field. We compute these, not the
    /// compiler.
    pub(super) is_ours: bool,
    /// The size of the value in bytes.
    pub(super) size: Option<u64>,
    /// Whether it is 0 or 1.
    pub(super) is_boolean: bool,
    /// The object in memory that it is a part of: bytes before it, and bytes from it to the end.
    pub(super) object: (u64, u64),
    /// Whether it is behind a pointer that the argument names. A variable in memory that is behind
    /// no pointer is gone when the function returns.
    pub(super) is_behind: bool,
    pub(super) is_by_gcc: bool,
    /// The addresses of the block that declares the object at an address; `None` if it exists in all
    /// of the function, or that is not known.
    pub(super) block: &'e dyn Fn(&Expr) -> Option<Vec<Range<u64>>>,
}

/// Where an argument is on a way to its site.
pub(super) struct Before {
    /// The instruction that leads to the site; `None` if it is not known.
    pub(super) instruction: Option<u64>,
    /// The location at that instruction; `None` if it cannot be read there.
    pub(super) location: Option<Location>,
    /// The location as the assembler and C write it.
    pub(super) text: Option<Arc<str>>,
}

/// The code around a site.
pub(super) struct Code<'r, 'c, 'i, 'data, 's> {
    pub(super) instructions: Option<&'r Instructions<'c, 'i, 'data, 's>>,
    pub(super) function: Option<Die>,
    pub(super) pc: Vaddr,
    /// The size of the function's result in bytes; `None` if that is not known.
    pub(super) result: Option<u64>,
}

/// Why a value is doubtful; `None` if nothing is known against it.
pub(super) fn doubt(evidence: &Evidence<'_>, code: &Code<'_, '_, '_, '_, '_>) -> Option<Reason> {
    // gcc was wrong about a third of the members that begin within a register.
    let is_within = |piece: &Piece| piece.offset > 0 && matches!(piece.source, Source::Register(_));
    let is_in_loop = || code.instructions.zip(code.function).is_none_or(|(all, of)| all.is_in_loop(of, code.pc));
    let is_computed = !evidence.is_ours
        && match evidence.is_by_gcc {
            true => computed::is_uncertain_by_gcc(evidence.location, is_in_loop),
            false => evidence.is_folded || computed::is_computed(evidence.location, is_in_loop),
        }
        || evidence.is_by_gcc && evidence.location.pieces.iter().any(is_within);
    changes(evidence, code)
        .or_else(|| is_computed.then_some(Reason::Computed))
        .or_else(|| unsettled(evidence, code))
        .or_else(|| partly_used(evidence, code))
}

fn changes(evidence: &Evidence<'_>, code: &Code<'_, '_, '_, '_, '_>) -> Option<Reason> {
    let change = evidence.change?;
    if evidence.before.is_empty() {
        return Some(Reason::BeginsHere);
    }
    evidence.before.iter().find_map(|before| {
        let is_written = |location: &Location| before.instruction.is_some_and(|at| code.is_written(at, location));
        match &before.location {
            // The instruction before the site overwrites the value and makes the next one.
            Some(location)
                if location == evidence.location
                    || (is_written(location) && is_written(evidence.location))
                    || code.are_equal(location, evidence.location, evidence.size) =>
            {
                None
            }
            Some(location) => Some(Reason::Replaced { before: Some(location.clone()), text: before.text.clone() }),
            // The instruction before the site makes the value.
            None if is_written(evidence.location) => None,
            None if change == Change::Begins => Some(Reason::BeginsHere),
            None => Some(Reason::Replaced { before: None, text: None }),
        }
    })
}

/// Why the memory that a value is read from may not hold it.
fn unsettled(evidence: &Evidence<'_>, code: &Code<'_, '_, '_, '_, '_>) -> Option<Reason> {
    let mut reads = Vec::new();
    for piece in &*evidence.location.pieces {
        match &piece.source {
            Source::Memory(address) => reads.push(Read::of_piece(address, piece, evidence)),
            Source::Value(value) => add_reads(value, &mut reads),
            Source::Register(_) | Source::Bytes(_) | Source::ImplicitPointer { .. } | Source::OptimizedOut => {}
        }
    }
    reads.into_iter().find_map(|read| code.unsettled(&read, evidence.block))
}

/// The register that holds a value, converted or not.
pub(super) fn register(location: &Location) -> Option<Register> {
    fn converted(value: &Expr) -> Option<Register> {
        match value.node() {
            Node::Register(register, _) => Some(*register),
            Node::Convert(_, a) | Node::Reinterpret(_, a) | Node::Binary(Binary::And, a, _) => converted(a),
            _ => None,
        }
    }
    match location.source()? {
        Source::Register(register) => Some(*register),
        Source::Value(value) => converted(value),
        _ => None,
    }
}

/// Whether the code uses less of the value in a register than the value has.
fn partly_used(evidence: &Evidence<'_>, code: &Code<'_, '_, '_, '_, '_>) -> Option<Reason> {
    let bits = if evidence.is_boolean { 1 } else { u32::try_from(evidence.size?.checked_mul(8)?).ok()? };
    let all = u64::MAX.checked_shr(64u32.checked_sub(bits)?)?;
    let made = code.made(register(evidence.location)?, evidence.size?)?;
    let bits = made.used & all;
    (bits == 0 || (made.is_computed && bits != all)).then_some(Reason::PartlyUsed { bits })
}

/// A read of memory.
struct Read<'e> {
    address: &'e Expr,
    offset: i64,
    size: u64,
    object: (u64, u64),
    outlives: bool,
    /// Whether it is behind a pointer that the argument names.
    is_behind: bool,
}

impl<'e> Read<'e> {
    fn of_piece(address: &'e Expr, piece: &Piece, evidence: &Evidence<'_>) -> Self {
        let size = piece.bits.map(|bits| bits.div_ceil(8)).or(evidence.size).unwrap_or(1).max(1);
        let offset = i64::try_from(piece.offset / 8).unwrap_or(0);
        Self {
            address,
            offset,
            size,
            object: evidence.object,
            outlives: evidence.is_behind,
            is_behind: evidence.is_behind,
        }
    }
}

/// The reads that a computation does.
fn add_reads<'e>(value: &'e Expr, reads: &mut Vec<Read<'e>>) {
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
        Node::Constant(_) | Node::Address(_) | Node::Register(..) => {}
    }
}

impl Code<'_, '_, '_, '_, '_> {
    /// Whether an instruction writes a register that a location needs.
    fn is_written(&self, at: u64, location: &Location) -> bool {
        let (Some(instructions), Some(function)) = (self.instructions, self.function) else { return false };
        let bits = location.registers().into_iter().filter_map(|register| instructions.any_bit(register));
        let registers = bits.fold(0u64, |mask, bit| mask | 1u64.checked_shl(bit).unwrap_or(0));
        instructions.writes(function, at, registers)
    }

    /// What made the value of a register at the site; `None` if that is not known.
    pub(super) fn made(&self, register: Register, size: u64) -> Option<Made> {
        let (instructions, function) = (self.instructions?, self.function?);
        instructions.made(function, self.pc, instructions.register_bit(register)?, (size, self.result))
    }

    /// Whether both locations have the same value at the site.
    fn are_equal(&self, one: &Location, other: &Location, size: Option<u64>) -> bool {
        let (Some(instructions), Some(function), Some(size)) = (self.instructions, self.function, size) else {
            return false;
        };
        let address = |location: &Location| match location.source()? {
            Source::Memory(address) => Some(ValuePlace::Address(memory_place(instructions, address)?)),
            _ => None,
        };
        let value = |location: &Location| match location.source()? {
            Source::Register(register) => Some(ValuePlace::Register(instructions.register_bit(*register)?)),
            Source::Memory(address) => Some(ValuePlace::Memory(memory_place(instructions, address)?)),
            Source::Value(value) => Some(ValuePlace::Address(memory_place(instructions, value)?)),
            _ => None,
        };
        let (places, size) = match (address(one), address(other)) {
            (Some(one), Some(other)) => (Some((one, other)), 8),
            _ => (value(one).zip(value(other)), size),
        };
        places.is_some_and(|(one, other)| instructions.are_equal(function, self.pc, (&one, &other), size))
    }

    fn unsettled(&self, read: &Read<'_>, block: &dyn Fn(&Expr) -> Option<Vec<Range<u64>>>) -> Option<Reason> {
        let unknown = Some(Reason::CodeNotFollowed);
        let Some((root, mut offsets)) = chain(read.address) else { return unknown };
        if matches!(root, Root::Image(_) | Root::Thread) && offsets.len() == 1 {
            return None;
        }
        let (Some(instructions), Some(function)) = (self.instructions, self.function) else { return unknown };
        let Some(root) = root.place(instructions) else { return unknown };
        if let Some(last) = offsets.last_mut() {
            *last = last.wrapping_add(read.offset);
        }
        let (before, after) = read.object;
        let (Ok(before), Ok(after)) = (i64::try_from(before), i64::try_from(after)) else { return unknown };
        let object = before.saturating_neg()..after.max(1);
        let (size, outlives) = (read.size, read.outlives);
        let mut place = MemoryPlace { root, offsets, size, object, outlives, block: Vec::new() };
        if read.is_behind && !instructions.is_object(function, self.pc, &place) {
            return Some(Reason::NotInFrame);
        }
        let mut next = instructions.next_use(function, self.pc, &place);
        if let NextUse::Read(at) | NextUse::Passed(at) = next {
            let is_left = |block: &Vec<Range<u64>>| !block.iter().any(|range| range.contains(&at.0));
            let block = (place.offsets.len() == 1).then(|| block(read.address)).flatten();
            if let Some(block) = block.filter(is_left) {
                place.block = block;
                next = instructions.next_use(function, self.pc, &place);
            }
        }
        match next {
            NextUse::Read(_) | NextUse::Passed(_) | NextUse::Returned(_) => None,
            NextUse::Overwritten(at) => Some(Reason::OverwrittenUnread { at: at.0 }),
            NextUse::Unused => Some(Reason::NeverReadAgain),
            NextUse::Unknown => unknown,
        }
    }
}

fn memory_place(instructions: &Instructions<'_, '_, '_, '_>, address: &Expr) -> Option<MemoryPlace> {
    let (root, offsets) = chain(address)?;
    let root = root.place(instructions)?;
    Some(MemoryPlace { root, offsets, size: 1, object: 0..1, outlives: true, block: Vec::new() })
}

/// What a chain of addresses starts from.
enum Root {
    Register(Register),
    Image(Vaddr),
    Thread,
}

impl Root {
    fn place(&self, instructions: &Instructions<'_, '_, '_, '_>) -> Option<PlaceRoot> {
        match self {
            Self::Register(register) => instructions.register_bit(*register).map(PlaceRoot::Register),
            Self::Image(address) => Some(PlaceRoot::Image(*address)),
            Self::Thread => None,
        }
    }
}

/// Whether a variable of `size` bytes at a location covers an address that counts from a register.
pub(super) fn covers(location: &Location, size: u64, address: &Expr) -> bool {
    let Some(Source::Memory(start)) = location.source() else { return false };
    let (Some((Root::Register(of), start)), Some((Root::Register(register), at))) = (chain(start), chain(address))
    else {
        return false;
    };
    match (start.as_slice(), at.as_slice()) {
        ([start], [at]) => {
            of == register && at.checked_sub(*start).and_then(|at| u64::try_from(at).ok()).is_some_and(|at| at < size)
        }
        _ => false,
    }
}

/// An address as a root, and the offsets between and after the loads from it.
fn chain(address: &Expr) -> Option<(Root, Vec<i64>)> {
    match address.node() {
        Node::Register(register, ValueType::Generic) => Some((Root::Register(*register), vec![0])),
        Node::Address(address) => Some((Root::Image(*address), vec![0])),
        Node::ThreadLocal(_) => Some((Root::Thread, vec![0])),
        Node::Memory { address, size: 8, .. } => {
            let (root, mut offsets) = chain(address)?;
            offsets.push(0);
            Some((root, offsets))
        }
        Node::Binary(operation @ (Binary::Plus | Binary::Minus), base, bytes) => {
            let Node::Constant(Value { bits, .. }) = bytes.node() else { return None };
            let bytes = *bits as i64;
            let bytes = if *operation == Binary::Plus { bytes } else { bytes.wrapping_neg() };
            let (root, mut offsets) = chain(base)?;
            let last = offsets.last_mut()?;
            *last = last.wrapping_add(bytes);
            Some((root, offsets))
        }
        _ => None,
    }
}
