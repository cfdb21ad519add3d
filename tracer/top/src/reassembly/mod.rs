//! Puts the datagrams of several senders together, and counts those that were lost.
//!
//! Anybody may send. All that is kept is bounded: the number of senders, the lines of an interval,
//! one interval for each sender, and how far back a datagram is recognised as a repeated one.

mod pending;
mod received;
mod sequence;
mod tally;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use self::pending::Pending;
use self::sequence::Sequence;
use super::datagram::{Content, Datagram, Refusal};

pub use received::{Key, ReceivedInterval};
pub use tally::{RefusalCounts, Tally};

/// The most senders that are known at a time.
pub const SENDERS: usize = 64;

/// A sender that has said nothing for this time, in ns, gives up its place to a new one.
pub(crate) const SILENCE: u64 = 10_000_000_000;

/// For how long the other parts of an interval are waited for, in ns.
pub(crate) const PATIENCE: u64 = 1_000_000_000;

/// A sender.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Which one it is.
    pub key: Key,
    /// The name of its machine.
    pub host: String,
    /// When its last datagram arrived.
    pub heard: u64,
    /// Whether it said that it has ended.
    pub has_ended: bool,
    /// The length of its last interval, in ns.
    interval: u64,
    /// The datagrams that it repeated, or that came too late.
    late: u64,
    sequence: Sequence,
    pending: Option<Pending>,
    /// The newest interval that was given out.
    given: Option<u64>,
}

/// The state of a receiver.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    senders: Vec<Sender>,
    refused: RefusalCounts,
    /// The senders that gave up their places.
    forgotten: Tally,
}

impl Receiver {
    /// Takes a datagram that arrived from `address` at `now`, in ns, and returns the intervals that
    /// are complete with it, or given up.
    ///
    /// # Errors
    ///
    /// The datagram is refused. This is counted too.
    pub fn take(&mut self, address: SocketAddr, bytes: &[u8], now: u64) -> Result<Vec<ReceivedInterval>, Refusal> {
        let taken = Datagram::read(bytes).and_then(|datagram| {
            let key = Key { address, run: datagram.sender };
            let index = self.place(key, &datagram, now)?;
            self.senders.get_mut(index).map_or(Ok(Vec::new()), |sender| sender.take(datagram, now))
        });
        if let Err(refusal) = &taken {
            self.refused.count(refusal);
        }
        taken
    }

    /// The intervals whose other parts did not arrive in time.
    pub fn overdue(&mut self, now: u64) -> Vec<ReceivedInterval> {
        let late = |pending: &Pending| now.saturating_sub(pending.since) >= PATIENCE;
        self.senders.iter_mut().filter_map(|sender| sender.give_if(late)).collect()
    }

    /// When the next interval is overdue, if its other parts do not arrive.
    #[must_use]
    pub fn next_overdue(&self) -> Option<u64> {
        let since = self.senders.iter().filter_map(|sender| Some(sender.pending.as_ref()?.since));
        since.min().map(|since| since.saturating_add(PATIENCE))
    }

    /// The intervals that are incomplete until now.
    pub fn rest(&mut self) -> Vec<ReceivedInterval> {
        self.senders.iter_mut().filter_map(|sender| sender.give_if(|_| true)).collect()
    }

    /// The senders, in the order in which they were first heard.
    #[must_use]
    pub fn senders(&self) -> &[Sender] {
        &self.senders
    }

    /// The sender with this key.
    #[must_use]
    pub fn sender(&self, key: Key) -> Option<&Sender> {
        self.senders.iter().find(|sender| sender.key == key)
    }

    /// How many datagrams were refused.
    #[must_use]
    pub fn refused(&self) -> RefusalCounts {
        self.refused
    }

    /// How many datagrams of all senders arrived, with those that are forgotten.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.senders.iter().fold(self.forgotten, |sum, sender| sum.plus(sender.tally()))
    }

    /// The index of the sender of a datagram, which may be a new one.
    fn place(&mut self, key: Key, datagram: &Datagram, now: u64) -> Result<usize, Refusal> {
        if let Some(index) = self.senders.iter().position(|sender| sender.key == key) {
            return Ok(index);
        }
        if self.senders.len() >= SENDERS {
            let free = self.senders.iter().enumerate().filter(|(_, sender)| sender.is_free(now));
            let (longest, _) = free.min_by_key(|(_, sender)| sender.heard).ok_or(Refusal::TooManySenders)?;
            let gone = self.senders.remove(longest);
            self.forgotten = self.forgotten.plus(gone.tally());
        }
        self.senders.push(Sender::new(key, datagram, now));
        Ok(self.senders.len() - 1)
    }
}

impl Sender {
    fn new(key: Key, datagram: &Datagram, now: u64) -> Self {
        let (host, sequence) = (datagram.host.clone(), Sequence::default());
        Self { key, host, heard: now, has_ended: false, interval: 0, late: 0, sequence, pending: None, given: None }
    }

    /// How many of its datagrams arrived.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let (received, lost) = (self.sequence.received(), self.sequence.lost());
        Tally { received, lost, before: self.sequence.first(), repeated: self.sequence.repeated(), late: self.late }
    }

    /// Whether it ended, or has said nothing for so long that what it said last is out of date.
    #[must_use]
    pub fn is_gone(&self, now: u64) -> bool {
        self.has_ended || now.saturating_sub(self.heard) >= self.interval.saturating_mul(3).max(SILENCE)
    }

    /// Whether it gives up its place. An interval that is not given out yet would be lost without a word.
    fn is_free(&self, now: u64) -> bool {
        self.has_ended && self.pending.is_none() || now.saturating_sub(self.heard) >= SILENCE
    }

    fn take(&mut self, datagram: Datagram, now: u64) -> Result<Vec<ReceivedInterval>, Refusal> {
        self.agrees(&datagram)?;
        self.heard = now;
        let mut given = Vec::new();
        if !self.sequence.add(datagram.sequence)? {
            return Ok(given);
        }
        let Content::Part(part) = datagram.content else {
            self.has_ended = true;
            return Ok(given);
        };
        if self.given.is_some_and(|given| part.interval.number <= given) {
            self.late += 1;
            return Ok(given);
        }
        // An older interval is not waited for when a newer one begins.
        given.extend(self.give_if(|pending| pending.interval.number < part.interval.number));
        self.interval = part.interval.length;
        match &mut self.pending {
            // Part of an interval before the pending one.
            Some(pending) if pending.interval.number > part.interval.number => self.late += 1,
            Some(pending) => pending.add(part),
            None => self.pending = Some(Pending::new(part, now)),
        }
        given.extend(self.give_if(|pending| pending.missing() == 0));
        Ok(given)
    }

    /// Whether a datagram can be one of this sender.
    fn agrees(&self, datagram: &Datagram) -> Result<(), Refusal> {
        let pending = self.pending.as_ref();
        let takes = match &datagram.content {
            Content::Part(part) => pending.is_none_or(|pending| {
                pending.interval.number != part.interval.number
                    || self.sequence.has(datagram.sequence)
                    || pending.takes(part)
            }),
            Content::End => true,
        };
        if self.host == datagram.host && takes { Ok(()) } else { Err(Refusal::Contradiction) }
    }

    fn give_if(&mut self, is_due: impl FnOnce(&Pending) -> bool) -> Option<ReceivedInterval> {
        let pending = self.pending.take_if(|pending| is_due(pending))?;
        self.given = Some(pending.interval.number);
        Some(pending.received(self.key, self.host.clone()))
    }
}
