//! Lines of text with indentation, and expressions that both languages write the same way.

use super::program::{Expression, Operator};

/// A growing text, and the lines of its markers.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) text: String,
    pub(super) lines: Vec<u32>,
    line: u32,
    indentation: usize,
}

impl Writer {
    /// Adds a line of code. A line that starts with `}` is indented less, and lines after a `{` are
    /// indented more.
    pub(super) fn line(&mut self, code: &str) {
        if code.starts_with('}') {
            self.indentation = self.indentation.saturating_sub(1);
        }
        self.text.push_str(&"    ".repeat(self.indentation));
        self.text.push_str(code);
        self.text.push('\n');
        self.line += 1;
        if code.ends_with('{') {
            self.indentation += 1;
        }
    }

    /// Adds text unchanged.
    pub(super) fn block(&mut self, text: &str) {
        text.lines().for_each(|line| self.line(line));
    }

    /// Adds the line of the marker `index`, which must be the next one.
    pub(super) fn marker(&mut self, index: usize, code: &str) {
        if self.lines.len() <= index {
            self.lines.resize(index + 1, 0);
        }
        self.lines[index] = self.line + 1;
        self.line(code);
    }
}

/// An expression, in brackets unless it is simple. `binary` writes a binary operation.
pub(super) fn expression(of: &Expression, state: &str, binary: &dyn Fn(Operator, &str, &str) -> String) -> String {
    match of {
        Expression::Constant(value) => value.to_string(),
        Expression::Variable(name) => name.clone(),
        Expression::Depth => format!("{state}depth"),
        Expression::Cell(index) => format!("{state}cells[{index}]"),
        Expression::Binary(operator, left, right) => {
            binary(*operator, &expression(left, state, binary), &expression(right, state, binary))
        }
    }
}
