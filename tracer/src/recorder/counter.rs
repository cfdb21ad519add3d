//! The processor's counter as a clock.

use std::collections::VecDeque;

/// The most points that are kept.
const MOST: usize = 256;

/// Times of the processor's counter as times of `CLOCK_MONOTONIC`.
///
/// Both are read at some points, and a time between two points is on the line that joins them. So
/// the times of events have the order of their counts.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    /// Counts and times in ns, both ascending.
    points: VecDeque<(u64, u64)>,
}

impl Counter {
    /// Whether there is no point.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Notes that the counter had a value at a time in ns. A point that is not after the last one is
    /// left out.
    pub fn add(&mut self, count: u64, time: u64) {
        if self.points.back().is_some_and(|last| last.0 >= count || last.1 >= time) {
            return;
        }
        if self.points.len() == MOST {
            // Every second point of the older half: old events are rare, and lines stay exact enough.
            let half = MOST / 2;
            let older: Vec<_> = self.points.drain(..half).step_by(2).collect();
            older.into_iter().rev().for_each(|point| self.points.push_front(point));
        }
        self.points.push_back((count, time));
    }

    /// The time in ns at which the counter had a value. `None` before there are two points.
    #[must_use]
    pub fn time(&self, count: u64) -> Option<u64> {
        let after = self.points.partition_point(|point| point.0 <= count).clamp(1, self.points.len().max(2) - 1);
        let (first, second) = (self.points.get(after - 1)?, self.points.get(after)?);
        let (counts, times) = (i128::from(second.0 - first.0), i128::from(second.1 - first.1));
        let offset = (i128::from(count) - i128::from(first.0)) * times / counts;
        u64::try_from(i128::from(first.1) + offset).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_on_the_lines_between_points() {
        let mut counter = Counter::default();
        assert_eq!(counter.time(5), None);
        counter.add(1000, 500);
        assert_eq!(counter.time(1000), None);
        counter.add(3000, 1500);
        counter.add(2000, 1600);
        counter.add(4000, 2500);
        let times = [0, 1000, 2000, 3000, 3500, 5000].map(|count| counter.time(count).expect("two points"));
        assert_eq!(times, [0, 500, 1000, 1500, 2000, 3500]);
        assert_eq!((counter.time(u64::MAX), Counter::default().time(0)), (counter.time(u64::MAX), None));
    }

    #[test]
    fn a_long_session_keeps_few_points() {
        let mut counter = Counter::default();
        for point in 1..10_000u64 {
            counter.add(point * 20, point * 10 + point % 2);
        }
        assert!(counter.points.len() <= MOST);
        let times: Vec<_> = (0..1000).map(|step| counter.time(step * 200).expect("a time")).collect();
        assert!(times.is_sorted());
        assert!(times.iter().zip(0u64..).all(|(time, step)| time.abs_diff(step * 100) <= 1), "{times:?}");
    }
}
