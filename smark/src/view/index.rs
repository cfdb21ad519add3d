//! What is kept of each hit: where it is in the stream, and what the timeline and jumps need. Texts are read again when
//! they are shown.

use simple_markers_resolver::marks::TaskPoint;
use simple_markers_tracer::Hit;
use simple_markers_tracer::open_polls::OpenPolls;
use simple_markers_tracer::pairs::{Pair, Role, SliceBegin};

use crate::hit_tracks::{HitTracks, TrackSubject};

/// Stands for no hit and no row.
pub(super) const NONE: u32 = u32::MAX;

/// The most begins of a pair that are open.
const MOST_OPEN: usize = 1 << 20;

/// The hits of a recording as columns. The position in a column is the number of the hit, in the order of the stream.
#[derive(Debug, Default)]
pub(super) struct RecordingIndex {
    /// The offset of the event in the stream.
    pub(super) offsets: Vec<u64>,
    /// In ns since the start of the recording.
    pub(super) times: Vec<u64>,
    /// The number of the marker in the plan.
    pub(super) markers: Vec<u32>,
    /// The track of the thread.
    pub(super) threads: Vec<u32>,
    /// The track that shows the hit, which is that of the task if the hit has one. Empty if no hit has one.
    pub(super) tasks: Vec<u32>,
    /// The other hit of the pair, or [`NONE`]. Empty if there are no pairs.
    pub(super) mates: Vec<u32>,
    /// In the order of their ends.
    pub(super) bars: Vec<TimelineBar>,
    /// The name of each track.
    pub(super) labels: Vec<String>,
    /// The tracks on which there is something, each a row of the timeline.
    pub(super) rows: Vec<u32>,
    /// What each pair is called.
    pub(super) pairs: Vec<String>,
    /// How many hits were lost while it was recorded.
    pub(super) lost: u64,
    /// What else is to be said of the recording, each a sentence without control characters.
    pub(super) notes: Vec<String>,
}

/// A span, the time between the hits of a pair, or a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimelineBar {
    /// In ns since the start of the recording.
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) track: u32,
}

/// What is kept of a hit that may be the first of a pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairBegin {
    number: u32,
    time: u64,
    process: u32,
    thread: u32,
}

impl SliceBegin for PairBegin {
    fn is_wanted(&self) -> bool {
        true
    }
}

impl RecordingIndex {
    /// How many hits there are.
    pub(super) fn len(&self) -> usize {
        self.times.len()
    }

    /// The track that shows a hit.
    pub(super) fn track(&self, number: usize) -> u32 {
        let column = if self.tasks.is_empty() { &self.threads } else { &self.tasks };
        column.get(number).copied().unwrap_or(NONE)
    }

    /// The other hit of the pair; `None` if it has none.
    pub(super) fn mate(&self, number: usize) -> Option<usize> {
        let mate = self.mates.get(number).copied().filter(|mate| *mate != NONE)?;
        usize::try_from(mate).ok()
    }

    /// The times of the first and of the last hit or bar.
    pub(super) fn ends(&self) -> (u64, u64) {
        let begins = self.bars.iter().map(|bar| bar.begin);
        let first = self.times.iter().copied().chain(begins).min().unwrap_or(0);
        let ends = self.bars.iter().map(|bar| bar.end);
        (first, self.times.iter().copied().chain(ends).max().unwrap_or(0))
    }
}

/// Makes an index of hits.
pub(super) struct IndexMaker {
    start: u64,
    pairs: Vec<Pair<PairBegin>>,
    polls: OpenPolls,
    tracks: HitTracks,
    has_tasks: bool,
    index: RecordingIndex,
}

impl IndexMaker {
    /// The recording begins at `start`.
    pub(super) fn new(start: u64, pairs: Vec<Pair<PairBegin>>) -> Self {
        let names = pairs.iter().map(|pair| pair.name.clone()).collect();
        let index = RecordingIndex { pairs: names, ..RecordingIndex::default() };
        Self { start, pairs, polls: OpenPolls::default(), tracks: HitTracks::default(), has_tasks: false, index }
    }

    /// Takes the hit of the event at an offset. Returns `false` if there is no room for it.
    pub(super) fn add(&mut self, hit: &Hit<'_>, offset: u64) -> bool {
        let Ok(number) = u32::try_from(self.index.len()) else { return false };
        let (true, Ok(marker)) = (number != NONE, u32::try_from(hit.site.marker)) else { return false };
        let thread = short(self.tracks.thread(hit));
        let task = match hit.task() {
            Some(Ok(Some(task))) => {
                short(self.tracks.number(TrackSubject::Task { process: hit.process, task: task.get() }))
            }
            _ => thread,
        };
        if task != thread && !self.has_tasks {
            // The hits before ran none.
            self.has_tasks = true;
            self.index.tasks.clone_from(&self.index.threads);
        }
        self.index.offsets.push(offset);
        self.index.times.push(self.since_start(hit.time));
        self.index.markers.push(marker);
        self.index.threads.push(thread);
        if self.has_tasks {
            self.index.tasks.push(task);
        }
        if !self.pairs.is_empty() {
            self.index.mates.push(NONE);
        }
        self.add_poll(hit);
        self.add_pairs(hit, number);
        true
    }

    fn since_start(&self, time: u64) -> u64 {
        time.saturating_sub(self.start)
    }

    fn add_poll(&mut self, hit: &Hit<'_>) {
        let poll = match hit.marker.task_point {
            Some(TaskPoint::PollBegin) => return self.polls.begin(&hit.of_task()),
            Some(TaskPoint::PollEnd) => self.polls.end(&hit.of_task()),
            Some(TaskPoint::Wake) | None => None,
        };
        let Some(poll) = poll else { return };
        let thread = self.tracks.thread(hit);
        let of_task = poll.task.map(|task| TrackSubject::Task { process: hit.process, task });
        let task = of_task.map(|subject| self.tracks.number(subject));
        for track in [Some(thread), task].into_iter().flatten() {
            self.add_bar(poll.begin, hit.time, track);
        }
    }

    fn add_pairs(&mut self, hit: &Hit<'_>, number: u32) {
        for at in 0..self.pairs.len() {
            let Some(pair) = self.pairs.get_mut(at) else { continue };
            let begin = match pair.role(hit, true) {
                Some(Role::Begin(key)) => {
                    let begin = PairBegin { number, time: hit.time, process: hit.process, thread: hit.thread };
                    pair.open(key, begin, MOST_OPEN);
                    continue;
                }
                Some(Role::End(begin)) => begin,
                Some(Role::Nothing) | None => continue,
            };
            let is_in_thread = !pair.has_key() || pair.is_span() && begin.thread == hit.thread;
            let PairBegin { process, thread, .. } = begin;
            let track = self.tracks.number(match is_in_thread {
                true => TrackSubject::Thread { process, thread },
                false => TrackSubject::Pair { process, pair: at },
            });
            self.add_bar(begin.time, hit.time, track);
            for (one, other) in [(begin.number, number), (number, begin.number)] {
                let mate = usize::try_from(one).ok().and_then(|one| self.index.mates.get_mut(one));
                if let Some(mate) = mate.filter(|mate| **mate == NONE) {
                    *mate = other;
                }
            }
        }
    }

    fn add_bar(&mut self, begin: u64, end: u64, track: usize) {
        let (begin, end) = (self.since_start(begin), self.since_start(end.max(begin)));
        self.index.bars.push(TimelineBar { begin, end, track: short(track) });
    }

    /// The index of all hits that were taken.
    pub(super) fn finish(self) -> RecordingIndex {
        let Self { tracks, mut index, .. } = self;
        let mut used = vec![false; tracks.len()];
        let tracks_of_hits = if index.tasks.is_empty() { &index.threads } else { &index.tasks };
        let all = tracks_of_hits.iter().copied().chain(index.bars.iter().map(|bar| bar.track));
        for track in all {
            let track = usize::try_from(track).ok().and_then(|track| used.get_mut(track));
            track.into_iter().for_each(|used| *used = true);
        }
        index.labels = (0..tracks.len()).map(|number| tracks.label(number, &index.pairs)).collect();
        index.rows = (0..tracks.len()).filter(|track| used.get(*track) == Some(&true)).map(short).collect();
        index
    }
}

/// A number that is known to be small: there are at most 20,001 tracks.
fn short(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(NONE)
}
