//! One header under several names: what the compiler was given starts in another folder for each file
//! that it compiled (`../inc/m.h` in one folder, `../../inc/m.h` below it).
//!
//! The records have only these names. The debug information has the compilation directories, so
//! markers that differ in nothing but the name of their file are one if their sites say that the
//! files are one.

use std::collections::HashMap;
use std::sync::Arc;

use super::interner::TextId;
use super::join::{RawMarker, RawMarkers};
use super::site_debug::SiteDebug;

/// Name, line, format and arguments of a marker.
type MarkerText = (TextId, u32, TextId, TextId);

/// Makes one marker of those that stand in one file.
pub(super) fn merge(joined: &mut RawMarkers<'_>, debug: &SiteDebug<'_>) {
    let text = |marker: &RawMarker| -> MarkerText { (marker.name, marker.line, marker.format, marker.args) };
    let mut alike: HashMap<MarkerText, usize> = HashMap::new();
    for marker in &joined.markers {
        *alike.entry(text(marker)).or_default() += 1;
    }
    if alike.values().all(|count| *count == 1) {
        return;
    }
    let mut first: HashMap<(MarkerText, Arc<str>), usize> = HashMap::new();
    let mut kept: Vec<RawMarker> = Vec::with_capacity(joined.markers.len());
    for mut marker in std::mem::take(&mut joined.markers) {
        let is_alone = alike.get(&text(&marker)).is_none_or(|count| *count == 1);
        let at = marker.sites.iter().find_map(|site| site.pc).filter(|_| !is_alone);
        let path = at.and_then(|pc| debug.path_of(pc, &joined.texts.text(marker.file)));
        let known = path.map(|path| *first.entry((text(&marker), path)).or_insert(kept.len()));
        match known.and_then(|known| kept.get_mut(known)) {
            Some(known) => {
                known.declared |= marker.declared;
                // A name from the top folder is found by who starts there.
                if joined.texts.bytes(known.file).starts_with(b"..") {
                    known.file = marker.file;
                }
                known.sites.append(&mut marker.sites);
            }
            None => kept.push(marker),
        }
    }
    joined.markers = kept;
}
