//! Progress on a terminal, for work that takes longer than a second.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::console::Console;

/// When something is shown first.
const FIRST: Duration = Duration::from_secs(1);

/// How often it is shown anew.
const OFTEN: Duration = Duration::from_millis(250);

/// Says on stderr how many files are read, until it is dropped.
pub(crate) struct Progress {
    done: Arc<AtomicUsize>,
    line: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Begins to work on so many files. Nothing is said with `--quiet`, or if stderr is no terminal.
    pub(crate) fn start(console: &Console, files: usize) -> Self {
        let done = Arc::new(AtomicUsize::new(0));
        let is_shown = !console.quiet && io::stderr().is_terminal();
        let line = is_shown.then(|| {
            let (end, ended) = mpsc::channel::<()>();
            let (done, since) = (Arc::clone(&done), Instant::now());
            let show = move || {
                let mut wait = FIRST;
                while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    let (done, seconds) = (done.load(Ordering::Relaxed), since.elapsed().as_secs());
                    let _ = write!(io::stderr(), "\r\x1b[Ksmark: {done} of {files} files read, {seconds} s");
                    wait = OFTEN;
                }
                if wait == OFTEN {
                    let _ = write!(io::stderr(), "\r\x1b[K");
                }
            };
            (end, thread::spawn(show))
        });
        Self { done, line }
    }

    /// A file is read.
    pub(crate) fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((end, line)) = self.line.take() {
            drop(end);
            let _ = line.join();
        }
    }
}
