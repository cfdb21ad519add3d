//! What is wrong with the names for values that a format gives.

use std::sync::Arc;

use simple_markers_record::names::MistakeKind;

/// What is wrong with braces behind a conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordsMistake {
    /// The wrong part of the format.
    pub text: Arc<str>,
    /// What is wrong.
    pub kind: MistakeKind,
}
