//! The strings of a probe whose format has constants in its words, made at compile time.

/// A part of a string.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// Text.
    Text(&'static str),
    /// A number in decimal.
    Value(i128),
}

/// How many bytes the parts have.
#[must_use]
pub const fn length(parts: &[Part]) -> usize {
    let (mut sum, mut index) = (0, 0);
    while index < parts.len() {
        sum += match parts[index] {
            Part::Text(text) => text.len(),
            Part::Value(value) => digits(value.unsigned_abs()) + (value < 0) as usize,
        };
        index += 1;
    }
    sum
}

const fn digits(mut value: u128) -> usize {
    let mut count = 1;
    while value >= 10 {
        value /= 10;
        count += 1;
    }
    count
}

/// The parts as one text, which has `N` bytes.
#[must_use]
pub const fn joined<const N: usize>(parts: &[Part]) -> [u8; N] {
    let mut all = [0; N];
    let (mut at, mut index) = (0, 0);
    while index < parts.len() {
        match parts[index] {
            Part::Text(text) => {
                let mut byte = 0;
                while byte < text.len() {
                    all[at + byte] = text.as_bytes()[byte];
                    byte += 1;
                }
                at += text.len();
            }
            Part::Value(value) => {
                if value < 0 {
                    all[at] = b'-';
                    at += 1;
                }
                let mut rest = value.unsigned_abs();
                let count = digits(rest);
                let mut digit = count;
                while digit > 0 {
                    digit -= 1;
                    all[at + digit] = b'0' + (rest % 10) as u8;
                    rest /= 10;
                }
                at += count;
            }
        }
        index += 1;
    }
    all
}

/// The text in these bytes.
#[must_use]
pub const fn as_text(bytes: &'static [u8]) -> &'static str {
    match core::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("parts of UTF-8 are not UTF-8"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined() {
        const PARTS: &[Part] = &[Part::Text("A="), Part::Value(0), Part::Value(-120), Part::Text("\u{e9}")];
        const TEXT: [u8; length(PARTS)] = joined(PARTS);
        assert_eq!(as_text(&TEXT), "A=0-120\u{e9}");
    }
}
