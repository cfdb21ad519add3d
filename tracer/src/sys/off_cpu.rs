//! How long threads are off the CPUs: the programs of `crate::bpf::off_cpu`, attached.

use std::io;
use std::os::fd::{OwnedFd, RawFd};

use simple_markers_events::btf::{self, Btf};

use super::bpf::{self, Kind, MapType};
use super::error::{Error, Step};
use super::interval_stacks::{StackMaps, sample};
use super::request::SessionError;
use crate::aggregate::{IntervalStacks, OFF_CPU_SIZE};
use crate::bpf::instruction::Size;
use crate::bpf::kernel_number::KernelNumber;
use crate::bpf::off_cpu::{SwitchFields, WaitOffsets, exited, switched};
use crate::bpf::{Code, Map, TooLong};
use crate::plan::StackNotes;

/// The kernel notes how long threads are off the CPUs. When it is dropped, it stops.
#[derive(Debug)]
pub(super) struct OffCpu {
    map: bpf::KernelMap,
    waits: WaitOffsets,
    /// The stacks of the threads; `None` if none are noted.
    stacks: Option<StackMaps>,
    _links: Vec<OwnedFd>,
}

/// What the programs need of the kernel.
struct SwitchTypes {
    fields: SwitchFields,
    waits: WaitOffsets,
    /// The number of the type of the arguments of `sched_switch`.
    arguments: u32,
}

impl SwitchTypes {
    /// `None` if the kernel does not count waits, or has no clock of its CPUs where it is looked for.
    fn of(btf: &Btf<'_>) -> Option<Self> {
        let number = |structure, path: &[&str]| KernelNumber::of(btf, structure, path);
        let task = |path: &[&str]| number("task_struct", path).filter(|number| number.size == Size::Eight);
        let last_arrival = task(&["sched_info", "last_arrival"])?;
        let run_delay = task(&["sched_info", "run_delay"])?;
        let waits = WaitOffsets { run_delay: run_delay.offset, last_arrival: last_arrival.offset };
        let fields = SwitchFields {
            last_arrival,
            run_delay,
            state: number("task_struct", &["__state"]).or_else(|| number("task_struct", &["state"]))?,
            cfs_rq: task(&["se", "cfs_rq"])?,
            rq: number("cfs_rq", &["rq"])?,
            clock: number("rq", &["clock"])?,
        };
        let arguments = btf.number(btf::BtfKind::Typedef, "btf_trace_sched_switch")?;
        Some(Self { fields, waits, arguments })
    }
}

impl OffCpu {
    /// Makes the kernel note it, of at most so many threads at a time, and with at most so many pairs of stacks.
    pub(super) fn start(most: u32, notes: StackNotes) -> Result<Self, SessionError> {
        let unknown = |why: &io::Error| Error::new(Step::Types, why);
        let bytes = std::fs::read("/sys/kernel/btf/vmlinux").map_err(|why| unknown(&why))?;
        let btf = Btf::new(&bytes).map_err(|_| unknown(&io::Error::from_raw_os_error(libc::EINVAL)))?;
        let SwitchTypes { fields, waits, arguments } = SwitchTypes::of(&btf).ok_or(SessionError::NoWaits)?;
        let map = bpf::KernelMap::with_keys(MapType::Hash, 8, OFF_CPU_SIZE, most)?;
        let stacks = notes.are_wanted().then(|| StackMaps::new(notes, most)).transpose()?;
        let descriptor = |of| match of {
            Map::OffCpu => map.descriptor(),
            of => stacks.as_ref().map_or(-1, |stacks| stacks.descriptor(of)),
        };
        let load = |code: Result<Code, TooLong>, kind| {
            let code = code.map_err(|_| Error::new(Step::Program, &io::Error::from_raw_os_error(libc::E2BIG)))?;
            bpf::load(&code.link(&descriptor), kind)
        };
        let exit = bpf::attach_tracepoint(&load(exited(), Kind::Tracepoint)?, Some(c"sched_process_exit"))?;
        let switch = load(switched(&fields, notes.blocked), Kind::TypedTracepoint { arguments });
        let switch = switch.map_err(|why| match notes.blocked && !why.is_permission() {
            true => SessionError::NoBlockedStacks(why),
            false => SessionError::Kernel(why),
        })?;
        let mut links = vec![exit, bpf::attach_tracepoint(&switch, None)?];
        if notes.on_cpu {
            links.extend(sample(&descriptor).map_err(|why| match why.is_permission() {
                true => SessionError::Kernel(why),
                false => SessionError::NoSamples(why),
            })?);
        }
        Ok(Self { map, waits, stacks, _links: links })
    }

    /// The descriptor of a map that it shares with the programs at sites; -1 of others.
    pub(super) fn descriptor(&self, map: Map) -> RawFd {
        match map {
            Map::OffCpu => self.map.descriptor(),
            map => self.stacks.as_ref().map_or(-1, |stacks| stacks.descriptor(map)),
        }
    }

    /// The stacks that the threads had so far; `None` if none are noted.
    pub(super) fn stacks(&self) -> Result<Option<IntervalStacks>, Error> {
        self.stacks.as_ref().map(StackMaps::read).transpose()
    }

    pub(super) fn waits(&self) -> WaitOffsets {
        self.waits
    }
}
