//! The pieces of the kernel's format strings (`lib/vsprintf.c`).

use super::error::PrintError;
use super::integer::Integer;
use super::layout::Flags;
use super::pointer::Pointer;

/// A piece of a format string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Literal(String),
    Conversion(Conversion),
}

/// `%-8.*s`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conversion {
    pub(super) flags: Flags,
    pub(super) width: Number,
    pub(super) precision: Number,
    pub(super) kind: Kind,
    /// Its text in the format.
    pub(super) text: String,
}

/// A width or a precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    None,
    Fixed(i32),
    /// An argument says it.
    Argument,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Character,
    Text,
    /// The base, the type of the argument, and whether letters are large.
    Number {
        base: u64,
        of: Integer,
        is_large: bool,
    },
    Pointer(Pointer),
}

/// The pieces of a format string that starts at `offset`.
pub(super) fn pieces(format: &str, offset: usize) -> Result<Vec<Piece>, PrintError> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        let (before, after) = rest.split_at(at);
        literal.push_str(before);
        let after = after.get(1..).unwrap_or_default();
        if let Some(behind) = after.strip_prefix('%') {
            literal.push('%');
            rest = behind;
            continue;
        }
        if !literal.is_empty() {
            pieces.push(Piece::Literal(std::mem::take(&mut literal)));
        }
        let (mut conversion, behind) = conversion(after).ok_or_else(|| PrintError::Conversion {
            offset,
            text: format!("%{}", after.chars().take(8).collect::<String>()),
        })?;
        let length = after.len().saturating_sub(behind.len());
        conversion.text = format!("%{}", after.get(..length).unwrap_or_default());
        pieces.push(Piece::Conversion(conversion));
        rest = behind;
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal));
    }
    Ok(pieces)
}

/// The conversion behind a `%`, and what follows it.
fn conversion(text: &str) -> Option<(Conversion, &str)> {
    let mut flags = Flags::default();
    let mut rest = text;
    loop {
        match rest.chars().next()? {
            '-' => flags.left = true,
            '+' => flags.plus = true,
            ' ' => flags.space = true,
            '#' => flags.special = true,
            '0' => flags.zero = true,
            _ => break,
        }
        rest = rest.get(1..)?;
    }
    let (width, after) = number(rest)?;
    rest = after;
    let mut precision = Number::None;
    if let Some(after) = rest.strip_prefix('.') {
        let (found, after) = number(after)?;
        precision = if found == Number::None { Number::Fixed(0) } else { found };
        rest = after;
    }
    let sizes = [("hh", 1), ("h", 2), ("ll", 8), ("l", 8), ("L", 8), ("z", 8), ("Z", 8), ("t", 8), ("j", 8)];
    let (size, after) =
        sizes.into_iter().find_map(|(word, size)| Some((size, rest.strip_prefix(word)?))).unwrap_or((4, rest));
    let letter = after.chars().next()?;
    let mut behind = after.get(letter.len_utf8()..)?;
    let of = |base, is_signed, is_large| Kind::Number { base, of: Integer { size, is_signed }, is_large };
    let kind = match letter {
        'c' => Kind::Character,
        's' => Kind::Text,
        'd' | 'i' => of(10, true, false),
        'u' => of(10, false, false),
        'o' => of(8, false, false),
        'x' => of(16, false, false),
        'X' => of(16, false, true),
        'p' => {
            // All letters and digits belong to it.
            let end = behind.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(behind.len());
            let (kind, after) = behind.split_at(end);
            behind = after;
            Kind::Pointer(Pointer::new(kind, width != Number::None)?)
        }
        _ => return None,
    };
    Some((Conversion { flags, width, precision, kind, text: String::new() }, behind))
}

/// A width or a precision, and what follows.
fn number(text: &str) -> Option<(Number, &str)> {
    if let Some(after) = text.strip_prefix('*') {
        return Some((Number::Argument, after));
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, after) = text.split_at(end);
    match digits {
        "" => Some((Number::None, after)),
        _ => Some((Number::Fixed(digits.parse().ok()?), after)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::print::layout::{Layout, write_number};

    /// What the format makes of one number.
    fn printed(format: &str, bits: u64) -> String {
        let mut out = String::new();
        for piece in pieces(format, 0).expect("pieces") {
            match piece {
                Piece::Literal(text) => out.push_str(&text),
                Piece::Conversion(Conversion { flags, width, precision, kind, .. }) => {
                    let mut layout = Layout { flags, ..Layout::default() };
                    if let Number::Fixed(width) = width {
                        layout.set_width(width);
                    }
                    if let Number::Fixed(precision) = precision {
                        layout.set_precision(precision);
                    }
                    let Kind::Number { base, of, is_large } = kind else { panic!("{kind:?}") };
                    write_number(bits, of, base, is_large, layout, &mut out);
                }
            }
        }
        out
    }

    #[test]
    fn numbers_are_as_the_kernel_writes_them() {
        assert_eq!(printed("%d", u64::MAX), "-1");
        assert_eq!(printed("%u|%x", 0xffff_ffff_0000_00ff), "255|ff");
        assert_eq!(printed("%#x %#o %#X", 0), "0x0 0 0X0");
        assert_eq!(printed("%#010x", 0xab), "0x000000ab");
        assert_eq!(printed("%08lx|%-8lx|%8lx", 0xabc), "00000abc|abc     |     abc");
        assert_eq!(printed("%#016lx", 0xabc), "0x00000000000abc");
        assert_eq!(printed("%+d % d %05d", 7), "+7  7 00007");
        assert_eq!(printed("%05d|%.3d|%6.3d", -7i64 as u64), "-0007|-007|  -007");
        assert_eq!(printed("%hhu %hd", 0x1ffff), "255 -1");
        assert_eq!(printed("%lld%%", 1 << 63), "-9223372036854775808%");
        assert_eq!(printed("%lX %o", 0xbeef), "BEEF 137357");
        assert_eq!(printed("%Lu %zu %0x", 5), "5 5 5");
    }

    #[test]
    fn format_strings_are_split() {
        let kinds = |format: &str| {
            let pieces = pieces(format, 0).expect("pieces").into_iter();
            pieces.map(|piece| match piece {
                Piece::Literal(text) => text,
                Piece::Conversion(conversion) => format!("<{}>", conversion.text),
            })
        };
        let split: Vec<_> = kinds("%sno %.*s%pS%%%-8s, %*pbl").collect();
        assert_eq!(split, ["<%s>", "no ", "<%.*s>", "<%pS>", "%", "<%-8s>", ", ", "<%*pbl>"]);
        for bad in ["%", "%-", "%y", "%5", "%l", "%pV", "a %.", "%99999999999d"] {
            assert!(matches!(pieces(bad, 7), Err(PrintError::Conversion { offset: 7, .. })), "{bad}");
        }
    }
}
