//! A table: the hits of the markers of one name, in files by the hour.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::Context as _;
use parquet::schema::types::TypePtr;
use simple_markers_tracer::Hit;
use simple_markers_tracer::function_names::FunctionNames;

use super::file::{TableFile, schema};
use super::layout::{RowOrigin, TableLayout, wall_time};
use super::rows::RowBuffer;

/// The most rows of a row group.
const ROWS: usize = 1 << 18;

/// The most bytes of a row group without encoding.
const GROUP: usize = 64 << 20;

/// After how many rows their bytes are counted.
const OFTEN: usize = 16;

/// Bytes of the end of a file, and of a column of a row group in it.
const END: usize = 16 << 10;
const END_OF_COLUMN: usize = 512;

/// A table that is written.
pub(super) struct Table {
    pub(super) layout: TableLayout,
    schema: TypePtr,
    folder: PathBuf,
    rows: RowBuffer,
    /// The hour of the rows since the start of 1970, and the time of the last one.
    hour: i64,
    last: i64,
    file: Option<TableFile>,
    row_groups: usize,
    /// How many files each hour has.
    parts: BTreeMap<i64, u32>,
    /// What its files say about themselves.
    about: String,
    /// The most bytes of a file.
    most: usize,
    /// How many files it has, and their bytes.
    pub(super) files: u64,
    pub(super) bytes: u64,
}

impl Table {
    pub(super) fn new(layout: TableLayout, folder: PathBuf, about: String, most: usize) -> anyhow::Result<Self> {
        let schema = schema(&layout.columns).with_context(|| folder.display().to_string())?;
        let rows = RowBuffer::new(&layout.columns);
        let (file, parts) = (None, BTreeMap::new());
        Ok(Self {
            layout,
            schema,
            folder,
            rows,
            hour: i64::MIN,
            last: i64::MIN,
            file,
            row_groups: 0,
            parts,
            about,
            most,
            files: 0,
            bytes: 0,
        })
    }

    /// Adds a hit.
    pub(super) fn add(
        &mut self,
        hit: &Hit<'_>,
        origin: &RowOrigin,
        functions: &dyn FunctionNames,
    ) -> anyhow::Result<()> {
        const HOUR: i64 = 3_600_000_000_000;
        let time = wall_time(hit.time, origin);
        let hour = time.div_euclid(HOUR);
        // The rows of a file are in the order of their times.
        if hour != self.hour || time < self.last {
            self.finish(origin)?;
            self.hour = hour;
        }
        self.last = time;
        // Each hit is at a site of the table.
        let _ = self.layout.add(&mut self.rows, hit, origin, functions);
        let is_full = || self.rows.count % OFTEN == 0 && self.rows.size() >= GROUP.min(self.most / 4);
        if self.rows.count >= ROWS || is_full() {
            self.flush(origin)?;
        }
        Ok(())
    }

    /// The bytes that are kept.
    pub(super) fn size(&self) -> usize {
        self.rows.size()
    }

    /// Writes the rows as a row group.
    pub(super) fn flush(&mut self, origin: &RowOrigin) -> anyhow::Result<()> {
        if self.rows.count == 0 {
            return Ok(());
        }
        let end = END + self.about.len() + (self.row_groups + 1) * self.rows.leaves.len() * END_OF_COLUMN;
        if self.file.as_ref().is_some_and(|file| file.size() + self.rows.size() + end > self.most) {
            self.close()?;
        }
        let file = match &mut self.file {
            Some(file) => file,
            file => {
                let path = self.folder.join(hour_name(self.hour));
                fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
                let part = self.parts.entry(self.hour).or_default();
                let path = path.join(format!("{}-{part}.parquet", origin.recording));
                *part += 1;
                file.insert(TableFile::create(path, &self.schema, &self.rows, true)?)
            }
        };
        self.row_groups += 1;
        file.write(&mut self.rows)
    }

    fn close(&mut self) -> anyhow::Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let path = file.path().to_owned();
        file.finish(self.about.clone())?;
        self.row_groups = 0;
        self.files += 1;
        self.bytes += fs::metadata(&path).with_context(|| path.display().to_string())?.len();
        Ok(())
    }

    /// Writes what is left, and ends the file.
    pub(super) fn finish(&mut self, origin: &RowOrigin) -> anyhow::Result<()> {
        self.flush(origin)?;
        self.close()
    }
}

/// The name of the folder of an hour, as Hive has it.
fn hour_name(hour: i64) -> String {
    let seconds = u64::try_from(hour).unwrap_or(0).saturating_mul(3600);
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).unwrap_or(UNIX_EPOCH);
    let text = humantime::format_rfc3339_seconds(time).to_string();
    format!("hour={}", text.get(..13).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_have_names() {
        assert_eq!(hour_name(0), "hour=1970-01-01T00");
        assert_eq!(hour_name(498_974), "hour=2026-12-03T14");
    }
}
