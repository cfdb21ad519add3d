//! Cells of text: escaped, padded, cut and coloured. Widths are in columns of a terminal (UAX 11), not in bytes.

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Column heads.
pub(super) const HEAD: Style = Style::new().underline();
/// Names of markers.
pub(super) const NAME: Style = Style::new().bold();
/// What says that a marker is not there.
pub(super) const GONE: Style = AnsiColor::Red.on_default();
/// What says that we do not know.
pub(super) const UNKNOWN: Style = AnsiColor::Yellow.on_default();
/// What is there to be looked up, not read.
pub(super) const QUIET: Style = Style::new().dimmed();
/// Arguments.
pub(super) const ARGUMENT: Style = AnsiColor::Cyan.on_default();
/// Everything else.
pub(super) const PLAIN: Style = Style::new();

/// Columns that a cell takes.
pub(super) fn width(cell: &str) -> usize {
    cell.width()
}

/// Writes a cell in a style; then, outside of the style, spaces up to `columns`.
pub(super) fn cell(out: &mut dyn Write, colour: bool, style: Style, cell: &str, columns: usize) -> io::Result<()> {
    if colour && style != PLAIN && !cell.is_empty() {
        write!(out, "{style}{cell}{style:#}")?;
    } else {
        out.write_all(cell.as_bytes())?;
    }
    let padding = columns.saturating_sub(width(cell));
    write!(out, "{:padding$}", "")
}

/// `cell` cut to `columns`, its end an ellipsis where something is missing.
pub(super) fn cut(cell: &str, columns: usize) -> Cow<'_, str> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_cut_by_columns() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 5), "abcd\u{2026}");
        assert_eq!(cut("\u{6f22}\u{5b57}\u{6f22}", 4), "\u{6f22}\u{2026}");
        assert_eq!(cut("abc", 0), "\u{2026}");
    }
}
