//! The options that say what is counted.

use std::sync::Arc;

use clap::Args;
use simple_markers_resolver::record::span;
use simple_markers_tracer::aggregate::{IntervalSubject, Question};

/// What is counted besides hits, and how much of it is kept and shown.
#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// Count how often this argument has each value; with --time, how long it takes for each value. `stack` counts the stacks of the
    /// program, by frame pointers, and `kstack` those of the kernel at its events
    #[arg(long, value_name = "ARG", conflicts_with = "hist")]
    by: Option<String>,
    /// With --by, show this many values, the most frequent first
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Count the values of this argument by powers of two
    #[arg(long, value_name = "ARG", conflicts_with = "time")]
    hist: Option<String>,
    /// Measure the time from marker A to marker B; with the name of a span, that of the span; with a function and `()`, that of its calls
    #[arg(long, value_name = "A..B|SPAN|FUNCTION()", value_parser = timed)]
    time: Option<TimedInterval>,
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
}

impl Ask {
    /// How much is kept.
    pub(crate) fn kept(&self) -> ValueLimits {
        ValueLimits { most: self.max_values, top: self.top }
    }

    /// The question. `key` tells which start an end belongs to. `is_split` says that the parts of times are told
    /// apart.
    pub(crate) fn question(&self, key: Option<&str>, is_split: bool) -> Question {
        match (&self.by, &self.hist, &self.time) {
            (by, _, Some(TimedInterval::Markers(from, to))) => Question::Time {
                from: from.clone(),
                to: to.clone(),
                key: key.map_or(IntervalSubject::Thread, |key| IntervalSubject::Argument(key.into())),
                by: by.as_deref().map(Arc::from),
                is_split,
            },
            (by, _, Some(TimedInterval::Spans(name))) => Question::Time {
                from: span::begin(name),
                to: span::end(name),
                key: IntervalSubject::Argument(key.unwrap_or(span::ID).into()),
                by: by.as_deref().map(Arc::from),
                is_split,
            },
            (by, _, Some(TimedInterval::Calls(entry))) => Question::Time {
                from: entry.clone(),
                to: format!("{entry} return"),
                key: IntervalSubject::Call,
                by: by.as_deref().map(Arc::from),
                is_split,
            },
            (Some(by), ..) if by == "stack" || by == "kstack" => Question::Stacks { is_kernel: by == "kstack" },
            (Some(by), ..) => Question::Values(Arc::from(by.as_str())),
            (_, Some(hist), _) => Question::Histogram(Arc::from(hist.as_str())),
            _ => Question::Hits,
        }
    }
}

/// Parses `A..B`, `SPAN` or `FUNCTION()`.
pub(crate) fn timed(text: &str) -> Result<TimedInterval, String> {
    match text.strip_suffix("()") {
        Some(function) if !function.is_empty() && !text.contains("..") => Ok(TimedInterval::Calls(text.to_owned())),
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
    fn a_name_alone_is_that_of_a_span() {
        assert_eq!(timed("db:query"), Ok(TimedInterval::Spans("db:query".to_owned())));
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
