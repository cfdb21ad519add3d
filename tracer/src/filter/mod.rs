//! Filters: `tag > 100 && status == 5 && name == "x"`.
//!
//! A text is parsed once ([`Filter::parse`]). It is checked for each site against the types of the
//! site's arguments ([`Filter::check`]), which makes a [`Condition`](crate::plan::Condition) on the
//! inputs of the site. The BPF program of the site evaluates it, or
//! [`Condition::evaluate`](crate::plan::Condition::evaluate) for the events of a recording.

mod arguments;
mod check;
mod error;
mod evaluate;
mod member;
mod parse;
#[cfg(test)]
mod tests;
mod token;

pub use check::{has, names_of, readable};
pub use error::{Expectation, FilterError, FilterErrorKind, Mismatch, Quote, Unfit};
pub use evaluate::{Fields, Inputs, Text};
pub(crate) use member::{MEMBER_TEXT, VALUE_ADDRESS};
pub use parse::{Comparison, Filter, Operand, Syntax, Term};
pub use token::normalized;
