//! Reads a value by evaluating its [`Location`](super::Location) against the state of a
//! [`Machine`].
//!
//! The result contains all requested bytes or is an error. Missing bytes are never replaced with
//! zeros (DWARF 5, 2.6.1.2).

use std::ops::Range;

use super::{Expr, InfoOffset, Location, Node, Piece, Register, Source, Value, ValueType};
use crate::address::{RuntimeAddress, Vaddr};

/// Maximum size of a value that can be read, in bytes.
pub const MAX_VALUE_SIZE: u64 = 1 << 20;

/// The machine state against which a location is evaluated: registers and memory, live or recorded.
/// The state belongs to the program counter for which the location was looked up.
pub trait Machine {
    /// All bytes of a register, in memory order. `None` if they are not known.
    fn register(&self, register: Register) -> Option<Vec<u8>>;
    /// Fills `into` with the memory at an address. Returns whether all of it could be read.
    fn read(&self, address: RuntimeAddress, into: &mut [u8]) -> bool;
    /// The load bias: the difference between the image's run-time and link-time addresses.
    fn bias(&self) -> u64;
    /// The address of the byte at an offset in the image's thread-local storage block for this
    /// thread. `None` if the address is not known.
    fn thread_local(&self, offset: u64) -> Option<RuntimeAddress>;
    /// The value that a computation had when the function of the frame was entered. `None` if it is
    /// not known.
    fn at_entry(&self, _of: &Expr) -> Option<Value> {
        None
    }
    /// Size of an address in bytes.
    fn address_size(&self) -> u8;
    /// Whether the machine is big-endian.
    fn is_big_endian(&self) -> bool;
}

/// Why a value cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The register's contents are not known.
    #[error("register {} is not known", .0.0)]
    Register(Register),
    /// The source has fewer bits than requested.
    #[error("{wanted} bits are to be where there are only {present}")]
    Narrow {
        /// Number of bits requested.
        wanted: u64,
        /// Number of bits available.
        present: u64,
    },
    /// The memory cannot be read.
    #[error("{size} bytes of memory at {address} cannot be read")]
    Memory {
        /// Address.
        address: RuntimeAddress,
        /// Size in bytes.
        size: u64,
    },
    /// The address of the thread-local storage block is not known.
    #[error("where the thread-local variable at offset {0:#x} is is not known")]
    ThreadLocal(u64),
    /// A value of the entry of the function is not known.
    #[error("a value at the entry of the function is not known")]
    AtEntry,
    /// The computation divides by zero.
    #[error("the computation divides by 0")]
    DivisionByZero,
    /// The computation applies an operation to types for which it is not defined.
    #[error("the computation mixes types")]
    Types,
    /// The computation converts a number to a type that cannot represent it.
    #[error("the computation has no defined result")]
    Undefined,
    /// Some of the bits have no location.
    #[error("bits {} to {} of the value were removed by the optimiser", .0.start, .0.end)]
    OptimizedOut(
        /// The missing bits, counted from the first bit of the value.
        Range<u64>,
    ),
    /// The pointer was optimised out. It would point `offset` bytes into a variable that may still
    /// have a location.
    #[error("the pointer itself is nowhere")]
    ImplicitPointer {
        /// Offset in `.debug_info` of the entry that describes the variable.
        variable: InfoOffset,
        /// Offset in bytes.
        offset: i64,
    },
    /// The pieces cover fewer bytes than the value has.
    #[error("the pieces make {present} of {wanted} bits")]
    Short {
        /// Number of bits requested.
        wanted: u64,
        /// Number of bits available.
        present: u64,
    },
    /// More than [`MAX_VALUE_SIZE`] bytes are requested.
    #[error("a value of {0} bytes is larger than is read")]
    TooLarge(u64),
    /// The image is big-endian and a piece does not consist of whole bytes.
    #[error("pieces of bits in a big-endian image are not read")]
    BigEndianBits,
}

impl Location {
    /// Reads the first `size` bytes of the value, in memory order.
    ///
    /// # Errors
    ///
    /// Fails if any of these bytes cannot be read.
    pub fn evaluate(&self, machine: &dyn Machine, size: u64) -> Result<Vec<u8>, Unreadable> {
        self.evaluate_part(machine, size, 0..size)
    }

    /// Reads the bytes `part` of a value of `size` bytes. The other bytes need not be readable.
    ///
    /// # Errors
    ///
    /// Fails if any of these bytes cannot be read.
    pub fn evaluate_part(&self, machine: &dyn Machine, size: u64, part: Range<u64>) -> Result<Vec<u8>, Unreadable> {
        let length = part.end.saturating_sub(part.start);
        if length > MAX_VALUE_SIZE || size > u64::MAX / 8 {
            return Err(Unreadable::TooLarge(length.max(size)));
        }
        if part.end > size {
            return Err(Unreadable::Short { wanted: part.end.saturating_mul(8), present: size.saturating_mul(8) });
        }
        let (size, part) = (size * 8, part.start * 8..part.end * 8);
        let mut bits = Bits { bytes: Vec::with_capacity(length as usize), count: 0 };
        // Start of the piece within the value.
        let mut start = 0u64;
        for piece in &*self.pieces {
            if start >= part.end {
                break;
            }
            let count = piece.bits.unwrap_or_else(|| size.saturating_sub(start));
            let end = start.saturating_add(count);
            let wanted = part.start.max(start)..part.end.min(end);
            if wanted.start < wanted.end {
                let within = wanted.start - start..wanted.end - start;
                piece.read(machine, count, within, &mut bits).map_err(|error| match error {
                    Unreadable::OptimizedOut(_) => Unreadable::OptimizedOut(wanted),
                    error => error,
                })?;
            }
            start = end;
        }
        if start < part.end {
            return Err(Unreadable::Short { wanted: size, present: start });
        }
        Ok(bits.bytes)
    }
}

/// A bit string. The least significant bit of each byte comes first.
struct Bits {
    bytes: Vec<u8>,
    count: u64,
}

impl Bits {
    /// Appends the bits `range` of `from`, which must contain them.
    fn add(&mut self, from: &[u8], range: Range<u64>) {
        if range.start % 8 == 0 && range.end % 8 == 0 && self.count % 8 == 0 {
            let bytes = (range.start / 8) as usize..(range.end / 8) as usize;
            self.bytes.extend_from_slice(from.get(bytes).unwrap_or_default());
            self.count = self.count.saturating_add(range.end - range.start);
            return;
        }
        for bit in range {
            let is_set = from.get((bit / 8) as usize).is_some_and(|byte| byte >> (bit % 8) & 1 == 1);
            if self.count % 8 == 0 {
                self.bytes.push(0);
            }
            if let (true, Some(last)) = (is_set, self.bytes.last_mut()) {
                *last |= 1 << (self.count % 8);
            }
            self.count = self.count.saturating_add(1);
        }
    }
}

impl Piece {
    /// Appends the bits `within` of a piece of `count` bits to `bits`.
    fn read(&self, machine: &dyn Machine, count: u64, within: Range<u64>, bits: &mut Bits) -> Result<(), Unreadable> {
        let whole = |number: u64| number % 8 == 0;
        let big = machine.is_big_endian();
        if big && !(whole(count) && whole(self.offset) && whole(within.start) && whole(within.end)) {
            return Err(Unreadable::BigEndianBits);
        }
        let bytes = match &self.source {
            Source::Register(register) => machine.register(*register).ok_or(Unreadable::Register(*register))?,
            Source::Value(expr) => {
                let value = expr.evaluate(machine)?;
                let size = usize::from(value.of.size(machine.address_size()));
                let bytes = value.bits.to_le_bytes();
                let mut bytes = bytes.get(..size).unwrap_or_default().to_vec();
                if big {
                    bytes.reverse();
                }
                bytes
            }
            Source::Bytes(bytes) => bytes.to_vec(),
            Source::Memory(expr) => return self.read_memory(machine, expr, within, bits),
            Source::ImplicitPointer { variable, offset } => {
                return Err(Unreadable::ImplicitPointer { variable: *variable, offset: *offset });
            }
            Source::OptimizedOut => return Err(Unreadable::OptimizedOut(within)),
        };
        let present = bytes.len() as u64 * 8;
        let end = self.offset.saturating_add(count);
        if present < end {
            // A subrange may be readable, but the piece as a whole is inconsistent.
            return Err(Unreadable::Narrow { wanted: end, present });
        }
        // The piece is the low-order bits. In a big-endian register these are the last bytes.
        let start = if big { present - end } else { self.offset };
        bits.add(&bytes, start + within.start..start + within.end);
        Ok(())
    }

    fn read_memory(
        &self,
        machine: &dyn Machine,
        address: &Expr,
        within: Range<u64>,
        bits: &mut Bits,
    ) -> Result<(), Unreadable> {
        let (start, end) = (self.offset.saturating_add(within.start), self.offset.saturating_add(within.end));
        let (first, last) = (start / 8, end.div_ceil(8));
        let address = address.address(machine)?;
        let address = Value::new(ValueType::Generic, address.0.wrapping_add(first), machine.address_size()).bits;
        let size = last - first;
        let mut bytes = vec![0; size as usize];
        if !machine.read(RuntimeAddress(address), &mut bytes) {
            return Err(Unreadable::Memory { address: RuntimeAddress(address), size });
        }
        bits.add(&bytes, start - first * 8..end - first * 8);
        Ok(())
    }
}

impl Expr {
    /// Evaluates the computation.
    ///
    /// # Errors
    ///
    /// Fails if an input cannot be read or if the result is undefined.
    pub fn evaluate(&self, machine: &dyn Machine) -> Result<Value, Unreadable> {
        let size = machine.address_size();
        match self.node() {
            Node::Constant(value) => Ok(Value::new(value.of, value.bits, size)),
            Node::Address(Vaddr(address)) => {
                Ok(Value::new(ValueType::Generic, address.wrapping_add(machine.bias()), size))
            }
            Node::ThreadLocal(offset) => {
                let offset = offset.address(machine)?.0;
                let address = machine.thread_local(offset).ok_or(Unreadable::ThreadLocal(offset))?;
                Ok(Value::new(ValueType::Generic, address.0, size))
            }
            Node::Register(register, of) => {
                let bytes = machine.register(*register).ok_or(Unreadable::Register(*register))?;
                let wanted = usize::from(of.size(size));
                let start = if machine.is_big_endian() { bytes.len().checked_sub(wanted) } else { Some(0) };
                let low = start.and_then(|start| bytes.get(start..start.checked_add(wanted)?));
                let narrow = Unreadable::Narrow { wanted: wanted as u64 * 8, present: bytes.len() as u64 * 8 };
                Ok(Value::new(*of, integer(low.ok_or(narrow)?, machine.is_big_endian()), size))
            }
            Node::Memory { address, size: bytes, to } => {
                let address = address.address(machine)?;
                let mut memory = [0; 8];
                let wanted = u64::from(*bytes);
                let into = memory.get_mut(..usize::from(*bytes)).ok_or(Unreadable::TooLarge(wanted))?;
                if !machine.read(address, into) {
                    return Err(Unreadable::Memory { address, size: wanted });
                }
                Ok(Value::new(*to, integer(into, machine.is_big_endian()), size))
            }
            Node::Unary(operation, of) => of.evaluate(machine)?.unary(*operation, size),
            Node::Binary(operation, a, b) => a.evaluate(machine)?.binary(*operation, b.evaluate(machine)?, size),
            Node::Convert(to, of) => of.evaluate(machine)?.convert(*to, size),
            Node::Reinterpret(to, of) => of.evaluate(machine)?.reinterpret(*to, size),
            Node::AtEntry(of) => machine.at_entry(of).ok_or(Unreadable::AtEntry),
        }
    }

    /// Evaluates the computation as an address.
    fn address(&self, machine: &dyn Machine) -> Result<RuntimeAddress, Unreadable> {
        Ok(RuntimeAddress(self.evaluate(machine)?.convert(ValueType::Generic, machine.address_size())?.bits))
    }
}

/// Interprets up to 8 bytes as an unsigned integer.
fn integer(bytes: &[u8], is_big_endian: bool) -> u64 {
    let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    if is_big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::{Binary, Unary};

    /// A test machine: each byte of memory depends on its address, and the registers are given.
    struct Given {
        is_big_endian: bool,
        registers: Vec<(u16, Vec<u8>)>,
    }

    impl Machine for Given {
        fn register(&self, register: Register) -> Option<Vec<u8>> {
            self.registers.iter().find(|(number, _)| *number == register.0).map(|(_, bytes)| bytes.clone())
        }

        fn read(&self, address: RuntimeAddress, into: &mut [u8]) -> bool {
            for (index, byte) in into.iter_mut().enumerate() {
                *byte = (address.0 as u8).wrapping_add(index as u8);
            }
            address.0 < 0x1_0000
        }

        fn bias(&self) -> u64 {
            0x1000
        }

        fn thread_local(&self, offset: u64) -> Option<RuntimeAddress> {
            (offset < 0x100).then_some(RuntimeAddress(0x2000 + offset))
        }

        fn address_size(&self) -> u8 {
            8
        }

        fn is_big_endian(&self) -> bool {
            self.is_big_endian
        }
    }

    fn little() -> Given {
        Given {
            is_big_endian: false,
            registers: vec![(0, vec![0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]), (1, vec![0xf5, 1])],
        }
    }

    fn big() -> Given {
        Given { is_big_endian: true, ..little() }
    }

    fn pieces(pieces: Vec<(Option<u64>, Source, u64)>) -> Location {
        let piece = |(bits, source, offset)| Piece { bits, source, offset };
        Location { pieces: pieces.into_iter().map(piece).collect() }
    }

    fn memory(address: u64) -> Source {
        Source::Memory(Expr::constant(address))
    }

    fn value(of: ValueType, bits: u64) -> Source {
        Source::Value(Expr::of(Value { of, bits }))
    }

    #[test]
    fn a_value_is_the_low_bits_of_what_holds_it() {
        let register = Location::whole(Source::Register(Register(0)));
        assert_eq!(register.evaluate(&little(), 4), Ok(vec![0x11, 0x22, 0x33, 0x44]));
        assert_eq!(register.evaluate(&big(), 2), Ok(vec![0x77, 0x88]));
        assert_eq!(register.evaluate(&little(), 9), Err(Unreadable::Narrow { wanted: 72, present: 64 }));
        assert_eq!(register.evaluate_part(&little(), 4, 1..3), Ok(vec![0x22, 0x33]));
        assert_eq!(register.evaluate_part(&big(), 4, 1..3), Ok(vec![0x66, 0x77]));
        let number = Location::whole(value(ValueType::Generic, 0x0102));
        assert_eq!(number.evaluate(&little(), 4), Ok(vec![2, 1, 0, 0]));
        assert_eq!(number.evaluate(&big(), 4), Ok(vec![0, 0, 1, 2]));
        assert_eq!(Location::whole(memory(0x20)).evaluate(&little(), 3), Ok(vec![0x20, 0x21, 0x22]));
        assert_eq!(Location::whole(memory(0x20)).evaluate(&big(), 3), Ok(vec![0x20, 0x21, 0x22]));
        assert_eq!(Location::whole(memory(0x20)).evaluate(&big(), 0), Ok(vec![]));
        let known = Location::whole(Source::Bytes([1, 2, 3].into()));
        assert_eq!(known.evaluate(&little(), 2), Ok(vec![1, 2]));
        assert_eq!(known.evaluate(&little(), 4), Err(Unreadable::Narrow { wanted: 32, present: 24 }));
    }

    #[test]
    fn pieces_are_put_together_bit_by_bit() {
        // GCC emits `DW_OP_reg5; DW_OP_bit_piece 3 0; DW_OP_reg1; DW_OP_bit_piece 5 0; DW_OP_reg4;
        // DW_OP_piece 3` for bit-fields.
        let fields = pieces(vec![
            (Some(3), Source::Register(Register(1)), 0),
            (Some(5), value(ValueType::Generic, 0b11010), 0),
            (Some(24), Source::Register(Register(0)), 0),
        ]);
        assert_eq!(fields.evaluate(&little(), 4), Ok(vec![0b1101_0101, 0x11, 0x22, 0x33]));
        assert_eq!(fields.evaluate_part(&little(), 4, 1..2), Ok(vec![0x11]));
        assert_eq!(fields.evaluate(&big(), 4), Err(Unreadable::BigEndianBits));
        // 0x21 0x22 from bit 4 on is 0x222, followed by the 0xf of 0xf5.
        let shifted = pieces(vec![(Some(12), memory(0x20), 12), (Some(4), Source::Register(Register(1)), 4)]);
        assert_eq!(shifted.evaluate(&little(), 2), Ok(vec![0x22, 0xf2]));
        let bytes = pieces(vec![(Some(16), Source::Register(Register(0)), 8), (Some(16), memory(0x40), 8)]);
        assert_eq!(bytes.evaluate(&little(), 4), Ok(vec![0x22, 0x33, 0x41, 0x42]));
        assert_eq!(bytes.evaluate(&big(), 4), Ok(vec![0x66, 0x77, 0x41, 0x42]));
        assert_eq!(bytes.evaluate(&little(), 3), Ok(vec![0x22, 0x33, 0x41]));
        assert_eq!(bytes.evaluate(&little(), 5), Err(Unreadable::Short { wanted: 40, present: 32 }));
        let rest = pieces(vec![(Some(8), memory(1), 0), (None, memory(9), 0)]);
        assert_eq!(rest.evaluate(&little(), 3), Ok(vec![1, 9, 10]));
    }

    #[test]
    fn what_is_gone_is_missed_only_where_it_is_asked_for() {
        let half = pieces(vec![(Some(64), Source::Register(Register(0)), 0), (Some(64), Source::OptimizedOut, 0)]);
        assert_eq!(half.evaluate(&little(), 16), Err(Unreadable::OptimizedOut(64..128)));
        assert_eq!(half.evaluate_part(&little(), 16, 4..12), Err(Unreadable::OptimizedOut(64..96)));
        assert_eq!(half.evaluate_part(&little(), 16, 0..2), Ok(vec![0x11, 0x22]));
        let nowhere = Source::ImplicitPointer { variable: InfoOffset(5), offset: 1 };
        let error = Unreadable::ImplicitPointer { variable: InfoOffset(5), offset: 1 };
        assert_eq!(Location::whole(nowhere).evaluate(&little(), 8), Err(error));
        assert_eq!(
            Location::whole(memory(1)).evaluate(&little(), MAX_VALUE_SIZE + 1),
            Err(Unreadable::TooLarge(MAX_VALUE_SIZE + 1))
        );
        let far = Unreadable::Memory { address: RuntimeAddress(0x1_0000), size: 2 };
        assert_eq!(Location::whole(memory(0x1_0000)).evaluate(&little(), 2), Err(far));
        let unknown = Location::whole(Source::Register(Register(7)));
        assert_eq!(unknown.evaluate(&little(), 2), Err(Unreadable::Register(Register(7))));
        assert_eq!(half.evaluate_part(&little(), 4, 2..5).map_err(|_| ()), Err(()));
    }

    #[test]
    fn computations_ask_the_machine() {
        let read = |node: Node| Expr::new(node).expect("light").evaluate(&little()).map(|value| value.bits);
        let register = |of| Expr::new(Node::Register(Register(0), of)).expect("light");
        assert_eq!(read(Node::Address(Vaddr(0x234))), Ok(0x1234));
        assert_eq!(read(Node::ThreadLocal(Expr::constant(8))), Ok(0x2008));
        assert_eq!(read(Node::ThreadLocal(Expr::constant(0x100))), Err(Unreadable::ThreadLocal(0x100)));
        assert_eq!(read(Node::Register(Register(0), ValueType::Signed(2))), Ok(0x2211));
        assert_eq!(
            read(Node::Register(Register(1), ValueType::Generic)),
            Err(Unreadable::Narrow { wanted: 64, present: 16 })
        );
        let memory = |size| Node::Memory { address: Expr::constant(0x30), size, to: ValueType::Generic };
        assert_eq!(read(memory(2)), Ok(0x3130));
        assert_eq!(Expr::new(memory(3)).expect("light").evaluate(&big()).map(|value| value.bits), Ok(0x30_3132));
        assert_eq!(read(memory(9)), Err(Unreadable::TooLarge(9)));
        assert_eq!(read(Node::Convert(ValueType::Generic, register(ValueType::Signed(1)))), Ok(0x11));
        let divided = Node::Binary(Binary::Div, register(ValueType::Generic), Expr::constant(0));
        assert_eq!(read(divided), Err(Unreadable::DivisionByZero));
        assert_eq!(read(Node::Unary(Unary::Neg, register(ValueType::Unsigned(4)))), Err(Unreadable::Types));
        let float = Expr::of(Value { of: ValueType::Float(8), bits: 3e9f64.to_bits() });
        assert_eq!(read(Node::Convert(ValueType::Signed(4), float.clone())), Err(Unreadable::Undefined));
        assert_eq!(read(Node::Convert(ValueType::Unsigned(4), float)), Ok(3_000_000_000));
    }

    #[test]
    fn a_computation_has_its_bounds() {
        let mut expr = Expr::new(Node::Register(Register(0), ValueType::Generic)).expect("light");
        for _ in 1..super::super::MAX_DEPTH {
            expr = Expr::new(Node::Unary(Unary::Not, expr)).expect("within the bounds");
        }
        assert_eq!(expr.evaluate(&little()).map(|value| value.bits), Ok(!0x8877_6655_4433_2211));
        assert_eq!(Expr::new(Node::Unary(Unary::Not, expr)), None);
        let mut doubled = Expr::constant(1);
        let mut steps = 0;
        while let Some(next) = Expr::new(Node::Binary(Binary::Plus, doubled.clone(), doubled.clone())) {
            (doubled, steps) = (next, steps + 1);
        }
        assert_eq!((steps, doubled.node_count()), (11, 4095));
    }
}
