//! An interval as a sender's datagrams have it.

use std::net::SocketAddr;

use crate::datagram::Others;
use crate::table::Table;

/// Which sender a datagram is from: a run on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Where it comes from.
    pub address: SocketAddr,
    /// The random number of the run.
    pub run: u64,
}

/// An interval of a sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedInterval {
    /// The sender.
    pub sender: Key,
    /// The name of its machine.
    pub host: String,
    /// The number of the interval.
    pub number: u64,
    /// The processes that were received.
    pub table: Table,
    /// The processes and threads that have no lines of their own.
    pub others: Option<Others>,
    /// How many parts of the interval are missing.
    pub missing: usize,
}
