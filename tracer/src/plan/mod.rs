//! What to watch: the sites, where the probes go, and what to read, to compare and to count at each.
//!
//! A plan is plain data. It does not know how it is made ([`crate::planning`]), nor who carries it
//! out.

mod aggregate;
mod argument;
mod condition;
mod entries;
mod event;
mod expression;
mod field_type;
mod file;
mod input;
mod left_out;
mod sites;
#[cfg(test)]
mod tests;
mod user_texts;
mod whole;

pub use aggregate::{Aggregate, By, Interval, KeyFields, Pairing, StackNotes};
pub use argument::{
    DoubtfulSource, DoubtfulValues, MAX_TEXT, Placeholder, PlannedArgument, Reading, Source, Uncompilable, UnreadReason,
};
pub use condition::{
    Condition, ContextNumber, LONGEST_TEXT, LONGEST_THREAD_NAME, Number, Operator, Place, Readable, TASK, THREAD_NAME,
    TextPlace,
};
pub use entries::{MAX_ENTRY_VALUES, PlannedEntry, SiteFrame};
pub use event::{COMMON, CallEvent, CallSide, EventField, KernelEvent};
pub(crate) use expression::{MAX_DEPTH, MAX_NODES};
pub use field_type::FieldType;
pub(crate) use field_type::{Length, ValueKind};
pub use file::{FileError, VERSION};
pub use input::{FieldPlace, Input, MAX_WORDS};
pub use left_out::{LeftOut, UnwatchedKind, UnwatchedReason};
pub use sites::{
    CallExit, ImageFile, Plan, PlannedImage, PlannedMarker, PlannedSite, RecordedMember, RecordedTarget, RecordedValue,
    RecorderProbe, TextLimit,
};
pub(crate) use user_texts::{FAULT, USER_TEXT, text_name};
pub(crate) use whole::table_number;
pub use whole::{MAX_WHOLE, ReadLimits, ShownType, WholeInput};
