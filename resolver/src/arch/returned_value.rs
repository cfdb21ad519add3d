//! The result of a function as a calling convention sees it, and where that leaves it: plain data for
//! [`InstructionSet::returned`](super::InstructionSet::returned).

/// The result of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReturnedValue {
    /// Bytes of its type, more than 0.
    pub(crate) size: u64,
    pub(crate) kind: ReturnedKind,
    pub(crate) language: CallLanguage,
}

/// What matters of the type of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReturnedKind {
    /// A number or a pointer.
    Scalar(ScalarKind),
    /// A structure, a union or a class. The fields are those of all levels, in any order; empty if it is
    /// larger than [`LARGEST`].
    Aggregate { fields: Vec<ScalarField>, passing: Passing },
}

/// The largest aggregate in bytes that any convention returns in registers.
pub(crate) const LARGEST: u64 = 64;

/// A number or a pointer in an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScalarField {
    /// In bits from the start of the aggregate.
    pub(crate) offset: u64,
    /// In bits.
    pub(crate) size: u64,
    pub(crate) kind: ScalarKind,
    pub(crate) is_bit_field: bool,
    pub(crate) enclosure: Enclosure,
}

/// What a number or a pointer is in, besides structures. A union counts, also if it is in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Enclosure {
    Structure,
    Array,
    Union,
}

/// The kind of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarKind {
    /// An integer, a Boolean, a character or an enumeration.
    Integer,
    /// A pointer or a reference.
    Pointer,
    /// A floating-point number: `half`, `float`, `double` or `long double`.
    Float,
}

/// How a class of C++ is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passing {
    /// As a structure of C.
    Value,
    /// In memory of the caller: it cannot be copied byte by byte.
    Reference,
    /// The debug information does not say.
    Unknown,
}

/// The language of a function, as far as its calls differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallLanguage {
    /// C and C++.
    C,
    /// Rust. A function that is `extern "C"` cannot be told from others.
    Rust,
}

/// Where a result is when its function returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReturnedPlace {
    /// In these registers, by their offsets. Bytes between them are padding.
    Registers(Vec<RegisterPart>),
    /// In memory, at the address that a register has.
    MemoryAt(u16),
}

/// Bytes of a result in a register, from its least significant one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegisterPart {
    /// The DWARF number.
    pub(crate) register: u16,
    /// In bytes from the start of the result.
    pub(crate) offset: u64,
    /// In bytes.
    pub(crate) size: u64,
}

/// Why it is not known where the result of a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum ResultProblem {
    /// The site is not a return of the function.
    NotAReturn,
    /// The function ends in a call of another one, which has the result.
    OfTailCall,
    /// The function that is returned from is not described.
    NoFunction,
    /// It is on the stack of the x87 unit.
    X87,
    /// It is in memory of the caller, and the function need not keep the address.
    AddressLost,
    /// The debug information does not say whether the class is passed in memory.
    ClassUnknown,
    /// Rust does not document how values of the type are returned.
    RustType,
    /// How values of the type are returned is not supported: vectors, complex numbers and others.
    Type,
    /// The calling convention of the language or processor is not known.
    Convention,
    /// The compiler changed the parameters or the result of the function.
    Changed,
}

impl ReturnedPlace {
    /// The whole of a value in one register.
    pub(super) fn register(register: u16, size: u64) -> Self {
        Self::Registers(vec![RegisterPart { register, offset: 0, size }])
    }

    /// Consecutive words of a value in registers.
    pub(super) fn words(registers: &[u16], word: u64, size: u64) -> Self {
        let parts = registers.iter().zip(0u64..).filter_map(|(&register, index)| {
            let offset = index.saturating_mul(word);
            let left = size.checked_sub(offset).filter(|left| *left > 0)?;
            Some(RegisterPart { register, offset, size: left.min(word) })
        });
        Self::Registers(parts.collect())
    }
}

impl ReturnedValue {
    /// The value as one scalar, or as the two words of an address and a length: what all versions of
    /// Rust return as a scalar of C each. Larger values than two words are in memory.
    ///
    /// `Ok(None)` if it is larger than two words.
    pub(super) fn rust(&self, word: u64) -> Result<Option<Vec<ScalarKind>>, ResultProblem> {
        match &self.kind {
            ReturnedKind::Scalar(kind) => Ok(Some(vec![*kind])),
            ReturnedKind::Aggregate { .. } if self.size > word.saturating_mul(2) => Ok(None),
            ReturnedKind::Aggregate { fields, .. } => match fields.as_slice() {
                _ if fields.iter().any(|field| field.enclosure != Enclosure::Structure) => Err(ResultProblem::RustType),
                [field] if field.size == self.size.saturating_mul(8) => Ok(Some(vec![field.kind])),
                [one, other] => {
                    let is_word =
                        |field: &ScalarField| field.size == word.saturating_mul(8) && field.kind != ScalarKind::Float;
                    let is_pair = is_word(one) && is_word(other) && one.offset != other.offset;
                    if is_pair { Ok(Some(vec![one.kind, other.kind])) } else { Err(ResultProblem::RustType) }
                }
                _ => Err(ResultProblem::RustType),
            },
        }
    }
}
