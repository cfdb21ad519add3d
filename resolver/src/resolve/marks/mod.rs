//! The sites of marks, which no record describes: a user names a line or a function
//! (`crate::marks`).
//!
//! `lines` finds where the code of a line begins, `functions` which functions are meant, and `entries`
//! where these are entered, `returns` where they return. Each site has a certainty, because a line proves
//! less than a record.

mod by_symbol;
mod certainty;
mod entries;
mod found;
mod functions;
mod lines;
mod returns;

use std::sync::Arc;

use rayon::iter::{IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _};
use simple_markers_record::DECLARATIONS;

use self::found::{FoundMark, FoundSite};
use self::functions::FunctionSearch;
use super::diagnostics::Diagnostics;
use super::interner::TextId;
use super::join::{RawMarker, RawMarkers, RawSite};
use super::lookup::SiteLookup;
use super::mark_problem::{MarkProblem, UnplacedMark};
use super::site_debug::{MarkerLine, SiteDebug};
use super::{Argument, Origin};
use crate::Error;
use crate::address::SectionOffset;
use crate::image::symbols::Symbols;
use crate::marks::{FunctionPattern, Mark, MarkPlace};
use crate::resolve::describe;

/// The entries and rows that may be read for each mark, in addition to the budget of the debug
/// information as a whole.
const STEPS: u64 = 4096;

/// The markers that marks make, and why some make none.
#[derive(Default)]
pub(super) struct FoundMarks {
    markers: Vec<FoundMark>,
    pub(super) unplaced: Vec<UnplacedMark>,
}

/// Where the places of marks are searched.
pub(super) struct MarkSearch<'s, 'a> {
    /// `None` if there is no debug information.
    pub(super) debug: Option<&'s SiteDebug<'a>>,
    pub(super) lookup: SiteLookup<'a>,
    pub(super) symbols: Symbols<'s>,
    /// Whether the symbols have addresses of a linked image.
    pub(super) is_linked: bool,
}

impl MarkSearch<'_, '_> {
    /// The places of marks, of which there is one at least.
    pub(super) fn find(&self, marks: &[Mark]) -> FoundMarks {
        let file = |mark: &Mark| match &mark.place {
            MarkPlace::Line { file, .. } => Some(Arc::clone(file)),
            _ => None,
        };
        let files: Vec<Arc<str>> = marks.iter().filter_map(file).collect();
        // If this fails, each mark asks again, and says so.
        let find_files = || self.debug.map(|debug| debug.find_files(&files));
        let (_, ()) = rayon::join(find_files, || self.lookup.prepare(true));
        let functions = self.debug.map(|debug| functions::search(debug, marks));
        let tails = marks.iter().filter_map(|mark| match (&mark.place, mark.task_point) {
            (MarkPlace::Return(function), Some(_)) => Some(function),
            _ => None,
        });
        let tails: Vec<&FunctionPattern> = tails.collect();
        let of_mark = |(index, mark): (usize, &Mark)| {
            let made = self.of(mark, functions.as_ref(), &tails);
            self.lookup.release();
            made.map_err(|problem| UnplacedMark { mark: index, problem })
        };
        let indexed: Vec<(usize, &Mark)> = marks.iter().enumerate().collect();
        let made: Vec<Result<Vec<FoundMark>, UnplacedMark>> = indexed.par_iter().map(|&one| of_mark(one)).collect();
        let mut found = FoundMarks::default();
        for made in made {
            match made {
                Ok(markers) => found.markers.extend(markers),
                Err(unplaced) => found.unplaced.push(unplaced),
            }
        }
        found
    }

    fn of(
        &self,
        mark: &Mark,
        functions: Option<&FunctionSearch>,
        tails: &[&FunctionPattern],
    ) -> Result<Vec<FoundMark>, MarkProblem> {
        let described = match (&mark.place, self.debug, functions) {
            (_, None, _) | (_, _, None) => Err(MarkProblem::NoDebugInfo),
            (MarkPlace::Line { file, line }, Some(debug), _) => {
                debug.info().allow(STEPS);
                lines::find(debug, self.lookup, mark, file, *line).map(|made| vec![made])
            }
            (MarkPlace::Entry(pattern), Some(debug), Some(functions)) => {
                debug.info().allow(STEPS);
                let meant = functions.meant(pattern);
                meant.and_then(|functions| entries::find(debug, self.lookup, self.symbols, mark, &functions))
            }
            (MarkPlace::Return(pattern), Some(debug), Some(functions)) => {
                debug.info().allow(STEPS);
                let (instructions, symbols) = (self.lookup.instructions, self.symbols);
                let meant = functions.meant(pattern);
                meant.and_then(|functions| returns::find(debug, instructions, symbols, mark, &functions, tails))
            }
        };
        match (&mark.place, described) {
            // `malloc` of glibc is a symbol for a function that the source calls `__libc_malloc`.
            (
                MarkPlace::Entry(pattern) | MarkPlace::Return(pattern),
                Err(problem @ (MarkProblem::NoDebugInfo | MarkProblem::NoSuchFunction | MarkProblem::NoCode)),
            ) if self.is_linked => match by_symbol::find(self.symbols, self.lookup.instructions, mark, pattern) {
                Err(MarkProblem::NoSuchFunction) => Err(problem),
                found => found,
            },
            (_, described) => described,
        }
    }
}

/// Adds the markers, with what there is at each site.
pub(super) fn join<'a>(
    found: &'a FoundMarks,
    joined: &mut RawMarkers<'a>,
    lookup: SiteLookup<'_>,
    diagnostics: &mut Diagnostics,
) {
    let texts = &mut joined.texts;
    let size = |mark: &FoundMark| mark.name.len() + mark.file.len() + mark.format.len() + mark.args.len();
    texts.raise(found.markers.iter().map(size).sum::<usize>() as u64 + 64 * found.markers.len() as u64);
    for mark in &found.markers {
        let interned = [&*mark.name, &*mark.file, &*mark.format, &*mark.args].map(|text| texts.intern(text.as_bytes()));
        let [Some(name), Some(file), Some(format), Some(args)] = interned else {
            let (section, offset, bound) = (DECLARATIONS, SectionOffset(0), texts.bound());
            return diagnostics.error(&Error::TooMuchText { section, offset, bound });
        };
        let declared = describe(mark.format.as_bytes(), mark.args.as_bytes()).args;
        let unresolved: Vec<Argument> = declared.iter().map(|one| Argument::unresolved(&one.text)).collect();
        let callees = mark.sites.iter().map(|site| texts.intern(site.callee.as_ref()?.as_bytes()));
        let callees: Vec<Option<TextId>> = callees.collect();
        let look_up = |(site, &callee): (&FoundSite, &Option<TextId>)| {
            let is_entry = site.origin == Origin::Entry;
            let wanted = MarkerLine { file: &mark.file, line: mark.scope_line, args: &declared, is_entry };
            let raw = RawSite { callee, ..RawSite::without_record(Some(site.pc), site.origin) };
            let (surroundings, mut probed) = lookup.site(&wanted, &raw, &unresolved, false);
            let judged = probed.exactness.zip(probed.reason.as_ref());
            if let Some((exactness, reason)) =
                judged.and_then(|(exactness, reason)| site.certainty.judge(exactness, reason))
            {
                (probed.exactness, probed.reason) = (Some(exactness), Some(reason));
            }
            (raw, (surroundings, probed))
        };
        let (sites, answers) = mark.sites.par_iter().zip(callees.par_iter()).map(look_up).unzip();
        joined.markers.push(RawMarker {
            is_mark: true,
            inlined_copies: mark.inlined_copies,
            task_point: mark.task_point,
            sites,
            problem: mark.problem.clone(),
            found: answers,
            ..RawMarker::new([name, file, format, args], mark.line)
        });
        lookup.release();
    }
}
