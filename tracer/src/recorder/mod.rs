//! Hits that a program records itself, while its probes are on (`simple_markers_record::buffer`).
//!
//! [`ring`] takes the events out of the buffer of a thread, [`counter`] makes their times those of
//! `CLOCK_MONOTONIC`, and [`event`] makes records of them, as a BPF program would write them. [`rest`]
//! says when nobody has to look for events. [`recording`] reads what programs record while no tool
//! watches.

pub mod counter;
pub mod event;
pub mod recording;
pub mod rest;
pub mod ring;

pub use counter::Counter;
pub use rest::Rest;
pub use ring::Ring;
