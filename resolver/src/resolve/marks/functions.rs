//! Which functions marks mean.

use std::sync::Arc;

use crate::Error;
use crate::dwarf::FoundFunction;
use crate::dwarf::files::{Agreement, SourcePath};
use crate::marks::{FunctionPattern, Mark, MarkPlace, own_name};
use crate::resolve::mark_problem::{FunctionCandidate, MarkProblem};
use crate::resolve::site_debug::SiteDebug;

/// The functions that some marks may mean.
pub(super) struct FunctionSearch {
    found: Result<Vec<FoundFunction>, Error>,
}

/// Finds the functions of all marks, in one pass over the debug information.
pub(super) fn search(debug: &SiteDebug<'_>, marks: &[Mark]) -> FunctionSearch {
    let patterns: Vec<&FunctionPattern> = marks
        .iter()
        .filter_map(|mark| match &mark.place {
            MarkPlace::Entry(pattern) | MarkPlace::Return(pattern) => Some(pattern),
            MarkPlace::Line { .. } => None,
        })
        .collect();
    if patterns.is_empty() {
        return FunctionSearch { found: Ok(Vec::new()) };
    }
    let is_wanted = |name: &str| patterns.iter().any(|pattern| pattern.may_be(name));
    FunctionSearch { found: debug.info().functions_called(&is_wanted) }
}

impl FunctionSearch {
    /// The functions that a pattern means, each with its instances of all units.
    pub(super) fn meant(&self, pattern: &FunctionPattern) -> Result<Vec<FoundFunction>, MarkProblem> {
        let found = self.found.as_ref().map_err(|error| MarkProblem::Unreadable(error.clone()))?;
        let file = pattern.file().map(SourcePath::new);
        let is_meant = |function: &&FoundFunction| {
            let of_file = |wanted: &SourcePath| {
                function.declared.as_ref().and_then(|(file, _)| wanted.agreement(file)) >= Some(Agreement::Tail(2))
            };
            let of_line = |wanted| function.declared.as_ref().is_some_and(|(_, line)| *line == wanted);
            pattern.matches(&function.path) && file.as_ref().is_none_or(of_file) && pattern.line().is_none_or(of_line)
        };
        let mut meant: Vec<FoundFunction> = Vec::new();
        for function in found.iter().filter(is_meant) {
            // A header is compiled in several units, and a generic function several times. A macro declares
            // several functions in one line.
            let is_same = |known: &&mut FoundFunction| match (&known.declared, &function.declared) {
                (Some(at), Some(other)) => at == other && own_name(&known.path) == own_name(&function.path),
                (None, None) => known.path == function.path,
                _ => false,
            };
            match meant.iter_mut().find(is_same) {
                Some(known) => {
                    known.instances.extend(&function.instances);
                    known.last_line = known.last_line.max(function.last_line);
                }
                None => meant.push(function.clone()),
            }
        }
        if meant.is_empty() {
            return Err(MarkProblem::NoSuchFunction);
        }
        // A declaration without code means nothing if a definition has the name.
        meant.retain(|function| !function.instances.is_empty());
        if meant.is_empty() {
            return Err(MarkProblem::NoCode);
        }
        if meant.len() > 1 && !pattern.is_glob() {
            let mut candidates: Vec<FunctionCandidate> = meant.iter().map(candidate).collect();
            candidates.sort_unstable();
            return Err(MarkProblem::SeveralFunctions(candidates));
        }
        meant.sort_by_cached_key(candidate);
        Ok(meant)
    }
}

fn candidate(function: &FoundFunction) -> FunctionCandidate {
    let (file, line) = match &function.declared {
        Some((file, line)) => (Arc::clone(file.as_str()), *line),
        None => (Arc::from(""), 0),
    };
    FunctionCandidate { file, line, path: Arc::clone(&function.path) }
}
