//! Selects rows of a resolution by patterns, and suggests names for patterns that match nothing.

use std::borrow::Cow;

use globset::GlobMatcher;

use crate::Error;
use crate::glob::matcher;
use crate::resolve::{Row, source_name};
use crate::text::closest;

/// The field that a pattern is matched against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[non_exhaustive]
pub enum Field {
    /// The module.
    Module,
    /// The function, or the text in its place (`<eliminated>`), and the functions that are inlined there at a
    /// site of the marker, if the debug information was read.
    Function,
    /// The marker's name.
    #[strum(serialize = "marker")]
    Name,
}

impl Field {
    /// The word for the field.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The values of the field in a row: those of its fields, and the names of inlined functions in the
    /// debug information and in the source.
    fn in_row<'a>(self, row: &Row<'a>) -> impl Iterator<Item = Cow<'a, str>> + use<'a> {
        let sites = if self == Self::Function { row.sites.clone() } else { Vec::new() };
        let inlined = sites.into_iter().filter(|site| site.place.is_some()).flat_map(|site| &site.inlined);
        let names = inlined.flat_map(|inlined| [Cow::Borrowed(&*inlined.function), source_name(&inlined.function)]);
        self.among(&Fields::from(row)).map(Cow::Borrowed).chain(names)
    }

    /// The values of the field, of which a pattern has to match one.
    fn among<'a>(self, fields: &Fields<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
        let (value, other) = match self {
            Self::Module => (fields.module, None),
            Self::Function => (fields.function, fields.source_function),
            Self::Name => (fields.name, None),
        };
        other.into_iter().chain([value])
    }
}

/// What patterns are matched against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields<'a> {
    /// The module.
    pub module: &'a str,
    /// The function, or the text in its place.
    pub function: &'a str,
    /// What the source calls the function, if that differs and is known.
    pub source_function: Option<&'a str>,
    /// The marker's name.
    pub name: &'a str,
}

impl<'a> From<&Row<'a>> for Fields<'a> {
    fn from(row: &Row<'a>) -> Self {
        let source_function = row.source_function();
        Self { module: &row.image.module, function: row.function, source_function, name: &row.marker.name }
    }
}

/// Globs over the fields of a row. A row matches if, for each field with globs, one of them matches.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    globs: Vec<(Field, GlobMatcher)>,
    /// Whether the places that the user named are selected.
    has_marks: bool,
    /// Whether they are selected beside all markers, if there is no glob.
    are_beside: bool,
}

/// A pattern that no row matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmatchedPattern {
    /// The field that it was matched against.
    pub field: Field,
    /// The pattern.
    pub pattern: String,
    /// The most similar values of the field, best first; at most three.
    pub closest: Vec<String>,
}

impl Selection {
    /// Whether the selection may include a marker with this name.
    #[must_use]
    pub fn may_match_name(&self, name: &str) -> bool {
        let mut of_names = self.globs.iter().filter(|(field, _)| *field == Field::Name).peekable();
        let is_any = of_names.peek().is_none() && !self.has_marks_alone();
        is_any || of_names.any(|(_, glob)| glob.is_match(name))
    }

    /// Adds a shell glob that must match the whole field. `*` and `?` match any character, also `:` and
    /// `/`; `[a-z]` matches one of a set, and `{a,b}` one of a list. Braces without a comma are those of Rust's
    /// closures (`main::{{closure}}`).
    ///
    /// # Errors
    ///
    /// The pattern is not a glob.
    pub fn add(&mut self, field: Field, pattern: &str) -> Result<(), Error> {
        let error = |what| Error::Pattern { pattern: pattern.to_owned(), what };
        self.globs.push((field, matcher(pattern).map_err(error)?));
        Ok(())
    }

    /// Selects the places that the user named. Other markers are only selected by patterns then.
    pub fn add_marks(&mut self) {
        self.has_marks = true;
    }

    /// Selects the places that the user named beside all markers.
    pub fn add_marks_beside(&mut self) {
        self.has_marks = true;
        self.are_beside = true;
    }

    /// Whether nothing but the places that the user named is selected.
    fn has_marks_alone(&self) -> bool {
        self.globs.is_empty() && self.has_marks && !self.are_beside
    }

    /// Whether everything is selected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.globs.is_empty() && !self.has_marks_alone()
    }

    /// Whether a row matches.
    #[must_use]
    pub fn matches(&self, row: &Row<'_>) -> bool {
        let matches = || self.all(|field, glob| field.in_row(row).any(|value| glob.is_match(&*value)));
        match self.has_marks {
            true => row.marker.is_mark || (!self.has_marks_alone() && matches()),
            false => matches(),
        }
    }

    /// Whether the fields of a row match.
    #[must_use]
    pub fn matches_fields(&self, of: &Fields<'_>) -> bool {
        self.all(|field, glob| field.among(of).any(|value| glob.is_match(value)))
    }

    /// Whether one pattern of each field that has any matches.
    fn all(&self, matches: impl Fn(Field, &GlobMatcher) -> bool) -> bool {
        [Field::Module, Field::Function, Field::Name].into_iter().all(|field| {
            let mut globs = self.globs.iter().filter(|(of, _)| *of == field).peekable();
            globs.peek().is_none() || globs.any(|(_, glob)| matches(field, glob))
        })
    }

    /// Whether there are patterns for functions.
    #[must_use]
    pub fn has_functions(&self) -> bool {
        self.globs.iter().any(|(field, _)| *field == Field::Function)
    }

    /// Whether every marker of this name matches; `false` if there are patterns for other fields.
    #[must_use]
    pub fn matches_name(&self, name: &str) -> bool {
        let is_name = |field: &Field| *field == Field::Name;
        self.globs.iter().all(|(field, _)| is_name(field))
            && (self.globs.is_empty() || self.globs.iter().any(|(_, glob)| glob.is_match(name)))
    }

    /// The patterns that match none of `rows`, each taken alone.
    #[must_use]
    pub fn unmatched(&self, rows: &[Row<'_>]) -> Vec<UnmatchedPattern> {
        self.unmatched_among(|field| rows.iter().flat_map(move |row| field.in_row(row)))
    }

    /// The patterns for names that match none of `names`, each taken alone.
    #[must_use]
    pub fn unmatched_names(&self, names: &[&str]) -> Vec<UnmatchedPattern> {
        self.unmatched_among(|field| names.iter().copied().map(Cow::Borrowed).filter(move |_| field == Field::Name))
    }

    /// The patterns that match none of `all`, each taken alone.
    #[must_use]
    pub fn unmatched_fields(&self, all: &[Fields<'_>]) -> Vec<UnmatchedPattern> {
        self.unmatched_among(|field| all.iter().flat_map(move |fields| field.among(fields).map(Cow::Borrowed)))
    }

    fn unmatched_among<'a, I: Iterator<Item = Cow<'a, str>>>(
        &self,
        values: impl Fn(Field) -> I,
    ) -> Vec<UnmatchedPattern> {
        let nothing = |(field, glob): &&(Field, GlobMatcher)| !values(*field).any(|value| glob.is_match(&*value));
        let unmatched = |(field, glob): &(Field, GlobMatcher)| {
            let pattern = glob.glob().glob().to_owned();
            let names: Vec<Cow<'a, str>> = values(*field).collect();
            let closest = closest(&pattern, names.iter().map(|name| &**name));
            UnmatchedPattern { field: *field, pattern, closest }
        };
        self.globs.iter().filter(nothing).map(unmatched).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_without_a_comma_are_literal() {
        let matches = |pattern: &str, function: &str| {
            let mut selection = Selection::default();
            selection.add(Field::Function, pattern).expect("a glob");
            selection.matches_fields(&Fields { module: "m", function, source_function: None, name: "n" })
        };
        assert!(matches("*::main::{{closure}}", "server::main::{{closure}}"));
        assert!(matches("server::{closure#0}", "server::{closure#0}"));
        assert!(matches("*::{one,two}::{{closure}}", "server::two::{{closure}}"));
        assert!(matches("{one,{two}}", "{two}"));
        assert!(!matches("server::{closure#0}", "server::closure#0"));
        assert!(!matches("*::{one,two}", "server::{one,two}"));
        assert!(matches(r"\{a,b\}", "{a,b}"));
    }

    #[test]
    fn a_closure_has_the_name_of_its_symbol_and_that_of_the_source() {
        let fields =
            |source_function| Fields { module: "m", function: "w::f::{{closure}}", source_function, name: "n" };
        let (known, unknown) = (fields(Some("w::f::{async}")), fields(None));
        let mut selection = Selection::default();
        selection.add(Field::Function, "*::f::{async}").expect("a glob");
        assert!(selection.matches_fields(&known) && !selection.matches_fields(&unknown));
        assert_eq!((selection.unmatched_fields(&[known]).len(), selection.unmatched_fields(&[unknown]).len()), (0, 1));
        let mut selection = Selection::default();
        selection.add(Field::Function, "*::f::{{closure}}").expect("a glob");
        assert!(selection.matches_fields(&known) && selection.matches_fields(&unknown));
    }
}
