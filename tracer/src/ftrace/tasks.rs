//! Which process a thread belongs to, and which processes are watched. The events of the kernel name
//! only the thread.

use std::collections::{HashMap, HashSet};

/// The threads and processes that are known.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    /// The process of each thread that is not the first one of its process.
    processes: HashMap<u32, u32>,
    /// The processes that are watched; `None` for all.
    watched: Option<HashSet<u32>>,
    with_children: bool,
}

impl Tasks {
    /// No threads. `watched` are the processes that are watched, or `None` for all.
    #[must_use]
    pub fn new(watched: Option<&[u32]>, with_children: bool) -> Self {
        let watched = watched.map(|watched| watched.iter().copied().collect());
        Self { processes: HashMap::new(), watched, with_children }
    }

    /// Adds a thread that was there from the start. A thread that was created since is known better.
    pub fn found(&mut self, thread: u32, process: u32) {
        if thread != process {
            self.processes.entry(thread).or_insert(process);
        }
    }

    /// `parent` created a thread of its own process, or a process.
    pub fn created(&mut self, parent: u32, child: u32, is_thread: bool) {
        let process = self.process(parent);
        if is_thread {
            self.processes.insert(child, process);
            return;
        }
        self.processes.remove(&child);
        if let Some(watched) = &mut self.watched {
            // The number may be that of an old process.
            match self.with_children && watched.contains(&process) {
                true => watched.insert(child),
                false => watched.remove(&child),
            };
        }
    }

    /// The process of a thread.
    #[must_use]
    pub fn process(&self, thread: u32) -> u32 {
        self.processes.get(&thread).copied().unwrap_or(thread)
    }

    /// Whether a process is watched.
    #[must_use]
    pub fn is_watched(&self, process: u32) -> bool {
        self.watched.as_ref().is_none_or(|watched| watched.contains(&process))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_belong_to_the_process_that_created_them() {
        let mut tasks = Tasks::new(Some(&[10]), true);
        tasks.found(11, 10);
        tasks.created(11, 12, true);
        tasks.created(12, 20, false);
        tasks.created(20, 21, true);
        assert_eq!([10, 11, 12, 20, 21, 30].map(|thread| tasks.process(thread)), [10, 10, 10, 20, 20, 30]);
        assert_eq!([10, 20, 30].map(|process| tasks.is_watched(process)), [true, true, false]);
        // A number is used again.
        tasks.created(30, 12, false);
        tasks.created(30, 20, false);
        assert_eq!((tasks.process(12), tasks.is_watched(20)), (12, false));
        // An older fact comes later.
        tasks.created(20, 40, true);
        tasks.found(40, 99);
        assert_eq!(tasks.process(40), 20);
    }

    #[test]
    fn children_are_watched_if_wanted() {
        let mut tasks = Tasks::new(Some(&[10]), false);
        tasks.created(10, 20, false);
        assert!(!tasks.is_watched(20));
        assert!(Tasks::new(None, false).is_watched(30));
    }
}
