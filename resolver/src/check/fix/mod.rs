//! Corrects the invocation of a marker: which bytes of a source file to replace, to keep arguments
//! or to anchor the marker.
//!
//! A [`SourceFile`] is parsed once (`rust_source`, `c_source`) into `tokens`, and can correct each of its markers.
//! `rust_imports` has what a probe in place of a marker needs outside of its invocation.
//! `keepable` says whether an argument can be kept, `edits` says which edits a report needs, and
//! `unified` prints a change as a diff. This module opens no file. Uncertain cases are refused with
//! a [`FixRefusal`]: a marker that is not where the program says, or that another macro writes.

mod c_source;
mod change;
mod edits;
mod keepable;
mod rust_imports;
mod rust_source;
mod rust_tokens;
mod tokens;

use std::ops::Range;
use std::sync::Arc;

use crate::resolve::Marker;
pub use change::{Correction, Edits, FixRefusal, Keep, Replacement, SourceLanguage, apply};
pub use edits::{Remedy, edits_for, wanted};
pub(super) use edits::{can_keep, is_async};
pub use keepable::keep_of_type;
use rust_imports::Imports;
use tokens::{MacroCall, MarkerTokens};

/// A parsed source file, with the invocations of markers in it.
#[derive(Clone, Debug)]
pub struct SourceFile {
    bytes: Arc<[u8]>,
    language: Result<SourceLanguage, FixRefusal>,
    calls: Vec<MacroCall>,
    imports: Imports,
}

/// A source file that is available.
#[derive(Clone, Debug)]
pub struct FixInput {
    /// The file.
    pub file: Arc<SourceFile>,
    /// Whether it was changed after the image was built.
    pub is_newer: bool,
}

/// Finds the source file of a marker, given as in [`Finding::index`](super::Finding::index); `None`
/// if it is not available.
pub type FindSource<'f> = dyn FnMut((usize, usize)) -> Option<FixInput> + 'f;

impl SourceFile {
    /// Parses a source file. The extension of `path` decides the language.
    #[must_use]
    pub fn read(path: &str, bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes: Arc<[u8]> = bytes.into();
        let read = match SourceLanguage::of(path) {
            None => Err(FixRefusal::UnknownLanguage),
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
    pub fn correct(&self, marker: &Marker, edits: &Edits) -> Result<Correction, FixRefusal> {
        let language = self.language.clone()?;
        let (call, tokens) = self.find(language, marker)?;
        if tokens.placed.is_some() && (edits.probe || !edits.keep.is_empty()) {
            return Err(FixRefusal::WholeValue);
        }
        if edits.probe {
            if language != SourceLanguage::Rust {
                return Err(FixRefusal::ProbeLanguage);
            }
            if marker.args.iter().any(|declared| declared.form.is_some()) {
                return Err(FixRefusal::WholeValue);
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
            return Err(FixRefusal::ByAttribute);
        }
        let replacements = match language {
            SourceLanguage::Rust => rust_source::replacements(tokens, edits),
            SourceLanguage::C => c_source::replacements(call, tokens, edits)?,
        };
        if replacements.is_empty() {
            return Err(FixRefusal::Nothing);
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
    pub fn invocation(&self, marker: &Marker) -> Result<Range<usize>, FixRefusal> {
        Ok(self.find(self.language.clone()?, marker)?.0.range.clone())
    }

    /// The bytes of an argument of a marker, with its `keep`; `None` if the marker cannot be identified, and
    /// if its format is in Rust's notation, which may have the argument itself.
    #[must_use]
    pub fn argument(&self, marker: &Marker, index: usize) -> Option<Range<usize>> {
        let (_, tokens) = self.find(self.language.clone().ok()?, marker).ok()?;
        let argument = tokens.arguments.get(index).filter(|_| tokens.placed.is_none());
        argument.map(|argument| argument.range.clone())
    }

    fn find(&self, language: SourceLanguage, marker: &Marker) -> Result<(&MacroCall, &MarkerTokens), FixRefusal> {
        let is_there = |call: &&MacroCall| match (language, marker.column) {
            (SourceLanguage::Rust, Some(column)) => {
                (call.lines.0, call.column) == (marker.line, column) || call.outermost == (marker.line, column)
            }
            (SourceLanguage::Rust, None) => call.lines.0 == marker.line || call.outermost.0 == marker.line,
            // gcc records the first line of an invocation, clang the last.
            (SourceLanguage::C, _) => (call.lines.0..=call.lines.1).contains(&marker.line),
        };
        let here: Vec<&MacroCall> = self.calls.iter().filter(is_there).collect();
        let mut same: Vec<(&MacroCall, &MarkerTokens)> = here
            .iter()
            .filter_map(|call| Some((*call, call.marker.as_ref()?)))
            .filter(|(call, tokens)| call.is_marker && tokens.is(marker))
            .collect();
        if same.len() > 1 && language == SourceLanguage::C {
            let at_end = |(call, _): &(&MacroCall, &MarkerTokens)| [call.lines.0, call.lines.1].contains(&marker.line);
            if same.iter().filter(|same| at_end(same)).count() == 1 {
                same.retain(at_end);
            }
        }
        match same.as_slice() {
            [(call, tokens)] => match &call.definition {
                None => Ok((*call, *tokens)),
                Some(name) => Err(FixRefusal::InMacro { name: Arc::clone(name) }),
            },
            [] => Err(self.why_not(&here, marker)),
            _ => Err(FixRefusal::Ambiguous),
        }
    }

    /// Why no macro call at the marker's place is the marker.
    fn why_not(&self, here: &[&MacroCall], marker: &Marker) -> FixRefusal {
        let in_macro = |name: &str| FixRefusal::InMacro { name: name.into() };
        let forwards = |call: &&&MacroCall| call.marker.as_ref().is_some_and(|tokens| tokens.is(marker));
        if let Some(call) = here.iter().find(forwards) {
            return in_macro(&call.name);
        }
        let defined = |call: &&MacroCall| {
            call.definition.is_some() && call.marker.as_ref().is_some_and(|tokens| tokens.name == *marker.name)
        };
        if let Some(name) = self.calls.iter().find(defined).and_then(|call| call.definition.clone()) {
            return FixRefusal::InMacro { name };
        }
        match here.iter().find(|call| !call.is_marker && marker.column.is_some()) {
            Some(call) => in_macro(&call.name),
            None => FixRefusal::Changed,
        }
    }
}

#[cfg(test)]
mod tests;
