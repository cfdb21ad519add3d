//! Strings and characters between quotes, as C writes them (C11, 6.4.4.4 and 6.4.5), with the `\e` of gcc.
//!
//! The formats of marks and of notes are such strings, and so are texts in the `print fmt` of kernel events.

use alloc::string::String;
use core::iter::Peekable;
use core::str::CharIndices;

/// What is between two quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CString {
    /// It, with its escapes replaced. A byte that an escape writes is the character of this number.
    pub text: String,
    /// How many bytes it takes with its quotes.
    pub length: usize,
    /// Where the first escape is that C does not have: its backslash. The character behind it stays, as in
    /// compilers. `None` if there is no such escape.
    pub unknown: Option<usize>,
}

/// Reads what is between the quotes at the start of a text: two of the first character. `None` if the second
/// one is missing.
#[must_use]
pub fn unquoted(text: &str) -> Option<CString> {
    let mut rest = text.char_indices().peekable();
    let (_, quote) = rest.next()?;
    let (mut inner, mut unknown) = (String::new(), None);
    while let Some((at, next)) = rest.next() {
        match next {
            '\\' => {
                let (_, escaped) = rest.next()?;
                let known = escape(escaped, &mut rest);
                if known.is_none() {
                    unknown = unknown.or(Some(at));
                }
                inner.push(known.unwrap_or(escaped));
            }
            _ if next == quote => return Some(CString { text: inner, length: at + quote.len_utf8(), unknown }),
            _ => inner.push(next),
        }
    }
    None
}

/// The character of an escape, whose digits are taken from `rest`. `None` if C does not have it.
fn escape(escaped: char, rest: &mut Peekable<CharIndices<'_>>) -> Option<char> {
    let mut digits = |radix: u32, most: usize, first: u32| {
        let mut value = first;
        for _ in 0..most {
            let Some(digit) = rest.peek().and_then(|(_, next)| next.to_digit(radix)) else { break };
            value = value.wrapping_mul(radix).wrapping_add(digit);
            rest.next();
        }
        char::from_u32(value & 0xff)
    };
    match escaped {
        'n' => Some('\n'),
        't' => Some('\t'),
        'r' => Some('\r'),
        'a' => Some('\x07'),
        'b' => Some('\x08'),
        'f' => Some('\x0c'),
        'v' => Some('\x0b'),
        'e' => Some('\x1b'),
        'x' => digits(16, 2, 0),
        '0'..='7' => digits(8, 2, escaped.to_digit(8)?),
        '"' | '\\' | '\'' | '?' => Some(escaped),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(written: &str) -> String {
        unquoted(written).expect("a string").text
    }

    #[test]
    fn escapes_are_those_of_c() {
        assert_eq!(text(r#""\a\b\e\f\n\r\t\v\\\'\"\?""#), "\x07\x08\x1b\x0c\n\r\t\x0b\\'\"?");
        assert_eq!(text(r#""\x41\x4a2\101\0610\8""#), "AJ2A108");
        assert_eq!(text(r"'\''"), "'");
        assert_eq!(text("\"\u{e9}\\xe9\""), "\u{e9}\u{e9}");
    }

    #[test]
    fn the_length_has_the_quotes() {
        let read = unquoted(r#""a\"b", c"#).expect("a string");
        assert_eq!((&*read.text, read.length, read.unknown), ("a\"b", 6, None));
        for open in ["", "\"", "\"a", r#""a\"#, r#""a\""#] {
            assert_eq!(unquoted(open), None, "{open}");
        }
    }

    #[test]
    fn an_unknown_escape_is_told() {
        let read = unquoted(r#""a\y\z""#).expect("a string");
        assert_eq!((&*read.text, read.unknown), ("ayz", Some(2)));
    }
}
