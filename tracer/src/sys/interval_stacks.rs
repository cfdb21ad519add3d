//! The stacks of threads during intervals: the maps that have them, and the samples on CPUs.

use std::collections::HashMap;
use std::io;
use std::os::fd::{OwnedFd, RawFd};

use super::bpf::{self, Kind, MapType};
use super::error::{Error, Step};
use super::events::{self, Attributes, TYPE_SOFTWARE};
use super::numbers::cpus;
use crate::aggregate::{IntervalStacks, RawStackSum, SUM_KEY_SIZE, SUM_SIZE, StackMoment, StackSums};
use crate::bpf::Map;
use crate::bpf::stack_sums::sampled;
use crate::plan::StackNotes;
use crate::record::stack::FRAMES;

/// The most stacks that are kept. Each takes half a KiB.
const STACKS: u32 = 1 << 16;

/// The number of the clock of a CPU among the events that the kernel counts itself (`PERF_COUNT_SW_CPU_CLOCK`).
const CPU_CLOCK: u64 = 0;
/// The time between two samples of a CPU in ns: 997 in a second, so that they do not keep step with what happens every so
/// many ms.
const PERIOD: u64 = 1_000_000_000 / 997;

/// A table of stacks for at most so many values.
pub(super) fn stack_table(most: u32) -> Result<bpf::KernelMap, Error> {
    bpf::KernelMap::new(MapType::StackTrace, 8 * u32::from(FRAMES), STACKS.min(most.next_power_of_two()))
}

/// The maps of the stacks.
#[derive(Debug)]
pub(super) struct StackMaps {
    notes: StackNotes,
    stacks: bpf::KernelMap,
    sums: bpf::KernelMap,
    losses: bpf::KernelMap,
}

impl StackMaps {
    /// Makes the maps for at most so many pairs of stacks.
    pub(super) fn new(notes: StackNotes, most: u32) -> Result<Self, Error> {
        Ok(Self {
            notes,
            stacks: stack_table(most)?,
            sums: bpf::KernelMap::with_keys(MapType::Hash, SUM_KEY_SIZE, SUM_SIZE, most)?,
            losses: bpf::KernelMap::new(MapType::Array, 8, StackMoment::ALL.len() as u32)?,
        })
    }

    /// The descriptor of one of the maps; -1 of others.
    pub(super) fn descriptor(&self, map: Map) -> RawFd {
        match map {
            Map::Stacks => self.stacks.descriptor(),
            Map::StackSums => self.sums.descriptor(),
            Map::StackLosses => self.losses.descriptor(),
            _ => -1,
        }
    }

    /// What was summed up so far.
    pub(super) fn read(&self) -> Result<IntervalStacks, Error> {
        let mut all = Vec::new();
        self.sums.each(bpf::ALL, &mut |key, value| {
            let pair = |bytes| {
                let mut words = bpf::words(bytes);
                Some([words.next()?, words.next()?])
            };
            if let (Some(key), Some(value)) = (pair(key), pair(value)) {
                all.push(RawStackSum { key, value });
            }
        })?;
        let mut stacks = HashMap::new();
        for number in RawStackSum::stack_numbers(&all) {
            if let [words] = &self.stacks.values(number)?[..] {
                stacks.insert(number, words.iter().copied().take_while(|address| *address != 0).collect());
            }
        }
        let of = |moment: StackMoment| {
            let full = self.losses.sum(moment.number())?;
            Ok::<_, Error>(StackSums::new(moment, &all, &stacks, full))
        };
        let StackNotes { blocked, on_cpu } = self.notes;
        Ok(IntervalStacks {
            blocked: blocked.then(|| of(StackMoment::Blocked)).transpose()?,
            on_cpu: on_cpu.then(|| of(StackMoment::OnCpu)).transpose()?,
        })
    }
}

/// Samples each CPU until what is returned is closed.
pub(super) fn sample(descriptor: &dyn Fn(Map) -> RawFd) -> Result<Vec<OwnedFd>, Error> {
    let code = sampled().map_err(|_| Error::new(Step::Program, &io::Error::from_raw_os_error(libc::E2BIG)))?;
    let program = bpf::load(&code.link(descriptor), Kind::Sample)?;
    let clock = Attributes::new(TYPE_SOFTWARE, CPU_CLOCK, 0).every(PERIOD);
    let of_cpu = |cpu: u32| {
        let event = events::open(&clock, -1, libc::c_int::try_from(cpu).unwrap_or(libc::c_int::MAX))?;
        events::set_program(&event, &program)?;
        Ok(event)
    };
    cpus("online").into_iter().map(of_cpu).collect()
}
