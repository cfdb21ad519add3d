//! The table of columns: a row for each column of each marker, with what it means.

use std::path::Path;

use simple_markers_tracer::plan::Plan;

use super::about::verdict;
use super::cell::{Cell, Column, ColumnType, INT32};
use super::folder::COLUMNS;
use super::layout::{SiteTexts, TableLayout};
use super::small_table;

/// Writes the file of a recording.
pub(super) fn write<'t>(
    folder: &Path,
    recording: &str,
    plan: &Plan,
    tables: impl Iterator<Item = &'t TableLayout>,
) -> anyhow::Result<()> {
    let columns = [
        Column::required("recording", ColumnType::Text),
        Column::required("marker", ColumnType::Text),
        Column::required("position", INT32),
        Column::required("column", ColumnType::Text),
        Column::optional("argument", ColumnType::Text),
        Column::required("meaning", ColumnType::Text),
        Column::required(
            "sites",
            ColumnType::texts(&["build_id", "site", "function", "source", "format", "verdict", "why"]),
        ),
    ];
    let rows = tables.flat_map(|layout| {
        layout.meanings().enumerate().map(move |(position, (column, meaning, argument))| {
            let of = argument.and_then(|argument| Some((argument, layout.arguments.get(argument)?)));
            let about = |(argument, _)| layout.sites().filter_map(move |site| about_site(plan, site, argument));
            vec![
                Cell::owned(recording.to_owned()),
                Cell::owned(layout.marker.to_string()),
                Cell::Integer(position as i128),
                Cell::owned(column.to_owned()),
                of.map_or(Cell::Null, |(_, argument)| Cell::owned(argument.text.to_string())),
                Cell::owned(meaning.to_owned()),
                Cell::List(of.into_iter().flat_map(about).collect()),
            ]
        })
    });
    small_table::write(&folder.join(COLUMNS), recording, &columns, rows)
}

/// What a site says of an argument; `None` if it does not have the argument.
fn about_site(plan: &Plan, (number, texts): (usize, &SiteTexts), position: usize) -> Option<Cell<'static>> {
    let site = plan.sites.get(number)?;
    let own = texts.arguments.iter().position(|it| *it == position)?;
    let (verdict, why) = verdict(site.own_arguments().get(own)?);
    let format = &plan.markers.get(site.marker)?.format;
    let maybe = |text: Option<&str>| text.map_or(Cell::Null, |text| Cell::owned(text.to_owned()));
    Some(Cell::Group(vec![
        maybe(texts.build_id.as_deref()),
        Cell::owned(texts.address.clone()),
        maybe(texts.function.as_deref()),
        Cell::owned(texts.source.clone()),
        Cell::owned(format.to_string()),
        Cell::owned(verdict.to_owned()),
        why.map_or(Cell::Null, Cell::owned),
    ]))
}
