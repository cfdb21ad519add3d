//! Lines that fit.

use ratatui::text::Span;

/// The beginning of a text that has at most so many columns.
pub(super) fn cut(text: &str, width: usize) -> String {
    wrapped(text, width).into_iter().next().unwrap_or_default()
}

/// The parts of a text that have at most so many columns each. One that is empty has one part.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    if text.is_ascii() && text.len() <= width {
        return vec![text.to_owned()];
    }
    let (mut lines, mut line, mut columns) = (Vec::new(), String::new(), 0);
    for character in text.chars() {
        let own = Span::raw(character.encode_utf8(&mut [0; 4]) as &str).width();
        if columns + own > width && !line.is_empty() {
            lines.push(std::mem::take(&mut line));
            columns = 0;
        }
        line.push(character);
        columns += own;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_have_two_columns() {
        assert_eq!(wrapped("abcdef", 4), ["abcd", "ef"]);
        assert_eq!(wrapped("日本語", 4), ["日本", "語"]);
        assert_eq!((wrapped("", 4), wrapped("ab", 0)), (vec![String::new()], vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!((cut("日本語", 5), cut("ab", 1)), ("日本".to_owned(), "a".to_owned()));
    }
}
