//! The code of the function that holds a site: found from debug information or symbols, decoded
//! once.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, PoisonError};

use super::{Asked, Instructions};
use crate::address::Vaddr;
use crate::code::{
    Block, Cfg, CodeRange, Decision, Edge, EdgeKind, Function, Made, MemoryPlace, NextUse, Step, ValuePlace, Values,
};
use crate::dwarf::Die;
use crate::location::Register;
use crate::ranges::Region;
use crate::resolve::{Exactness, ExactnessReason};

pub(super) type Cell<'c> = Arc<OnceLock<Result<Decoded<'c>, ExactnessReason>>>;

/// How many decoded functions are kept.
const KEPT_FUNCTIONS: usize = 256;

/// What says where a function's code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Described(Die),
    Symbol(u64),
}

pub(super) struct Decoded<'c> {
    pub(super) function: Function<'c>,
    pub(super) cfg: Cfg,
    /// Why edges may exist that the graph does not have.
    pub(super) unknown_edges: Option<ExactnessReason>,
    /// The values of registers and memory, once they are asked for; `None` if they cannot be
    /// followed.
    values: OnceLock<Option<Values>>,
}

impl Decoded<'_> {
    fn values(&self) -> Option<&Values> {
        let follow = || match self.unknown_edges {
            Some(_) => None,
            None => Values::of(&self.function, &self.cfg),
        };
        self.values.get_or_init(follow).as_ref()
    }
}

/// Edges that the instructions do not show, each with its target, and why there may be others.
struct HiddenEdges {
    edges: Vec<(Vaddr, Edge)>,
    unknown: Option<ExactnessReason>,
}

impl<'c> Instructions<'c, '_, '_, '_> {
    /// What says where the code of the site's function is; else the verdict, and why.
    pub(super) fn key(&self, asked: &Asked<'_>, pc: Vaddr) -> Result<Key, (Exactness, ExactnessReason)> {
        let unproven = |reason| (Exactness::Unproven, reason);
        if let (Some(function), Some(debug)) = (asked.function, self.debug) {
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
            Some(name) if symbol.start == pc.0 && !asked.anchored => {
                Err(unproven(ExactnessReason::BetweenFunctions { before: name.into() }))
            }
            _ if symbol.start == symbol.end => Err(unproven(ExactnessReason::SymbolWithoutSize)),
            _ => match symbols.entry_of(symbol) {
                Some(entry) => Ok(Key::Symbol(entry)),
                None => Err(unproven(ExactnessReason::PartOfUnknown)),
            },
        }
    }

    pub(super) fn decoded(&self, key: Key) -> Cell<'c> {
        let mut all = self.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        let cell = Arc::clone(all.entry(key).or_default());
        drop(all);
        cell.get_or_init(|| self.decode(key));
        cell
    }

    /// Drops all functions, if there are many. Call it when most of them are no longer needed: what
    /// is asked for again is decoded again.
    pub(in super::super) fn release(&self) {
        let mut all = self.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() > KEPT_FUNCTIONS {
            all.clear();
        }
    }

    /// Asks a decoded function; `None` if it could not be decoded.
    fn ask<T>(&self, function: Die, question: impl FnOnce(&Decoded<'c>) -> Option<T>) -> Option<T> {
        question(self.decoded(Key::Described(function)).get()?.as_ref().ok()?)
    }

    /// Asks a function all of whose edges are known.
    fn ask_complete<T>(&self, function: Die, question: impl FnOnce(&Decoded<'c>) -> Option<T>) -> Option<T> {
        self.ask(function, |decoded| if decoded.unknown_edges.is_some() { None } else { question(decoded) })
    }

    /// Who reads a place in memory next after an address in a function.
    pub(in super::super) fn next_use(&self, function: Die, pc: Vaddr, place: &MemoryPlace) -> NextUse {
        let mut calls = BTreeMap::new();
        let mut next_use = |decoded: &Decoded<'c>| loop {
            let next = decoded.values()?.next_use(&decoded.cfg, pc, place, &calls);
            let NextUse::Passed(call) = next else { return Some(next) };
            match self.effect_of_call(call) {
                Some(effect) if calls.insert(call, effect).is_none() => {}
                _ => return Some(next),
            }
        };
        self.ask(function, &mut next_use).unwrap_or(NextUse::Unknown)
    }

    /// Whether two places have the same value at an address in a function, in the lower `size`
    /// bytes.
    pub(in super::super) fn are_equal(
        &self,
        function: Die,
        pc: Vaddr,
        (one, other): (&ValuePlace, &ValuePlace),
        size: u64,
    ) -> bool {
        let equal = |decoded: &Decoded<'c>| Some(decoded.values()?.are_equal(&decoded.cfg, pc, one, other, size));
        self.ask(function, equal).unwrap_or(false)
    }

    /// What made the value of `size` bytes that a register has at an address of a function; `None` if
    /// that is not known. `result` is the size of the function's result, if that is known.
    pub(in super::super) fn made(
        &self,
        function: Die,
        pc: Vaddr,
        register: u32,
        (size, result): (u64, Option<u64>),
    ) -> Option<Made> {
        self.ask(function, |decoded| decoded.values()?.made(&decoded.cfg, pc, register, size, result))
    }

    /// An instruction that stores another value over the copy in the frame of a register of `size`
    /// bytes that still has the value of the function's entry.
    pub(in super::super) fn stored_over(&self, function: Die, pc: Vaddr, register: u32, size: u64) -> Option<Vaddr> {
        self.ask(function, |decoded| decoded.values()?.stored_over(&decoded.cfg, pc, register, size))
    }

    /// Whether the code shows that an object is at a place, if that is in the frame.
    pub(in super::super) fn is_object(&self, function: Die, pc: Vaddr, place: &MemoryPlace) -> bool {
        self.ask(function, |decoded| Some(decoded.values()?.is_object(&decoded.cfg, pc, place))).unwrap_or(true)
    }

    /// The steps in loops that may have made the value that a register has at an address of a function.
    pub(in super::super) fn steps(&self, function: Die, pc: Vaddr, register: u32) -> Vec<Step> {
        let steps = |decoded: &Decoded<'c>| {
            let register = u8::try_from(register).ok()?;
            Some(decoded.values()?.steps(&decoded.cfg, pc, register))
        };
        self.ask(function, steps).unwrap_or_default()
    }

    /// Whether a function takes a step of a register back.
    pub(in super::super) fn takes_back(&self, function: Die, register: u32, step: Step) -> bool {
        let takes = |decoded: &Decoded<'c>| {
            let register = u8::try_from(register).ok()?;
            Some(decoded.values()?.takes_back(&decoded.cfg, register, step))
        };
        self.ask(function, takes).unwrap_or(false)
    }

    /// Whether a loop uses the value that a register had before a step.
    pub(in super::super) fn uses_previous(&self, function: Die, register: u32, step: Step) -> bool {
        let uses = |decoded: &Decoded<'c>| {
            let register = u8::try_from(register).ok()?;
            Some(decoded.values()?.uses_previous(&decoded.cfg, register, step))
        };
        self.ask(function, uses).unwrap_or(false)
    }

    /// The first instructions behind an address of a function that write a register, if they also read it and
    /// do not lead back to the address.
    pub(in super::super) fn changed_behind(&self, function: Die, pc: Vaddr, register: u32) -> Vec<Range<u64>> {
        let writes = |decoded: &Decoded<'c>| {
            let register = u8::try_from(register).ok()?;
            Some(decoded.values()?.changed_behind(&decoded.cfg, pc, register))
        };
        self.ask_complete(function, writes).unwrap_or_default()
    }

    /// The block of an address in a function; `None` if it is not known.
    pub(in super::super) fn block(&self, function: Die, pc: Vaddr) -> Option<Block> {
        self.ask_complete(function, |decoded| decoded.cfg.block(pc))
    }

    /// Whether the instruction at an address of a function is a branch.
    pub(in super::super) fn is_branch(&self, function: Die, at: Vaddr) -> bool {
        self.ask(function, |decoded| Some(decoded.cfg.is_branch(at))).unwrap_or(false)
    }

    /// Whether a function leads from an address back to it.
    pub(in super::super) fn is_in_loop(&self, function: Die, pc: Vaddr) -> bool {
        self.ask(function, |decoded| Some(decoded.cfg.is_in_loop(pc))).unwrap_or(false)
    }

    /// Whether a function leads from an address, or from the end of the padding there, back to it.
    pub(in super::super) fn begins_in_loop(&self, function: Die, at: Vaddr) -> bool {
        let is_in_loop = |decoded: &Decoded<'c>| Some(decoded.cfg.is_in_loop(decoded.cfg.after_padding(at)));
        self.ask(function, is_in_loop).unwrap_or(false)
    }

    /// The instructions that lead to an address in a function, without calls of the function;
    /// `None` if they are not known completely.
    pub(in super::super) fn predecessors(&self, function: Die, pc: Vaddr) -> Option<Vec<Range<u64>>> {
        self.ask_complete(function, |decoded| decoded.cfg.leading_to(pc))
    }

    /// Asks for a walk over a function all of whose edges are known; `None` if there were too many walks.
    /// `more` is what it costs in addition to one step for each instruction.
    fn walk<T>(&self, function: Die, more: usize, question: impl FnOnce(&Cfg) -> Option<T>) -> Option<T> {
        self.ask_complete(function, |decoded| {
            let cfg = Some(&decoded.cfg).filter(|cfg| !cfg.has_unknown_edges())?;
            let charged = |left: u64| left.checked_sub(cfg.size().saturating_add(more as u64));
            self.walks_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, charged).ok()?;
            question(cfg)
        })
    }

    /// The next instruction of a function from an address on that is no padding.
    pub(in super::super) fn after_padding(&self, function: Die, at: Vaddr) -> Vaddr {
        self.ask(function, |decoded| Some(decoded.cfg.after_padding(at))).unwrap_or(at)
    }

    /// Whether the instruction at an address of a function is a conditional branch.
    pub(in super::super) fn is_conditional(&self, function: Die, at: Vaddr) -> bool {
        self.ask(function, |decoded| Some(decoded.cfg.is_conditional(at))).unwrap_or(false)
    }

    /// Where control enters a region of a function; `None` if that is not known completely.
    pub(in super::super) fn entries(&self, function: Die, region: &Region) -> Option<Vec<Vaddr>> {
        self.walk(function, region.ranges().len(), |cfg| Some(cfg.entries(region)))
    }

    /// Where control leaves a region of a function; `None` if that is not known completely.
    pub(in super::super) fn exits(&self, function: Die, region: &Region) -> Option<Vec<Vaddr>> {
        self.walk(function, region.ranges().len(), |cfg| Some(cfg.exits(region)))
    }

    /// What decides whether a function reaches an address; `None` if that is not known.
    pub(in super::super) fn decision(&self, function: Die, at: Vaddr) -> Option<Decision> {
        self.walk(function, 0, |cfg| cfg.decision(at))
    }

    /// The addresses of the calls in a function, ascending; `None` if that is not known.
    pub(in super::super) fn calls(&self, function: Die) -> Option<Vec<Vaddr>> {
        self.walk(function, 0, |cfg| Some(cfg.calls().collect()))
    }

    /// Whether an instruction of a function may write one of the registers.
    pub(in super::super) fn writes(&self, function: Die, at: u64, registers: u64) -> bool {
        self.ask(function, |decoded| Some(decoded.cfg.writes(&decoded.function, at, registers))).unwrap_or(false)
    }

    /// Whether any instruction of a function may write one of the registers.
    pub(in super::super) fn writes_anywhere(&self, function: Die, registers: u64) -> bool {
        self.ask(function, |decoded| Some(decoded.cfg.writes_anywhere(&decoded.function, registers))).unwrap_or(false)
    }

    /// Whether the code of a function takes the address of an object in its frame; `None` if that is not
    /// known, or the place is not in the frame.
    pub(in super::super) fn takes_address(&self, function: Die, pc: Vaddr, place: &MemoryPlace) -> Option<bool> {
        self.ask(function, |decoded| decoded.values()?.takes_address(&decoded.cfg, pc, place))
    }

    /// The bit of a register in masks of written registers; `None` if it has none.
    pub(in super::super) fn any_bit(&self, register: Register) -> Option<u32> {
        self.set.register_bit(register.0)
    }

    /// The number of a register in masks of written registers; `None` if it is not followed.
    pub(in super::super) fn register_bit(&self, register: Register) -> Option<u32> {
        self.set.register_bit(register.0).filter(|bit| *bit < 16)
    }

    fn decode(&self, key: Key) -> Result<Decoded<'c>, ExactnessReason> {
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
        Ok(Decoded { function, cfg, unknown_edges: unknown, values: OnceLock::new() })
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
    fn range(&self, range: &Range<u64>) -> Result<CodeRange<'c>, ExactnessReason> {
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
