//! What is wrong with a table of views, in English.

use std::fmt;

use super::quoted;
use crate::views::{PathProblem, ViewError, ViewProblem};

impl fmt::Display for ViewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, problem(&self.problem))
    }
}

fn problem(problem: &ViewProblem) -> String {
    match problem {
        ViewProblem::TypeName { name } => {
            format!("`{name}` is no name of a type: expected NAME or SCOPE::NAME, without parameters")
        }
        ViewProblem::NoKind => "the kind of the view is missing".to_owned(),
        ViewProblem::NoSuchKind { kind, closest } => format!("there is no kind `{kind}`; closest: {closest}"),
        ViewProblem::NoPath { word } => format!("expected NAME=PATH, found `{word}`"),
        ViewProblem::NoSuchPart { kind, part, known } => {
            format!("a `{kind}` has no part `{part}`; it has {}", quoted(known))
        }
        ViewProblem::MissingPart { kind, part } => format!("a `{kind}` needs the part `{part}`"),
        ViewProblem::SamePart { part } => format!("the part `{part}` is there twice"),
        ViewProblem::TaskFunction { text } => format!(
            "`{text}` is no function with the number of a task: expected FUNCTION(), FUNCTION(PLACE) or FUNCTION(PLACE+PLACE)"
        ),
        ViewProblem::Path { path, why } => {
            let why = match why {
                PathProblem::EmptyStep => "a step is empty",
                PathProblem::Parameter => "behind `$` is the number of a template parameter",
                PathProblem::TwoPlaces => "there is more than one `@`",
                PathProblem::Bits => "bits are `[FIRST:COUNT]`, with a count from 1 to 64",
            };
            format!("`{path}` is no path: {why}")
        }
    }
}
