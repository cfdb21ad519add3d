//! What is known of one argument at one site of one program.

use std::ops::Range;
use std::sync::Arc;

use serde_json::{Value, json};

use super::form::Form;

/// How a program was built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the words of the table")]
pub struct Build {
    /// The source: a seed or a path.
    pub program: String,
    pub compiler: String,
    /// What the compiler says about its version.
    pub producer: String,
    pub level: String,
    /// `none`, `thin`, `fat`, or `full`.
    pub lto: String,
    pub dwarf: u8,
    /// The kind of markers: `place`, `anchor`, `keep`.
    pub variant: String,
}

/// The first wrong value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct First {
    /// The number of the pass of the marker, from 0.
    pub pass: usize,
    /// The bytes that the twin printed.
    pub truth: Vec<u8>,
    /// Our bytes.
    pub ours: Vec<u8>,
}

/// One argument at one site, with the counts of its values.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the fields of the resolution")]
pub struct Row {
    pub build: Arc<Build>,
    pub marker: Arc<str>,
    pub file: Arc<str>,
    pub line: u32,
    pub function: String,
    pub address: u64,
    pub is_exact: bool,
    pub is_anchored: bool,
    pub argument: Arc<str>,
    pub position: usize,
    /// What it is in the source; see [`super::form::place`].
    pub place: &'static str,
    pub type_name: String,
    pub verdict: &'static str,
    pub code: String,
    pub reason: Option<&'static str>,
    pub form: Form,
    pub location: String,
    /// Whether an entry of the location list begins at the site, and whether one ends there.
    pub begins: bool,
    pub ends: bool,
    /// The address range of the entry that holds at the site; `None` if one location holds for the
    /// whole scope.
    pub range: Option<Range<u64>>,
    /// Passes whose value was looked at.
    pub passes: usize,
    pub right: usize,
    pub masked: usize,
    pub unreadable: usize,
    pub unknown: usize,
    pub wrong_behind: usize,
    pub wrong: usize,
    pub first: Option<First>,
}

impl Row {
    /// Whether the resolver says that the value is the program's.
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        matches!(self.verdict, "live" | "constant")
    }

    /// Whether the debug information describes a whole value, whatever the resolver thinks of it.
    #[must_use]
    pub fn is_described(&self) -> bool {
        !matches!(self.form, Form::None) && !matches!(self.verdict, "partial" | "entry" | "lost" | "absent")
    }

    /// The row as one JSON object.
    #[must_use]
    pub fn json(&self) -> Value {
        let Build { program, compiler, producer, level, lto, dwarf, variant } = &*self.build;
        let first = self
            .first
            .as_ref()
            .map(|first| json!({ "pass": first.pass, "truth": hex(&first.truth), "ours": hex(&first.ours) }));
        json!({
            "program": program, "compiler": compiler, "producer": producer, "level": level, "lto": lto, "dwarf": dwarf,
            "variant": variant, "marker": &*self.marker, "file": &*self.file, "line": self.line,
            "function": self.function, "address": self.address, "exact": self.is_exact,
            "anchored": self.is_anchored, "argument": &*self.argument, "position": self.position,
            "place": self.place, "type": self.type_name, "verdict": self.verdict, "code": self.code,
            "reason": self.reason, "form": self.form.as_str(), "location": self.location,
            "begins": self.begins, "ends": self.ends,
            "range": self.range.as_ref().map(|range| [range.start, range.end]), "passes": self.passes, "right": self.right,
            "masked": self.masked, "unreadable": self.unreadable, "unknown": self.unknown,
            "wrong_behind": self.wrong_behind, "wrong": self.wrong, "first_wrong": first,
        })
    }
}

/// Bytes as a number in hexadecimal if they are at most 8, else in memory order.
fn hex(bytes: &[u8]) -> String {
    match bytes.len() {
        0 => "nothing".to_owned(),
        1..=8 => format!("{:#x}", bytes.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte))),
        _ => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}
