//! What is changed in the source of a marker, or why nothing is.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

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
pub enum FixRefusal {
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
    /// The format of a marker in Rust shows whole values (`%p{..}`, or Rust's notation), which are neither
    /// kept nor recorded by a probe.
    WholeValue,
    /// The source already has all of the edits.
    Nothing,
}
