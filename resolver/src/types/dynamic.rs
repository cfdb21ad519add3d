//! Pointers of Rust whose target has a type that only the vtable tells (`dyn Trait`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A pointer with a vtable. `R` refers to a type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Dynamic<R> {
    /// The trait as the type has it: `dyn shop::Shape`.
    pub of: Arc<str>,
    /// The offset of the address of the value, or of the counts before it, in bytes.
    pub data: u64,
    /// The offset of the address of the vtable in bytes.
    pub vtable: u64,
    /// How many bytes the counts of an `Rc` or `Arc` have; 0 if it is none.
    pub counts: u64,
    /// The types that implement the trait in the image, by their names.
    pub types: Vec<DynamicType<R>>,
}

/// A type that implements a trait.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DynamicType<R> {
    /// Its name with the scopes.
    pub name: Arc<str>,
    /// The link-time addresses of its vtables. Another type may have the same one.
    pub vtables: Vec<u64>,
    /// What its addresses are a multiple of.
    pub align: u64,
    /// The type.
    pub of: R,
}

impl<R> Dynamic<R> {
    /// The same with other types.
    pub(super) fn with_types<S, E>(&self, mut change: impl FnMut(&R) -> Result<S, E>) -> Result<Dynamic<S>, E> {
        let Self { of, data, vtable, counts, types } = self;
        let mut changed = Vec::with_capacity(types.len());
        for DynamicType { name, vtables, align, of } in types {
            let (name, vtables, of) = (Arc::clone(name), vtables.clone(), change(of)?);
            changed.push(DynamicType { name, vtables, align: *align, of });
        }
        Ok(Dynamic { of: Arc::clone(of), data: *data, vtable: *vtable, counts: *counts, types: changed })
    }

    /// Bytes from the address to a value with an alignment.
    pub(super) fn offset(&self, align: u64) -> u64 {
        self.counts.checked_next_multiple_of(align.max(1)).unwrap_or(self.counts)
    }
}
