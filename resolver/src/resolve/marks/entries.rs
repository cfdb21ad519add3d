//! Where functions are entered: their code out of line, and each place where they are inlined.
//!
//! Without optimisation the debug information describes parameters where the prologue stores them, and is
//! wrong before that. A mark that reads values stands behind the prologue then.

use super::certainty::PlaceCertainty;
use super::found::{FoundMark, FoundSite};
use crate::Error;
use crate::address::Vaddr;
use crate::dwarf::{FoundFunction, FunctionInstance};
use crate::image::symbols::Symbols;
use crate::marks::Mark;
use crate::ranges::Region;
use crate::resolve::lookup::SiteLookup;
use crate::resolve::mark_problem::MarkProblem;
use crate::resolve::site_debug::SiteDebug;
use crate::resolve::{MarkReason, Origin};

/// The markers of a mark at the entry of functions: one for each function.
pub(super) fn find<'a>(
    debug: &SiteDebug<'a>,
    lookup: SiteLookup<'a>,
    symbols: Symbols<'_>,
    mark: &Mark,
    functions: &[FoundFunction],
) -> Result<Vec<FoundMark>, MarkProblem> {
    let search = EntrySearch { debug, lookup, symbols, has_values: !mark.args.is_empty() };
    let mut found = Vec::new();
    let suffix = (functions.len() > 1).then_some("()");
    for function in functions {
        let mut sites = Vec::new();
        for instance in function.instances.iter().filter(|instance| !(instance.is_inlined && mark.is_out_of_line)) {
            sites.extend(search.site(instance).map_err(MarkProblem::Unreadable)?);
        }
        found.extend(FoundMark::of_function(mark, function, suffix, sites));
    }
    if found.is_empty() { Err(MarkProblem::NoCode) } else { Ok(found) }
}

struct EntrySearch<'e, 'a> {
    debug: &'e SiteDebug<'a>,
    lookup: SiteLookup<'a>,
    symbols: Symbols<'e>,
    has_values: bool,
}

impl EntrySearch<'_, '_> {
    fn site(&self, instance: &FunctionInstance) -> Result<Option<FoundSite>, Error> {
        let site = |at: Vaddr, certainty| {
            Some(FoundSite { pc: self.debug.pc(at)?, origin: Origin::Entry, certainty, callee: None })
        };
        if instance.is_inlined {
            return Ok(site(instance.entry, PlaceCertainty::Place(self.inlined(instance)?)));
        }
        // Where the code is in several pieces, the first one may be the cold one.
        let entry = self.lookup.instructions.and_then(|code| code.function(instance.die)).map(|code| code.entry());
        let entry = entry.unwrap_or(instance.entry);
        if is_rest(self.debug, self.symbols, entry) {
            return Ok(None);
        }
        let behind = match self.has_values && self.debug.info().is_code_unoptimized(instance.die)? {
            true => self.debug.info().behind_prologue(instance.die, entry)?,
            false => None,
        };
        Ok(site(behind.unwrap_or(entry), PlaceCertainty::Code))
    }

    /// What is known of the place where an inlined copy begins.
    fn inlined(&self, instance: &FunctionInstance) -> Result<MarkReason, Error> {
        let info = self.debug.info();
        let region = Region::new(&info.code_of(instance.die)?);
        let scope = info.scope_at(instance.entry, "", 0)?;
        let out_of_line = scope.and_then(|scope| Some(scope.frames.last()?.instance));
        let code = out_of_line.and_then(|of| self.lookup.instructions?.function(of));
        let Some((code, entries)) = code.and_then(|code| code.entries(&region).map(|entries| (code, entries))) else {
            return Ok(MarkReason::CodeUnknown);
        };
        Ok(match entries.as_slice() {
            _ if code.is_repeated(&region, instance.entry) => MarkReason::Repeats,
            // The instances of a loop that was unrolled or peeled are one entry with several ranges.
            [only] if *only == instance.entry => match code.entered_blocks(&region).unwrap_or(1) {
                0 | 1 => MarkReason::Inlined,
                count => MarkReason::SeveralPlaces { count: u32::try_from(count).unwrap_or(u32::MAX) },
            },
            all => MarkReason::SeveralPlaces { count: u32::try_from(all.len().max(2)).unwrap_or(u32::MAX) },
        })
    }
}

/// Whether gcc split the code there off a function, whose beginning it inlined elsewhere
/// (`-fpartial-inlining`).
pub(super) fn is_rest(debug: &SiteDebug<'_>, symbols: Symbols<'_>, entry: Vaddr) -> bool {
    let Some(pc) = debug.pc(entry) else { return false };
    let symbol = symbols.at(pc.section.map(object::SectionIndex), pc.address);
    symbol.is_some_and(|symbol| symbols.name(&symbol).windows(6).any(|part| part == b".part."))
}
