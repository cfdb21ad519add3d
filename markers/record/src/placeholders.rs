//! Braces as Rust's `format!` takes them, in the text of a format: `{}`, `{name}`, `{0:?}`.
//!
//! A marker's format is that of printf, where these are text. Somebody who writes them in Rust means a
//! value, so `simple_mark!` refuses them, and takes `{{name}}` for the text `{name}`. All other braces
//! are text. A record has the text only.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use crate::names;
use crate::printf::{self, Piece};
use crate::value_form;

/// Braces in the text of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder {
    /// All of its bytes.
    pub range: Range<usize>,
    /// Whether the braces are doubled: it is text.
    pub is_text: bool,
}

/// The placeholders in a format, in their order.
#[must_use]
pub fn placeholders(format: &str) -> Vec<Placeholder> {
    let mut found = Vec::new();
    let (mut takes_words, mut takes_form) = (false, false);
    for piece in printf::parse(format.as_bytes()) {
        let Ok(Piece::Literal(range)) = piece else {
            (takes_words, takes_form) = match &piece {
                Ok(Piece::Conversion(it)) => {
                    (names::takes_words(it.specifier), value_form::takes_form(it.specifier, &it.range))
                }
                _ => (false, false),
            };
            continue;
        };
        let text = format.get(range.clone()).unwrap_or_default();
        let mut at = 0;
        while let Some(brace) = text.get(at..).and_then(|rest| rest.find('{')) {
            at = at.saturating_add(brace);
            let rest = text.get(at..).unwrap_or_default();
            let doubled = rest.strip_prefix('{').and_then(inside);
            let doubled = doubled
                .filter(|inner| rest.get(inner.len().saturating_add(3)..).is_some_and(|end| end.starts_with('}')));
            // Without the doubled braces, `%d{{}}` would be `%d{}`, which names the value, and `%p{{}}` a value.
            let is_form = |inner: &str| takes_form && value_form::value_form(inner.as_bytes()).is_some();
            let is_left = |inner: &str| at == 0 && (inner.is_empty() && takes_words || is_form(inner));
            let (length, is_text) = match (inside(rest), doubled) {
                // The form of a value, with a mistake.
                (Some(inner), _) if takes_form && at == 0 => (inner.len().saturating_add(2), None),
                (Some(inner), _) => (inner.len().saturating_add(2), Some(false)),
                (None, Some(inner)) => (inner.len().saturating_add(4), (!is_left(inner)).then_some(true)),
                (None, None) => (1, None),
            };
            if let Some(is_text) = is_text {
                let start = range.start.saturating_add(at);
                found.push(Placeholder { range: start..start.saturating_add(length), is_text });
            }
            at = at.saturating_add(length);
        }
        (takes_words, takes_form) = (false, false);
    }
    found
}

/// A format with `{{name}}` as the text that it means.
#[must_use]
pub fn as_text(format: &str) -> String {
    let (mut text, mut copied) = (String::new(), 0);
    for Placeholder { range, .. } in placeholders(format).into_iter().filter(|placeholder| placeholder.is_text) {
        text.push_str(format.get(copied..range.start.saturating_add(1)).unwrap_or_default());
        text.push_str(format.get(range.start.saturating_add(2)..range.end.saturating_sub(1)).unwrap_or_default());
        copied = range.end;
    }
    text.push_str(format.get(copied..).unwrap_or_default());
    text
}

/// What is between the braces at the start of a text, if `format!` takes it.
fn inside(text: &str) -> Option<&str> {
    let (inner, _) = text.strip_prefix('{')?.split_once('}')?;
    let (name, specification) = inner.split_once(':').unwrap_or((inner, ""));
    let is_name = name.chars().all(|it| it == '_' || it == '.' || it.is_alphanumeric());
    let is_specification = !specification.starts_with(':')
        && specification.chars().all(|it| it.is_ascii_graphic() && !matches!(it, '{' | '"' | '=' | ',' | '|'));
    (is_name && is_specification).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_of_format_are_found() {
        let found = |format: &'static str| -> Vec<(&str, bool)> {
            placeholders(format).into_iter().map(|it| (&format[it.range], it.is_text)).collect()
        };
        assert_eq!(
            found("request {id}, {} of {0:?} {self.x:#06x}"),
            [("{id}", false), ("{}", false), ("{0:?}", false), ("{self.x:#06x}", false)]
        );
        assert_eq!(found("{{id}} {{}} {{a}}}"), [("{{id}}", true), ("{{}}", true), ("{{a}}", true)]);
        for text in [
            r#"{"depth": {"now": %d}}"#,
            "{%d}",
            "{ }",
            "{a b}",
            "{a,b}",
            "{",
            "}",
            "{{",
            "}}",
            "{{id}",
            "%d{}",
            "%x{A=1|B=2}",
            "%x{A::B|}",
            "%d{{}}",
            "%p{{}}",
            "%p{{a.b}}",
            "%p{a}",
            "%p{:5$}",
            "%u{A=f(2)}",
        ] {
            let expected: &[(&str, bool)] = if text == "{{id}" { &[("{id}", false)] } else { &[] };
            assert_eq!(found(text), expected, "{text}");
        }
        assert_eq!(found("%s{} %d {}"), [("{}", false), ("{}", false)]);
        assert_eq!(found("%p{a}{b} %8p{c} %p{{a b}}"), [("{b}", false), ("{c}", false)]);
        assert_eq!(as_text("a {{id}} {{}} %d{} {\"x\": {%d}} {{b"), "a {id} {} %d{} {\"x\": {%d}} {{b");
    }
}
