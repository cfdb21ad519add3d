//! How often markers were passed in the last intervals of a terminal's table: a line of bars for each.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use simple_markers_tracer::aggregate::MarkerCounts;

use crate::sparkline::{MOST, bars};

/// The hits of markers in the last intervals.
#[derive(Clone, Debug, Default)]
pub(super) struct RateHistory {
    /// When the last interval ended.
    last: Option<Instant>,
    /// By the number of the marker ([`MarkerCounts::group`]).
    rows: HashMap<usize, History>,
}

#[derive(Clone, Debug, Default)]
struct History {
    /// All hits until the last interval ended.
    hits: u64,
    /// The hits of each interval, the latest last, and how long it was in seconds.
    intervals: VecDeque<(u64, f64)>,
}

impl RateHistory {
    /// Ends an interval. The hits before the first one are in none.
    pub(super) fn add(&mut self, now: Instant, markers: &[MarkerCounts]) {
        let seconds = self.last.replace(now).map(|last| now.saturating_duration_since(last).as_secs_f64());
        for row in markers {
            let history = self.rows.entry(row.group).or_default();
            let hits = row.hits.saturating_sub(history.hits);
            history.hits = row.hits;
            if let Some(seconds) = seconds.filter(|seconds| *seconds > 0.0) {
                history.intervals.push_back((hits, seconds));
                if history.intervals.len() > MOST {
                    history.intervals.pop_front();
                }
            }
        }
    }

    /// The hits per second in the last interval, and a bar for each interval. `None` before the first one.
    pub(super) fn of(&self, group: usize) -> Option<(f64, String)> {
        let history = self.rows.get(&group)?;
        let (hits, seconds) = history.intervals.back()?;
        let rate = |(hits, seconds): &(u64, f64)| *hits as f64 / seconds;
        let most = history.intervals.iter().map(rate).fold(0.0, f64::max);
        Some((*hits as f64 / seconds, bars(history.intervals.iter().map(rate), most)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn bars_are_the_rates_of_the_last_intervals() {
        let row = |hits| MarkerCounts {
            marker: "a".into(),
            module: "a".into(),
            image: 0,
            group: 3,
            is_event: false,
            hits,
            values: None,
            buckets: None,
            amounts: None,
            stacks: None,
            names: None,
        };
        let (mut history, start) = (RateHistory::default(), Instant::now());
        history.add(start, &[row(1000)]);
        assert_eq!(history.of(3), None);
        // The last interval is twice as long.
        for (seconds, hits) in [(1, 1000), (2, 1080), (3, 1090), (5, 1130)] {
            history.add(start + Duration::from_secs(seconds), &[row(hits)]);
        }
        assert_eq!(history.of(3), Some((20.0, " █▁▂".to_owned())));
        for second in 6..100 {
            history.add(start + Duration::from_secs(second), &[row(1130)]);
        }
        assert_eq!(history.of(3), Some((0.0, " ".repeat(MOST))));
        assert_eq!(history.of(4), None);
    }
}
