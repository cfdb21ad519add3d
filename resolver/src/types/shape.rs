//! A type and its structure: a tree that is cut off behind pointers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::collection::Collection;
use super::dynamic::Dynamic;
use crate::Error;
use crate::dwarf::{ArrayProblem, PlaceProblem};

/// How the source language formats values of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// C and languages with similar syntax.
    #[default]
    C,
    /// Rust.
    Rust,
}

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// The name as the language writes it (`unsigned int`, `&str`, `struct scsi_cmnd *`). For an
    /// unnamed type, a description (`struct {..}`).
    pub name: Arc<str>,
    /// Size in bytes. `None` if the debug information does not give one (a declaration, or an array
    /// without a length).
    pub size: Option<u64>,
    /// The structure of the type.
    pub shape: Shape,
}

/// The structure of a type.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Nothing (`void`, `()`, `!`).
    Void,
    /// An integer.
    Integer {
        /// Whether the integer is signed.
        signed: bool,
    },
    /// A Boolean.
    Boolean,
    /// A character: a C `char` if it has one byte, otherwise a Unicode scalar value or UTF-16 code
    /// unit.
    Character {
        /// Whether the character type is signed, as C's `char` may be.
        signed: bool,
    },
    /// A floating-point number.
    Float,
    /// A pointer or reference.
    Pointer {
        /// The pointed-to type. `None` if the tree is cut off here.
        to: Option<Arc<Type>>,
    },
    /// The address of code.
    Function,
    /// A structure or class. The members of a tuple are named `0`, `1` or `__0`, `__1`.
    Struct {
        /// Members, in declaration order.
        members: Arc<[Member]>,
    },
    /// A union.
    Union {
        /// Members, in declaration order.
        members: Arc<[Member]>,
    },
    /// A type with several variants, selected by a discriminant (DWARF 5, 5.7.10; Rust's `enum`).
    Variants(Arc<Variants>),
    /// C's `enum`, or a Rust `enum` without fields.
    Enumeration {
        /// Whether the underlying type is signed.
        signed: bool,
        /// Enumerators, in declaration order.
        enumerators: Arc<[(Arc<str>, i128)]>,
    },
    /// An array.
    Array {
        /// The element type.
        element: Arc<Type>,
        /// Number of elements. `None` if the debug information does not give it.
        count: Option<u64>,
        /// Distance between consecutive elements, in bytes.
        stride: Option<u64>,
    },
    /// Elements of one type that are stored elsewhere, described by a pointer and a length: Rust's
    /// `&[T]`, `&str`, `Vec`, `String`, `Rc<str>`.
    Sequence(Arc<Sequence>),
    /// A pointer of Rust to a value of a type that only its vtable tells: `Box<dyn Shape>`.
    Dynamic(Arc<Dynamic<Arc<Type>>>),
    /// A map, list or another type of a library, whose values are not its members.
    Collection(Arc<Collection<Arc<Type>>>),
    /// A type that is not described or not supported.
    Opaque(OpaqueReason),
}

/// Why the structure of a type is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpaqueReason {
    /// The debug information of the type cannot be read.
    Unreadable(Arc<Error>),
    /// The unit only declares the type.
    OnlyDeclared,
    /// The description already has the most types that it may have.
    TooManyTypes,
    /// The type is nested too deeply.
    TooDeep,
    /// The type of C++'s `nullptr`.
    NullPointer,
    /// A C++ pointer to a member.
    MemberPointer,
    /// A pointer into a separate address space (`DW_AT_address_class`).
    PointerAddressSpace,
    /// A number with its own byte order (`DW_AT_endianity`).
    ByteOrder,
    /// A number whose size is not known.
    NumberSize,
    /// A number that has a size in bits (`DW_AT_bit_size`, `_BitInt`).
    BitSize,
    /// A number without an encoding.
    NoEncoding,
    /// A number whose encoding is not supported (`DW_ATE_*`).
    Encoding(u8),
    /// A floating-point number in an unsupported format.
    FloatFormat,
    /// An array that is laid out in an unusual way.
    Array(ArrayProblem),
    /// An enumeration whose size is not known.
    EnumerationSize,
    /// The place of the discriminant is not known.
    DiscriminantPlace,
    /// There are several variants, and no discriminant.
    NoDiscriminant,
    /// The place of this member in its structure is not known.
    MemberPlace(PlaceProblem),
    /// An entry of a kind that is not supported (`DW_TAG_*`).
    Entry(u16),
    /// Rust's value that is made when it is needed first, and is not there yet.
    Uninitialized,
    /// As a plan file or a recording says it.
    Filed(Arc<str>),
}

/// Elements of one type that are stored elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    /// How to interpret the elements.
    pub kind: SequenceKind,
    /// The pointer to the elements.
    pub data: Member,
    /// Offset in bytes from the pointer's target to the first element. An `Rc` stores its reference
    /// counts before the elements.
    pub offset: u64,
    /// Number of elements.
    pub length: Member,
    /// How many elements there is room for: of a `Vec`, which is not right with more elements. `None` for
    /// others, and for elements without a size.
    pub capacity: Option<Member>,
    /// The element type. `None` if the tree is cut off here.
    pub element: Option<Arc<Type>>,
}

/// How to interpret the elements of a [`Sequence`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceKind {
    /// Bytes of text: UTF-8 in a `str`, arbitrary bytes in an `OsStr`.
    Text,
    /// Bytes of text and a terminating NUL. The length includes the NUL.
    CText,
    /// Elements that are shown according to their type.
    Elements,
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The name. Empty for an anonymous structure or union, whose members are treated as members of
    /// the enclosing type.
    pub name: Arc<str>,
    /// Offset in bits from the start of the structure. In a little-endian image, the bit of weight
    /// 2^k in the byte at address `n` has offset `8n + k`.
    pub bit_offset: u64,
    /// The size in bits, if the member is a bit-field.
    pub bit_size: Option<u64>,
    /// The type of the member.
    pub of: Arc<Type>,
}

/// The name of the variant of a `std::optional` without a value, which no variant of Rust has.
pub(crate) const NULLOPT: &str = "std::nullopt";
/// The name of the variant of a `std::optional` with a value.
pub(crate) const OPTIONAL: &str = "std::optional";
/// The name of the variant of a `std::function` without a target.
pub(crate) const NULLPTR: &str = "std::nullptr";
/// The name of the variant of a `std::function` with a target.
pub(crate) const TARGET: &str = "std::function";
/// The name of the variant of a `std::variant` without a value. The others are called by their numbers.
pub(crate) const VALUELESS: &str = "std::valueless";

/// The variants and the discriminant that selects one.
#[derive(Clone, Debug, PartialEq)]
pub struct Variants {
    /// The discriminant. `None` if there is only one variant.
    pub discriminant: Option<Member>,
    /// Variants, in declaration order.
    pub variants: Vec<Variant>,
    /// The members common to all variants.
    pub common: Vec<Member>,
}

/// One variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// The inclusive ranges of discriminant values that select this variant, in the discriminant's
    /// type. `None` for the default variant (in Rust, the one that holds the niche).
    pub values: Option<Vec<(i128, i128)>>,
    /// The name of the variant.
    pub name: Arc<str>,
    /// The members. A Rust variant has one: the structure with the variant's name.
    pub members: Vec<Member>,
    /// The state that it stands for in the future of an `async` function or block. `None` in other types.
    pub state: Option<FutureState>,
}

/// A state of the future of an `async` function or block of Rust.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FutureState {
    /// It was not polled yet.
    Unresumed,
    /// It waits for another future.
    Suspended {
        /// The file and the line where it waits. `None` if the debug information does not tell.
        at: Option<(Arc<str>, u32)>,
    },
    /// It is done.
    Returned,
    /// It panicked.
    Panicked,
}

impl FutureState {
    /// The word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Unresumed => "unresumed",
            Self::Suspended { .. } => "suspended",
            Self::Returned => "returned",
            Self::Panicked => "panicked",
        }
    }
}

/// The member of a [`FutureState::Suspended`] that is the future for which it waits.
pub(crate) const AWAITED: &str = "__awaitee";
