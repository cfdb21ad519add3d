//! Programs that other people wrote, with markers at random places.
//!
//! [`programs`] fetches and builds them. [`places`] inserts the markers: before a statement, as
//! [`statements`] finds it in the text, with variables that are in scope there, as [`scopes`] finds
//! them in the debug information. `smark trace` watches the optimised program, and [`compare`]
//! compares each hit with what the twin of the program prints. [`report`] counts, and [`known`] has the
//! wrong values whose reason is known.

pub mod compare;
pub mod known;
pub mod places;
pub mod programs;
pub mod report;
pub mod scopes;
pub mod statements;
