//! Prints tables over each other on a terminal.

use std::io::{self, Write as _};

/// A table that is printed over the last one on a terminal.
pub(super) struct CountScreen {
    pub(super) is_terminal: bool,
    /// How many lines the last table has.
    pub(super) lines: usize,
}

impl CountScreen {
    /// Prints a table. `may_cut` says that another one follows, so a terminal gets as much as fits.
    pub(super) fn show(&mut self, text: &str, may_cut: bool) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let size = terminal_size::terminal_size_of(io::stdout()).filter(|_| self.is_terminal);
        let Some((width, height)) = size else {
            write!(out, "{text}")?;
            if may_cut {
                writeln!(out)?;
            }
            return out.flush();
        };
        if self.lines > 0 {
            write!(out, "\u{1b}[{}A\u{1b}[J", self.lines)?;
        }
        let (width, height) = (usize::from(width.0), usize::from(height.0).saturating_sub(1).max(1));
        let all = text.lines().count();
        let lines = if may_cut { all.min(height) } else { all };
        for line in text.lines().take(lines) {
            let line: String = if may_cut { line.chars().take(width).collect() } else { line.to_owned() };
            writeln!(out, "{line}")?;
        }
        self.lines = lines;
        out.flush()
    }
}
