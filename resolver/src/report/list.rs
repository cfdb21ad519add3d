//! `list`: a row for each marker and function, like `dtrace -l`.

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::Style;

use super::{TextLayout, Verbosity, style, verbose};
use crate::resolve::{Marker, Row, Survival};
use crate::text::shown;

/// Columns of the ID, as in `dtrace -l`.
const ID: usize = 5;
/// The widest column: one long name must not move all other rows. A wider cell moves only its own
/// row.
const WIDEST: usize = 60;
/// Longer names of functions are shortened, unless more than rows are wanted. The types of a generic one may take
/// thousands of columns.
const LONGEST_FUNCTION: usize = 100;
/// The least width that a description is cut to, in columns.
const LEAST: usize = 12;

/// Writes `rows` as a table with a head. Writes nothing if there is no row.
///
/// # Errors
///
/// Those of `out`.
pub fn write(out: &mut dyn Write, rows: &[Row<'_>], layout: TextLayout) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut widths = [6, 8, 4];
    for row in rows {
        for (column, cell) in widths.iter_mut().zip(cells(row, layout)) {
            *column = (*column).max(style::width(&cell).min(WIDEST));
        }
    }
    let table = MarkerTable { widths, layout };
    table.head(out)?;
    for row in rows {
        let description = shown(&row.marker.description);
        let styles = [style::PLAIN, function_style(row), style::NAME];
        table.row(out, &row.id.to_string(), &cells(row, layout), styles, style::PLAIN, &description)?;
        if layout.verbosity > Verbosity::Rows {
            verbose::write(out, row, layout)?;
        }
    }
    Ok(())
}

/// A row of the table that is not a marker: an event of the kernel. It is in no function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its number.
    pub id: u64,
    /// What it belongs to.
    pub module: String,
    /// Its name.
    pub name: String,
    /// What it says.
    pub description: String,
    /// Lines below the row: the type of each field, and its name.
    pub fields: Vec<(String, String)>,
}

/// What stands in the column FUNCTION for an event.
pub const NO_FUNCTION: &str = "-";

/// Writes events as a table with a head, with the fields below each if more than rows are wanted. Writes
/// nothing if there is no event.
///
/// # Errors
///
/// Those of `out`.
pub fn write_events(out: &mut dyn Write, events: &[Event], layout: TextLayout) -> io::Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let cells =
        |event: &'_ Event| [shown(&event.module).into_owned(), NO_FUNCTION.to_owned(), shown(&event.name).into_owned()];
    let mut widths = [6, 8, 4];
    for event in events {
        for (column, cell) in widths.iter_mut().zip(cells(event)) {
            *column = (*column).max(style::width(&cell).min(WIDEST));
        }
    }
    let table = MarkerTable { widths, layout };
    table.head(out)?;
    for event in events {
        let cells = cells(event).map(Cow::Owned);
        let styles = [style::PLAIN, style::QUIET, style::NAME];
        table.row(out, &event.id.to_string(), &cells, styles, style::PLAIN, &shown(&event.description))?;
        if layout.verbosity > Verbosity::Rows {
            for (of, name) in &event.fields {
                write!(out, "      ")?;
                style::cell(out, layout.colour, style::QUIET, &shown(of), 0)?;
                write!(out, " ")?;
                style::cell(out, layout.colour, style::ARGUMENT, &shown(name), 0)?;
                writeln!(out)?;
            }
        }
    }
    Ok(())
}

/// Module, function and name of a row.
fn cells<'a>(row: &Row<'a>, layout: TextLayout) -> [Cow<'a, str>; 3] {
    let mut function = shown(row.source_function().unwrap_or(row.function));
    if layout.verbosity == Verbosity::Rows && style::width(&function) > LONGEST_FUNCTION {
        function = Cow::Owned(style::shortened(&function, LONGEST_FUNCTION).into_owned());
    }
    let kind = match row.marker {
        Marker { is_probe: true, .. } => Some("probe"),
        Marker { is_ghost: true, .. } => Some("ghost"),
        Marker { is_note: true, .. } => Some("note"),
        Marker { is_mark: true, .. } => Some("mark"),
        _ => None,
    };
    let remark = match (row.copies(), kind) {
        (0 | 1, None) => "",
        (copies, None) => &format!(" (x{copies})"),
        (0 | 1, Some(kind)) => &format!(" ({kind})"),
        (copies, Some(kind)) => &format!(" (x{copies}, {kind})"),
    };
    if !remark.is_empty() {
        function.to_mut().push_str(remark);
    }
    [shown(&row.image.module), function, shown(&row.marker.name)]
}

fn function_style(row: &Row<'_>) -> Style {
    match row.marker.survival {
        Some(Survival::Live) => style::PLAIN,
        Some(Survival::Eliminated | Survival::Discarded) => style::GONE,
        None => style::UNKNOWN,
    }
}

struct MarkerTable {
    widths: [usize; 3],
    layout: TextLayout,
}

impl MarkerTable {
    fn head(&self, out: &mut dyn Write) -> io::Result<()> {
        let head = ["MODULE", "FUNCTION", "NAME"].map(Cow::Borrowed);
        self.row(out, "ID", &head, [style::HEAD; 3], style::HEAD, "DESCRIPTION")
    }

    fn row(
        &self,
        out: &mut dyn Write,
        id: &str,
        cells: &[Cow<'_, str>; 3],
        styles: [Style; 3],
        description_style: Style,
        description: &str,
    ) -> io::Result<()> {
        let colour = self.layout.colour;
        write!(out, "{id:>ID$} ")?;
        let mut used = id.len().max(ID) + 1;
        let [module, function, name] = self.widths;
        // One space separates the last column from the description, as in dtrace.
        let last = if description.is_empty() { 0 } else { name + 1 };
        for ((cell, style), columns) in cells.iter().zip(styles).zip([module + 2, function + 2, last]) {
            style::cell(out, colour, style, cell, columns)?;
            // A cell that fills its column still needs a space before the next one.
            let wide = style::width(cell) >= columns && columns > 0;
            if wide {
                out.write_all(b" ")?;
            }
            used += style::width(cell).max(columns) + usize::from(wide);
        }
        let description = match self.layout.width {
            Some(width) => style::cut(description, width.saturating_sub(used).max(LEAST)),
            None => Cow::Borrowed(description),
        };
        style::cell(out, colour, description_style, &description, 0)?;
        writeln!(out)
    }
}
