//! The tokens of a `print fmt`: those of C.

use simple_markers_record::c_string;

use super::error::PrintError;
use super::integer::Integer;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or a keyword.
    Name(String),
    /// A number or a character.
    Number(u64, Integer),
    /// A string without its quotes, its escapes replaced.
    Text(String),
    /// An operator or a bracket.
    Sign(&'static str),
    /// The end of the text.
    End,
}

/// The longest first, so that `>>` is not two `>`.
const SIGNS: [&str; 35] = [
    "<<=", ">>=", "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "&", "|", "^", "~",
    "!", "<", ">", "=", "?", ":", ".", ",", ";", "(", ")", "[", "]", "{", "}",
];

/// The tokens of a text with their offsets. [`Token::End`] is the last one.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, PrintError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let trimmed = rest.trim_start();
        let start = at + (rest.len() - trimmed.len());
        let Some(first) = trimmed.chars().next() else {
            tokens.push((start, Token::End));
            return Ok(tokens);
        };
        let bad = PrintError::Character { offset: start };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (token, length) = match first {
            '0'..='9' => {
                let word = prefix(trimmed, is_name);
                (number(word).ok_or(bad)?, word.len())
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let word = prefix(trimmed, is_name);
                (Token::Name(word.to_owned()), word.len())
            }
            '"' => {
                let read = c_string::unquoted(trimmed).ok_or(bad)?;
                (Token::Text(read.text), read.length)
            }
            '\'' => {
                let read = c_string::unquoted(trimmed).ok_or(bad.clone())?;
                let mut characters = read.text.chars();
                match (characters.next(), characters.next()) {
                    (Some(one), None) => (Token::Number(u64::from(u32::from(one)), Integer::INT), read.length),
                    _ => return Err(bad),
                }
            }
            _ => {
                let sign = SIGNS.into_iter().find(|sign| trimmed.starts_with(sign)).ok_or(bad)?;
                (Token::Sign(sign), sign.len())
            }
        };
        tokens.push((start, token));
        at = start + length;
    }
}

fn prefix(text: &str, is_part: impl Fn(char) -> bool) -> &str {
    text.split(|c| !is_part(c)).next().unwrap_or_default()
}

/// A number with C's suffixes, in the smallest type that has it (C11 6.4.4.1).
fn number(word: &str) -> Option<Token> {
    let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
    let suffix = word.get(digits.len()..)?.to_ascii_lowercase();
    let (is_unsigned, is_long) = match suffix.as_str() {
        "" => (false, false),
        "u" => (true, false),
        "l" | "ll" => (false, true),
        "ul" | "ull" | "lu" | "llu" => (true, true),
        _ => return None,
    };
    let (value, is_decimal) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => (u64::from_str_radix(hex, 16).ok()?, false),
        None if digits.len() > 1 && digits.starts_with('0') => (u64::from_str_radix(digits, 8).ok()?, false),
        None => (digits.parse().ok()?, true),
    };
    let types = [Integer::INT, Integer::UNSIGNED, Integer::LONG, Integer::UNSIGNED_LONG];
    let fits = |of: &Integer| {
        let bits = u32::from(of.size) * 8 - u32::from(of.is_signed);
        value.checked_shr(bits).unwrap_or(0) == 0
            && (!is_long || of.size == 8)
            && (!is_unsigned || !of.is_signed)
            && (is_unsigned || !is_decimal || of.is_signed)
    };
    // A decimal number that is too large for a signed type has no type in C; gcc makes it unsigned.
    Some(Token::Number(value, types.into_iter().find(fits).unwrap_or(Integer::UNSIGNED_LONG)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Token> {
        tokens(text).expect("tokens").into_iter().map(|(_, token)| token).collect()
    }

    #[test]
    fn tokens_of_c_are_read() {
        use Token::{End, Name, Number, Sign, Text};
        let expected = [
            Name("REC".into()),
            Sign("->"),
            Name("a_1".into()),
            Sign(">>"),
            Number(20, Integer::INT),
            Sign("?"),
            Text("a\n\"%\\\t1".into()),
            Sign(":"),
            Number(65, Integer::INT),
            End,
        ];
        assert_eq!(all(r#" REC->a_1>>20 ? "a\n\"%\\\t\061" : '\x41' "#), expected);
        assert_eq!(tokens("a $").unwrap_err(), PrintError::Character { offset: 2 });
        assert_eq!(tokens("ab \"c").unwrap_err(), PrintError::Character { offset: 3 });
        assert_eq!(tokens("1z").unwrap_err(), PrintError::Character { offset: 0 });
    }

    #[test]
    fn numbers_have_the_types_of_c() {
        let of = |text: &str| match all(text).first() {
            Some(Token::Number(value, of)) => (*value, of.size, of.is_signed),
            other => panic!("{other:?}"),
        };
        assert_eq!(of("128"), (128, 4, true));
        assert_eq!(of("017"), (15, 4, true));
        assert_eq!(of("0xffffffff"), (0xffff_ffff, 4, false));
        assert_eq!(of("4294967295"), (0xffff_ffff, 8, true));
        assert_eq!(of("1UL"), (1, 8, false));
        assert_eq!(of("9ull"), (9, 8, false));
        assert_eq!(of("1U"), (1, 4, false));
        assert_eq!(of("0x8000000000000000"), (1 << 63, 8, false));
    }
}
