//! The hits of markers beside the CPU time of the processes.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::bail;
use simple_markers_top::Table;
use simple_markers_tracer::aggregate::{Tally, process_of};
use simple_markers_tracer::sys::Mode;
use simple_markers_tracer::sys::groups::Group;

use crate::console::Console;
use crate::watch::{Options, RING, Watching};

/// The most processes whose hits are kept.
const PROCESSES: u32 = 1 << 16;

/// Markers whose hits are counted for each process.
pub(super) struct MarkerHits {
    watching: Watching,
    /// The hits of each process that are in a table already.
    shown: HashMap<u32, u64>,
    /// How many were told to have no space.
    full: u64,
}

impl MarkerHits {
    /// Sets the probes. The patterns choose markers of the files, and of what the processes have
    /// mapped.
    pub(super) fn start(
        console: &Console,
        patterns: &[String],
        files: &[PathBuf],
        pids: &[u32],
        group: Option<Group>,
    ) -> anyhow::Result<Self> {
        if files.is_empty() && pids.is_empty() && group.is_none() {
            bail!("--marker needs a FILE with markers, a process with -p PID, or a control group with --cgroup");
        }
        let options = Options::of_processes(patterns, files, pids, group);
        let watching = options.start(console, Mode::Count { most_values: PROCESSES, ring: RING })?;
        Ok(Self { watching, shown: HashMap::new(), full: 0 })
    }

    /// Whether a marker is watched, or may be.
    pub(super) fn is_active(&self) -> bool {
        self.watching.is_active()
    }

    /// Lets those go on who want to overwrite a file.
    pub(super) fn yield_leases(&mut self, console: &Console) {
        self.watching.yield_leases(console);
    }

    /// Adds the hits since the last table. What a process that is not in the table did is added to its
    /// next row.
    pub(super) fn add_to(&mut self, console: &Console, table: &mut Table) -> anyhow::Result<()> {
        self.watching.look(console)?;
        let Some(session) = self.watching.session() else { return Ok(()) };
        let counted = session.counted()?;
        let hits: HashMap<u32, u64> =
            counted.values.iter().filter_map(|(key, hits)| Some((process_of(key)?, *hits))).collect();
        for process in &mut table.processes {
            let all = hits.get(&process.pid).copied().unwrap_or(0);
            let before = self.shown.insert(process.pid, all).unwrap_or(0);
            process.hits = Some(all.saturating_sub(before));
        }
        self.shown.retain(|pid, _| hits.contains_key(pid));
        let full: u64 = counted.tallies.iter().map(|tallies| tallies.get(Tally::Full)).sum();
        if full > self.full {
            console.note(&format!("{} hits were not counted: there are too many processes", full - self.full));
            self.full = full;
        }
        Ok(())
    }
}
