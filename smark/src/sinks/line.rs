//! What makes the line of a hit, and the sink that writes one after the other.

use std::io::{BufWriter, Write};
use std::ops::ControlFlow;

use simple_markers_tracer::sys::Session;
use simple_markers_tracer::{Hit, Plan};

use super::sink::{Next, Sink};
use crate::console::Console;
use crate::end::{self, Totals};

/// Makes the line of a hit.
pub(crate) trait HitLine {
    /// The line, or several if its stack is printed. It ends with a newline. Empty if the hit is a part of a later line.
    fn line(&mut self, hit: &Hit<'_>) -> &str;

    /// Says what could not be shown.
    fn tell(&self, console: &Console);
}

/// Writes the line of each hit.
pub(super) struct EachHit<'a> {
    out: BufWriter<Box<dyn Write + 'a>>,
    lines: Box<dyn HitLine>,
    /// Whether the lines are JSON: then one for the end follows.
    is_json: bool,
    /// How many were written.
    hits: u64,
}

impl<'a> EachHit<'a> {
    pub(super) fn new(out: Box<dyn Write + 'a>, lines: Box<dyn HitLine>, is_json: bool) -> Self {
        Self { out: BufWriter::with_capacity(1 << 16, out), lines, is_json, hits: 0 }
    }
}

impl Sink for EachHit<'_> {
    fn hit(&mut self, hit: &Hit<'_>) -> anyhow::Result<ControlFlow<()>> {
        let line = self.lines.line(hit);
        self.out.write_all(line.as_bytes())?;
        self.hits += u64::from(!line.is_empty());
        Ok(ControlFlow::Continue(()))
    }

    fn pause(&mut self, _: &Plan, _: &Session) -> anyhow::Result<Next> {
        self.out.flush()?;
        Ok(Next::Wait)
    }

    fn end(mut self: Box<Self>, console: &Console, totals: &Totals<'_>) -> anyhow::Result<()> {
        if self.is_json {
            end::write_lost(&mut self.out, totals.lost)?;
            end::write(&mut self.out, totals.json(Some(self.hits + totals.lost), None))?;
        }
        self.out.flush()?;
        self.lines.tell(console);
        Ok(())
    }
}
