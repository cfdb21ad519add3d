//! Which parts of a value are read.

use std::sync::Arc;

/// Which parts of a value are read: `%p{tag, owner.name}`, `%p{*}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberChoice {
    /// The members, each as the names that lead to it. All of the value if there are none.
    pub members: Vec<Box<[Arc<str>]>>,
    /// How many nested pointers are followed. `None` for the limit of the reader, which does not
    /// follow raw pointers.
    pub levels: Option<u8>,
}
