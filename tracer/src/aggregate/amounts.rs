//! Sums of the values of an argument, and how they are distributed.

use std::collections::{BTreeMap, HashMap};

use super::key::bucket_of;
use crate::bytes::put;
use crate::histogram::{fine, fine_range};

/// In the number of the bucket of an amount: its values are negative. The other bits are those of the fine bucket of
/// the value without its sign.
pub const NEGATIVE_AMOUNT: u32 = 1 << 16;

/// The size in bytes of a value of `Map::Amounts`, whose key is that of `Map::Values` with 1 in place of the bucket if
/// the amounts are signed, or else 0.
///
/// | offset | size | what |
/// | ---: | ---: | --- |
/// | 0 | 8 | the sum of the lower halves of the amounts, 4 bytes each |
/// | 8 | 8 | the sum of the upper halves, each with the sign of its amount |
/// | 16 | 8 | the largest amount; if amounts are signed, with its sign bit inverted |
/// | 24 | 8 | the complement of the smallest amount, likewise |
pub const TOTAL_SIZE: u32 = 32;
/// The offset of the sum of the upper halves,
pub const TOTAL_UPPER: i16 = 8;
/// of the largest amount,
pub const TOTAL_LARGEST: i16 = 16;
/// and of the complement of the smallest.
pub const TOTAL_SMALLEST: i16 = 24;

/// What is known of amounts without their distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmountTotal {
    sum: i128,
    smallest: i128,
    largest: i128,
}

impl AmountTotal {
    /// That of one amount.
    #[must_use]
    pub fn of(amount: i128) -> Self {
        Self { sum: amount, smallest: amount, largest: amount }
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.sum = self.sum.saturating_add(other.sum);
        (self.smallest, self.largest) = (self.smallest.min(other.smallest), self.largest.max(other.largest));
    }

    /// A value of `Map::Amounts` and its key, without whether the amounts are signed. `None` if one is too short.
    #[must_use]
    pub(crate) fn of_entry(key: &[u8], value: &[u8]) -> Option<(Vec<u8>, Self)> {
        let (mut key, is_signed) = (key.to_vec(), bucket_of(key)? != 0);
        put(&mut key, 4, &[0; 4]);
        Some((key, Self::of_value(value, is_signed)?))
    }

    fn of_value(value: &[u8], is_signed: bool) -> Option<Self> {
        let word = |offset: i16| {
            let bytes = value.get(usize::try_from(offset).ok()?..)?.first_chunk()?;
            Some(u64::from_ne_bytes(*bytes))
        };
        let amount = |bits: u64| if is_signed { i128::from((bits ^ 1 << 63) as i64) } else { i128::from(bits) };
        let upper = word(TOTAL_UPPER)?;
        let upper = if is_signed { i128::from(upper as i64) } else { i128::from(upper) };
        Some(Self {
            sum: (upper << 32) + i128::from(word(0)?),
            largest: amount(word(TOTAL_LARGEST)?),
            smallest: amount(!word(TOTAL_SMALLEST)?),
        })
    }
}

/// The totals of groups and values, by their keys with 0 in place of the bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AmountTotals(HashMap<Vec<u8>, AmountTotal>);

impl AmountTotals {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The totals with their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &AmountTotal)> {
        self.0.iter().map(|(key, total)| (&key[..], total))
    }
}

impl Extend<(Vec<u8>, AmountTotal)> for AmountTotals {
    fn extend<T: IntoIterator<Item = (Vec<u8>, AmountTotal)>>(&mut self, totals: T) {
        for (key, total) in totals {
            self.0.entry(key).and_modify(|sum| sum.add(&total)).or_insert(total);
        }
    }
}

impl IntoIterator for AmountTotals {
    type Item = (Vec<u8>, AmountTotal);
    type IntoIter = std::collections::hash_map::IntoIter<Vec<u8>, AmountTotal>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// The bucket of an amount.
#[must_use]
pub fn amount_bucket(amount: i128) -> u32 {
    let bucket = fine(u64::try_from(amount.unsigned_abs()).unwrap_or(u64::MAX));
    if amount < 0 { bucket | NEGATIVE_AMOUNT } else { bucket }
}

/// The middle of the amounts of a bucket.
fn middle(bucket: u32) -> i128 {
    let (low, high) = fine_range(bucket & !NEGATIVE_AMOUNT);
    let middle = i128::from(low + (high - low) / 2);
    if bucket & NEGATIVE_AMOUNT == 0 { middle } else { -middle }
}

/// Amounts, of which there is at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Amounts {
    total: AmountTotal,
    /// How many are in a bucket, by the middle of the bucket.
    buckets: BTreeMap<i128, u64>,
}

impl Amounts {
    pub(super) fn new(total: AmountTotal, buckets: impl Iterator<Item = (u32, u64)>) -> Self {
        let mut amounts = Self { total, buckets: BTreeMap::new() };
        for (bucket, count) in buckets {
            let sum = amounts.buckets.entry(middle(bucket)).or_default();
            *sum = sum.saturating_add(count);
        }
        amounts
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.total.add(&other.total);
        for (middle, count) in &other.buckets {
            let sum = self.buckets.entry(*middle).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.values().sum()
    }

    /// Their sum. It is exact for up to 2^32 amounts.
    #[must_use]
    pub fn sum(&self) -> i128 {
        self.total.sum
    }

    /// Their average.
    #[must_use]
    pub fn average(&self) -> f64 {
        self.total.sum as f64 / self.count().max(1) as f64
    }

    /// The smallest and the largest.
    #[must_use]
    pub fn range(&self) -> (i128, i128) {
        (self.total.smallest, self.total.largest)
    }

    /// An amount that `percent` of all do not exceed (the nearest rank): the middle of its bucket, which is at most
    /// 1/16 away from it.
    #[must_use]
    pub fn percentile(&self, percent: u64) -> i128 {
        let rank = (u128::from(self.count()) * u128::from(percent.min(100))).div_ceil(100).max(1);
        let mut seen = 0u128;
        let reaches = |(_, count): &(&i128, &u64)| {
            seen += u128::from(**count);
            seen >= rank
        };
        let found = self.buckets.iter().find(reaches).map(|(middle, _)| *middle);
        let (smallest, largest) = self.range();
        found.unwrap_or(largest).clamp(smallest, largest.max(smallest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a total as BPF programs do.
    fn value_of(amounts: &[i128], is_signed: bool) -> Vec<u8> {
        let (mut lower, mut upper, mut largest, mut smallest) = (0u64, 0u64, 0u64, 0u64);
        for amount in amounts {
            let bits = *amount as u64;
            lower += bits & 0xffff_ffff;
            upper = upper.wrapping_add(if is_signed { (bits as i64 >> 32) as u64 } else { bits >> 32 });
            let ordered = if is_signed { bits ^ 1 << 63 } else { bits };
            (largest, smallest) = (largest.max(ordered), smallest.max(!ordered));
        }
        let mut value = vec![0; TOTAL_SIZE as usize];
        for (offset, word) in [
            (0, lower),
            (TOTAL_UPPER as usize, upper),
            (TOTAL_LARGEST as usize, largest),
            (TOTAL_SMALLEST as usize, smallest),
        ] {
            put(&mut value, offset, &word.to_ne_bytes());
        }
        value
    }

    #[test]
    fn totals_are_exact() {
        let signed = [i64::MIN.into(), i64::MIN.into(), -1, 0, 7, i64::MAX.into()];
        let total = AmountTotal::of_value(&value_of(&signed, true), true).unwrap();
        assert_eq!(total, AmountTotal { sum: signed.iter().sum(), smallest: signed[0], largest: signed[5] });
        let unsigned = [3, u64::MAX.into(), u64::MAX.into()];
        let total = AmountTotal::of_value(&value_of(&unsigned, false), false).unwrap();
        assert_eq!(total, AmountTotal { sum: unsigned.iter().sum(), smallest: 3, largest: u64::MAX.into() });
        assert_eq!(AmountTotal::of_value(&[0; 31], false), None);
    }

    #[test]
    fn percentiles_are_nearest_ranks_of_both_signs() {
        let all: Vec<i128> = (-500..500).map(|n| n * n * n).collect();
        let mut total = AmountTotal::of(all[0]);
        all[1..].iter().for_each(|amount| total.add(&AmountTotal::of(*amount)));
        let mut amounts = Amounts::new(total, all.iter().map(|amount| (amount_bucket(*amount), 1)));
        assert_eq!((amounts.count(), amounts.sum(), amounts.average()), (1000, -125_000_000, -125_000.0));
        assert_eq!(amounts.range(), (-125_000_000, 124_251_499));
        for percent in [1, 10, 49, 50, 51, 90, 99, 100] {
            let exact = all[percent * 10 - 1];
            let found = amounts.percentile(percent as u64);
            assert!(found.abs_diff(exact) * 16 <= exact.unsigned_abs(), "{percent}: {found}, {exact}");
        }
        amounts.add(&amounts.clone());
        assert_eq!((amounts.count(), amounts.sum()), (2000, -250_000_000));
    }
}
