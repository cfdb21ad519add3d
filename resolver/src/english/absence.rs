//! Why markers are not in an image, in English.

use std::sync::Arc;

use super::quoted;
use super::sites::named;
use crate::resolve::{Absence, GhostProblem, LineProblem};

/// Why a line has no site.
#[must_use]
pub fn line_problem(problem: &LineProblem) -> String {
    match problem {
        LineProblem::NoSuchFile => "no line table names its file".to_owned(),
        LineProblem::SeveralFiles(files) => several_files(files),
        LineProblem::NoFunction => {
            "its line has no code, and no function that has any is declared before it".to_owned()
        }
        LineProblem::SeveralFunctions => {
            "its line has no code, and can be in a function or in one nested in it".to_owned()
        }
        LineProblem::NothingBelow => "its line has no code, and no line below it in its function has any".to_owned(),
        LineProblem::BlockEnds => {
            "its line has no code, and may be the last of its block: what follows is on other paths too".to_owned()
        }
    }
}

/// Why a marker is not in an image. `file` is its source file.
#[must_use]
pub fn absence(absence: &Absence, file: &str) -> String {
    let none = "a generic one that nothing instantiates, one that nothing uses, or one whose code vanished where it \
                was inlined";
    let function = named(absence.function().unwrap_or_default());
    match absence {
        Absence::DeadBranch { before, behind, .. } => {
            let mut cause = format!(
                "dead branch: `{function}` is in the image with code on lines {before} and {behind} of {file}, and the \
                 compiler removed the lines between them, with the marker"
            );
            // C has no nested functions.
            if !file.ends_with(".c") {
                cause.push_str(" (or that is a closure or a function in it, which has no code)");
            }
            cause
        }
        Absence::BehindCode { last, .. } => format!(
            "the last code of `{function}`, which is declared before it, is on line {last}: either the compiler removed the \
             end of that function, or the marker is in a function that has no code: {none}"
        ),
        Absence::NoCode { .. } => format!(
            "`{function}`, which is declared last before it, has no code in the image: nothing uses it, or its code \
             vanished where it was inlined"
        ),
        Absence::NotCompiled => {
            format!("no function that is declared before it in {file} is described: its own has no code, {none}")
        }
        Absence::Dropped { into, .. } if into.is_empty() => {
            format!("`{function}` was compiled, and the linker dropped it: nothing that is in the image refers to it")
        }
        Absence::Dropped { into, .. } => format!(
            "`{function}` was inlined into {}, which the linker dropped: nothing that is in the image refers to {}",
            list(&into.iter().map(|into| named(into).into()).collect::<Vec<_>>()),
            if into.len() == 1 { "it" } else { "them" }
        ),
        Absence::Folded { into: Some(into), address, .. } => {
            let into = named(into);
            format!("`{function}` has the same code as `{into}`, and the linker kept that one at {address} for both")
        }
        Absence::Folded { into: None, address, .. } => {
            format!("the linker folded `{function}` with another function of the same code, at {address}")
        }
        Absence::Unresolved { problem } => line_problem(problem),
        Absence::Ambiguous { files } => several_files(files),
        Absence::Ghost { problem } => ghost(*problem).to_owned(),
    }
}

/// That a file may be one of several.
pub(super) fn several_files(files: &[Arc<str>]) -> String {
    format!("several files agree equally well with its file: {}", list(files))
}

/// Why it is not known whether a ghost is in the program.
pub(crate) fn ghost(problem: GhostProblem) -> &'static str {
    match problem {
        GhostProblem::NoDebugInfo => {
            "it is a ghost: its place is only in the debug information, which the image does not have for its file"
        }
        GhostProblem::Unreadable => {
            "it is a ghost: its place is only in the debug information, and that of its file cannot be read"
        }
        GhostProblem::LinesOnly => {
            "it is a ghost: its place is only in full debug information, and that of its file has lines only"
        }
        GhostProblem::Unsupported => "it is a ghost, and its compiler is not one whose ghosts are looked up",
        GhostProblem::SharedLine => {
            "it is a ghost, and another one is on its line: the debug information does not tell them apart"
        }
        GhostProblem::CodeOnLine => {
            "it is a ghost, and other code is on its line: the line table does not tell them apart"
        }
        GhostProblem::Unoptimized => {
            "it is a ghost: gcc says where it is only if it optimises (`-Og` or `-O1` at least)"
        }
        GhostProblem::NoStatements => {
            "it is a ghost: gcc says where it is only with statement frontiers (`-gstatement-frontiers`)"
        }
        GhostProblem::NoPlace => {
            "it is a ghost, and its function has code in which the debug information has no place for it"
        }
    }
}

/// The highest number of names listed.
const MOST: usize = 4;

/// Names in backquotes.
fn list(names: &[Arc<str>]) -> String {
    let shown = quoted(names.get(..names.len().min(MOST)).unwrap_or_default());
    match names.len().checked_sub(MOST) {
        Some(rest) if rest > 0 => format!("{shown} and {rest} more"),
        _ => shown,
    }
}
