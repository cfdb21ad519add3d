//! Programs that other people wrote, with markers at random places.
//!
//! [`program`] is what is asked of one; [`c`] and [`rust`] have those in C and in Rust, fetch and build
//! them, and say before which statements a marker may stand. The variables that are in scope there are
//! found by [`scopes`] in the debug information. [`places`] chooses and inserts the markers, and
//! [`marked`] builds the program with them. `smark trace` watches the optimised program, and [`compare`]
//! compares each hit with what the twin of the program prints, and with the hits at the sites
//! themselves. [`wholes`] finds the members of whole
//! values. [`report`] counts, and [`known`] has the wrong values whose reason is known. [`lines`]
//! reads the same places without a marker.

pub mod c;
pub mod compare;
pub mod known;
pub mod lines;
pub mod marked;
pub mod places;
pub mod program;
pub mod report;
pub mod rust;
pub mod scopes;
pub mod wholes;

/// All programs.
pub fn programs() -> impl Iterator<Item = &'static dyn program::Program> {
    let c = c::PROGRAMS.iter().map(|program| program as &dyn program::Program);
    c.chain(rust::PROGRAMS.iter().map(|program| program as &dyn program::Program))
}
