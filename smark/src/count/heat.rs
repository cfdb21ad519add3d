//! `--heat`: how long intervals took over time.

use serde_json::{Value as Json, json};
use simple_markers_tracer::histogram::{Durations, coarse, coarse_range, fine_range};

use crate::units::duration;

/// The most columns.
const COLUMNS: usize = 64;
/// The time of a column at first, in ns. It is doubled when there are too many columns.
const FIRST: u64 = 100_000_000;
/// A sign for no interval, and for more and more of them.
const SHADES: &[u8; 10] = b" .:-=+*#%@";

/// How many intervals ended in each column of time, by powers of two of how long they took.
#[derive(Clone, Debug)]
pub(crate) struct HeatMap {
    /// When the first column begins, in ns.
    start: u64,
    /// The time of a column, in ns.
    column: u64,
    /// The counts of each column by the coarse bucket.
    columns: Vec<Vec<u64>>,
    /// The counts that are in columns, by the fine bucket.
    seen: Vec<u64>,
    /// When the column that is not complete begins.
    last: u64,
}

impl HeatMap {
    /// Without intervals. The first column begins at this time.
    pub(crate) fn new(start: u64) -> Self {
        Self { start, column: FIRST, columns: Vec::new(), seen: Vec::new(), last: start }
    }

    /// The same with columns that are this much shorter at first. A divisor that is a power of two leads to the same columns
    /// if there are many.
    pub(crate) fn finer(self, divisor: u64) -> Self {
        Self { column: (self.column / divisor.max(1)).max(1), ..self }
    }

    /// When the column ends that is not complete.
    pub(crate) fn due(&self) -> u64 {
        self.last.saturating_add(self.column)
    }

    /// Adds the intervals that ended since the last call, up to this time. `durations` has all until now.
    pub(crate) fn add(&mut self, time: u64, durations: &Durations) {
        let now = usize::try_from(time.saturating_sub(self.start) / self.column).unwrap_or(usize::MAX);
        let number = usize::try_from((self.last - self.start) / self.column).unwrap_or(usize::MAX);
        self.columns.resize(self.columns.len().max(number.saturating_add(1)), Vec::new());
        self.seen.resize(self.seen.len().max(durations.counts.len()), 0);
        for (bucket, (seen, count)) in (0..).zip(self.seen.iter_mut().zip(&durations.counts)) {
            let more = count.saturating_sub(*seen);
            if more > 0 {
                *seen = *count;
                let row = coarse(fine_range(bucket).0.into()) as usize;
                if let Some(column) = self.columns.get_mut(number) {
                    column.resize(column.len().max(row + 1), 0);
                    column.iter_mut().skip(row).take(1).for_each(|count| *count += more);
                }
            }
        }
        self.last = self.start + (now as u64).saturating_mul(self.column);
        while (self.last - self.start) / self.column >= COLUMNS as u64 {
            self.double();
        }
    }

    /// Makes one column of two.
    fn double(&mut self) {
        self.column = self.column.saturating_mul(2);
        let pairs = self.columns.chunks(2).map(|pair| {
            let mut sum = vec![0; pair.iter().map(Vec::len).max().unwrap_or(0)];
            pair.iter().for_each(|column| sum.iter_mut().zip(column).for_each(|(sum, more)| *sum += more));
            sum
        });
        self.columns = pairs.collect();
        self.last = self.start + (self.last - self.start) / self.column * self.column;
    }

    /// The powers of two from the shortest interval to the longest, each with its smallest and largest time, and the
    /// counts of all columns.
    fn rows(&self) -> Vec<(u64, u64, Vec<u64>)> {
        let count = |column: &Vec<u64>, row: usize| column.get(row).copied().unwrap_or(0);
        let is_some = |row: &usize| self.columns.iter().any(|column| count(column, *row) > 0);
        let most = self.columns.iter().map(Vec::len).max().unwrap_or(0);
        let Some(first) = (0..most).find(is_some) else { return Vec::new() };
        let last = (0..most).rfind(is_some).unwrap_or(first);
        let row = |row: usize| {
            let (low, high) = coarse_range(row as u32);
            let counts = self.columns.iter().map(|column| count(column, row)).collect();
            (u64::try_from(low).unwrap_or(0), u64::try_from(high).unwrap_or(u64::MAX), counts)
        };
        (first..=last).map(row).collect()
    }

    /// Appends the map: time goes to the right, how long intervals took goes up.
    pub(super) fn write(&self, out: &mut String) {
        let rows = self.rows();
        let most = rows.iter().flat_map(|(.., counts)| counts).copied().max().unwrap_or(0);
        if most == 0 {
            return;
        }
        let labels: Vec<String> = rows.iter().map(|(low, ..)| duration(*low)).collect();
        let width = labels.iter().map(String::len).max().unwrap_or(0);
        for ((.., counts), label) in rows.iter().zip(&labels).rev() {
            let line: String = counts.iter().map(|count| shade(*count, most)).collect();
            out.push_str(&format!("{label:>width$} |{line}|\n"));
        }
        let (columns, all) = (self.columns.len(), duration(self.columns.len() as u64 * self.column));
        let of = duration(self.column);
        out.push_str(&format!("{:width$}  0 s{all:>1$}\n", "", columns.saturating_sub(3)));
        out.push_str(&format!("{:width$}  {columns} columns of {of}; @ is {most} times in one\n", ""));
    }

    pub(super) fn json(&self) -> Json {
        let rows = self.rows().into_iter().map(|(low, high, counts)| json!([low, high, counts]));
        json!({ "column": self.column, "rows": rows.collect::<Vec<_>>() })
    }
}

/// The sign for a count, on a logarithmic scale.
fn shade(count: u64, most: u64) -> char {
    let level = match (count, most) {
        (0, _) => 0,
        (count, most) if count >= most => SHADES.len() - 1,
        (count, most) => {
            let share = (count as f64).ln() / (most as f64).ln();
            1 + (share * (SHADES.len() - 2) as f64) as usize
        }
    };
    SHADES.get(level).copied().map_or('@', char::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn durations(all: &[(u64, u64)]) -> Durations {
        let mut durations = Durations::default();
        all.iter().for_each(|(time, count)| (0..*count).for_each(|_| durations.count_one(*time)));
        durations
    }

    #[test]
    fn intervals_are_in_the_column_in_which_they_ended() {
        let mut map = HeatMap::new(1_000);
        assert_eq!(map.due(), 1_000 + FIRST);
        map.add(map.due(), &durations(&[(5_000, 3)]));
        // Nothing ends in the next three columns.
        map.add(map.due() + 2 * FIRST, &durations(&[(5_000, 3)]));
        map.add(map.due(), &durations(&[(5_000, 4), (600, 100)]));
        let mut text = String::new();
        map.write(&mut text);
        let lines = ["4.10 us |:   .|", "2.05 us |     |", "1.02 us |     |", " 512 ns |    @|"];
        assert_eq!(text.lines().take(4).collect::<Vec<_>>(), lines, "{text}");
        assert!(text.contains("5 columns of 100 ms; @ is 100 times in one"), "{text}");
        assert_eq!(map.json()["rows"][0], json!([512, 1023, [0, 0, 0, 0, 100]]));
    }

    #[test]
    fn columns_become_longer() {
        let mut map = HeatMap::new(0);
        for second in 1..=100 {
            map.add(second * 1_000_000_000, &durations(&[(10, second)]));
        }
        assert_eq!(map.column, 16 * FIRST);
        let rows = map.rows();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].2.iter().sum::<u64>(), 100);
        assert_eq!(rows[0].2.len(), 62);
    }
}
