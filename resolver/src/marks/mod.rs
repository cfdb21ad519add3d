//! Markers that need no record: a user names a place in the source and the values there
//! (`docs/others.md`).
//!
//! ```text
//! mark     = place [ format { "," argument } ]
//! place    = FILE ":" LINE | function "()" | function "() return"
//! function = [ FILE ":" [ LINE ":" ] ] NAME
//! ```
//!
//! `FILE` is a path, or the end of one. `NAME` is the name of a function, or the end of its path
//! (`push`, `Queue::push`); with `*` and `?` it is a glob. `format` is a string of C.

mod error;
mod pattern;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use simple_markers_record::{args, c_string, printf};

pub use error::{MarkError, MarkErrorKind};
pub use pattern::FunctionPattern;
pub(crate) use pattern::own_name;

/// What the result of a function is called in the arguments of a mark at its return.
pub const RESULT: &str = "$return";

/// A place that a user marks, and what is shown there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// As it was written, without the format and arguments: the name of the marker that it makes.
    pub name: Arc<str>,
    /// Where it is.
    pub place: MarkPlace,
    /// The printf format; empty if there is none.
    pub format: String,
    /// The arguments as written, with commas between them.
    pub args: String,
    /// Whether the arguments are all variables that are in scope there, and `args` is empty.
    pub has_all_variables: bool,
    /// Whether the entry of inlined copies is left out: they have no return that belongs to it.
    pub is_out_of_line: bool,
    /// What a task of an async runtime does there; `None` if it is no function of a runtime.
    pub task_point: Option<TaskPoint>,
}

/// A place in an async runtime, and what a task does there. The arguments of a mark at a begin or a wake lead to the
/// number of the task: it is the only one, or in the memory at the first one plus the second one. Without any the
/// runtime's thread-local variable has it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskPoint {
    /// The function that polls it is entered.
    PollBegin,
    /// That function returns.
    PollEnd,
    /// It is woken: the function is entered that puts it where it waits for a thread.
    Wake,
}

/// Where a mark is in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkPlace {
    /// Where the code of a line begins.
    Line {
        /// The path of the file, or the end of it.
        file: Arc<str>,
        /// From 1.
        line: u32,
    },
    /// Where a function is entered.
    Entry(FunctionPattern),
    /// Where a function returns.
    Return(FunctionPattern),
}

impl Mark {
    /// Reads a mark.
    ///
    /// # Errors
    ///
    /// The text is no mark, or its format does not fit its arguments.
    pub fn parse(text: &str) -> Result<Self, MarkError> {
        let end = text.find('"').unwrap_or(text.len());
        let (written, rest) = text.split_at(end);
        let start = written.len() - written.trim_start().len();
        let name = written.trim();
        let place = Self::place(name).map_err(|error| MarkError { offset: start + error.offset, ..error })?;
        let (format, args) = match rest.is_empty() {
            true => (String::new(), ""),
            false => {
                let read = c_string::unquoted(rest);
                let c_string::CString { text: format, length: used, unknown } =
                    read.ok_or(MarkError { offset: end, kind: MarkErrorKind::OpenFormat })?;
                // A format ends at a NUL.
                if let Some(at) = unknown.or(format.contains('\0').then_some(0)) {
                    return Err(MarkError { offset: end + at, kind: MarkErrorKind::Escape });
                }
                let (offset, rest) = (end + used, rest.get(used..).unwrap_or_default());
                let args = match rest.trim_start().strip_prefix(',') {
                    Some(args) => args.trim(),
                    None if rest.trim().is_empty() => "",
                    None => return Err(MarkError { offset, kind: MarkErrorKind::Comma }),
                };
                (format, args)
            }
        };
        let error = |kind| Err(MarkError { offset: end, kind });
        let given: Vec<&[u8]> = args::split(args.as_bytes()).collect();
        let taken = match printf::arguments(format.as_bytes()) {
            Ok(taken) => taken,
            Err(malformed) => {
                let written = format.get(malformed.range).unwrap_or_default();
                return error(MarkErrorKind::Conversion(written.to_owned()));
            }
        };
        if taken != given.len() {
            return error(MarkErrorKind::Count { taken, given: given.len() });
        }
        if given.contains(&RESULT.as_bytes()) && !matches!(place, MarkPlace::Return(_)) {
            return error(MarkErrorKind::Result);
        }
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ").into();
        let args = args.to_owned();
        Ok(Self { name, place, format, args, has_all_variables: false, is_out_of_line: false, task_point: None })
    }

    /// A line, with all variables that are in scope there.
    #[must_use]
    pub fn with_all_variables(file: &str, line: u32) -> Self {
        let (name, place) = (format!("{file}:{line}").into(), MarkPlace::Line { file: file.into(), line });
        let (format, args) = (String::new(), String::new());
        Self { name, place, format, args, has_all_variables: true, is_out_of_line: false, task_point: None }
    }

    /// The begin and the end of the calls of a function that polls tasks. `number` are the arguments that lead to
    /// the number of the task ([`TaskPoint`]), at most two.
    ///
    /// # Errors
    ///
    /// That is no function, or has other arguments.
    pub fn of_polls(function: &str, number: &[&str]) -> Result<[Self; 2], MarkError> {
        Ok([Self::of_task(function, number, TaskPoint::PollBegin)?, Self::of_poll_end(function)?])
    }

    /// The end of the calls of a function that ends polls.
    ///
    /// # Errors
    ///
    /// That is no function.
    pub fn of_poll_end(function: &str) -> Result<Self, MarkError> {
        let end = Self::parse(&format!("{function}() return"))?.out_of_line();
        Ok(Self { task_point: Some(TaskPoint::PollEnd), ..end })
    }

    /// The entry of a function that is called to wake a task.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn of_wake(function: &str, number: &[&str]) -> Result<Self, MarkError> {
        Self::of_task(function, number, TaskPoint::Wake)
    }

    fn of_task(function: &str, number: &[&str], point: TaskPoint) -> Result<Self, MarkError> {
        let text = match number {
            [] => format!("{function}()"),
            [number] => format!(r#"{function}() "%lu", {number}"#),
            _ => format!(r#"{function}() "%p %lu", {}"#, number.join(", ")),
        };
        Ok(Self { task_point: Some(point), ..Self::parse(&text)?.out_of_line() })
    }

    /// The same, without the entries of inlined copies.
    #[must_use]
    pub fn out_of_line(self) -> Self {
        Self { is_out_of_line: true, ..self }
    }

    fn place(name: &str) -> Result<MarkPlace, MarkError> {
        let at_start = |kind| MarkError { offset: 0, kind };
        let of_return = name.strip_suffix("return").map(str::trim_end);
        if let Some(function) = of_return.and_then(|function| function.strip_suffix("()")) {
            return FunctionPattern::parse(function).map(MarkPlace::Return).map_err(at_start);
        }
        if let Some(function) = name.strip_suffix("()") {
            return FunctionPattern::parse(function).map(MarkPlace::Entry).map_err(at_start);
        }
        let (file, line) = name.rsplit_once(':').ok_or(at_start(MarkErrorKind::NoPlace))?;
        if file.is_empty() || line.is_empty() || !line.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(at_start(MarkErrorKind::NoPlace));
        }
        match line.parse() {
            Ok(line @ 1..) => Ok(MarkPlace::Line { file: file.into(), line }),
            _ => Err(MarkError { offset: file.len() + 1, kind: MarkErrorKind::Line }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Mark {
        Mark::parse(text).expect("a mark")
    }

    #[test]
    fn a_line_has_a_file_a_number_and_values() {
        let mark = parsed(r#" src/queue.c:42 "depth %u of \"%s\"\t", q->depth, q->name "#);
        assert_eq!(mark.place, MarkPlace::Line { file: "src/queue.c".into(), line: 42 });
        assert_eq!(
            (&*mark.name, &*mark.format, &*mark.args),
            ("src/queue.c:42", "depth %u of \"%s\"\t", "q->depth, q->name")
        );
        let plain = parsed("queue.rs:7");
        assert_eq!((&*plain.format, &*plain.args), ("", ""));
        assert_eq!(parsed(r#"a.c:1 "no value""#).args, "");
    }

    #[test]
    fn a_function_is_entered_and_returns() {
        assert!(matches!(parsed("submit()").place, MarkPlace::Entry(_)));
        let mark = parsed(r#"ns::Queue<T>::push() return "%d", $return"#);
        assert!(matches!(mark.place, MarkPlace::Return(_)));
        assert_eq!(&*mark.name, "ns::Queue<T>::push() return");
        assert_eq!(&*parsed("submit()   return").name, "submit() return");
        // A function may be called so.
        assert!(matches!(parsed("return()").place, MarkPlace::Entry(_)));
    }

    #[test]
    fn what_is_no_mark_is_told_where() {
        let error = |text: &str| Mark::parse(text).expect_err(text);
        for (text, offset, kind) in [
            ("", 0, MarkErrorKind::NoPlace),
            ("queue.c", 0, MarkErrorKind::NoPlace),
            ("queue.c:12x", 0, MarkErrorKind::NoPlace),
            (" queue.c:0", 9, MarkErrorKind::Line),
            ("queue.c:4294967296", 8, MarkErrorKind::Line),
            ("()", 0, MarkErrorKind::NoFunction),
            ("q[()", 0, MarkErrorKind::Glob),
            (r#"a.c:1 "x"#, 6, MarkErrorKind::OpenFormat),
            (r#"a.c:1 "x\y""#, 8, MarkErrorKind::Escape),
            (r#"a.c:1 "%d" a"#, 10, MarkErrorKind::Comma),
            (r#"a.c:1 "%", a"#, 6, MarkErrorKind::Conversion("%".to_owned())),
            (r#"a.c:1 "%d""#, 6, MarkErrorKind::Count { taken: 1, given: 0 }),
            (r#"a.c:1 "%*d", a, b, c"#, 6, MarkErrorKind::Count { taken: 2, given: 3 }),
            (r#"submit() "%d", $return"#, 9, MarkErrorKind::Result),
        ] {
            assert_eq!(error(text), MarkError { offset, kind }, "{text}");
        }
    }
}
