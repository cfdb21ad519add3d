//! Generates programs: small functions full of markers, in C and in Rust, the same ones for the
//! same seed.
//!
//! [`Program::generate`] makes an abstract program (`program`, with random numbers from `choices`)
//! of joins, loops, switches, short circuits, early returns, common tails, inlined helpers and
//! recursion. [`Program::c`] and [`Program::rust`] write it as text (`c`, `rust`), with counters or
//! with markers of some [`Variant`]. All arithmetic is modulo 2^32 and every loop ends. So the
//! abstract program alone decides how often each marker is passed, and which number the program
//! prints last.
//!
//! Both texts define `run`, which `main` calls. `main` takes the number of rounds. What is done
//! with the programs is up to the tests.
//!
//! [`Rich`] makes programs with more kinds of variables, also in C++, for tests of values.

mod adjacent;
mod c;
mod program;
pub mod references;
mod rich;
mod rust;
mod writer;

pub use adjacent::Adjacent;
pub use program::{Marker, Place, Position, Program, Shape, Within};
pub use rich::{Rich, Tongue};

/// The default number of rounds.
pub const ROUNDS: u32 = 100;

/// The kind of markers to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// The arguments are places.
    Place,
    /// The arguments are kept.
    Keep,
    /// The arguments are places, and each marker has its own instruction.
    Anchor,
    /// The arguments are kept, and each marker has its own instruction.
    KeepAnchor,
    /// The arguments are places, and each marker is a ghost.
    Ghost,
    /// The arguments are places. In Rust each function has `#[ghosts]`, which makes ghosts of its
    /// markers; in C this is the same as `Ghost`.
    Ghosts,
}

/// What is written for each marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// The marker.
    Marked(Variant),
    /// The line of a ghost, with a macro that is empty.
    Empty,
    /// A counter. Before its last line, the program prints a line with the name and count of each.
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
