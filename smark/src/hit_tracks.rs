//! The tracks of a timeline: threads, tasks, and the pairs whose slices go from thread to thread.

use std::collections::HashMap;

use serde_json::{Value as Json, json};
use simple_markers_resolver::text::from_bytes;
use simple_markers_tracer::Hit;

#[cfg(feature = "view")]
use crate::hit_text::thread_numbers;

/// The most tracks. What would be on others is on the last one.
const MOST: usize = 20_000;

/// What a track is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TrackSubject {
    Thread {
        process: u32,
        thread: u32,
    },
    /// A task of an async runtime.
    Task {
        process: u32,
        task: u64,
    },
    /// The slices of a pair in a process.
    Pair {
        process: u32,
        pair: usize,
    },
    /// Everything for which there is no track.
    Others,
}

/// The tracks so far. Their position is their number.
#[derive(Debug, Default)]
pub(crate) struct HitTracks {
    numbers: HashMap<TrackSubject, usize>,
    all: Vec<HitTrack>,
}

#[derive(Debug)]
struct HitTrack {
    subject: TrackSubject,
    /// The last name of the thread.
    name: Vec<u8>,
    hits: u64,
}

impl HitTracks {
    /// The number of a track, which may be new.
    pub(crate) fn number(&mut self, subject: TrackSubject) -> usize {
        if let Some(number) = self.numbers.get(&subject) {
            return *number;
        }
        let subject = if self.all.len() >= MOST { TrackSubject::Others } else { subject };
        let Self { numbers, all } = self;
        *numbers.entry(subject).or_insert_with(|| {
            all.push(HitTrack { subject, name: Vec::new(), hits: 0 });
            all.len() - 1
        })
    }

    /// The track of the thread of a hit.
    pub(crate) fn thread(&mut self, hit: &Hit<'_>) -> usize {
        let number = self.number(TrackSubject::Thread { process: hit.process, thread: hit.thread });
        if let Some(track) = self.all.get_mut(number) {
            if track.name != hit.name {
                hit.name.clone_into(&mut track.name);
            }
        }
        number
    }

    /// Counts a hit on a track.
    pub(crate) fn count(&mut self, number: usize) {
        self.all.iter_mut().skip(number).take(1).for_each(|track| track.hits += 1);
    }

    /// How many there are.
    #[cfg(feature = "view")]
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// What a track is called. `pairs` are the names of the pairs.
    #[cfg(feature = "view")]
    pub(crate) fn label(&self, number: usize, pairs: &[String]) -> String {
        let Some(HitTrack { subject, name, .. }) = self.all.get(number) else { return String::new() };
        match *subject {
            TrackSubject::Thread { process, thread } => {
                format!("{} {}", from_bytes(name), thread_numbers(process, thread))
            }
            TrackSubject::Task { task, .. } => format!("task {task}"),
            TrackSubject::Pair { pair, .. } => pairs.get(pair).cloned().unwrap_or_default(),
            TrackSubject::Others => "others".to_owned(),
        }
    }

    pub(crate) fn json(&self) -> Vec<Json> {
        let track = |HitTrack { subject, name, hits }: &HitTrack| {
            let mut json = match *subject {
                TrackSubject::Thread { process, thread } => {
                    json!({ "kind": "thread", "pid": process, "tid": thread, "name": from_bytes(name) })
                }
                TrackSubject::Task { process, task } => {
                    json!({ "kind": "task", "pid": process, "task": task.to_string() })
                }
                TrackSubject::Pair { process, pair } => json!({ "kind": "pair", "pid": process, "pair": pair }),
                TrackSubject::Others => json!({ "kind": "others" }),
            };
            if let Some(members) = json.as_object_mut() {
                members.insert("hits".to_owned(), (*hits).into());
            }
            json
        };
        self.all.iter().map(track).collect()
    }
}
