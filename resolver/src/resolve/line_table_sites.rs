//! The sites of markers that recorded none: C compiled with the macro of 2008. The line table says where their lines are.

use std::collections::BTreeSet;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::diagnostics::Diagnostics;
use super::interner::TextId;
use super::join::{Joined, RawSite};
use super::site_debug::SiteDebug;
use super::{DiagnosticKind, Origin};
use simple_markers_record::DECLARATIONS;

/// Looks up the line of each marker that has no site, and adds the sites. What stays without is noted.
pub(super) fn find(debug: &SiteDebug<'_, '_>, joined: &mut Joined<'_>, diagnostics: &mut Diagnostics) {
    let Joined { texts, markers } = joined;
    let mut unrecorded: Vec<_> = markers.iter_mut().filter(|marker| marker.sites.is_empty()).collect();
    let files: BTreeSet<TextId> = unrecorded.iter().map(|marker| marker.file).collect();
    let files: Vec<_> = files.into_iter().map(|file| texts.text(file)).collect();
    if let Err(error) = debug.find_files(&files) {
        return diagnostics.error(&error);
    }
    let found: Vec<_> = unrecorded.par_iter().map(|marker| debug.line(&texts.text(marker.file), marker.line)).collect();
    for (marker, found) in unrecorded.iter_mut().zip(found) {
        match found {
            Ok(found) => {
                if let Some(problem) = found.problem {
                    let (name, file) = (texts.text(marker.name), texts.text(marker.file));
                    let (line, of) = (marker.line, problem.clone());
                    diagnostics.note(DECLARATIONS, DiagnosticKind::NoSite { name, file, line, problem: of });
                    marker.problem = Some(problem);
                }
                marker.sites.extend(found.sites.into_iter().map(|(pc, nearest)| RawSite {
                    offset: 0,
                    pc: Some(pc),
                    column: 0,
                    anchored: false,
                    operands: None,
                    run: 0,
                    copies: 1,
                    records: 1,
                    origin: nearest.map_or(Origin::Line, |line| Origin::Nearest { line }),
                }));
            }
            Err(error) => diagnostics.error(&error),
        }
    }
}
