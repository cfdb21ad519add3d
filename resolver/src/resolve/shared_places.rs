//! One probe address for all sites of an address.
//!
//! Adjacent markers have one address. Their arguments are in different registers, so the cheapest
//! equivalent address of one may be of no use to another one. With probes at different addresses,
//! their hits would come in another order than the program passes the markers.

use std::collections::HashMap;

use super::pc::Pc;
use super::{Marker, ProbeCost};

/// An address where a probe sees the same as at a site, and finds the arguments of the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProbePlace {
    /// The address as reports have it.
    pub(super) at: u64,
    pub(super) cost: ProbeCost,
}

/// The sites of the addresses that have several: the marker, the site, and where it can be probed.
#[derive(Debug, Default)]
pub(super) struct SharedPlaces {
    sites: HashMap<Pc, Vec<(usize, usize, Vec<ProbePlace>)>>,
}

impl SharedPlaces {
    /// Adds the site of a marker. `places` has the site's own address first, if that can be probed.
    pub(super) fn add(&mut self, pc: Pc, marker: usize, site: usize, places: Vec<ProbePlace>) {
        self.sites.entry(pc).or_default().push((marker, site, places));
    }

    /// Gives all sites of an address the same address for the probe: the cheapest one that is of use to
    /// all of them. If there is none, it is one that is of use to most of them; the others have none.
    pub(super) fn settle(self, markers: &mut [Marker]) {
        for (pc, sites) in self.sites {
            let uses = |at: u64| sites.iter().filter(|(.., places)| places.iter().any(|place| place.at == at)).count();
            // Of equally good ones the first one, in the order of the first site that has them.
            let places = sites.iter().flat_map(|(.., places)| places);
            let best = places.min_by_key(|place| (sites.len() - uses(place.at), place.cost)).copied();
            for (marker, site, places) in &sites {
                let site = markers.get_mut(*marker).and_then(|marker| marker.sites.get_mut(*site));
                let Some(probe) = site.and_then(|site| site.probe.as_mut()) else { continue };
                let best = best.filter(|best| best.at != pc.address && places.iter().any(|place| place.at == best.at));
                probe.best_address = best.map(|best| best.at);
            }
        }
    }
}
