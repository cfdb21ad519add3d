//! Text for the assembler: bytes as the inside of a string directive that gas and LLVM read back the same.

use alloc::string::String;
use core::fmt::Write as _;

/// `bytes` as the inside of an `.ascii "..."` directive, by gas's "Strings" rules: printable ASCII as it is, the rest as three octal
/// digits. Braces are escaped too, so that the text is the same in a template that gives braces a meaning and in one that does not,
/// and `$`, which LLVM takes out of inline assembly in Intel syntax.
///
/// A NUL has no place in a record; the caller refuses it.
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
