//! What is wrong with marks, in English.

use super::absence::several_files;
use crate::marks::{MarkError, MarkErrorKind, RESULT};
use crate::resolve::{FunctionCandidate, MarkProblem};

/// The most functions that are listed.
const LISTED: usize = 12;

/// Why a text is no mark.
#[must_use]
pub fn error(error: &MarkError) -> String {
    match &error.kind {
        MarkErrorKind::NoPlace => "it names no place: write FILE:LINE or FUNCTION()".to_owned(),
        MarkErrorKind::Line => "the line is no number from 1 to 4294967295".to_owned(),
        MarkErrorKind::NoFunction => "the function has no name".to_owned(),
        MarkErrorKind::Glob => "the glob of the function is malformed".to_owned(),
        MarkErrorKind::OpenFormat => "the format has no closing quote".to_owned(),
        MarkErrorKind::Escape => "the format has an escape that is none of C's characters".to_owned(),
        MarkErrorKind::Comma => "a comma must stand between the format and its arguments".to_owned(),
        MarkErrorKind::Conversion(written) => format!("the conversion `{written}` of the format is malformed"),
        MarkErrorKind::Count { taken, given } => {
            format!("the format takes {}, and {given} are given", super::counted(*taken, "argument"))
        }
        MarkErrorKind::Result => format!("{RESULT} is only known where a function returns: write FUNCTION() return"),
    }
}

/// Why a mark has no place.
#[must_use]
pub fn problem(problem: &MarkProblem) -> String {
    match problem {
        MarkProblem::NoDebugInfo => "there is no debug information".to_owned(),
        MarkProblem::Unreadable(error) => error.to_string(),
        MarkProblem::NoSuchFile => "the debug information has no such file".to_owned(),
        MarkProblem::SeveralFiles(files) => several_files(files),
        MarkProblem::NoSuchFunction => "the debug information has no such function".to_owned(),
        MarkProblem::SeveralFunctions(functions) => {
            let mut names: Vec<String> = functions.iter().take(LISTED).map(candidate).collect();
            if let Some(more @ 1..) = functions.len().checked_sub(LISTED) {
                names.push(format!("and {more} more"));
            }
            format!("it may be one of several functions: {}", names.join(", "))
        }
        MarkProblem::ValuesUnknown => {
            "only a symbol describes the function: without debug information a mark on it can have no arguments"
                .to_owned()
        }
        MarkProblem::NoExit => {
            "no place is known where the function is left: it never returns, or its code is not understood".to_owned()
        }
        MarkProblem::NoCode => "the function has no code: it is never called, or inlined everywhere".to_owned(),
    }
}

/// A function, as a mark can name it.
fn candidate(FunctionCandidate { file, line, path }: &FunctionCandidate) -> String {
    match (file.is_empty(), *line) {
        (true, _) => format!("{path}()"),
        (false, line) => format!("{file}:{line}:{path}()"),
    }
}
