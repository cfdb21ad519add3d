//! Formats in the notation of Rust's `format!`: `request {id} from {client.name}, {} waiting`.
//!
//! `simple_mark!` takes such a format too. Its record has the same format in the notation of printf:
//! `{:?}` becomes `%p{}`, and `{:SPEC}` becomes `%p{:SPEC}` ([`crate::value_form`]).
//!
//! A format is in this notation if it has a placeholder and no conversion. In it a percent sign is text.

use alloc::string::String;
use core::fmt;
use core::ops::Range;

use crate::placeholders::{as_text, placeholders};
use crate::printf::{self, Piece};
use crate::value_form::{FormatSpec, FormatTrait, MemberPath};

/// One piece of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RustPiece<'a> {
    /// Literal text. A doubled brace is one of them.
    Text(&'a str),
    /// A placeholder.
    Value(ValuePlaceholder<'a>),
}

/// A placeholder, which stands for an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValuePlaceholder<'a> {
    /// Its bytes in the format, with the braces.
    pub range: Range<usize>,
    /// Which argument it stands for.
    pub of: ArgumentReference<'a>,
    /// What is behind the colon; empty if there is none.
    pub spec: &'a str,
}

/// Which argument a placeholder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentReference<'a> {
    /// `{}`: the next one.
    Next,
    /// `{0}`: by its number.
    Number(usize),
    /// `{x}`, `{self.depth}`: by its name, or a place.
    Place(&'a str),
}

/// What is wrong with a format, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RustFormatError {
    /// The wrong bytes of the format.
    pub range: Range<usize>,
    /// What is wrong.
    pub kind: RustFormatErrorKind,
}

/// What is wrong with a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RustFormatErrorKind {
    /// A `}` without a `{`.
    Unopened,
    /// A `{` without a `}`.
    Unclosed,
    /// What is in front of the colon is neither a number nor a place.
    Argument,
    /// What is behind the colon is no specification.
    Specification,
    /// A width or precision is an argument (`$`, `*`).
    CountArgument,
    /// A percent sign or a brace is the fill.
    Fill,
}

impl fmt::Display for RustFormatErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unopened => "unmatched `}` in the format: write `}}` for the text `}`",
            Self::Unclosed => "a `{` of the format has no `}`: write `{{` for the text `{`",
            Self::Argument => {
                "a placeholder is `{}`, a number, or a place of names and dots (`{self.depth}`): write `{}`, and the place behind \
                 the format"
            }
            Self::Specification => "what is behind the `:` is no specification of `format!`",
            Self::CountArgument => {
                "a width or precision is a number here, because nothing of a marker is evaluated: `$` and `*` take an argument"
            }
            Self::Fill => "a marker's format takes neither a brace nor `%` as the fill",
        })
    }
}

/// Whether a format of `simple_mark!` is in Rust's notation.
///
/// A percent sign with a space behind it is text beside a placeholder, as in `{}% done`.
#[must_use]
pub fn is_in_rusts_notation(format: &str) -> bool {
    let is_conversion = |piece| matches!(piece, Ok(Piece::Conversion(conversion)) if !conversion.flags.space);
    // The parser of printf would take the brace in `5% {x}` for a letter of a conversion.
    let without_percent = format.replace('%', "-");
    placeholders(&without_percent).iter().any(|placeholder| !placeholder.is_text)
        && !printf::parse(format.as_bytes()).any(is_conversion)
}

/// A format of `simple_mark!`, as its record has it: in printf's notation. The values of words are as
/// written. A format with an error stays as it is.
#[must_use]
pub fn as_recorded(format: &str) -> String {
    match is_in_rusts_notation(format) {
        true => to_printf(format).unwrap_or_else(|_| format.into()),
        false => as_text(format),
    }
}

/// A format in Rust's notation in that of printf.
///
/// # Errors
///
/// The format has a mistake; the first one.
pub fn to_printf(format: &str) -> Result<String, RustFormatError> {
    pieces(format).try_fold(String::new(), |mut text, piece| {
        text.push_str(&piece?.to_printf());
        Ok(text)
    })
}

impl RustPiece<'_> {
    /// The piece in printf's notation.
    #[must_use]
    pub fn to_printf(&self) -> String {
        match self {
            Self::Text(text) => text.replace('%', "%%"),
            Self::Value(ValuePlaceholder { spec, .. }) => {
                let is_debug =
                    FormatSpec::new(spec) == Some(FormatSpec { kind: FormatTrait::Debug, ..FormatSpec::default() });
                let spec = if is_debug { "" } else { spec };
                let colon = if is_debug { "" } else { ":" };
                alloc::format!("%p{{{colon}{spec}}}")
            }
        }
    }
}

/// The pieces of a format, in their order. Reading continues after an error.
#[derive(Clone, Debug)]
pub struct RustPieces<'a> {
    format: &'a str,
    offset: usize,
}

/// Reads `format`.
#[must_use]
pub fn pieces(format: &str) -> RustPieces<'_> {
    RustPieces { format, offset: 0 }
}

impl<'a> Iterator for RustPieces<'a> {
    type Item = Result<RustPiece<'a>, RustFormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.offset;
        let rest = self.format.get(start..).filter(|rest| !rest.is_empty())?;
        if let Some(end) = rest.find(['{', '}']).or(Some(rest.len())).filter(|end| *end > 0) {
            self.offset = start.saturating_add(end);
            return Some(Ok(RustPiece::Text(rest.get(..end)?)));
        }
        if rest.starts_with("{{") || rest.starts_with("}}") {
            self.offset = start.saturating_add(2);
            return Some(Ok(RustPiece::Text(rest.get(..1)?)));
        }
        Some(self.placeholder(start, rest))
    }
}

impl<'a> RustPieces<'a> {
    /// The placeholder at the start of `rest`, which is not empty and starts with a brace.
    fn placeholder(&mut self, start: usize, rest: &'a str) -> Result<RustPiece<'a>, RustFormatError> {
        let Some(inner) = rest.strip_prefix('{') else {
            self.offset = start.saturating_add(1);
            return Err(RustFormatError { range: start..self.offset, kind: RustFormatErrorKind::Unopened });
        };
        let Some(length) = length(inner) else {
            self.offset = self.format.len();
            return Err(RustFormatError { range: start..self.offset, kind: RustFormatErrorKind::Unclosed });
        };
        self.offset = start.saturating_add(length).saturating_add(2);
        let (range, inner) = (start..self.offset, inner.get(..length).unwrap_or_default());
        let (name, spec) = inner.split_once(':').unwrap_or((inner, ""));
        let (name, spec) = (name.trim(), without_space(spec));
        let error = |kind| RustFormatError { range: range.clone(), kind };
        let of = reference(name).ok_or_else(|| error(RustFormatErrorKind::Argument))?;
        if FormatSpec::new(spec).is_none() {
            return Err(error(mistake(spec)));
        }
        Ok(RustPiece::Value(ValuePlaceholder { range, of, spec }))
    }
}

/// How long the inside of a placeholder is; `None` if no brace closes it. A fill may be a brace.
fn length(inner: &str) -> Option<usize> {
    let colon = inner.find(':').filter(|colon| !inner.get(..*colon).is_some_and(|name| name.contains('}')));
    let spec = colon.map_or(0, |colon| colon.saturating_add(1));
    let mut letters = inner.get(spec..)?.chars();
    let fill = letters.next().filter(|_| colon.is_some() && letters.next().is_some_and(is_alignment));
    let from = spec.saturating_add(fill.map_or(0, char::len_utf8));
    let end = inner.get(from..)?.find(['{', '}'])?;
    let end = from.saturating_add(end);
    (inner.as_bytes().get(end) == Some(&b'}')).then_some(end)
}

fn is_alignment(letter: char) -> bool {
    matches!(letter, '<' | '^' | '>')
}

/// A specification without the space that may stand behind it.
fn without_space(spec: &str) -> &str {
    let trimmed = spec.trim_end();
    // `{: <8}` has a space as its fill.
    if trimmed.is_empty() && spec.chars().nth(1).is_some_and(is_alignment) { spec } else { trimmed }
}

fn reference(name: &str) -> Option<ArgumentReference<'_>> {
    if name.is_empty() {
        return Some(ArgumentReference::Next);
    }
    if name.bytes().all(|byte| byte.is_ascii_digit()) {
        return name.parse().ok().map(ArgumentReference::Number);
    }
    let path = MemberPath::new(name)?;
    let is_name = |text: &str| !text.starts_with(|first: char| first.is_ascii_digit());
    path.members().next().is_some_and(is_name).then_some(ArgumentReference::Place(name))
}

/// What is wrong with a specification that cannot be read.
fn mistake(spec: &str) -> RustFormatErrorKind {
    let mut letters = spec.chars();
    let (first, second) = (letters.next(), letters.next());
    if second.is_some_and(is_alignment) && first.is_some_and(|fill| matches!(fill, '{' | '}' | '%' | '\0')) {
        return RustFormatErrorKind::Fill;
    }
    if spec.contains(['$', '*']) { RustFormatErrorKind::CountArgument } else { RustFormatErrorKind::Specification }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn read(format: &str) -> Vec<RustPiece<'_>> {
        pieces(format).map(Result::unwrap).collect()
    }

    fn value<'a>(range: Range<usize>, of: ArgumentReference<'a>, spec: &'a str) -> RustPiece<'a> {
        RustPiece::Value(ValuePlaceholder { range, of, spec })
    }

    #[test]
    fn placeholders_say_which_argument_and_how() {
        use ArgumentReference::{Next, Number, Place};
        assert_eq!(
            read("a {} {{b}} {0:?}{self.t.0 : }"),
            [
                RustPiece::Text("a "),
                value(2..4, Next, ""),
                RustPiece::Text(" "),
                RustPiece::Text("{"),
                RustPiece::Text("b"),
                RustPiece::Text("}"),
                RustPiece::Text(" "),
                value(11..16, Number(0), "?"),
                value(16..29, Place("self.t.0"), ""),
            ]
        );
        assert_eq!(
            read("{x:>8}{: <8}{:?  }{ }"),
            [
                value(0..6, Place("x"), ">8"),
                value(6..12, Next, " <8"),
                value(12..18, Next, "?"),
                value(18..21, Next, ""),
            ]
        );
    }

    #[test]
    fn errors_name_the_bytes_and_reading_goes_on() {
        use RustFormatErrorKind as Kind;
        let errors = |format: &'static str| -> Vec<(&str, Kind)> {
            pieces(format).filter_map(Result::err).map(|error| (&format[error.range], error.kind)).collect()
        };
        assert_eq!(errors("a } {x} }"), [("}", Kind::Unopened), ("}", Kind::Unopened)]);
        assert_eq!(errors("a {x} {"), [("{", Kind::Unclosed)]);
        assert_eq!(
            errors("{a b} {a[0]} {*p} {&x} {0.x} {a.} {99999999999999999999}"),
            [
                ("{a b}", Kind::Argument),
                ("{a[0]}", Kind::Argument),
                ("{*p}", Kind::Argument),
                ("{&x}", Kind::Argument),
                ("{0.x}", Kind::Argument),
                ("{a.}", Kind::Argument),
                ("{99999999999999999999}", Kind::Argument),
            ]
        );
        assert_eq!(
            errors("{:y} {::} {:.*} {:w$} {:.1$?} {:}<5} {:%<5} {:65536}"),
            [
                ("{:y}", Kind::Specification),
                ("{::}", Kind::Specification),
                ("{:.*}", Kind::CountArgument),
                ("{:w$}", Kind::CountArgument),
                ("{:.1$?}", Kind::CountArgument),
                ("{:}<5}", Kind::Fill),
                ("{:%<5}", Kind::Fill),
                ("{:65536}", Kind::Specification),
            ]
        );
        assert_eq!(errors("{\"a\": {}"), [("{\"a\": {}", Kind::Unclosed)]);
    }

    #[test]
    fn the_notation_is_rusts_if_there_is_a_placeholder_and_no_conversion() {
        for format in ["{}", "{x}% done", "{}%", "{x} %, {", "100% {x}", "{:?} %% }", "{a} {\"b\": 1}"] {
            assert!(is_in_rusts_notation(format), "{format}");
        }
        for format in ["", "%d", "{} %d", "{{x}}", "{ }", "{a b}", "%p{}", "%d{}", "100%", "}", "{x} %-5d"] {
            assert!(!is_in_rusts_notation(format), "{format}");
        }
    }

    #[test]
    fn records_have_printfs_notation() {
        assert_eq!(
            as_recorded("request {id} from {c.name:?}, {} {{waiting}}, {:#x} {x:>8?}, 5% }}{0:}"),
            "request %p{:} from %p{}, %p{:} {waiting}, %p{:#x} %p{:>8?}, 5%% }%p{:}"
        );
        assert_eq!(as_recorded("{}{{a}} {: ^7}"), "%p{:}{a} %p{: ^7}");
        assert_eq!(as_recorded("%d {{x}} %d{{}}"), "%d {x} %d{{}}");
        assert_eq!(as_recorded("{} }"), "{} }");
        // What is read back is what was written.
        let pieces: Vec<_> = printf::parse(as_recorded("{}{{a}}{:>8} 5%").as_bytes()).map(Result::unwrap).collect();
        let Piece::Conversion(second) = &pieces[2] else { panic!("{pieces:?}") };
        assert_eq!((pieces.len(), second.form.clone()), (5, Some(11..14)));
    }
}
