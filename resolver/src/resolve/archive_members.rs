//! Markers across the members of an archive: rustc may put a declaration in one object of a crate
//! and its code in another.

use std::collections::HashSet;
use std::sync::Arc;

use super::Marker;
use super::part::Part;
use crate::dwarf::files::SourcePath;

type Identity = (Arc<str>, Arc<str>, u32);

fn identity(marker: &Marker) -> Identity {
    (Arc::clone(&marker.name), Arc::clone(SourcePath::new(&marker.file).as_str()), marker.line)
}

/// Joins a declaration in one part with sites in other parts: the markers with sites become
/// declared ones, and the marker that is only declared is removed.
pub(super) fn join(parts: &mut [Part]) {
    let all = || parts.iter().flat_map(|part| &part.image.markers);
    let declared: HashSet<Identity> = all().filter(|marker| marker.declared).map(identity).collect();
    let with_sites: HashSet<Identity> = all().filter(|marker| !marker.sites.is_empty()).map(identity).collect();
    for part in parts {
        part.image.markers.retain(|marker| !marker.sites.is_empty() || !with_sites.contains(&identity(marker)));
        for marker in part.image.markers.iter_mut().filter(|marker| !marker.declared) {
            marker.declared = declared.contains(&identity(marker));
        }
    }
}
