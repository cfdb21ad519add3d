//! The options that say what is counted.

use std::sync::Arc;

use clap::Args;
use simple_markers_resolver::record::span;
use simple_markers_tracer::aggregate::{IntervalSubject, Question};
use simple_markers_tracer::plan::StackNotes;

/// What is counted besides hits, and how much of it is kept and shown.
#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// Count how often this argument has each value, or several have theirs; with --time and --sum, how much it is for each value.
    /// `stack` counts the stacks of the program, by frame pointers, and `kstack` those of the kernel at its events
    #[arg(long, value_name = "ARG,..", conflicts_with = "hist", value_parser = names)]
    by: Option<Names>,
    /// With --by, show this many values, the most frequent first
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Count the values of this argument by powers of two
    #[arg(long, value_name = "ARG", conflicts_with = "time")]
    hist: Option<String>,
    /// Add up the values of this argument, and show their average, the smallest, the largest, and percentiles
    #[arg(long, value_name = "ARG", conflicts_with_all = ["time", "hist"])]
    sum: Option<String>,
    /// The same as --sum; with --by, the values with the largest average come first
    #[arg(long, value_name = "ARG", conflicts_with_all = ["time", "hist", "sum"])]
    avg: Option<String>,
    /// Measure the time from marker A to marker B; with the name of a span, that of the span; with a function and `()`, that of its calls
    #[arg(long, value_name = "A..B|SPAN|FUNCTION()", value_parser = timed)]
    time: Option<TimedInterval>,
    /// With --time, print a map of how long the intervals took over time
    #[arg(long, requires = "time")]
    heat: bool,
    /// The most different values, and the most open intervals, that are kept
    #[arg(long, value_name = "N", default_value_t = 65536, value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    max_values: u32,
}

/// What is timed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TimedInterval {
    /// From one marker to another.
    Markers(String, String),
    /// The spans of a name, from their begin to their end.
    Spans(String),
    /// The calls of a function: the name of the marker at its entry, as `f()`.
    Calls(String),
}

/// How much is kept, and how much of it is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueLimits {
    /// The most different values, and the most open intervals, that are kept.
    pub(crate) most: u32,
    /// The most values that are shown.
    pub(super) top: usize,
    /// Whether there is a map of times.
    pub(crate) heat: bool,
    /// Whether the values with the largest averages come first, and not those with the largest sums.
    pub(super) by_average: bool,
}

impl ValueLimits {
    /// The same with a map of times, or without one.
    pub(crate) fn with_heat(self, heat: bool) -> Self {
        Self { heat, ..self }
    }
}

impl Ask {
    /// How much is kept.
    pub(crate) fn kept(&self) -> ValueLimits {
        ValueLimits { most: self.max_values, top: self.top, by_average: self.avg.is_some(), heat: self.heat }
    }

    /// The question. `key` tells which start an end belongs to. `is_split` says that the parts of times are told
    /// apart, `notes` which stacks are noted meanwhile.
    pub(crate) fn question(&self, key: Option<&Names>, is_split: bool, notes: StackNotes) -> Question {
        let by = self.by.as_ref().map_or_else(Vec::new, |by| by.0.clone());
        if let Some(timed) = &self.time {
            return timed.question(key, by, is_split, notes);
        }
        match (self.sum.as_ref().or(self.avg.as_ref()), &self.hist, &by[..]) {
            (Some(of), ..) => Question::Amounts { of: of.as_str().into(), by },
            (_, Some(hist), _) => Question::Histogram(hist.as_str().into()),
            (.., []) => Question::Hits,
            (.., [stack]) if **stack == *"stack" || **stack == *"kstack" => {
                Question::Stacks { is_kernel: **stack == *"kstack" }
            }
            _ => Question::Values(by),
        }
    }
}

impl TimedInterval {
    /// The question how long it takes. `key` tells which start an end belongs to.
    pub(crate) fn question(
        &self,
        key: Option<&Names>,
        by: Vec<Arc<str>>,
        is_split: bool,
        notes: StackNotes,
    ) -> Question {
        let is_split = is_split || notes.are_wanted();
        let (from, to, key) = match self {
            Self::Markers(from, to) => (from.clone(), to.clone(), key.map_or(IntervalSubject::Thread, Names::subject)),
            Self::Spans(name) => {
                let id = || IntervalSubject::Arguments(vec![span::ID.into()]);
                (span::begin(name), span::end(name), key.map_or_else(id, Names::subject))
            }
            Self::Calls(entry) => (entry.clone(), format!("{entry} return"), IntervalSubject::Call),
        };
        Question::Time { from, to, key, by, is_split, notes }
    }
}

/// Names of arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names(Vec<Arc<str>>);

impl Names {
    /// All of them.
    pub(crate) fn all(&self) -> &[Arc<str>] {
        &self.0
    }

    /// What tells which start an end belongs to, if it is the values of these arguments.
    pub(crate) fn subject(&self) -> IntervalSubject {
        IntervalSubject::Arguments(self.0.clone())
    }
}

/// Parses `ARG`, or several with commas between them. A comma in parentheses, brackets, or braces is a part of an
/// argument.
pub(crate) fn names(text: &str) -> Result<Names, String> {
    let mut depth = 0usize;
    let is_comma = |letter: char| {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    };
    let names: Vec<Arc<str>> = text.split(is_comma).map(|name| name.trim().into()).collect();
    match names.iter().any(|name| name.is_empty()) {
        true => Err("write the name of an argument, or several as A,B".to_owned()),
        false => Ok(Names(names)),
    }
}

/// Parses `A..B`, `SPAN`, `syscalls:NAME` or `FUNCTION()`.
pub(crate) fn timed(text: &str) -> Result<TimedInterval, String> {
    match text.strip_suffix("()") {
        Some(function) if !function.is_empty() && !text.contains("..") => Ok(TimedInterval::Calls(text.to_owned())),
        None if text.starts_with("syscalls:") && !text.contains("..") && !text.contains(":sys_") => {
            let side = |side: &str| text.replacen(':', &format!(":sys_{side}_"), 1);
            Ok(TimedInterval::Markers(side("enter"), side("exit")))
        }
        None if !text.is_empty() && !text.contains("..") => Ok(TimedInterval::Spans(text.to_owned())),
        _ => match interval(text) {
            Ok((from, to)) => Ok(TimedInterval::Markers(from, to)),
            Err(why) => Err(format!("{why}, the name of a span, or a function as f()")),
        },
    }
}

/// Parses `A..B`.
pub(crate) fn interval(text: &str) -> Result<(String, String), String> {
    match text.split_once("..") {
        Some((from, to)) if from == to && !from.is_empty() => Err("A and B must be different markers".to_owned()),
        Some((from, to)) if !from.is_empty() && !to.is_empty() => Ok((from.to_owned(), to.to_owned())),
        _ => Err("write two names of markers as A..B".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_two_names() {
        assert_eq!(interval("a:b..c:d"), Ok(("a:b".to_owned(), "c:d".to_owned())));
        for wrong in ["", "a", "a..", "..b", "a..a", "a.b"] {
            assert!(interval(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_comma_in_parentheses_is_no_separator() {
        let of = |text| names(text).map(|names| names.0.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(of("id, shard"), Ok(vec!["id".to_owned(), "shard".to_owned()]));
        assert_eq!(of("f(a, b)[1,2],c"), Ok(vec!["f(a, b)[1,2]".to_owned(), "c".to_owned()]));
        for wrong in ["", ",", "a,", "a,,b"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_name_alone_is_that_of_a_span() {
        assert_eq!(timed("db:query"), Ok(TimedInterval::Spans("db:query".to_owned())));
        let (enter, exit) = ("syscalls:sys_enter_read".to_owned(), "syscalls:sys_exit_read".to_owned());
        assert_eq!(timed("syscalls:read"), Ok(TimedInterval::Markers(enter, exit)));
    }

    #[test]
    fn calls_are_of_one_function() {
        assert_eq!(timed("queue::submit()"), Ok(TimedInterval::Calls("queue::submit()".to_owned())));
        assert_eq!(timed("a:b..c:d"), Ok(TimedInterval::Markers("a:b".to_owned(), "c:d".to_owned())));
        for wrong in ["()", "", "a()..b"] {
            assert_eq!(timed(wrong).is_err(), wrong != "a()..b", "{wrong}");
        }
    }
}
