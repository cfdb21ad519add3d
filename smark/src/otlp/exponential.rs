//! Buckets of smark as exponential histograms (specification of metrics, "ExponentialHistogram").
//!
//! The edges of both do not coincide: smark's are whole numbers of ns, those of OpenTelemetry powers of a base. All of a
//! fine bucket are counted where its middle is, with a scale at which no two of them come together. So all that smark knew is
//! still there, and a value is at most 1/16 of itself away from a place in the bucket that counts it.

use simple_markers_tracer::histogram::{Durations, NEGATIVE};

use super::message::{ExponentialBuckets, ExponentialPoint};

/// The scale of times: 32 buckets for each power of two, each 1.022 times as high as the one before.
const TIMES: i32 = 5;

/// The scale of values: a bucket for each power of two, as smark has them.
const POWERS: i32 = 0;

/// The index of the bucket of a positive value.
fn index(value: f64, scale: i32) -> i32 {
    let buckets = f64::from(scale).exp2();
    // Both are far below 2^31.
    (value.log2() * buckets).ceil() as i32 - 1
}

/// Buckets with these counts, by the index.
fn buckets(counts: &[(i32, u64)]) -> Option<ExponentialBuckets> {
    let (first, last) = (counts.iter().map(|(at, _)| *at).min()?, counts.iter().map(|(at, _)| *at).max()?);
    let mut all = ExponentialBuckets { offset: first, bucket_counts: vec![0; usize::try_from(last - first).ok()? + 1] };
    for (at, count) in counts {
        let at = usize::try_from(at - first).ok()?;
        all.bucket_counts.get_mut(at).into_iter().for_each(|sum| *sum += count);
    }
    Some(all)
}

/// How times are distributed, in seconds. `sum` is theirs.
pub(super) fn of_times(times: &Durations, sum: f64) -> ExponentialPoint {
    let (mut counts, mut zero_count) = (Vec::new(), 0);
    for (middle, count) in times.middles() {
        match middle {
            0 => zero_count += count,
            middle => counts.push((index(middle as f64 / 1e9, TIMES), count)),
        }
    }
    let is_some = times.count() > 0;
    let seconds = |ns: u64| is_some.then_some(ns as f64 / 1e9);
    ExponentialPoint {
        count: times.count(),
        sum: Some(sum),
        scale: TIMES,
        zero_count,
        positive: buckets(&counts),
        min: seconds(times.min),
        max: seconds(times.max),
        ..ExponentialPoint::default()
    }
}

/// How values are distributed. `powers` are coarse buckets. A value that is a power of two is the lower limit of its bucket,
/// which OpenTelemetry counts to the one before.
pub(super) fn of_powers(powers: &[(u32, u64)]) -> ExponentialPoint {
    let (mut positive, mut negative, mut zero_count) = (Vec::new(), Vec::new(), 0);
    for (bucket, count) in powers {
        let at = match bucket & !NEGATIVE {
            0 => {
                zero_count += count;
                continue;
            }
            // Only 1 is in it, which is the upper limit of a bucket.
            1 => -1,
            bits => i32::try_from(bits).unwrap_or(i32::MAX) - 1,
        };
        if bucket & NEGATIVE == 0 { positive.push((at, *count)) } else { negative.push((at, *count)) }
    }
    ExponentialPoint {
        count: powers.iter().map(|(_, count)| count).sum(),
        scale: POWERS,
        zero_count,
        positive: buckets(&positive),
        negative: buckets(&negative),
        ..ExponentialPoint::default()
    }
}

#[cfg(test)]
mod tests {
    use simple_markers_tracer::histogram::{FINE, coarse, fine, fine_range};

    use super::*;

    /// Above which value a bucket is, and up to which.
    fn bounds(index: i32, scale: i32) -> (f64, f64) {
        let base = f64::from(-scale).exp2().exp2();
        (base.powi(index), base.powi(index + 1))
    }

    /// The buckets that are not empty.
    fn filled(of: &Option<ExponentialBuckets>) -> Vec<(i32, u64)> {
        let Some(of) = of else { return Vec::new() };
        (of.offset..).zip(of.bucket_counts.iter().copied()).filter(|(_, count)| *count > 0).collect()
    }

    #[test]
    fn no_two_buckets_of_times_come_together() {
        // One in each bucket, but for that of 0.
        let times = Durations { counts: [vec![0], vec![1; FINE as usize - 1]].concat(), min: 1, max: u64::MAX };
        let point = of_times(&times, 1.0);
        let filled = filled(&point.positive);
        assert_eq!((filled.len(), point.count), (FINE as usize - 1, u64::from(FINE) - 1));
        for ((at, count), bucket) in filled.into_iter().zip(1..) {
            let ((above, to), (low, high)) = (bounds(at, TIMES), fine_range(bucket));
            assert_eq!(count, 1);
            // It has the middle, and each value is at most 1/16 away from a place in it.
            let middle = (low + (high - low) / 2) as f64 / 1e9;
            assert!(above < middle * 1.000_001 && middle <= to * 1.000_001, "{bucket}: {above} {middle} {to}");
            for value in [low, high].map(|ns| ns as f64 / 1e9) {
                assert!(
                    above <= value * (1.0 + 1.0 / 16.0) && to >= value * (1.0 - 1.0 / 16.0),
                    "{bucket}: {above} {value} {to}"
                );
            }
        }
    }

    #[test]
    fn times_keep_their_counts_and_limits() {
        let mut times = Durations::default();
        let values = [0, 0, 1, 7, 8, 999, 1_000_000, 1_000_001, 123_456_789_012];
        values.into_iter().for_each(|ns| times.count_one(ns));
        let point = of_times(&times, 123.5);
        let counted: u64 = filled(&point.positive).iter().map(|(_, count)| count).sum();
        assert_eq!((point.count, point.zero_count, counted), (9, 2, 7));
        assert_eq!((point.min, point.max, point.sum), (Some(0.0), Some(123.456_789_012), Some(123.5)));
        assert_eq!(point.negative, None);
        let one_ms = index(1e-3, TIMES);
        let bucket = fine_range(fine(1_000_000));
        let (above, to) = bounds(one_ms, TIMES);
        assert!(above < 1e-3 && 1e-3 <= to * 1.000_001 && (bucket.0..=bucket.1).contains(&1_000_000));
        let none = of_times(&Durations::default(), 0.0);
        assert_eq!((none.count, none.min, none.max, none.positive), (0, None, None, None));
    }

    #[test]
    fn powers_keep_their_counts() {
        let values = [0i128, 1, 1, 2, 3, 4, 7, 8, 1 << 40, -1, -5, i128::from(u64::MAX)];
        let mut powers = std::collections::BTreeMap::new();
        values.into_iter().for_each(|value| *powers.entry(coarse(value)).or_insert(0u64) += 1);
        let point = of_powers(&powers.into_iter().collect::<Vec<_>>());
        assert_eq!((point.count, point.zero_count, point.sum, point.min), (12, 1, None, None));
        assert_eq!(filled(&point.positive), [(-1, 2), (1, 2), (2, 2), (3, 1), (40, 1), (63, 1)]);
        assert_eq!(filled(&point.negative), [(-1, 1), (2, 1)]);
        for value in [1.0f64, 3.0, 7.0, 4.5, 1e12] {
            let (above, to) = bounds(index(value, POWERS), POWERS);
            assert!(above < value && value <= to, "{value}: {above} {to}");
        }
    }
}
