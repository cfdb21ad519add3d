//! Where the bytes of a value are that is fetched whole.

use std::ops::Range;
use std::sync::Arc;

use crate::location::Expr;
use crate::types::{Language, Type};

/// A value that is fetched whole.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeFetch {
    /// Where its bytes are.
    pub bytes: ValueBytes,
    /// Its type.
    pub of: Arc<Type>,
    /// The language that shows it.
    pub language: Language,
}

/// Where the bytes of a value are.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueBytes {
    /// In memory.
    Memory {
        /// The address.
        address: Expr,
        /// How many there are.
        size: u32,
    },
    /// In parts of 8 bytes or less each, one behind the other.
    Parts {
        /// The bits of each part; `None` if it was optimised out.
        parts: Vec<Option<Expr>>,
        /// How many bytes there are.
        size: u32,
    },
}

impl ValueBytes {
    /// The bits of the value that no part has, as [`crate::types::Member::bit_offset`] counts.
    #[must_use]
    pub fn gone(&self) -> Vec<Range<u64>> {
        match self {
            Self::Memory { .. } => Vec::new(),
            Self::Parts { parts, .. } => {
                let gone = parts.iter().enumerate().filter(|(_, part)| part.is_none());
                gone.map(|(index, _)| 64 * index as u64..64 * (index as u64 + 1)).collect()
            }
        }
    }
}
