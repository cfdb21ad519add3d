//! The text that records refer to. Each string is stored once.
//!
//! Records may refer to any offset in the string table, because linkers merge strings into the ends
//! of others. So a small hostile section can refer to one long string from a million places. All
//! work that grows with the text is charged to a budget.

use std::collections::HashMap;
use std::sync::Arc;

/// A string; equal strings have equal numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TextId(usize);

/// The strings of an image.
#[derive(Debug)]
pub(super) struct Interner<'a> {
    ids: HashMap<&'a [u8], TextId>,
    texts: Vec<(&'a [u8], Arc<str>)>,
    left: u64,
    bound: u64,
}

impl<'a> Interner<'a> {
    /// An empty interner for an image whose marker sections have `size` bytes.
    pub(super) fn new(size: u64) -> Self {
        // Measured: programs need less than twice their sections. 64 leaves room, and a megabyte
        // cannot become a gigabyte.
        let bound = size.saturating_mul(64).saturating_add(1 << 20);
        Self { ids: HashMap::new(), texts: Vec::new(), left: bound, bound }
    }

    /// Raises the budget by what `size` more bytes of text need.
    pub(super) fn raise(&mut self, size: u64) {
        let more = size.saturating_mul(64);
        (self.left, self.bound) = (self.left.saturating_add(more), self.bound.saturating_add(more));
    }

    /// The whole budget, in bytes.
    pub(super) fn bound(&self) -> u64 {
        self.bound
    }

    /// Charges `bytes` of text; `false` if the budget is used up.
    #[must_use]
    pub(super) fn charge(&mut self, bytes: usize) -> bool {
        let left = self.left.checked_sub(bytes as u64);
        self.left = left.unwrap_or(0);
        left.is_some()
    }

    /// The number of a string; `None` if the budget is used up.
    pub(super) fn intern(&mut self, bytes: &'a [u8]) -> Option<TextId> {
        if !self.charge(bytes.len()) {
            return None;
        }
        Some(*self.ids.entry(bytes).or_insert_with(|| {
            self.texts.push((bytes, crate::text::from_bytes(bytes).into()));
            TextId(self.texts.len() - 1)
        }))
    }

    /// The bytes of a string.
    pub(super) fn bytes(&self, id: TextId) -> &'a [u8] {
        self.texts.get(id.0).map_or(&[], |(bytes, _)| bytes)
    }

    /// A string as text.
    pub(super) fn text(&self, id: TextId) -> Arc<str> {
        self.texts.get(id.0).map_or_else(|| Arc::from(""), |(_, text)| Arc::clone(text))
    }
}
