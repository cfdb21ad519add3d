//! A marker's format for consumers whose `printf` has 64-bit integers and some of the conversions.

use crate::record::printf::{self, Conversion, Count, Piece};

/// One piece of a format.
pub(super) enum Part<'f> {
    /// Text, `%%` done.
    Text(&'f str),
    /// A conversion, and the index of its argument; `None` where a `*` is in it, which no consumer has.
    Conversion(Conversion, Option<usize>),
}

/// The pieces of a format; `None` where it is malformed.
pub(super) fn parts(format: &str) -> Option<Vec<Part<'_>>> {
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
