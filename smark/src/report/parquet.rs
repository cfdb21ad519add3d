//! `smark report --to parquet`: writes the hits of a recording as tables.
//!
//! If values of the recording are whole ones, it is read twice: what they have in common becomes
//! the columns.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use simple_markers_tracer::aggregate::Question;
use simple_markers_tracer::ctf::SiteSelection;
use simple_markers_tracer::plan::{DoubtfulValues, PlannedSite};

use super::recording::{Hits, Recording};
use crate::console::{Console, Status};
use crate::narrow::{self, HitQuery};
use crate::parquet::{DataSet, DataSetFolder, MarkerShapes};
use crate::source::Source as _;

/// Where tables are written, and how.
pub(crate) struct Tables {
    folder: DataSetFolder,
    /// The most bytes of a file.
    most: usize,
}

impl Tables {
    /// Accepts a folder that does not exist; with `force` also one with a data set.
    pub(crate) fn prepare(path: PathBuf, force: bool, file_size: u64) -> anyhow::Result<Self> {
        let most = usize::try_from(file_size).unwrap_or(usize::MAX);
        Ok(Self { folder: DataSetFolder::prepare(path, force)?, most })
    }

    /// Writes the hits of a recording that are wanted. `status` is what is known of it so far.
    /// Returns the exit status of the command.
    pub(super) fn write(
        self,
        console: &Console,
        recording: &Recording,
        chosen: &SiteSelection,
        doubtful: DoubtfulValues,
        status: Status,
    ) -> anyhow::Result<ExitCode> {
        self.write_hits(console, recording, chosen, doubtful, status)?.end(console)
    }

    /// The same. Returns what was read.
    fn write_hits<'r>(
        self,
        console: &Console,
        recording: &'r Recording,
        chosen: &SiteSelection,
        doubtful: DoubtfulValues,
        status: Status,
    ) -> anyhow::Result<Hits<'r>> {
        let (description, plan) = (&recording.description, recording.plan());
        let is_wanted = |site: usize| chosen.has_site(site);
        let mut shapes = MarkerShapes::default();
        let has_whole = |site: &PlannedSite| site.own_arguments().iter().any(|argument| argument.shown.is_some());
        let mut lost = 0;
        if chosen.has(&has_whole) {
            let mut source = recording.hits(status);
            source.each(None, &mut |hit, _| {
                if chosen.wants(hit) == Some(true) {
                    shapes.add(hit, &description.functions);
                }
                Ok(ControlFlow::Continue(()))
            })?;
            lost = source.lost();
        }
        lost = recording.lost_at_end().unwrap_or(lost);
        let Self { folder, most } = self;
        let about = (description, plan);
        let mut tables = DataSet::new(folder, about, &is_wanted, &shapes, doubtful, (lost, most))?;
        let (mut source, mut unfiltered) = (recording.hits(status), 0);
        source.each(Some(console), &mut |hit, _| {
            match chosen.wants(hit) {
                Some(true) => tables.add(hit)?,
                Some(false) => {}
                None => unfiltered += 1,
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let written = tables.finish(&recording.data_set_end(source.lost()))?;
        narrow::tell_unfiltered(console, &chosen.plan, unfiltered);
        let (hits, files, bytes) = (written.hits, written.files, written.bytes);
        console.note(&format!("{hits} hits in {files} files in {} ({bytes} bytes)", written.path.display()));
        Ok(source)
    }
}

/// Writes all hits of a recording that was just made.
pub(crate) fn tabulate(console: &Console, recording: &Path, tables: Tables) -> anyhow::Result<()> {
    let doubtful = DoubtfulValues::Marked;
    let recording = Recording::open(console, recording, doubtful)?;
    let (selected, status) = recording.select(console, &[])?;
    let chosen = selected.choose(console, &HitQuery { filter: None, question: &Question::Hits, option: None })?;
    tables.write_hits(console, &recording, &chosen, doubtful, status).map(|_| ())
}
