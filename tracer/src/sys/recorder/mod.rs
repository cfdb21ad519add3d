//! The engine for probes that the programs record themselves: it arms them, and reads their buffers.

mod bell;
mod folder;
mod process;

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::ops::Range;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::time::Duration;

use simple_markers_record::buffer::event::Event;
use simple_markers_record::buffer::{CLOCK_COUNTER, MAX_ID, packet};
use simple_markers_resolver::address::FileOffset;

use super::clock::{add_now, now};
use super::lease::is_only_here;
use super::request::{Mode, Scope, SessionError};
use crate::aggregate::{Passage, Replay, Tally};
use crate::filter::Fields;
use crate::ftrace::hit_record::RecordHeader;
use crate::plan::{Aggregate, Condition, Input, Plan, PlannedImage, PlannedSite, RecorderProbe};
use crate::record::stack::StackSettings;
use crate::record::{Layout, Record};
use crate::recorded_members::RecordedInputs;
use crate::recorder::ring::{RingError, Sizes};
use crate::recorder::{Counter, Rest, Ring, event, rest};

use bell::Bell;
use folder::Folder;
pub use process::ArmError;
use process::{Block, File, ProcessIdentity, ProcessMemory};

/// The largest packet in bytes. A packet is freed when all of it is read.
const LARGEST_PACKET: u32 = 1 << 20;

/// The most lost hits that are believed.
const MOST_LOST: u64 = 1 << 48;

/// The most buffers that are read, and the most names of threads that are kept. A program has a buffer
/// for each thread that runs at the same time.
const MOST: usize = 1 << 16;

/// The probes that are armed in processes, and their buffers.
#[derive(Debug)]
pub(super) struct Recorders {
    owner: ProcessIdentity,
    sizes: Sizes,
    with_children: bool,
    /// The processes that were named.
    targets: Vec<RecorderProcess>,
    /// The images of the plan with a recorder.
    images: Vec<Image>,
    /// Those whose files have become other programs. Processes may still run the old ones.
    replaced: Vec<Image>,
    /// The probe with the number n + 1.
    probes: Vec<Probe>,
    /// How many sites of the plan were looked at.
    seen: usize,
    buffers: HashMap<(u32, OsString), ThreadBuffer>,
    /// The names of the threads, by process and thread.
    names: HashMap<(u32, u32), Vec<u8>>,
    counter: Counter,
    /// Events that were read and have no time yet.
    pending: Pending,
    /// Hits without a buffer.
    lost: u64,
    failures: Vec<Failure>,
    is_busy: bool,
    bell: Bell,
    rest: Rest,
    /// The processes that were asked to tell of hits, by the process whose folder they use.
    asked: HashSet<(u32, u32)>,
}

/// A probe of the plan.
#[derive(Debug)]
struct Probe {
    site: u32,
    recorded: RecorderProbe,
    layout: Layout,
}

/// An image of the plan with a recorder.
#[derive(Debug)]
struct Image {
    file: File,
    control: FileOffset,
    /// The switches with their numbers.
    switches: Vec<(FileOffset, u16)>,
}

/// A process that was named.
#[derive(Debug)]
struct RecorderProcess {
    pid: u32,
    /// `None` until a probe was armed.
    folder: Option<Folder>,
    /// The images whose probes could not be armed.
    refused: HashSet<PathBuf>,
}

/// The buffer of a thread.
#[derive(Debug)]
struct ThreadBuffer {
    /// `None` if it is not read any more.
    ring: Option<Ring>,
    /// How many hits had been lost when it was given up.
    lost: u64,
    /// The process in its name.
    pid: u32,
    /// Whether its process has not mapped it any more, so that it only has to be read once again.
    is_left: bool,
}

/// Events that were read, by the clocks of their buffers.
#[derive(Debug, Default)]
struct Pending {
    events: Vec<PendingEvent>,
    arguments: Vec<u8>,
}

/// An event that was read.
#[derive(Debug)]
struct PendingEvent {
    time: u64,
    is_counter: bool,
    process: u32,
    thread: u32,
    id: u16,
    cpu: u32,
    /// Where its arguments are.
    arguments: Range<usize>,
}

/// Something that is not recorded.
#[derive(Debug)]
pub struct Failure {
    /// The process.
    pub pid: u32,
    /// The image, or the file of a buffer.
    pub file: PathBuf,
    /// Why.
    pub why: Why,
}

/// Why something is not recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// The probes are not armed.
    #[error(transparent)]
    Armed(#[from] ArmError),
    /// A buffer is not read.
    #[error(transparent)]
    Buffer(#[from] RingError),
    /// The program could not make a buffer.
    #[error("the program could not make a buffer: {0}")]
    Program(io::Error),
}

impl Recorders {
    /// Arms nothing yet.
    pub(super) fn new(scope: &Scope, mode: Mode) -> Result<Self, SessionError> {
        let (Mode::Trace { ring, stacks: StackSettings::NONE } | Mode::Count { ring, .. }) = mode else {
            return Err(SessionError::NotRecorded);
        };
        let Scope::Processes { pids, with_children } = scope else { return Err(SessionError::NotRecorded) };
        folder::remove_leftovers();
        let owner = ProcessIdentity::of(std::process::id()).ok_or(SessionError::NotRecorded)?;
        // Each thread has a buffer.
        let size = ring / 2;
        let packet = (size / 16).next_power_of_two().clamp(packet::MIN_SIZE, LARGEST_PACKET);
        let targets = pids.iter().map(|pid| RecorderProcess::new(*pid));
        Ok(Self {
            owner,
            sizes: Sizes { packet, packets: (size / packet).max(2) },
            with_children: *with_children,
            targets: targets.collect(),
            images: Vec::new(),
            replaced: Vec::new(),
            probes: Vec::new(),
            seen: 0,
            buffers: HashMap::new(),
            names: HashMap::new(),
            counter: Counter::default(),
            pending: Pending::default(),
            lost: 0,
            failures: Vec::new(),
            is_busy: false,
            bell: Bell::new(),
            rest: Rest::default(),
            asked: HashSet::new(),
        })
    }

    /// Arms the probes of another process too, from the next call on that arms.
    pub(super) fn add(&mut self, pid: u32) {
        // Those that have ended and left no buffer.
        let has_any = |it: &RecorderProcess| it.folder.is_some() || PathBuf::from(format!("/proc/{}", it.pid)).exists();
        self.targets.retain(has_any);
        if self.targets.len() < MOST && !self.targets.iter().any(|target| target.pid == pid) {
            self.targets.push(RecorderProcess::new(pid));
        }
    }

    /// Arms the probes of an image no more: its file has become another program.
    pub(super) fn forget(&mut self, image: &PlannedImage) {
        let file = File { path: PathBuf::from(&image.path), number: image.file.number };
        let (replaced, kept) = std::mem::take(&mut self.images).into_iter().partition(|image| image.file == file);
        self.images = kept;
        let replaced: Vec<Image> = replaced;
        self.replaced.extend(replaced);
    }

    /// Numbers the probes that were added to the plan since the last call, and arms the probes of the
    /// processes.
    pub(super) fn attach(&mut self, plan: &Plan) {
        for (number, site) in plan.sites.iter().enumerate().skip(self.seen) {
            let Some((recorded, switch)) = site.recorded.as_ref().zip(site.switch) else { continue };
            let Some(image) = plan.images.get(site.image) else { continue };
            let (Ok(id @ ..=MAX_ID), Ok(site_number)) = (u16::try_from(self.probes.len() + 1), u32::try_from(number))
            else {
                break;
            };
            if site.filter == Some(Condition::Known(false)) {
                continue;
            }
            let layout = Layout::new(site.inputs.iter().map(Input::kind));
            self.probes.push(Probe { site: site_number, recorded: recorded.clone(), layout });
            let file = File { path: PathBuf::from(&image.path), number: image.file.number };
            let image = match self.images.iter().position(|image| image.file == file) {
                Some(known) => self.images.get_mut(known),
                None => {
                    self.images.push(Image { file, control: recorded.control, switches: Vec::new() });
                    self.images.last_mut()
                }
            };
            image.into_iter().for_each(|image| image.switches.push((switch, id)));
        }
        self.seen = plan.sites.len();
        self.arm();
    }

    /// Arms the probes of every process that has mapped their image since the last call, or has become
    /// another program.
    pub(super) fn arm(&mut self) {
        for target in &mut self.targets {
            let Ok(memory) = ProcessMemory::open(target.pid) else { continue };
            for image in &self.images {
                if target.refused.contains(&image.file.path) {
                    continue;
                }
                match target.arm(&memory, image, self.owner, self.sizes, &mut self.bell) {
                    // Its hits may be read after it has ended.
                    Ok(()) => {
                        let pid = target.pid;
                        self.names.entry((pid, pid)).or_insert_with(|| name_of(pid, pid).unwrap_or_default());
                    }
                    Err(ArmError::NotMapped) => {}
                    Err(why) => {
                        target.refused.insert(image.file.path.clone());
                        self.failures.push(Failure { pid: target.pid, file: image.file.path.clone(), why: why.into() });
                    }
                }
            }
        }
    }

    /// What is not recorded, since the last call.
    pub(super) fn take_failures(&mut self) -> Vec<Failure> {
        std::mem::take(&mut self.failures)
    }

    /// Hands on the records of the hits that wait in the buffers for which their filters hold, with
    /// their times. Those of each thread are in their order. The others are noted in `counts`, if a
    /// filter could not be evaluated.
    pub(super) fn read(&mut self, plan: &Plan, counts: &mut Replay, each: &mut dyn FnMut(u64, &[u8])) {
        if self.counter.is_empty() {
            add_now(&mut self.counter);
        }
        let is_new = self.find_buffers();
        let Self { buffers, pending, failures, .. } = self;
        let before = pending.events.len();
        self.is_busy = read_buffers(buffers, failures, &mut |header, event, is_counter| {
            pending.add(header, event, is_counter);
        });
        let is_any = pending.events.len() > before;
        add_now(&mut self.counter);
        self.note_look(is_new || is_any);
        self.hand_on(plan, counts, now(), each);
    }

    /// Hands on the records of the events that were read before a time.
    fn hand_on(&mut self, plan: &Plan, counts: &mut Replay, before: u64, each: &mut dyn FnMut(u64, &[u8])) {
        let mut pending = std::mem::take(&mut self.pending);
        if self.names.len() > MOST {
            let is_target = |pid: u32| self.targets.iter().any(|target| target.pid == pid);
            self.names.retain(|(process, thread), _| process == thread && is_target(*process));
        }
        let mut record = Vec::new();
        for read in pending.events.drain(..) {
            let Some((probe, site)) = probe(&self.probes, plan, read.id) else { continue };
            let time = if read.is_counter { self.counter.time(read.time) } else { Some(read.time) };
            // A program may write a time that never comes.
            let Some(time) = time.map(|time| time.min(before)) else { continue };
            let (process, thread) = (read.process, read.thread);
            if !self.names.contains_key(&(process, thread)) {
                let name = name_of(process, thread).or_else(|| self.names.get(&(process, process)).cloned());
                self.names.insert((process, thread), name.unwrap_or_default());
            }
            let name = self.names.get(&(process, thread)).map_or(&[][..], Vec::as_slice);
            let header = RecordHeader { time, thread, process, site: probe.site, cpu: read.cpu, name };
            let arguments = pending.arguments.get(read.arguments).unwrap_or_default();
            let event = Event { time: read.time, id: read.id, cpu: read.cpu, arguments };
            if !event::write(&header, &event, &probe.recorded, &probe.layout, &mut record) {
                continue;
            }
            let fields = Fields { record: Record(&record), layout: &probe.layout };
            let inputs = &RecordedInputs::new(&fields, site);
            match site.filter.as_ref().map_or(Some(true), |filter| filter.evaluate(inputs)) {
                Some(true) => each(time, &record),
                Some(false) => {}
                None => counts.tally(probe.site as usize, Tally::Unfiltered),
            }
        }
        pending.arguments.clear();
        self.pending = pending;
    }

    /// Counts the hits that wait in the buffers, without their times. Returns how many there were.
    pub(super) fn count(&mut self, plan: &Plan, counts: &mut Replay) -> u64 {
        let is_new = self.find_buffers();
        let Self { buffers, probes, failures, .. } = self;
        let (mut count, mut record, mut is_any) = (0, Vec::new(), false);
        self.is_busy = read_buffers(buffers, failures, &mut |header, event, _| {
            is_any = true;
            let Some((probe, site)) = probe(probes, plan, event.id) else { return };
            count += 1;
            let number = probe.site as usize;
            if site.filter.is_none() && site.aggregate == Aggregate::Hits {
                return counts.tally(number, Tally::Hits);
            }
            let (process, thread) = (header.pid, header.tid);
            let start = RecordHeader { time: 0, thread, process, site: probe.site, cpu: 0, name: b"" };
            if event::write(&start, event, &probe.recorded, &probe.layout, &mut record) {
                let fields = Fields { record: Record(&record), layout: &probe.layout };
                let inputs = &RecordedInputs::new(&fields, site);
                let holds = site.filter.as_ref().map_or(Some(true), |filter| filter.evaluate(inputs));
                counts.add(&site.aggregate, holds, &Passage { site: number, time: 0, process, thread, inputs });
            }
        });
        self.note_look(is_new || is_any);
        count
    }

    /// Whether a buffer had so much to read the last time that it may be full soon.
    pub(super) fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Whether all programs tell of their next hits, so that nobody has to look for them.
    pub(super) fn is_asleep(&self) -> bool {
        self.rest.is_asleep()
    }

    /// How long until the buffers are looked at all the same; `None` if somebody looks anyway.
    pub(super) fn next_look(&self) -> Option<Duration> {
        self.is_asleep().then_some(Duration::from_nanos(rest::LOOK))
    }

    /// Readable when there are hits, if programs tell of them.
    pub(super) fn descriptor(&self) -> RawFd {
        self.bell.descriptor()
    }

    /// Notes a look at the buffers, and whether there was anything. After a while without hits the programs
    /// are asked to tell of the next ones.
    fn note_look(&mut self, is_any: bool) {
        self.give_up_left();
        if self.rest.look(now(), is_any) {
            let is_all = self.ask() && self.bell.is_complete();
            self.rest.asked(now(), is_all);
        }
    }

    /// Asks all processes that have a buffer to tell of their next hits. Returns whether all of them will.
    /// The next hit of a thread without a buffer makes one.
    fn ask(&mut self) -> bool {
        let mut processes: HashMap<(u32, u32), bool> = HashMap::new();
        for ((target, _), buffer) in &self.buffers {
            if let Some(ring) = &buffer.ring {
                *processes.entry((*target, buffer.pid)).or_insert(true) &= ring.has_bell().unwrap_or(false);
            }
        }
        let mut is_all = true;
        for (process, has_bells) in processes {
            // A recorder without a bell would make a new buffer each time.
            let is_asked = if has_bells { self.ask_process(process) } else { Ok(false) };
            if matches!(is_asked, Ok(true)) {
                self.asked.insert(process);
                continue;
            }
            let has_left = self.find_left(process);
            // It was the process of the buffers, and has none of the images any more.
            let was_asked = is_asked.is_ok() && self.asked.contains(&process);
            is_all &= has_left || was_asked;
            if has_left {
                self.asked.remove(&process);
            }
        }
        is_all
    }

    /// Asks the images of a process. Returns whether there is one that writes to the folder of the target.
    fn ask_process(&self, (target, pid): (u32, u32)) -> Result<bool, ArmError> {
        let folder = self.targets.iter().find(|it| it.pid == target).and_then(|target| target.folder.as_ref());
        let Some(folder) = folder else { return Ok(false) };
        let memory = match ProcessMemory::open(pid) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(false),
            memory => memory?,
        };
        let mut is_any = false;
        for image in self.images.iter().chain(&self.replaced) {
            match memory.ask(&image.file, image.control, self.owner, &folder.name) {
                Err(ArmError::NotMapped) => {}
                is_asked => is_any |= is_asked?,
            }
        }
        Ok(is_any)
    }

    /// Finds the buffers that a process has not mapped any more. Returns whether it has no other.
    fn find_left(&mut self, (target, pid): (u32, u32)) -> bool {
        let mut is_all = true;
        let its = self.buffers.iter_mut().filter(|((of, _), buffer)| (*of, buffer.pid) == (target, pid));
        for (_, buffer) in its {
            let Some(ring) = &buffer.ring else { continue };
            buffer.is_left = is_only_here(ring.file());
            is_all &= buffer.is_left;
        }
        is_all
    }

    /// Gives up the buffers that were read after their processes had left them.
    fn give_up_left(&mut self) {
        let Self { buffers, targets, lost, .. } = self;
        buffers.retain(|(target, name), buffer| {
            if !buffer.is_left {
                return true;
            }
            *lost = lost.saturating_add(buffer.lost());
            let folder = targets.iter().find(|it| it.pid == *target).and_then(|target| target.folder.as_ref());
            folder.into_iter().for_each(|folder| folder.remove(name));
            false
        });
    }

    /// Opens the buffers that were made since the last call. Returns whether there were any, or somebody told
    /// of hits.
    fn find_buffers(&mut self) -> bool {
        // What is told from now on is told again.
        let mut is_any = self.bell.take();
        for target in &self.targets {
            let Some(folder) = &target.folder else { continue };
            // A file has a name with a dot until its first page is written.
            let is_whole = |name: &OsString| name.as_encoded_bytes().first() != Some(&b'.');
            for name in folder.names().filter(is_whole) {
                let key = (target.pid, name);
                // `PID-NUMBER`: a process that the target created writes there too.
                let pid = key.1.to_str().and_then(|name| name.split_once('-')?.0.parse::<u32>().ok());
                let wanted = pid.filter(|pid| self.with_children || *pid == target.pid);
                let Some(pid) = wanted else { continue };
                if self.buffers.len() >= MOST || self.buffers.contains_key(&key) {
                    continue;
                }
                let opened = folder
                    .open(&key.1)
                    .map_err(RingError::from)
                    .and_then(|file| file.map_or(Err(RingError::NoBuffer), |file| Ring::new(file, self.sizes)));
                let ring = match opened {
                    Ok(ring) => Some(ring),
                    Err(why) => {
                        self.failures.push(Failure { pid: target.pid, file: (&key.1).into(), why: why.into() });
                        None
                    }
                };
                self.buffers.insert(key, ThreadBuffer { ring, lost: 0, pid, is_left: false });
                is_any = true;
            }
        }
        is_any
    }

    /// Switches the probes off. What was recorded can still be read.
    pub(super) fn detach(&mut self) {
        for target in &self.targets {
            let Ok(memory) = ProcessMemory::open(target.pid) else { continue };
            for image in &self.images {
                // A process that has ended has nothing to switch off.
                let Ok((lost, error)) = memory.disarm(&image.file, image.control, self.owner, &image.switches) else {
                    continue;
                };
                self.lost = self.lost.saturating_add(lost);
                if lost > 0 {
                    let why = Why::Program(io::Error::from_raw_os_error(i32::try_from(error).unwrap_or(0)));
                    self.failures.push(Failure { pid: target.pid, file: image.file.path.clone(), why });
                }
            }
        }
    }

    /// How many hits were dropped.
    pub(super) fn lost(&self) -> u64 {
        // Programs can write any number there, and others are added to it.
        self.buffers.values().map(ThreadBuffer::lost).fold(self.lost, u64::saturating_add).min(MOST_LOST)
    }
}

impl Drop for Recorders {
    fn drop(&mut self) {
        self.detach();
        for ring in self.buffers.values().filter_map(|buffer| buffer.ring.as_ref()) {
            folder::free(ring.file());
        }
    }
}

impl ThreadBuffer {
    /// How many hits were dropped.
    fn lost(&self) -> u64 {
        self.ring.as_ref().and_then(|ring| ring.lost().ok()).unwrap_or(self.lost)
    }
}

impl RecorderProcess {
    fn new(pid: u32) -> Self {
        Self { pid, folder: None, refused: HashSet::new() }
    }

    /// Arms the probes of an image in the process.
    fn arm(
        &mut self,
        memory: &ProcessMemory,
        image: &Image,
        owner: ProcessIdentity,
        sizes: Sizes,
        bell: &mut Bell,
    ) -> Result<(), ArmError> {
        let Image { file, control, switches } = image;
        if memory.is_ours(file, *control, owner)? {
            return memory.number(file, switches);
        }
        let folder = &self.folder(owner, memory, bell)?.name;
        memory.arm(file, *control, &Block { folder, sizes, owner }, switches)
    }

    /// The folder of its buffers.
    fn folder(&mut self, owner: ProcessIdentity, memory: &ProcessMemory, bell: &mut Bell) -> io::Result<&Folder> {
        if self.folder.is_none() {
            let folder = Folder::create(owner, self.pid, memory.user()?)?;
            bell.watch(&folder);
            self.folder = Some(folder);
        }
        self.folder.as_ref().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }
}

impl Pending {
    fn add(&mut self, header: &packet::Header, event: &Event<'_>, is_counter: bool) {
        let from = self.arguments.len();
        self.arguments.extend_from_slice(event.arguments);
        self.events.push(PendingEvent {
            time: event.time,
            is_counter,
            process: header.pid,
            thread: header.tid,
            id: event.id,
            cpu: event::cpu(event),
            arguments: from..self.arguments.len(),
        });
    }
}

/// Hands on the events of all buffers, and whether their clocks are the processor's counter. Returns
/// whether a packet was full.
fn read_buffers(
    buffers: &mut HashMap<(u32, OsString), ThreadBuffer>,
    failures: &mut Vec<Failure>,
    each: &mut dyn FnMut(&packet::Header, &Event<'_>, bool),
) -> bool {
    let mut is_busy = false;
    for ((pid, name), buffer) in buffers {
        let Some(ring) = &mut buffer.ring else { continue };
        let is_counter = ring.clock == CLOCK_COUNTER;
        let read = ring.read(&mut |header, event| each(header, event, is_counter));
        is_busy |= read.as_ref().is_ok_and(|packets| *packets > 0);
        if let Err(why) = read {
            failures.push(Failure { pid: *pid, file: name.into(), why: why.into() });
            buffer.lost = ring.lost().unwrap_or(0);
            buffer.ring = None;
        }
    }
    is_busy
}

/// The probe with a number, and its site.
fn probe<'a>(probes: &'a [Probe], plan: &'a Plan, id: u16) -> Option<(&'a Probe, &'a PlannedSite)> {
    let probe = probes.get(usize::from(id).checked_sub(1)?)?;
    Some((probe, plan.sites.get(probe.site as usize)?))
}

/// The name of a thread, or of its process if the thread has ended; `None` if both have.
fn name_of(process: u32, thread: u32) -> Option<Vec<u8>> {
    let name = std::fs::read(format!("/proc/{process}/task/{thread}/comm"));
    let mut name = name.or_else(|_| std::fs::read(format!("/proc/{process}/comm"))).ok()?;
    if name.last() == Some(&b'\n') {
        name.pop();
    }
    Some(name)
}
