//! Bytes from a file as text. Valid UTF-8 is kept and the rest is escaped. Reports escape terminal
//! control characters (see [`shown`]). And which names are close to another one.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Converts `bytes` to text. Each byte that is not valid UTF-8 becomes `\xNN`.
#[must_use]
pub fn from_bytes(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a String cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// `bytes` in hexadecimal, two digits each, as a build id is written.
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Escapes the characters of `text` that change how a terminal shows the rest: control characters
/// and bidirectional marks (Unicode TR 36, "Bidirectional Text Spoofing").
#[must_use]
pub fn shown(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            '\0'..='\x1f' | '\x7f' => {
                let _ = write!(shown, "\\x{:02x}", u32::from(character));
            }
            '\u{80}'..='\u{9f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{61c}'
            | '\u{feff}' => {
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
            }
            _ => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

/// How many names are suggested.
const SUGGESTIONS: usize = 3;

/// Longer names are not compared, in bytes.
const LONGEST_COMPARED: usize = 256;

/// The names with the smallest edit distance to `pattern`, without its wildcards; at most three.
#[must_use]
pub fn closest<'a>(pattern: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let plain: String = pattern.chars().filter(|c| !"*?[]{}\\".contains(*c)).take(LONGEST_COMPARED).collect();
    let mut names: Vec<&str> = names.filter(|name| name.len() <= LONGEST_COMPARED && !name.starts_with('<')).collect();
    names.sort_unstable();
    names.dedup();
    names.sort_by_cached_key(|name| strsim::osa_distance(&plain, name));
    names.into_iter().take(SUGGESTIONS).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_text_is_escaped() {
        assert_eq!(from_bytes(b"a\xff\xc3\xa9\xe2\x82"), "a\\xff\u{e9}\\xe2\\x82");
        assert_eq!(shown("a\u{1b}[31m\n\u{e9}\u{202e}\u{9b}"), "a\\x1b[31m\\n\u{e9}\\u{202e}\\u{9b}");
    }
}
