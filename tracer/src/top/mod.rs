//! CPU time of processes and threads, as plain data.

pub mod accounts;
pub mod datagram;
pub mod entry;
pub mod metrics;
pub mod reassembly;
pub mod table;
