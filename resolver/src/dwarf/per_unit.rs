//! A cache with one value for each unit. A value is made when it is first asked for, and can be
//! dropped.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

/// Values by number of a unit.
#[derive(Debug)]
pub(super) struct PerUnit<T> {
    /// The values of the units of the image and of its supplementary file.
    listed: Box<[RwLock<Option<Arc<T>>>]>,
    /// The values of type units in other files: their numbers are far apart.
    others: RwLock<HashMap<usize, Arc<T>>>,
}

impl<T> PerUnit<T> {
    /// An empty cache for `count` units of the image and its supplementary file.
    pub(super) fn new(count: usize) -> Self {
        Self { listed: (0..count).map(|_| RwLock::default()).collect(), others: RwLock::default() }
    }

    /// The value of a unit. If it is not known, `make` makes it. If two threads make it at the same
    /// time, both get the same value.
    pub(super) fn get_or_make<E>(&self, unit: usize, make: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        if let Some(known) = self.get(unit) {
            return Ok(known);
        }
        // No lock is held here: `make` may take long, and may ask for the values of other units.
        let made = Arc::new(make()?);
        Ok(match self.listed.get(unit) {
            Some(cell) => Arc::clone(cell.write().unwrap_or_else(PoisonError::into_inner).get_or_insert(made)),
            None => {
                let mut others = self.others.write().unwrap_or_else(PoisonError::into_inner);
                Arc::clone(others.entry(unit).or_insert(made))
            }
        })
    }

    fn get(&self, unit: usize) -> Option<Arc<T>> {
        match self.listed.get(unit) {
            Some(cell) => cell.read().unwrap_or_else(PoisonError::into_inner).clone(),
            None => self.others.read().unwrap_or_else(PoisonError::into_inner).get(&unit).cloned(),
        }
    }

    /// Forgets all values. A value that is in use is dropped by its last user.
    pub(super) fn clear(&self)
    where
        T: Send + Sync,
    {
        // All other threads may wait for this.
        self.listed.par_iter().for_each(|cell| *cell.write().unwrap_or_else(PoisonError::into_inner) = None);
        self.others.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The number of units that have a value.
    pub(super) fn count(&self) -> usize {
        let is_known = |cell: &&RwLock<Option<Arc<T>>>| cell.read().unwrap_or_else(PoisonError::into_inner).is_some();
        self.listed.iter().filter(is_known).count() + self.others.read().unwrap_or_else(PoisonError::into_inner).len()
    }
}
