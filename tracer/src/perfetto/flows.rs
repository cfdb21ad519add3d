//! Arrows between the hits of a process at which arguments have the same values.

use std::collections::HashMap;
use std::sync::Arc;

use crate::aggregate::{Key, Question, key_of};
use crate::ctf::SiteSelection;
use crate::hit::Hit;
use crate::plan::Aggregate;
use crate::recorded_members::RecordedInputs;

/// Where the numbers of arrows start: those of polls are below.
const FIRST: u64 = 1 << 62;

/// Hits with the same values of arguments, which arrows connect.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The names of the arguments.
    pub names: Vec<Arc<str>>,
    /// The sites, with where the values are.
    sites: SiteSelection,
    /// The number of the arrows by the process and the values.
    open: HashMap<(u32, Key), u64>,
    tally: FlowTally,
}

/// What became of the hits of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowTally {
    /// The hits that arrows connect.
    pub hits: u64,
    /// The hits at which a value could not be read.
    pub unread: u64,
    /// The hits for whose values there was no space.
    pub full: u64,
}

impl Flow {
    /// The flow of a [`Question::Values`]. `sites` are the sites that were chosen for it.
    #[must_use]
    pub fn new(question: &Question, sites: SiteSelection) -> Option<Self> {
        let Question::Values(names) = question else { return None };
        Some(Self { names: names.clone(), sites, open: HashMap::new(), tally: FlowTally::default() })
    }

    /// What became of its hits.
    #[must_use]
    pub fn tally(&self) -> FlowTally {
        self.tally
    }

    /// The values of a hit; `None` if the flow is not about its marker, or one could not be read.
    pub(super) fn key(&mut self, hit: &Hit<'_>) -> Option<(u32, Key)> {
        let (_, site) = self.sites.site(hit)?;
        let Aggregate::Values(fields) = &site.aggregate else { return None };
        let key = key_of(0, fields, &RecordedInputs::new(hit, site));
        self.tally.unread += u64::from(key.is_none());
        Some((hit.process, key?))
    }

    /// The number of the arrows of these values, of which at most `most` are kept. `last` is the number of the last one.
    pub(super) fn number(&mut self, key: (u32, Key), most: usize, last: &mut u64) -> Option<u64> {
        if self.open.len() >= most && !self.open.contains_key(&key) {
            self.tally.full += 1;
            return None;
        }
        self.tally.hits += 1;
        let number = self.open.entry(key).or_insert_with(|| {
            *last += 1;
            FIRST + *last
        });
        Some(*number)
    }

    /// Ends the arrows of these values: a later hit with them is one of something else.
    pub(super) fn end(&mut self, key: &(u32, Key)) {
        self.open.remove(key);
    }
}
