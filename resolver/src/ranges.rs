//! Finds the range that contains an address among many overlapping ranges, and whether one does. A
//! lookup always takes logarithmic time.

use std::collections::BTreeSet;
use std::ops::Range;

/// A set of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Region {
    /// Not empty, ascending, with addresses between them.
    ranges: Vec<Range<u64>>,
}

impl Region {
    /// The addresses in any of the ranges.
    pub(crate) fn new(ranges: &[Range<u64>]) -> Self {
        let mut sorted: Vec<Range<u64>> = ranges.iter().filter(|range| !range.is_empty()).cloned().collect();
        sorted.sort_unstable_by_key(|range| range.start);
        let mut ranges: Vec<Range<u64>> = Vec::with_capacity(sorted.len());
        for range in sorted {
            match ranges.last_mut().filter(|last| range.start <= last.end) {
                Some(last) => last.end = last.end.max(range.end),
                None => ranges.push(range),
            }
        }
        Self { ranges }
    }

    pub(crate) fn contains(&self, address: u64) -> bool {
        let after = self.ranges.partition_point(|range| range.start <= address);
        after.checked_sub(1).and_then(|last| self.ranges.get(last)).is_some_and(|last| address < last.end)
    }

    /// The ranges, ascending. They do not touch each other.
    pub(crate) fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }
}

/// A map from address ranges to values.
#[derive(Debug)]
pub(crate) struct RangeMap<T> {
    /// The addresses at which the value changes, with the new value, in ascending order.
    changes: Vec<(u64, Option<T>)>,
}

impl<T: Copy> RangeMap<T> {
    /// Builds a map of `ranges`. If several ranges contain an address, the one with the greatest
    /// key wins. Empty ranges contain nothing.
    pub(crate) fn new<K: Ord + Copy>(ranges: &[(Range<u64>, K, T)]) -> Self {
        if let Some(changes) = apart(ranges) {
            return Self { changes };
        }
        let mut ends = Vec::with_capacity(ranges.len().saturating_mul(2));
        for (index, (range, key, _)) in ranges.iter().enumerate().filter(|(_, (range, _, _))| !range.is_empty()) {
            ends.push((range.start, true, *key, index));
            ends.push((range.end, false, *key, index));
        }
        ends.sort_unstable();
        let mut holding = BTreeSet::new();
        let mut changes: Vec<(u64, Option<T>)> = Vec::new();
        for (address, starts, key, index) in ends {
            if starts {
                holding.insert((key, index));
            } else {
                holding.remove(&(key, index));
            }
            let value = holding.last().and_then(|&(_, index)| ranges.get(index)).map(|&(_, _, value)| value);
            match changes.last_mut() {
                Some(last) if last.0 == address => last.1 = value,
                _ => changes.push((address, value)),
            }
        }
        Self { changes }
    }

    /// The value at `address`.
    pub(crate) fn get(&self, address: u64) -> Option<T> {
        let after = self.changes.partition_point(|&(start, _)| start <= address);
        self.changes.get(after.checked_sub(1)?)?.1
    }

    /// Each address at which a value begins, with the value, in ascending order.
    pub(crate) fn starts(&self) -> impl Iterator<Item = (u64, T)> {
        self.changes.iter().filter_map(|&(start, value)| Some((start, value?)))
    }
}

/// The changes for ranges that do not overlap, which is the usual case. `None` if any two ranges
/// overlap.
fn apart<K, T: Copy>(ranges: &[(Range<u64>, K, T)]) -> Option<Vec<(u64, Option<T>)>> {
    let mut sorted: Vec<_> = ranges.iter().filter(|(range, _, _)| !range.is_empty()).collect();
    sorted.sort_unstable_by_key(|(range, _, _)| range.start);
    let mut changes: Vec<(u64, Option<T>)> = Vec::with_capacity(sorted.len().saturating_mul(2));
    for (range, _, value) in sorted {
        match changes.last() {
            Some(&(end, _)) if end > range.start => return None,
            Some(&(end, _)) if end == range.start => {
                changes.pop();
            }
            _ => {}
        }
        changes.extend([(range.start, Some(*value)), (range.end, None)]);
    }
    Some(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_has_the_addresses_of_its_ranges() {
        let backwards = Range { start: 40, end: 35 };
        let region = Region::new(&[20..30, 5..5, backwards, 10..12, 25..28, 30..31, 11..15]);
        assert_eq!(region.ranges(), [10..15, 20..31]);
        let inside: Vec<u64> = (0..50).filter(|&at| region.contains(at)).collect();
        assert_eq!(inside, (10..15).chain(20..31).collect::<Vec<_>>());
        let all = Region::new(&[7..9, 0..u64::MAX]);
        assert!(all.contains(0) && all.contains(8) && !all.contains(u64::MAX));
        assert_eq!((all.ranges().len(), Region::new(&[]).contains(0)), (1, false));
    }

    #[test]
    fn the_greatest_key_that_holds_the_address_counts() {
        let map =
            RangeMap::new(&[(10..30, 1, 'a'), (15..20, 2, 'b'), (20..20, 9, 'x'), (28..40, 0, 'c'), (50..60, 0, 'd')]);
        let at = |address| map.get(address);
        assert_eq!([at(9), at(10), at(15), at(19)], [None, Some('a'), Some('b'), Some('b')]);
        assert_eq!([at(20), at(29), at(30), at(39)], [Some('a'), Some('a'), Some('c'), Some('c')]);
        assert_eq!([at(40), at(50), at(60), at(u64::MAX)], [None, Some('d'), None, None]);
        let apart = RangeMap::new(&[(20..30, 0, 'b'), (10..20, 1, 'a'), (40..50, 0, 'c'), (30..30, 9, 'x')]);
        assert_eq!(
            [9, 10, 19, 20, 29, 30, 40, 50].map(|at| apart.get(at)),
            [None, Some('a'), Some('a'), Some('b'), Some('b'), None, Some('c'), None]
        );
        assert_eq!(RangeMap::<()>::new::<u8>(&[]).get(0), None);
    }
}
