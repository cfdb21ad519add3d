//! What a timeline keeps of an event that may be the begin of slices.

use std::cell::Cell;
use std::rc::Rc;

use crate::pairs::{Pair, SliceBegin};

/// Two markers whose events become slices of a timeline.
pub type TimelinePair = Pair<Rc<Begin>>;

/// An event that may be the begin of slices.
#[derive(Debug)]
pub struct Begin {
    pub(super) time: u64,
    pub(super) process: u32,
    pub(super) thread: u32,
    /// The track of the thread.
    pub(super) track: u64,
    /// The fields of the event but its type and track.
    pub(super) fields: Vec<u8>,
    pub(super) is_wanted: bool,
    /// Whether it was written as a part of a slice.
    pub(super) is_written: Cell<bool>,
}

impl SliceBegin for Rc<Begin> {
    fn is_wanted(&self) -> bool {
        self.is_wanted
    }
}
