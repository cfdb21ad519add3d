//! gdb as a judge of what we say of arguments: a [`Session`] runs a program under it, a [`Stopped`] program is what our locations are
//! evaluated on, and [`judge`](judge::judge) holds our answer against gdb's, scalar by scalar.
//!
//! gdb shares nothing with the resolver: it reads the debug information, unwinds and evaluates by itself. Where it is known to be wrong,
//! or cannot say, is in [`Reason`], and each case has to prove itself.

mod judge;
mod session;
mod tally;

pub use judge::{Judged, Reason, Scalar, judge, known_bytes};
pub use session::{Answer, Leaf, Next, Scopes, Session, Stopped, Variable};
pub use tally::Tally;
