//! The description of a marker: the format `Command returning %p` and the argument `cmd` give
//! `Command returning $cmd`.

use std::sync::Arc;

use simple_markers_record::{args, printf};

use super::DeclaredArgument;
use crate::text;

/// A format with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The format with each conversion replaced by `$` and its argument. A conversion without an
    /// argument is not replaced.
    pub description: Arc<str>,
    /// The arguments, each with its conversion.
    pub args: Arc<[DeclaredArgument]>,
}

/// Joins a format and a list of arguments. A malformed conversion is text. An argument without a
/// conversion is kept.
#[must_use]
pub fn describe(format: &[u8], list: &[u8]) -> Described {
    let texts: Vec<&[u8]> = args::split(list).collect();
    let mut conversions: Vec<Arc<str>> = Vec::new();
    let mut description = Vec::with_capacity(format.len());
    let written = |range: std::ops::Range<usize>| format.get(range).unwrap_or_default();
    for piece in printf::parse(format) {
        match piece {
            Ok(printf::Piece::Literal(range)) => description.extend_from_slice(written(range)),
            Ok(printf::Piece::Percent(_)) => description.push(b'%'),
            Ok(printf::Piece::Conversion(conversion)) => {
                conversions.extend((0..conversion.stars()).map(|_| Arc::from("*")));
                let conversion = written(conversion.range);
                match texts.get(conversions.len()) {
                    Some(text) => {
                        description.push(b'$');
                        description.extend_from_slice(text);
                    }
                    None => description.extend_from_slice(conversion),
                }
                conversions.push(text::from_bytes(conversion).into());
            }
            Err(error) => description.extend_from_slice(written(error.range)),
        }
    }
    let mut conversions = conversions.into_iter();
    let args = texts
        .iter()
        .map(|text| DeclaredArgument { text: text::from_bytes(text).into(), conversion: conversions.next() })
        .collect();
    Described { description: text::from_bytes(&description).into(), args }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description(format: &str, list: &str) -> String {
        describe(format.as_bytes(), list.as_bytes()).description.to_string()
    }

    #[test]
    fn conversions_become_arguments() {
        assert_eq!(
            description("Command being queued %p; Done function %p", "cmd, scsi_done"),
            "Command being queued $cmd; Done function $scsi_done"
        );
        assert_eq!(description("%d%%, %-*.*s!", "a, width, precision, text"), "$a%, $text!");
        assert_eq!(description("%d %d", "a"), "$a %d");
        assert_eq!(description("%*d", "width"), "%*d");
        assert_eq!(description("none", "a, b"), "none");
        assert_eq!(description("100% \u{e9} %\u{e9} %n %", "a"), "100% \u{e9} %\u{e9} %n %");
        assert_eq!(describe(b"\xff %d", b"\xfe").description.as_ref(), "\\xff $\\xfe");
    }

    #[test]
    fn each_argument_has_its_conversion() {
        let args = describe(b"%*d %lx", b"w, a, b, rest").args;
        let args: Vec<_> = args.iter().map(|arg| (arg.text.as_ref(), arg.conversion.as_deref())).collect();
        assert_eq!(args, [("w", Some("*")), ("a", Some("%*d")), ("b", Some("%lx")), ("rest", None)]);
    }
}
