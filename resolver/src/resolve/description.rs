//! The description of a marker: the format `Command returning %p` and the argument `cmd` give
//! `Command returning $cmd`.

use std::sync::Arc;

use simple_markers_record::{args, printf};

use super::{DeclaredArgument, DeclaredWords, WordsMistake};
use crate::text;
use crate::types::Names;

/// A format with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatDescription {
    /// The format with each conversion replaced by `$` and its argument. A conversion without an
    /// argument is not replaced.
    pub description: Arc<str>,
    /// The arguments, each with its conversion.
    pub args: Arc<[DeclaredArgument]>,
}

/// Joins a format and a list of arguments. A malformed conversion is text. An argument without a
/// conversion is kept.
#[must_use]
pub fn describe(format: &[u8], list: &[u8]) -> FormatDescription {
    let texts: Vec<&[u8]> = args::split(list).collect();
    let mut conversions: Vec<ArgumentConversion> = Vec::new();
    let mut description = Vec::with_capacity(format.len());
    let written = |range: std::ops::Range<usize>| format.get(range).unwrap_or_default();
    for piece in printf::parse(format) {
        match piece {
            Ok(printf::Piece::Literal(range)) => description.extend_from_slice(written(range)),
            Ok(printf::Piece::Percent(_)) => description.push(b'%'),
            Ok(printf::Piece::Conversion(conversion)) => {
                conversions.extend((0..conversion.stars()).map(|_| ArgumentConversion::star()));
                let converted = ArgumentConversion::new(&conversion, format);
                let conversion = written(conversion.range);
                match texts.get(conversions.len()) {
                    Some(text) => {
                        description.push(b'$');
                        description.extend_from_slice(text);
                    }
                    None => description.extend_from_slice(conversion),
                }
                conversions.push(converted);
            }
            Err(error) => description.extend_from_slice(written(error.range)),
        }
    }
    let mut conversions = conversions.into_iter();
    let args = texts
        .iter()
        .map(|text| {
            let text = text::from_bytes(text).into();
            match conversions.next() {
                Some(ArgumentConversion { conversion, words, mistake, form }) => {
                    DeclaredArgument { text, conversion: Some(conversion), words, mistake, form }
                }
                None => DeclaredArgument { text, conversion: None, words: None, mistake: None, form: None },
            }
        })
        .collect();
    FormatDescription { description: text::from_bytes(&description).into(), args }
}

/// What the format says of an argument.
struct ArgumentConversion {
    conversion: Arc<str>,
    words: Option<DeclaredWords>,
    mistake: Option<WordsMistake>,
    form: Option<Arc<str>>,
}

impl ArgumentConversion {
    fn star() -> Self {
        Self { conversion: "*".into(), words: None, mistake: None, form: None }
    }

    fn new(conversion: &printf::Conversion, format: &[u8]) -> Self {
        let written = conversion.written();
        let mistake = conversion.mistake(format).map(|mistake| WordsMistake {
            text: text::from_bytes(format.get(mistake.range).unwrap_or_default()).into(),
            kind: mistake.kind,
        });
        let words = conversion.words(format).map(|words| match words.is_empty() {
            true => DeclaredWords::Type,
            false => DeclaredWords::Format(Arc::new(Names::of_words(&words))),
        });
        let form = conversion.form.clone().map(|form| text::from_bytes(format.get(form).unwrap_or_default()).into());
        Self { conversion: text::from_bytes(format.get(written).unwrap_or_default()).into(), words, mistake, form }
    }
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
