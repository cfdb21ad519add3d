//! What a process that watches for `smark agent` tells it: a line of JSON every so often, on the socket that is its
//! standard input.

use std::io::{self, ErrorKind, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

/// How often it tells. It is woken for that.
const EVERY: Duration = Duration::from_secs(2);

/// What became of the hits so far. Those that are neither delivered nor dropped are on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HitTally {
    pub(crate) hits: u64,
    /// How many are in a count, a recording or an output.
    pub(crate) delivered: u64,
    pub(crate) dropped: u64,
}

impl HitTally {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            hits: self.hits.saturating_add(other.hits),
            delivered: self.delivered.saturating_add(other.delivered),
            dropped: self.dropped.saturating_add(other.dropped),
        }
    }
}

/// A line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AgentReport {
    pub(crate) tally: HitTally,
    /// How many sites have probes.
    pub(crate) sites: u64,
    /// Whether there are no more hits, and no line follows.
    pub(crate) is_last: bool,
}

impl AgentReport {
    /// The last one: what is on its way now gets nowhere.
    pub(crate) fn last(tally: HitTally, sites: u64) -> Self {
        let dropped = tally.hits.saturating_sub(tally.delivered).max(tally.dropped);
        Self { tally: HitTally { dropped, ..tally }, sites, is_last: true }
    }

    fn line(&self) -> String {
        let Self { tally: HitTally { hits, delivered, dropped }, sites, is_last } = self;
        format!(
            "{}\n",
            json!({ "hits": hits, "delivered": delivered, "dropped": dropped, "sites": sites, "last": is_last })
        )
    }

    /// Reads a line; `None` if it is none.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let object: Json = serde_json::from_str(line).ok()?;
        let number = |name: &str| object.get(name)?.as_u64();
        let tally = HitTally { hits: number("hits")?, delivered: number("delivered")?, dropped: number("dropped")? };
        Some(Self { tally, sites: number("sites")?, is_last: object.get("last")?.as_bool()? })
    }
}

/// The socket of the agent.
pub(crate) struct AgentSocket {
    stream: UnixStream,
    due: Instant,
}

impl AgentSocket {
    /// Takes the standard input.
    pub(crate) fn of_stdin() -> io::Result<Self> {
        let stream = UnixStream::from(rustix::io::dup(rustix::stdio::stdin())?);
        stream.set_nonblocking(true)?;
        Ok(Self { stream, due: Instant::now() })
    }

    /// How long it is until the next line.
    pub(crate) fn due_in(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Writes a line. A line for which there is no room is left out, unless it is the last one.
    ///
    /// # Errors
    ///
    /// The agent is gone.
    pub(crate) fn tell(&mut self, report: &AgentReport) -> io::Result<()> {
        self.due = Instant::now() + EVERY;
        if report.is_last {
            self.stream.set_nonblocking(false)?;
            self.stream.set_write_timeout(Some(EVERY))?;
        }
        // A line is far smaller than the buffer of a socket, so it is written whole or not at all.
        match self.stream.write(report.line().as_bytes()) {
            Err(why) if why.kind() == ErrorKind::WouldBlock => Ok(()),
            result => result.map(|_| ()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_back() {
        let tally = HitTally { hits: u64::MAX, delivered: 7, dropped: 3 };
        let report = AgentReport { tally, sites: 2, is_last: true };
        assert_eq!(AgentReport::read(&report.line()), Some(report));
        for wrong in ["", "{}", "[1]", r#"{"hits":-1,"delivered":0,"dropped":0,"sites":0,"last":false}"#] {
            assert_eq!(AgentReport::read(wrong), None, "{wrong}");
        }
    }
}
