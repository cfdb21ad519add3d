//! What the thread did during intervals: it was on a CPU, it waited for one, or it was blocked. The layout
//! of the maps that have it.

use crate::histogram::{Durations, FINE, fine};

/// What a thread did during a part of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalPart {
    /// It was on a CPU.
    OnCpu,
    /// It could run, and waited for a CPU.
    Queued,
    /// It waited for something else.
    Blocked,
}

impl IntervalPart {
    /// All parts, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::OnCpu, Self::Queued, Self::Blocked];

    /// The number in a key of `Map::Values`, from offset 4 on. 0 stands for the whole interval.
    #[must_use]
    pub fn number(self) -> u32 {
        self as u32 + 1
    }

    /// The offset of its numbers in the value of `Map::Parts`.
    #[must_use]
    pub fn offset(self) -> i16 {
        8 + self as i16 * PART_SIZE as i16
    }
}

/// The size in bytes of the value of `Map::Parts`, of which each CPU has one. The sum of all intervals in ns,
/// also of those that are not split, is in its first 8 bytes.
pub const PARTS_SIZE: u32 = 8 + 3 * PART_SIZE;
/// The size in bytes of the numbers of a part: the fine buckets, and three more of 8 bytes each.
const PART_SIZE: u32 = (FINE + 3) * 8;
/// The offset of the longest in the numbers of a part.
pub const PART_LONGEST: i16 = FINE as i16 * 8;
/// The offset of the complement of the shortest, which is 0 before the first.
pub const PART_SHORTEST: i16 = PART_LONGEST + 8;
/// The offset of the sum.
pub const PART_SUM: i16 = PART_LONGEST + 16;
/// In place of the bucket in a key of `Map::Values`: the sum in ns of the times of the value.
pub const SUM_BUCKET: u32 = FINE;

/// The size in bytes of what is noted of a thread in `Map::OffCpu`, by the address of its `task_struct`.
pub const OFF_CPU_SIZE: u32 = 56;
/// How long it was off the CPUs in ns, without the last time.
pub const OFF: i16 = 0;
/// When it left a CPU for the last time, by the clock of the CPUs; 0 if it was not seen to.
pub const SINCE: i16 = 8;
/// The same by `CLOCK_MONOTONIC`.
pub const LAST: i16 = 16;
/// When this was first noted of the thread.
pub const FIRST_NOTED: i16 = 24;
/// How many intervals are open that began in the thread, if stacks are noted.
pub const OPEN: i16 = 32;
/// The stacks that it had when it left a CPU for the last time, as in a key of `Map::StackSums`;
/// [`NOTHING`](super::NOTHING) if the time since is in no sum.
pub const STACKS: i16 = 40;
/// How long it had waited for CPUs then.
pub const QUEUED: i16 = 48;

/// The size in bytes of what a start keeps in addition, behind its first [`START_SIZE`](super::START_SIZE) bytes.
pub const START_SPLIT: u32 = 24;
/// The offset there of the address of the thread's `task_struct`.
pub const START_TASK: i16 = 0;
/// The offset of how long the thread was off the CPUs; [`UNKNOWN`] if it is not known.
pub const START_OFF: i16 = 8;
/// The offset of how long it waited for a CPU.
pub const START_QUEUED: i16 = 16;
/// In place of how long a thread was off the CPUs.
pub const UNKNOWN: u64 = u64::MAX;

/// How long one part of intervals was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartTimes {
    /// By intervals.
    pub durations: Durations,
    /// Of all intervals together, in ns.
    pub sum: u64,
}

impl PartTimes {
    /// Adds others.
    fn add(&mut self, other: &Self) {
        self.durations.add(&other.durations);
        self.sum = self.sum.saturating_add(other.sum);
    }
}

/// Of what the parts of intervals tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SplitSubject {
    /// A thread: it was on a CPU, queued for one, or blocked.
    #[default]
    Thread,
    /// A task of an async runtime: it was polled, it was woken and waited for a thread, or it waited for something
    /// else. They take the places of the parts in this order.
    Task {
        /// Whether wakes were seen. If not, the task waited in all the time in which it was not polled.
        has_wakes: bool,
    },
}

/// The parts of intervals. A part of an interval may be 0 ns long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SplitTimes {
    /// All intervals together in ns, also those that are not split; `None` if it is not known.
    pub wall: Option<u64>,
    /// In the order of [`IntervalPart::ALL`].
    pub parts: [PartTimes; 3],
    /// Of what they tell.
    pub subject: SplitSubject,
}

impl SplitTimes {
    /// Adds the parts of an interval, in ns.
    pub(super) fn add_interval(&mut self, parts: [u64; 3]) {
        for (times, ns) in self.parts.iter_mut().zip(parts) {
            let Durations { counts, min, max } = &mut times.durations;
            (*min, *max) = if counts.is_empty() { (ns, ns) } else { ((*min).min(ns), (*max).max(ns)) };
            counts.resize(FINE as usize, 0);
            if let Some(count) = counts.get_mut(fine(ns) as usize) {
                *count += 1;
            }
            times.sum = times.sum.saturating_add(ns);
        }
    }

    /// What the values of `Map::Parts` say, one for each CPU, in numbers of 8 bytes.
    #[must_use]
    pub fn of_values(values: &[Vec<u64>]) -> Self {
        let mut split = Self::default();
        for value in values {
            let word = |offset: i16| value.get(usize::try_from(offset / 8).ok()?).copied();
            let part = |part: IntervalPart| {
                let first = usize::try_from(part.offset() / 8).unwrap_or(usize::MAX);
                let counts = value.iter().skip(first).take(FINE as usize).copied().collect();
                let at = |offset: i16| word(part.offset() + offset).unwrap_or(0);
                let durations = Durations { counts, min: !at(PART_SHORTEST), max: at(PART_LONGEST) };
                PartTimes { durations, sum: at(PART_SUM) }
            };
            split.add(&Self { wall: word(0), parts: IntervalPart::ALL.map(part), ..Self::default() });
        }
        split
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        if let Some(wall) = other.wall {
            self.wall = Some(self.wall.unwrap_or(0).saturating_add(wall));
        }
        self.parts.iter_mut().zip(&other.parts).for_each(|(sum, more)| sum.add(more));
    }

    /// One of the parts.
    #[must_use]
    pub fn get(&self, part: IntervalPart) -> &PartTimes {
        let [on_cpu, queued, blocked] = &self.parts;
        match part {
            IntervalPart::OnCpu => on_cpu,
            IntervalPart::Queued => queued,
            IntervalPart::Blocked => blocked,
        }
    }

    /// How many intervals are split.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.get(IntervalPart::OnCpu).durations.count()
    }

    /// The sum of the parts in ns: all intervals that are split together.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_cpus_are_added() {
        let value = |wall: u64, of: [u64; 3]| {
            let mut value = vec![0; PARTS_SIZE as usize / 8];
            value[0] = wall;
            for (part, ns) in IntervalPart::ALL.into_iter().zip(of) {
                let at = |offset: i16| (part.offset() + offset) as usize / 8;
                value[at(crate::histogram::fine(ns) as i16 * 8)] = 1;
                (value[at(PART_LONGEST)], value[at(PART_SHORTEST)], value[at(PART_SUM)]) = (ns, !ns, ns);
            }
            value
        };
        let unused = vec![0; PARTS_SIZE as usize / 8];
        let split = SplitTimes::of_values(&[unused, value(100, [70, 30, 0]), value(1_000, [5, 0, 900])]);
        assert_eq!((split.wall, split.count(), split.sum()), (Some(1_100), 2, 1_005));
        let of = |part| {
            let PartTimes { durations, sum } = split.get(part);
            (durations.count(), durations.min, durations.max, *sum)
        };
        assert_eq!(IntervalPart::ALL.map(of), [(2, 5, 70, 75), (2, 0, 30, 30), (2, 0, 900, 900)]);
    }
}
