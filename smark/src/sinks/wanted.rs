//! Hands on the hits of a recording that are wanted.

use std::ops::ControlFlow;

use simple_markers_tracer::Hit;
use simple_markers_tracer::ctf::SiteSelection;

use super::sink::Sink;
use crate::console::Console;
use crate::end::Totals;
use crate::narrow;
use crate::pager::Pager;

/// Hands on the wanted hits.
pub(crate) struct HitFilter<'a> {
    chosen: &'a SiteSelection,
    sink: Box<dyn Sink + 'a>,
    /// Gets what the sink writes, so it ends behind it.
    pager: Option<Pager>,
    /// How many hits could not be filtered.
    unfiltered: u64,
}

impl<'a> HitFilter<'a> {
    pub(crate) fn new(chosen: &'a SiteSelection, sink: Box<dyn Sink + 'a>, pager: Option<Pager>) -> Self {
        Self { chosen, sink, pager, unfiltered: 0 }
    }
}

impl Sink for HitFilter<'_> {
    fn hit(&mut self, hit: &Hit<'_>) -> anyhow::Result<ControlFlow<()>> {
        match self.chosen.wants(hit) {
            Some(true) => return self.sink.hit(hit),
            Some(false) => {}
            None => self.unfiltered += 1,
        }
        Ok(ControlFlow::Continue(()))
    }

    fn end(self: Box<Self>, console: &Console, totals: &Totals<'_>) -> anyhow::Result<()> {
        let Self { chosen, sink, pager, unfiltered } = *self;
        sink.end(console, &Totals { unfiltered, ..totals.clone() })?;
        narrow::tell_unfiltered(console, &chosen.plan, unfiltered);
        drop(pager);
        Ok(())
    }
}
