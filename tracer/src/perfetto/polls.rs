//! The polls of tasks of async runtimes as slices: each on the track of its thread and on that of its task, with
//! an arrow to the next poll of the task if that is in another thread.

use std::collections::HashMap;

use crate::hit::Hit;
use crate::open_polls::{OpenPoll, OpenPolls};

/// The polls so far.
#[derive(Debug, Default)]
pub(super) struct Polls {
    open: OpenPolls,
    /// The last one of each task, by the process. It is written when the next one has ended, because only that
    /// tells where the arrow leads.
    last: HashMap<(u32, u64), Poll>,
    /// The number of the last arrow.
    flow: u64,
    tally: PollTally,
}

/// What became of the hits of polls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PollTally {
    /// The slices.
    pub slices: u64,
    /// The begins without an end.
    pub begins: u64,
    /// The ends without a begin.
    pub ends: u64,
    /// The polls whose task is not known, which have a slice on the track of the thread only.
    pub unknown: u64,
}

/// A poll that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Poll {
    pub(super) process: u32,
    pub(super) thread: u32,
    /// `None` if it is not known.
    pub(super) task: Option<u64>,
    pub(super) begin: u64,
    pub(super) end: u64,
    /// Where it ends on the track of the task. The next one may begin elsewhere before the function has returned.
    pub(super) task_end: u64,
    /// The track of its thread that has room for it.
    pub(super) track: u64,
    /// The arrow that ends there.
    pub(super) from: Option<u64>,
    /// The arrow that begins there.
    pub(super) to: Option<u64>,
}

impl Polls {
    /// Takes the hit of a begin.
    pub(super) fn begin(&mut self, hit: &Hit<'_>) {
        self.open.begin(&hit.of_task());
    }

    /// Takes the hit of an end. Returns the poll that ended, which is on no track yet.
    pub(super) fn end(&mut self, hit: &Hit<'_>) -> Option<Poll> {
        let OpenPoll { task, begin, .. } = self.open.end(&hit.of_task())?;
        self.tally.slices += 1;
        self.tally.unknown += u64::from(task.is_none());
        let (process, thread, end) = (hit.process, hit.thread, hit.time.max(begin));
        Some(Poll { process, thread, task, begin, end, task_end: end, track: 0, from: None, to: None })
    }

    /// Keeps a poll that has ended until the next one of its task has ended. Returns the one that can be written.
    pub(super) fn keep(&mut self, mut poll: Poll) -> Option<Poll> {
        let Some(task) = poll.task else { return Some(poll) };
        let key = (poll.process, task);
        let Some(last) = self.last.get_mut(&key) else {
            self.last.insert(key, poll);
            return None;
        };
        if poll.begin < last.begin {
            // The thread was interrupted between the end of the poll and the return of the function.
            poll.task_end = poll.end.min(last.begin);
            return Some(poll);
        }
        last.task_end = last.end.min(poll.begin);
        if last.thread != poll.thread {
            self.flow += 1;
            (last.to, poll.from) = (Some(self.flow), Some(self.flow));
        }
        Some(std::mem::replace(last, poll))
    }

    /// The polls that were kept, in the order of their begins, and what became of all hits.
    pub(super) fn finish(mut self) -> (Vec<Poll>, PollTally) {
        (self.tally.begins, self.tally.ends) = (self.open.unended(), self.open.ends);
        let mut left: Vec<Poll> = self.last.into_values().collect();
        left.sort_by_key(|poll| (poll.begin, poll.process, poll.thread));
        (left, self.tally)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(task: u64, thread: u32, begin: u64, end: u64) -> Poll {
        Poll { process: 1, thread, task: Some(task), begin, end, task_end: end, track: 0, from: None, to: None }
    }

    #[test]
    fn an_arrow_leads_to_another_thread_only() {
        let mut polls = Polls::default();
        let added = [poll(7, 10, 0, 5), poll(8, 11, 1, 3), poll(7, 10, 6, 8), poll(7, 11, 9, 10)];
        let written: Vec<Option<Poll>> = added.map(|poll| polls.keep(poll)).into();
        let moved = Poll { to: Some(1), ..poll(7, 10, 6, 8) };
        assert_eq!(written, [None, None, Some(poll(7, 10, 0, 5)), Some(moved)]);
        let (left, _) = polls.finish();
        assert_eq!(left, [poll(8, 11, 1, 3), Poll { from: Some(1), ..poll(7, 11, 9, 10) }]);
    }

    #[test]
    fn polls_of_a_task_do_not_overlap_on_its_track() {
        let ends = |polls: [Poll; 2]| {
            let mut kept = Polls::default();
            let written = polls.map(|poll| kept.keep(poll)).into_iter().flatten().next();
            written.map(|poll| (poll.begin, poll.end, poll.task_end))
        };
        // The function returns after the next poll has begun in another thread, or even after that has ended.
        assert_eq!(ends([poll(7, 10, 0, 5), poll(7, 11, 4, 8)]), Some((0, 5, 4)));
        assert_eq!(ends([poll(7, 11, 4, 8), poll(7, 10, 2, 9)]), Some((2, 9, 4)));
    }
}
