//! Which stacks threads had during intervals: while they were blocked, and in samples while they were on a CPU. The
//! layout of the maps that have them.

use std::collections::{BTreeSet, HashMap};

use super::stacks::StackFault;

/// When a thread had a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackMoment {
    /// When it left a CPU because it waited for something. The sums are times in ns.
    Blocked,
    /// When it was sampled on a CPU. The sums are samples.
    OnCpu,
}

impl StackMoment {
    /// Both, in the order of their numbers.
    pub const ALL: [Self; 2] = [Self::Blocked, Self::OnCpu];

    /// The number in a key of `Map::StackSums`, and the key in `Map::StackLosses`.
    #[must_use]
    pub fn number(self) -> u32 {
        self as u32
    }
}

/// The size in bytes of a key of `Map::StackSums`.
///
/// | offset | size | what |
/// | ---: | ---: | --- |
/// | 0 | 4 | the number of the kernel's stack in `Map::Stacks`, a negative number if it has none, or the lower half of [`RUNNABLE`] |
/// | 4 | 4 | the number of the program's stack, or a negative number |
/// | 8 | 4 | the process |
/// | 12 | 4 | the number of the [`StackMoment`] |
pub const SUM_KEY_SIZE: u32 = 16;
/// The offset of the process in a key.
pub const SUM_PROCESS: i16 = 8;
/// The offset of the moment.
pub const SUM_MOMENT: i16 = 12;
/// The size in bytes of a value: the sum, and how many periods or samples it has, in 8 bytes each.
pub const SUM_SIZE: u32 = 16;
/// The offset of the number of periods or samples.
pub const SUM_COUNT: i16 = 8;

/// In place of both stacks: the thread left the CPU outside of all intervals, or the time was added already.
pub const NOTHING: u64 = u64::MAX;
/// In place of both stacks: the thread left the CPU although it could run.
pub const RUNNABLE: u64 = u32::MAX as u64;

/// A pair of stacks that threads had, and what was summed up of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackSum {
    /// The process.
    pub process: u32,
    /// The return addresses of the kernel, the innermost first. A thread that is sampled in the program has none.
    pub kernel: Result<Vec<u64>, StackFault>,
    /// The addresses of the program, the innermost first.
    pub user: Result<Vec<u64>, StackFault>,
    /// The time in ns, or the number of samples.
    pub sum: u64,
    /// How many periods or samples it is made of.
    pub count: u64,
}

/// What is in no stack, in ns or samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnattributedSums {
    /// Another stack has its place in the kernel's table.
    pub collided: u64,
    /// There was no space in a table of the kernel.
    pub full: u64,
    /// The kernel could not read the stacks.
    pub unread: u64,
    /// The thread could run when it left the CPU: what the clocks of two CPUs differ.
    pub runnable: u64,
}

impl UnattributedSums {
    /// All together.
    #[must_use]
    pub fn sum(&self) -> u64 {
        let Self { collided, full, unread, runnable } = *self;
        [collided, full, unread, runnable].into_iter().fold(0, u64::saturating_add)
    }
}

/// The stacks of one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackSums {
    /// The stacks, those with the largest sums first. One of both can be read of each.
    pub stacks: Vec<StackSum>,
    /// What is in none of them.
    pub unattributed: UnattributedSums,
}

/// What was counted of one key of `Map::StackSums`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawStackSum {
    /// The words of the key.
    pub key: [u64; 2],
    /// The sum, and how many periods or samples it has.
    pub value: [u64; 2],
}

impl RawStackSum {
    /// The numbers of the kernel's stack and of the program's stack.
    fn numbers(&self) -> [u32; 2] {
        [self.key[0] as u32, (self.key[0] >> 32) as u32]
    }

    /// The numbers of stacks in some keys, without errors.
    #[must_use]
    pub fn stack_numbers(all: &[Self]) -> BTreeSet<u32> {
        all.iter().flat_map(Self::numbers).filter(|number| i32::try_from(*number).is_ok()).collect()
    }
}

impl StackSums {
    /// Those of a moment. `stacks` are addresses by the numbers in the keys, `full` is what had no space.
    #[must_use]
    pub fn new(moment: StackMoment, all: &[RawStackSum], stacks: &HashMap<u32, Vec<u64>>, full: u64) -> Self {
        let mut sums = Self { unattributed: UnattributedSums { full, ..Default::default() }, ..Self::default() };
        let add = |to: &mut u64, sum: u64| *to = to.saturating_add(sum);
        for raw in all.iter().filter(|raw| raw.key[1] >> 32 == u64::from(moment.number())) {
            let [sum, count] = raw.value;
            if raw.key[0] == RUNNABLE {
                add(&mut sums.unattributed.runnable, sum);
                continue;
            }
            let addresses = |number: u32| match i32::try_from(number) {
                Ok(_) => stacks.get(&number).cloned().ok_or(StackFault::Unread),
                Err(_) => Err(StackFault::of(number as i32)),
            };
            let [kernel, user] = raw.numbers().map(addresses);
            let UnattributedSums { collided, full, unread, .. } = &mut sums.unattributed;
            match (&kernel, &user) {
                (Err(StackFault::Collided), Err(_)) | (Err(_), Err(StackFault::Collided)) => add(collided, sum),
                (Err(StackFault::Full), Err(_)) | (Err(_), Err(StackFault::Full)) => add(full, sum),
                (Err(StackFault::Unread), Err(StackFault::Unread)) => add(unread, sum),
                _ => sums.stacks.push(StackSum { process: raw.key[1] as u32, kernel, user, sum, count }),
            }
        }
        sums.stacks.sort_by(|one, other| {
            other
                .sum
                .cmp(&one.sum)
                .then_with(|| (one.process, &one.kernel, &one.user).cmp(&(other.process, &other.kernel, &other.user)))
        });
        sums
    }

    /// Everything, also what is in no stack: in ns, or samples.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.stacks.iter().fold(self.unattributed.sum(), |sum, stack| sum.saturating_add(stack.sum))
    }
}

/// The stacks during intervals; `None` for those that were not asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntervalStacks {
    /// While the threads were blocked.
    pub blocked: Option<StackSums>,
    /// While they were on a CPU.
    pub on_cpu: Option<StackSums>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_without_a_stack_are_told_apart() {
        let raw = |kernel: i32, user: i32, moment: StackMoment, sum: u64| RawStackSum {
            key: [u64::from(kernel as u32) | u64::from(user as u32) << 32, 7 | u64::from(moment.number()) << 32],
            value: [sum, 1],
        };
        let blocked = |kernel, user, sum| raw(kernel, user, StackMoment::Blocked, sum);
        let all = [
            blocked(1, 2, 5),
            blocked(1, -14, 9),
            blocked(-14, -14, 100),
            blocked(-17, -14, 200),
            blocked(-12, -17, 400),
            blocked(-12, -12, 800),
            blocked(-1, 0, 1_600),
            raw(-14, 2, StackMoment::OnCpu, 3),
        ];
        let stacks = HashMap::from([(1, vec![10]), (2, vec![20, 21])]);
        assert_eq!(RawStackSum::stack_numbers(&all), [0, 1, 2].into());
        let sums = StackSums::new(StackMoment::Blocked, &all, &stacks, 3_200);
        let stack =
            |kernel: &[u64], user, sum| StackSum { process: 7, kernel: Ok(kernel.to_vec()), user, sum, count: 1 };
        let expected = [stack(&[10], Err(StackFault::Unread), 9), stack(&[10], Ok(vec![20, 21]), 5)];
        assert_eq!(sums.stacks, expected);
        let unattributed = UnattributedSums { collided: 600, full: 4_000, unread: 100, runnable: 1_600 };
        assert_eq!((sums.unattributed, sums.sum()), (unattributed, 6_314));
        let on_cpu = StackSums::new(StackMoment::OnCpu, &all, &stacks, 0);
        assert_eq!((on_cpu.stacks.len(), on_cpu.sum()), (1, 3));
    }
}
