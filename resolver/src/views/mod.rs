//! Views: tables that say how library types are shown that are no plain structures (`docs/views.md`).
//! This folder owns the format and the built-in tables. `dwarf/views.rs` fits a view to a type.

mod kind;
mod path;
mod problem;

use std::collections::HashMap;
use std::sync::LazyLock;

pub(crate) use kind::ViewKind;
use kind::{ELEMENTS, PartRequirement};
pub(crate) use path::{ViewPath, ViewStep};
pub use problem::{PathProblem, ViewError, ViewProblem};

use crate::types::Language;

/// The views of a file, by the name of the type without its path and parameters.
#[derive(Clone, Debug, Default)]
pub struct ViewTable {
    views: HashMap<Box<str>, Vec<TypeView>>,
}

/// A view of a type: a line of a table.
#[derive(Clone, Debug)]
pub(crate) struct TypeView {
    /// Names that the path of the type has in this order, before its own name.
    pub(crate) scopes: Box<[Box<str>]>,
    pub(crate) kind: ViewKind,
    pub(crate) parts: Vec<ViewPart>,
}

/// A part of a type, and the paths to it. The first one that exists counts.
#[derive(Clone, Debug)]
pub(crate) struct ViewPart {
    pub(crate) name: Box<str>,
    /// Whether it is a Boolean, whatever its type says.
    pub(crate) is_boolean: bool,
    pub(crate) paths: Vec<ViewPath>,
}

/// No views of a user.
pub(crate) static NO_VIEWS: LazyLock<ViewTable> = LazyLock::new(ViewTable::default);

static RUST: LazyLock<ViewTable> = LazyLock::new(|| built_in(include_str!("rust.views")));
static CPP: LazyLock<ViewTable> = LazyLock::new(|| built_in(include_str!("cpp.views")));

/// A table of this crate, which tests read without an error.
fn built_in(text: &str) -> ViewTable {
    ViewTable::parse(text).unwrap_or_default()
}

/// A word of a line, and its column from 1.
type ColumnWord<'t> = (usize, &'t str);

impl ViewTable {
    /// The views of the libraries of a language.
    pub(crate) fn of_language(language: Language) -> &'static Self {
        match language {
            Language::Rust => &RUST,
            Language::C => &CPP,
        }
    }

    /// Reads a table.
    ///
    /// # Errors
    ///
    /// The first line that is no view, with its number and column.
    pub fn parse(text: &str) -> Result<Self, ViewError> {
        let mut table = Self::default();
        for (number, line) in text.lines().enumerate() {
            let error = |(column, problem)| ViewError { line: number.saturating_add(1), column, problem };
            let mut words = words(line).take_while(|(_, word)| !word.starts_with('#'));
            let Some(first) = words.next() else { continue };
            let (name, view) = view(first, words).map_err(error)?;
            table.views.entry(name).or_default().push(view);
        }
        Ok(table)
    }

    /// Adds the views of another table. They come after those that are here.
    pub fn append(&mut self, other: Self) {
        for (name, views) in other.views {
            self.views.entry(name).or_default().extend(views);
        }
    }

    /// The number of views.
    #[must_use]
    pub fn len(&self) -> usize {
        self.views.values().map(Vec::len).sum()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// The views for thread-local variables that have the number of a task, with the names of these: those of
    /// async runtimes that are known, and those of a user.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = (&str, &TypeView)> {
        let all = [self, &*RUST].into_iter().flat_map(|table| &table.views);
        let named = all.flat_map(|(name, views)| views.iter().map(move |view| (&**name, view)));
        named.filter(|(_, view)| view.kind == ViewKind::Task)
    }

    /// The views for types of this name, which has neither path nor parameters.
    pub(crate) fn called(&self, name: &str) -> &[TypeView] {
        self.views.get(name).map_or(&[], |views| views)
    }
}

impl TypeView {
    /// Whether the names of the scopes of a type, the outermost first, have those of the view in this
    /// order.
    pub(crate) fn is_in(&self, scopes: &[String]) -> bool {
        let mut scopes = scopes.iter();
        self.scopes.iter().all(|wanted| scopes.any(|scope| **wanted == **scope))
    }
}

/// The words of a line with their columns.
fn words(line: &str) -> impl Iterator<Item = ColumnWord<'_>> {
    line.split_whitespace().map(move |word| {
        let bytes = (word.as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
        let before = line.get(..bytes).unwrap_or_default();
        (before.chars().count().saturating_add(1), word)
    })
}

/// A line: the name of the type, and the view. The error has its column.
fn view<'t>(
    (column, pattern): ColumnWord<'t>,
    mut words: impl Iterator<Item = ColumnWord<'t>>,
) -> Result<(Box<str>, TypeView), (usize, ViewProblem)> {
    let mut scopes: Vec<Box<str>> = pattern.split("::").map(Box::from).collect();
    let is_name = |name: &str| !name.is_empty() && !name.contains(['<', '>', ':', '=']);
    let name = scopes.pop().filter(|name| is_name(name) && scopes.iter().all(|scope| is_name(scope)));
    let Some(name) = name else { return Err((column, ViewProblem::TypeName { name: pattern.into() })) };
    let Some((kind_column, word)) = words.next() else { return Err((column, ViewProblem::NoKind)) };
    let kind = ViewKind::called(word).ok_or_else(|| (kind_column, ViewProblem::no_such_kind(word)))?;
    let mut parts: Vec<ViewPart> = Vec::new();
    for (column, word) in words {
        let part = part(kind, word).map_err(|problem| (column, problem))?;
        let is_same = |known: &ViewPart| known.name == part.name;
        if parts.iter().any(is_same) {
            return Err((column, ViewProblem::SamePart { part: part.name }));
        }
        parts.push(part);
    }
    let has = |name: &str| parts.iter().any(|part| *part.name == *name);
    let missing = |part: &'static str| Err((kind_column, ViewProblem::MissingPart { kind: kind.into(), part }));
    for (part, need) in kind.parts() {
        match need {
            PartRequirement::Required if !has(part) => return missing(part),
            PartRequirement::Element if !ELEMENTS.into_iter().any(has) => return missing(part),
            _ => {}
        }
    }
    if kind == ViewKind::Record && parts.is_empty() {
        return missing("NAME");
    }
    Ok((name, TypeView { scopes: scopes.into(), kind, parts }))
}

/// A part of a view of a kind.
fn part(kind: ViewKind, word: &str) -> Result<ViewPart, ViewProblem> {
    let Some((name, paths)) = word.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        return Err(ViewProblem::NoPath { word: word.into() });
    };
    let (name, is_boolean) = match (kind, name.strip_suffix('?')) {
        (ViewKind::Record, Some(name)) => (name, true),
        _ => (name, false),
    };
    if kind != ViewKind::Record && !kind.parts().iter().any(|(known, _)| *known == name) {
        let known = kind.parts().iter().map(|(part, _)| *part).collect();
        return Err(ViewProblem::NoSuchPart { kind: kind.into(), part: name.into(), known });
    }
    let paths = paths.split('|').map(ViewPath::parse).collect::<Result<_, _>>()?;
    Ok(ViewPart { name: name.into(), is_boolean, paths })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_the_built_in_tables_is_a_view() {
        for text in [include_str!("rust.views"), include_str!("cpp.views")] {
            let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
            assert_eq!(ViewTable::parse(text).map(|table| table.len()), Ok(lines.count()));
        }
    }

    #[test]
    fn a_name_may_have_the_names_of_scopes() {
        let table = ViewTable::parse("  # views\n\nbytes::Bytes text data=ptr length=len # as text\nA record a=b|c\n");
        let table = table.expect("a table");
        let [bytes] = table.called("Bytes") else { panic!("{table:?}") };
        let is_in = |scopes: &[&str]| bytes.is_in(&scopes.iter().map(|scope| (*scope).to_owned()).collect::<Vec<_>>());
        assert!(is_in(&["bytes", "bytes"]) && is_in(&["bytes"]) && is_in(&["a", "bytes", "b"]));
        assert!(!is_in(&[]) && !is_in(&["byte"]));
        assert!(table.called("A").iter().all(|view| view.is_in(&[])));
        let in_order = ViewTable::parse("a::b::C record x=y").expect("a table");
        let is_in = |scopes: [&str; 3]| in_order.called("C").iter().all(|view| view.is_in(&scopes.map(str::to_owned)));
        assert!(is_in(["a", "x", "b"]) && !is_in(["b", "a", "x"]));
    }

    #[test]
    fn what_is_no_view_has_a_place_and_what_was_expected() {
        for (text, expected) in [
            ("Bytes", "1:1: the kind of the view is missing"),
            ("# a\nBytes  txt data=ptr", "2:8: there is no kind `txt`; closest: text"),
            ("A record", "1:3: a `record` needs the part `NAME`"),
            ("A text data=p", "1:3: a `text` needs the part `length`"),
            ("A sequence data=p length=n", "1:3: a `sequence` needs the part `key`"),
            ("A text data=p length=n size=m", "1:24: a `text` has no part `size`; it has `data`, `length`, `key`"),
            ("A text data length=n", "1:8: expected NAME=PATH, found `data`"),
            ("A text data=p data=q length=n", "1:15: the part `data` is there twice"),
            ("A record a=b..c", "1:10: `b..c` is no path: a step is empty"),
            ("A record a=", "1:10: `` is no path: a step is empty"),
            ("A record a=$x", "1:10: `$x` is no path: behind `$` is the number of a template parameter"),
            ("A record a=b@c@d", "1:10: `b@c@d` is no path: there is more than one `@`"),
            (
                "Vec<u8> record a=b",
                "1:1: `Vec<u8>` is no name of a type: expected NAME or SCOPE::NAME, without parameters",
            ),
            ("a:: record a=b", "1:1: `a::` is no name of a type: expected NAME or SCOPE::NAME, without parameters"),
        ] {
            assert_eq!(ViewTable::parse(text).map(|_| ()).map_err(|error| error.to_string()), Err(expected.to_owned()));
        }
    }

    #[test]
    fn the_views_of_a_second_file_come_last() {
        let mut table = ViewTable::parse("A record a=b").expect("a table");
        table.append(ViewTable::parse("A record c=d\nB record e=f").expect("a table"));
        let names: Vec<_> = table.called("A").iter().map(|view| &*view.parts[0].name).collect();
        assert_eq!((names, table.len()), (vec!["a", "c"], 3));
    }
}
