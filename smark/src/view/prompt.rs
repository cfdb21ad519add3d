//! What the user types into the last line.

use crate::quantity;

/// What is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PromptKind {
    #[default]
    Search,
    Filter,
    Time,
}

/// A line that is being typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Prompt {
    pub(super) kind: PromptKind,
    pub(super) text: String,
}

impl Prompt {
    pub(super) fn new(kind: PromptKind, text: String) -> Self {
        Self { kind, text }
    }

    /// What stands before the text.
    pub(super) fn question(&self) -> &'static str {
        match self.kind {
            PromptKind::Search => "search: ",
            PromptKind::Filter => "filter: ",
            PromptKind::Time => "time: ",
        }
    }
}

/// A time in ns since the start: seconds, or a number with a unit.
pub(super) fn time_of(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let plain = text.strip_suffix('s').unwrap_or(text).parse::<f64>().ok().filter(|seconds| *seconds >= 0.0);
    let duration = match plain.map(std::time::Duration::try_from_secs_f64) {
        Some(Ok(duration)) => Ok(duration),
        _ => quantity::time(text).map_err(|_| "a time is 1.5 for seconds, or has a unit, as in 20ms".to_owned()),
    };
    duration.map(|duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_have_a_unit() {
        assert_eq!((time_of("1.5"), time_of("2s")), (Ok(1_500_000_000), Ok(2_000_000_000)));
        assert_eq!((time_of(" 20ms "), time_of("0.000001")), (Ok(20_000_000), Ok(1_000)));
        for wrong in ["", "-1", "x", "1e400", "NaN"] {
            assert!(time_of(wrong).is_err(), "{wrong}");
        }
    }
}
