//! What `smark top` shows, as plain data.
//!
//! A [`Table`] has the CPU time of processes and threads in an interval. A [`Writer`] makes datagrams
//! of it, and a [`Receiver`] puts those of many machines together again and counts the lost ones
//! (`docs/datagrams.md`). [`Metrics`] sums tables up by program.
//!
//! Nothing here has a socket or a clock, and nothing panics on any input.

#![forbid(unsafe_code)]

mod datagram;
mod metrics;
mod reassembly;
mod table;

pub use datagram::writer::Writer;
pub use datagram::{LINES, Others, Refusal, SIZE};
pub use metrics::{Metrics, Name, Totals};
pub use reassembly::{Key, ReceivedInterval, Receiver, RefusalCounts, SENDERS, Sender, Tally};
pub use table::{Process, Table, Thread, Usage};
