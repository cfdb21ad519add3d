//! The order of the rows of a table.

use std::cmp::Reverse;

use clap::ValueEnum;
use simple_markers_top::{Table, Usage};

/// What the rows are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    /// The CPU time in the interval
    #[default]
    Cpu,
    /// The CPU time since the start of the process
    Total,
    /// How often it left a CPU
    Switches,
    /// The longest wait for a CPU
    Wait,
    /// The number
    Pid,
    /// The name
    Name,
}

/// The columns from left to right.
const COLUMNS: [Sort; 6] = [Sort::Pid, Sort::Cpu, Sort::Total, Sort::Switches, Sort::Wait, Sort::Name];

impl Sort {
    /// The column so many columns to the right.
    pub(super) fn beside(self, columns: isize) -> Self {
        let at = COLUMNS.iter().position(|column| *column == self).and_then(|at| at.checked_add_signed(columns));
        at.and_then(|at| COLUMNS.get(at)).copied().unwrap_or(self)
    }

    /// What it is, in words.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cpu => "CPU time",
            Self::Total => "CPU time since the start",
            Self::Switches => "switches",
            Self::Wait => "the longest wait",
            Self::Pid => "number",
            Self::Name => "name",
        }
    }

    /// Sorts the processes and their threads: numbers of what was used from the most to the least.
    pub(crate) fn sort(self, table: &mut Table) {
        table.processes.sort_by_cached_key(|it| self.key(&it.usage, &it.name, it.pid));
        for process in &mut table.processes {
            process.threads.sort_by_cached_key(|it| self.key(&it.usage, &it.name, it.tid));
        }
    }

    /// What a process or thread is sorted by.
    pub(crate) fn key(self, usage: &Usage, name: &str, number: u32) -> (Reverse<u64>, String, u32) {
        let most = match self {
            Self::Cpu => usage.cpu,
            Self::Total => usage.cpu_total,
            Self::Switches => usage.switches,
            Self::Wait => usage.longest_wait,
            Self::Pid | Self::Name => 0,
        };
        (Reverse(most), if self == Self::Name { name.to_owned() } else { String::new() }, number)
    }
}
