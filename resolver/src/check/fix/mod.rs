//! Corrects the invocation of a marker: which bytes of a source file to replace, to keep arguments
//! or to anchor the marker.
//!
//! A [`SourceFile`] is parsed once (`rust_source`, `c_source`) and can correct each of its markers.
//! `rust_imports` has what a probe in place of a marker needs outside of its invocation.
//! `keepable` says whether an argument can be kept, `edits` says which edits a report needs, and
//! `unified` prints a change as a diff. This module opens no file. Uncertain cases are refused with
//! a [`Refusal`]: a marker that is not where the program says, or that another macro writes.

mod c_source;
mod edits;
mod keepable;
mod rust_imports;
mod rust_source;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::resolve::Marker;
pub use edits::{Wanted, edits_for, wanted};
pub(super) use edits::{can_keep, is_async};
pub use keepable::keep_of_type;
use rust_imports::Imports;

/// The language that a source file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceLanguage {
    /// Rust.
    Rust,
    /// C or C++.
    C,
}

impl SourceLanguage {
    /// The language for a file extension; `None` if it is unknown.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        match Path::new(path).extension()?.to_str()? {
            "rs" => Some(Self::Rust),
            "c" | "h" | "C" | "H" | "cc" | "cpp" | "cxx" | "c++" | "hh" | "hpp" | "hxx" | "h++" | "inl" | "ipp"
            | "tpp" => Some(Self::C),
            _ => None,
        }
    }
}

/// How an argument is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keep {
    /// Its own value: `keep x`. This is the only variant that C uses.
    Value,
    /// The value behind this number of references: `keep x = *x`.
    Pointee(u8),
    /// The number in a `Wrapping`: `keep x = x.0`.
    Inner,
    /// The number in a `Cell` or a `NonZero`: `keep x = x.get()`.
    Get,
    /// The number in an atomic: `keep x = x.load(..)`.
    Load,
    /// The pointer of a slice, a `CStr` or a `NonNull`: `keep x = x.as_ptr()`.
    AsPointer,
    /// The address of a function: `keep x = x as *const ()`.
    Function,
    /// The address in a wide or an owning pointer: `keep x = &raw const *x as *const ()`.
    Address,
    /// The address in an `Option` of a reference; null for `None`.
    Optional,
}

/// The changes to a marker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    /// The arguments to keep, by index. C keeps all arguments of a marker or none.
    pub keep: BTreeMap<usize, Keep>,
    /// Whether to anchor the marker. A ghost becomes a marker then, as it does with a `keep`.
    pub anchor: bool,
    /// Whether to make a plain marker of a ghost.
    pub plain: bool,
    /// Whether to make a probe of the marker. Every argument of a probe is kept, at an instruction of its
    /// own, so the other edits are not made.
    pub probe: bool,
}

impl Edits {
    /// Whether there are no changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keep.is_empty() && !self.anchor && !self.plain && !self.probe
    }
}

/// A range of bytes in a source file, and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The bytes to replace; an empty range is an insertion.
    pub range: Range<usize>,
    /// The new text.
    pub text: String,
}

/// The corrected invocation of a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// The bytes of the invocation, from the start of its path to the closing parenthesis.
    pub invocation: Range<usize>,
    /// Ascending and disjoint.
    pub replacements: Vec<Replacement>,
}

impl Correction {
    /// The lines of the corrected invocation, without their common indentation.
    #[must_use]
    pub fn lines(&self, source: &[u8]) -> Vec<String> {
        let before = source.get(..self.invocation.start).unwrap_or_default();
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at.saturating_add(1));
        let behind = source.get(self.invocation.end..).unwrap_or_default();
        let rest = behind.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(behind.len());
        let end = self.invocation.end.saturating_add(rest);
        let inside = |replacement: &&Replacement| replacement.range.start >= start && replacement.range.end <= end;
        let shifted = self.replacements.iter().filter(inside).map(|replacement| Replacement {
            range: replacement.range.start.saturating_sub(start)..replacement.range.end.saturating_sub(start),
            text: replacement.text.clone(),
        });
        let bytes = apply(source.get(start..end).unwrap_or_default(), &shifted.collect::<Vec<_>>());
        let text = crate::text::from_bytes(&bytes);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let indentation = |line: &&str| line.len().saturating_sub(line.trim_start().len());
        let shared = lines.iter().filter(|line| !line.is_empty()).map(indentation).min().unwrap_or(0);
        lines.iter().map(|line| line.get(shared..).unwrap_or_default().to_owned()).collect()
    }
}

/// The bytes of a source file with replacements applied. They must be ascending and disjoint;
/// others are skipped.
#[must_use]
pub fn apply(source: &[u8], replacements: &[Replacement]) -> Vec<u8> {
    let mut changed = Vec::with_capacity(source.len());
    let mut done = 0;
    for Replacement { range, text } in replacements {
        let Some(before) = source.get(done..range.start).filter(|_| range.end <= source.len()) else { continue };
        changed.extend_from_slice(before);
        changed.extend_from_slice(text.as_bytes());
        done = range.end.max(range.start);
    }
    changed.extend_from_slice(source.get(done..).unwrap_or_default());
    changed
}

/// Why a marker is not changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// The file extension belongs to neither Rust nor C.
    UnknownLanguage,
    /// A Rust file that is not UTF-8.
    NotUtf8,
    /// The file cannot be split into tokens.
    NotTokens,
    /// The marker is not on its line, so the file is not the one that was compiled.
    Changed,
    /// Several markers match.
    Ambiguous,
    /// A macro other than `simple_mark` writes the marker.
    InMacro {
        /// Its name.
        name: Arc<str>,
    },
    /// A register cannot hold the argument.
    CannotKeep {
        /// The argument as written.
        argument: Arc<str>,
        /// Its type; `None` where it is unknown.
        type_name: Option<Arc<str>>,
    },
    /// The argument is more than a place, so keeping it would evaluate it.
    WouldEvaluate {
        /// The argument as written.
        argument: Arc<str>,
    },
    /// C keeps at most 8 arguments.
    TooMany {
        /// The number of arguments.
        count: usize,
    },
    /// The attribute `ghosts` makes a ghost of it.
    ByAttribute,
    /// Only markers of Rust are made probes.
    ProbeLanguage,
    /// On the architecture of the image a probe is no code.
    ProbeTarget {
        /// The architecture, as `uname -m` names it.
        arch: &'static str,
    },
    /// Nothing arms a probe in the kernel or in a module of it.
    ProbeInKernel,
    /// The argument is kept with a type of its own (`keep x: i16`), which a probe does not take.
    ProbeWidth {
        /// The argument as written.
        argument: Arc<str>,
    },
    /// A probe takes at most 12 values.
    ProbeTooMany {
        /// The number of values. A text has two.
        count: usize,
    },
    /// The source already has all of the edits.
    Nothing,
}

/// A parsed source file, with the invocations of markers in it.
#[derive(Clone, Debug)]
pub struct SourceFile {
    bytes: Arc<[u8]>,
    language: Result<SourceLanguage, Refusal>,
    calls: Vec<Call>,
    imports: Imports,
}

/// A source file that is available.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file.
    pub file: Arc<SourceFile>,
    /// Whether it was changed after the image was built.
    pub is_newer: bool,
}

/// Finds the source file of a marker, given as in [`Finding::index`](super::Finding::index); `None`
/// if it is not available.
pub type FindSource<'f> = dyn FnMut((usize, usize)) -> Option<Source> + 'f;

/// A macro call in a source file.
#[derive(Clone, Debug)]
struct Call {
    /// The last component of its path.
    name: String,
    /// The bytes of the last component.
    name_range: Range<usize>,
    /// From the first byte of the path to the closing parenthesis.
    range: Range<usize>,
    /// The lines of its first and last byte, from 1.
    lines: (u32, u32),
    /// Its column in characters, from 1.
    column: u32,
    /// Line and column of the outermost call whose arguments contain it; its own if there is none.
    outermost: (u32, u32),
    /// Whether it is `simple_mark`, or one of the macros in C.
    is_marker: bool,
    /// The macro whose definition contains it.
    definition: Option<Arc<str>>,
    /// The contents of its parentheses, if they parse as a marker.
    marker: Option<MarkerTokens>,
}

/// The contents of a marker invocation.
#[derive(Clone, Debug)]
struct MarkerTokens {
    /// Its name, as in the record.
    name: String,
    /// Its format; `None` if it is not a plain literal.
    format: Option<String>,
    arguments: Vec<ArgumentTokens>,
    options: Option<OptionTokens>,
    /// The end of the last token.
    end: usize,
    /// Whether the last token is a comma.
    has_comma: bool,
    /// The end of the comments that follow; `end` if there are none.
    comments_end: usize,
    /// The text between the last comma and the element after it.
    separator: String,
}

/// `options(..)`.
#[derive(Clone, Debug)]
struct OptionTokens {
    words: Vec<String>,
    /// The end of the last word.
    end: usize,
    /// The word `ghost`, if it is the only one.
    ghost: Option<Range<usize>>,
    /// The bytes of it, with one of the commas around it.
    whole: Range<usize>,
}

impl OptionTokens {
    fn has(&self, option: &str) -> bool {
        self.words.iter().any(|word| word == option)
    }
}

/// An argument of a marker.
#[derive(Clone, Debug)]
struct ArgumentTokens {
    /// Its bytes.
    range: Range<usize>,
    /// Its text, as in the record.
    text: String,
    /// Whether it has `keep`.
    is_kept: bool,
    /// Whether reading it has no side effect.
    is_place: bool,
    /// The word `keep` before it, up to what follows.
    keep: Option<Range<usize>>,
    /// Whether a type follows its name: `keep x: i16`.
    has_width: bool,
}

impl SourceFile {
    /// Parses a source file. The extension of `path` decides the language.
    #[must_use]
    pub fn read(path: &str, bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes: Arc<[u8]> = bytes.into();
        let read = match SourceLanguage::of(path) {
            None => Err(Refusal::UnknownLanguage),
            Some(SourceLanguage::Rust) => rust_source::calls(&bytes).map(|read| (SourceLanguage::Rust, read)),
            Some(SourceLanguage::C) => Ok((SourceLanguage::C, (c_source::calls(&bytes), Imports::default()))),
        };
        match read {
            Ok((language, (calls, imports))) => Self { bytes, language: Ok(language), calls, imports },
            Err(refusal) => Self { bytes, language: Err(refusal), calls: Vec::new(), imports: Imports::default() },
        }
    }

    /// The bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The replacements that make the edits to a marker.
    ///
    /// # Errors
    ///
    /// The marker cannot be identified, or the edits are not possible.
    pub fn correct(&self, marker: &Marker, edits: &Edits) -> Result<Correction, Refusal> {
        let language = self.language.clone()?;
        let (call, tokens) = self.find(language, marker)?;
        if edits.probe {
            if language != SourceLanguage::Rust {
                return Err(Refusal::ProbeLanguage);
            }
            let letters: Vec<Option<char>> = marker.args.iter().map(keepable::letter).collect();
            let mut replacements = vec![self.imports.renamed(call)];
            replacements.extend(rust_source::probe(tokens, &letters)?);
            return Ok(Correction { invocation: call.range.clone(), replacements });
        }
        let is_ghost = tokens.options.as_ref().is_some_and(|options| options.ghost.is_some());
        let is_by_attribute = language == SourceLanguage::Rust && marker.is_ghost && !is_ghost;
        // The attribute leaves a marker alone that keeps an argument or is anchored.
        if is_by_attribute && edits.plain && edits.keep.is_empty() && !edits.anchor {
            return Err(Refusal::ByAttribute);
        }
        let replacements = match language {
            SourceLanguage::Rust => rust_source::replacements(tokens, edits),
            SourceLanguage::C => c_source::replacements(call, tokens, edits)?,
        };
        if replacements.is_empty() {
            return Err(Refusal::Nothing);
        }
        Ok(Correction { invocation: call.range.clone(), replacements })
    }

    /// The replacements outside of the invocations, ascending, that a file needs if these markers become
    /// probes: in its `use` items. A marker that cannot be identified counts as one that stays.
    #[must_use]
    pub fn imports(&self, probes: &[&Marker]) -> Vec<Replacement> {
        let Ok(language) = self.language.clone() else { return Vec::new() };
        let calls = probes.iter().filter_map(|marker| self.find(language, marker).ok());
        self.imports.changed(&calls.map(|(call, _)| call).collect::<Vec<_>>())
    }

    /// The bytes of a marker's invocation.
    ///
    /// # Errors
    ///
    /// The marker cannot be identified.
    pub fn invocation(&self, marker: &Marker) -> Result<Range<usize>, Refusal> {
        Ok(self.find(self.language.clone()?, marker)?.0.range.clone())
    }

    /// The bytes of an argument of a marker, with its `keep`; `None` if the marker cannot be identified.
    #[must_use]
    pub fn argument(&self, marker: &Marker, index: usize) -> Option<Range<usize>> {
        let (_, tokens) = self.find(self.language.clone().ok()?, marker).ok()?;
        tokens.arguments.get(index).map(|argument| argument.range.clone())
    }

    fn find(&self, language: SourceLanguage, marker: &Marker) -> Result<(&Call, &MarkerTokens), Refusal> {
        let is_there = |call: &&Call| match (language, marker.column) {
            (SourceLanguage::Rust, Some(column)) => {
                (call.lines.0, call.column) == (marker.line, column) || call.outermost == (marker.line, column)
            }
            (SourceLanguage::Rust, None) => call.lines.0 == marker.line || call.outermost.0 == marker.line,
            // gcc records the first line of an invocation, clang the last.
            (SourceLanguage::C, _) => (call.lines.0..=call.lines.1).contains(&marker.line),
        };
        let here: Vec<&Call> = self.calls.iter().filter(is_there).collect();
        let mut same: Vec<(&Call, &MarkerTokens)> = here
            .iter()
            .filter_map(|call| Some((*call, call.marker.as_ref()?)))
            .filter(|(call, tokens)| call.is_marker && tokens.is(marker))
            .collect();
        if same.len() > 1 && language == SourceLanguage::C {
            let at_end = |(call, _): &(&Call, &MarkerTokens)| [call.lines.0, call.lines.1].contains(&marker.line);
            if same.iter().filter(|same| at_end(same)).count() == 1 {
                same.retain(at_end);
            }
        }
        match same.as_slice() {
            [(call, tokens)] => match &call.definition {
                None => Ok((*call, *tokens)),
                Some(name) => Err(Refusal::InMacro { name: Arc::clone(name) }),
            },
            [] => Err(self.why_not(&here, marker)),
            _ => Err(Refusal::Ambiguous),
        }
    }

    /// Why no macro call at the marker's place is the marker.
    fn why_not(&self, here: &[&Call], marker: &Marker) -> Refusal {
        let in_macro = |name: &str| Refusal::InMacro { name: name.into() };
        let forwards = |call: &&&Call| call.marker.as_ref().is_some_and(|tokens| tokens.is(marker));
        if let Some(call) = here.iter().find(forwards) {
            return in_macro(&call.name);
        }
        let defined = |call: &&Call| {
            call.definition.is_some() && call.marker.as_ref().is_some_and(|tokens| tokens.name == *marker.name)
        };
        if let Some(name) = self.calls.iter().find(defined).and_then(|call| call.definition.clone()) {
            return Refusal::InMacro { name };
        }
        match here.iter().find(|call| !call.is_marker && marker.column.is_some()) {
            Some(call) => in_macro(&call.name),
            None => Refusal::Changed,
        }
    }
}

impl MarkerTokens {
    /// Whether these tokens match everything in the marker's record.
    fn is(&self, marker: &Marker) -> bool {
        let without_space = |text: &str| -> String { text.chars().filter(|it| !it.is_whitespace()).collect() };
        let recorded: Vec<String> = marker.args.iter().map(|argument| without_space(&argument.text)).collect();
        let written: Vec<String> = self.arguments.iter().map(|argument| without_space(&argument.text)).collect();
        self.name == *marker.name
            && self.format.as_deref().is_none_or(|format| *format == *marker.format)
            && recorded.join(",") == written.join(",")
    }
}

/// Counts lines, from 1, for ascending byte positions.
struct LineCounter<'b> {
    bytes: &'b [u8],
    at: usize,
    line: u32,
}

impl<'b> LineCounter<'b> {
    fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0, line: 1 }
    }

    fn line(&mut self, at: usize) -> u32 {
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

#[cfg(test)]
mod tests;
