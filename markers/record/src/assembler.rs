//! Text for the assembler: escapes bytes for a string directive so that gas and LLVM read the same
//! bytes back.

use alloc::string::String;
use core::fmt::Write as _;

/// `bytes` as the inside of an `.ascii "..."` directive, by the rules in "Strings" of the manual of
/// gas: printable ASCII unchanged, everything else as three octal digits. Braces are escaped too,
/// so that the text works in templates with and without placeholders. So is `$`, which LLVM removes
/// from inline assembly in Intel syntax.
///
/// The caller refuses NUL bytes, which a record cannot contain.
#[must_use]
pub fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'"' | b'\\' | b'{' | b'}' | b'$' | 0..0x20 | 0x7f.. => {
                // Writing to a String cannot fail.
                let _ = write!(text, "\\{byte:03o}");
            }
            _ => text.push(char::from(byte)),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_meaning_is_octal() {
        assert_eq!(escape(b"a %d b"), "a %d b");
        assert_eq!(escape("\"\\{}$\n\u{e9}\x7f".as_bytes()), r"\042\134\173\175\044\012\303\251\177");
    }
}
