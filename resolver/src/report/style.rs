//! Cells of text: escaped, padded, cut and coloured. Widths are columns of a terminal (UAX 11), not
//! bytes.

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::resolve::Verdict;

/// Column heads.
pub(crate) const HEAD: Style = Style::new().underline();
/// Names of markers.
pub(crate) const NAME: Style = Style::new().bold();
/// A marker that is not in the image.
pub(crate) const GONE: Style = AnsiColor::Red.on_default();
/// Something that is not known.
pub(crate) const UNKNOWN: Style = AnsiColor::Yellow.on_default();
/// Something that can be read.
pub(crate) const READABLE: Style = AnsiColor::Green.on_default();
/// Details that a reader looks up.
pub(crate) const QUIET: Style = Style::new().dimmed();
/// Arguments.
pub(crate) const ARGUMENT: Style = AnsiColor::Cyan.on_default();
/// Everything else.
pub(crate) const PLAIN: Style = Style::new();

/// The colour of an argument's verdict.
pub(crate) fn verdict(verdict: Option<Verdict>) -> Style {
    match verdict {
        Some(Verdict::Live | Verdict::Constant) => READABLE,
        Some(Verdict::Partial | Verdict::Doubtful | Verdict::Entry) | None => UNKNOWN,
        Some(Verdict::Lost | Verdict::Absent | Verdict::Unsupported) => GONE,
    }
}

/// The width of a cell in columns.
pub(crate) fn width(cell: &str) -> usize {
    cell.width()
}

/// Writes a cell in a style, and unstyled spaces up to `columns`.
pub(crate) fn cell(out: &mut dyn Write, colour: bool, style: Style, cell: &str, columns: usize) -> io::Result<()> {
    if colour && style != PLAIN && !cell.is_empty() {
        write!(out, "{style}{cell}{style:#}")?;
    } else {
        out.write_all(cell.as_bytes())?;
    }
    let padding = columns.saturating_sub(width(cell));
    write!(out, "{:padding$}", "")
}

/// `cell` cut to `columns`. If something is missing, it ends with an ellipsis.
pub(crate) fn cut(cell: &str, columns: usize) -> Cow<'_, str> {
    if width(cell) <= columns {
        return Cow::Borrowed(cell);
    }
    let mut cut = String::new();
    let mut used = 1;
    for character in cell.chars() {
        used += character.width().unwrap_or(0);
        if used > columns {
            break;
        }
        cut.push(character);
    }
    cut.push('\u{2026}');
    Cow::Owned(cut)
}

/// `cell` shortened to `columns` in the middle, where the name of a generic function has its types.
pub(crate) fn shortened(cell: &str, columns: usize) -> Cow<'_, str> {
    if width(cell) <= columns {
        return Cow::Borrowed(cell);
    }
    let (front, back) = (columns / 2, columns.saturating_sub(columns / 2 + 1));
    let upto = |used: &mut usize, most: usize, character: char| {
        *used += character.width().unwrap_or(0);
        *used <= most
    };
    let (mut first, mut last) = (0, 0);
    let mut short: String = cell.chars().take_while(|character| upto(&mut first, front, *character)).collect();
    let end: Vec<char> = cell.chars().rev().take_while(|character| upto(&mut last, back, *character)).collect();
    short.push('\u{2026}');
    short.extend(end.iter().rev());
    Cow::Owned(short)
}

/// The path of the macro that `code` begins with (`simple_markers::simple_mark!`), or its first
/// character if it begins with something else. gcc gives the column of the statement.
pub(crate) fn call_path(code: &str) -> &str {
    let end = code.find(|after: char| !(after.is_alphanumeric() || "_!:".contains(after)));
    let path = code.get(..end.unwrap_or(code.len())).unwrap_or_default();
    let first = code.chars().next().map_or(0, char::len_utf8);
    if path.ends_with('!') || path.contains("mark") { path } else { code.get(..first).unwrap_or_default() }
}

/// Where the call of the marker `name` is in a line with several markers, up to the next one; `None` in
/// any other line. C tells no column of a marker.
pub(crate) fn call_among(code: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '!' | ':');
    let mut calls: Vec<(usize, &str)> = Vec::new();
    for (open, _) in code.match_indices('(') {
        let before = code.get(..open)?.trim_end();
        let path = before.rsplit(|c: char| !is_part(c)).next().unwrap_or_default();
        let start = before.len() - path.len();
        if path.contains("mark") || path.contains("probe") {
            let first = code.get(open + 1..)?.split([',', ')']).next().unwrap_or_default();
            calls.push((start, first.trim().trim_matches('"')));
        }
    }
    let index = calls.iter().position(|(_, first)| *first == name).filter(|_| calls.len() > 1)?;
    let end = calls.get(index + 1).map_or(code.len(), |(next, _)| *next);
    Some(calls.get(index)?.0..end)
}

/// `text` in lines of at most `columns`, broken at spaces. A wider word has its own line. With
/// `None` there is one line.
pub(crate) fn wrap(text: &str, columns: Option<usize>) -> Vec<&str> {
    let Some(columns) = columns.filter(|columns| width(text) > *columns) else { return vec![text] };
    let mut lines = Vec::new();
    let mut rest = text;
    while width(rest) > columns {
        let mut used = 0;
        let mut best = None;
        for (index, character) in rest.char_indices() {
            if character == ' ' && index > 0 {
                if used > columns && best.is_some() {
                    break;
                }
                best = Some(index);
            }
            used += character.width().unwrap_or(0);
            if used > columns && best.is_some() {
                break;
            }
        }
        let Some((line, after)) = best.and_then(|index| rest.split_at_checked(index)) else { break };
        lines.push(line);
        rest = after.trim_start_matches(' ');
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shortened_in_the_middle() {
        assert_eq!(shortened("0123456789", 10), "0123456789");
        assert_eq!(shortened("0123456789a", 10), "01234\u{2026}789a");
        assert_eq!(shortened("0123456789a", 5), "01\u{2026}9a");
        assert_eq!(shortened("\u{4e00}\u{4e01}\u{4e02}\u{4e03}", 5), "\u{4e00}\u{2026}\u{4e03}");
        assert_eq!(shortened("ab", 0), "\u{2026}");
    }

    #[test]
    fn text_is_wrapped_at_spaces() {
        assert_eq!(wrap("one two three", None), ["one two three"]);
        assert_eq!(wrap("one two three", Some(13)), ["one two three"]);
        assert_eq!(wrap("one two three", Some(12)), ["one two", "three"]);
        assert_eq!(wrap("one two three", Some(7)), ["one two", "three"]);
        assert_eq!(wrap("one two three", Some(3)), ["one", "two", "three"]);
        assert_eq!(wrap("wholeword and", Some(3)), ["wholeword", "and"]);
        assert_eq!(wrap("", Some(0)), [""]);
        assert_eq!(wrap("  ", Some(1)), [" "]);
        assert_eq!(wrap("\u{6f22}\u{5b57} \u{6f22}", Some(4)), ["\u{6f22}\u{5b57}", "\u{6f22}"]);
    }

    #[test]
    fn cells_are_cut_by_columns() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 5), "abcd\u{2026}");
        assert_eq!(cut("\u{6f22}\u{5b57}\u{6f22}", 4), "\u{6f22}\u{2026}");
        assert_eq!(cut("abc", 0), "\u{2026}");
    }

    #[test]
    fn each_of_several_markers_has_its_call() {
        let line = "  simple_mark(a:b, \"%d\", x); simple_mark_anchor(b, \"%d\", f(x));";
        let call = |name: &str| call_among(line, name).map(|range| &line[range]);
        assert_eq!(call("a:b"), Some("simple_mark(a:b, \"%d\", x); "));
        assert_eq!(call("b"), Some("simple_mark_anchor(b, \"%d\", f(x));"));
        assert_eq!(call("c"), None);
        assert_eq!(call_among("simple_mark(a, \"%d\", x);", "a"), None, "it is alone");
    }
}
