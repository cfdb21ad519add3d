//! CPU time of processes and threads, as plain data.

pub mod table;
