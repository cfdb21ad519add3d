//! The shortest time that is measured between two markers: what the probes themselves take.
//!
//! It is measured on two instructions of our own that follow each other, with the programs that measure the
//! times of a plan. Other processes that run this file are not disturbed: they do not run these instructions.

use std::sync::Arc;

use simple_markers_resolver::address::{FileOffset, Vaddr};

use super::engine::{Engine, Kernel, Session};
use super::mapped;
use super::processor::probed;
use super::request::{Mode, Scope};
use crate::arch::Platform;
use crate::histogram::Durations;
use crate::plan::{Aggregate, ImageFile, Interval, Plan, PlannedImage, PlannedMarker, PlannedSite};

/// The time that is measured between two markers with no code between, in ns: the median.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floor {
    /// If the kernel emulates the instruction under the first probe.
    pub emulated: u64,
    /// If it steps that instruction.
    pub stepped: u64,
}

/// How often the instructions run.
const ROUNDS: u32 = 200;

impl Floor {
    /// Measures it with an engine, for times that are split or not. `None` if it cannot be measured.
    #[must_use]
    pub fn measure(engine: Engine, kernel: Kernel, is_split: bool) -> Option<Self> {
        // Without BPF hits are read some time later, so one cannot tell which are of which loop.
        if engine != Engine::Bpf {
            return None;
        }
        let [(emulated, size), (stepped, other_size)] = probed()?;
        let places = [(emulated as usize as u64, size), (stepped as usize as u64, other_size)];
        let process = std::process::id();
        let region = mapped::own_region(places[0].0)?;
        let mut plan = plan(region.name.to_str()?);
        let interval = || Interval { is_split, ..Interval::default() };
        for (address, size) in places {
            let offset = region.offset_of(address)?;
            plan.sites.push(site(0, offset, Aggregate::Start(interval())));
            plan.sites.push(site(1, offset.wrapping_add(size), Aggregate::End(interval())));
        }
        let scope = Scope::Processes { pids: vec![process], with_children: false };
        let mode = Mode::Count { most_values: 64, ring: 1 << 16 };
        let session = Session::start_with(engine, &plan, &scope, mode, kernel).ok()?;
        let run = |what: unsafe extern "C" fn()| {
            for _ in 0..ROUNDS {
                // SAFETY: the function has two instructions, which change no register that a callee
                // must keep, and returns.
                unsafe { what() };
            }
            session.counted().ok().map(|counted| counted.durations)
        };
        let first = run(emulated)?;
        let both = run(stepped)?;
        let later = both.counts.iter().zip(&first.counts).map(|(both, first)| both.saturating_sub(*first)).collect();
        let median = |durations: &Durations| durations.percentile(50);
        Some(Self { emulated: median(&first)?, stepped: median(&Durations::of_buckets(later))? })
    }
}

/// A plan without sites.
fn plan(path: &str) -> Plan {
    let (path, module) = (path.to_owned(), Arc::from("smark"));
    let marker = |name: &str| PlannedMarker {
        image: 0,
        name: Arc::from(name),
        file: Arc::from(""),
        line: 0,
        format: Arc::from(""),
        sites: 2,
        task_point: None,
        event: None,
    };
    Plan {
        images: vec![PlannedImage {
            path,
            file: ImageFile::default(),
            module,
            build_id: None,
            thread_local_size: None,
            platform: Platform::HOST,
        }],
        markers: vec![marker("floor:begin"), marker("floor:end")],
        ..Plan::default()
    }
}

fn site(marker: usize, offset: u64, aggregate: Aggregate) -> PlannedSite {
    PlannedSite {
        image: 0,
        marker,
        function: None,
        address: Vaddr(offset),
        probe: Vaddr(offset),
        offset: FileOffset(offset),
        switch: None,
        entry_stack_pointer: None,
        task: None,
        frame: None,
        inputs: Vec::new(),
        arguments: Vec::new(),
        members: Vec::new(),
        notes_task: false,
        filter: None,
        aggregate,
        recorded: None,
        exit: None,
    }
}
