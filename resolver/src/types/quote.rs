//! Quotes text and characters in the syntax of the language and escapes unprintable characters.

use std::fmt::Write as _;

/// Appends `bytes` in `quote`s. UTF-8 is copied; other bytes are written as `\xNN`.
pub(super) fn quoted(to: &mut String, bytes: &[u8], quote: char) {
    to.push(quote);
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            push(to, character, quote);
        }
        for byte in chunk.invalid() {
            let _ = write!(to, "\\x{byte:02x}");
        }
    }
    to.push(quote);
}

/// Appends a character in single quotes.
pub(super) fn character(to: &mut String, character: char) {
    to.push('\'');
    push(to, character, '\'');
    to.push('\'');
}

fn push(to: &mut String, character: char, quote: char) {
    match character {
        '\n' => to.push_str("\\n"),
        '\t' => to.push_str("\\t"),
        '\r' => to.push_str("\\r"),
        '\0' => to.push_str("\\0"),
        '\\' => to.push_str("\\\\"),
        _ if character == quote => {
            to.push('\\');
            to.push(character);
        }
        // Unprintable characters and terminal control characters.
        ' '..='~' => to.push(character),
        _ if character.is_ascii() => {
            let _ = write!(to, "\\x{:02x}", u32::from(character));
        }
        _ => to.push_str(&crate::text::shown(character.encode_utf8(&mut [0; 4]))),
    }
}
