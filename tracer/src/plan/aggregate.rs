//! What is counted at a site.

use super::condition::{Number, Readable};

/// What is counted at a site, besides its hits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Aggregate {
    /// Nothing.
    #[default]
    Hits,
    /// The values of an argument.
    Values(Readable),
    /// The values of an argument by powers of two.
    Histogram(Number),
    /// Intervals start here.
    Start(Interval),
    /// The hits of each process.
    Processes,
    /// Intervals end here.
    End(Interval),
}

/// How intervals are told apart, and by what they are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// The argument that a start and its end have in common; `None` if that is the thread.
    pub key: Option<Readable>,
    /// By which values the times are counted.
    pub by: By,
}

/// By which values times are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// By none.
    #[default]
    Nothing,
    /// By those of an argument of this marker.
    Here(Readable),
    /// By those that were read at the start.
    AtStart(Readable),
}

impl By {
    /// The argument; `None` if times are not counted by values.
    #[must_use]
    pub fn argument(&self) -> Option<&Readable> {
        match self {
            Self::Nothing => None,
            Self::Here(argument) | Self::AtStart(argument) => Some(argument),
        }
    }
}
