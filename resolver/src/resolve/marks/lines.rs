//! Where the code of a line begins, in each copy of its function.
//!
//! A line of unoptimised code is entered at one place. An optimiser moves, copies and merges code. gcc
//! says where each copy of a statement begins (`-gstatement-frontiers`). LLVM does not: the code of the
//! line is entered where control comes from other code, if one such place leads to all the others. A
//! function that is inlined where the line calls it belongs to the code of the line.
//! `benches/marks` counts how often each of these is right.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::certainty::PlaceCertainty;
use super::found::{FoundMark, FoundSite};
use crate::Error;
use crate::address::Vaddr;
use crate::code::Detours;
use crate::dwarf::files::SourcePath;
use crate::dwarf::lines::FileMatch;
use crate::dwarf::{DebugInfo, Die, Frontiers, LineCode, LinePiece, Producer, StatementRows};
use crate::marks::Mark;
use crate::ranges::Region;
use crate::resolve::instructions::FunctionCode;
use crate::resolve::lookup::SiteLookup;
use crate::resolve::mark_problem::MarkProblem;
use crate::resolve::site_debug::{OfLine, SiteDebug};
use crate::resolve::{MarkReason, Origin};

/// How many lines before and behind a line are beside it.
const BESIDE: u32 = 3;

/// The marker of a mark on a line.
pub(super) fn find<'a>(
    debug: &SiteDebug<'a>,
    lookup: SiteLookup<'a>,
    mark: &Mark,
    file: &Arc<str>,
    line: u32,
) -> Result<FoundMark, MarkProblem> {
    let info = debug.info();
    let matched = info.match_file(&SourcePath::new(file)).map_err(MarkProblem::Unreadable)?;
    let (path, units) = match &*matched {
        FileMatch::File { path, units } => (path, units),
        FileMatch::None => return Err(MarkProblem::NoSuchFile),
        FileMatch::Several(paths) => {
            return Err(MarkProblem::SeveralFiles(paths.iter().map(|path| Arc::clone(path.as_str())).collect()));
        }
    };
    let search = LineOfUnits { debug, lookup, path, units };
    let mut found = FoundMark {
        name: mark.name.to_string(),
        file: Arc::clone(path.as_str()),
        line,
        scope_line: line,
        format: mark.format.clone(),
        args: mark.args.clone(),
        sites: search.sites(line, Origin::Line).map_err(MarkProblem::Unreadable)?,
        inlined_copies: 0,
        task_point: None,
        problem: None,
    };
    if found.sites.is_empty() {
        let nearest = search.nearest(line).map_err(MarkProblem::Unreadable)?;
        found.problem = nearest.problem;
        if let Some(next) = nearest.sites.iter().find_map(|(_, line)| *line) {
            found.sites = search.sites(next, Origin::Nearest { line: next }).map_err(MarkProblem::Unreadable)?;
            for site in &mut found.sites {
                site.certainty = site.certainty.of_nearest();
            }
        }
    }
    found.sites.sort_by_key(|site| site.pc);
    found.sites.dedup_by_key(|site| site.pc);
    if mark.has_all_variables {
        let mut names: Vec<String> = Vec::new();
        for site in &found.sites {
            let visible = debug.visible(site.pc, path.as_str(), line).map_err(MarkProblem::Unreadable)?;
            names.extend(visible.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
        }
        found.args = names.join(", ");
    }
    Ok(found)
}

/// A file, and the units that have code of it.
struct LineOfUnits<'u, 'a> {
    debug: &'u SiteDebug<'a>,
    lookup: SiteLookup<'a>,
    path: &'u SourcePath,
    units: &'u [(usize, Vec<u64>)],
}

impl<'a> LineOfUnits<'_, 'a> {
    fn info(&self) -> &'a DebugInfo<'a> {
        self.debug.info()
    }

    /// The sites of exactly this line.
    fn sites(&self, line: u32, origin: Origin) -> Result<Vec<FoundSite>, Error> {
        let mut sites = Vec::new();
        let missing = OnceCell::new();
        for (unit, numbers) in self.units {
            let by_gcc = self.info().producer(*unit) == Producer::Gcc;
            let has_statements = by_gcc && self.info().frontiers(*unit) == Frontiers::Written;
            let places = match has_statements {
                true => self.statements(*unit, numbers, line, &missing)?,
                false => self.entered(*unit, numbers, line, &missing)?,
            };
            let site = |(at, reason)| {
                let certainty = PlaceCertainty::Place(reason);
                Some(FoundSite { pc: self.debug.pc(at)?, origin, certainty, callee: None })
            };
            sites.extend(places.into_iter().filter_map(site));
        }
        if sites.is_empty() {
            sites = self.in_closures(line, origin)?;
        }
        Ok(sites)
    }

    /// The sites in closures that begin at a line.
    fn in_closures(&self, line: u32, origin: Origin) -> Result<Vec<FoundSite>, Error> {
        let mut sites = Vec::new();
        let certainty = PlaceCertainty::Place(MarkReason::Closure);
        for (unit, numbers) in self.units {
            for code in &self.code(*unit, numbers, line)?.1 {
                let site = |(at, _)| Some(FoundSite { pc: self.debug.pc(at)?, origin, certainty, callee: None });
                sites.extend(self.entered_in(code)?.into_iter().filter_map(site));
            }
        }
        Ok(sites)
    }

    /// The next line that has code, for one that has none.
    fn nearest(&self, line: u32) -> Result<OfLine, Error> {
        match self.debug.search_line(self.path.as_str(), line)? {
            Ok(search) => self.debug.nearest_sites(&search),
            Err(problem) => Ok(OfLine { sites: Vec::new(), problem: Some(problem) }),
        }
    }

    /// Where the copies of the first statement of a line begin, as gcc says.
    fn statements(
        &self,
        unit: usize,
        numbers: &[u64],
        line: u32,
        known: &OnceCell<u32>,
    ) -> Result<Vec<(Vaddr, MarkReason)>, Error> {
        let found = self.info().statements(unit, self.path, numbers, line, StatementRows::First)?;
        let mut places = Vec::new();
        for copies in found.copies.chunk_by(|one, other| one.instance == other.instance) {
            let mut of_instance: Vec<Vaddr> = copies.iter().map(|copy| copy.address).collect();
            of_instance.sort_unstable();
            of_instance.dedup();
            let reason = match of_instance.len() {
                1 => MarkReason::MayBeMoved,
                count => MarkReason::SeveralPlaces { count: u32::try_from(count).unwrap_or(u32::MAX) },
            };
            places.extend(of_instance.into_iter().map(|at| (at, reason)));
        }
        if places.iter().any(|(_, reason)| *reason == MarkReason::MayBeMoved) {
            let behind = self.info().statements_behind(unit, self.path, numbers, line)?;
            let code = self.info().line_code(unit, self.path, numbers, line)?;
            let pieces = code.iter().flat_map(|code| &code.pieces).filter(|piece| !piece.range.is_empty());
            let pieces: Vec<Vaddr> = pieces.map(|piece| Vaddr(piece.range.start)).collect();
            self.lower(line, &mut places, found.missing, |_, _, detours| match () {
                () if pieces.iter().any(|at| detours.pass(*at)) => Some(MarkReason::CodeElsewhere),
                () if behind.iter().any(|at| detours.reach(*at)) => Some(MarkReason::WayAround),
                () => None,
            })?;
        }
        if places.is_empty() {
            // What is left of the line is part of statements that begin elsewhere.
            let pieces = self.entered(unit, numbers, line, known)?;
            places.extend(pieces.into_iter().map(|(at, _)| (at, MarkReason::NoStatement)));
        }
        Ok(places)
    }

    /// Looks for passes that likely places miss: `missed` says what the ways of a function that avoid them
    /// show of one, and `missing` copies of the function have none.
    fn lower(
        &self,
        line: u32,
        places: &mut [(Vaddr, MarkReason)],
        missing: u32,
        missed: impl Fn(&FunctionCode<'_>, Vaddr, &Detours) -> Option<MarkReason>,
    ) -> Result<(), Error> {
        let addresses: Vec<Vaddr> = places.iter().map(|(at, _)| *at).collect();
        let mut detours: BTreeMap<Die, Option<Detours>> = BTreeMap::new();
        for (at, reason) in places.iter_mut().filter(|(_, reason)| *reason == MarkReason::MayBeMoved) {
            let scope = self.info().scope_at(*at, self.path.as_str(), line)?;
            let function = scope.and_then(|scope| Some(scope.frames.last()?.instance));
            let code = function.and_then(|of| Some((of, self.lookup.instructions?.function(of)?)));
            let lowered = code.and_then(|(of, code)| {
                let detours = detours.entry(of).or_insert_with(|| code.detours(&addresses)).as_ref()?;
                missed(&code, *at, detours)
            });
            *reason = match (lowered, missing) {
                (Some(lowered), _) => lowered,
                (None, 1..) => MarkReason::MissingCopies { count: missing },
                (None, 0) => *reason,
            };
        }
        Ok(())
    }

    /// The code of the lines beside one: the nearest before it and the nearest behind it, in each function
    /// out of line.
    fn beside(&self, unit: usize, numbers: &[u64], line: u32) -> Result<[BTreeMap<Die, Vec<Vaddr>>; 2], Error> {
        let nearest = |lines: &mut dyn Iterator<Item = u32>| -> Result<BTreeMap<Die, Vec<Vaddr>>, Error> {
            let mut found: BTreeMap<Die, Vec<Vaddr>> = BTreeMap::new();
            for line in lines {
                let mut of_line: BTreeMap<Die, Vec<Vaddr>> = BTreeMap::new();
                for code in self.info().line_code(unit, self.path, numbers, line)? {
                    let Some(function) = code.out_of_line.filter(|of| !found.contains_key(of)) else { continue };
                    let starts = code.pieces.iter().map(|piece| Vaddr(piece.range.start));
                    of_line.entry(function).or_default().extend(starts);
                }
                found.extend(of_line);
            }
            Ok(found)
        };
        let before = nearest(&mut (line.saturating_sub(BESIDE)..line).rev())?;
        Ok([before, nearest(&mut (line.saturating_add(1)..=line.saturating_add(BESIDE)))?])
    }

    /// Whether the lines beside one that begins in the middle of straight code run without it. LLVM's rows
    /// do not say where a statement begins, so nothing tells a branch from a copy that was lost; code that
    /// begins where a branch leads was moved less often.
    fn is_avoided(
        &self,
        code: &FunctionCode<'_>,
        at: Vaddr,
        detours: &Detours,
        [before, behind]: &[BTreeMap<Die, Vec<Vaddr>>; 2],
    ) -> Option<MarkReason> {
        let begins_block = code.block(at).is_none_or(|block| block.before.is_empty());
        let avoids = |lines: &BTreeMap<Die, Vec<Vaddr>>, is_there: &dyn Fn(Vaddr) -> bool| {
            lines.values().flatten().any(|at| is_there(*at))
        };
        let is_avoided = avoids(before, &|at| detours.pass(at)) || avoids(behind, &|at| detours.reach(at));
        (!begins_block && is_avoided).then_some(MarkReason::WayAround)
    }

    /// The code of a line, and that of closures that begin there.
    fn code(&self, unit: usize, numbers: &[u64], line: u32) -> Result<(Vec<LineCode>, Vec<LineCode>), Error> {
        let (mut all, mut of_closures) = (Vec::new(), Vec::new());
        for code in self.info().line_code_with_calls(unit, self.path, numbers, line)? {
            let instance = code.instance;
            let is_closure =
                instance.map(|instance| self.info().is_closure_at(instance, self.path, line)).transpose()?;
            if is_closure == Some(true) { of_closures.push(code) } else { all.push(code) }
        }
        Ok((all, of_closures))
    }

    /// How many copies of the functions of a line have code, and none of the line. `known` keeps it for the
    /// other units.
    fn missing(&self, line: u32, known: &OnceCell<u32>) -> Result<u32, Error> {
        if let Some(known) = known.get() {
            return Ok(*known);
        }
        let mut with = Vec::new();
        for (unit, numbers) in self.units {
            with.extend(self.code(*unit, numbers, line)?.0.iter().filter_map(|code| code.instance));
        }
        let units: Vec<usize> = self.units.iter().map(|(unit, _)| *unit).collect();
        let missing = self.info().copies_without(&units, self.path, &with)?;
        Ok(*known.get_or_init(|| missing))
    }

    /// Where control enters the code of a line.
    fn entered(
        &self,
        unit: usize,
        numbers: &[u64],
        line: u32,
        known: &OnceCell<u32>,
    ) -> Result<Vec<(Vaddr, MarkReason)>, Error> {
        let mut places = Vec::new();
        let (all, _) = self.code(unit, numbers, line)?;
        for code in &all {
            places.extend(self.entered_in(code)?);
        }
        if places.iter().any(|(_, reason)| *reason == MarkReason::MayBeMoved) {
            let missing = self.missing(line, known)?;
            // In Rust most lines beside one are parts of an expression.
            let beside = match self.info().producer(unit) {
                Producer::Rust => <[BTreeMap<_, _>; 2]>::default(),
                _ => self.beside(unit, numbers, line)?,
            };
            self.lower(line, &mut places, missing, |code, at, detours| self.is_avoided(code, at, detours, &beside))?;
        }
        Ok(places)
    }

    fn entered_in(&self, line: &LineCode) -> Result<Vec<(Vaddr, MarkReason)>, Error> {
        let has_statement = line.pieces.iter().any(|piece| piece.is_statement);
        let pieces = || line.pieces.iter().filter(|piece| piece.is_statement || !has_statement);
        let first =
            || pieces().map(|piece| &piece.range).chain(&line.inlined).map(|range| range.start).min().map(Vaddr);
        let ranges: Vec<_> = line.pieces.iter().map(|piece| &piece.range).chain(&line.inlined).cloned().collect();
        let region = Region::new(&ranges);
        let code = line.out_of_line.and_then(|of| self.lookup.instructions?.function(of));
        let Some((code, entries)) = code.and_then(|code| code.entries(&region).map(|entries| (code, entries))) else {
            return Ok(first().map(|at| (at, MarkReason::CodeUnknown)).into_iter().collect());
        };
        let count = u32::try_from(entries.len()).unwrap_or(u32::MAX);
        let is_unoptimized = line.out_of_line.map_or(Ok(false), |of| self.info().is_code_unoptimized(of))?;
        let mut places = Vec::new();
        for &at in &entries {
            let copies = match is_unoptimized || count > 1 {
                true => Vec::new(),
                false => copies(&line.pieces, at, &code),
            };
            let reason = match () {
                () if code.is_repeated(&region, at) => MarkReason::Repeats,
                () if count > 1 => MarkReason::SeveralPlaces { count },
                () if is_unoptimized => MarkReason::Begins,
                () if !has_statement && line.inlined.is_empty() => MarkReason::NoStatement,
                () if copies.is_empty() => MarkReason::MayBeMoved,
                () => {
                    let count = u32::try_from(copies.len()).unwrap_or(u32::MAX).saturating_add(1);
                    MarkReason::SeveralPlaces { count }
                }
            };
            places.extend([at].into_iter().chain(copies).map(|at| (at, reason)));
        }
        Ok(places)
    }
}

/// Where copies of the beginning of a line may be: pieces of its column that are not where the line begins,
/// or straight behind that. The compiler schedules code between calls. If the line begins in a function that
/// is inlined there, they are those of any column that are not the first one.
fn copies(pieces: &[LinePiece], at: Vaddr, code: &FunctionCode<'_>) -> Vec<Vaddr> {
    let mut first: BTreeMap<u16, Vaddr> = BTreeMap::new();
    match pieces.iter().find(|piece| piece.range.contains(&at.0)) {
        Some(piece) => drop(first.insert(piece.column, at)),
        None => {
            for piece in pieces.iter().filter(|piece| !piece.range.is_empty()) {
                let start = Vaddr(piece.range.start);
                first.entry(piece.column).and_modify(|first| *first = start.min(*first)).or_insert(start);
            }
        }
    }
    let is_other = |piece: &&LinePiece| {
        let start = Vaddr(piece.range.start);
        let first = first.get(&piece.column).copied();
        !piece.range.is_empty() && first.is_some_and(|first| start != first && !code.is_straight(first, start))
    };
    pieces.iter().filter(is_other).map(|piece| Vaddr(piece.range.start)).collect()
}
