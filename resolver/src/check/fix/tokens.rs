//! The invocations of markers in a source file, as the readers of each language find them.

use std::ops::Range;
use std::sync::Arc;

use crate::resolve::Marker;

/// A macro call in a source file.
#[derive(Clone, Debug)]
pub(super) struct MacroCall {
    /// The last component of its path.
    pub(super) name: String,
    /// The bytes of the last component.
    pub(super) name_range: Range<usize>,
    /// From the first byte of the path to the closing parenthesis.
    pub(super) range: Range<usize>,
    /// The lines of its first and last byte, from 1.
    pub(super) lines: (u32, u32),
    /// Its column in characters, from 1.
    pub(super) column: u32,
    /// Line and column of the outermost call whose arguments contain it; its own if there is none.
    pub(super) outermost: (u32, u32),
    /// Whether it is `simple_mark`, or one of the macros in C.
    pub(super) is_marker: bool,
    /// The macro whose definition contains it.
    pub(super) definition: Option<Arc<str>>,
    /// The contents of its parentheses, if they parse as a marker.
    pub(super) marker: Option<MarkerTokens>,
}

/// The contents of a marker invocation.
#[derive(Clone, Debug)]
pub(super) struct MarkerTokens {
    /// Its name, as in the record.
    pub(super) name: String,
    /// Its format; `None` if it is not a plain literal.
    pub(super) format: Option<String>,
    pub(super) arguments: Vec<ArgumentTokens>,
    /// The arguments as in the record, if the format is in Rust's notation: one for each placeholder.
    pub(super) placed: Option<Vec<String>>,
    pub(super) options: Option<OptionTokens>,
    /// The end of the last token.
    pub(super) end: usize,
    /// Whether the last token is a comma.
    pub(super) has_comma: bool,
    /// The end of the comments that follow; `end` if there are none.
    pub(super) comments_end: usize,
    /// The text between the last comma and the element after it.
    pub(super) separator: String,
}

/// `options(..)`.
#[derive(Clone, Debug)]
pub(super) struct OptionTokens {
    pub(super) words: Vec<String>,
    /// The end of the last word.
    pub(super) end: usize,
    /// The word `ghost`, if it is the only one.
    pub(super) ghost: Option<Range<usize>>,
    /// The bytes of it, with one of the commas around it.
    pub(super) whole: Range<usize>,
}

impl OptionTokens {
    pub(super) fn has(&self, option: &str) -> bool {
        self.words.iter().any(|word| word == option)
    }
}

/// An argument of a marker.
#[derive(Clone, Debug)]
pub(super) struct ArgumentTokens {
    /// Its bytes.
    pub(super) range: Range<usize>,
    /// Its text, as in the record.
    pub(super) text: String,
    /// Whether it has `keep`.
    pub(super) is_kept: bool,
    /// Whether reading it has no side effect.
    pub(super) is_place: bool,
    /// The word `keep` before it, up to what follows.
    pub(super) keep: Option<Range<usize>>,
    /// Whether a type follows its name: `keep x: i16`.
    pub(super) has_width: bool,
}

impl MarkerTokens {
    /// Whether these tokens match everything in the marker's record.
    pub(super) fn is(&self, marker: &Marker) -> bool {
        let without_space = |text: &str| -> String { text.chars().filter(|it| !it.is_whitespace()).collect() };
        let recorded: Vec<String> = marker.args.iter().map(|argument| without_space(&argument.text)).collect();
        let written: Vec<String> = match &self.placed {
            Some(placed) => placed.iter().map(|text| without_space(text)).collect(),
            None => self.arguments.iter().map(|argument| without_space(&argument.text)).collect(),
        };
        self.name == *marker.name
            && self.format.as_deref().is_none_or(|format| *format == *marker.format)
            && recorded.join(",") == written.join(",")
    }
}

/// Counts lines, from 1, for ascending byte positions.
pub(super) struct LineCounter<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) at: usize,
    pub(super) line: u32,
}

impl<'b> LineCounter<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0, line: 1 }
    }

    pub(super) fn line(&mut self, at: usize) -> u32 {
        if at < self.at {
            *self = Self::new(self.bytes);
        }
        let passed = self.bytes.get(self.at..at).unwrap_or_default();
        let lines = passed.iter().filter(|byte| **byte == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.at = at;
        self.line
    }
}
