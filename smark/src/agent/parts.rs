//! The parts that a rule records: they become tables if the rule says so, and the oldest are removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use simple_markers_tracer::ctf;

use super::process::WatchingProcess;
use super::rules::RecordedParts;

/// Where the recordings are, in the folder of the rule.
const RECORDINGS: &str = "recordings";
/// Where the tables are.
const TABLES: &str = "tables";

/// How often the folder is looked at. That takes longer the more files it has.
const LOOK: Duration = Duration::from_secs(5);

/// How long to wait after tables could not be written.
const AGAIN: Duration = Duration::from_secs(60);

/// The folder to record in.
pub(super) fn recordings(parts: &RecordedParts) -> PathBuf {
    parts.folder.join(RECORDINGS)
}

/// Takes care of the parts of a rule.
#[derive(Debug, Default)]
pub(super) struct PartKeeper {
    /// Makes tables of a part.
    tabulating: Option<(PathBuf, WatchingProcess)>,
    /// When tables may be tried again.
    again: Option<Instant>,
    /// When the folder is looked at next; `None` if it was not yet.
    due: Option<Instant>,
    /// The CPU time of what has ended.
    cpu: Duration,
    pub(super) totals: PartCounts,
}

/// What became of parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PartCounts {
    /// How many became tables.
    pub(super) tabulated: u64,
    /// How often that failed.
    pub(super) failed: u64,
    /// How many were removed because the folder was too large.
    pub(super) removed: u64,
    /// The bytes of all parts that were removed so.
    pub(super) removed_bytes: u64,
    /// The bytes that are there.
    pub(super) bytes: u64,
}

impl PartKeeper {
    /// The CPU time that it has used.
    pub(super) fn cpu(&self) -> Duration {
        self.cpu + self.tabulating.as_ref().map_or(Duration::ZERO, |(_, process)| process.cpu)
    }

    /// Looks at the parts, and makes tables of the next one if `goes_on`. Returns lines for people.
    pub(super) fn look(&mut self, parts: &RecordedParts, goes_on: bool) -> Vec<String> {
        let mut lines = self.finish_tables();
        if self.due.is_some_and(|when| Instant::now() < when) {
            return lines;
        }
        self.due = Some(Instant::now() + LOOK);
        if goes_on
            && parts.as_parquet
            && self.tabulating.is_none()
            && self.again.is_none_or(|when| Instant::now() >= when)
        {
            if let Some(part) = complete(&recordings(parts)).into_iter().next() {
                match self.begin_tables(&part, parts) {
                    Ok(process) => self.tabulating = Some((part, process)),
                    Err(why) => {
                        self.again = Some(Instant::now() + AGAIN);
                        lines.push(format!("{}: tables cannot be written: {why}", part.display()));
                    }
                }
            }
        }
        self.remove_oldest(parts);
        lines
    }

    /// Whether no tables are being made.
    pub(super) fn is_idle(&self) -> bool {
        self.tabulating.is_none()
    }

    fn begin_tables(&self, part: &Path, parts: &RecordedParts) -> std::io::Result<WatchingProcess> {
        let tables = parts.folder.join(TABLES);
        fs::create_dir_all(&tables)?;
        // What was not complete when a process was killed.
        for hidden in folders(&tables).iter().filter(|path| is_hidden(path)) {
            fs::remove_dir_all(hidden)?;
        }
        let name = part.file_name().unwrap_or_default();
        let arguments = ["report".into(), "--to".into(), "parquet".into(), "--force".into(), "-o".into()];
        let paths = [tables.join(name).into_os_string(), part.as_os_str().to_owned()];
        WatchingProcess::start(&arguments.into_iter().chain(paths).collect::<Vec<_>>(), false)
    }

    fn finish_tables(&mut self) -> Vec<String> {
        let Some((part, process)) = &mut self.tabulating else { return Vec::new() };
        let status: ExitStatus = match process.poll() {
            Ok(None) | Err(_) => return Vec::new(),
            Ok(Some(status)) => status,
        };
        let mut lines: Vec<String> = process.last_lines().into();
        self.cpu += process.cpu;
        match status.success() {
            true => {
                self.totals.tabulated += 1;
                // Its hits are in the tables.
                if let Err(why) = fs::remove_dir_all(&*part) {
                    lines.push(format!("{}: {why}", part.display()));
                }
                lines.clear();
            }
            false => {
                self.totals.failed += 1;
                self.again = Some(Instant::now() + AGAIN);
            }
        }
        // The next part may be waiting.
        (self.tabulating, self.due) = (None, None);
        lines
    }

    /// Removes the oldest complete parts while the folder is too large.
    fn remove_oldest(&mut self, parts: &RecordedParts) {
        let busy = self.tabulating.as_ref().map(|(part, _)| part.clone());
        let tables = || folders(&parts.folder.join(TABLES)).into_iter();
        let recordings = complete(&recordings(parts)).into_iter().filter(|part| Some(part) != busy.as_ref());
        // The names are times. Tables are older than the recordings.
        let removable: Vec<PathBuf> = tables().filter(|path| !is_hidden(path)).chain(recordings).collect();
        let mut bytes = size(&parts.folder);
        for part in removable {
            if parts.keep.is_none_or(|keep| bytes <= keep) {
                break;
            }
            let of = size(&part);
            if fs::remove_dir_all(&part).is_ok() {
                bytes = bytes.saturating_sub(of);
                self.totals.removed += 1;
                self.totals.removed_bytes += of;
            }
        }
        self.totals.bytes = bytes;
    }
}

/// The recordings in a folder that have ended, the oldest first.
fn complete(folder: &Path) -> Vec<PathBuf> {
    let mut parts = folders(folder);
    parts.retain(|part| part.join(ctf::END).is_file());
    parts
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    paths.sort();
    paths
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// The bytes of the files in a folder and below.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_complete_parts_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let parts = RecordedParts {
            folder: folder.path().to_owned(),
            every: Duration::from_secs(1),
            keep: Some(250),
            as_parquet: false,
        };
        let part = |name: &str, is_complete: bool| {
            let at = recordings(&parts).join(name);
            fs::create_dir_all(at.join(ctf::FOLDER)).expect("a folder");
            fs::write(at.join("stream"), [0; 100]).expect("a file");
            if is_complete {
                fs::write(at.join(ctf::END), "").expect("a file");
            }
        };
        for (name, is_complete) in [("1", true), ("2", true), ("3", true), ("4", false)] {
            part(name, is_complete);
        }
        let mut keeper = PartKeeper::default();
        assert_eq!(keeper.look(&parts, true), [""; 0]);
        let left: Vec<_> = folders(&recordings(&parts))
            .into_iter()
            .filter_map(|path| path.file_name()?.to_str().map(str::to_owned))
            .collect();
        assert_eq!(left, ["3", "4"]);
        assert_eq!(keeper.totals, PartCounts { removed: 2, removed_bytes: 200, bytes: 200, ..PartCounts::default() });
        // What is being recorded stays, however large it is.
        let parts = RecordedParts { keep: Some(0), ..parts };
        keeper.due = None;
        keeper.look(&parts, true);
        assert_eq!(folders(&recordings(&parts)).len(), 1);
    }
}
