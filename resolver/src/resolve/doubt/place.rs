//! Locations as the analyses of `code` know them: registers by their numbers, and addresses as chains of
//! loads from a register or from a place in the image.

use crate::address::Vaddr;
use crate::code::{MemoryPlace, PlaceRoot};
use crate::location::{Binary, Expr, Location, Node, Register, Source, Value, ValueType};
use crate::resolve::instructions::FunctionCode;

/// The register that holds a value, converted or not.
pub(in crate::resolve) fn register(location: &Location) -> Option<Register> {
    match location.source()? {
        Source::Register(register) => Some(*register),
        Source::Value(value) => register_of(value),
        _ => None,
    }
}

/// The registers that hold a value or pieces of it, as they are.
pub(super) fn piece_registers(location: &Location) -> impl Iterator<Item = Register> {
    location.pieces.iter().filter_map(|piece| match piece.source {
        Source::Register(register) => Some(register),
        _ => None,
    })
}

/// The register that a computation only converts.
pub(super) fn register_of(value: &Expr) -> Option<Register> {
    match unconverted(value).node() {
        Node::Register(register, _) => Some(*register),
        _ => None,
    }
}

/// The register whose value at the function's entry a location has, converted or not.
pub(super) fn entered_register(location: &Location) -> Option<Register> {
    let Source::Value(value) = location.source()? else { return None };
    match unconverted(value).node() {
        Node::AtEntry(value) => register_of(value),
        _ => None,
    }
}

/// What a computation converts, or cuts to some bits.
pub(super) fn unconverted(value: &Expr) -> &Expr {
    match value.node() {
        Node::Convert(_, a) | Node::Reinterpret(_, a) | Node::Binary(Binary::And, a, _) => unconverted(a),
        _ => value,
    }
}

/// Whether a location is a known number.
pub(super) fn is_constant(location: &Location) -> bool {
    match location.source() {
        Some(Source::Bytes(_)) => true,
        Some(Source::Value(value)) => matches!(value.node(), Node::Constant(_)),
        _ => false,
    }
}

/// Whether a variable of `size` bytes at a location covers an address that counts from a register.
pub(in crate::resolve) fn covers(location: &Location, size: u64, address: &Expr) -> bool {
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

/// The place at an address, of which only the address is meant; `None` if it is no chain of loads.
pub(super) fn memory_place(code: &FunctionCode<'_>, address: &Expr) -> Option<MemoryPlace> {
    let (root, offsets) = chain(address)?;
    let root = root.place(code)?;
    Some(MemoryPlace { root, offsets, size: 1, object: 0..1, outlives: true, block: Vec::new() })
}

/// What a chain of addresses starts from.
pub(in crate::resolve) enum Root {
    Register(Register),
    Image(Vaddr),
    Thread,
}

impl Root {
    /// The root as the analyses know it; `None` if they do not follow it.
    pub(super) fn place(&self, code: &FunctionCode<'_>) -> Option<PlaceRoot> {
        match self {
            Self::Register(register) => code.register_bit(*register).map(PlaceRoot::Register),
            Self::Image(address) => Some(PlaceRoot::Image(*address)),
            Self::Thread => None,
        }
    }
}

/// An address as a root, and the offsets between and after the loads from it.
pub(in crate::resolve) fn chain(address: &Expr) -> Option<(Root, Vec<i64>)> {
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
