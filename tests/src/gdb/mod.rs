//! Compares arguments with gdb. A [`Session`] runs a program under gdb, our locations are evaluated
//! on the [`Stopped`] program, and [`judge`](judge::judge) compares the values scalar by scalar.
//!
//! gdb shares no code with the resolver: it reads the debug information, unwinds and evaluates by
//! itself. [`Reason`] lists the cases in which gdb is wrong or has no answer. Each case carries its
//! own proof.

mod judge;
mod session;
mod tally;

pub use judge::{Judged, Reason, Scalar, judge, known_bytes};
pub use session::{Answer, Leaf, Next, Scopes, Session, Stopped, Variable};
pub use tally::Tally;
