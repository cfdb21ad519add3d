//! What is kept of any number of hits in bounded memory.

use std::cmp::Reverse;

/// Every n-th item, the first one included, with an n that doubles when there are too many.
#[derive(Debug)]
pub(crate) struct EvenSample<T> {
    most: usize,
    every: u64,
    seen: u64,
    kept: Vec<T>,
}

impl<T> EvenSample<T> {
    /// At most so many are kept; at least 2.
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(2), every: 1, seen: 0, kept: Vec::new() }
    }

    /// Takes an item, which is made if it is kept.
    pub(crate) fn add(&mut self, item: impl FnOnce() -> T) {
        if self.seen % self.every == 0 {
            if self.kept.len() >= self.most {
                self.thin();
            }
            if self.seen % self.every == 0 {
                self.kept.push(item());
            }
        }
        self.seen += 1;
    }

    /// Keeps every second one.
    pub(crate) fn thin(&mut self) {
        let mut is_odd = true;
        self.kept.retain(|_| {
            is_odd = !is_odd;
            !is_odd
        });
        self.every *= 2;
    }

    /// Of how many one is kept.
    pub(crate) fn every(&self) -> u64 {
        self.every
    }

    /// How many there were.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    pub(crate) fn kept(&self) -> &[T] {
        &self.kept
    }
}

/// A slice of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PageSlice {
    /// When it begins, in ns since the start of the recording.
    pub(crate) begin: u64,
    /// When it ends.
    pub(crate) end: u64,
    /// The number of the pair.
    pub(crate) pair: usize,
    /// The number of its track.
    pub(crate) track: usize,
    /// The number of the hit that begins it; `None` if it is not among the wanted hits.
    pub(crate) first: Option<u64>,
    /// The number of the hit that ends it.
    pub(crate) last: Option<u64>,
}

impl PageSlice {
    /// How long it takes, in ns.
    pub(crate) fn took(&self) -> u64 {
        self.end - self.begin
    }
}

/// The longest slices.
#[derive(Debug)]
pub(crate) struct LongestSlices {
    most: usize,
    seen: u64,
    kept: Vec<PageSlice>,
}

impl LongestSlices {
    /// At most so many are kept.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, seen: 0, kept: Vec::new() }
    }

    pub(crate) fn add(&mut self, slice: PageSlice) {
        self.seen += 1;
        self.kept.push(slice);
        if self.kept.len() >= self.most.saturating_mul(2) {
            self.cut();
        }
    }

    /// Leaves out the shortest ones.
    fn cut(&mut self) {
        if self.kept.len() > self.most {
            self.kept.select_nth_unstable_by_key(self.most, |slice| (Reverse(slice.took()), *slice));
            self.kept.truncate(self.most);
        }
    }

    /// How many there were.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// The longest ones, the longest first.
    pub(crate) fn into_longest(mut self) -> Vec<PageSlice> {
        self.cut();
        self.kept.sort_unstable_by_key(|slice| (Reverse(slice.took()), *slice));
        self.kept
    }
}

/// How many hits there are in each of some bins of time. The bins double their width when there are too many.
#[derive(Debug)]
pub(crate) struct RateBins {
    most: usize,
    /// The width of a bin in ns.
    width: u64,
    /// The counts of each series by the bin.
    series: Vec<Vec<u64>>,
}

impl RateBins {
    /// At most so many bins, of at least this many ns.
    pub(crate) fn new(series: usize, most: usize, width: u64) -> Self {
        Self { most: most.max(1), width: width.max(1), series: vec![Vec::new(); series] }
    }

    /// Counts a hit, in ns since the first bin begins.
    pub(crate) fn add(&mut self, series: usize, time: u64) {
        while time / self.width >= self.most as u64 {
            self.double();
        }
        let Ok(bin) = usize::try_from(time / self.width) else { return };
        let Some(counts) = self.series.get_mut(series) else { return };
        counts.resize(counts.len().max(bin + 1), 0);
        counts.iter_mut().skip(bin).take(1).for_each(|count| *count += 1);
    }

    fn double(&mut self) {
        self.width = self.width.saturating_mul(2);
        for counts in &mut self.series {
            *counts = counts.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
    }

    /// The width of a bin in ns.
    pub(crate) fn width(&self) -> u64 {
        self.width
    }

    /// How many bins there are.
    pub(crate) fn bins(&self) -> usize {
        self.series.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// The counts of a series, which may end before the last bin.
    pub(crate) fn counts(&self, series: usize) -> &[u64] {
        self.series.get(series).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_even() {
        let mut sample = EvenSample::new(4);
        (0..5u64).for_each(|item| sample.add(|| item));
        assert_eq!((sample.kept(), sample.every()), (&[0, 2, 4][..], 2));
        (5..100u64).for_each(|item| sample.add(|| item));
        assert_eq!((sample.kept(), sample.every(), sample.seen()), (&[0, 32, 64, 96][..], 32, 100));
    }

    #[test]
    fn the_longest_are_kept() {
        let mut longest = LongestSlices::new(3);
        let slice = |begin: u64, took: u64| PageSlice {
            begin,
            end: begin + took,
            pair: 0,
            track: 0,
            first: Some(begin),
            last: None,
        };
        (0..1000u64).for_each(|time| longest.add(slice(time, time * 7919 % 1009)));
        let expected = {
            let mut all: Vec<u64> = (0..1000u64).map(|time| time * 7919 % 1009).collect();
            all.sort_unstable();
            all.into_iter().rev().take(3).collect::<Vec<_>>()
        };
        assert_eq!(longest.seen(), 1000);
        assert_eq!(longest.into_longest().iter().map(PageSlice::took).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn bins_double_and_lose_nothing() {
        let mut bins = RateBins::new(2, 4, 10);
        [0, 9, 10, 39].into_iter().for_each(|time| bins.add(0, time));
        assert_eq!((bins.counts(0), bins.width()), (&[2, 1, 0, 1][..], 10));
        bins.add(1, 159);
        assert_eq!((bins.counts(0), bins.counts(1), bins.width()), (&[4][..], &[0, 0, 0, 1][..], 40));
        assert_eq!(bins.bins(), 4);
    }
}
