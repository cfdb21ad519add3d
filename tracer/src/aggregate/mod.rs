//! What is counted at a site: by the kernel, or from a recording.
//!
//! `key.rs` has the layout of the maps, `counts.rs` makes the answer of what was counted, and
//! `replay.rs` counts the hits of a recording, and those that programs record themselves, as the BPF
//! programs count them. `intervals.rs` finds the start of an end.

mod counts;
mod intervals;
mod key;
mod question;
mod replay;
mod tally;

pub use counts::{Counts, MarkerCounts, RawCounts, TimesOf, UnmatchedHits};
pub use intervals::{DEEPEST, Intervals, StartOutcome};
pub use key::{
    BUCKET_KEY_SIZE, CUT, IntervalKey, KEY_SIZE, KEY_TEXT, KeyValue, LONGEST, NULL, SHORTEST, START_BY, START_KEY_SIZE,
    START_NESTED, START_SIZE, TIMES, bucket_of, group_of, process_of,
};
pub use question::{IntervalSubject, Question, Refusal, RefusedSite};
pub use replay::{Passage, Replay};
pub use tally::{Tallies, Tally};
