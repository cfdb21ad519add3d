//! How many datagrams arrived, were lost and were refused.

use crate::datagram::Refusal;

/// How many datagrams of a sender arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Different datagrams that arrived.
    pub received: u64,
    /// Datagrams between the first and the last one that did not arrive, by their sequence numbers.
    pub lost: u64,
    /// Datagrams that were sent before the first one that arrived.
    pub before: u64,
    /// Datagrams that arrived again, or so late that they count as lost.
    pub repeated: u64,
    /// Datagrams that arrived after their interval was given out.
    pub late: u64,
}

/// How many datagrams were refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefusalCounts {
    /// They are too long.
    pub too_long: u64,
    /// They have another version.
    pub version: u64,
    /// They are malformed, or a number is out of range.
    pub malformed: u64,
    /// They do not agree with earlier datagrams of their sender.
    pub contradiction: u64,
    /// There were too many senders.
    pub too_many_senders: u64,
}

impl Tally {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            received: self.received.saturating_add(other.received),
            lost: self.lost.saturating_add(other.lost),
            before: self.before.saturating_add(other.before),
            repeated: self.repeated.saturating_add(other.repeated),
            late: self.late.saturating_add(other.late),
        }
    }
}

impl RefusalCounts {
    pub(super) fn count(&mut self, refusal: &Refusal) {
        let count = match refusal {
            Refusal::TooLong => &mut self.too_long,
            Refusal::Version => &mut self.version,
            Refusal::Line(..) => &mut self.malformed,
            Refusal::Contradiction => &mut self.contradiction,
            Refusal::TooManySenders => &mut self.too_many_senders,
        };
        *count = count.saturating_add(1);
    }

    /// All of them.
    #[must_use]
    pub fn sum(&self) -> u64 {
        let counts = [self.too_long, self.version, self.malformed, self.contradiction, self.too_many_senders];
        counts.into_iter().fold(0, u64::saturating_add)
    }
}
