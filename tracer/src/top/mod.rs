//! CPU time of processes and threads, as plain data.

pub mod datagram;
pub mod metrics;
pub mod reassembly;
pub mod table;
