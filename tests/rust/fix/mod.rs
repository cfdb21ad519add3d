//! `smark check --fix` and `cargo smark fix`: from findings in real programs to a check that holds,
//! and what they refuse to change.

mod advice;
mod c;
mod probes;
mod project;
mod refused;
mod rust;
