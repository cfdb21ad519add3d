//! `--parts`: a recording in parts, each of which is a recording of its own.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use simple_markers_tracer::Plan;
use simple_markers_tracer::ctf::description::RecordingOrigin;
use simple_markers_tracer::ctf::{Description, Writer};
use simple_markers_tracer::frames::StackTable;
use simple_markers_tracer::record::stack::StackSettings;

use super::files::{Folder, Output, part_folder};
use crate::{machine, uuid};

/// What recordings of the same hits have in common.
pub(super) struct RecordingStart {
    pub(super) stacks: StackSettings,
    pub(super) origin: RecordingOrigin,
    /// The time that counts as 0, on the clock of the hits.
    pub(super) start: u64,
    /// The most bytes of a packet.
    pub(super) packet: usize,
    /// The most bytes of a recording.
    pub(super) most: u64,
}

impl RecordingStart {
    /// Begins a recording in a folder.
    pub(super) fn begin(&self, plan: &Plan, folder: Folder) -> anyhow::Result<(Writer, Output)> {
        let description = Description {
            uuid: uuid::random()?,
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            clock_offset: machine::clock_offset(),
            start: self.start,
            stacks: StackTable::new(self.stacks),
            origin: Some(self.origin.clone()),
            ..Description::default()
        };
        Ok((Writer::new(description, plan, self.packet), folder.create(self.most)?))
    }
}

/// Where the parts go, and when the next one begins.
pub(super) struct Parts {
    folder: PathBuf,
    every: Duration,
    due: Instant,
    recordings: RecordingStart,
}

impl Parts {
    /// The first one begins now.
    pub(super) fn new(folder: PathBuf, every: Duration, recordings: RecordingStart) -> Self {
        Self { folder, every, due: Instant::now() + every, recordings }
    }

    pub(super) fn due_in(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Begins the next part later.
    pub(super) fn postpone(&mut self) {
        self.due = Instant::now() + self.every;
    }

    /// Begins the next part. If that fails, it is tried again when the one after it is due.
    pub(super) fn begin(&mut self, plan: &Plan) -> anyhow::Result<(Writer, Output)> {
        self.postpone();
        let path = part_folder(&self.folder);
        let folder = Folder::prepare(path.clone(), false)?;
        self.recordings.begin(plan, folder).inspect_err(|_| {
            // It is new, and has at most a part of its files.
            let _ = fs::remove_dir_all(&path);
        })
    }
}
