//! The buckets of histograms, which BPF programs fill, and percentiles.
//!
//! Two scales are used. The coarse one has a bucket for each power of two, with a side for negative
//! values. The fine one has eight buckets for each power of two, so that the middle of a bucket is at
//! most 1/16 away from each of its values.

/// In the number of a coarse bucket: its values are negative.
pub const NEGATIVE: u32 = 128;

/// The number of fine buckets.
pub const FINE: u32 = 62 * 8;

/// The coarse bucket of a value: 0 for 0, and `n + 1` for values from `2^n`.
#[must_use]
pub fn coarse(value: i128) -> u32 {
    let bits = 128 - value.unsigned_abs().leading_zeros();
    if value < 0 { bits | NEGATIVE } else { bits }
}

/// The smallest and the largest value of a coarse bucket.
#[must_use]
pub fn coarse_range(bucket: u32) -> (i128, i128) {
    let bits = (bucket & !NEGATIVE).min(64);
    let range = match bits {
        0 => (0, 0),
        bits => (1i128 << (bits - 1), (1i128 << bits) - 1),
    };
    if bucket & NEGATIVE == 0 { range } else { (-range.1, -range.0) }
}

/// The fine bucket of a value.
#[must_use]
pub fn fine(value: u64) -> u32 {
    if value < 8 {
        return value as u32;
    }
    let power = value.ilog2();
    (power - 2) * 8 + (value >> (power - 3) & 7) as u32
}

/// The smallest and the largest value of a fine bucket.
#[must_use]
pub fn fine_range(bucket: u32) -> (u64, u64) {
    if bucket < 8 {
        return (bucket.into(), bucket.into());
    }
    let shift = (bucket / 8 - 1).min(60);
    let low = u64::from(8 + bucket % 8) << shift;
    (low, low + ((1 << shift) - 1))
}

/// How long intervals were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    /// How many there are in each fine bucket, in ns.
    pub counts: Vec<u64>,
    /// The shortest in ns; meaningless if there is none.
    pub min: u64,
    /// The longest in ns; meaningless if there is none.
    pub max: u64,
}

impl Durations {
    /// Durations of which only the fine buckets are known.
    #[must_use]
    pub fn of_buckets(counts: Vec<u64>) -> Self {
        let is_some = |count: &u64| *count > 0;
        let bucket = |at: Option<usize>| at.and_then(|at| u32::try_from(at).ok()).map(fine_range).unwrap_or_default();
        let (first, last) = (bucket(counts.iter().position(is_some)), bucket(counts.iter().rposition(is_some)));
        Self { counts, min: first.0, max: last.1 }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The middle of each bucket that is not empty, and how many are in it. It is between the shortest and the longest.
    pub fn middles(&self) -> impl Iterator<Item = (u64, u64)> {
        let (min, max) = (self.min, self.max.max(self.min));
        let filled = (0..).zip(&self.counts).filter(|(_, count)| **count > 0);
        filled.map(move |(bucket, count)| {
            let (low, high) = fine_range(bucket);
            ((low + (high - low) / 2).clamp(min, max), *count)
        })
    }

    /// Adds one.
    pub fn count_one(&mut self, duration: u64) {
        let is_first = self.max == 0 && self.count() == 0;
        self.counts.resize(FINE as usize, 0);
        if let Some(count) = self.counts.get_mut(fine(duration) as usize) {
            *count += 1;
        }
        (self.min, self.max) = match is_first {
            true => (duration, duration),
            false => (self.min.min(duration), self.max.max(duration)),
        };
    }

    /// Adds other durations.
    pub fn add(&mut self, other: &Self) {
        let (is_none, is_other_none) = (self.count() == 0, other.count() == 0);
        (self.min, self.max) = match (is_none, is_other_none) {
            (true, _) => (other.min, other.max),
            (_, true) => (self.min, self.max),
            _ => (self.min.min(other.min), self.max.max(other.max)),
        };
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, more)| *sum += more);
    }

    /// A duration in ns that `percent` of all do not exceed (the nearest rank): the middle of its
    /// bucket. `None` if there is none.
    #[must_use]
    pub fn percentile(&self, percent: u64) -> Option<u64> {
        let count = u128::from(self.count());
        let rank = (count * u128::from(percent.min(100))).div_ceil(100).max(1);
        let mut seen = 0u128;
        for (bucket, count) in (0..).zip(&self.counts) {
            seen += u128::from(*count);
            if seen >= rank {
                let (low, high) = fine_range(bucket);
                // The largest value is a part of the last bucket.
                return Some((low + (high - low) / 2).clamp(self.min, self.max.max(self.min)));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_its_coarse_bucket() {
        let values = [0, 1, 2, 3, 4, 7, 8, 255, 256, i128::from(i64::MAX), i128::from(u64::MAX)];
        let negative = values.into_iter().map(|value| -value).filter(|value| *value >= i128::from(i64::MIN));
        for value in values.into_iter().chain(negative).chain([i128::from(i64::MIN)]) {
            let (low, high) = coarse_range(coarse(value));
            assert!((low..=high).contains(&value), "{value}: {low}..{high}");
        }
        assert_eq!((coarse(0), coarse(1), coarse(-1), coarse(-8)), (0, 1, 129, 132));
        assert_eq!((coarse_range(4), coarse_range(132)), ((8, 15), (-15, -8)));
    }

    #[test]
    fn fine_buckets_follow_each_other() {
        let mut next = 0u64;
        for bucket in 0..FINE {
            let (low, high) = fine_range(bucket);
            assert_eq!((low, fine(low), fine(high)), (next, bucket, bucket));
            assert!((high - low) * 8 <= low);
            next = high.wrapping_add(1);
        }
        assert_eq!((next, fine(u64::MAX)), (0, FINE - 1));
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let mut all = Durations { counts: vec![0; FINE as usize], min: u64::MAX, max: 0 };
        assert_eq!((all.count(), all.percentile(50)), (0, None));
        let values: Vec<u64> = (1..=1000).map(|n| n * n).collect();
        for value in &values {
            all.counts[fine(*value) as usize] += 1;
            (all.min, all.max) = (all.min.min(*value), all.max.max(*value));
        }
        assert_eq!((all.count(), all.min, all.max), (1000, 1, 1_000_000));
        for percent in [0, 1, 10, 50, 90, 99, 100] {
            let exact = values[(percent * 10).max(1) as usize - 1];
            let found = all.percentile(percent).unwrap();
            assert!(found.abs_diff(exact) * 16 <= exact, "{percent}: {found}, {exact}");
        }
        let one = Durations { counts: [vec![0; 40], vec![1]].concat(), min: 130, max: 130 };
        assert_eq!((one.percentile(1), one.percentile(99)), (Some(130), Some(130)));
        let mut sum = Durations::default();
        sum.add(&one);
        sum.add(&Durations::default());
        assert_eq!(sum, one);
        sum.add(&all);
        assert_eq!((sum.count(), sum.min, sum.max), (1001, 1, 1_000_000));
    }
}
