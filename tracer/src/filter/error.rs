//! Why a filter is refused, and the words for it.

use std::fmt::{self, Display};
use std::ops::Range;
use std::sync::Arc;

use simple_markers_resolver::text::shown;

use crate::plan::UnreadReason;

/// A filter is malformed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct FilterError {
    /// The bytes of the filter where it is. They are empty at the end of the filter.
    pub range: Range<usize>,
    /// What is wrong.
    pub kind: FilterErrorKind,
}

/// What is wrong with a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterErrorKind {
    /// A character that starts no token.
    Character(char),
    /// `=` in place of `==`.
    Assignment,
    /// One of `&` and `|` in place of two.
    Single(char),
    /// A malformed number.
    Number,
    /// A number with a fraction.
    Fraction,
    /// A decimal number that starts with 0, which C takes as octal.
    LeadingZero,
    /// A number that fits into neither a signed nor an unsigned integer of 64 bits.
    TooLarge,
    /// The closing quote is missing.
    Unterminated(Quote),
    /// A `\` that starts no escape.
    Escape,
    /// A character literal that does not have one character.
    OneCharacter,
    /// A name is missing.
    NoName,
    /// Something else should be here.
    Expected(Expectation),
    /// A comparison without the name of an argument.
    OnlyLiterals,
    /// `!` before something without parentheses.
    NotWithoutParentheses,
    /// Parentheses are nested too deep.
    TooDeep,
    /// There are too many comparisons.
    TooLong,
}

/// What a closing quote is missing for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quote {
    /// A text.
    Text,
    /// A character.
    Character,
    /// A name in backquotes.
    Name,
    /// An index in brackets.
    Index,
}

/// What should be in the place of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// A name, a number or a text.
    Operand,
    /// A comparison operator.
    Comparison,
    /// A closing parenthesis.
    Close,
    /// `&&`, `||` or the end.
    Connective,
}

impl Display for FilterErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Character(c) => {
                write!(f, "`{}` is not part of a filter", shown(c.encode_utf8(&mut [0; 4])))
            }
            Self::Assignment => f.write_str("write `==` to compare"),
            Self::Single(c) => write!(f, "write `{c}{c}`"),
            Self::Number => f.write_str("this is not a decimal or hexadecimal integer"),
            Self::Fraction => f.write_str("only integers can be compared, not numbers with a fraction"),
            Self::LeadingZero => f.write_str("is this octal? Write it in decimal without a leading 0, or as 0x.."),
            Self::TooLarge => f.write_str("the number does not fit into 64 bits"),
            Self::Unterminated(Quote::Text) => f.write_str("the closing `\"` is missing"),
            Self::Unterminated(Quote::Character) => f.write_str("the closing `'` is missing"),
            Self::Unterminated(Quote::Name) => f.write_str("the closing backquote is missing"),
            Self::Unterminated(Quote::Index) => f.write_str("the closing `]` is missing"),
            Self::Escape => {
                f.write_str("unknown escape: \\n, \\t, \\r, \\a, \\0, \\\\, \\\", \\', \\xNN and \\u{..} are known")
            }
            Self::OneCharacter => f.write_str("a character literal has one character; a text stands in `\"`"),
            Self::NoName => f.write_str("the name of an argument is missing"),
            Self::Expected(Expectation::Operand) => f.write_str("a name, a number or a text is missing here"),
            Self::Expected(Expectation::Comparison) => f.write_str("one of == != < <= > >= is missing here"),
            Self::Expected(Expectation::Close) => f.write_str("a `)` is missing here"),
            Self::Expected(Expectation::Connective) => f.write_str("`&&` or `||` is missing here"),
            Self::OnlyLiterals => f.write_str("a comparison needs the name of an argument"),
            Self::NotWithoutParentheses => f.write_str("put what follows `!` in parentheses"),
            Self::TooDeep => f.write_str("the parentheses are nested too deep"),
            Self::TooLong => f.write_str("there are too many comparisons"),
        }
    }
}

/// Why a filter cannot be evaluated at a site.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Unfit {
    /// The bytes of the filter where it is.
    pub range: Range<usize>,
    /// Why.
    pub why: Mismatch,
}

/// Why an argument cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// The marker has no such argument.
    Unknown {
        /// The name.
        name: Arc<str>,
        /// The most similar arguments, best first.
        closest: Vec<String>,
    },
    /// The argument has no value at the site.
    Unread {
        /// The argument.
        name: Arc<str>,
        /// Why it has none.
        why: Box<UnreadReason>,
    },
    /// The argument is doubtful, or a text at one of two places.
    Doubtful {
        /// The argument.
        name: Arc<str>,
        /// Why, for people.
        why: Option<String>,
    },
    /// It is not known where an async runtime keeps which task a thread runs, or there are several.
    NoTask,
    /// A floating-point argument.
    Float,
    /// An array.
    Array,
    /// A value, or a member of one, that is neither a number nor a text.
    Incomparable {
        /// The name.
        name: Arc<str>,
        /// The name of its type.
        type_name: Arc<str>,
        /// The names of its members.
        members: Vec<String>,
    },
    /// A value that has no such member.
    UnknownMember {
        /// The name of the value.
        of: Arc<str>,
        /// That of the member.
        name: Arc<str>,
        /// The most similar members, best first.
        closest: Vec<String>,
    },
    /// Several variants of a value have a member of this name.
    SeveralMembers {
        /// The name of the member.
        name: Arc<str>,
        /// The members with the names of their variants.
        paths: Vec<String>,
    },
    /// Too many pointers lead to a member.
    MemberTooFar {
        /// The member.
        name: Arc<str>,
    },
    /// It is, or is in, a value whose type only a vtable tells.
    DynamicMember {
        /// The path to it.
        name: Arc<str>,
    },
    /// A member is laid out in a way that is not supported.
    MemberUnsupported {
        /// The member.
        name: Arc<str>,
    },
    /// A value with variants can only be compared with their names.
    Variants {
        /// The value.
        name: Arc<str>,
        /// The names of its variants.
        names: Vec<String>,
    },
    /// A value has neither an enumerator nor a variant of this name.
    UnknownEnumerator {
        /// The value.
        of: Arc<str>,
        /// The name.
        name: Arc<str>,
        /// The most similar names, best first.
        closest: Vec<String>,
    },
    /// A text where only a number can be.
    Text,
    /// Texts compared with an operator other than `==` and `!=`.
    TextOrder,
    /// A text argument compared with a number.
    TextWithNumber,
    /// A number argument compared with a text.
    NumberWithText,
    /// Two text arguments.
    TwoTexts,
    /// The result does not depend on the argument.
    Decided {
        /// The result.
        is_true: bool,
        /// The smallest and the largest value of the argument.
        range: (i128, i128),
    },
    /// The text is longer than the argument can be.
    LongerThan {
        /// The most bytes of the argument.
        most: usize,
        /// Whether the argument would have room for it.
        is_limit: bool,
    },
    /// The text has a NUL, and the argument ends at one.
    Nul,
}

impl Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, closest } => {
                write!(f, "there is no argument `{name}`")?;
                if closest.is_empty() { Ok(()) } else { write!(f, "; closest: {}", quoted(closest)) }
            }
            Self::Unread { name, why } => {
                write!(f, "`{name}`, which is {} there", why.placeholder().as_str())
            }
            Self::Doubtful { name, why } => {
                let why = why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                write!(f, "`{name}`, which is doubtful there{why}; --include doubtful takes it")
            }
            Self::NoTask => f.write_str(
                "it is not known which task runs: the debug information has no async runtime that a view describes, or several",
            ),
            Self::Float => f.write_str("floating-point numbers cannot be compared: BPF programs do not have them"),
            Self::Array => f.write_str("this is an array: only numbers and texts can be compared and counted"),
            Self::Incomparable { name, type_name, members } => {
                write!(f, "`{name}` is of the type {type_name}: only numbers and texts can be compared and counted")?;
                if members.is_empty() { Ok(()) } else { write!(f, "; its members: {}", quoted(members)) }
            }
            Self::UnknownMember { of, name, closest } => {
                write!(f, "`{of}` has no member `{name}`")?;
                if closest.is_empty() { Ok(()) } else { write!(f, "; closest: {}", quoted(closest)) }
            }
            Self::SeveralMembers { name, paths } => {
                write!(f, "several variants have a member `{name}`: write {}", paths.join(" or "))
            }
            Self::MemberTooFar { name } => {
                write!(f, "too many pointers lead to `{name}`: its type is not known there")
            }
            Self::DynamicMember { name } => {
                write!(f, "{name} is a `dyn`: its type is known only when the marker is passed")
            }
            Self::MemberUnsupported { name } => {
                write!(f, "`{name}` is of a size or in a place that is not supported")
            }
            Self::Variants { name, names } => {
                write!(f, "`{name}` is one of {}: it can only be compared with these, by == and !=", quoted(names))
            }
            Self::UnknownEnumerator { of, name, closest } => {
                write!(
                    f,
                    "`{name}` is neither an argument nor a name of a value of `{of}`; closest: {}",
                    quoted(closest)
                )
            }
            Self::Text => f.write_str("a number is needed, and this is a text"),
            Self::TextOrder => f.write_str("texts can only be compared with == and !="),
            Self::TextWithNumber => f.write_str("this is a text: write a literal in `\"`"),
            Self::NumberWithText => f.write_str("this is a number, and cannot be compared with a text"),
            Self::TwoTexts => f.write_str("a text can only be compared with a literal in `\"`"),
            Self::Decided { is_true, range: (low, high) } => {
                let word = if *is_true { "always" } else { "never" };
                write!(f, "this is {word} true: the argument is between {low} and {high}")
            }
            Self::LongerThan { most, is_limit: true } => {
                write!(f, "only texts of at most {most} bytes can be compared")
            }
            Self::LongerThan { most, is_limit: false } => {
                write!(f, "this is never true: the argument has at most {most} bytes")
            }
            Self::Nul => f.write_str("this is never true: the argument ends at a NUL"),
        }
    }
}

/// The most names that are listed.
const LISTED: usize = 16;

/// Some names in backquotes.
fn quoted(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > LISTED { ", .." } else { "" };
    quoted.join(", ") + more
}
