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
    /// The hits of each stack.
    Stacks {
        /// Whether it is that of the kernel.
        is_kernel: bool,
    },
    /// Intervals end here.
    End(Interval),
}

/// How intervals are told apart, and by what they are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// What a start and its end have in common.
    pub key: Pairing,
    /// By which values the times are counted.
    pub by: By,
    /// Whether the time on a CPU, the wait for one and the rest are told apart.
    pub is_split: bool,
}

/// What a start and its end have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Pairing {
    /// The thread. An end belongs to the last start.
    #[default]
    Thread,
    /// The value of an argument, in a process. An end belongs to the last start.
    Argument(Readable),
    /// The frame of a call, in a process: an address on the stack. Another start at the same frame says
    /// that the call before it did not return.
    Frame(Readable),
}

impl Pairing {
    /// What is read for it; `None` if that is nothing.
    #[must_use]
    pub fn readable(&self) -> Option<&Readable> {
        match self {
            Self::Thread => None,
            Self::Argument(of) | Self::Frame(of) => Some(of),
        }
    }

    /// Whether it is the frame of a call.
    #[must_use]
    pub fn is_frame(&self) -> bool {
        matches!(self, Self::Frame(_))
    }
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
