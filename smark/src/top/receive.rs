//! `--receive`: shows what other machines send.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value as Json, json};
use simple_markers_top::{Key, ReceivedInterval, Receiver, Sender, Tally};
use simple_markers_tracer::sys::{now, signals};

use super::listen::Listener;
use super::metrics::Server;
use super::order::Sort;
use super::text::View;
use super::together;
use crate::console::Console;
use crate::end;

/// How the received intervals are shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveOptions {
    /// What the rows are sorted by.
    pub(crate) sort: Sort,
    /// How many rows a table has.
    pub(crate) most: Option<usize>,
    pub(super) view: View,
    /// How often a table is printed.
    pub(crate) every: Duration,
    /// End after this many intervals of all senders.
    pub(crate) limit: Option<u64>,
    /// Print a line of JSON for each interval.
    pub(crate) json: bool,
    /// Print nothing.
    pub(crate) silent: bool,
}

/// Receives and prints until the user ends it.
pub(crate) fn run(
    mut listener: Listener,
    server: Option<Server>,
    options: ReceiveOptions,
    console: &Console,
) -> anyhow::Result<ExitCode> {
    console.note(&format!("receiving at {}", listener.address()?));
    let every = u64::try_from(options.every.as_nanos()).unwrap_or(u64::MAX);
    let mut due = now().saturating_add(every);
    let (latest, lost, measured) = (BTreeMap::new(), BTreeMap::new(), now());
    let mut shown = TableView { options, server, measured, left: options.limit, latest, lost };
    while shown.left != Some(0) && !signals::is_stopped() {
        listener.until(due, console, &mut |receiver, received| shown.take(receiver, received))?;
        shown.print(&listener.receiver, console)?;
        // After a pause of the whole machine, the intervals start again.
        due = due.max(now().saturating_sub(every)).saturating_add(every);
    }
    if shown.left != Some(0) {
        listener.rest(console, &mut |receiver, received| shown.take(receiver, received))?;
    }
    for received in listener.receiver.rest() {
        shown.take(&listener.receiver, received)?;
    }
    shown.print(&listener.receiver, console)?;
    shown.end(&listener.receiver, console)?;
    Ok(ExitCode::SUCCESS)
}

/// What is shown.
struct TableView {
    options: ReceiveOptions,
    server: Option<Server>,
    /// When an interval was last added to the metrics.
    measured: u64,
    /// How many intervals may still come.
    left: Option<u64>,
    /// The last interval of each sender that is not printed yet.
    latest: BTreeMap<Key, ReceivedInterval>,
    /// How many datagrams of each sender were lost when it was last said.
    lost: BTreeMap<Key, u64>,
}

impl TableView {
    /// Takes an interval. Returns whether more may come.
    fn take(&mut self, receiver: &Receiver, received: ReceivedInterval) -> anyhow::Result<bool> {
        if self.left == Some(0) {
            return Ok(false);
        }
        self.left = self.left.map(|left| left - 1);
        if let Some(server) = &self.server {
            let time = now();
            server.add(Some(&received.host), &received.table, time.saturating_sub(self.measured));
            self.measured = time;
        }
        if self.options.json {
            let tally = receiver.sender(received.sender).map(Sender::tally).unwrap_or_default();
            let mut out = io::stdout().lock();
            writeln!(out, "{}", line(&received, tally))?;
            out.flush()?;
        } else if !self.options.silent {
            self.latest.insert(received.sender, received);
        }
        Ok(self.left != Some(0))
    }

    /// Prints what came since the last time, and says what was lost.
    fn print(&mut self, receiver: &Receiver, console: &Console) -> anyhow::Result<()> {
        self.lost.retain(|key, _| receiver.sender(*key).is_some());
        for sender in receiver.senders() {
            let (lost, said) = (sender.tally().lost, self.lost.entry(sender.key).or_default());
            if lost > *said {
                console.note(&format!("{}: {} datagrams were lost", title(sender), lost - *said));
            }
            // Late datagrams are no longer lost.
            *said = lost;
        }
        let latest = std::mem::take(&mut self.latest);
        if !latest.is_empty() {
            let mut out = io::stdout().lock();
            writeln!(out, "{}", together::text(latest.values(), self.options))?;
            out.flush()?;
        }
        Ok(())
    }

    /// Says what arrived altogether.
    fn end(&self, receiver: &Receiver, console: &Console) -> io::Result<()> {
        if self.options.json {
            let senders: Vec<Json> = receiver.senders().iter().map(described).collect();
            let refused = receiver.refused();
            let refused = json!({
                "too_long": refused.too_long, "version": refused.version, "malformed": refused.malformed,
                "contradiction": refused.contradiction, "too_many_senders": refused.too_many_senders,
            });
            let mut end = json!({ "senders": senders, "refused": refused });
            add(&mut end, receiver.tally());
            return end::write(&mut io::stdout().lock(), end);
        }
        for sender in receiver.senders() {
            console.note(&format!("{}: {}", title(sender), counts(sender.tally())));
        }
        let refused = receiver.refused().sum();
        if refused > 0 {
            console.note(&format!("{refused} datagrams were refused"));
        }
        Ok(())
    }
}

/// The line of JSON for an interval.
fn line(received: &ReceivedInterval, tally: Tally) -> Json {
    let mut line = received.table.json();
    line["sender"] = sender(received.sender, &received.host);
    line["number"] = received.number.into();
    line["missing_parts"] = received.missing.into();
    if let Some(others) = &received.others {
        line["others"] = others.json();
    }
    add(&mut line, tally);
    line
}

fn sender(key: Key, host: &str) -> Json {
    json!({ "host": host, "run": format!("{:016x}", key.run), "address": key.address.to_string() })
}

fn described(it: &Sender) -> Json {
    let mut object = sender(it.key, &it.host);
    object["ended"] = it.has_ended.into();
    add(&mut object, it.tally());
    object
}

/// Adds the counts of datagrams.
fn add(object: &mut Json, tally: Tally) {
    object["received"] = tally.received.into();
    object["lost"] = tally.lost.into();
    object["before"] = tally.before.into();
    object["repeated"] = tally.repeated.into();
    object["late"] = tally.late.into();
}

/// A sender in a message.
fn title(sender: &Sender) -> String {
    format!("{} ({})", sender.host, sender.key.address)
}

/// The counts of a sender in a message.
fn counts(tally: Tally) -> String {
    let Tally { received, lost, before, repeated, late } = tally;
    let mut text = format!("{received} datagrams received, {lost} lost");
    for (count, what) in [(before, "sent before"), (repeated, "repeated"), (late, "late")] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    text
}
