//! Hits as lines of JSON (`docs/live.md`).

use std::io::{BufWriter, Write};
use std::ops::ControlFlow;

use simple_markers_tracer::event::Texts;
use simple_markers_tracer::function_names::FunctionNames;
use simple_markers_tracer::sys::Session;
use simple_markers_tracer::text::{json_event, json_named};
use simple_markers_tracer::{Hit, Plan};

use super::sink::{Next, Setting, Sink};
use crate::console::Console;
use crate::end::{self, Totals};
use crate::stacks::Stacks;

/// Writes an object for each hit, and one at the end.
pub(super) struct Json<'a> {
    out: BufWriter<Box<dyn Write + 'a>>,
    /// The texts of the kernel's events.
    texts: Texts,
    functions: Box<dyn FunctionNames>,
    stacks: Option<Stacks>,
    /// How many were written.
    hits: u64,
}

impl<'a> Json<'a> {
    pub(super) fn new(setting: Setting<'a>) -> Self {
        let out = BufWriter::with_capacity(1 << 16, setting.out);
        let (texts, functions) = (Texts::new(setting.names), setting.functions);
        Self { out, texts, functions, stacks: setting.stacks, hits: 0 }
    }
}

impl Sink for Json<'_> {
    fn hit(&mut self, hit: &Hit<'_>) -> anyhow::Result<ControlFlow<()>> {
        let mut object = match &hit.marker.event {
            Some(event) => {
                let mut text = String::new();
                self.texts.write(event, hit, &mut text);
                json_event(hit, &text)
            }
            None => json_named(hit, &*self.functions),
        };
        if let (Some(stacks), Some(fields)) = (&mut self.stacks, object.as_object_mut()) {
            stacks.add_json(hit, fields);
        }
        let mut line = object.to_string();
        line.push('\n');
        self.out.write_all(line.as_bytes())?;
        self.hits += 1;
        Ok(ControlFlow::Continue(()))
    }

    fn pause(&mut self, _: &Plan, _: &Session) -> anyhow::Result<Next> {
        self.out.flush()?;
        Ok(Next::Wait)
    }

    fn end(mut self: Box<Self>, console: &Console, totals: &Totals<'_>) -> anyhow::Result<()> {
        end::write_lost(&mut self.out, totals.lost)?;
        end::write(&mut self.out, totals.json(Some(self.hits + totals.lost), None))?;
        self.stacks.iter().for_each(|stacks| stacks.tell(console));
        Ok(())
    }
}
