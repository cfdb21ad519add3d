//! CPU time of processes and threads: what the kernel keeps of each, and the differences.

pub mod accounts;
pub mod entry;
