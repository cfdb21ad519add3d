//! Marks for the lines of a program that print: what the program says of itself is what they must show.

use std::path::Path;

/// The marks of the lines that begin with `printf`, and of the functions whose first line begins with
/// `enter`.
#[must_use]
pub fn of_printed(source: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(source).expect("the source");
    let name = source.file_name().and_then(|name| name.to_str()).expect("a name");
    let mut function = "";
    let mut marks = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with(|first: char| first.is_alphabetic() || first == '_') && line.ends_with('{') {
            let mut names = line.split('(').filter_map(|part| part.split([' ', '*']).next_back());
            function = names.find(|name| !name.is_empty() && !name.starts_with("__")).expect("a function");
        }
        let line = line.trim_start();
        let mark = |place: String, said: &str| {
            let (format, arguments) =
                said.strip_suffix(");").and_then(|said| said.split_once("\\n\"")).expect("a line");
            format!("{place} {format}\"{arguments}")
        };
        if let Some(said) = line.strip_prefix("printf(") {
            marks.push(mark(format!("{name}:{number}"), said));
        } else if let Some(said) = line.strip_prefix("enter(") {
            marks.push(mark(format!("{function}()"), said));
        }
    }
    marks
}

/// The lines of a source that say how often they are passed (`// passes N`), as marks, and these numbers.
#[must_use]
pub fn of_counted(source: &Path) -> Vec<(String, usize)> {
    let text = std::fs::read_to_string(source).expect("the source");
    let name = source.file_name().and_then(|name| name.to_str()).expect("a name");
    let count = |line: &str| line.rsplit_once("; // passes ").or(line.rsplit_once("{ // passes "))?.1.parse().ok();
    (1..).zip(text.lines()).filter_map(|(number, line)| Some((format!("{name}:{number}"), count(line)?))).collect()
}
