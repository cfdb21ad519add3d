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

use crate::marks::Mark;
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
    /// Where tasks are polled, in pairs of begin and end.
    pub(crate) polls: Vec<[Mark; 2]>,
    /// Where polls end in the functions that those that poll leave for by a tail call.
    pub(crate) tails: Vec<Mark>,
    /// Where tasks are woken.
    pub(crate) wakes: Vec<Mark>,
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

    /// Where tasks are polled and woken, in the functions that views name.
    pub fn task_points(&self) -> impl Iterator<Item = &Mark> {
        self.tasks().flat_map(|(_, view)| view.polls.iter().flatten().chain(&view.tails).chain(&view.wakes))
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
    let (mut polls, mut tails, mut wakes) = (Vec::new(), Vec::new(), Vec::new());
    for (column, word) in words {
        if let Some((part, functions)) = task_functions(kind, word) {
            let is_there = match part {
                POLLS => !polls.is_empty(),
                TAILS => !tails.is_empty(),
                _ => !wakes.is_empty(),
            };
            if is_there {
                return Err((column, ViewProblem::SamePart { part: part.into() }));
            }
            for text in functions.split('|') {
                let problem = || (column, ViewProblem::TaskFunction { text: text.into() });
                let (function, number) = task_function(text).ok_or_else(problem)?;
                match part {
                    POLLS => polls.push(Mark::of_polls(function, &number).map_err(|_| problem())?),
                    TAILS => tails.push(Mark::of_poll_end(function).map_err(|_| problem())?),
                    _ => wakes.push(Mark::of_wake(function, &number).map_err(|_| problem())?),
                }
            }
            continue;
        }
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
    Ok((name, TypeView { scopes: scopes.into(), kind, parts, polls, tails, wakes }))
}

/// The parts of a view of a task that name functions.
const POLLS: &str = "polls";
const TAILS: &str = "tails";
const WAKES: &str = "wakes";

/// The name and the functions of a part that names some; `None` for another part.
fn task_functions(kind: ViewKind, word: &str) -> Option<(&'static str, &str)> {
    let of = |part: &'static str| Some((part, word.strip_prefix(part)?.strip_prefix('=')?));
    [POLLS, TAILS, WAKES].into_iter().find_map(of).filter(|_| kind == ViewKind::Task)
}

/// A function and the places that lead to the number of a task: `FUNCTION()`, `FUNCTION(PLACE)` or
/// `FUNCTION(PLACE+PLACE)`.
fn task_function(text: &str) -> Option<(&str, Vec<&str>)> {
    let (function, number) = text.strip_suffix(')')?.split_once('(')?;
    let number: Vec<&str> = number.split('+').filter(|_| !number.is_empty()).collect();
    (number.len() <= 2 && !number.contains(&"")).then_some((function, number))
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
    use crate::marks::TaskPoint;

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
            (
                "a task number=b polls=c(d+)",
                "1:17: `c(d+)` is no function with the number of a task: expected FUNCTION(), FUNCTION(PLACE) or FUNCTION(PLACE+PLACE)",
            ),
            ("a task polls=c() number=b polls=d()", "1:27: the part `polls` is there twice"),
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
    fn functions_of_runtimes_are_marks() {
        let line = "current task number=id polls=run(t->id)|ns::poll(p+q.offset)|step() wakes=wake(t->id) tails=rest()";
        let table = ViewTable::parse(line).expect("a table");
        let marks: Vec<_> = table.task_points().map(|mark| (&*mark.name, &*mark.args, mark.task_point)).collect();
        let [begin, end] = [TaskPoint::PollBegin, TaskPoint::PollEnd].map(Some);
        let expected = [
            ("run()", "t->id", begin),
            ("run() return", "", end),
            ("ns::poll()", "p, q.offset", begin),
            ("ns::poll() return", "", end),
            ("step()", "", begin),
            ("step() return", "", end),
            ("rest() return", "", end),
            ("wake()", "t->id", Some(TaskPoint::Wake)),
        ];
        assert_eq!(marks.get(..8), Some(&expected[..]));
        // Those of tokio follow.
        assert!(marks.len() > 8);
    }

    #[test]
    fn the_views_of_a_second_file_come_last() {
        let mut table = ViewTable::parse("A record a=b").expect("a table");
        table.append(ViewTable::parse("A record c=d\nB record e=f").expect("a table"));
        let names: Vec<_> = table.called("A").iter().map(|view| &*view.parts[0].name).collect();
        assert_eq!((names, table.len()), (vec!["a", "c"], 3));
    }
}
