//! What somebody waits for who watches processes.

use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::time::Duration;

use super::engine::Session;
use super::eventfd::{is_readable, of_process, wait};
use super::paths::Paths;
use super::process::Child;
use super::signals;

/// How often the end of a process is looked for if the kernel does not tell it.
const LOOK: Duration = Duration::from_millis(50);

/// Tells when a process has ended, a signal came, or there is something to read.
#[derive(Debug, Default)]
pub struct Wakes {
    processes: Vec<OwnedFd>,
    is_complete: bool,
}

impl Wakes {
    /// Tells of the end of these processes.
    #[must_use]
    pub fn new(pids: &[u32]) -> Self {
        let processes: Vec<OwnedFd> = pids.iter().filter_map(|pid| of_process(*pid)).collect();
        let is_complete = processes.len() == pids.len();
        Self { processes, is_complete }
    }

    /// Waits for the end of a process, a signal, a program that waits, files that were mapped, or paths that
    /// lead to other files; if `with_hits`, for hits too. At most for this time; `None` waits without end.
    pub fn wait(
        &mut self,
        child: Option<&Child>,
        session: &Session,
        paths: Option<&Paths>,
        with_hits: bool,
        time: Option<Duration>,
    ) {
        if child.is_some_and(Child::is_known_to_end) {
            return;
        }
        let mut descriptors: Vec<RawFd> = vec![signals::descriptor()];
        descriptors.extend(child.and_then(Child::descriptor));
        descriptors.extend(self.processes.iter().map(OwnedFd::as_raw_fd));
        descriptors.extend(session.descriptors(with_hits));
        descriptors.extend(paths.map(Paths::descriptor));
        wait(&descriptors, self.most(time));
        signals::forget();
        // A process that has ended is readable from now on.
        self.processes.retain(|process| !is_readable(process.as_raw_fd()));
    }

    /// Waits for a signal, or for the end of a program.
    pub fn wait_for(&self, child: &Child) {
        let mut descriptors: Vec<RawFd> = vec![signals::descriptor()];
        descriptors.extend(child.descriptor());
        descriptors.extend(self.processes.iter().map(OwnedFd::as_raw_fd));
        wait(&descriptors, self.most(None));
        signals::forget();
    }

    /// How long to wait: not without end if the kernel does not tell everything.
    fn most(&self, time: Option<Duration>) -> Option<Duration> {
        if self.is_complete { time } else { Some(time.unwrap_or(LOOK).min(LOOK)) }
    }
}
