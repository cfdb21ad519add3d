//! Tells when a process may have mapped files: at each program that it executes, and whenever it looks for
//! space in its memory.

use std::time::{Duration, Instant};

use simple_markers_events::{Field, Page, PageFormat};

use super::files::{Instance, Root};
use crate::sys::error::Error;

/// The kernel tells before the file is mapped. So much later it is, in practice.
const LATER: Duration = Duration::from_millis(50);

/// The size of the buffers: nothing is lost that matters if they are full.
const BUFFER: u32 = 1 << 16;

const EVENTS: [&str; 2] = ["sched/sched_process_exec", "mmap/vm_unmapped_area"];

/// The threads that may have mapped files.
#[derive(Debug)]
pub(super) struct TracefsNotices {
    instance: Instance,
    /// The threads of which it was told, and when they are told again.
    again: Option<(Instant, Vec<u32>)>,
}

impl TracefsNotices {
    /// Tells of these threads, and of those that they create if the children are wanted. `None` if the kernel
    /// does not tell everything.
    pub(super) fn start(root: &Root, name: &str, format: &PageFormat, threads: &[u32], children: bool) -> Option<Self> {
        let instance = Instance::create(root, name, BUFFER, format).ok()?;
        instance.wake_at(0).ok()?;
        instance.set("options/event-fork", if children { "1" } else { "0" }).ok()?;
        for threads in threads.chunks(64) {
            let line: String = threads.iter().map(|thread| format!("{thread} ")).collect();
            instance.append("set_event_pid", &line).ok()?;
        }
        for event in EVENTS {
            instance.set(&format!("events/{event}/enable"), "1").ok()?;
        }
        Some(Self { instance, again: None })
    }

    /// The threads that may have mapped files since the last call. Each of them is named twice, the second
    /// time when it has.
    pub(super) fn take(&mut self, format: &PageFormat, thread: &Field) -> Result<Vec<u32>, Error> {
        if self.again.as_ref().is_some_and(|(when, _)| *when > Instant::now()) {
            return Ok(Vec::new());
        }
        let mut found = self.again.take().map(|(_, threads)| threads).unwrap_or_default();
        let mut new = Vec::new();
        self.instance.read(&mut |_, page| {
            let Ok(page) = Page::new(page, format) else { return };
            for event in page.events().map_while(Result::ok) {
                new.extend(thread.number(event.record).and_then(|it| u32::try_from(it & 0xffff_ffff).ok()));
            }
        })?;
        for threads in [&mut found, &mut new] {
            threads.sort_unstable();
            threads.dedup();
        }
        if !new.is_empty() {
            found.extend(&new);
            self.again = Some((Instant::now() + LATER, new));
        }
        Ok(found)
    }

    /// How long until it has to be asked without being readable.
    pub(super) fn due(&self) -> Option<Duration> {
        self.again.as_ref().map(|(when, _)| when.saturating_duration_since(Instant::now()))
    }

    /// Readable when there is something. While it has a due time, it need not be looked at.
    pub(super) fn instance(&self) -> Option<&Instance> {
        self.again.is_none().then_some(&self.instance)
    }
}
