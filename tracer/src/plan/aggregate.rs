//! What is counted at a site.

use super::condition::{ContextNumber, Number, Readable};

/// What is counted at a site, besides its hits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Aggregate {
    /// Nothing.
    #[default]
    Hits,
    /// The values of arguments.
    Values(KeyFields),
    /// The values of an argument by powers of two.
    Histogram(Number),
    /// The sum of the values of an argument, and how they are distributed.
    Amounts {
        /// The argument.
        of: Number,
        /// By which values they are told apart; `None` if they are not.
        by: Option<KeyFields>,
    },
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

/// What hits are told apart by: the value of an argument, or the values of several. Not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFields(pub Vec<Readable>);

impl KeyFields {
    /// The inputs that they need.
    pub fn inputs(&self) -> impl Iterator<Item = usize> {
        self.0.iter().flat_map(Readable::inputs)
    }

    /// What they need of the thread that runs.
    pub fn contexts(&self) -> impl Iterator<Item = ContextNumber> {
        self.0.iter().flat_map(Readable::contexts)
    }
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
    /// The stacks that are noted meanwhile, if they are.
    pub notes: StackNotes,
}

/// Which stacks of a thread are noted during its intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackNotes {
    /// Those with which it is blocked.
    pub blocked: bool,
    /// Those with which it is on a CPU, in samples.
    pub on_cpu: bool,
}

impl StackNotes {
    /// Whether it must be known if a thread is in an interval.
    #[must_use]
    pub fn are_wanted(self) -> bool {
        self.blocked || self.on_cpu
    }

    /// What either wants.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { blocked: self.blocked || other.blocked, on_cpu: self.on_cpu || other.on_cpu }
    }
}

/// What a start and its end have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Pairing {
    /// The thread. An end belongs to the last start.
    #[default]
    Thread,
    /// The values of arguments, in a process. An end belongs to the last start.
    Arguments(KeyFields),
    /// The frame of a call, in a process: an address on the stack. Another start at the same frame says
    /// that the call before it did not return.
    Frame(KeyFields),
}

impl Pairing {
    /// What is read for it; `None` if that is nothing.
    #[must_use]
    pub fn fields(&self) -> Option<&KeyFields> {
        match self {
            Self::Thread => None,
            Self::Arguments(of) | Self::Frame(of) => Some(of),
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
    /// By those of arguments of this marker.
    Here(KeyFields),
    /// By those that were read at the start.
    AtStart(KeyFields),
}

impl By {
    /// The arguments; `None` if times are not counted by values.
    #[must_use]
    pub fn fields(&self) -> Option<&KeyFields> {
        match self {
            Self::Nothing => None,
            Self::Here(fields) | Self::AtStart(fields) => Some(fields),
        }
    }
}
