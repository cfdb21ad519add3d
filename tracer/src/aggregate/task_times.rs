//! What the tasks of async runtimes did: they were polled, they were woken and waited for a thread, or they waited for
//! something else. The hits of polls and wakes in a recording tell it.
//!
//! No task is polled that was not woken. So a task that is polled again without a call that wakes it was woken while
//! it was polled, and waits for a thread from the end of that poll on.

use std::collections::HashMap;

use simple_markers_resolver::marks::TaskPoint;

use crate::open_polls::{OpenPolls, TaskHit};

/// How long a task was polled, waited for a thread, and waited for something else, in ns.
pub(super) type TaskTimes = [u64; 3];

/// What the tasks did until now.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskClocks {
    polls: OpenPolls,
    /// By the process and the number of the task.
    clocks: HashMap<(u32, u64), TaskClock>,
}

/// What a task did since its first poll.
#[derive(Clone, Copy, Debug)]
struct TaskClock {
    state: TaskState,
    /// The time of the last change in ns.
    since: u64,
    times: TaskTimes,
}

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskState {
    /// A thread polls it.
    Polled {
        /// The thread.
        by: u32,
        /// Whether it was woken meanwhile.
        is_woken: bool,
    },
    /// It was woken, and waits for a thread.
    Scheduled,
    /// It is not polled, and no wake was seen so far.
    Idle,
}

impl TaskClock {
    /// Adds the time since the last change to a part.
    fn add(&mut self, part: usize, now: u64, state: TaskState) {
        if let Some(sum) = self.times.get_mut(part) {
            *sum = sum.saturating_add(now.saturating_sub(self.since));
        }
        (self.since, self.state) = (now.max(self.since), state);
    }

    /// The task is polled by a thread from now on.
    fn begin(&mut self, by: u32, now: u64) {
        let part = match self.state {
            // The function that polled it in another thread has not returned yet.
            TaskState::Polled { .. } => POLLED,
            TaskState::Scheduled | TaskState::Idle => SCHEDULED,
        };
        self.add(part, now, TaskState::Polled { by, is_woken: false });
    }

    /// The function that polls it returns in a thread.
    fn end(&mut self, thread: u32, now: u64) {
        match self.state {
            TaskState::Polled { by, is_woken } if by == thread => {
                self.add(POLLED, now, if is_woken { TaskState::Scheduled } else { TaskState::Idle });
            }
            // Another thread polls it already.
            _ => {}
        }
    }

    fn wake(&mut self, now: u64) {
        match self.state {
            TaskState::Polled { by, .. } => self.state = TaskState::Polled { by, is_woken: true },
            TaskState::Scheduled => {}
            TaskState::Idle => self.add(WAITING, now, TaskState::Scheduled),
        }
    }

    /// What the task did until now; `None` if it is not polled, so that it is not known yet for what it waits.
    fn times(mut self, now: u64) -> Option<TaskTimes> {
        let state @ TaskState::Polled { .. } = self.state else { return None };
        self.add(POLLED, now, state);
        Some(self.times)
    }
}

const POLLED: usize = 0;
const SCHEDULED: usize = 1;
const WAITING: usize = 2;

impl TaskClocks {
    /// Takes the hit of a poll or a wake.
    pub(super) fn add(&mut self, what: TaskPoint, hit: &TaskHit) {
        let (process, thread, now) = (hit.process, hit.thread, hit.time);
        match what {
            TaskPoint::PollBegin => {
                self.polls.begin(hit);
                let Some(task) = hit.task else { return };
                let new = TaskClock { state: TaskState::Idle, since: now, times: TaskTimes::default() };
                self.clocks.entry((process, task)).or_insert(new).begin(thread, now);
            }
            TaskPoint::PollEnd => {
                let task = self.polls.end(hit).and_then(|poll| poll.task);
                let clock = task.and_then(|task| self.clocks.get_mut(&(process, task)));
                clock.into_iter().for_each(|clock| clock.end(thread, now));
            }
            TaskPoint::Wake => {
                let clock = hit.task.and_then(|task| self.clocks.get_mut(&(process, task)));
                clock.into_iter().for_each(|clock| clock.wake(now));
            }
        }
    }

    /// What a task did from its first poll until now; `None` if it is not known.
    pub(super) fn times(&self, process: u32, task: u64, now: u64) -> Option<TaskTimes> {
        self.clocks.get(&(process, task))?.times(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> TaskClock {
        let mut clock = TaskClock { state: TaskState::Idle, since: 100, times: TaskTimes::default() };
        clock.begin(1, 100);
        clock
    }

    #[test]
    fn a_wake_ends_the_wait_for_something_else() {
        let mut clock = clock();
        clock.end(1, 110);
        assert_eq!(clock.times(115), None);
        clock.wake(150);
        clock.wake(155);
        clock.begin(2, 157);
        assert_eq!(clock.times(160), Some([10 + 3, 7, 40]));
    }

    #[test]
    fn without_a_wake_it_was_woken_while_it_was_polled() {
        let mut clock = clock();
        clock.end(1, 110);
        clock.begin(1, 130);
        assert_eq!(clock.times(130), Some([10, 20, 0]));
        // The wake is seen before the function has returned.
        clock.wake(131);
        clock.end(1, 132);
        clock.begin(1, 140);
        assert_eq!(clock.times(140), Some([12, 28, 0]));
    }

    #[test]
    fn a_thread_may_return_after_another_one_has_begun() {
        let mut clock = clock();
        clock.begin(2, 120);
        clock.end(1, 125);
        clock.end(2, 130);
        clock.wake(131);
        clock.begin(1, 131);
        assert_eq!(clock.times(131), Some([30, 0, 1]));
    }
}
