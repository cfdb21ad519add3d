//! What the metadata of all recordings have in common: the Trace Stream Description Language (CTF 1.8,
//! appendix C).
//!
//! A reader removes the `_` before the name of a field, which keeps names and keywords apart.

use core::fmt::{self, Display, Write};

/// A string literal. `Display` writes it with its quotes.
#[derive(Clone, Copy, Debug)]
pub struct StringLiteral<'a>(pub &'a str);

impl Display for StringLiteral<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_char('"')?;
        for letter in self.0.chars() {
            match letter {
                '"' | '\\' => write!(out, "\\{letter}")?,
                letter if letter.is_control() => out.write_char('?')?,
                letter => out.write_char(letter)?,
            }
        }
        out.write_char('"')
    }
}

/// Writes a field that is a number of the type `of`, with the names of its values if it has any.
///
/// # Errors
///
/// Those of `out`.
pub fn number(out: &mut impl Write, name: &str, of: &str, labels: Option<impl Display>) -> fmt::Result {
    match labels {
        Some(labels) => writeln!(out, "\t\tenum : {of} {{ {labels} }} _{name};"),
        None => writeln!(out, "\t\t{of} _{name};"),
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString as _};

    use super::*;

    #[test]
    fn literals_and_fields_are_those_of_the_language() {
        assert_eq!(StringLiteral("a\"\\\u{7}\u{e4}").to_string(), r#""a\"\\?ä""#);
        let mut out = String::new();
        number(&mut out, "depth", "uint8_t", None::<&str>).unwrap();
        number(&mut out, "state", "int32_t", Some("\"IDLE\" = 0")).unwrap();
        assert_eq!(out, "\t\tuint8_t _depth;\n\t\tenum : int32_t { \"IDLE\" = 0 } _state;\n");
    }
}
