//! `simple-markers` with the recorder, for programs that tests compile without cargo.

pub use simple_markers::*;
