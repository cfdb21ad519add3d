//! A table as text.

use simple_markers_resolver::text::shown;
use simple_markers_top::{Table, Usage};

use crate::units::{clock, duration};

/// What is shown of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    /// Whether each process is followed by its threads.
    pub(super) threads: bool,
}

/// A line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    /// Whether the process or thread has ended.
    pub(super) has_ended: bool,
    /// The number of the process; `None` if it is a thread.
    pub(super) process: Option<u32>,
}

/// The names of the columns.
pub(super) fn heading(has_hits: bool) -> String {
    let hits = if has_hits { format!(" {:>10}", "HITS") } else { String::new() };
    format!("{:>8} {:>6} {:>10} {:>9} {:>9}{hits} NAME", "PID", "%CPU", "TIME", "SWITCHES", "WAIT")
}

/// Whether markers are watched.
pub(super) fn has_hits(table: &Table) -> bool {
    table.processes.iter().any(|process| process.hits.is_some())
}

/// A line for each process, and for each thread if they are shown.
pub(super) fn lines(table: &Table, view: View, has_hits: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |number: u32, usage: &Usage, hits: Option<u64>, name: &str, has_ended: bool, is_thread: bool| {
        let hits =
            if has_hits { format!(" {:>10}", hits.map_or(String::new(), |it| it.to_string())) } else { String::new() };
        let end = if has_ended { " (ended)" } else { "" };
        let indent = if is_thread { "  " } else { "" };
        let text = format!(
            "{number:>8} {:>6.2} {:>10} {:>9} {:>9}{hits} {indent}{}{end}",
            share(usage.cpu, table.interval),
            clock(usage.cpu_total),
            usage.switches,
            duration(usage.longest_wait),
            shown(name),
        );
        lines.push(Line { text, has_ended, process: (!is_thread).then_some(number) });
    };
    for process in &table.processes {
        add(process.pid, &process.usage, process.hits, &process.name, process.has_ended, false);
        if view.threads && (process.threads.len() > 1 || process.threads.iter().any(|it| it.tid != process.pid)) {
            for thread in &process.threads {
                add(thread.tid, &thread.usage, None, &thread.name, thread.has_ended, true);
            }
        }
    }
    lines
}

/// The share of one CPU in per cent.
pub(super) fn share(cpu: u64, interval: u64) -> f64 {
    if interval == 0 { 0.0 } else { cpu as f64 * 100.0 / interval as f64 }
}

/// What is missing in the table.
pub(super) fn uncounted(table: &Table) -> String {
    format!(
        "{} switches were not counted: there are more threads than the kernel's table has room for",
        table.uncounted
    )
}

/// The whole table.
pub(super) fn text(table: &Table, view: View) -> String {
    let has_hits = has_hits(table);
    let mut text = heading(has_hits);
    text.push('\n');
    for line in lines(table, view, has_hits) {
        text.push_str(&line.text);
        text.push('\n');
    }
    text
}
