//! Counters: the values of a numeric argument over time.

use std::sync::Arc;

use crate::aggregate::Question;
use crate::ctf::SiteSelection;
use crate::hit::Hit;
use crate::plan::Aggregate;
use crate::recorded_members::RecordedInputs;

/// A numeric argument whose values are drawn over time.
#[derive(Clone, Debug)]
pub struct DrawnCounter {
    /// The name of the argument.
    pub name: Arc<str>,
    /// The sites, with where the value is.
    sites: SiteSelection,
    tally: CounterTally,
}

/// What became of the hits of a counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterTally {
    /// The values that are drawn.
    pub values: u64,
    /// The hits whose value could not be read.
    pub unread: u64,
}

impl DrawnCounter {
    /// The counter of a [`Question::Histogram`]. `sites` are the sites that were chosen for it.
    #[must_use]
    pub fn new(question: &Question, sites: SiteSelection) -> Option<Self> {
        let Question::Histogram(name) = question else { return None };
        Some(Self { name: Arc::clone(name), sites, tally: CounterTally::default() })
    }

    /// What became of its hits.
    #[must_use]
    pub fn tally(&self) -> CounterTally {
        self.tally
    }

    /// The value of a hit; `None` if the counter is not about its marker, or it could not be read.
    pub(super) fn value(&mut self, hit: &Hit<'_>) -> Option<i128> {
        let (_, site) = self.sites.site(hit)?;
        let Aggregate::Histogram(number) = &site.aggregate else { return None };
        let value = number.value(&RecordedInputs::new(hit, site));
        self.tally.values += u64::from(value.is_some());
        self.tally.unread += u64::from(value.is_none());
        value
    }
}
