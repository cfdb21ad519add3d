//! Programs that nobody wrote: small functions full of markers, the same ones in C and in Rust, and the same ones each time.
//!
//! [`Program::generate`] makes an abstract program (`program`, by the choices in `choices`) of joins, loops, switches, short circuits, early
//! returns, common tails, helpers that are inlined and recursion. [`Program::c`] and [`Program::rust`] write it down (`c`, `rust`), with
//! counters or with markers of some [`Variant`]. All arithmetic is modulo 2^32 and every loop ends, so that how often each marker is passed
//! is a property of the abstract program, whoever compiles it, and so is the number that the program prints last.
//!
//! Both texts define `run`, which `main` calls; `main` takes the number of rounds. What is done with the programs is up to the tests.

mod c;
mod choices;
mod program;
mod rust;
mod writer;

pub use program::{Marker, Place, Position, Program, Shape, Within};

/// How many rounds `main` does where it is not told.
pub const ROUNDS: u32 = 100;

/// Which markers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// The arguments are places.
    Place,
    /// The arguments are kept.
    Keep,
    /// The arguments are places, and each marker has an instruction of its own.
    Anchor,
    /// Both.
    KeepAnchor,
}

/// What stands where a marker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// The marker.
    Marked(Variant),
    /// A counter in its place; the program prints a line with the name and the count of each before its last one.
    Counted,
}

/// A program as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The text.
    pub text: String,
    /// The line of each of [`Program::markers`], from 1.
    pub lines: Vec<u32>,
}
