//! The engine without BPF: probes of `uprobe_events` in an instance of tracefs.
//!
//! Everything has names of our own (`ftrace::probes`). It is removed when the session is dropped;
//! what a killed process leaves is removed by the next session, of either engine.

mod events;
mod files;
mod kernel;
mod leftovers;
mod memory;
mod notices;
mod probe_event;

use std::collections::HashMap;
use std::os::fd::RawFd;

use simple_markers_events::{Field, Format, Page, PageFormat};

use super::clock::now;
use super::error::{Error, Step};
use super::numbers::numbers;
use super::request::{Mode, Scope, SessionError};
use crate::aggregate::{Passage, RawCounts, Replay, Tallies};
use crate::filter::Fields;
use crate::ftrace::fetch::Fetches;
use crate::ftrace::hit_record::{self, RecordHeader};
use crate::ftrace::machine::Snapshot;
use crate::ftrace::probes::{Owner, removal};
use crate::ftrace::tasks::Tasks;
use crate::histogram::Durations;
use crate::hit::Hit;
use crate::order::Order;
use crate::plan::{Aggregate, Input, Plan, PlannedSite};
use crate::record::{Layout, Record};

use events::ProbeEvents;
use files::{Instance, Root};
pub use kernel::{EventName, KernelEvents};
pub(super) use leftovers::remove as remove_leftovers;
use memory::ReadableMemory;
use notices::TracefsNotices;
pub(super) use probe_event::ProbeEvent;

/// The bit of `clone_flags` that says that a thread is created, and no process.
const CLONE_THREAD: u64 = 0x1_0000;
/// The size of the buffers for hits that are counted.
const BUFFER: u32 = 1 << 23;
/// The size of the buffers for the threads that are created.
const TASKS_BUFFER: u32 = 1 << 20;
/// The time of an event is taken a little before it can be read. So much later, in ns, it is there
/// unless its CPU was taken away in between.
const DELAY: u64 = 10_000_000;

/// Probes in tracefs.
#[derive(Debug)]
pub(super) struct Tracefs {
    root: Root,
    owner: Owner,
    /// The buffers with the hits.
    hits: Instance,
    /// The buffers with the threads that are created.
    created: Instance,
    /// Tells of files that are mapped; `None` if nobody has to look for them, or the kernel does not tell.
    notices: Option<TracefsNotices>,
    /// Whether all processes are watched.
    is_of_all: bool,
    /// Whether the buffers tell when there is something to read.
    tells: bool,
    page: PageFormat,
    newtask: Newtask,
    events: ProbeEvents,
    mode: Mode,
    /// By the number of the site.
    layouts: Vec<Layout>,
    fetches: Vec<Fetches>,
    /// The sites that a probe stands for, by the number of the first one, in the order in which the
    /// program passes them.
    together: HashMap<usize, Vec<usize>>,
    counts: Replay,
    tasks: Tasks,
    memory: ReadableMemory,
    order: Order,
    received: u64,
    /// Why the hits could not be read.
    failed: Option<Error>,
    is_attached: bool,
}

/// Where the fields of the event `task_newtask` are.
#[derive(Debug)]
struct Newtask {
    id: u16,
    parent: Field,
    child: Field,
    flags: Field,
}

impl Newtask {
    fn find(root: &Root) -> Result<Self, Error> {
        let text = root.read("events/task/task_newtask/format").map_err(|why| Error::new(Step::Tracefs, &why))?;
        let format = Format::parse(&text).ok();
        let field = |name: &str| format.as_ref()?.field(name).cloned();
        let found = format.as_ref().map(|format| format.id).zip(field("common_pid"));
        let found = found.zip(field("pid").zip(field("clone_flags")));
        let unknown = || Error::new(Step::Tracefs, &std::io::Error::from_raw_os_error(libc::EPROTO));
        let ((id, parent), (child, flags)) = found.ok_or_else(unknown)?;
        Ok(Self { id, parent, child, flags })
    }
}

impl Tracefs {
    /// Creates the instances, and sets the probes of a plan.
    pub(super) fn start(plan: &Plan, scope: &Scope, mode: Mode) -> Result<Self, SessionError> {
        if plan.sites.iter().any(|site| plan.event_of(site).is_some()) {
            return Err(SessionError::EventsNeedBpf);
        }
        let (pids, with_children) = match scope {
            Scope::All => (None, true),
            Scope::Processes { pids, with_children } => (Some(pids.as_slice()), *with_children),
            Scope::Group(_) => return Err(SessionError::GroupsNeedBpf),
        };
        let failed = |why: &std::io::Error| Error::new(Step::Tracefs, why);
        let root = Root::find()?;
        let page = root.page_format()?;
        let newtask = Newtask::find(&root)?;
        let unknown = || failed(&std::io::Error::from_raw_os_error(libc::ENOENT));
        let owner = leftovers::owner().ok_or_else(unknown)?;
        let (size, most) = match mode {
            Mode::Trace { stacks, .. } if stacks.is_any() => return Err(SessionError::NeedsBpf),
            Mode::Trace { ring, .. } => (ring, 1),
            Mode::Count { most_values, .. } => (BUFFER, usize::try_from(most_values).unwrap_or(usize::MAX)),
            Mode::Nothing => (BUFFER, 1),
        };
        let hits = Instance::create(&root, &owner.instance(), size, &page)?;
        let created = Instance::create(&root, &owner.tasks(), TASKS_BUFFER, &page)?;
        let events = ProbeEvents::new(owner.group(), root.has_numbers());
        let tells = hits.wake_at(0).is_ok() && created.wake_at(50).is_ok();
        let mut session = Self {
            root,
            owner,
            hits,
            created,
            notices: None,
            is_of_all: pids.is_none(),
            tells,
            page,
            newtask,
            events,
            mode,
            layouts: Vec::new(),
            fetches: Vec::new(),
            together: HashMap::new(),
            counts: Replay::new(&Plan::default(), most),
            tasks: Tasks::new(pids, with_children),
            memory: ReadableMemory::default(),
            order: Order::default(),
            received: 0,
            failed: None,
            is_attached: true,
        };
        // First, so that no thread is missed between this and the list.
        session.created.set("events/task/task_newtask/enable", "1").map_err(|why| failed(&why))?;
        match pids {
            None => processes().for_each(|process| session.find_threads(process)),
            Some(pids) => {
                // The kernel adds the threads and children of these itself.
                session.hits.set("options/event-fork", "1").map_err(|why| failed(&why))?;
                for pid in pids {
                    session.choose(*pid)?;
                }
                let threads: Vec<u32> = pids.iter().flat_map(|pid| threads(*pid).chain([*pid])).collect();
                let Self { root, owner, page, .. } = &session;
                session.notices = TracefsNotices::start(root, &owner.files(), page, &threads, with_children);
            }
        }
        session.attach(plan)?;
        Ok(session)
    }

    /// Notes the threads of a process.
    fn find_threads(&mut self, process: u32) {
        threads(process).for_each(|thread| self.tasks.found(thread, process));
    }

    /// Tells the kernel to record hits of a process.
    fn choose(&mut self, process: u32) -> Result<(), Error> {
        self.find_threads(process);
        let threads: Vec<u32> = [process].into_iter().chain(threads(process)).collect();
        for threads in threads.chunks(64) {
            let line: String = threads.iter().map(|thread| format!("{thread} ")).collect();
            self.hits.append("set_event_pid", &line).map_err(|why| Error::new(Step::Instance, &why))?;
        }
        Ok(())
    }

    /// Sets the probes of the sites that were added to the plan since the last call.
    pub(super) fn attach(&mut self, plan: &Plan) -> Result<(), SessionError> {
        let first = self.layouts.len();
        self.fetches.resize(plan.sites.len(), Fetches::default());
        self.layouts.extend(plan.sites.iter().skip(first).map(|site| Layout::new(site.inputs.iter().map(Input::kind))));
        // Hits are counted without the arguments.
        let is_read = |site: &PlannedSite| match self.mode {
            Mode::Trace { .. } => true,
            Mode::Count { .. } => site.filter.is_some() || site.aggregate != Aggregate::Hits,
            Mode::Nothing => false,
        };
        let mut wanted = Vec::new();
        for together in plan.by_address(first) {
            let Some(leader) = together.first().copied() else { continue };
            let sites = || together.iter().filter_map(|number| plan.sites.get(*number));
            let inputs: Vec<Input> =
                sites().filter(|site| is_read(site)).flat_map(|site| site.inputs.clone()).collect();
            let first = sites().next();
            let platform = first.and_then(|site| plan.images.get(site.image)?.platform);
            if let (Some(fetches), Some(site), Some(platform)) = (self.fetches.get_mut(leader), first, platform) {
                *fetches = Fetches::new(&inputs, &plan.reads, site.probe, platform);
            }
            wanted.push(leader);
            self.together.insert(leader, together);
        }
        self.counts.extend(plan);
        let is_new = self.events.define(&self.root, plan, &self.fetches, &wanted)?;
        if is_new {
            let enable = format!("events/{}/enable", self.owner.group());
            let has_switch = wanted.iter().any(|site| plan.sites.get(*site).is_some_and(|site| site.switch.is_some()));
            let enabled = self.hits.set(&enable, "1");
            enabled.map_err(|why| Error::new(Step::Probe, &why).of_switch(has_switch))?;
        }
        Ok(())
    }

    /// The layout of the record of each site.
    pub(super) fn layouts(&self) -> &[Layout] {
        &self.layouts
    }

    /// The processes that may have mapped files since the last call.
    pub(super) fn take_notices(&mut self) -> Vec<u32> {
        let Self { notices, page, newtask, tasks, .. } = self;
        let Some(threads) = notices.as_mut().map(|notices| notices.take(page, &newtask.parent)) else {
            return Vec::new();
        };
        let mut found: Vec<u32> = threads.unwrap_or_default().iter().map(|thread| tasks.process(*thread)).collect();
        found.dedup();
        found
    }

    /// Whether nobody has to look what processes map.
    pub(super) fn is_told(&self) -> bool {
        self.is_of_all || self.notices.is_some()
    }

    /// How long until the notices have to be taken.
    pub(super) fn due(&self) -> Option<std::time::Duration> {
        self.notices.as_ref().and_then(TracefsNotices::due)
    }

    /// Whether [`descriptors`](Self::descriptors) tell of hits.
    pub(super) fn tells_hits(&self) -> bool {
        self.tells
    }

    /// Readable when there are hits, if they are wanted, files were mapped, or there are many new threads.
    pub(super) fn descriptors(&self, with_hits: bool) -> Vec<RawFd> {
        let hits = with_hits.then_some(&self.hits);
        let notices = self.notices.as_ref().and_then(TracefsNotices::instance);
        [hits, Some(&self.created), notices].into_iter().flatten().flat_map(Instance::descriptors).collect()
    }

    /// Hands on the hits that are complete, in the order of their times.
    pub(super) fn read(&mut self, plan: &Plan, is_last: bool, each: &mut dyn FnMut(&Hit<'_>)) -> u64 {
        let time = if is_last { u64::MAX } else { now().saturating_sub(DELAY) };
        self.memory.forget();
        // The threads first: of two events of one time, that of the thread counts.
        for instance in [&mut self.created, &mut self.hits] {
            let (order, format) = (&mut self.order, &self.page);
            let mut bytes = Vec::new();
            let read = instance.read(&mut |cpu, page| {
                // The kernel's pages are as its format says.
                let Ok(page) = Page::new(page, format) else { return };
                for event in page.events().map_while(Result::ok) {
                    bytes.clear();
                    bytes.extend(event.time.to_ne_bytes());
                    bytes.extend(cpu.to_ne_bytes());
                    bytes.extend(event.record);
                    order.add(event.time, &bytes);
                }
            });
            self.failed = self.failed.take().or(read.err());
        }
        let (mut count, mut record, mut order) = (0, Vec::new(), std::mem::take(&mut self.order));
        order.take_before(time, &mut |event| {
            let mut each = |session: &Self, record: &[u8]| {
                if let Some(hit) = Hit::new(Record(record), plan, &session.layouts) {
                    count += 1;
                    each(&hit);
                }
            };
            let _ = self.decode(event, plan, &mut record, &mut each);
        });
        self.order = order;
        self.received += count;
        count
    }

    /// Makes the records of the hits of an event, one for each site of its address. `None` if it is no
    /// hit, or if the event cannot be read.
    fn decode(
        &mut self,
        event: &[u8],
        plan: &Plan,
        record: &mut Vec<u8>,
        each: &mut dyn FnMut(&Self, &[u8]),
    ) -> Option<()> {
        let (time, rest) = event.split_first_chunk()?;
        let (cpu, bytes) = rest.split_first_chunk()?;
        let id = u16::from_ne_bytes(*bytes.first_chunk()?);
        let thread = |field: &Field| u32::try_from(field.number(bytes)? & 0xffff_ffff).ok();
        if id == self.newtask.id {
            let Newtask { parent, child, flags, .. } = &self.newtask;
            let is_thread = flags.number(bytes)? & CLONE_THREAD != 0;
            self.tasks.created(thread(parent)?, thread(child)?, is_thread);
            return None;
        }
        let event = self.events.get(id)?;
        let leader = usize::try_from(event.site(bytes)?).ok()?;
        let (planned, fetches) = (plan.sites.get(leader)?, self.fetches.get(leader)?);
        let thread = thread(&event.thread)?;
        let process = self.tasks.process(thread);
        if !self.tasks.is_watched(process) {
            return None;
        }
        let memory = &mut self.memory;
        let is_mapped = &mut |address| memory.has(process, address);
        let copies = event.copies.iter().map_while(|copy| copy.bytes(bytes));
        let copied = Snapshot::new(fetches, planned.probe, event.ip.number(bytes)?, copies, is_mapped);
        let (time, cpu) = (u64::from_ne_bytes(*time), u32::from_ne_bytes(*cpu));
        let name = event.name.text(bytes).unwrap_or_default();
        for number in self.together.get(&leader)?.clone() {
            let (planned, layout) = (plan.sites.get(number)?, self.layouts.get(number)?);
            let header = RecordHeader { time, thread, process, site: u32::try_from(number).ok()?, cpu, name };
            hit_record::write(&header, (&planned.inputs, &plan.reads), layout, &copied, record);
            let inputs = &Fields { record: Record(record), layout };
            let holds = planned.filter.as_ref().map_or(Some(true), |filter| filter.evaluate(inputs));
            let passage = Passage { site: number, time, process, thread, inputs };
            self.counts.add(&planned.aggregate, holds, &passage);
            if holds == Some(true) && matches!(self.mode, Mode::Trace { .. }) {
                each(self, record);
            }
        }
        Some(())
    }

    /// Removes the probes. What was recorded can still be read.
    pub(super) fn detach(&mut self) {
        if std::mem::take(&mut self.is_attached) {
            // Without the group there is nothing to switch off.
            let _ = self.hits.set(&format!("events/{}/enable", self.owner.group()), "0");
            let _ = self.created.set("events/task/task_newtask/enable", "0");
        }
    }

    /// Removes the probes of an image, whose file has become another program. Hits that were recorded stay.
    pub(super) fn forget(&mut self, image: usize) {
        let group = self.owner.group();
        for event in self.events.take_names(image) {
            // An event that is switched on cannot be removed. What cannot be is removed by the next session.
            let _ = self.hits.set(&format!("events/{group}/{event}/enable"), "0");
            let _ = self.root.change_probes(&removal(&group, &event));
        }
    }

    /// Whether hits were read that are not handed on yet.
    pub(super) fn has_waiting(&self) -> bool {
        !self.order.is_empty()
    }

    pub(super) fn received(&self) -> u64 {
        self.received
    }

    pub(super) fn lost(&self) -> Result<u64, Error> {
        self.failed.clone().map_or_else(|| self.hits.lost(), Err)
    }

    pub(super) fn tallies(&self) -> Vec<Tallies> {
        self.counts.tallies().to_vec()
    }

    pub(super) fn durations(&self) -> Durations {
        self.counts.durations().clone()
    }

    pub(super) fn counted(&self) -> RawCounts {
        self.counts.counted()
    }
}

impl Drop for Tracefs {
    fn drop(&mut self) {
        self.detach();
        for event in self.events.names() {
            // What cannot be removed is removed by the next session.
            let _ = self.root.change_probes(&removal(&self.owner.group(), &event));
        }
    }
}

fn processes() -> impl Iterator<Item = u32> {
    numbers("/proc")
}

fn threads(process: u32) -> impl Iterator<Item = u32> {
    numbers(&format!("/proc/{process}/task"))
}
