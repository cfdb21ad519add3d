//! The one place where reasons become English.
//!
//! What the resolver finds out travels as enums with their data. Each file here renders the enums
//! of one subject, by functions that reports call. Only errors implement `Display`. A sentence
//! starts in lower case and has no full stop, so that it can follow a colon. Nobody parses or compares
//! the text; a program reads the stable name of a reason instead.

pub mod absence;
pub mod arguments;
pub mod check;
pub mod diagnostics;
pub(crate) mod dwarf;
pub mod exactness;
pub mod export;
pub mod fixes;
pub mod help;
pub mod marks;
pub mod mismatch;
pub mod notes;
pub mod probe;
pub(crate) mod rates;
pub(crate) mod sites;
pub(crate) mod types;
pub(crate) mod values;
mod views;

use std::fmt::Display;

/// A number of bytes: `1 byte`, `2 bytes`.
pub(crate) fn bytes(count: u64) -> String {
    format!("{count} byte{}", if count == 1 { "" } else { "s" })
}

/// A number of things: `1 marker`, `2 markers`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Names in backquotes, with commas between them.
pub(crate) fn quoted<T: Display>(names: &[T]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Names in backquotes, with `and` before the last one.
pub(crate) fn all_of<T: Display>(names: &[T]) -> String {
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and `{last}`", quoted(rest)),
        _ => quoted(names),
    }
}
