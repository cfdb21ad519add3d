//! Hits that programs record themselves: counted, or put in one order with those that the kernel sees.

use super::clock::now;
use super::recorder::Recorders;
use super::request::{Mode, Scope, SessionError, has_intervals};
use crate::aggregate::Replay;
use crate::hit::Hit;
use crate::order::Order;
use crate::plan::{Input, Plan};
use crate::record::{Layout, Record};
use crate::recorded_members::RecordedInputs;

/// A hit is handed on so much later, in ns, if programs record some hits themselves: a thread may lose
/// the processor between the time of a hit and its record.
const DELAY: u64 = 20_000_000;

/// Hits that programs record themselves, and what becomes of them.
#[derive(Debug)]
pub(super) struct RecordedHits {
    pub(super) recorders: Recorders,
    order: Order,
    /// By the number of the site, for all sites of the plan.
    layouts: Vec<Layout>,
    pub(super) received: u64,
    /// Whether they are counted, and not handed on.
    is_count: bool,
    /// Whether all hits are counted here, in the order of their times.
    pub(super) is_in_order: bool,
    pub(super) counts: Replay,
}

/// Hands on the hits of the engine that runs beside, and returns how many there were.
type ReadRunning<'a> = &'a mut dyn FnMut(&mut dyn FnMut(&Hit<'_>)) -> u64;

impl RecordedHits {
    pub(super) fn new(scope: &Scope, mode: Mode) -> Result<Self, SessionError> {
        let most = if let Mode::Count { most_values, .. } = mode { most_values as usize } else { 0 };
        Ok(Self {
            recorders: Recorders::new(scope, mode)?,
            order: Order::default(),
            layouts: Vec::new(),
            received: 0,
            is_count: matches!(mode, Mode::Count { .. }),
            is_in_order: false,
            counts: Replay::new(&Plan::default(), most),
        })
    }

    /// Arms the probes that were added to the plan since the last call. `known` has the layouts of the
    /// other sites.
    pub(super) fn attach(&mut self, plan: &Plan, known: &[Layout]) {
        self.is_in_order = self.is_count && has_intervals(plan);
        self.counts.extend(plan);
        self.recorders.attach(plan);
        let layouts = plan.sites.iter().enumerate().map(|(number, site)| match &site.recorded {
            Some(_) => Layout::new(site.inputs.iter().map(Input::kind)),
            None => known.get(number).cloned().unwrap_or_default(),
        });
        self.layouts = layouts.collect();
    }

    /// Whether hits were read that are not handed on yet.
    pub(super) fn has_waiting(&self) -> bool {
        !self.order.is_empty()
    }

    /// Counts the hits, or hands them on in the order of their times. Returns how many were handed on.
    pub(super) fn read(
        &mut self,
        plan: &Plan,
        is_last: bool,
        read_running: ReadRunning<'_>,
        each: &mut dyn FnMut(&Hit<'_>),
    ) -> u64 {
        let Self { recorders, order, layouts, received, is_count, is_in_order, counts } = self;
        if *is_count && !*is_in_order {
            *received += recorders.count(plan, counts);
            return read_running(each);
        }
        let time = if is_last { u64::MAX } else { now().saturating_sub(DELAY) };
        recorders.read(plan, counts, &mut |time, record| order.add(time, record));
        read_running(&mut |hit| hit.record().into_iter().for_each(|it| order.add(hit.time, it.record.0)));
        let mut count = 0;
        order.take_before(time, &mut |record| {
            let Some(hit) = Hit::new(Record(record), plan, layouts) else { return };
            count += 1;
            if !*is_count {
                return each(&hit);
            }
            let inputs = RecordedInputs::new(&hit, hit.site);
            counts.add(&hit.site.aggregate, Some(true), &hit.passage(hit.number, &inputs));
        });
        *received += count;
        if *is_count { 0 } else { count }
    }
}
