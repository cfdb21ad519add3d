//! Tables with a row for something of a recording, in one file.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use super::cell::{Cell, Column};
use super::file::{TableFile, schema};
use super::rows::RowBuffer;

/// Writes the file that a recording has in such a table. Each row has a cell for each column.
pub(super) fn write<'c>(
    folder: &Path,
    recording: &str,
    columns: &[Column],
    all: impl Iterator<Item = Vec<Cell<'c>>>,
) -> anyhow::Result<()> {
    let mut rows = RowBuffer::new(columns);
    for row in all {
        let mut leaf = 0;
        for (column, cell) in columns.iter().zip(&row) {
            rows.push(leaf, column, cell);
            leaf += column.of.leaves();
        }
        rows.count += 1;
    }
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let path = folder.join(format!("{recording}.parquet"));
    let schema = schema(columns).with_context(|| path.display().to_string())?;
    let mut file = TableFile::create(path, &schema, &rows, false)?;
    file.write(&mut rows)?;
    file.finish(serde_json::json!({ "version": 1, "tool": env!("CARGO_PKG_VERSION") }).to_string())
}
