//! Integer constants as C and Rust write them, and as macros of C expand to them.

/// How deep parentheses and signs can be nested.
const MAX_DEPTH: u32 = 32;

/// The value of an integer constant: a literal of C (decimal, octal, hexadecimal, binary, a character;
/// with or without a suffix), in parentheses, with the operators `| ^ & << >> + - * ~`. `None` if it is
/// something else, or not between -2^63 and 2^64 - 1.
#[must_use]
pub fn constant(text: &[u8]) -> Option<i128> {
    let mut parser = Parser { text, depth: 0 };
    let value = parser.binary(0)?;
    parser.space();
    parser.text.is_empty().then_some(value)
}

struct Parser<'a> {
    text: &'a [u8],
    depth: u32,
}

/// The operators with two sides, and how tightly each binds (ISO C23 6.5).
const OPERATORS: [(&[u8], u8); 8] =
    [(b"|", 1), (b"^", 2), (b"&", 3), (b"<<", 4), (b">>", 4), (b"+", 5), (b"-", 5), (b"*", 6)];

/// The value if a constant can have it.
fn bounded(value: i128) -> Option<i128> {
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value).then_some(value)
}

impl Parser<'_> {
    fn space(&mut self) {
        self.text = self.text.trim_ascii_start();
    }

    fn take(&mut self, token: &[u8]) -> bool {
        let rest = self.text.strip_prefix(token);
        self.text = rest.unwrap_or(self.text);
        rest.is_some()
    }

    /// Operations that bind more tightly than `weakest`.
    fn binary(&mut self, weakest: u8) -> Option<i128> {
        let mut left = self.unary()?;
        loop {
            self.space();
            let next = OPERATORS.iter().find(|(token, binds)| *binds > weakest && self.text.starts_with(token));
            let Some((token, binds)) = next else { return Some(left) };
            self.take(token);
            let right = self.binary(*binds)?;
            let shift = || u32::try_from(right).ok().filter(|right| *right < 64);
            left = bounded(match *token {
                b"|" => left | right,
                b"^" => left ^ right,
                b"&" => left & right,
                b"<<" => left.checked_shl(shift()?)?,
                b">>" => left.checked_shr(shift()?)?,
                b"+" => left.checked_add(right)?,
                b"-" => left.checked_sub(right)?,
                _ => left.checked_mul(right)?,
            })?;
        }
    }

    fn unary(&mut self) -> Option<i128> {
        self.depth = self.depth.checked_add(1).filter(|depth| *depth <= MAX_DEPTH)?;
        self.space();
        let value = if self.take(b"-") {
            bounded(self.unary()?.checked_neg()?)
        } else if self.take(b"~") {
            bounded(!self.unary()?)
        } else if self.take(b"+") {
            self.unary()
        } else if self.take(b"(") {
            let inner = self.binary(0)?;
            self.space();
            self.take(b")").then_some(inner)
        } else {
            self.literal()
        };
        self.depth -= 1;
        value
    }

    fn literal(&mut self) -> Option<i128> {
        if let [b'\'', letter @ (b' '..=b'&' | b'('..=b'[' | b']'..=b'~'), b'\'', rest @ ..] = self.text {
            self.text = rest;
            return Some(i128::from(*letter));
        }
        let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let end = self.text.iter().position(|byte| !is_of_word(byte)).unwrap_or(self.text.len());
        let (word, rest) = self.text.split_at(end);
        self.text = rest;
        let (base, digits) = match word {
            [b'0', b'x' | b'X', digits @ ..] => (16, digits),
            [b'0', b'b' | b'B', digits @ ..] => (2, digits),
            [b'0', b'0'..=b'9', ..] => (8, word),
            _ => (10, word),
        };
        let end = digits.iter().position(|byte| !char::from(*byte).is_digit(base)).unwrap_or(digits.len());
        let (digits, suffix) = digits.split_at(end);
        // At most `ull` or `uwb`. Rust's suffixes have the size in bits.
        let is_suffix =
            suffix.len() <= 3 && suffix.iter().all(|byte| matches!(byte, b'u' | b'U' | b'l' | b'L' | b'z' | b'Z'));
        if digits.is_empty() || !is_suffix {
            return None;
        }
        let digit = |byte: &u8| char::from(*byte).to_digit(base).map(i128::from);
        digits.iter().try_fold(0i128, |number, byte| bounded(number * i128::from(base) + digit(byte)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_of_c_have_their_values() {
        let values: [(&str, i128); 20] = [
            ("0", 0),
            (" 12 ", 12),
            ("0x1F", 31),
            ("0100", 64),
            ("00", 0),
            ("0b101", 5),
            ("1u", 1),
            ("1ULL", 1),
            ("0xffffffffffffffffUL", u64::MAX as i128),
            ("-0x8000000000000000", i64::MIN as i128),
            ("(1 << 3)", 8),
            ("((1U) << (3))", 8),
            ("(0x1 | 0x4)", 5),
            ("1 | 2 << 1", 5),
            ("(BASE)", -1),
            ("(16 + 3)", 19),
            ("10 - 3 - 2", 5),
            ("2 * 3 + 1", 7),
            ("~0xf & 0xff", 0xf0),
            ("'A'", 65),
        ];
        for (text, value) in values {
            let value = (text != "(BASE)").then_some(value);
            assert_eq!(constant(text.as_bytes()), value, "{text}");
        }
        for text in [
            "",
            "x",
            "1.0",
            "08",
            "0x",
            "1uu8",
            "1 2",
            "(1",
            "1)",
            "1 <<",
            "1 << 64",
            "18446744073709551616",
            "\"a\"",
            "'ab'",
            "(int)1",
        ] {
            assert_eq!(constant(text.as_bytes()), None, "{text}");
        }
        assert_eq!(constant(&[b'('; 100]), None);
        assert_eq!(constant(&[b'-'; 1000]), None);
    }
}
