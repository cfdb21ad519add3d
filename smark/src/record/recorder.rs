//! Writes hits to the files of a recording.

use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::Value as Json;
use simple_markers_tracer::ctf::writer::Packet;
use simple_markers_tracer::ctf::{Flight, Writer, metadata::metadata};
use simple_markers_tracer::event::Notes;
use simple_markers_tracer::frames::StackNumbers;
use simple_markers_tracer::sys::{self, Session, signals};
use simple_markers_tracer::{Hit, Plan};

use super::files::{Output, RecordEnd};
use super::parts::Parts;
use crate::agent_report::HitTally;
use crate::console::Console;
use crate::end::Totals;
use crate::hit_stacks::HitStacks as _;
use crate::process_functions::ProcessFunctions;
use crate::sinks::{Next, Sink};
use crate::stacks::Stacks;

/// A packet is written at the latest so many ns after its first event.
const LATEST: u64 = 1_000_000_000;

/// What says how things in hits are called.
pub(super) struct NameSources {
    /// What texts of the kernel's events use.
    pub(super) notes: Notes,
    /// The functions whose addresses values have.
    pub(super) functions: ProcessFunctions,
    /// The frames of stacks; `None` if they are not recorded.
    pub(super) stacks: Option<Stacks>,
}

/// Writes hits to a recording.
pub(super) struct Recorder {
    writer: Writer,
    names: NameSources,
    flight: Option<Flight>,
    output: Output,
    /// Where the next parts of the recording go; `None` if it has no parts.
    parts: Option<Parts>,
    /// Why a part could not begin; `None` if each could.
    unbegun: Option<anyhow::Error>,
    /// What became of the hits of the parts before this one.
    before: PartTotals,
    /// Whether the files have the description as it is.
    is_described: bool,
    until: Option<String>,
    /// Whether the marker was passed at which the recording ends.
    is_over: bool,
    /// How many hits were written to this part.
    recorded: u64,
    /// How many hits could not be written.
    unwritten: u64,
}

/// What became of the hits of parts.
#[derive(Clone, Copy, Debug, Default)]
struct PartTotals {
    /// All, with those that were lost.
    hits: u64,
    lost: u64,
    recorded: u64,
    /// How many were of too many kinds.
    unrecorded: u64,
    /// The bytes of the files.
    bytes: u64,
    parts: u64,
}

impl Recorder {
    /// With a flight recorder, hits are kept there until they are asked for. `until` is the name of the
    /// marker at which the recording ends.
    pub(super) fn new(
        (writer, output): (Writer, Output),
        names: NameSources,
        flight: Option<Flight>,
        parts: Option<Parts>,
        until: Option<String>,
    ) -> Self {
        let mut recorder = Self {
            writer,
            names,
            flight,
            output,
            parts,
            unbegun: None,
            before: PartTotals::default(),
            is_described: false,
            until,
            is_over: false,
            recorded: 0,
            unwritten: 0,
        };
        recorder.describe();
        recorder
    }

    fn keep(&mut self, packet: Packet) {
        match &mut self.flight {
            Some(flight) => flight.add(packet),
            None => {
                self.write(&packet);
                self.writer.reuse(packet);
            }
        }
    }

    /// Writes the packets of the flight recorder. If not all of them may be written, the newest
    /// ones are.
    fn dump(&mut self) {
        let Some(flight) = &mut self.flight else { return };
        let mut packets = flight.take();
        self.describe();
        let mut size: u64 = packets.iter().map(|packet| packet.bytes.len() as u64).sum();
        while size > self.output.left() {
            let Some(oldest) = packets.pop_front() else { break };
            size -= oldest.bytes.len() as u64;
        }
        for packet in packets {
            self.write(&packet);
        }
    }

    /// Writes a packet, and before it what its events mean.
    fn write(&mut self, packet: &Packet) {
        self.describe();
        match self.output.write(&packet.bytes) {
            true => self.recorded += packet.events,
            false => self.unwritten += packet.events,
        }
    }

    /// The stacks of a hit, whose frames become known.
    fn stacks(&mut self, hit: &Hit<'_>) -> StackNumbers {
        let (Some(names), Some(table)) = (&mut self.names.stacks, self.writer.stacks()) else {
            return StackNumbers::default();
        };
        let before = table.sizes();
        let program = names.program(hit).map(|(frames, end)| table.number_program(frames, end));
        let kernel = names.kernel(hit).map(|(frames, is_cut)| table.number_kernel(frames, is_cut));
        if table.sizes() != before {
            self.is_described = false;
        }
        StackNumbers { program, kernel }
    }

    /// Writes what the events mean, if the files do not say it yet.
    fn describe(&mut self) {
        if !self.is_described {
            self.writer.set_kernel(self.names.notes.known());
            let description = self.writer.description();
            self.output.describe(&metadata(description), &description.to_json().to_string());
            self.is_described = true;
        }
    }
}

/// Parts.
impl Recorder {
    /// Whether more can be written, in this part or in a later one.
    fn can_go_on(&self) -> bool {
        self.output.stopped.is_none() || self.parts.is_some()
    }

    /// Writes the last packet of the part, and how it ended.
    fn finish_part(&mut self, received: u64, lost: u64, exit: &Json) {
        self.writer.set_lost(lost.saturating_sub(self.before.lost));
        if let Some(packet) = self.writer.finish() {
            self.keep(packet);
        }
        let hits = (received + lost).saturating_sub(self.before.hits);
        let end = serde_json::json!({
            "hits": hits, "lost": lost.saturating_sub(self.before.lost), "recorded": self.recorded, "exit": exit,
            "stopped": self.output.stopped.as_ref().map(RecordEnd::word),
        });
        // It is the last file: without it the recording was cut off.
        self.output.end(&end.to_string());
    }

    /// Ends the part, and begins the next one.
    fn begin_part(&mut self, plan: &Plan, session: &Session) -> anyhow::Result<()> {
        let (received, lost) = (session.received(), session.lost()?);
        let Some(parts) = &mut self.parts else { return Ok(()) };
        if received + lost == self.before.hits {
            // A part without hits goes on.
            parts.postpone();
            return Ok(());
        }
        let (writer, output) = match parts.begin(plan) {
            Ok(begun) => begun,
            Err(why) => {
                // There is no space for its files: this part goes on.
                self.unbegun = Some(why);
                return Ok(());
            }
        };
        self.finish_part(received, lost, &Json::Null);
        self.before = PartTotals {
            hits: received + lost,
            lost,
            recorded: self.before.recorded + self.recorded,
            unrecorded: self.before.unrecorded + self.writer.unrecorded(),
            bytes: self.before.bytes + self.output.size(),
            parts: self.before.parts + 1,
        };
        (self.writer, self.output) = (writer, output);
        (self.recorded, self.is_described) = (0, false);
        self.describe();
        Ok(())
    }
}

impl Sink for Recorder {
    fn hit(&mut self, hit: &Hit<'_>) -> anyhow::Result<ControlFlow<()>> {
        if self.writer.add(hit.plan) {
            self.is_described = false;
        }
        if self.names.notes.add(hit) {
            self.is_described = false;
        }
        if self.writer.add_functions(hit, &self.names.functions) {
            self.is_described = false;
        }
        let stacks = self.stacks(hit);
        if let Some(packet) = self.writer.write_with(hit, &stacks) {
            self.keep(packet);
        }
        self.is_over = self.until.as_deref() == Some(&*hit.marker.name);
        let wants_more = !self.is_over && self.can_go_on();
        Ok(if wants_more { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    }

    /// Writes what has waited for long, or what a signal asks for.
    fn pause(&mut self, plan: &Plan, session: &Session) -> anyhow::Result<Next> {
        let is_asked = self.flight.is_some() && signals::take_dump();
        let is_old = self.writer.begin().is_some_and(|begin| sys::now().saturating_sub(begin) >= LATEST);
        if is_asked || is_old {
            self.writer.set_lost(session.lost()?.saturating_sub(self.before.lost));
            if let Some(packet) = self.writer.finish() {
                self.keep(packet);
            }
        }
        let is_full = matches!(self.output.stopped, Some(RecordEnd::Full(_)));
        if self.parts.as_ref().is_some_and(|parts| is_full || parts.due_in().is_zero()) {
            self.begin_part(plan, session)?;
        }
        if is_asked {
            self.dump();
        }
        if self.is_over || !self.can_go_on() {
            return Ok(Next::End);
        }
        let age = self.writer.begin().map(|begin| sys::now().saturating_sub(begin));
        let packet = age.map(|age| Duration::from_nanos(LATEST.saturating_sub(age)));
        let part = self.parts.as_ref().map(Parts::due_in);
        Ok(packet.into_iter().chain(part).min().map_or(Next::Wait, Next::WaitFor))
    }

    fn flush(&mut self, session: &Session) -> anyhow::Result<()> {
        self.writer.set_lost(session.lost()?.saturating_sub(self.before.lost));
        if let Some(packet) = self.writer.finish() {
            self.keep(packet);
        }
        Ok(())
    }

    fn tally(&self, session: &Session) -> anyhow::Result<HitTally> {
        let lost = session.lost()?;
        let unrecorded = self.before.unrecorded + self.writer.unrecorded();
        let flown = self.flight.as_ref().map_or(0, Flight::dropped);
        Ok(HitTally {
            hits: session.received() + lost,
            delivered: self.before.recorded + self.recorded,
            dropped: lost + unrecorded + self.unwritten + flown,
        })
    }

    /// Writes all that is left, and says what was recorded.
    fn end(mut self: Box<Self>, console: &Console, totals: &Totals<'_>) -> anyhow::Result<()> {
        self.dump();
        let received = totals.live.map_or(0, |(_, session)| session.received());
        self.finish_part(received, totals.lost, &totals.exit);
        let Self { recorded, unwritten, unbegun, before, writer, names, flight, output, .. } = *self;
        let folder = output.folder.display().to_string();
        if let Some(flight) = flight.as_ref().filter(|flight| flight.dropped() > 0) {
            console.note(&format!("{} older hits were dropped", flight.dropped()));
        }
        let unrecorded = before.unrecorded + writer.unrecorded();
        if unrecorded > 0 {
            console.error(&format!("{unrecorded} hits were not recorded: there are too many kinds of events"));
        }
        names.stacks.iter().for_each(|stacks| stacks.tell(console));
        console.note(&format!("{recorded} hits in {folder} ({} bytes)", output.size()));
        if before.parts > 0 {
            let (parts, hits, bytes) = (before.parts, before.recorded, before.bytes);
            console.note(&format!("{hits} hits in the {parts} parts before ({bytes} bytes)"));
        }
        if unwritten > 0 && output.stopped.is_none() {
            let why =
                unbegun.map(|why| format!("; the last part could not begin in time: {why:#}")).unwrap_or_default();
            console.error(&format!("{unwritten} hits could not be written{why}"));
        }
        match output.stopped {
            None => Ok(()),
            Some(RecordEnd::Full(most)) => {
                console.note(&format!("{folder}: the recording ended early: it may have {most} bytes (--max-size)"));
                Ok(())
            }
            Some(RecordEnd::Failed(error)) => {
                let kept = format!("{folder}: the recording ended early; the {recorded} hits before can be read");
                Err(anyhow::Error::new(error).context(kept))
            }
        }
    }
}
