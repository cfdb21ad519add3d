//! What an instruction does with values, as plain data: which registers get a copy, a sum or a
//! load, and which memory is read and written. `values` and `settled` follow it.

use smallvec::SmallVec;

/// A general-purpose register, by its bit in [`Effects::written`](super::instruction::Effects).
pub(crate) type Gpr = u8;

/// How many general-purpose registers an instruction set has whose values are followed.
pub(crate) const GPRS: usize = 16;

/// A function from an instruction's address and code to what it does with values.
pub(crate) type DataReader = Box<dyn FnMut(u64, &[u8]) -> DataFlow>;

/// How calls pass values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Convention {
    pub(crate) stack_pointer: Gpr,
    /// The registers that calls change.
    pub(crate) clobbered: u64,
    /// The registers that may hold a result of a call.
    pub(crate) results: u64,
    /// The registers that may hold variables that are passed.
    pub(crate) arguments: u64,
    /// The registers that may hold something else that is passed.
    pub(crate) other_arguments: u64,
    /// The registers of the first three integers and pointers that are passed.
    pub(crate) parameters: [Gpr; 3],
}

/// What an instruction does with values. All operands have their values from before the
/// instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DataFlow {
    /// The general-purpose registers that it writes, each with the new value.
    pub(crate) writes: SmallVec<[(Gpr, RegisterValue); 2]>,
    /// The memory that it accesses, in the order of the reads, then the writes.
    pub(crate) accesses: SmallVec<[Access; 1]>,
    /// The memory that it fills in one go, upwards, if its count is not 0.
    pub(crate) fills: Option<Fill>,
    /// Whether it returns to the caller.
    pub(crate) returns: bool,
    /// The bits of registers that it uses.
    pub(crate) uses: SmallVec<[Use; 2]>,
}

impl DataFlow {
    /// The register whose value it only widens, in place; `None` if it does something else.
    pub(crate) fn widens(&self) -> Option<Gpr> {
        let ([(to, computed)], [used]) = (&self.writes[..], &self.uses[..]) else { return None };
        let is_part = match used.how {
            How::Same(of) => of == *to && matches!(used.bits, 0xff | 0xffff),
            How::Signed(of) => of == *to && matches!(used.bits, 0xff | 0xffff | 0xffff_ffff),
            _ => false,
        };
        let is_same = used.register == *to && self.accesses.is_empty();
        (is_same && (is_part || *computed == RegisterValue::Low(*to))).then_some(*to)
    }
}

/// Bits of a register that an instruction uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) register: Gpr,
    pub(crate) bits: u64,
    pub(crate) how: How,
}

/// What the bits of a result say about the bits of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// Nothing: the bits are always used.
    Always,
    /// A bit of the result needs the same bit.
    Same(Gpr),
    /// A bit of the result needs the same bit, and those above the operand need its highest bit.
    Signed(Gpr),
}

/// The new value of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegisterValue {
    /// Anything.
    Unknown,
    /// A register and a constant.
    Sum(Gpr, i64),
    /// The lower 32 bits of a register; the upper ones are 0.
    Low(Gpr),
    /// The lower 32 bits of the sum of a register and a constant; the upper ones are 0.
    LowSum(Gpr, i64),
    /// The 8 bytes in memory that the access with this index reads, or its 4 bytes and zeros.
    Load(usize),
    /// An address of the image.
    Address(u64),
    /// A constant.
    Constant(u64),
}

/// An access of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// What its address counts from.
    pub(crate) base: Base,
    /// Bytes from there.
    pub(crate) offset: i64,
    /// Whether something unknown is added, or the number of bytes is unknown.
    pub(crate) is_indexed: bool,
    /// How many bytes are accessed; 0 if that is not known.
    pub(crate) size: u32,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    /// The register whose lowest bytes are stored, `size` of them.
    pub(crate) stored: Option<Gpr>,
}

/// Memory that an instruction writes as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fill {
    /// The register with the first address.
    pub(crate) to: Gpr,
    /// The register with the number of elements.
    pub(crate) count: Gpr,
    /// Bytes of an element.
    pub(crate) size: u32,
}

/// What an address counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Register(Gpr),
    /// The start of the address space.
    Zero,
    /// A segment, or only an index.
    Unknown,
}
