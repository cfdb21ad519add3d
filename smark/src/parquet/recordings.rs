//! The table of recordings: a row for each.

use std::path::Path;

use simple_markers_tracer::ctf::Description;

use super::cell::{Cell, Column, ColumnType, INT32, INT64};
use super::end::DataSetEnd;
use super::folder::RECORDINGS;
use super::layout::{RowOrigin, wall_time};
use super::small_table;

/// Writes the file of a recording of which `hits` are in the data set, the last one at `last` by
/// the clock of the recording.
pub(super) fn write(
    folder: &Path,
    description: &Description,
    origin: &RowOrigin,
    end: &DataSetEnd,
    hits: u64,
    last: Option<u64>,
) -> anyhow::Result<()> {
    let integer = |number: u64| Cell::Integer(number.into());
    let program = description.origin.as_ref().and_then(|origin| origin.program.as_deref());
    let images = description
        .images
        .iter()
        .map(|image| Cell::Group(vec![Cell::text(&image.path), Cell::maybe(image.build_id.as_deref())]));
    let left_out = description
        .left_out
        .iter()
        .map(|it| Cell::Group(vec![Cell::text(&it.marker), Cell::text(&it.place), Cell::text(&it.why)]));
    let row = [
        (Column::required("recording", ColumnType::Text), Cell::text(&origin.recording)),
        (Column::optional("host", ColumnType::Text), Cell::maybe(origin.host.as_deref())),
        (Column::optional("boot", ColumnType::Text), Cell::maybe(origin.boot.as_deref())),
        (Column::optional("program", ColumnType::Text), Cell::maybe(program)),
        (Column::required("tool", ColumnType::Text), Cell::text(&description.tool)),
        (Column::required("started", ColumnType::Time), Cell::Integer(wall_time(description.start, origin).into())),
        (
            Column::optional("ended", ColumnType::Time),
            last.map_or(Cell::Null, |last| Cell::Integer(wall_time(last, origin).into())),
        ),
        (Column::required("clock_offset", INT64), integer(description.clock_offset)),
        (Column::required("hits", INT64), integer(hits)),
        (Column::required("lost", INT64), integer(end.lost)),
        (Column::required("is_complete", ColumnType::Boolean), Cell::Boolean(end.is_complete)),
        (Column::optional("exit", INT32), end.exit.map_or(Cell::Null, |exit| Cell::Integer(exit.into()))),
        (Column::optional("stopped", ColumnType::Text), Cell::maybe(end.stopped.as_deref())),
        (Column::required("images", ColumnType::texts(&["path", "build_id"])), Cell::List(images.collect())),
        (Column::required("left_out", ColumnType::texts(&["marker", "place", "why"])), Cell::List(left_out.collect())),
    ];
    let (columns, cells): (Vec<Column>, Vec<Cell<'_>>) = row.into_iter().unzip();
    small_table::write(&folder.join(RECORDINGS), &origin.recording, &columns, std::iter::once(cells))
}
