//! The processes of several machines in one table.

use simple_markers_top::{Process, ReceivedInterval, Table};

use super::receive::ReceiveOptions;
use super::text;
use crate::units::clock;

/// The most columns of a host's name.
const WIDTH: usize = 24;

/// A table of what several machines sent, each row with the name of the machine in front.
pub(super) fn text<'a>(
    received: impl Iterator<Item = &'a ReceivedInterval> + Clone,
    options: ReceiveOptions,
) -> String {
    let hosts = received.clone().map(|it| it.host.chars().count());
    let width = hosts.max().unwrap_or(0).clamp("HOST".len(), WIDTH);
    let has_hits = received.clone().any(|it| text::has_hits(&it.table));
    let mut rows: Vec<(&ReceivedInterval, &Process)> =
        received.clone().flat_map(|it| it.table.processes.iter().map(move |process| (it, process))).collect();
    rows.sort_by_cached_key(|(it, process)| (options.sort.key(&process.usage, &process.name, process.pid), it.sender));
    rows.truncate(options.most.unwrap_or(usize::MAX));
    let mut text = format!("{:<width$} {}\n", "HOST", text::heading(has_hits));
    for (it, process) in rows {
        let mut table = Table { interval: it.table.interval, processes: vec![process.clone()], ..Table::default() };
        options.sort.sort(&mut table);
        for line in text::lines(&table, options.view, has_hits) {
            text.push_str(&format!("{} {}\n", host(it, width), line.text));
        }
    }
    for it in received {
        if let Some(others) = it.others.filter(|others| others.processes > 0) {
            let cpu = clock(others.usage.cpu);
            text.push_str(&format!("{} {} other processes used {cpu}\n", host(it, width), others.processes));
        }
        if it.missing > 0 {
            text.push_str(&format!("{} {} datagrams of this interval are missing\n", host(it, width), it.missing));
        }
    }
    text
}

/// The name of a machine in its column.
fn host(it: &ReceivedInterval, width: usize) -> String {
    let name: String = it.host.chars().take(width).collect();
    format!("{name:<width$}")
}
