//! Which begin of a poll an end belongs to: that of the same frame, in a recording where either may be missing.

use std::collections::HashMap;

/// A hit in an async runtime: a task is polled or woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskHit {
    /// The number of the process.
    pub process: u32,
    /// The number of the thread.
    pub thread: u32,
    /// The time in ns.
    pub time: u64,
    /// The number of the task; `None` if it is not known, and at the end of a poll.
    pub task: Option<u64>,
    /// The stack pointer at the entry of the function; `None` if it is not known.
    pub frame: Option<u64>,
}

/// The polls of each thread that have not ended, the outermost first.
#[derive(Clone, Debug, Default)]
pub struct OpenPolls {
    /// By the process and the thread.
    open: HashMap<(u32, u32), Vec<OpenPoll>>,
    /// How many begins have no end so far, without those that are open.
    pub begins: u64,
    /// How many ends have no begin.
    pub ends: u64,
}

/// A poll that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenPoll {
    /// The stack pointer at the entry of the function. Inner calls have smaller ones.
    frame: u64,
    /// `None` if it is not known.
    pub task: Option<u64>,
    /// When it began, in ns.
    pub begin: u64,
}

impl OpenPolls {
    /// Takes the hit of a begin.
    pub fn begin(&mut self, hit: &TaskHit) {
        let Some(frame) = hit.frame else { return self.begins += 1 };
        let open = self.open.entry((hit.process, hit.thread)).or_default();
        // What is at this frame or inside of it has ended.
        let outer = open.iter().take_while(|poll| poll.frame > frame).count();
        self.begins += open.len().saturating_sub(outer) as u64;
        open.truncate(outer);
        open.push(OpenPoll { frame, task: hit.task, begin: hit.time });
    }

    /// Takes the hit of an end. Returns the poll that ends; `None` if its begin is missing.
    pub fn end(&mut self, hit: &TaskHit) -> Option<OpenPoll> {
        let open = self.open.entry((hit.process, hit.thread)).or_default();
        let at = hit.frame.and_then(|frame| open.iter().position(|poll| poll.frame == frame));
        let (Some(at), Some(poll)) = (at, at.and_then(|at| open.get(at).copied())) else {
            // A function that is called inside of a poll ends none.
            self.ends += u64::from(open.is_empty());
            return None;
        };
        self.begins += open.len().saturating_sub(at + 1) as u64;
        open.truncate(at);
        Some(poll)
    }

    /// How many begins have no end.
    #[must_use]
    pub fn unended(&self) -> u64 {
        self.begins + self.open.values().map(Vec::len).sum::<usize>() as u64
    }
}
