//! What each cell of the timeline has.

use super::index::RecordingIndex;
use super::range::TimeRange;

/// A part of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TimelineCell {
    /// How many hits.
    pub(super) hits: u32,
    /// Whether a bar covers a part of it.
    pub(super) has_bar: bool,
}

/// The cells of some rows, from the left to the right. `shown` are the numbers of the hits that are shown; `None` means
/// all of them.
pub(super) fn cells(
    index: &RecordingIndex,
    shown: Option<&[u32]>,
    tracks: &[u32],
    range: TimeRange,
    columns: usize,
) -> Vec<Vec<TimelineCell>> {
    let mut rows = vec![vec![TimelineCell::default(); columns]; tracks.len()];
    let most = tracks.iter().max().and_then(|track| usize::try_from(*track).ok()).map_or(0, |track| track + 1);
    let mut row_of = vec![usize::MAX; most];
    for (row, track) in tracks.iter().enumerate() {
        let of = usize::try_from(*track).ok().and_then(|track| row_of.get_mut(track));
        of.into_iter().for_each(|of| *of = row);
    }
    let row = |track: u32| usize::try_from(track).ok().and_then(|track| row_of.get(track)).copied();
    for bar in index.bars.iter().filter(|bar| bar.end >= range.begin && bar.begin <= range.end) {
        let Some(cells) = row(bar.track).and_then(|row| rows.get_mut(row)) else { continue };
        let first = range.column(bar.begin.max(range.begin), columns);
        let last = range.column(bar.end.min(range.end), columns);
        let (Some(first), Some(last)) = (first, last) else { continue };
        cells.iter_mut().take(last + 1).skip(first).for_each(|cell| cell.has_bar = true);
    }
    let mut add = |number: usize| {
        let Some(column) = index.times.get(number).and_then(|time| range.column(*time, columns)) else { return };
        let cells = row(index.track(number)).and_then(|row| rows.get_mut(row));
        if let Some(cell) = cells.and_then(|cells| cells.get_mut(column)) {
            cell.hits = cell.hits.saturating_add(1);
        }
    };
    match shown {
        None => (0..index.len()).for_each(&mut add),
        Some(shown) => shown.iter().filter_map(|number| usize::try_from(*number).ok()).for_each(add),
    }
    rows
}

impl TimelineCell {
    /// The mark of the cell.
    pub(super) fn mark(self) -> char {
        match (self.hits, self.has_bar) {
            (0, false) => ' ',
            (0, true) => '─',
            (1, false) => '·',
            (2..10, false) => '•',
            (_, false) => '●',
            (1, true) => '┴',
            (2..10, true) => '┼',
            (_, true) => '╪',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::index::TimelineBar;
    use super::*;

    fn index() -> RecordingIndex {
        RecordingIndex {
            times: vec![0, 10, 11, 12, 99],
            threads: vec![0, 1, 1, 1, 0],
            bars: vec![TimelineBar { begin: 5, end: 35, track: 1 }],
            ..RecordingIndex::default()
        }
    }

    fn text(rows: &[Vec<TimelineCell>]) -> Vec<String> {
        rows.iter().map(|row| row.iter().map(|cell| cell.mark()).collect()).collect()
    }

    #[test]
    fn hits_and_bars_are_in_their_cells() {
        let (index, all) = (index(), TimeRange::new(0, 100));
        assert_eq!(text(&cells(&index, None, &[0, 1], all, 10)), ["·        ·", "─┼──      "]);
        assert_eq!(text(&cells(&index, Some(&[2]), &[1], all, 10)), ["─┴──      "]);
        // A part: the bar goes beyond it.
        assert_eq!(text(&cells(&index, None, &[1], TimeRange::new(10, 20), 5)), ["┼┴───"]);
        assert_eq!(text(&cells(&index, None, &[], all, 10)), <[&str; 0]>::default());
        assert_eq!(text(&cells(&index, None, &[7], all, 3)), ["   "]);
    }
}
