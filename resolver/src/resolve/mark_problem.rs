//! Why a place that a user named is not in an image.

use std::sync::Arc;

use crate::Error;

/// A mark that has no place in an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnplacedMark {
    /// Its number in [`Request::marks`](super::Request::marks).
    pub mark: usize,
    /// Why it has none.
    pub problem: MarkProblem,
}

/// Why a mark has no place in an image.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum MarkProblem {
    /// The image has no debug information.
    NoDebugInfo,
    /// The debug information cannot be read.
    Unreadable(Error),
    /// No line program names the file.
    NoSuchFile,
    /// These files match the name equally well.
    SeveralFiles(Vec<Arc<str>>),
    /// The debug information describes no function of the name.
    NoSuchFunction,
    /// The name means these functions, and is no glob.
    SeveralFunctions(Vec<FunctionCandidate>),
    /// The functions have no code in the image.
    NoCode,
    /// Symbols alone describe the functions, and the mark has arguments.
    ValuesUnknown,
    /// No place is known where the functions, which symbols alone describe, are left.
    NoExit,
}

impl MarkProblem {
    /// The name of the problem, stable over versions (`docs/json.md`).
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.into()
    }
}

/// A function that a name may mean.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionCandidate {
    /// The file that declares it; empty if that is not known.
    pub file: Arc<str>,
    /// The line of its declaration, from 1; 0 if that is not known.
    pub line: u32,
    /// Its name, with the namespaces and types around it.
    pub path: Arc<str>,
}
