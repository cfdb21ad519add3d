//! The layer that finds values: expressions, location lists, call frames and entry values. It owns
//! the index of call frames and the offsets of location lists.

use std::sync::{Arc, OnceLock};

use super::frame::Frames;
use super::per_unit::PerUnit;
use super::types::Types;
use super::units::Units;

/// The locations that the units describe.
#[derive(Debug)]
pub(super) struct Locations<'s> {
    pub(super) units: Arc<Units<'s>>,
    pub(super) types: Arc<Types<'s>>,
    /// Call frame information by address.
    pub(super) frames: OnceLock<Frames>,
    /// The offsets of the location lists that the entries of a unit refer to, ascending.
    pub(super) list_offsets: PerUnit<Vec<usize>>,
}

impl<'s> Locations<'s> {
    pub(super) fn new(types: &Arc<Types<'s>>) -> Self {
        let units = Arc::clone(&types.units);
        let list_offsets = PerUnit::new(units.unit_count());
        Self { units, types: Arc::clone(types), frames: OnceLock::new(), list_offsets }
    }
}
