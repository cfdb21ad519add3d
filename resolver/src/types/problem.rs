//! Why a value, or a part of it, is not known.

use std::sync::Arc;

use strum::IntoStaticStr;

use super::OpaqueReason;

/// Why a value, or a part of it, is not known. Its name in JSON is in snake case.
#[derive(Clone, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum ValueProblem {
    /// The compiler optimised its bits out.
    OptimizedOut,
    /// Its bits are in a register that was not read.
    UnreadRegister,
    /// Its bytes are beyond the end of what was read.
    Incomplete,
    /// Its bytes do not start at a whole byte.
    NotAligned,
    /// The size of its type is not known.
    NoSize,
    /// It has more bits than a number can have here.
    TooLarge,
    /// The memory at an address cannot be read.
    Unreadable {
        /// The address.
        address: u64,
        /// How many elements or bytes there are.
        length: u64,
    },
    /// The memory was not copied, because a limit was reached.
    NotCaptured,
    /// The number of elements of an array is not known.
    NoLength,
    /// The size of the elements is not known.
    NoElementSize,
    /// A Boolean that is neither 0 nor 1.
    InvalidBoolean(u128),
    /// A number that is no Unicode scalar value.
    InvalidCharacter(u32),
    /// An encoding that is no floating-point number.
    InvalidFloat(u128),
    /// A floating-point number of an unsupported format.
    FloatFormat,
    /// A Rust enum without a variant for this value.
    InvalidEnumerator(i128),
    /// A discriminant that selects no variant.
    InvalidDiscriminant {
        /// The type, without path and parameters.
        of: Arc<str>,
        /// The discriminant.
        value: i128,
    },
    /// The discriminant has a type that cannot select variants.
    DiscriminantKind,
    /// The structure of the type is not known.
    Opaque {
        /// Why.
        reason: OpaqueReason,
        /// The bytes of the value, if there are at most 32.
        bytes: Vec<u8>,
    },
    /// Rust's `MaybeUninit`: the type does not say whether there is a value.
    MaybeUninitialized {
        /// The name of the type without its path.
        of: Arc<str>,
    },
    /// There is no member of this name.
    NoMember(Arc<str>),
    /// A data structure that contradicts itself. It changed while it was read, or it is damaged.
    Inconsistent,
}
