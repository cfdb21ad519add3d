//! The stacks of the hits of a recording, each with how many hits have it.

use std::collections::HashMap;

use simple_markers_tracer::Hit;
use simple_markers_tracer::frames::{FrameNumbers, StackEnd, StackTable};

use crate::count::NamedStack;

/// Which stacks are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountedStacks {
    /// Those of the program.
    Program,
    /// Those of the kernel.
    Kernel,
    /// All that were recorded: of the program, and behind them of the kernel.
    Both,
}

/// A stack by the numbers of its frames.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct StackKey {
    kernel: Vec<u32>,
    program: Vec<u32>,
    is_cut: bool,
}

/// How often each stack was recorded.
pub(super) struct StackTally<'a> {
    table: &'a StackTable,
    counted: CountedStacks,
    /// By the number of the markers.
    stacks: HashMap<usize, HashMap<StackKey, u64>>,
    /// The hits without a stack, by the number of the markers.
    unread: HashMap<usize, u64>,
}

impl<'a> StackTally<'a> {
    pub(super) fn new(table: &'a StackTable, counted: CountedStacks) -> Self {
        Self { table, counted, stacks: HashMap::new(), unread: HashMap::new() }
    }

    /// Counts the stack of a hit of a marker with this number.
    pub(super) fn add(&mut self, group: usize, hit: &Hit<'_>) {
        let recorded = hit.recorded_stacks();
        let (program, end) = recorded.program.filter(|_| self.counted != CountedStacks::Kernel).unzip();
        let (kernel, is_kernel_cut) = recorded.kernel.filter(|_| self.counted != CountedStacks::Program).unzip();
        let numbers = |frames: Option<FrameNumbers<'_>>| {
            frames.map(|frames| frames.iter().collect::<Vec<_>>()).unwrap_or_default()
        };
        let (kernel, program) = (numbers(kernel), numbers(program));
        if kernel.is_empty() && program.is_empty() {
            *self.unread.entry(group).or_default() += 1;
            return;
        }
        let is_cut = match self.counted {
            CountedStacks::Kernel => is_kernel_cut.unwrap_or(false),
            CountedStacks::Program | CountedStacks::Both => end.is_some_and(StackEnd::is_cut),
        };
        let key = StackKey { kernel, program, is_cut };
        *self.stacks.entry(group).or_default().entry(key).or_default() += 1;
    }

    /// The stacks of the markers with this number, the most frequent first, and how many of their hits have none.
    pub(super) fn of(&self, group: usize) -> (Vec<NamedStack>, u64) {
        let named = self.stacks.get(&group).into_iter().flatten().map(|(key, hits)| NamedStack {
            sum: *hits,
            count: *hits,
            kernel: key.kernel.iter().filter_map(|number| self.table.kernel_frame(*number)).cloned().collect(),
            program: key.program.iter().filter_map(|number| self.table.frame(*number)).cloned().collect(),
            is_cut: key.is_cut,
        });
        (NamedStack::together(named), self.unread.get(&group).copied().unwrap_or(0))
    }
}
