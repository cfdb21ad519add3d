//! Which start an end belongs to.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::IntervalKey;

/// The starts that have no end yet, each with what is kept of it.
#[derive(Clone, Debug)]
pub struct Intervals<T> {
    open: HashMap<IntervalKey, T>,
}

/// What became of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Started<T> {
    /// It waits for its end.
    Open,
    /// It waits in the place of another one, which has no end.
    InPlaceOf(T),
    /// There was no space for it.
    Full(T),
}

impl<T> Default for Intervals<T> {
    fn default() -> Self {
        Self { open: HashMap::new() }
    }
}

impl<T> Intervals<T> {
    /// Notes a start, unless `most` others have no end yet.
    pub fn start(&mut self, key: IntervalKey, start: T, most: usize) -> Started<T> {
        let has_space = self.open.len() < most;
        match self.open.entry(key) {
            Entry::Occupied(mut open) => Started::InPlaceOf(open.insert(start)),
            Entry::Vacant(open) if has_space => {
                open.insert(start);
                Started::Open
            }
            Entry::Vacant(_) => Started::Full(start),
        }
    }

    /// The start of an end; `None` if there is none.
    pub fn end(&mut self, key: &IntervalKey) -> Option<T> {
        self.open.remove(key)
    }

    /// How many starts have no end.
    #[must_use]
    pub fn count(&self) -> usize {
        self.open.len()
    }

    /// Removes the starts that have no end.
    pub fn take(&mut self) -> impl Iterator<Item = T> + use<T> {
        std::mem::take(&mut self.open).into_values()
    }
}
