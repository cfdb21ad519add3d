//! The BPF engine: the programs of a plan, attached, and what they say.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::os::fd::{OwnedFd, RawFd};

use simple_markers_events::btf::Btf;
use simple_markers_resolver::address::Vaddr;

use super::bpf::{self, Kind, MapType};
use super::clock::now;
use super::error::Error;
use super::events::EventPrograms;
use super::interval_stacks::stack_table;
use super::notices::Notices;
use super::off_cpu::OffCpu;
use super::processes::{Among, TaskNumbers};
use super::request::{Mode, Scope, SessionError, has_split, stack_notes};
use super::ring::RingBuffer;
use super::uprobes::{UprobeLink, Uprobes};
use crate::aggregate::{
    AmountTotal, AmountTotals, BUCKET_KEY_SIZE, KEY_SIZE, LONGEST, PARTS_SIZE, RawCounts, SHORTEST, START_KEY_SIZE,
    START_SIZE, SplitTimes, TIMES, TOTAL_SIZE, Tallies, Tally, stack_of,
};
use crate::arch::Platform;
use crate::bpf::count::count;
use crate::bpf::entry::{self, EntryCounts, EntryTally};
use crate::bpf::expression::TaskOffsets;
use crate::bpf::instruction::Size;
use crate::bpf::kernel_number::KernelNumber;
use crate::bpf::program::{FrameLookup, Section};
use crate::bpf::slot::{SLOT_SIZE, SLOTS, SLOTS_OF_CPU};
use crate::bpf::whole::map_value;
use crate::bpf::{Code, KernelOffsets, Map, Target, event};
use crate::bpf::{program, trace};
use crate::histogram::{Durations, FINE};
use crate::hit::Hit;
use crate::order::Order;
use crate::plan::{Aggregate, Condition, Input, KernelEvent, Plan, PlannedSite};
use crate::record::stack::{ProgramStack, StackSettings};
use crate::record::{Layout, Record};

/// What the programs need to know of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// What its type information says.
    pub offsets: KernelOffsets,
    tasks: Option<TaskNumbers>,
}

impl Kernel {
    /// Reads the offsets from the kernel's type information. Those that it does not tell are
    /// missing.
    #[must_use]
    pub fn new() -> Self {
        let bytes = std::fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
        let Ok(btf) = Btf::new(&bytes) else { return Self::default() };
        let of = |path| KernelNumber::of(&btf, "task_struct", path);
        let tasks = of(&["pid"]).zip(of(&["tgid"])).map(|(pid, tgid)| TaskNumbers { pid, tgid });
        let thread_pointer = Platform::HOST.and_then(|host| of(host.conventions().thread_pointer()?));
        let thread_pointer = thread_pointer.filter(|number| number.size == Size::Eight).map(|number| number.offset);
        let offset = |name| btf.member("task_struct", &[name]).map(|member| member.offset);
        let identity = offset("group_leader").zip(offset("start_boottime"));
        let identity = identity.map(|(first_thread, start)| TaskOffsets { first_thread, start });
        // Where programs cannot sleep, the kernel does not run one while another one runs on the same CPU. An entry
        // that is missed so would leave the values of an earlier frame.
        let identity = identity.filter(|_| Uprobes::find().is_ok_and(Uprobes::can_sleep));
        Self { offsets: KernelOffsets { thread_pointer, identity }, tasks }
    }

    /// Whether the programs can be loaded and attached.
    pub(super) fn offers_bpf(&self, scope: &Scope) -> Result<(), Error> {
        bpf::KernelMap::new(MapType::Ringbuf, 0, 1 << 16)?;
        Among::new(scope, self.tasks, false, Uprobes::find()?).map(drop)
    }
}

/// How many threads close links.
const CLOSERS: usize = 64;
/// The most sites of an address that share a program. The kernel checks no program that is much longer.
const MOST_SECTIONS: usize = 16;
/// How many sites there can be at least, also those of files that are mapped later.
const SITES: u32 = 1 << 14;

/// Attached programs. When it is dropped, the kernel removes the probes.
#[derive(Debug)]
pub(super) struct Programs {
    layouts: Vec<Layout>,
    ring: Option<(bpf::KernelMap, RingBuffer)>,
    order: Order,
    received: u64,
    /// The maps other than the ring buffer and the processes, as far as a program needs them.
    maps: HashMap<Map, bpf::KernelMap>,
    mode: Mode,
    among: Among,
    kernel: Kernel,
    uprobes: Uprobes,
    /// The links at events of the kernel.
    open: Vec<OwnedFd>,
    /// The links at sites, with the numbers of their images.
    at_sites: Vec<(usize, UprobeLink)>,
    /// The same at the entries of functions.
    at_entries: Vec<(usize, UprobeLink)>,
    /// The entries that have a program, by their numbers.
    entered: HashSet<usize>,
    /// Tells when a process maps a file; `None` if the kernel refuses it, or all processes are watched.
    notices: Option<Notices>,
    /// The programs at events of the kernel.
    events: EventPrograms,
    /// Notes how long threads are off the CPUs; `None` if no interval is split.
    off_cpu: Option<OffCpu>,
    /// Whether programs at events find the registers of the program (Linux 5.15); `None` until it is asked.
    finds_registers: Option<bool>,
}

impl Programs {
    /// Creates the maps, and attaches the programs of a plan.
    pub(super) fn start(plan: &Plan, scope: &Scope, mode: Mode, kernel: Kernel) -> Result<Self, SessionError> {
        let ring = match mode {
            Mode::Trace { ring, .. } => {
                let map = bpf::KernelMap::new(MapType::Ringbuf, 0, ring)?;
                let reader = RingBuffer::new(map.descriptor(), ring as usize)?;
                Some((map, reader))
            }
            Mode::Count { .. } | Mode::Nothing => None,
        };
        let has_events = plan.sites.iter().any(|site| plan.event_of(site).is_some());
        let uprobes = Uprobes::find()?;
        let among = Among::new(scope, kernel.tasks, has_events, uprobes)?;
        let (layouts, order, maps, open) = (Vec::new(), Order::default(), HashMap::new(), Vec::new());
        let (events, at_sites) = (EventPrograms::default(), Vec::new());
        // Without them somebody has to look again and again.
        let with_children = matches!(scope, Scope::Processes { with_children: true, .. });
        let notices = Notices::start(&among, with_children, kernel.tasks, uprobes).unwrap_or_default();
        let received = 0;
        let mut session = Self {
            layouts,
            ring,
            order,
            received,
            maps,
            mode,
            among,
            kernel,
            uprobes,
            open,
            at_sites,
            at_entries: Vec::new(),
            entered: HashSet::new(),
            notices,
            events,
            off_cpu: None,
            finds_registers: None,
        };
        session.attach(plan)?;
        Ok(session)
    }

    /// Attaches the programs of the sites that were added to the plan since the last call.
    pub(super) fn attach(&mut self, plan: &Plan) -> Result<(), SessionError> {
        if let (Mode::Count { most_values: most, .. }, None, true) = (self.mode, &self.off_cpu, has_split(plan)) {
            self.off_cpu = Some(OffCpu::start(most, stack_notes(plan))?);
        }
        let entries = self.entries(plan)?;
        let (groups, events) = self.programs(plan)?;
        let codes = groups.keys().map(|(_, (code, _))| code).chain(events.iter().map(|(code, ..)| code));
        let codes = codes.chain(entries.keys());
        for map in codes.flat_map(Code::maps).collect::<Vec<_>>() {
            self.create(map, plan)?;
        }
        let Self { ring, among, maps, open, at_sites, at_entries, events: attached, uprobes, off_cpu, .. } = self;
        let descriptor = |map| match map {
            Map::Ring => ring.as_ref().map_or(-1, |(map, _)| map.descriptor()),
            Map::Processes => among.descriptor(),
            Map::OffCpu | Map::StackSums | Map::StackLosses => {
                off_cpu.as_ref().map_or(-1, |off_cpu| off_cpu.descriptor(map))
            }
            map => maps.get(&map).map_or(-1, bpf::KernelMap::descriptor),
        };
        for (code, event, site) in events {
            let link = attached.add(&code, &descriptor, event.id(), site);
            let failed = |why: Error| match why.is_permission() {
                true => SessionError::Kernel(why),
                false => SessionError::Event { event: event.name(), why },
            };
            open.push(link.map_err(failed)?);
        }
        // A site with a probe must find what was noted at the entry of its own frame, never of an earlier one. So the
        // probes at entries are set before those at sites, and removed after them.
        for (code, images) in entries {
            let program = uprobes.load(&code, &descriptor, false)?;
            for (number, sites) in images {
                let Some(image) = plan.images.get(number) else { continue };
                for process in among.links() {
                    let links = uprobes.attach(&program, image.place(), &sites, process)?;
                    at_entries.extend(links.into_iter().map(|link| (number, link)));
                }
            }
        }
        // The kernel runs the program of an address first that was attached last.
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|((later, _), _)| *later);
        for ((_, (code, is_sleepable)), images) in groups {
            let program = uprobes.load(&code, &descriptor, is_sleepable)?;
            for (number, sites) in images {
                let Some(image) = plan.images.get(number) else { continue };
                for process in among.links() {
                    let links = uprobes.attach(&program, image.place(), &sites, process)?;
                    at_sites.extend(links.into_iter().map(|link| (number, link)));
                }
            }
        }
        Ok(())
    }

    /// Creates a map that the programs of the plan need, unless it is there.
    fn create(&mut self, map: Map, plan: &Plan) -> Result<(), Error> {
        let most = if let Mode::Count { most_values, .. } = self.mode { most_values } else { 1 };
        let is_histogram = |site: &PlannedSite| matches!(site.aggregate, Aggregate::Histogram(_));
        let sites = u32::try_from(plan.sites.len()).unwrap_or(u32::MAX).max(SITES);
        let created = match map {
            Map::Ring | Map::Processes | Map::Places | Map::Threads | Map::Shared => return Ok(()),
            Map::OffCpu | Map::StackSums | Map::StackLosses => return Ok(()),
            _ if self.maps.contains_key(&map) => return Ok(()),
            Map::Stacks => stack_table(most)?,
            Map::Lost => bpf::KernelMap::new(MapType::Array, 8, sites)?,
            Map::Tallies => bpf::KernelMap::new(MapType::PercpuArray, 8 * Tally::COUNT, sites)?,
            Map::Slots if self.uprobes.has_exchange() => bpf::KernelMap::new(MapType::Array, SLOT_SIZE, SLOTS + 1)?,
            Map::Slots => bpf::KernelMap::new(MapType::PercpuArray, SLOT_SIZE, SLOTS_OF_CPU + 1)?,
            Map::Steps(number) => {
                let table = usize::try_from(number).ok().and_then(|number| plan.reads.get(number));
                let value = table.map(|table| map_value(table)).unwrap_or_default();
                let map = bpf::KernelMap::new(MapType::Array, u32::try_from(value.len()).unwrap_or(u32::MAX), 1)?;
                map.set(0, &value)?;
                map
            }
            Map::Entries => {
                bpf::KernelMap::with_keys(MapType::LruHash, entry::KEY_SIZE, entry::VALUE_SIZE, entry::FRAMES)?
            }
            Map::EntryTallies => bpf::KernelMap::new(MapType::PercpuArray, 8 * EntryTally::COUNT, sites)?,
            Map::Times => bpf::KernelMap::new(MapType::PercpuArray, 8, TIMES)?,
            Map::Values if plan.sites.iter().any(is_histogram) => {
                bpf::KernelMap::with_keys(MapType::Hash, BUCKET_KEY_SIZE, 8, most)?
            }
            // Each part has a key too.
            Map::Values if has_split(plan) => {
                bpf::KernelMap::with_keys(MapType::Hash, KEY_SIZE, 8, most.saturating_mul(4))?
            }
            Map::Values => bpf::KernelMap::with_keys(MapType::Hash, KEY_SIZE, 8, most)?,
            Map::Amounts => bpf::KernelMap::with_keys(MapType::Hash, KEY_SIZE, TOTAL_SIZE, most)?,
            Map::Parts => bpf::KernelMap::new(MapType::PercpuArray, PARTS_SIZE, 1)?,
            Map::Starts => {
                let size = |site: &PlannedSite| match &site.aggregate {
                    Aggregate::Start(interval) => Some(interval.start_size()),
                    _ => None,
                };
                let size = plan.sites.iter().filter_map(size).max().unwrap_or(START_SIZE);
                bpf::KernelMap::with_keys(MapType::Hash, START_KEY_SIZE, size, most)?
            }
        };
        self.maps.insert(map, created);
        Ok(())
    }

    /// The programs of entries of functions that have none yet, each with its entries: those that sites read from
    /// the number of the first one on that has no program.
    fn entries(&mut self, plan: &Plan) -> Result<HashMap<Code, Sites>, SessionError> {
        let mut programs: HashMap<Code, Sites> = HashMap::new();
        let new = plan.sites.iter().enumerate().skip(self.layouts.len());
        let new: Vec<_> = new.filter_map(|(number, site)| Some((number, self.frame(plan, site)?.entry))).collect();
        for (site, number) in new {
            let number = number as usize;
            let Some(entry) = plan.entries.get(number).filter(|_| self.entered.insert(number)) else { continue };
            let settings =
                program::ProgramSettings { processes: self.among.filter(), stacks: StackSettings::NONE, waits: None };
            let target = self.target(plan, entry.image, entry.probe, false);
            let code = entry::entry(&entry.stack_pointer, &entry.values, &target, settings);
            let code = code.map_err(|why| SessionError::Program { site, why })?;
            let at = bpf::At { offset: entry.offset.0, switch: 0, cookie: number as u64 };
            programs.entry(code).or_default().entry(entry.image).or_default().push(at);
        }
        Ok(programs)
    }

    /// The frame of a site, if the program at the site reads values of its entry.
    fn frame<'p>(&self, plan: &'p Plan, site: &'p PlannedSite) -> Option<FrameLookup<'p>> {
        let is_watched = site.recorded.is_none() && site.filter != Some(Condition::Known(false));
        let frame = site.frame.as_ref().filter(|_| is_watched)?;
        let read: Vec<usize> = match self.mode {
            Mode::Trace { .. } => (0..site.inputs.len()).collect(),
            Mode::Count { .. } => {
                site.filter.iter().flat_map(Condition::inputs).chain(site.aggregate.inputs()).collect()
            }
            Mode::Nothing => Vec::new(),
        };
        let needs = |input: &Input| !input.entry_values().is_empty();
        read.into_iter().filter_map(|index| site.inputs.get(index)).any(needs).then_some(())?;
        let entry = plan.entries.get(frame.entry)?;
        let (number, stack_pointer) = (u32::try_from(frame.entry).ok()?, &frame.stack_pointer);
        Some(FrameLookup { entry: number, stack_pointer, values: &entry.values })
    }

    /// What a program in an image depends on, whose probe has this link-time address.
    fn target(&self, plan: &Plan, image: usize, probe: Vaddr, is_sleepable: bool) -> Target {
        let image = plan.images.get(image);
        Target {
            probe,
            platform: image.and_then(|image| image.platform),
            thread_local_size: image.and_then(|image| image.thread_local_size),
            is_sleepable,
            has_exchange: self.uprobes.has_exchange(),
            kernel: self.kernel.offsets,
        }
    }

    /// The programs of the sites that have none yet, each with its sites, and those of events of the
    /// kernel. Sites with the same program share it.
    ///
    /// Sites with one address share a program that does what is wanted at each of them, in their order.
    fn programs<'p>(&mut self, plan: &'p Plan) -> Result<(Groups, Vec<AtEvent<'p>>), SessionError> {
        let (mut programs, mut events): (Groups, _) = (HashMap::new(), Vec::new());
        let first = self.layouts.len();
        self.layouts.resize(plan.sites.len(), Layout::default());
        for numbers in plan.by_address(first) {
            let Some((number, site)) = numbers.first().and_then(|first| Some((*first, plan.sites.get(*first)?))) else {
                continue;
            };
            if let Some(event) = plan.event_of(site) {
                let (code, _) = self.program(plan, &[number])?;
                events.push((code, &**event, number as u64));
                continue;
            }
            let mut parts = Vec::new();
            self.parts(plan, &numbers, &mut parts)?;
            let switch = numbers.iter().find_map(|number| plan.sites.get(*number)?.switch);
            for (later, (program, cookie)) in parts.into_iter().rev().enumerate() {
                let sites = programs.entry((later, program)).or_default().entry(site.image).or_default();
                let switch = switch.map_or(0, |switch| switch.0);
                sites.push(bpf::At { offset: site.offset.0, switch, cookie });
            }
        }
        Ok((programs, events))
    }

    /// The programs of the sites of an address, each with the number of its first site. It is one, unless
    /// that is too long.
    fn parts(
        &mut self,
        plan: &Plan,
        numbers: &[usize],
        parts: &mut Vec<((Code, bool), u64)>,
    ) -> Result<(), SessionError> {
        if numbers.len() <= MOST_SECTIONS {
            match self.program(plan, numbers) {
                Err(_) if numbers.len() > 1 => {}
                program => {
                    parts.push((program?, numbers.first().map_or(0, |number| *number as u64)));
                    return Ok(());
                }
            }
        }
        let (before, after) = numbers.split_at(numbers.len() / 2);
        self.parts(plan, before, parts)?;
        self.parts(plan, after, parts)
    }

    /// The program of sites with one address, and whether it may sleep. Notes the layouts of their records.
    fn program(&mut self, plan: &Plan, numbers: &[usize]) -> Result<(Code, bool), SessionError> {
        let is_event =
            numbers.first().and_then(|first| plan.sites.get(*first)).and_then(|it| plan.event_of(it)).is_some();
        let settings = program::ProgramSettings {
            processes: self.among.filter(),
            stacks: self.stacks(is_event),
            waits: self.off_cpu.as_ref().map(OffCpu::waits),
        };
        let first = numbers.first().copied().unwrap_or_default();
        let sites = || numbers.iter().filter_map(|number| Some((*number, plan.sites.get(*number)?)));
        let sections: Vec<Section<'_>> = sites()
            .map(|(number, site)| Section {
                distance: u32::try_from(number - first).unwrap_or(u32::MAX),
                inputs: &site.inputs,
                filter: site.filter.as_ref(),
                aggregate: &site.aggregate,
                group: u32::try_from(plan.group(site.marker)).unwrap_or(u32::MAX),
                reads: &plan.reads,
                frame: self.frame(plan, site),
            })
            .collect();
        let site = sites().next().map(|(_, site)| site);
        let event = site.and_then(|site| plan.event_of(site));
        let is_count = matches!(self.mode, Mode::Count { .. });
        let reads = sites().any(|(_, site)| site.filter.is_some() || !site.aggregate.inputs().is_empty());
        // The kernel has no table of stacks for programs that sleep.
        let has_stack = sites().any(|(_, site)| matches!(site.aggregate, Aggregate::Stacks { .. }));
        let is_sleepable = (!is_count || reads && !has_stack) && event.is_none() && self.uprobes.can_sleep();
        let (image, probe) = site.map_or((usize::MAX, Vaddr(0)), |site| (site.image, site.probe));
        let target = self.target(plan, image, probe, is_sleepable);
        let program = match (self.mode, event, &sections[..]) {
            (Mode::Nothing, ..) => program::nothing().map(|code| (code, Vec::new())),
            (Mode::Count { .. }, ..) => {
                count(&sections, &target, settings, event.map(|it| &**it)).map(|code| (code, Vec::new()))
            }
            (Mode::Trace { .. }, Some(event), [Section { inputs, filter, .. }, ..]) => {
                event::trace(event, inputs, *filter, &target, settings).map(|(code, layout)| (code, vec![layout]))
            }
            (Mode::Trace { .. }, ..) => trace::trace(&sections, &target, settings),
        };
        let (code, layouts) = program.map_err(|why| SessionError::Program { site: first, why })?;
        for ((number, _), layout) in sites().zip(layouts) {
            if let Some(known) = self.layouts.get_mut(number) {
                *known = layout;
            }
        }
        Ok((code, target.is_sleepable))
    }

    /// What a record has of stacks. Where the program's registers are not found at events, the kernel follows frame
    /// pointers there.
    fn stacks(&mut self, is_event: bool) -> StackSettings {
        let Mode::Trace { stacks, .. } = self.mode else { return StackSettings::NONE };
        if !is_event || stacks.copied().is_none() {
            return stacks;
        }
        let finds = *self.finds_registers.get_or_insert_with(|| {
            let code = program::find_registers().map(|code| code.link(&|_| -1));
            code.is_ok_and(|code| bpf::load(&code, Kind::Tracepoint).is_ok())
        });
        let followed = StackSettings { program: Some(ProgramStack::FramePointers), ..stacks };
        if finds { stacks } else { followed }
    }

    /// The layout of the record of each site.
    pub(super) fn layouts(&self) -> &[Layout] {
        &self.layouts
    }

    /// Hands on the hits that are complete, in the order of their times. Returns how many there
    /// were.
    ///
    /// `is_last` says that no program runs any more, so no earlier hit can come.
    pub(super) fn read(&mut self, plan: &Plan, is_last: bool, each: &mut dyn FnMut(&Hit<'_>)) -> u64 {
        let Some((_, ring)) = &mut self.ring else { return 0 };
        // Noted before the end of the ring buffer is read (see `order`).
        let time = if is_last { u64::MAX } else { now() };
        let order = &mut self.order;
        ring.read(&mut |record| order.add(Record(record).time(), record));
        let mut count = 0;
        self.order.take_before(time, &mut |record| {
            if let Some(hit) = Hit::new(Record(record), plan, &self.layouts) {
                count += 1;
                each(&hit);
            }
        });
        self.received += count;
        count
    }

    /// Removes the probes. After it no new record is written.
    pub(super) fn detach(&mut self) {
        let mut open: Vec<UprobeLink> = self.open.drain(..).map(UprobeLink::from).collect();
        open.extend(self.at_sites.drain(..).map(|(_, link)| link));
        open.extend(self.notices.iter_mut().flat_map(Notices::take_links));
        close(open);
        close(self.at_entries.drain(..).map(|(_, link)| link).collect());
    }

    /// Removes the probes of an image, whose file has become another program.
    pub(super) fn forget(&mut self, image: usize) {
        for links in [&mut self.at_sites, &mut self.at_entries] {
            let is_its = |(number, _): &(usize, UprobeLink)| *number == image;
            let (gone, kept) = std::mem::take(links).into_iter().partition(is_its);
            *links = kept;
            let gone: Vec<_> = gone;
            close(gone.into_iter().map(|(_, link)| link).collect());
        }
    }

    /// Tells when a loader maps libraries.
    pub(super) fn add_loader(&mut self, path: &str, offset: u64) {
        let Self { notices, among, .. } = self;
        if !notices.as_mut().is_some_and(|notices| notices.add_loader(path, offset, among)) {
            // Somebody has to look again and again.
            *notices = None;
        }
    }

    /// Also tells when a process maps files that a watched one has created.
    pub(super) fn add_process(&mut self, pid: u32) {
        if let Some(notices) = &mut self.notices {
            notices.add_process(pid);
        }
    }

    /// What tells when processes map files.
    pub(super) fn notices(&mut self) -> Option<&mut Notices> {
        self.notices.as_mut()
    }

    /// Readable when there are hits, if they are wanted, or a process has mapped a file.
    pub(super) fn descriptors(&self, with_hits: bool) -> impl Iterator<Item = RawFd> {
        let ring = self.ring.as_ref().filter(|_| with_hits).map(|(map, _)| map.descriptor());
        ring.into_iter().chain(self.notices.iter().flat_map(Notices::descriptors))
    }

    /// Whether hits were read that are not handed on yet.
    pub(super) fn has_waiting(&self) -> bool {
        !self.order.is_empty()
    }

    /// Whether nobody has to look what processes map.
    pub(super) fn is_told(&self) -> bool {
        matches!(self.among, Among::All) || self.notices.as_ref().is_some_and(Notices::is_complete)
    }

    /// How many hits were handed on.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// How often the kernel did not run a program at one of its events.
    pub(super) fn missed(&self) -> Result<u64, Error> {
        self.events.misses()
    }

    /// How many hits had no space in the ring buffer, and how often the kernel did not run a program at
    /// one of its events.
    pub(super) fn lost(&self) -> Result<u64, Error> {
        let missed = self.missed()?;
        let Some(map) = self.maps.get(&Map::Lost) else { return Ok(missed) };
        (0..self.site_count()).try_fold(missed, |sum: u64, site| Ok(sum.wrapping_add(map.sum(site)?)))
    }

    /// What was counted at each entry of a function that has a program, by its number.
    pub(super) fn entries_counted(&self) -> Result<Vec<(usize, EntryCounts)>, Error> {
        let Some(map) = self.maps.get(&Map::EntryTallies) else { return Ok(Vec::new()) };
        let of_entry = |number: &usize| {
            let mut counts = EntryCounts::default();
            for values in map.values(u32::try_from(*number).unwrap_or(u32::MAX))? {
                counts.add(&values);
            }
            Ok((*number, counts))
        };
        let mut all: Vec<_> = self.entered.iter().map(of_entry).collect::<Result<_, Error>>()?;
        all.sort_unstable_by_key(|(number, _)| *number);
        Ok(all)
    }

    fn site_count(&self) -> u32 {
        u32::try_from(self.layouts.len()).unwrap_or(u32::MAX)
    }

    /// The tallies of each site.
    pub(super) fn tallies(&self) -> Result<Vec<Tallies>, Error> {
        let Some(map) = self.maps.get(&Map::Tallies) else {
            return Ok(vec![Tallies::default(); self.layouts.len()]);
        };
        let of_site = |site| {
            let mut sum = Tallies::default();
            for values in map.values(site)? {
                let mut of_cpu = Tallies::default();
                of_cpu.0.iter_mut().zip(values).for_each(|(to, from)| *to = from);
                sum.add(&of_cpu);
            }
            Ok(sum)
        };
        (0..self.site_count()).map(of_site).collect()
    }

    /// What was counted.
    pub(super) fn counted(&self) -> Result<RawCounts, Error> {
        let entries = |map| self.maps.get(&map).map_or_else(|| Ok(Vec::new()), bpf::KernelMap::entries);
        let values = entries(Map::Values)?;
        let of_map = |map, each: &mut dyn FnMut(&[u8], &[u8])| {
            self.maps.get(&map).map_or(Ok(()), |map| map.each(bpf::ALL, each))
        };
        let (mut totals, mut open, now) = (AmountTotals::default(), Durations::default(), now());
        of_map(Map::Amounts, &mut |key, value| totals.extend(AmountTotal::of_entry(key, value)))?;
        of_map(Map::Starts, &mut |_, start| {
            let time = start.first_chunk().map_or(now, |time| u64::from_ne_bytes(*time));
            open.count_one(now.saturating_sub(time));
        })?;
        Ok(RawCounts {
            tallies: self.tallies()?,
            durations: self.durations()?,
            open,
            totals,
            stacks: self.counted_stacks(&values)?,
            values,
            interval_stacks: self.off_cpu.as_ref().map(OffCpu::stacks).transpose()?.flatten().unwrap_or_default(),
            split: self.maps.get(&Map::Parts).map(|map| Ok(SplitTimes::of_values(&map.values(0)?))).transpose()?,
        })
    }

    /// The stacks that keys have, by their numbers.
    fn counted_stacks(&self, values: &[(Vec<u8>, u64)]) -> Result<HashMap<u32, Vec<u64>>, Error> {
        let Some(map) = self.maps.get(&Map::Stacks) else { return Ok(HashMap::new()) };
        let mut stacks = HashMap::new();
        for (_, number) in values.iter().filter_map(|(key, _)| stack_of(key)) {
            let Ok(number) = number else { continue };
            if let (Entry::Vacant(entry), [words]) = (stacks.entry(number), &map.values(number)?[..]) {
                entry.insert(words.iter().copied().take_while(|address| *address != 0).collect());
            }
        }
        Ok(stacks)
    }

    /// How long the intervals were.
    pub(super) fn durations(&self) -> Result<Durations, Error> {
        let Some(map) = self.maps.get(&Map::Times) else { return Ok(Durations::default()) };
        let counts = (0..FINE).map(|bucket| map.sum(bucket)).collect::<Result<_, _>>()?;
        let largest = |entry| Ok::<_, Error>(map.values(entry)?.into_iter().flatten().max().unwrap_or(0));
        Ok(Durations { counts, min: !largest(SHORTEST)?, max: largest(LONGEST)? })
    }
}

/// Closes links. To remove the probes of one, the kernel waits until no program runs at them, about 50 ms.
/// So all of them are closed at the same time.
fn close(mut open: Vec<UprobeLink>) {
    let share = open.len().div_ceil(CLOSERS).max(1);
    std::thread::scope(|scope| {
        while !open.is_empty() {
            let links = open.split_off(open.len().saturating_sub(share));
            // Without a thread they are closed here.
            let _ = std::thread::Builder::new().spawn_scoped(scope, move || drop(links));
        }
    });
}

impl Drop for Programs {
    fn drop(&mut self) {
        self.detach();
    }
}

/// Programs, whether they may sleep, and their sites. Of the programs of one address, the one that is
/// attached earlier has the lower number.
type Groups = HashMap<(usize, (Code, bool)), Sites>;

/// The sites of each image, by its number. What the programs get there is the number of the site.
type Sites = HashMap<usize, Vec<bpf::At>>;

/// The program at an event of the kernel, the event, and the number of the site.
type AtEvent<'p> = (Code, &'p KernelEvent, u64);
