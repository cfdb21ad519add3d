//! Which registers and words of memory hold the same value at an instruction: value numbering over
//! a [`Cfg`], as far as values are copied, stored, loaded, and changed by constants.
//!
//! A value is a symbol and a constant. An instruction whose result is not followed gives its result
//! a symbol of its own. Where paths with different values meet, the value has a new symbol. So
//! equal values are equal in every execution, and different ones may be equal too.
//!
//! Assumptions: the compiler's spill slots are not changed through pointers, and a callee preserves
//! the registers that the ABI tells it to.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::cfg::Cfg;
use super::data_flow::{Access, Base, Convention, DataFlow, GPRS, Gpr, RegisterValue};
use super::edge::EdgeKind;
use super::flows::Flows;
use super::instruction::Successors;

/// An unknown number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum ValueSymbol {
    /// The stack pointer at the function's entry.
    Stack,
    /// 0: the offset is an address in the image.
    Zero,
    /// The value of a register at the function's entry.
    Entry(Gpr),
    /// The value that the instruction with this index gives a register.
    Made { at: u32, register: Gpr },
    /// The value of a register where paths meet, before the instruction with this index.
    Joined { at: u32, register: Gpr },
    /// A value at the place from which `settled` starts.
    Place { number: u32, is_stack: bool },
}

/// A symbol and a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Symbolic {
    pub(super) symbol: ValueSymbol,
    pub(super) offset: i64,
    /// Whether only the lower 32 bits of the sum count, and the upper ones are 0.
    pub(super) is_low: bool,
}

impl ValueSymbol {
    /// Whether it is an address in the function's frame. A function that aligns its stack gives the
    /// stack pointer another symbol.
    pub(super) fn is_stack(self, stack_pointer: Gpr) -> bool {
        match self {
            Self::Stack => true,
            Self::Made { register, .. } | Self::Joined { register, .. } => register == stack_pointer,
            Self::Place { is_stack, .. } => is_stack,
            Self::Zero | Self::Entry(_) => false,
        }
    }

    pub(super) fn plus(self, offset: i64) -> Symbolic {
        Symbolic { symbol: self, offset, is_low: false }
    }
}

impl Symbolic {
    /// The sum with a constant; `None` if it may carry out of the lower 32 bits.
    pub(super) fn plus(self, bytes: i64) -> Option<Self> {
        match self.is_low && bytes != 0 {
            true => None,
            false => Some(Self { offset: self.offset.wrapping_add(bytes), ..self }),
        }
    }

    fn low(self) -> Self {
        Self { is_low: true, ..self }
    }

    /// Whether the lower `size` bytes are equal.
    pub(super) fn agrees(self, other: Self, size: u64) -> bool {
        let same = self.symbol == other.symbol && self.offset == other.offset;
        same && (size <= 4 || self.is_low == other.is_low)
    }
}

/// The values of registers and memory before an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) registers: [Symbolic; GPRS],
    /// Words of 8 or 4 bytes in memory whose value is known, by their address.
    pub(super) memory: BTreeMap<Symbolic, Word>,
}

/// A word in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) value: Symbolic,
    /// Bytes: 8 or 4.
    pub(super) size: u32,
}

/// The most words of memory that are followed.
const WORDS: usize = 256;

impl State {
    fn at_entry(stack_pointer: Gpr) -> Self {
        let register = |register: usize| {
            let register = register as Gpr;
            let symbol = if register == stack_pointer { ValueSymbol::Stack } else { ValueSymbol::Entry(register) };
            symbol.plus(0)
        };
        Self { registers: std::array::from_fn(register), memory: BTreeMap::new() }
    }

    pub(super) fn register(&self, register: Gpr) -> Option<Symbolic> {
        self.registers.get(usize::from(register)).copied()
    }

    /// The address that an access starts from; `None` if nothing of it is known.
    pub(super) fn address(&self, access: &Access) -> Option<Symbolic> {
        match access.base {
            Base::Register(register) => self.register(register)?.plus(access.offset),
            Base::Zero => Some(ValueSymbol::Zero.plus(access.offset)),
            Base::Unknown => None,
        }
    }

    /// Executes the instruction with index `at`.
    pub(super) fn step(&mut self, at: usize, flow: &DataFlow, is_call: bool, convention: &Convention) {
        let made = |register: Gpr| ValueSymbol::Made { at: u32::try_from(at).unwrap_or(u32::MAX), register }.plus(0);
        let mut registers = self.registers;
        let mut loaded = Vec::new();
        for &(register, computed) in &flow.writes {
            let value = match computed {
                RegisterValue::Unknown | RegisterValue::LowSum(..) => made(register),
                RegisterValue::Sum(from, bytes) => {
                    self.register(from).and_then(|value| value.plus(bytes)).unwrap_or_else(|| made(register))
                }
                RegisterValue::Low(from) => self.register(from).map_or_else(|| made(register), Symbolic::low),
                RegisterValue::Address(number) | RegisterValue::Constant(number) => {
                    ValueSymbol::Zero.plus(number as i64)
                }
                RegisterValue::Load(index) => self.load(flow.accesses.get(index)).unwrap_or_else(|| {
                    let value = made(register);
                    loaded.push((index, value));
                    value
                }),
            };
            if let Some(slot) = registers.get_mut(usize::from(register)) {
                *slot = value;
            }
        }
        for (index, value) in loaded {
            let access = flow.accesses.get(index).filter(|access| !access.is_indexed);
            if let Some((address, size)) = access.and_then(|access| Some((self.address(access)?, access.size))) {
                self.remember(address, Word { value, size });
            }
        }
        for access in flow.accesses.iter().filter(|access| access.writes) {
            self.store(access, convention);
        }
        self.registers = registers;
        if is_call {
            self.memory.retain(|address, _| address.symbol.is_stack(convention.stack_pointer));
            for register in (0..).take(GPRS).filter(|register| convention.clobbered & 1 << register != 0) {
                if let Some(slot) = self.registers.get_mut(usize::from(register)) {
                    *slot = made(register);
                }
            }
        }
    }

    fn load(&self, access: Option<&Access>) -> Option<Symbolic> {
        let access = access.filter(|access| !access.is_indexed)?;
        self.word(self.address(access)?, access.size)
    }

    /// The value of a word of 8 or 4 bytes; `None` if it is not known.
    pub(super) fn word(&self, address: Symbolic, size: u32) -> Option<Symbolic> {
        let word = self.memory.get(&address)?;
        match size {
            8 => (word.size == 8).then_some(word.value),
            4 => Some(word.value.low()),
            _ => None,
        }
    }

    pub(super) fn remember(&mut self, address: Symbolic, word: Word) {
        if self.memory.len() < WORDS || self.memory.contains_key(&address) {
            self.memory.insert(address, word);
        }
    }

    fn store(&mut self, access: &Access, convention: &Convention) {
        let is_stack = |symbol: ValueSymbol| symbol.is_stack(convention.stack_pointer);
        let target = self.address(access);
        match target {
            Some(target) if !access.is_indexed => {
                let end = target.offset.wrapping_add(i64::from(access.size));
                self.memory.retain(|address, word| match address.symbol == target.symbol {
                    true => {
                        let after = address.offset.wrapping_add(i64::from(word.size));
                        after <= target.offset || address.offset >= end
                    }
                    false => is_stack(address.symbol) != is_stack(target.symbol) || is_stack(target.symbol),
                });
                let stored = access.stored.filter(|_| matches!(access.size, 4 | 8));
                if let Some(value) = stored.and_then(|register| self.register(register)) {
                    let value = if access.size == 4 { value.low() } else { value };
                    self.remember(target, Word { value, size: access.size });
                }
            }
            // An array on the stack is not a spill slot.
            Some(target) if is_stack(target.symbol) => {}
            _ => self.memory.retain(|address, _| is_stack(address.symbol)),
        }
    }

    /// Keeps what holds in both. Returns whether anything changed.
    fn join(&mut self, other: &Self, at: usize) -> bool {
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        let mut changed = false;
        for ((register, mine), theirs) in (0..).zip(&mut self.registers).zip(&other.registers) {
            let joined = ValueSymbol::Joined { at, register }.plus(0);
            if *mine != *theirs && *mine != joined {
                *mine = joined;
                changed = true;
            }
        }
        let before = self.memory.len();
        self.memory.retain(|address, value| other.memory.get(address) == Some(value));
        changed || self.memory.len() != before
    }
}

/// The values in a function.
#[derive(Debug)]
pub(crate) struct Values {
    pub(super) flows: Arc<Flows>,
    /// The values before each instruction at which paths meet or a branch arrives.
    heads: HashMap<usize, State>,
    /// Where edges lead that the instructions do not show: jump tables, landing pads.
    hidden: HashMap<usize, Vec<usize>>,
    pub(super) convention: Convention,
}

/// The most steps for each instruction.
const PASSES: usize = 64;

impl Values {
    /// Follows the values of a function; `None` if that takes too many steps.
    pub(crate) fn of(flows: &Arc<Flows>, cfg: &Cfg) -> Option<Self> {
        let mut hidden: HashMap<usize, Vec<usize>> = HashMap::new();
        for (target, edges) in &cfg.edges {
            for edge in
                edges.iter().filter(|edge| matches!(edge.kind, EdgeKind::JumpTable { .. } | EdgeKind::LandingPad))
            {
                if let (Some(from), Some(to)) = (cfg.index(edge.from.0), cfg.index(*target)) {
                    hidden.entry(from).or_default().push(to);
                }
            }
        }
        let heads = HashMap::with_capacity(cfg.edges.len().saturating_add(1));
        let mut values = Self { flows: Arc::clone(flows), heads, hidden, convention: flows.convention };
        values.follow(cfg)?;
        Some(values)
    }

    #[cfg(test)]
    pub(super) fn of_function(function: &super::function::Function<'_>, cfg: &Cfg) -> Option<Self> {
        Self::of(&Arc::new(Flows::of(function, cfg)?), cfg)
    }

    fn follow(&mut self, cfg: &Cfg) -> Option<()> {
        let is_head: Vec<bool> =
            cfg.instructions.iter().map(|it| it.at == cfg.entry || cfg.edges.contains_key(&it.at)).collect();
        let entry = cfg.index(cfg.entry)?;
        self.heads.insert(entry, State::at_entry(self.convention.stack_pointer));
        let mut todo = BTreeSet::from([entry]);
        let mut left = cfg.instructions.len().saturating_mul(PASSES);
        while let Some(head) = todo.pop_first() {
            let Some(mut state) = self.heads.get(&head).cloned() else { continue };
            let mut at = Some(head);
            while let Some(index) = at {
                left = left.checked_sub(1)?;
                let (next, others) = self.run(cfg, index, &mut state);
                for target in others {
                    self.arrive(target, &state, &mut todo);
                }
                at = next;
                if let Some(next) = next.filter(|next| is_head.get(*next) == Some(&true)) {
                    self.arrive(next, &state, &mut todo);
                    at = None;
                }
            }
        }
        Some(())
    }

    fn arrive(&mut self, at: usize, state: &State, todo: &mut BTreeSet<usize>) {
        match self.heads.get_mut(&at) {
            Some(head) => {
                if head.join(state, at) {
                    todo.insert(at);
                }
            }
            None => {
                self.heads.insert(at, state.clone());
                todo.insert(at);
            }
        }
    }

    /// Executes an instruction. Returns the instruction after it and the other ones that may be
    /// next.
    pub(super) fn run(&self, cfg: &Cfg, index: usize, state: &mut State) -> (Option<usize>, Vec<usize>) {
        let (Some(it), Some(flow)) = (cfg.instructions.get(index), self.flows.get(index)) else {
            return (None, Vec::new());
        };
        state.step(index, flow, it.successors == Successors::Call, &self.convention);
        let mut others: Vec<usize> = it.branch_target().and_then(|target| cfg.index(target)).into_iter().collect();
        others.extend(self.hidden.get(&index).into_iter().flatten());
        let next = it.edge_to_next().and_then(|_| cfg.index(it.end()));
        (next, others)
    }

    /// Whether calls may change a register.
    pub(super) fn is_clobbered(&self, register: Gpr) -> bool {
        self.convention.clobbered & 1 << register != 0
    }

    /// The targets of an instruction that the code does not show.
    pub(super) fn hidden(&self, index: usize) -> &[usize] {
        self.hidden.get(&index).map_or(&[], Vec::as_slice)
    }

    /// The instructions that lead to another one.
    pub(super) fn predecessors(&self, cfg: &Cfg, index: usize) -> Vec<usize> {
        let edges = cfg.predecessors(index);
        let edges = edges.iter().filter(|edge| edge.kind != EdgeKind::Entry);
        edges.filter_map(|edge| cfg.index(edge.from.0)).collect()
    }

    /// Whether an indirect jump has no target in the function.
    pub(super) fn leaves(&self, jump: usize) -> bool {
        !self.hidden.contains_key(&jump)
    }

    /// Whether something holds for an instruction, with the values before and after it.
    pub(super) fn any(&self, cfg: &Cfg, mut what: impl FnMut(usize, &State, &State) -> bool) -> bool {
        self.heads.iter().any(|(head, state)| {
            let (mut at, mut before) = (Some(*head), state.clone());
            while let Some(index) = at {
                let mut after = before.clone();
                let (next, _) = self.run(cfg, index, &mut after);
                if what(index, &before, &after) {
                    return true;
                }
                at = next.filter(|next| !self.heads.contains_key(next));
                before = after;
            }
            false
        })
    }

    /// The values before the instruction with an index; `None` if no path leads there.
    pub(super) fn before(&self, cfg: &Cfg, index: usize) -> Option<State> {
        let mut first = index;
        while !self.heads.contains_key(&first) {
            let before = cfg.before(first)?;
            cfg.instructions.get(before)?.edge_to_next()?;
            first = before;
        }
        let mut state = self.heads.get(&first)?.clone();
        while first != index {
            first = self.run(cfg, first, &mut state).0?;
        }
        Some(state)
    }
}
