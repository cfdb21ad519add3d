//! What compilers and linkers make of markers, in Rust and in C: the records, and that nothing else of the program changes.

mod conversions;
mod emission;
mod header;
mod header_matrix;
mod matrix;
mod targets;
mod usage;
mod zero_cost;
