//! Hits as records, and intervals as spans.

use std::io;
use std::ops::ControlFlow;
use std::time::Instant;

use simple_markers_tracer::event::Texts;
use simple_markers_tracer::sys::Session;
use simple_markers_tracer::{Hit, Plan};

use super::batch::{Batch, BatchItem};
use super::intervals::{SpanFinder, SpanRole};
use super::message::{Attribute, LogRecord, OtlpSpan};
use super::records::record;
use super::sender::{OtlpSender, Pace, SendTally, SignalTally};
use super::settings::{OtlpSettings, Signal};
use super::tell;
use crate::agent_report::HitTally;
use crate::console::Console;
use crate::end::{self, Totals};
use crate::hit_origin::{HitOrigin, HitQuestion};
use crate::hit_text::HitText;
use crate::pair_tally;
use crate::sinks::{Next, Setting, Sink};

impl OtlpSettings {
    /// Sends hits.
    ///
    /// # Errors
    ///
    /// A file with certificates cannot be read, or there can be no thread.
    pub(crate) fn hits<'a>(
        self,
        console: &Console,
        setting: Setting,
        origin: HitOrigin,
        question: HitQuestion,
    ) -> anyhow::Result<Box<dyn Sink + 'a>> {
        let HitQuestion { intervals, moving, doubtful, is_json, is_live } = question;
        let sender = OtlpSender::start(&self, if is_live { Pace::Live } else { Pace::Patient }, *console)?;
        Ok(Box::new(SentHits {
            text: HitText::new(Texts::new(setting.names), setting.functions),
            origin,
            resource: self.resource.clone(),
            is_of_intervals: intervals.is_some(),
            finder: SpanFinder::new(intervals, moving, doubtful),
            logs: Batch::new(&self),
            spans: Batch::new(&self),
            sender,
            plan: None,
            is_json,
            hits: 0,
            sent: None,
        }))
    }
}

/// Sends hits.
struct SentHits {
    text: HitText,
    origin: HitOrigin,
    /// What the environment says of the resource.
    resource: Vec<Attribute>,
    is_of_intervals: bool,
    finder: SpanFinder,
    logs: Batch<LogRecord>,
    spans: Batch<OtlpSpan>,
    sender: OtlpSender,
    /// The plan of the hits so far, of which only the images are needed; `None` before the first hit.
    plan: Option<Plan>,
    is_json: bool,
    hits: u64,
    /// What became of all, once nothing more is sent.
    sent: Option<SendTally>,
}

impl SentHits {
    /// Adds a record, and hands over a request if there are enough.
    fn add_record(&mut self, record: LogRecord) {
        if self.logs.add(record) {
            self.hand_over(|sent| &mut sent.logs);
        }
    }

    fn hand_over<T: BatchItem>(&mut self, batch: impl Fn(&mut Self) -> &mut Batch<T>) {
        let none = Plan::default();
        let resource = self.origin.resource(self.plan.as_ref().unwrap_or(&none), &self.resource);
        let request = batch(self).take(&|| resource.clone());
        request.into_iter().for_each(|request| self.sender.push(request));
    }

    /// Sends what is left. Returns what became of all.
    fn finish(&mut self) -> SendTally {
        if let Some(tally) = &self.sent {
            return tally.clone();
        }
        let left = self.finder.left();
        if !self.is_of_intervals {
            left.into_iter().for_each(|record| self.add_record(record));
        }
        self.hand_over(|sent| &mut sent.logs);
        self.hand_over(|sent| &mut sent.spans);
        self.sent.insert(self.sender.finish()).clone()
    }

    /// Notes the images of a plan.
    fn look(&mut self, plan: &Plan) {
        if self.plan.as_ref().is_none_or(|known| known.images.len() < plan.images.len()) {
            self.plan = Some(Plan { images: plan.images.clone(), ..Plan::default() });
        }
    }
}

impl Sink for SentHits {
    fn hit(&mut self, hit: &Hit<'_>) -> anyhow::Result<ControlFlow<()>> {
        self.hits += 1;
        self.look(hit.plan);
        match self.finder.role(hit, &self.origin, &mut self.text) {
            SpanRole::End(span) => {
                if self.spans.add(*span) {
                    self.hand_over(|sent| &mut sent.spans);
                }
            }
            SpanRole::Begin(Some(left)) if !self.is_of_intervals => self.add_record(left),
            SpanRole::Alone if !self.is_of_intervals => {
                let mut record = record(hit, &self.origin, &mut self.text);
                if let Some(around) = self.finder.around(hit) {
                    (record.trace_id, record.span_id) = (around.trace.to_vec(), around.span.to_vec());
                }
                self.add_record(record);
            }
            SpanRole::Begin(_) | SpanRole::Alone => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn pause(&mut self, _: &Plan, _: &Session) -> anyhow::Result<Next> {
        let now = Instant::now();
        if self.logs.due().is_some_and(|due| now >= due) {
            self.hand_over(|sent| &mut sent.logs);
        }
        if self.spans.due().is_some_and(|due| now >= due) {
            self.hand_over(|sent| &mut sent.spans);
        }
        let due = [self.logs.due(), self.spans.due()].into_iter().flatten().min();
        Ok(due.map_or(Next::Wait, |due| Next::WaitFor(due.saturating_duration_since(now))))
    }

    fn flush(&mut self, _: &Session) -> anyhow::Result<()> {
        self.finish();
        Ok(())
    }

    fn tally(&self, session: &Session) -> anyhow::Result<HitTally> {
        let lost = session.lost()?;
        let tally = self.sent.clone().unwrap_or_else(|| self.sender.tally());
        let (records, spans) = (tally.of(Signal::Logs), tally.of(Signal::Traces));
        let dropped = |of: &SignalTally| of.all().saturating_sub(of.sent);
        // A span has two hits.
        let unsent = dropped(records) + 2 * dropped(spans);
        let delivered = match self.is_of_intervals {
            // Hits of no interval are taken, and nothing is to be sent of them.
            true => self.hits.saturating_sub(unsent),
            false => records.sent + 2 * spans.sent,
        };
        Ok(HitTally { hits: session.received() + lost, delivered, dropped: lost + unsent })
    }

    fn end(mut self: Box<Self>, console: &Console, totals: &Totals<'_>) -> anyhow::Result<()> {
        let tally = self.finish();
        if self.is_json {
            let mut totals = totals.json(Some(self.hits + totals.lost), None);
            totals.as_object_mut().into_iter().for_each(|all| _ = all.insert("otlp".to_owned(), tell::json(&tally)));
            end::write(&mut io::stdout().lock(), totals)?;
        }
        tell::tell(console, &tally);
        if self.is_of_intervals {
            if let Some(why) = &self.finder.why_none {
                console.error(&format!("--otlp: no interval can be told: {why}"));
            }
            let full = SpanFinder::full();
            self.finder.tallies().for_each(|(names, tally)| pair_tally::tell_of(console, "span", names, tally, &full));
        }
        Ok(())
    }
}
