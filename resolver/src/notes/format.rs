//! Formats that a user gives to notes: `NAME="FORMAT"[, ARGUMENT]...`.

use std::sync::Arc;

use globset::GlobMatcher;
use simple_markers_record::{c_string, printf};

use crate::glob::matcher;

/// A format for the notes whose name is matched.
#[derive(Clone, Debug)]
pub struct NoteFormat {
    /// The name, or the glob, as written.
    pub name: Box<str>,
    matcher: GlobMatcher,
    /// The format.
    pub format: Box<str>,
    /// The names of the arguments, in the order of their conversions.
    pub arguments: Vec<Arc<str>>,
}

/// What is wrong with such a format.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoteFormatProblem {
    /// It is not `NAME="FORMAT"`.
    NoFormat,
    /// The quotes around the format do not end.
    OpenQuotes,
    /// The format has an escape that C does not have, or a NUL.
    Escape,
    /// Something else than a comma and the name of an argument follows.
    Argument {
        /// What.
        text: Box<str>,
    },
    /// The name is no glob.
    Glob {
        /// What is wrong with it.
        what: Box<str>,
    },
    /// A conversion is malformed.
    Conversion {
        /// It.
        text: Box<str>,
    },
    /// The format has more or fewer conversions than there are arguments.
    Count {
        /// The values that the conversions take.
        conversions: usize,
        /// The arguments.
        arguments: usize,
    },
}

impl NoteFormat {
    /// Reads `NAME="FORMAT"[, ARGUMENT]...`. The format is a string of C.
    ///
    /// # Errors
    ///
    /// It has another form, or the format has other conversions than there are arguments.
    pub fn parse(text: &str) -> Result<Self, NoteFormatProblem> {
        let (name, rest) = text.split_once('=').ok_or(NoteFormatProblem::NoFormat)?;
        let (name, rest) = (name.trim(), rest.trim_start());
        if name.is_empty() || !rest.starts_with('"') {
            return Err(NoteFormatProblem::NoFormat);
        }
        let read = c_string::unquoted(rest).ok_or(NoteFormatProblem::OpenQuotes)?;
        if read.unknown.is_some() || read.text.contains('\0') {
            return Err(NoteFormatProblem::Escape);
        }
        let (format, rest) = (read.text, rest.get(read.length..).unwrap_or_default().trim());
        let mut arguments = Vec::new();
        if !rest.is_empty() {
            let bad = |text: &str| NoteFormatProblem::Argument { text: text.into() };
            let list = rest.strip_prefix(',').ok_or_else(|| bad(rest))?;
            for argument in list.split(',').map(str::trim) {
                let is_name = !argument.is_empty()
                    && argument.chars().all(|character| character.is_alphanumeric() || character == '_');
                arguments.push(is_name.then(|| Arc::from(argument)).ok_or_else(|| bad(argument))?);
            }
        }
        let conversions = printf::arguments(format.as_bytes()).map_err(|error| NoteFormatProblem::Conversion {
            text: format.get(error.range).unwrap_or_default().into(),
        })?;
        if conversions != arguments.len() {
            return Err(NoteFormatProblem::Count { conversions, arguments: arguments.len() });
        }
        let matcher = matcher(name).map_err(|what| NoteFormatProblem::Glob { what: what.into() })?;
        Ok(Self { name: name.into(), matcher, format: format.into(), arguments })
    }

    /// Whether it is for notes with this name (`provider:name`).
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.matcher.is_match(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_has_a_name_and_arguments() {
        let parsed = NoteFormat::parse(r#"store:query__*="a \"%.*s\" \\ \n", arg1 ,text"#).unwrap();
        assert_eq!((&*parsed.name, &*parsed.format), ("store:query__*", "a \"%.*s\" \\ \n"));
        assert_eq!(parsed.arguments, ["arg1", "text"].map(Arc::from));
        assert!(parsed.matches("store:query__start") && !parsed.matches("store:commit"));
        assert_eq!(NoteFormat::parse("x=\"100%%\"").unwrap().arguments.len(), 0);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let problem = |text: &str| NoteFormat::parse(text).unwrap_err();
        let argument = |text: &str| NoteFormatProblem::Argument { text: text.into() };
        assert_eq!(problem("x"), NoteFormatProblem::NoFormat);
        assert_eq!(problem("x=%d"), NoteFormatProblem::NoFormat);
        assert_eq!(problem("=\"\""), NoteFormatProblem::NoFormat);
        assert_eq!(problem("x=\"a\\"), NoteFormatProblem::OpenQuotes);
        assert_eq!(problem("x=\"a\\y\""), NoteFormatProblem::Escape);
        assert_eq!(problem("x=\"a\\0\""), NoteFormatProblem::Escape);
        assert_eq!(problem("x=\"%d\" arg0"), argument("arg0"));
        assert_eq!(problem("x=\"%d\", "), argument(""));
        assert_eq!(problem("x=\"%d\", arg0 + 1"), argument("arg0 + 1"));
        assert_eq!(problem("x=\"%d %s\", a"), NoteFormatProblem::Count { conversions: 2, arguments: 1 });
        assert_eq!(problem("x=\"a%\""), NoteFormatProblem::Conversion { text: "%".into() });
        assert!(matches!(problem("[=\"\""), NoteFormatProblem::Glob { .. }));
    }
}
