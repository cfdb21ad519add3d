//! The format of a mark: a string as C writes it (C11, 6.4.5).

use super::error::{MarkError, MarkErrorKind};

/// The text of a string that begins with a quote, and how many bytes it takes with its quotes.
pub(super) fn unquoted(quoted: &str) -> Result<(String, usize), MarkError> {
    let error = |offset, kind| Err(MarkError { offset, kind });
    let mut text = String::new();
    let mut rest = quoted.char_indices().skip(1).peekable();
    while let Some((at, next)) = rest.next() {
        match next {
            '"' => return Ok((text, at + 1)),
            '\\' => {
                let Some((_, escaped)) = rest.next() else { break };
                text.push(match escaped {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'a' => '\x07',
                    'b' => '\x08',
                    'f' => '\x0c',
                    'v' => '\x0b',
                    'e' => '\x1b',
                    '"' | '\\' | '\'' | '?' => escaped,
                    _ => return error(at, MarkErrorKind::Escape),
                });
            }
            _ => text.push(next),
        }
    }
    error(0, MarkErrorKind::OpenFormat)
}
