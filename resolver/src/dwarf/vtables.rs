//! The vtables of an image, as data.

use std::collections::{BTreeMap, HashMap};

use super::unit::Die;

/// The vtables of an image by the trait: the type by its name.
#[derive(Debug, Default)]
pub(super) struct Vtables {
    pub(super) traits: HashMap<String, BTreeMap<String, VtableType>>,
}

/// A type that implements a trait.
#[derive(Clone, Debug)]
pub(super) struct VtableType {
    pub(super) of: Die,
    /// The addresses of its vtables.
    pub(super) vtables: Vec<u64>,
    /// Whether one of them was dropped, perhaps in favour of another one that has the same bytes.
    pub(super) is_dropped: bool,
    /// What decides whether two vtables may have the same bytes: their size, and the size and the alignment
    /// of the values.
    pub(super) layout: (Option<u64>, Option<u64>, u64),
}
