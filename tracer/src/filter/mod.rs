//! Filters: `tag > 100 && status == 5 && name == "x"`.
//!
//! A text is parsed once ([`Filter::parse`]). It is checked for each site against the types of the
//! site's arguments ([`Filter::check`]), which makes a [`Condition`] on the inputs of the site. The
//! BPF program of the site evaluates it, or [`Condition::evaluate`] for the events of a recording.

mod check;
mod error;
mod evaluate;
mod parse;
mod token;

pub use check::{Condition, LONGEST_TEXT, Number, Place, Readable, readable};
pub use error::{Error, ErrorKind, Expected, Mismatch, Quote, Unfit};
pub use evaluate::{Fields, Inputs, Text, Values};
pub use parse::{Comparison, Operand, Syntax, Term};
pub use token::{Operator, normalized};

/// A filter as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    text: String,
    syntax: Syntax,
}

impl Filter {
    /// Parses a filter.
    ///
    /// # Errors
    ///
    /// What is wrong, and where.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Ok(Self { text: text.to_owned(), syntax: parse::parse(text)? })
    }

    /// The filter as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its conditions.
    #[must_use]
    pub fn syntax(&self) -> &Syntax {
        &self.syntax
    }
}

#[cfg(test)]
mod tests;
