//! The code of the function that holds a site: found from debug information or symbols, decoded
//! once.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, PoisonError};

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::decoded_function::{Cell, DecodedFunction, Key};
use super::function_code::FunctionCode;
use super::{Instructions, SiteQuery};
use crate::address::Vaddr;
use crate::code::{Cfg, CodeRange, Edge, EdgeKind, Function};
use crate::dwarf::Die;
use crate::resolve::{Exactness, ExactnessReason};

/// How many decoded functions are kept.
const KEPT_FUNCTIONS: usize = 256;

/// Edges that the instructions do not show, each with its target, and why there may be others.
struct HiddenEdges {
    edges: Vec<(Vaddr, Edge)>,
    unknown: Option<ExactnessReason>,
}

impl<'a> Instructions<'a> {
    /// What says where the code of the site's function is; else the verdict, and why.
    pub(super) fn key(&self, query: &SiteQuery<'_>, pc: Vaddr) -> Result<Key, (Exactness, ExactnessReason)> {
        let unproven = |reason| (Exactness::Unproven, reason);
        if let (Some(function), Some(debug)) = (query.function, self.debug) {
            match debug.code_of(function) {
                Ok(ranges) if !ranges.is_empty() => return Ok(Key::Described(function)),
                Ok(_) => {}
                Err(error) => return Err(unproven(unreadable(&error))),
            }
        }
        let symbols = self.symbols();
        let before = symbols.ending_at(pc.0);
        let Some(symbol) = symbols.at(pc.0) else {
            return Err(match before {
                Some(name) => (Exactness::Outside, ExactnessReason::NamedFunctionEnds { function: name.into() }),
                None => unproven(ExactnessReason::NoFunction),
            });
        };
        match before {
            Some(name) if symbol.start == pc.0 && !query.anchored => {
                Err(unproven(ExactnessReason::BetweenFunctions { before: name.into() }))
            }
            _ if symbol.start == symbol.end => Err(unproven(ExactnessReason::SymbolWithoutSize)),
            _ => match symbols.entry_of(symbol) {
                Some(entry) => Ok(Key::Symbol(entry)),
                None => Err(unproven(ExactnessReason::PartOfUnknown)),
            },
        }
    }

    pub(super) fn decoded(&self, key: Key) -> Cell<'a> {
        let mut all = self.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        let cell = Arc::clone(all.entry(key).or_default());
        drop(all);
        cell.get_or_init(|| self.decode(key).map(Arc::new));
        cell
    }

    /// Drops all functions, if there are many. Call it when most of them are no longer needed: what
    /// is asked for again is decoded again.
    pub(in super::super) fn release(&self) {
        let mut all = self.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() > KEPT_FUNCTIONS {
            let dropped = std::mem::take(&mut *all);
            drop(all);
            dropped.into_par_iter().for_each(drop);
        }
    }

    /// What is known of the code of a function; `None` if it could not be decoded.
    pub(in super::super) fn function(&self, function: Die) -> Option<FunctionCode<'_>> {
        self.code_of(Key::Described(function)).ok()
    }

    /// What is known of the code of a function; else why it could not be decoded.
    pub(super) fn code_of(&self, key: Key) -> Result<FunctionCode<'_>, ExactnessReason> {
        let cell = self.decoded(key);
        let decoded = cell.get().ok_or(ExactnessReason::NoFunction)?.as_ref().map_err(Clone::clone)?;
        let decoded = Arc::clone(decoded);
        Ok(FunctionCode { decoded, set: self.set, calls: self, walks_left: &self.walks_left })
    }

    fn decode(&self, key: Key) -> Result<DecodedFunction<'a>, ExactnessReason> {
        let (entry, addresses) = self.addresses(key)?;
        let mut ranges = Vec::new();
        for range in &addresses {
            ranges.push(self.range(range)?);
        }
        let HiddenEdges { edges, unknown } = self.hidden_edges(entry, &addresses);
        let is_kernel = self.is_kernel();
        let function = Function {
            entry: Vaddr(entry),
            ranges,
            hidden_edges: edges,
            // The kernel also enters code that handles a fault (`__ex_table`).
            landing_pads_known: unknown.is_none() && !is_kernel,
            traps_return: is_kernel,
        };
        let cfg = Cfg::of(&function, self.code.memory(), self.set);
        Ok(DecodedFunction { function, cfg, unknown_edges: unknown, flows: OnceLock::new(), values: OnceLock::new() })
    }

    /// Where a function is entered, and all addresses of its code.
    fn addresses(&self, key: Key) -> Result<(u64, Vec<Range<u64>>), ExactnessReason> {
        let symbols = self.symbols();
        let function = match key {
            Key::Symbol(entry) => return Ok((entry, symbols.parts_of(entry))),
            Key::Described(function) => function,
        };
        let debug = self.debug.ok_or(ExactnessReason::NoDebugInfo)?;
        let ranges = debug.code_of(function).map_err(|error| unreadable(&error))?;
        let entry = debug.entry_of(function).map_err(|error| unreadable(&error))?;
        let is_hot = |range: &&Range<u64>| symbols.starting_at(range.start).is_some_and(|it| !it.is_cold);
        let first = || ranges.iter().find(is_hot).or(ranges.first()).map(|range| range.start);
        let entry = entry.or_else(first).ok_or(ExactnessReason::NoCode)?;
        Ok((entry, ranges))
    }

    /// The code of a range.
    fn range(&self, range: &Range<u64>) -> Result<CodeRange<'a>, ExactnessReason> {
        let size = range.end.saturating_sub(range.start);
        let charged = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(size));
        charged.map_err(|_| ExactnessReason::TooMuchCode)?;
        let bytes = self.code.from(Vaddr(range.start)).and_then(|bytes| bytes.get(..usize::try_from(size).ok()?));
        let bytes = bytes.ok_or(ExactnessReason::CodeNotInFile)?;
        Ok(CodeRange { start: Vaddr(range.start), bytes })
    }

    fn hidden_edges(&self, entry: u64, ranges: &[Range<u64>]) -> HiddenEdges {
        let mut edges = Vec::new();
        let mut unknown = None;
        for range in ranges {
            for start in self.symbols().inside(range).filter(|start| *start != entry) {
                edges.push((Vaddr(start), Edge { from: Vaddr(start), kind: EdgeKind::OtherFunction }));
            }
            let pads = match self.debug {
                Some(debug) => debug.landing_pads(range, &|at| self.code.from(at)).map_err(Some),
                None => Err(None),
            };
            match pads {
                Ok(pads) => {
                    let edge = |from| Edge { from, kind: EdgeKind::LandingPad };
                    edges.extend(pads.into_iter().map(|pad| (pad.at, edge(pad.from))));
                }
                Err(why) => unknown = Some(ExactnessReason::LandingPadsUnknown { why }),
            }
        }
        // A landing pad has one edge for each call that it serves.
        edges.sort_unstable();
        edges.dedup();
        if self.is_kernel() {
            let patched = self.patched();
            edges.extend(ranges.iter().flat_map(|range| patched.edges(range)));
            unknown = unknown.or_else(|| patched.unknown().map(ExactnessReason::PatchesUnknown));
        }
        HiddenEdges { edges, unknown }
    }
}

fn unreadable(error: &crate::Error) -> ExactnessReason {
    ExactnessReason::DebugInfo { message: error.to_string().into() }
}
