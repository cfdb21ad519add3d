//! The grammar of a filter.
//!
//! ```text
//! filter     = and ("||" and)*
//! and        = term ("&&" term)*
//! term       = "!" term | "(" filter ")" | operand comparison operand
//! ```

use std::ops::Range;
use std::sync::Arc;

use super::error::{Expectation, FilterError, FilterErrorKind};
use super::token::{Token, tokens};
use crate::plan::Operator;

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
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        Ok(Self { text: text.to_owned(), syntax: parse(text)? })
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

    /// Whether it has an argument of this name.
    #[must_use]
    pub fn names(&self, argument: &str) -> bool {
        self.syntax.names(argument)
    }
}

/// A condition as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// One of two holds.
    Or(Box<Syntax>, Box<Syntax>),
    /// Both hold.
    And(Box<Syntax>, Box<Syntax>),
    /// It does not hold.
    Not(Box<Syntax>),
    /// Two operands are compared.
    Compare(Comparison),
}

impl Syntax {
    fn names(&self, argument: &str) -> bool {
        let is_it = |operand: &Operand| matches!(&operand.term, Term::Name(name) if **name == *argument);
        match self {
            Self::Or(left, right) | Self::And(left, right) => left.names(argument) || right.names(argument),
            Self::Not(inner) => inner.names(argument),
            Self::Compare(comparison) => is_it(&comparison.left) || is_it(&comparison.right),
        }
    }
}

/// A comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// What is left of the operator.
    pub left: Operand,
    /// The operator.
    pub operator: Operator,
    /// What is right of the operator.
    pub right: Operand,
}

/// An operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Its bytes in the filter.
    pub range: Range<usize>,
    /// What it is.
    pub term: Term,
}

/// What an operand is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// The name of an argument without white space.
    Name(Arc<str>),
    /// An integer between -2^63 and 2^64 - 1.
    Integer(i128),
    /// The bytes of a text.
    Text(Vec<u8>),
}

impl Comparison {
    /// Its bytes in the filter.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.left.range.start..self.right.range.end
    }
}

/// The most comparisons of a filter.
const MAX_COMPARISONS: usize = 64;
/// How deep parentheses and `!` can be nested.
const MAX_DEPTH: usize = 64;

/// Parses a filter.
pub(super) fn parse(text: &str) -> Result<Syntax, FilterError> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0, end: text.len(), comparisons: 0 };
    let syntax = parser.or(0)?;
    match parser.tokens.get(parser.next) {
        None => Ok(syntax),
        Some(_) => Err(parser.expected(Expectation::Connective)),
    }
}

struct Parser {
    tokens: Vec<(Token, Range<usize>)>,
    next: usize,
    /// The length of the filter.
    end: usize,
    comparisons: usize,
}

impl Parser {
    fn error(&self, kind: FilterErrorKind) -> FilterError {
        let range = self.tokens.get(self.next).map_or(self.end..self.end, |(_, range)| range.clone());
        FilterError { range, kind }
    }

    fn expected(&self, what: Expectation) -> FilterError {
        self.error(FilterErrorKind::Expected(what))
    }

    fn eat(&mut self, token: &Token) -> bool {
        let is_there = self.tokens.get(self.next).is_some_and(|(next, _)| next == token);
        self.next += usize::from(is_there);
        is_there
    }

    fn or(&mut self, depth: usize) -> Result<Syntax, FilterError> {
        let mut left = self.and(depth)?;
        while self.eat(&Token::Or) {
            left = Syntax::Or(Box::new(left), Box::new(self.and(depth)?));
        }
        Ok(left)
    }

    fn and(&mut self, depth: usize) -> Result<Syntax, FilterError> {
        let mut left = self.term(depth)?;
        while self.eat(&Token::And) {
            left = Syntax::And(Box::new(left), Box::new(self.term(depth)?));
        }
        Ok(left)
    }

    fn term(&mut self, depth: usize) -> Result<Syntax, FilterError> {
        if depth >= MAX_DEPTH {
            return Err(self.error(FilterErrorKind::TooDeep));
        }
        if self.eat(&Token::Not) {
            return match self.tokens.get(self.next) {
                Some((Token::Open | Token::Not, _)) => Ok(Syntax::Not(Box::new(self.term(depth + 1)?))),
                _ => Err(self.error(FilterErrorKind::NotWithoutParentheses)),
            };
        }
        if self.eat(&Token::Open) {
            let inner = self.or(depth + 1)?;
            return match self.eat(&Token::Close) {
                true => Ok(inner),
                false => Err(self.expected(Expectation::Close)),
            };
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Syntax, FilterError> {
        let left = self.operand()?;
        let operator = match self.tokens.get(self.next) {
            Some((Token::Compare(operator), _)) => *operator,
            _ => return Err(self.expected(Expectation::Comparison)),
        };
        self.next += 1;
        let right = self.operand()?;
        let comparison = Comparison { left, operator, right };
        let is_name = |operand: &Operand| matches!(operand.term, Term::Name(_));
        if !is_name(&comparison.left) && !is_name(&comparison.right) {
            return Err(FilterError { range: comparison.range(), kind: FilterErrorKind::OnlyLiterals });
        }
        self.comparisons += 1;
        match self.comparisons > MAX_COMPARISONS {
            true => Err(FilterError { range: comparison.range(), kind: FilterErrorKind::TooLong }),
            false => Ok(Syntax::Compare(comparison)),
        }
    }

    fn operand(&mut self) -> Result<Operand, FilterError> {
        let (term, range) = match self.tokens.get(self.next) {
            Some((Token::Name(name), range)) => match &**name {
                // No language has arguments of these names.
                "true" => (Term::Integer(1), range),
                "false" => (Term::Integer(0), range),
                _ => (Term::Name(name.clone()), range),
            },
            Some((Token::Integer(value), range)) => (Term::Integer(*value), range),
            Some((Token::Text(bytes), range)) => (Term::Text(bytes.clone()), range),
            _ => return Err(self.expected(Expectation::Operand)),
        };
        let operand = Operand { range: range.clone(), term };
        self.next += 1;
        Ok(operand)
    }
}
