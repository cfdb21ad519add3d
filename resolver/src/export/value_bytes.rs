//! Where the bytes of a value are that is fetched whole.

use std::ops::Range;
use std::sync::Arc;

use crate::location::Expr;
use crate::types::{Language, Type, TypePath};

/// A value that is fetched whole.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeFetch {
    /// Where its bytes are.
    pub bytes: ValueBytes,
    /// The bits of the value that are nowhere, as [`crate::types::Member::bit_offset`] counts.
    pub gone: Vec<Range<u64>>,
    /// Its type.
    pub of: Arc<Type>,
    /// The name by which a debugger finds it; `None` if it has none.
    pub path: Option<Arc<TypePath>>,
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
        /// The bits of each part; `None` if all of it was optimised out. Those that were are 0.
        parts: Vec<Option<Expr>>,
        /// How many bytes there are.
        size: u32,
    },
}
