//! Whether a place in memory holds at an instruction what the source stored last.
//!
//! A compiler may delay or drop a store that nothing reads before the next one. So a place is
//! settled if the code may still read it, as it is, on a path from the instruction: by a load, by a
//! callee that gets its address, or by the caller after a return. Otherwise nothing proves that the
//! store before the marker was done. When the block of an object is left, its bytes are another
//! object's.
//!
//! Each path is followed with its own values. A store that overwrites any byte of the place ends
//! the path.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::cfg::Cfg;
use super::data_flow::{Access, Fill, Gpr, RegisterValue};
use super::instruction::{Instruction, Successors};
use super::values::{State, Symbolic, ValueSymbol, Values, Word};
use crate::address::Vaddr;

/// A place in memory: the sum of the root and the first offset is an address. Each further offset is
/// added to the word that was loaded from the address before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemoryPlace {
    pub(crate) root: PlaceRoot,
    /// At least one offset.
    pub(crate) offsets: Vec<i64>,
    /// Bytes, at least 1.
    pub(crate) size: u64,
    /// The whole object that the place is a part of, relative to the place.
    pub(crate) object: Range<i64>,
    /// Whether it still exists when the function has returned.
    pub(crate) outlives: bool,
    /// The addresses of the block that declares the object; empty if it exists in all of the
    /// function.
    pub(crate) block: Vec<Range<u64>>,
}

/// What the address of a place counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceRoot {
    /// A register, by its bit in [`Effects::written`](super::instruction::Effects).
    Register(u32),
    /// An address in the image.
    Image(Vaddr),
}

/// A place that holds a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ValuePlace {
    /// A register, by its bit.
    Register(u32),
    /// Memory.
    Memory(MemoryPlace),
    /// The address of memory.
    Address(MemoryPlace),
}

impl ValuePlace {
    fn value(&self, state: &mut State, size: u64) -> Option<Symbolic> {
        match self {
            Self::Register(register) => state.register(Gpr::try_from(*register).ok()?),
            Self::Address(place) => locate(state, place),
            Self::Memory(place) => {
                let address = locate(state, place)?;
                state.word(address, u32::try_from(size).ok()?)
            }
        }
    }
}

/// Who reads a place next, or why nobody does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextUse {
    /// An instruction reads it.
    Read(Vaddr),
    /// A callee may read it.
    Passed(Vaddr),
    /// The caller may read it.
    Returned(Vaddr),
    /// On all paths it is overwritten or never used again. An instruction that overwrites it.
    Overwritten(Vaddr),
    /// It is never used again.
    Unused,
    /// The code or its paths are not known well enough.
    Unknown,
}

/// What a call does with the memory of the program, if its callee is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallEffect {
    /// Nothing: it only allocates or frees.
    Nothing,
    /// It writes where its first argument points, and reads nothing there.
    Writes {
        /// Whether it reads where its second argument points.
        reads_second: bool,
        /// Whether its third argument is the number of bytes that it writes.
        has_size: bool,
    },
}

/// The most instructions that are followed for one place, and how often each of them.
const STEPS: usize = 20_000;
const VISITS: u8 = 2;

impl Values {
    /// Who reads a place next after an address. `calls` are the calls of known functions.
    pub(crate) fn next_use(
        &self,
        cfg: &Cfg,
        pc: Vaddr,
        place: &MemoryPlace,
        calls: &BTreeMap<Vaddr, CallEffect>,
    ) -> NextUse {
        let next_use = || {
            let start = cfg.index(pc.0)?;
            let mut state = self.before(cfg, start)?;
            self.rename(&mut state);
            let address = locate(&mut state, place)?;
            let end = address.offset.checked_add(i64::try_from(place.size).ok()?)?;
            let object =
                address.offset.checked_add(place.object.start)?..address.offset.checked_add(place.object.end)?;
            let outlives = place.outlives && !address.symbol.is_stack(self.convention.stack_pointer);
            let target = Target { symbol: address.symbol, bytes: address.offset..end, object, outlives };
            let (block, visits) = (place.block.as_slice(), HashMap::new());
            let mut search = UseSearch { values: self, cfg, target, block, calls, visits, left: STEPS };
            Some(search.run(start, state))
        };
        next_use().unwrap_or(NextUse::Unknown)
    }

    /// Whether the code shows that an object is at a place in the frame: it takes the object's
    /// address, or accesses exactly these bytes. True for places that are not in the frame.
    pub(crate) fn is_object(&self, cfg: &Cfg, pc: Vaddr, place: &MemoryPlace) -> bool {
        let address = || locate(&mut self.before(cfg, cfg.index(pc.0)?)?, place);
        let Some(address) = address() else { return true };
        let sp = self.convention.stack_pointer;
        if place.offsets.len() != 1 || !address.symbol.is_stack(sp) {
            return true;
        }
        let object = address.plus(place.object.start);
        let shows = |index: usize, before: &State, after: &State| {
            let Some(flow) = self.flows.get(index) else { return false };
            let is_taken = object.is_some_and(|object| self.takes(index, after, object));
            let is_it = |access: &Access| {
                let size = u64::from(access.size);
                !access.is_indexed && size == place.size && before.address(access) == Some(address)
            };
            is_taken || flow.accesses.iter().any(is_it)
        };
        self.any(cfg, shows)
    }

    /// Whether the code takes the address of an object in the frame; `None` if the place is not there,
    /// or not known.
    pub(crate) fn takes_address(&self, cfg: &Cfg, pc: Vaddr, place: &MemoryPlace) -> Option<bool> {
        let address = locate(&mut self.before(cfg, cfg.index(pc.0)?)?, place)?;
        let is_in_frame = place.offsets.len() == 1 && address.symbol.is_stack(self.convention.stack_pointer);
        is_in_frame.then(|| self.any(cfg, |index, _, after| self.takes(index, after, address)))
    }

    /// Whether an instruction puts an address of the frame into a register.
    fn takes(&self, index: usize, after: &State, address: Symbolic) -> bool {
        let Some(flow) = self.flows.get(index) else { return false };
        flow.writes.iter().any(|(register, computed)| {
            let is_sum = *register != self.convention.stack_pointer && matches!(computed, RegisterValue::Sum(..));
            is_sum && after.register(*register) == Some(address)
        })
    }

    /// Whether two places in registers or memory have the same value at an address, in the lower
    /// `size` bytes.
    pub(crate) fn are_equal(&self, cfg: &Cfg, pc: Vaddr, one: &ValuePlace, other: &ValuePlace, size: u64) -> bool {
        let equal = || {
            let mut state = self.before(cfg, cfg.index(pc.0)?)?;
            let one = one.value(&mut state, size)?;
            Some(one.agrees(other.value(&mut state, size)?, size))
        };
        equal() == Some(true)
    }

    /// Gives all values symbols that no instruction makes: a loop may lead back to an instruction
    /// that made one of them.
    fn rename(&self, state: &mut State) {
        let mut names: HashMap<ValueSymbol, ValueSymbol> = HashMap::new();
        let mut rename = |value: &mut Symbolic| {
            if matches!(value.symbol, ValueSymbol::Stack | ValueSymbol::Zero) {
                return;
            }
            let number = u32::try_from(names.len()).unwrap_or(u32::MAX);
            let is_stack = value.symbol.is_stack(self.convention.stack_pointer);
            value.symbol = *names.entry(value.symbol).or_insert(ValueSymbol::Place { number, is_stack });
        };
        state.registers.iter_mut().for_each(&mut rename);
        let memory = std::mem::take(&mut state.memory);
        state.memory = memory
            .into_iter()
            .map(|(mut address, mut word)| {
                rename(&mut address);
                rename(&mut word.value);
                (address, word)
            })
            .collect();
    }
}

/// The address of a place. The words on the way get a symbol if their value is not known.
fn locate(state: &mut State, place: &MemoryPlace) -> Option<Symbolic> {
    let (first, rest) = place.offsets.split_first()?;
    let root = match place.root {
        PlaceRoot::Register(register) => state.register(Gpr::try_from(register).ok()?)?,
        PlaceRoot::Image(address) => ValueSymbol::Zero.plus(address.0 as i64),
    };
    let mut address = root.plus(*first)?;
    for (number, offset) in (0..).zip(rest) {
        let new = || ValueSymbol::Place { number: u32::MAX - number, is_stack: false }.plus(0);
        let value = state.word(address, 8).unwrap_or_else(new);
        state.remember(address, Word { value, size: 8 });
        address = value.plus(*offset)?;
    }
    Some(address)
}

/// The bytes that are looked for.
struct Target {
    symbol: ValueSymbol,
    bytes: Range<i64>,
    object: Range<i64>,
    outlives: bool,
}

impl Target {
    fn overlaps(&self, address: Symbolic, access: &Access) -> bool {
        let end = address.offset.saturating_add(i64::from(access.size));
        address.symbol == self.symbol && address.offset < self.bytes.end && self.bytes.start < end
    }

    /// Whether a value is the address of a byte of the object.
    fn is_pointed_at(&self, value: Symbolic) -> bool {
        value.symbol == self.symbol && !value.is_low && self.object.contains(&value.offset)
    }
}

struct UseSearch<'v> {
    values: &'v Values,
    cfg: &'v Cfg,
    target: Target,
    block: &'v [Range<u64>],
    calls: &'v BTreeMap<Vaddr, CallEffect>,
    visits: HashMap<usize, u8>,
    left: usize,
}

/// What an instruction does to the place.
enum MemoryEvent {
    Nothing,
    Uses(NextUse),
    Overwrites,
}

impl UseSearch<'_> {
    fn run(&mut self, start: usize, state: State) -> NextUse {
        let mut overwritten = None;
        let mut todo = vec![(start, state)];
        while let Some((first, mut state)) = todo.pop() {
            let mut at = Some(first);
            while let Some(index) = at {
                let visits = self.visits.entry(index).or_default();
                if *visits >= VISITS {
                    break;
                }
                *visits += 1;
                let Some(left) = self.left.checked_sub(1) else { return NextUse::Unknown };
                self.left = left;
                let Some(it) = self.cfg.instructions.get(index).copied() else { break };
                match self.event(index, it, &state) {
                    MemoryEvent::Uses(used) if self.exists(it.at) => return used,
                    MemoryEvent::Nothing | MemoryEvent::Uses(_) => {}
                    MemoryEvent::Overwrites => {
                        overwritten = overwritten.or(Some(Vaddr(it.at)));
                        break;
                    }
                }
                let (next, others) = self.values.run(self.cfg, index, &mut state);
                todo.extend(others.into_iter().map(|other| (other, state.clone())));
                at = next;
            }
        }
        overwritten.map_or(NextUse::Unused, NextUse::Overwritten)
    }

    /// Whether the object exists at an address.
    fn exists(&self, at: u64) -> bool {
        self.block.is_empty() || self.block.iter().any(|range| range.contains(&at))
    }

    fn event(&self, index: usize, it: Instruction, state: &State) -> MemoryEvent {
        let Some(flow) = self.values.flows.get(index) else { return MemoryEvent::Nothing };
        let at = Vaddr(it.at);
        for access in &flow.accesses {
            let Some(address) = state.address(access) else { continue };
            if access.is_indexed {
                // An index counts upwards.
                if access.reads && self.target.is_pointed_at(address) && address.offset < self.target.bytes.end {
                    return MemoryEvent::Uses(NextUse::Read(at));
                }
            } else if self.target.overlaps(address, access) {
                return if access.reads { MemoryEvent::Uses(NextUse::Read(at)) } else { MemoryEvent::Overwrites };
            }
        }
        let is_tail_call = match it.successors {
            Successors::Jump(target) | Successors::Conditional(target) => self.cfg.index(target).is_none(),
            Successors::Indirect => self.values.leaves(index),
            _ => false,
        };
        if let Some(Fill { to, count, size }) = flow.fills {
            let bytes = state.register(count).filter(|count| count.symbol == ValueSymbol::Zero);
            let bytes = bytes.and_then(|count| count.offset.checked_mul(size.into()));
            if self.overwrites(state.register(to), bytes) {
                return MemoryEvent::Overwrites;
            }
        }
        match self.calls.get(&at) {
            Some(effect) => match self.effect(*effect, state, at) {
                MemoryEvent::Nothing => {}
                event => return event,
            },
            None if (it.successors == Successors::Call || is_tail_call) && self.is_passed(state) => {
                return MemoryEvent::Uses(NextUse::Passed(at));
            }
            None => {}
        }
        if (flow.returns || is_tail_call) && self.target.outlives {
            return MemoryEvent::Uses(NextUse::Returned(at));
        }
        MemoryEvent::Nothing
    }

    /// What a call of a known function does to the place.
    fn effect(&self, effect: CallEffect, state: &State, at: Vaddr) -> MemoryEvent {
        let CallEffect::Writes { reads_second, has_size } = effect else { return MemoryEvent::Nothing };
        let [first, second, third, ..] = self.values.convention.parameters;
        let argument = |register: Gpr| state.register(register);
        if reads_second && argument(second).is_some_and(|from| self.target.is_pointed_at(from)) {
            return MemoryEvent::Uses(NextUse::Passed(at));
        }
        let size = argument(third).filter(|size| has_size && size.symbol == ValueSymbol::Zero).map(|size| size.offset);
        if self.overwrites(argument(first), size) { MemoryEvent::Overwrites } else { MemoryEvent::Nothing }
    }

    /// Whether so many bytes from an address on have a byte of the place.
    fn overwrites(&self, to: Option<Symbolic>, size: Option<i64>) -> bool {
        to.zip(size).is_some_and(|(to, size)| {
            to.symbol == self.target.symbol
                && to.offset < self.target.bytes.end
                && self.target.bytes.start < to.offset.saturating_add(size)
        })
    }

    fn is_on_stack(&self) -> bool {
        self.target.symbol.is_stack(self.values.convention.stack_pointer)
    }

    /// Whether a callee gets the address of the object: in a register, or in a word of the frame
    /// for an object of the frame.
    fn is_passed(&self, state: &State) -> bool {
        let mask = self.values.convention.arguments | self.values.convention.other_arguments;
        let mut arguments = (0..).zip(&state.registers).filter(|(register, _)| mask & 1u64 << register != 0);
        arguments.any(|(_, value)| self.target.is_pointed_at(*value))
            || (self.is_on_stack() && state.memory.values().any(|word| self.target.is_pointed_at(word.value)))
    }
}

#[cfg(test)]
#[path = "settled_tests.rs"]
mod tests;
