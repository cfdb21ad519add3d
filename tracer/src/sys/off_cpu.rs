//! How long threads are off the CPUs: the programs of `crate::bpf::off_cpu`, attached.

use std::io;
use std::os::fd::{OwnedFd, RawFd};

use simple_markers_events::btf::{self, Btf};

use super::bpf::{self, Kind, MapType};
use super::error::{Error, Step};
use super::request::SessionError;
use crate::aggregate::OFF_CPU_SIZE;
use crate::bpf::instruction::Size;
use crate::bpf::kernel_number::KernelNumber;
use crate::bpf::off_cpu::{SwitchFields, WaitOffsets, exited, switched};
use crate::bpf::{Code, TooLong};

/// The kernel notes how long threads are off the CPUs. When it is dropped, it stops.
#[derive(Debug)]
pub(super) struct OffCpu {
    map: bpf::KernelMap,
    waits: WaitOffsets,
    _links: [OwnedFd; 2],
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
        let waits =
            WaitOffsets { run_delay: task(&["sched_info", "run_delay"])?.offset, last_arrival: last_arrival.offset };
        let fields = SwitchFields {
            last_arrival,
            cfs_rq: task(&["se", "cfs_rq"])?,
            rq: number("cfs_rq", &["rq"])?,
            clock: number("rq", &["clock"])?,
        };
        let arguments = btf.number(btf::BtfKind::Typedef, "btf_trace_sched_switch")?;
        Some(Self { fields, waits, arguments })
    }
}

impl OffCpu {
    /// Makes the kernel note it, of at most so many threads at a time.
    pub(super) fn start(most: u32) -> Result<Self, SessionError> {
        let unknown = |why: &io::Error| Error::new(Step::Types, why);
        let bytes = std::fs::read("/sys/kernel/btf/vmlinux").map_err(|why| unknown(&why))?;
        let btf = Btf::new(&bytes).map_err(|_| unknown(&io::Error::from_raw_os_error(libc::EINVAL)))?;
        let SwitchTypes { fields, waits, arguments } = SwitchTypes::of(&btf).ok_or(SessionError::NoWaits)?;
        let map = bpf::KernelMap::with_keys(MapType::Hash, 8, OFF_CPU_SIZE, most)?;
        let load = |code: Result<Code, TooLong>, kind| {
            let code = code.map_err(|_| Error::new(Step::Program, &io::Error::from_raw_os_error(libc::E2BIG)))?;
            bpf::load(&code.link(&|_| map.descriptor()), kind)
        };
        let exit = bpf::attach_tracepoint(&load(exited(), Kind::Tracepoint)?, Some(c"sched_process_exit"))?;
        let switch = load(switched(&fields), Kind::TypedTracepoint { arguments })?;
        let switch = bpf::attach_tracepoint(&switch, None)?;
        Ok(Self { map, waits, _links: [exit, switch] })
    }

    pub(super) fn descriptor(&self) -> RawFd {
        self.map.descriptor()
    }

    pub(super) fn waits(&self) -> WaitOffsets {
        self.waits
    }
}
