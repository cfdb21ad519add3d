//! What is counted at a site: by the kernel, or from a recording.
//!
//! `key.rs` has the layout of the maps, `counts.rs` makes the answer of what was counted, and
//! `replay.rs` counts the hits of a recording, and those that programs record themselves, as the BPF
//! programs count them. `intervals.rs` finds the start of an end, `split.rs` has what the threads did during
//! intervals, `stack_sums.rs` the stacks that they had.

mod amounts;
mod counts;
mod intervals;
mod key;
mod question;
mod replay;
mod split;
mod stack_sums;
mod stacks;
mod tally;
mod task_times;

pub use amounts::{
    AmountTotal, AmountTotals, Amounts, NEGATIVE_AMOUNT, TOTAL_LARGEST, TOTAL_SIZE, TOTAL_SMALLEST, TOTAL_UPPER,
    amount_bucket,
};
pub use counts::{AmountsOf, Counts, MarkerCounts, RawCounts, TimesOf, UnmatchedHits};
pub use intervals::{DEEPEST, Intervals, StartOutcome};
pub use key::{
    BUCKET_KEY_SIZE, CUT, IntervalKey, KEY_PROCESS, KEY_SIZE, KEY_STACK, KEY_TEXT, KeyMisfit, KeyValue, LONGEST, NULL,
    SHORTEST, START_BY, START_KEY_SIZE, START_NESTED, START_SIZE, TIMES, bucket_of, group_of, process_of, stack_of,
};
pub(crate) use key::{Key, key_of};
pub use question::{IntervalSubject, Question, Refusal, RefusedSite};
pub use replay::{Passage, Replay};
pub use split::{
    FIRST_NOTED, IntervalPart, LAST, OFF, OFF_CPU_SIZE, OPEN, PART_LONGEST, PART_SHORTEST, PART_SUM, PARTS_SIZE,
    PartTimes, QUEUED, SINCE, STACKS, START_OFF, START_QUEUED, START_SPLIT, START_TASK, SUM_BUCKET, SplitSubject,
    SplitTimes, UNKNOWN,
};
pub use stack_sums::{
    IntervalStacks, NOTHING, RUNNABLE, RawStackSum, SUM_COUNT, SUM_KEY_SIZE, SUM_MOMENT, SUM_PROCESS, SUM_SIZE,
    StackMoment, StackSum, StackSums, UnattributedSums,
};
pub use stacks::{StackCount, StackCounts, StackFault};
pub use tally::{Tallies, Tally};
