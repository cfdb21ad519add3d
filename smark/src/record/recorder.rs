//! Writes hits to the files of a recording.

use std::ops::ControlFlow;
use std::time::Duration;

use simple_markers_tracer::ctf::writer::Packet;
use simple_markers_tracer::ctf::{Flight, Writer, metadata::metadata};
use simple_markers_tracer::event::Notes;
use simple_markers_tracer::frames::StackNumbers;
use simple_markers_tracer::sys::{self, Session, signals};
use simple_markers_tracer::{Hit, Plan};

use super::files::{Output, RecordEnd};
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
    /// Whether the files have the description as it is.
    is_described: bool,
    until: Option<String>,
    /// Whether the marker was passed at which the recording ends.
    is_over: bool,
    /// How many hits were written.
    recorded: u64,
}

impl Recorder {
    /// With a flight recorder, hits are kept there until they are asked for. `until` is the name of the
    /// marker at which the recording ends.
    pub(super) fn new(
        writer: Writer,
        names: NameSources,
        flight: Option<Flight>,
        output: Output,
        until: Option<String>,
    ) -> Self {
        let mut recorder =
            Self { writer, names, flight, output, is_described: false, until, is_over: false, recorded: 0 };
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
        if self.output.write(&packet.bytes) {
            self.recorded += packet.events;
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
        let wants_more = !self.is_over && self.output.stopped.is_none();
        Ok(if wants_more { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    }

    /// Writes what has waited for long, or what a signal asks for.
    fn pause(&mut self, _: &Plan, session: &Session) -> anyhow::Result<Next> {
        let is_asked = self.flight.is_some() && signals::take_dump();
        let is_old = self.writer.begin().is_some_and(|begin| sys::now().saturating_sub(begin) >= LATEST);
        if is_asked || is_old {
            self.writer.set_lost(session.lost()?);
            if let Some(packet) = self.writer.finish() {
                self.keep(packet);
            }
        }
        if is_asked {
            self.dump();
        }
        if self.is_over || self.output.stopped.is_some() {
            return Ok(Next::End);
        }
        let age = self.writer.begin().map(|begin| sys::now().saturating_sub(begin));
        Ok(age.map_or(Next::Wait, |age| Next::WaitFor(Duration::from_nanos(LATEST.saturating_sub(age)))))
    }

    /// Writes all that is left, and says what was recorded.
    fn end(mut self: Box<Self>, console: &Console, totals: &Totals<'_>) -> anyhow::Result<()> {
        let lost = totals.lost;
        self.writer.set_lost(lost);
        if let Some(packet) = self.writer.finish() {
            self.keep(packet);
        }
        self.dump();
        let received = totals.live.map_or(0, |(_, session)| session.received());
        let Self { recorded, writer, names, flight, mut output, .. } = *self;
        let end = serde_json::json!({
            "hits": received + lost, "lost": lost, "recorded": recorded, "exit": totals.exit,
            "stopped": output.stopped.as_ref().map(RecordEnd::word),
        });
        let folder = output.folder.display().to_string();
        if let Some(flight) = flight.as_ref().filter(|flight| flight.dropped() > 0) {
            console.note(&format!("{} older hits were dropped", flight.dropped()));
        }
        if writer.unrecorded() > 0 {
            console
                .error(&format!("{} hits were not recorded: there are too many kinds of events", writer.unrecorded()));
        }
        names.stacks.iter().for_each(|stacks| stacks.tell(console));
        console.note(&format!("{recorded} hits in {folder} ({} bytes)", output.size()));
        // It is the last file: without it the recording was cut off.
        output.end(&end.to_string());
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
