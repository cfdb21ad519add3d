//! Translates a marker's format for consumers whose `printf` has 64-bit integers and some of the
//! conversions.

use std::fmt::Write as _;

use super::arithmetic::{self, Syntax};
use super::fetch::Fetch;
use super::plan::{PlannedArgument, Point, Precision};
use super::{ArgumentOmission, SiteOmission, Writer};
use crate::record::printf::{self, Conversion, Count, Piece};

/// One piece of a format.
enum FormatPiece<'f> {
    /// Literal text, with `%%` replaced by `%`.
    Text(&'f str),
    /// A conversion and the index of its argument; `None` if it has a `*` that no consumer supports: any
    /// but that of `%.*s`.
    Conversion(Conversion, Option<usize>),
}

/// The pieces of a format; `None` if it is malformed.
fn parts(format: &str) -> Option<Vec<FormatPiece<'_>>> {
    let mut next = 0usize;
    let mut parts = Vec::new();
    for piece in printf::parse(format.as_bytes()) {
        match piece.ok()? {
            Piece::Literal(range) => parts.push(FormatPiece::Text(format.get(range)?)),
            Piece::Percent(_) => parts.push(FormatPiece::Text("%")),
            Piece::Conversion(conversion) => {
                let stars = conversion.stars();
                let index = next.checked_add(stars)?;
                next = index.checked_add(1)?;
                let is_cut = conversion.specifier.letter() == 's' && conversion.width != Some(Count::Argument);
                parts.push(FormatPiece::Conversion(conversion, (stars == 0 || is_cut).then_some(index)));
            }
        }
    }
    Some(parts)
}

/// The `%`, flags, width and precision of a conversion. Only the given flags are kept.
pub(super) fn field(conversion: &Conversion, flags: &str) -> String {
    let all = conversion.flags;
    let mut text = "%".to_owned();
    for (flag, is_set) in
        [('-', all.minus), ('+', all.plus), (' ', all.space), ('#', all.alternative), ('0', all.zero && !all.minus)]
    {
        if is_set && flags.contains(flag) {
            text.push(flag);
        }
    }
    if let Some(Count::Digits(width)) = conversion.width {
        text.push_str(&width.to_string());
    }
    if let Some(Count::Digits(precision)) = conversion.precision {
        text.push_str(&format!(".{precision}"));
    }
    text
}

/// Translates a marker's format piece by piece: `text` adds literal text, `express` a conversion with
/// its value. If `express` fails, the text has a `?`, and a comment says why.
pub(super) fn fill<T>(
    writer: &mut Writer<'_>,
    mark: &str,
    point: &Point<'_>,
    to: &mut T,
    text: fn(&mut T, &str),
    express: impl Fn(&mut T, &Conversion, &PlannedArgument<'_>) -> Result<(), ArgumentOmission>,
) -> Result<(), SiteOmission> {
    let wanted = point.wanted();
    text(to, &format!("{} ", point.marker.name));
    for part in parts(&point.marker.format).ok_or(SiteOmission::MalformedFormat)? {
        let (conversion, index) = match part {
            FormatPiece::Text(piece) => {
                text(to, piece);
                continue;
            }
            FormatPiece::Conversion(conversion, index) => (conversion, index),
        };
        let Some(wanted) = index.and_then(|index| wanted.get(index)) else {
            text(to, "?");
            writer.comment(mark, "a conversion with `*` is printed as `?`, but for `%.*s`");
            continue;
        };
        if let Err(why) = express(to, &conversion, wanted) {
            text(to, "?");
            writer.printed_as_question_mark(mark, &wanted.argument.text, &why);
        }
    }
    Ok(())
}

/// A computation in a language with the operators of C: the most bytes of a text by its precision, or
/// `none`, which is more than any text has, if a `*` is negative. `None` if it has no precision.
///
/// # Errors
///
/// The argument of the `*` cannot be read.
pub(super) fn most(
    syntax: &impl Syntax,
    wanted: &PlannedArgument<'_>,
    none: &str,
) -> Result<Option<String>, ArgumentOmission> {
    match &wanted.precision {
        None => Ok(None),
        Some(Precision::Digits(digits)) => Ok(Some(digits.to_string())),
        Some(Precision::Argument { fetch, .. }) => match fetch.as_ref().as_ref().map_err(Clone::clone)? {
            Fetch::Number { at, size, .. } => {
                let value = arithmetic::signed(syntax, at, *size)?;
                // Some tools have only unsigned numbers.
                Ok(Some(format!("({value} < 0 || {value} > {none} ? {none} : {value})")))
            }
            _ => Err(ArgumentOmission::NoLocation),
        },
    }
}

/// The smaller of two computations in a language with the operators of C.
pub(super) fn smaller(one: &str, other: &str) -> String {
    format!("({one} < {other} ? {one} : {other})")
}

/// A call of a consumer's `printf`.
#[derive(Default)]
pub(super) struct Call {
    pub(super) format: String,
    pub(super) arguments: Vec<String>,
}

impl Call {
    /// The argument list of the call, with a line feed after the format: `"%d\n", x`.
    pub(super) fn list(&self) -> String {
        self.arguments("\\n")
    }

    /// The argument list of the call, without a line feed.
    pub(super) fn unended(&self) -> String {
        self.arguments("")
    }

    fn arguments(&self, end: &str) -> String {
        let mut list = format!("\"{}{end}\"", self.format);
        for argument in &self.arguments {
            // Writing to a String cannot fail.
            let _ = write!(list, ", {argument}");
        }
        list
    }
}
