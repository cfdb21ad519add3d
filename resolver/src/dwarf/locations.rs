//! The layer that finds values: expressions, location lists, call frames and entry values. It owns
//! the index of call frames.

use std::sync::{Arc, OnceLock};

use super::frame::Frames;
use super::types::Types;
use super::units::Units;

/// The locations that the units describe.
#[derive(Debug)]
pub(super) struct Locations<'s> {
    pub(super) units: Arc<Units<'s>>,
    pub(super) types: Arc<Types<'s>>,
    /// Call frame information by address.
    pub(super) frames: OnceLock<Frames>,
}

impl<'s> Locations<'s> {
    pub(super) fn new(types: &Arc<Types<'s>>) -> Self {
        Self { units: Arc::clone(&types.units), types: Arc::clone(types), frames: OnceLock::new() }
    }
}
