//! What a program reads.

use simple_markers_resolver::location::Expr;

use super::assembler::Assembler;
use super::expression::{Compiler, Stack, Target, Uncompilable};
use super::program::FIRST;
use crate::event::Place;
use crate::record::FieldKind;

/// What to read for a field of the record.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The value of a computation.
    Number(Expr),
    /// A text at an address that ends with a NUL.
    Text {
        /// The address.
        address: Expr,
        /// The precision of its conversion, an `int`: the most characters; a negative one is none.
        limit: Option<Expr>,
        /// The most bytes to read, with the NUL.
        most: u16,
    },
    /// Bytes at an address.
    Bytes {
        /// The address.
        address: Expr,
        /// How many there are.
        length: Expr,
        /// The most bytes to read.
        most: u16,
    },
    /// A field of the record of a kernel event, which is the context of the program.
    Field {
        /// The offset of the field in the record.
        offset: u16,
        /// Where its value is.
        place: Place,
    },
    /// An argument that the program records itself: nothing is read.
    Recorded {
        /// The number of the argument.
        argument: u16,
        /// The kind of its field.
        kind: FieldKind,
    },
}

impl Input {
    /// How many words of the stack it takes.
    #[must_use]
    pub fn words(&self) -> usize {
        match self {
            Self::Recorded { .. } => 0,
            Self::Number(_) | Self::Text { limit: None, .. } | Self::Field { .. } => 1,
            Self::Text { limit: Some(_), .. } | Self::Bytes { .. } => 2,
        }
    }

    /// The kind of its field.
    #[must_use]
    pub fn kind(&self) -> FieldKind {
        match self {
            Self::Number(_) => FieldKind::Number,
            Self::Text { most, .. } => FieldKind::Text(*most),
            Self::Bytes { most, .. } => FieldKind::Bytes(*most),
            Self::Field { place, .. } => place.kind(),
            Self::Recorded { kind, .. } => *kind,
        }
    }
}

/// In place of how many bytes there are, all ones: they end at the first NUL, and a null pointer has none
/// (`docs/section-format.md`).
pub(super) const NUL_ENDS: i32 = -1;

/// The most words that the inputs of a program take. The rest of the stack is for computations.
pub const MAX_WORDS: usize = 24;

/// Whether an input can be read.
///
/// # Errors
///
/// Why it cannot.
pub fn check(input: &Input, target: &Target) -> Result<(), Uncompilable> {
    let mut code = Assembler::default();
    let failed = code.label();
    let mut compile = |of: &Expr| {
        let stack = &mut Stack::new(FIRST + 8 * MAX_WORDS as i16);
        Compiler { code: &mut code, target, stack, failed }.value(of)
    };
    match input {
        Input::Number(value) => compile(value),
        Input::Text { address, limit, .. } => {
            compile(address).and_then(|()| limit.as_ref().map_or(Ok(()), &mut compile))
        }
        Input::Bytes { address, length, .. } => compile(address).and_then(|()| compile(length)),
        Input::Field { .. } | Input::Recorded { .. } => Ok(()),
    }
}
