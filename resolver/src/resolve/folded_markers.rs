//! Markers of different functions at one address: the linker folded these functions, and the debug
//! information still describes each of them.

use std::collections::HashMap;

use super::pc::Pc;
use super::{Exactness, ExactnessReason, Marker};
use crate::dwarf::Die;

/// A site, and the function that the debug information has for it.
struct Holder {
    /// `None` if the debug information has the marker's function only elsewhere.
    function: Option<Die>,
    /// Index of the marker in the list of all markers.
    marker: usize,
    /// Index of the site in the marker's sites.
    site: usize,
}

/// The sites at each address, with their functions.
#[derive(Default)]
pub(super) struct FoldedMarkers {
    holders: HashMap<Pc, Vec<Holder>>,
}

impl FoldedMarkers {
    /// Adds a site of a marker, both by their indices.
    pub(super) fn add(&mut self, pc: Pc, function: Option<Die>, marker: usize, site: usize) {
        self.holders.entry(pc).or_default().push(Holder { function, marker, site });
    }

    /// Marks the sites at one address as folded if their functions differ.
    pub(super) fn mark(&self, markers: &mut [Marker]) {
        for holders in self.holders.values() {
            let first = holders.first().map(|holder| holder.function);
            if holders.iter().all(|holder| Some(holder.function) == first) {
                continue;
            }
            for holder in holders {
                let marker = markers.get_mut(holder.marker);
                let Some(site) = marker.and_then(|marker| marker.sites.get_mut(holder.site)) else { continue };
                // A site that is folded already has the names of the functions as its reason.
                if site.exactness != Some(Exactness::Folded) {
                    site.exactness_reason = Some(ExactnessReason::FoldedMarkers);
                }
                site.exactness = Some(Exactness::Folded);
            }
        }
    }
}
