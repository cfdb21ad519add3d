//! The part of the recording's time that the timeline shows.

/// From one time to another, both in ns since the start of the recording. The end is later than the begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeRange {
    pub(super) begin: u64,
    pub(super) end: u64,
}

impl Default for TimeRange {
    fn default() -> Self {
        Self::new(0, 0)
    }
}

impl TimeRange {
    /// At least one ns.
    pub(super) fn new(begin: u64, end: u64) -> Self {
        let begin = begin.min(u64::MAX - 1);
        Self { begin, end: end.max(begin + 1) }
    }

    /// How long it is in ns.
    pub(super) fn length(self) -> u64 {
        self.end - self.begin
    }

    pub(super) fn has(self, time: u64) -> bool {
        (self.begin..=self.end).contains(&time)
    }

    /// Half of it, or twice as much, around a time, which keeps its column. Not more than `whole`.
    pub(super) fn zoom(self, is_in: bool, around: u64, whole: Self) -> Self {
        let around = around.clamp(self.begin, self.end);
        let (before, after) = (around - self.begin, self.end - around);
        match is_in {
            true => Self::new(around - before / 2, around.saturating_add(after / 2)),
            false => Self::new(
                around.saturating_sub(before.saturating_mul(2)),
                around.saturating_add(after.saturating_mul(2)),
            )
            .inside(whole),
        }
    }

    /// A quarter of its length earlier or later.
    pub(super) fn pan(self, is_later: bool, whole: Self) -> Self {
        let step = (self.length() / 4).max(1);
        let moved = match is_later {
            true => self.moved_to(self.begin.saturating_add(step)),
            false => self.moved_to(self.begin.saturating_sub(step)),
        };
        moved.inside(whole)
    }

    /// The same length around a time, unless that is in it already.
    pub(super) fn showing(self, time: u64, whole: Self) -> Self {
        if self.has(time) {
            return self;
        }
        self.moved_to(time.saturating_sub(self.length() / 2)).inside(whole)
    }

    fn moved_to(self, begin: u64) -> Self {
        Self::new(begin, begin.saturating_add(self.length()))
    }

    /// The same length inside of `whole`, or all of it.
    fn inside(self, whole: Self) -> Self {
        if self.length() >= whole.length() {
            return whole;
        }
        let begin = self.begin.clamp(whole.begin, whole.end.saturating_sub(self.length()));
        self.moved_to(begin)
    }

    /// The column of a time among so many; `None` if it is outside.
    pub(super) fn column(self, time: u64, columns: usize) -> Option<usize> {
        if !self.has(time) || columns == 0 {
            return None;
        }
        // Both factors have at most 64 bits.
        let at = u128::from(time - self.begin) * columns as u128 / u128::from(self.length());
        Some(usize::try_from(at).unwrap_or(usize::MAX).min(columns - 1))
    }

    /// The time at which a column begins.
    pub(super) fn time(self, column: usize, columns: usize) -> u64 {
        let at = u128::from(self.length()) * column as u128 / columns.max(1) as u128;
        self.begin.saturating_add(u64::try_from(at).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zooming_keeps_the_column_of_a_time() {
        let whole = TimeRange::new(0, 1000);
        let near = whole.zoom(true, 400, whole);
        assert_eq!(near, TimeRange::new(200, 700));
        assert_eq!((whole.column(400, 10), near.column(400, 10)), (Some(4), Some(4)));
        assert_eq!(near.zoom(false, 400, whole), whole);
        assert_eq!(near.zoom(false, 400, whole).zoom(false, 0, whole), whole);
        let mut least = whole;
        for _ in 0..100 {
            least = least.zoom(true, 999, whole);
        }
        assert_eq!(least.length(), 1);
        assert!(least.has(999), "{least:?}");
    }

    #[test]
    fn panning_stays_inside() {
        let whole = TimeRange::new(100, 1100);
        let part = TimeRange::new(100, 300);
        assert_eq!(part.pan(true, whole), TimeRange::new(150, 350));
        assert_eq!(part.pan(false, whole), part);
        assert_eq!(TimeRange::new(890, 1090).pan(true, whole), TimeRange::new(900, 1100));
        assert_eq!(part.showing(700, whole), TimeRange::new(600, 800));
        assert_eq!(part.showing(1100, whole), TimeRange::new(900, 1100));
        assert_eq!(part.showing(200, whole), part);
    }

    #[test]
    fn columns_are_inside_for_all_times() {
        let all = TimeRange::new(0, u64::MAX);
        assert_eq!((all.column(0, 80), all.column(u64::MAX, 80)), (Some(0), Some(79)));
        assert_eq!((all.column(5, 0), TimeRange::new(3, 4).column(2, 8)), (None, None));
        let range = TimeRange::new(10, 20);
        assert_eq!((range.column(15, 10), range.time(5, 10), range.time(10, 10)), (Some(5), 15, 20));
    }
}
