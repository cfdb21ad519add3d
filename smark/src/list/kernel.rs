//! `smark list --kernel`: the events of the running kernel.

use std::io::{self, BufWriter, Write as _};

use serde_json::{Value as Json, json};
use simple_markers_events::{Field, Format, PrintError, Printer};
use simple_markers_resolver::report::TextLayout;
use simple_markers_resolver::report::list::{self, Event, NO_FUNCTION};
use simple_markers_resolver::select::{Field as Name, Fields, Selection, UnmatchedPattern};
use simple_markers_tracer::sys::{EventName, KernelEvents};

use crate::console::{Console, Status};
use crate::inputs::suggested;
use crate::watch::without_tracefs;

/// The version of the fields. Fields may be added to a version, but not changed.
const SCHEMA: u32 = 1;

/// The events of the kernel that are selected, and whether each pattern matches one. A pattern for names
/// matches `SUBSYSTEM:NAME` or the name alone.
fn select(console: &Console, events: &KernelEvents, selection: &Selection) -> anyhow::Result<(Vec<EventName>, Status)> {
    let names = events.names().map_err(|why| without_tracefs(&why))?;
    let forms: Vec<[String; 2]> = names.iter().map(|(group, name)| [format!("{group}:{name}"), name.clone()]).collect();
    let (mut chosen, mut all) = (Vec::new(), Vec::new());
    for (event, forms) in names.iter().zip(&forms) {
        if forms.iter().any(|form| selection.matches_fields(&fields(event, form))) {
            chosen.push(event.clone());
        }
        all.extend(forms.iter().map(|form| fields(event, form)));
    }
    let unmatched = selection.unmatched_fields(&all);
    for UnmatchedPattern { field, pattern, closest } in &unmatched {
        let what = if *field == Name::Name { "event" } else { "subsystem" };
        console.error(&format!("no {what} matches `{pattern}`{}", suggested(closest)));
    }
    let is_empty = chosen.is_empty() && !selection.is_empty();
    if unmatched.is_empty() && is_empty {
        console.error("no event matches all the patterns");
    }
    let status = if is_empty || !unmatched.is_empty() { Status::NoMatch } else { Status::Done };
    Ok((chosen, status))
}

fn fields<'a>((group, _): &'a EventName, name: &'a str) -> Fields<'a> {
    Fields { module: group, function: NO_FUNCTION, source_function: None, name }
}

/// Prints the selected events: as a table, or as JSON if there is no layout.
pub(super) fn list(console: &Console, selection: &Selection, layout: Option<TextLayout>) -> anyhow::Result<Status> {
    let events = KernelEvents::open().map_err(|why| without_tracefs(&why))?;
    let (chosen, status) = select(console, &events, selection)?;
    let names = events.kernel_names();
    let mut formats = Vec::new();
    for (group, name) in &chosen {
        // Its module or its probe may be gone by now.
        let Ok(format) = events.format(group, name) else { continue };
        let printer = Printer::new(&format, &names);
        formats.push((format, printer));
    }
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    match layout {
        Some(layout) => {
            let rows: Vec<Event> = formats.iter().map(|(format, printer)| row(format, printer)).collect();
            list::write_events(&mut out, &rows, layout)?;
        }
        None => {
            let events: Vec<_> = formats.iter().map(|(format, printer)| object(format, printer)).collect();
            let tool = json!({ "name": "smark", "version": env!("CARGO_PKG_VERSION") });
            let document = json!({ "schema": SCHEMA, "tool": tool, "events": events });
            serde_json::to_writer_pretty(&mut out, &document)?;
            writeln!(out)?;
        }
    }
    out.flush()?;
    Ok(status)
}

/// Why an event cannot be printed is its description.
fn row(format: &Format, printer: &Result<Printer, PrintError>) -> Event {
    let description = match printer {
        Ok(printer) => printer.description(format),
        Err(why) => format!("<{why}>"),
    };
    Event {
        id: format.id.into(),
        module: format.group.clone(),
        name: format.name.clone(),
        description,
        fields: own_fields(format).map(|field| (field.of.clone(), declared(field))).collect(),
    }
}

/// The fields that not every event has.
fn own_fields(format: &Format) -> impl Iterator<Item = &Field> {
    format.fields.iter().filter(|field| !field.name.starts_with("common_"))
}

/// The number of elements of an array whose data are in the field itself.
fn length(field: &Field) -> Option<u32> {
    field.size.checked_div(field.element).filter(|_| field.is_array && !field.is_dynamic())
}

/// The name with the length of an array, as C declares it.
fn declared(field: &Field) -> String {
    length(field).map_or_else(|| field.name.clone(), |length| format!("{}[{length}]", field.name))
}

fn object(format: &Format, printer: &Result<Printer, PrintError>) -> Json {
    let field = |field: &Field| {
        let Field { name, of, offset, size, is_signed, .. } = field;
        let length = length(field);
        json!({ "name": name, "type": of, "length": length, "offset": offset, "size": size, "signed": is_signed })
    };
    json!({
        "id": format.id,
        "subsystem": format.group,
        "name": format.name,
        "description": printer.as_ref().ok().map(|printer| printer.description(format)),
        "fields": format.fields.iter().map(field).collect::<Vec<_>>(),
        "print_fmt": format.print,
        "why": printer.as_ref().err().map(ToString::to_string),
    })
}
