//! A shell script that runs `perf probe` for each site (perf-probe(1), "PROBE SYNTAX"). With `-D` it
//! prints the same definitions as the export for `uprobe_events`.
//!
//! `perf probe` has no syntax for a switch. It takes a number for an address or for a file offset,
//! depending on its version, and looks up a name in the debug information, where the part of a split
//! function has the name of the whole. So where the two numbers differ, and for probes, the script itself
//! writes the definition to `uprobe_events`, where perf finds it.

use super::plan::{PlanEntry, Point};
use super::{ExportError, Tool, Writer, uprobe};
use crate::location::Processor;

const MARK: &str = "#";

/// The longest line, in bytes. `perf` writes it to `uprobe_events`, with the path.
const LINE: usize = 3900;

/// Adds a definition, or prints it with `-D`.
const DEFINE: &str = "\
define() {
    if [ \"$do\" = -D ]; then printf '%s\\n' \"$1\"; return; fi
    for at in /sys/kernel/tracing /sys/kernel/debug/tracing; do
        if [ -e $at/uprobe_events ]; then printf '%s\\n' \"$1\" >> $at/uprobe_events; return; fi
    done
    echo 'tracefs is not mounted' >&2; return 1
}";

pub(super) fn write(writer: &mut Writer<'_>, planned: &[PlanEntry<'_>]) -> Result<(), ExportError> {
    if writer.path.contains(char::is_control) {
        return Err(ExportError::ControlCharacters);
    }
    if writer.path.contains([' ', ':', '#', '(']) {
        return Err(ExportError::Path(Tool::Perf));
    }
    writer.line("#!/bin/sh");
    writer.heading(
        MARK,
        &["As root: sh THIS; with -D the definitions are only shown, -d takes them away: perf probe -d 'GROUP:*'"],
    );
    writer.line("");
    writer.line("set -e");
    writer.line("[ \"$1\" = -D ] && do=-D || do=--add");
    let is_direct = |point: &Point<'_>| point.switch.is_some() || point.address.0 != point.offset.0;
    if planned.iter().any(|planned| matches!(planned, PlanEntry::Point(point) if is_direct(point))) {
        uprobe::check_path(writer.path)?;
        writer.comment(
            MARK,
            "perf probe has no syntax for the switch of a probe, and none for an address that all versions know.",
        );
        writer.line(DEFINE);
    }
    let processor = Processor::of(writer.image.arch);
    writer.each(MARK, planned, &mut |writer, point| {
        uprobe::say_whole_texts(writer, MARK, point);
        if is_direct(point) {
            let (definition, left_out) = uprobe::definition(point, writer.path, processor);
            for (argument, why) in left_out {
                writer.without(MARK, &argument, &why);
            }
            writer.line(&format!("define {}", quoted(&definition)));
            return Ok(());
        }
        let (arguments, left_out) = uprobe::arguments(point, processor, LINE.saturating_sub(writer.path.len()));
        for (argument, why) in left_out {
            writer.without(MARK, &argument, &why);
        }
        let mut definition = format!("{}:{}={}", point.group, point.event, point.address);
        for argument in arguments {
            definition.push(' ');
            definition.push_str(&argument);
        }
        let line = format!("perf probe -q -x {} \"$do\" {}", quoted(writer.path), quoted(&definition));
        writer.line(&line);
        Ok(())
    });
    Ok(())
}

/// `text` quoted as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
