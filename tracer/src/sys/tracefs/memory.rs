//! Which pages a process has mapped.

use std::collections::HashMap;
use std::ops::Range;

use super::super::mapped;

/// The readable memory of processes.
#[derive(Debug, Default)]
pub(super) struct ReadableMemory {
    known: HashMap<u32, ReadableRanges>,
}

#[derive(Debug, Default)]
struct ReadableRanges {
    ranges: Vec<Range<u64>>,
    /// Whether the ranges were read since the last call of [`ReadableMemory::forget`].
    is_new: bool,
}

/// The most processes whose memory is kept.
const MOST: usize = 1024;

impl ReadableMemory {
    /// From now on the memory of a process is looked at again.
    pub(super) fn forget(&mut self) {
        if self.known.len() > MOST {
            self.known.clear();
        }
        self.known.values_mut().for_each(|known| known.is_new = false);
    }

    /// Whether an address can be read in a process, or could when the process was last seen.
    pub(super) fn has(&mut self, process: u32, address: u64) -> bool {
        let known = self.known.entry(process).or_default();
        if !known.is_new {
            known.is_new = true;
            if let Some(ranges) = mapped::readable(process) {
                known.ranges = ranges;
            }
        }
        let after = known.ranges.partition_point(|range| range.end <= address);
        known.ranges.get(after).is_some_and(|range| range.contains(&address))
    }
}
