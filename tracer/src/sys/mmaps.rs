//! The kernel tells when a process, one that it creates, or one of a control group maps a file with code
//! (`perf_event_open(2)`, `PERF_RECORD_MMAP`).

use std::fs::{self, File};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::eventfd::are_over;
use super::events::{Attributes, open, open_of_group};
use super::mapping::{Mapping, page_size};
use super::numbers::{cpus, numbers};

const TYPE_SOFTWARE: u32 = 1;
/// It counts nothing.
const DUMMY: u64 = 9;
/// The bits `exclude_kernel`, `exclude_hv`, `mmap` and `watermark`.
const FLAGS: u64 = 1 << 5 | 1 << 6 | 1 << 8 | 1 << 14;
/// The bit `inherit`.
const INHERIT: u64 = 1 << 1;
/// The most events: one for each thread and CPU.
const MOST: usize = 256;

/// Pages of a buffer, a power of two. They have some 500 records; what has no space is not told.
const PAGES: usize = 16;
/// The words with the positions of the kernel and of the reader (`struct perf_event_mmap_page`).
const HEAD: usize = 128;
const TAIL: usize = 129;
const MMAP: u32 = 1;

/// What processes map.
#[derive(Debug)]
pub(super) struct Mmaps {
    buffers: Vec<PerfBuffer>,
}

/// What one thread and its children, or the threads of a control group, map on one CPU.
#[derive(Debug)]
struct PerfBuffer {
    event: OwnedFd,
    /// A page with the positions, and the records.
    pages: Mapping,
}

impl Mmaps {
    /// Tells of these processes, and of those that they create from now on. `None` if the kernel does not
    /// allow it, or they have too many threads.
    pub(super) fn start(pids: &[u32]) -> Option<Self> {
        let threads: Vec<u32> = pids.iter().flat_map(|pid| numbers(&format!("/proc/{pid}/task"))).collect();
        let cpus = cpus("online");
        if threads.is_empty() || cpus.is_empty() || threads.len().saturating_mul(cpus.len()) > MOST {
            return None;
        }
        let each = threads.iter().flat_map(|thread| cpus.iter().map(move |cpu| PerfBuffer::open(*thread, *cpu)));
        Some(Self { buffers: each.collect::<Option<_>>()? })
    }

    /// Tells of all processes in a control group and in those below it. `None` if the kernel does not
    /// allow it, or has its events in a hierarchy of version 1.
    pub(super) fn of_group(folder: &Path) -> Option<Self> {
        let folder = File::open(folder).ok()?;
        let cpus = cpus("online");
        let open = |cpu: &u32| {
            let attributes = Attributes::new(TYPE_SOFTWARE, DUMMY, FLAGS).telling_at_once();
            PerfBuffer::of(open_of_group(&attributes, &folder, i32::try_from(*cpu).ok()?).ok()?)
        };
        if cpus.is_empty() { None } else { Some(Self { buffers: cpus.iter().map(open).collect::<Option<_>>()? }) }
    }

    /// Also tells of a process that a known one has created, and that executes a program. Returns whether it
    /// does.
    pub(super) fn add(&mut self, pid: u32) -> bool {
        if !has_lost_events(pid) {
            return true;
        }
        let added = if self.buffers.len() < MOST { Self::start(&[pid]) } else { None };
        let is_told = added.is_some();
        self.buffers.extend(added.into_iter().flat_map(|added| added.buffers));
        is_told
    }

    /// Adds the processes that have mapped a file since the last call.
    pub(super) fn take(&mut self, found: &mut Vec<u32>) {
        // Before the records are read: to ask takes back what made a descriptor readable.
        let descriptors: Vec<RawFd> = self.descriptors().collect();
        let mut are_over = are_over(&descriptors).into_iter();
        self.buffers.iter().for_each(|buffer| buffer.take(found));
        // A buffer stays readable when its last thread has ended.
        self.buffers.retain(|_| are_over.next() == Some(false));
    }

    pub(super) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.buffers.iter().map(|buffer| buffer.event.as_raw_fd())
    }
}

impl PerfBuffer {
    fn open(thread: u32, cpu: u32) -> Option<Self> {
        let attributes = Attributes::new(TYPE_SOFTWARE, DUMMY, FLAGS | INHERIT).telling_at_once();
        Self::of(open(&attributes, i32::try_from(thread).ok()?, i32::try_from(cpu).ok()?).ok()?)
    }

    fn of(event: OwnedFd) -> Option<Self> {
        let size = PAGES.saturating_add(1).saturating_mul(page_size());
        let pages = Mapping::new(event.as_raw_fd(), libc::PROT_READ | libc::PROT_WRITE, size, 0).ok()?;
        Some(Self { event, pages })
    }

    fn take(&self, found: &mut Vec<u32>) {
        let (Some(head), Some(tail)) = (self.pages.word(HEAD), self.pages.word(TAIL)) else { return };
        let (first, count) = (page_size() / 8, PAGES.saturating_mul(page_size()) / 8);
        // Records are multiples of 8 bytes: type, size and process are in the first two words.
        let word = |at: u64| {
            let index = first.saturating_add(usize::try_from(at / 8).unwrap_or(0) % count);
            self.pages.word(index).map_or(0, |word| word.load(Ordering::Relaxed))
        };
        let (mut at, end) = (tail.load(Ordering::Relaxed), head.load(Ordering::Acquire));
        while at < end {
            let (header, process) = (word(at), word(at.wrapping_add(8)));
            let (of, size) = (header as u32, header >> 48);
            if size < 8 {
                // The kernel writes no such record.
                at = end;
            } else {
                found.extend((of == MMAP).then_some(process as u32));
                at = at.wrapping_add(size);
            }
        }
        tail.store(at, Ordering::Release);
    }
}

/// Whether the kernel has removed the events of a process that has executed a program: the program has other
/// rights than its user, or must not be read.
fn has_lost_events(pid: u32) -> bool {
    let path = format!("/proc/{pid}");
    let (status, folder) = (fs::read_to_string(format!("{path}/status")), fs::metadata(path));
    let status = status.unwrap_or_default();
    let numbers = |name| {
        let mut words = status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace();
        Some((words.next()?, words.next()?))
    };
    let is_changed = |name| numbers(name).is_some_and(|(real, effective)| real != effective);
    // Such a process belongs to root (`man 5 proc`).
    let is_private = || {
        let user = numbers("Uid:").and_then(|(_, effective)| effective.parse().ok());
        folder.ok().zip(user).is_some_and(|(folder, user): (_, u32)| folder.uid() != user)
    };
    is_changed("Uid:") || is_changed("Gid:") || is_private()
}
