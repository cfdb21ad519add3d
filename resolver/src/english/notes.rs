//! What is wrong with what a user says of notes, and who describes their arguments, in English.

use std::fmt;

use super::{bytes, counted, quoted};
use crate::notes::{NoteFormatProblem, ProviderError, ProviderProblem};
use crate::resolve::{NoteParameter, NoteProblem, NoteSource};
use crate::text::shown;

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, provider(&self.problem))
    }
}

fn provider(problem: &ProviderProblem) -> String {
    match problem {
        ProviderProblem::Expected { what, instead: Some(text) } => format!("expected {what}, found `{text}`"),
        ProviderProblem::Expected { what, instead: None } => format!("expected {what}, found the end of the file"),
        ProviderProblem::OpenComment => "this comment does not end".to_owned(),
        ProviderProblem::Character { character } => format!("`{character}` is not a character of a provider file"),
        ProviderProblem::Ellipsis => "a probe has a fixed number of parameters, not `...`".to_owned(),
        ProviderProblem::NoProvider => "there is no provider in the file".to_owned(),
    }
}

/// What is wrong with a format that a user gives to notes.
#[must_use]
pub fn format(problem: &NoteFormatProblem) -> String {
    match problem {
        NoteFormatProblem::NoFormat => "must be NAME=\"FORMAT\"[, ARGUMENT]..".to_owned(),
        NoteFormatProblem::Escape => "the format has an escape that is none of C's characters".to_owned(),
        NoteFormatProblem::OpenQuotes => "the quotes around the format do not end".to_owned(),
        NoteFormatProblem::Argument { text } => {
            format!("behind the format come names of arguments with commas before them, not `{text}`")
        }
        NoteFormatProblem::Glob { what } => format!("the name is no glob: {what}"),
        NoteFormatProblem::Conversion { text } => format!("`{text}` is no conversion"),
        NoteFormatProblem::Count { conversions, arguments } => {
            format!("the format takes {}, and there are {arguments}", counted(*conversions, "argument"))
        }
    }
}

/// Why something that is said of a note is not used.
#[must_use]
pub fn problem(problem: &NoteProblem) -> String {
    match problem {
        NoteProblem::ParameterCount { line, parameters, arguments } => format!(
            "not described by the provider file: line {line} has {}, and the note has {}",
            counted(*parameters, "parameter"),
            counted(*arguments, "argument")
        ),
        NoteProblem::NoArgument { name, known } if known.is_empty() => {
            format!("not shown in the format of the user: it has no argument `{name}`, and no other one")
        }
        NoteProblem::NoArgument { name, known } => {
            format!("not shown in the format of the user: it has no argument `{name}`, only {}", quoted(known))
        }
    }
}

/// What is known of an argument of a note, and who says it; `None` if only the note does. `name` is that of
/// the argument.
pub(crate) fn parameter(name: &str, parameter: &NoteParameter) -> Option<String> {
    let by_name = (parameter.name_from != NoteSource::Note).then_some(parameter.name_from);
    let of = parameter.type_name.as_ref().map(|of| (format!("`{}`", shown(of)), parameter.type_from));
    let mut words = match (by_name, of) {
        (None, None) => return None,
        (Some(from), None) => format!("`{}` ({})", shown(name), source(from)),
        (Some(from), Some((of, type_from))) if from == type_from => {
            format!("`{}`, {of} ({})", shown(name), source(from))
        }
        (Some(from), Some((of, type_from))) => {
            format!("`{}` ({}), {of} ({})", shown(name), source(from), source(type_from))
        }
        (None, Some((of, type_from))) => format!("{of} ({})", source(type_from)),
    };
    if let Some(size) = parameter.type_size {
        words.push_str(&format!(", which has {}: the note has another size, which is read", bytes(size.into())));
    }
    Some(format!("arg{}: {words}", parameter.index))
}

/// Who says something of the arguments of a note.
pub(crate) fn source(source: NoteSource) -> &'static str {
    match source {
        NoteSource::Note => "the note",
        NoteSource::DebugInfo => "debug information",
        NoteSource::Provider => "provider file",
        NoteSource::Format => "format of the user",
    }
}
