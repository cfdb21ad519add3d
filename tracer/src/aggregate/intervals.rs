//! Which start an end belongs to.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::IntervalKey;

/// How many starts of one key wait for their ends at most. A start that is one more takes the place of the
/// last one.
pub const DEEPEST: u32 = 256;

/// The starts that have no end yet, each with what is kept of it. An end belongs to the last start of its
/// key: in a function that calls itself, the inner ones belong together.
#[derive(Clone, Debug)]
pub struct Intervals<T> {
    open: HashMap<IntervalKey, Vec<T>>,
    count: usize,
}

/// What became of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartOutcome<T> {
    /// It waits for its end.
    Open,
    /// It waits for its end, as others of its key do.
    Nested,
    /// It waits in the place of another one, which has no end.
    InPlaceOf(T),
    /// There was no space for it.
    Full(T),
}

impl<T> Default for Intervals<T> {
    fn default() -> Self {
        Self { open: HashMap::new(), count: 0 }
    }
}

impl<T> Intervals<T> {
    /// Notes a start, unless `most` others have no end yet.
    pub fn start(&mut self, key: IntervalKey, start: T, most: usize) -> StartOutcome<T> {
        let has_space = self.count < most;
        let open = match self.open.entry(key) {
            Entry::Occupied(open) => open.into_mut(),
            Entry::Vacant(open) if has_space => open.insert(Vec::new()),
            Entry::Vacant(_) => return StartOutcome::Full(start),
        };
        let is_deep = open.len() >= DEEPEST as usize;
        match open.last_mut() {
            Some(last) if is_deep => return StartOutcome::InPlaceOf(std::mem::replace(last, start)),
            Some(_) if !has_space => return StartOutcome::Full(start),
            _ => {}
        }
        self.count += 1;
        open.push(start);
        if open.len() > 1 { StartOutcome::Nested } else { StartOutcome::Open }
    }

    /// Notes the start of a call, unless `most` others have no end yet. A start of the same key is replaced.
    pub fn start_call(&mut self, key: IntervalKey, start: T, most: usize) -> StartOutcome<T> {
        match self.end(&key) {
            Some(before) => {
                self.start(key, start, usize::MAX);
                StartOutcome::InPlaceOf(before)
            }
            None => self.start(key, start, most),
        }
    }

    /// The start of an end; `None` if there is none.
    pub fn end(&mut self, key: &IntervalKey) -> Option<T> {
        let open = self.open.get_mut(key)?;
        let start = open.pop()?;
        self.count = self.count.saturating_sub(1);
        if open.is_empty() {
            self.open.remove(key);
        }
        Some(start)
    }

    /// How many starts have no end.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The starts that have no end.
    pub fn open(&self) -> impl Iterator<Item = &T> {
        self.open.values().flatten()
    }

    /// Removes the starts that have no end.
    pub fn take(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.count = 0;
        std::mem::take(&mut self.open).into_values().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Inputs;
    use crate::filter::Text;
    use crate::plan::{ContextNumber, Pairing};

    struct Nothing;

    impl Inputs for Nothing {
        fn number(&self, _: usize) -> Option<u64> {
            None
        }

        fn text(&self, _: usize) -> Option<Text<'_>> {
            None
        }

        fn context(&self, _: ContextNumber) -> Option<u64> {
            None
        }

        fn thread_name(&self) -> Option<&[u8]> {
            None
        }
    }

    #[test]
    fn a_call_at_the_frame_of_another_one_replaces_it() {
        let key = |thread| IntervalKey::new(&Pairing::Thread, 1, thread, &Nothing).expect("a key");
        let mut open = Intervals::default();
        assert_eq!(open.start_call(key(1), 10, 2), StartOutcome::Open);
        assert_eq!(open.start_call(key(2), 11, 2), StartOutcome::Open);
        assert_eq!(open.start_call(key(3), 12, 2), StartOutcome::Full(12));
        // It takes the place of the other one, for which there was space.
        assert_eq!(open.start_call(key(1), 13, 2), StartOutcome::InPlaceOf(10));
        assert_eq!((open.end(&key(1)), open.end(&key(1)), open.count()), (Some(13), None, 1));
    }
}
