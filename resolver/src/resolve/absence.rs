//! Why markers have no live site: from the debug information and the symbols of their functions.

use std::collections::HashSet;

use rayon::iter::{IntoParallelRefMutIterator as _, ParallelIterator as _};

use super::site_debug::SiteDebug;
use super::{Absence, Marker, Survival};
use crate::address::Vaddr;
use crate::dwarf::{CodeState, LineAbsence};
use crate::image::Image;

/// Finds the absence reasons of markers that the compiler or the linker removed. `image` is the
/// file with the symbols.
pub(super) fn find(markers: &mut [Marker], debug: &SiteDebug<'_>, image: &Image<'_>) {
    let is_gone = |marker: &&mut Marker| {
        matches!(marker.survival, Some(Survival::Eliminated | Survival::Discarded)) && marker.absence.is_none()
    };
    let mut gone: Vec<&mut Marker> = markers.iter_mut().filter(is_gone).collect();
    if gone.is_empty() || debug.find_files(&gone.iter().map(|marker| marker.file.clone()).collect::<Vec<_>>()).is_err()
    {
        return;
    }
    // Malformed debug information is reported elsewhere.
    let absence = |marker: &mut &mut Marker| debug.absence(&marker.file, marker.line).ok().flatten();
    let absences: Vec<Option<LineAbsence>> = gone.par_iter_mut().map(absence).collect();
    let dropped = absences.iter().flatten().filter_map(|absence| match absence {
        LineAbsence::Function { symbol, state: CodeState::Dropped(_), .. } => Some(symbol.as_bytes()),
        _ => None,
    });
    let dropped: HashSet<&[u8]> = dropped.collect();
    let kept = if dropped.is_empty() { Default::default() } else { image.functions().functions_named(&dropped) };
    for (marker, absence) in gone.iter_mut().zip(&absences) {
        let Some(absence) = absence else { continue };
        let is_discarded = marker.survival == Some(Survival::Discarded);
        marker.absence = match absence {
            // If the linker dropped the marker, its function was compiled.
            LineAbsence::NoFunction => (!is_discarded).then_some(Absence::NotCompiled),
            LineAbsence::Function { name, symbol, state } => {
                let function = name.clone();
                match (state, is_discarded) {
                    (CodeState::Around(before, behind), false) => {
                        Some(Absence::DeadBranch { function, before: *before, behind: *behind })
                    }
                    (CodeState::Before(last), false) => Some(Absence::BehindCode { function, last: *last }),
                    (CodeState::Absent | CodeState::Dropped(_), false) => Some(Absence::NoCode { function }),
                    (CodeState::Dropped(into), true) => {
                        let folded = kept.get(symbol.as_bytes()).map(|&address| Vaddr(address));
                        match folded.filter(|_| !image.is_relocatable()) {
                            Some(address) => match debug.function_starting_at(address) {
                                // The linker kept another function of the same name.
                                Some(into) if into == *name => None,
                                into => Some(Absence::Folded { function, into, address }),
                            },
                            None => Some(Absence::Dropped { function, into: into.clone() }),
                        }
                    }
                    (_, true) => None,
                }
            }
        };
    }
}
