//! A marker's format for consumers whose `printf` has 64-bit integers and some of the conversions.

use std::fmt::Write as _;

use super::Writer;
use super::plan::{Point, Wanted};
use crate::record::printf::{self, Conversion, Count, Piece};

/// One piece of a format.
enum Part<'f> {
    /// Text, `%%` done.
    Text(&'f str),
    /// A conversion, and the index of its argument; `None` where a `*` is in it, which no consumer has.
    Conversion(Conversion, Option<usize>),
}

/// The pieces of a format; `None` where it is malformed.
fn parts(format: &str) -> Option<Vec<Part<'_>>> {
    let mut next = 0usize;
    let mut parts = Vec::new();
    for piece in printf::parse(format.as_bytes()) {
        match piece.ok()? {
            Piece::Literal(range) => parts.push(Part::Text(format.get(range)?)),
            Piece::Percent(_) => parts.push(Part::Text("%")),
            Piece::Conversion(conversion) => {
                let stars = conversion.stars();
                let index = next.checked_add(stars)?;
                next = index.checked_add(1)?;
                parts.push(Part::Conversion(conversion, (stars == 0).then_some(index)));
            }
        }
    }
    Some(parts)
}

/// Flags, width and precision of a conversion, those flags alone that a consumer has.
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

/// Puts a marker's format together for a consumer, piece by piece: `text` adds text, `express` a conversion with its value. What cannot be
/// expressed is a `?` there, and a comment says why.
pub(super) fn fill<T>(
    writer: &mut Writer<'_>,
    mark: &str,
    point: &Point<'_>,
    to: &mut T,
    text: fn(&mut T, &str),
    express: impl Fn(&mut T, &Conversion, &Wanted<'_>) -> Result<(), String>,
) -> Result<(), String> {
    let wanted = point.wanted();
    text(to, &format!("{} ", point.marker.name));
    for part in parts(&point.marker.format).ok_or("its format is malformed")? {
        let (conversion, index) = match part {
            Part::Text(piece) => {
                text(to, piece);
                continue;
            }
            Part::Conversion(conversion, index) => (conversion, index),
        };
        let Some(wanted) = index.and_then(|index| wanted.get(index)) else {
            text(to, "?");
            writer.comment(mark, "a conversion with `*` is printed as `?`");
            continue;
        };
        if let Err(why) = express(to, &conversion, wanted) {
            text(to, "?");
            writer.without(mark, &wanted.argument.text, &format!("{why}; printed as `?`"));
        }
    }
    Ok(())
}

/// The arguments of a consumer's `printf`, as they are put together.
#[derive(Default)]
pub(super) struct Call {
    pub(super) format: String,
    pub(super) arguments: Vec<String>,
}

impl Call {
    /// The format on a line of its own, and what it prints: `"%d\n", x`.
    pub(super) fn list(&self) -> String {
        let mut list = format!("\"{}\\n\"", self.format);
        for argument in &self.arguments {
            // Writing to a String cannot fail.
            let _ = write!(list, ", {argument}");
        }
        list
    }
}
