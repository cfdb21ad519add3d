//! The tracks of a timeline: one for each process and thread, and more where slices would overlap.
//!
//! The slices of a track must be nested, since an end ends the last slice that was begun.

use std::collections::{BTreeSet, HashMap};

use simple_markers_resolver::text::from_bytes;

use super::message::{SEQUENCE, integer, message, packet, text, trace, track};
use crate::hit::Hit;

/// The slices of a thread's track that are remembered. When there are more, the gaps between the oldest
/// ones are forgotten.
const REMEMBERED: usize = 1024;

/// The tracks so far.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    last: u64,
    processes: HashMap<u32, Track>,
    /// By the process and the thread.
    threads: HashMap<(u32, u32), ThreadTracks>,
    /// The end and the track of the last slice of each track that a pair has in a process.
    lanes: HashMap<(u32, usize), BTreeSet<(u64, u64)>>,
    /// By the process and the number of the task.
    tasks: HashMap<(u32, u64), u64>,
    /// The tracks of counters, by the process, the marker and the number of the counter.
    counters: HashMap<(u32, usize, usize), u64>,
}

/// A track with the name that it was described with.
#[derive(Debug, Default)]
struct Track {
    uuid: u64,
    name: Vec<u8>,
}

#[derive(Debug, Default)]
struct ThreadTracks {
    track: Track,
    placed: Nest,
    /// The tracks for slices that would overlap others, by the number of the pair.
    overlapping: HashMap<usize, u64>,
}

/// A slice that is to be placed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) process: u32,
    pub(super) thread: u32,
    pub(super) begin: u64,
    pub(super) end: u64,
}

impl Tracks {
    /// The track of the thread of a hit. Describes it, and its process, if they are new or have a
    /// new name.
    pub(super) fn thread(&mut self, hit: &Hit<'_>, out: &mut Vec<u8>) -> u64 {
        let Self { last, processes, threads, .. } = self;
        let process = processes.entry(hit.process).or_default();
        let is_new = process.uuid == 0;
        // A process is called as its main thread.
        if is_new || hit.thread == hit.process && process.name != hit.name {
            process.rename(last, hit.name);
            describe(process.uuid, None, out, |out| {
                message(track::PROCESS, out, |out| {
                    integer(track::PROCESS_PID, hit.process.into(), out);
                    text(track::PROCESS_NAME, &from_bytes(hit.name), out);
                });
            });
        }
        let thread = &mut threads.entry((hit.process, hit.thread)).or_default().track;
        if thread.uuid == 0 || thread.name != hit.name {
            thread.rename(last, hit.name);
            describe(thread.uuid, Some(process.uuid), out, |out| {
                message(track::THREAD, out, |out| {
                    integer(track::THREAD_PID, hit.process.into(), out);
                    integer(track::THREAD_TID, hit.thread.into(), out);
                    text(track::THREAD_NAME, &from_bytes(hit.name), out);
                });
            });
        }
        thread.uuid
    }

    /// The track of a task of the process of a hit, which has a track. Describes it if it is new.
    pub(super) fn task(&mut self, process: u32, task: u64, out: &mut Vec<u8>) -> u64 {
        let Self { last, processes, tasks, .. } = self;
        *tasks.entry((process, task)).or_insert_with(|| {
            *last += 1;
            let process = processes.get(&process).map(|process| process.uuid);
            describe(*last, process, out, |out| text(track::NAME, &format!("task {task}"), out));
            *last
        })
    }

    /// The track of a counter at a marker of the process of a hit, which has a track. Describes it if it is new.
    pub(super) fn counter(&mut self, hit: &Hit<'_>, number: usize, name: &str, out: &mut Vec<u8>) -> u64 {
        let Self { last, processes, counters, .. } = self;
        *counters.entry((hit.process, hit.site.marker, number)).or_insert_with(|| {
            *last += 1;
            let process = processes.get(&hit.process).map(|process| process.uuid);
            describe(*last, process, out, |out| {
                text(track::NAME, &format!("{} {name}", hit.marker.name), out);
                message(track::COUNTER, out, |_| {});
            });
            *last
        })
    }

    /// The track for a slice of one thread: that of the thread, unless another slice would overlap it.
    /// `pair` and `name` are the number and the name of its pair. Slices must come in the order of
    /// their ends.
    pub(super) fn of_thread(&mut self, span: Span, pair: usize, name: &str, out: &mut Vec<u8>) -> u64 {
        if let Some(track) = self.nested(span) {
            return track;
        }
        let Self { last, threads, .. } = self;
        let thread = threads.entry((span.process, span.thread)).or_default();
        *thread.overlapping.entry(pair).or_insert_with(|| {
            *last += 1;
            describe(*last, Some(thread.track.uuid), out, |out| text(track::NAME, name, out));
            *last
        })
    }

    /// The track of the thread, if a slice overlaps no other one there. Slices must come in the order of
    /// their ends.
    pub(super) fn nested(&mut self, span: Span) -> Option<u64> {
        let thread = self.threads.entry((span.process, span.thread)).or_default();
        thread.placed.add(span.begin, span.end).then_some(thread.track.uuid)
    }

    /// The track for a slice of a process, which no other slice overlaps. Slices must come in the order
    /// of their ends.
    pub(super) fn of_process(&mut self, span: Span, pair: usize, name: &str, out: &mut Vec<u8>) -> u64 {
        let Self { last, processes, lanes, .. } = self;
        let lanes = lanes.entry((span.process, pair)).or_default();
        // The one that became free last, so that as few as possible are used.
        let free = lanes.range(..=(span.begin, u64::MAX)).next_back().copied();
        let uuid = match free {
            Some(lane) => {
                lanes.remove(&lane);
                lane.1
            }
            None => {
                *last += 1;
                let process = processes.get(&span.process).map(|process| process.uuid);
                describe(*last, process, out, |out| text(track::NAME, name, out));
                *last
            }
        };
        lanes.insert((span.end, uuid));
        uuid
    }
}

impl Track {
    fn rename(&mut self, last: &mut u64, name: &[u8]) {
        if self.uuid == 0 {
            *last += 1;
            self.uuid = *last;
        }
        name.clone_into(&mut self.name);
    }
}

/// Appends the packet that describes a track.
fn describe(uuid: u64, parent: Option<u64>, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    message(trace::PACKET, out, |out| {
        integer(packet::TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE, out);
        message(packet::TRACK_DESCRIPTOR, out, |out| {
            integer(track::UUID, uuid, out);
            if let Some(parent) = parent {
                integer(track::PARENT_UUID, parent, out);
            }
            write(out);
        });
    });
}

/// Slices of a track that later slices may overlap: those that are in no other one, in the order of
/// their times.
#[derive(Debug, Default)]
struct Nest(Vec<(u64, u64)>);

impl Nest {
    /// Adds a slice that ends after all others, unless it would overlap one of them. Returns whether it
    /// was added.
    fn add(&mut self, begin: u64, end: u64) -> bool {
        let before = self.0.partition_point(|(other, _)| *other < begin);
        let overlaps = self.0.iter().take(before).next_back().is_some_and(|(_, end)| *end > begin);
        // Of two slices that begin at the same time, the outer one would have to be written first.
        let begins = self.0.get(before).is_some_and(|(other, end)| *other == begin && *end > begin);
        if overlaps || begins {
            return false;
        }
        self.0.truncate(before);
        self.0.push((begin, end));
        if self.0.len() > REMEMBERED {
            let last = self.0.drain(1..REMEMBERED / 2).next_back();
            if let (Some(first), Some((_, end))) = (self.0.first_mut(), last) {
                first.1 = end;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_that_overlap_are_refused() {
        let mut nest = Nest::default();
        for (begin, end, is_nested) in [
            (10, 20, true),
            (20, 30, true),
            (5, 30, true),
            (15, 40, false),
            (5, 41, false),
            (30, 42, true),
            (4, 43, true),
            (43, 43, true),
            (43, 50, true),
            (3, 50, true),
            (49, 51, false),
        ] {
            assert_eq!(nest.add(begin, end), is_nested, "{begin}..{end}");
        }
        assert_eq!(nest.0, [(3, 50)]);
    }

    #[test]
    fn few_slices_are_remembered() {
        let mut nest = Nest::default();
        for number in 0..10_000 {
            assert!(nest.add(100 + number * 10, 105 + number * 10));
            assert!(nest.0.len() <= REMEMBERED && nest.0.is_sorted());
        }
        assert!(nest.add(50, 200_000));
        assert_eq!(nest.0.len(), 1);
    }
}
