//! Indirect jumps: which use jump tables and where those lead, and which leave the function.
//!
//! If the code checks the index of a table, the table is read as far as the check allows. rustc and
//! clang omit the check if the type has no other values. Then the table is read until an entry does
//! not lead to an instruction of the function, or the next table starts. This reads at least the
//! whole table, because all its entries lead into the function. Additional edges never make an
//! address exact that is not. This requires that [`Function::ranges`] is the whole function.

use std::collections::{BTreeMap, BTreeSet};

use super::cfg::{Cfg, Indirect};
use super::instruction::{StackDepth, Successors};
use super::jump_table::{Entries, JumpTable, JumpTableSearch};
use super::reaching_definitions::ReachingDefinitions;
use super::stack_depth;
use super::{Edge, EdgeKind, Function, Memory};
use crate::address::Vaddr;
use crate::arch::InstructionSet;

/// The most entries that are read of one table.
const LONGEST: u64 = 1 << 16;

/// The most entries that are read for one function: a constant, and a factor for each of its
/// instructions.
const MOST: (usize, usize) = (1 << 17, 16);

/// The most rounds of the search. The tables found in one round may reveal others in the next.
const ROUNDS: usize = 8;

/// What is known while the tables of a function are looked for.
struct TableSearch<'a> {
    function: &'a Function<'a>,
    cfg: &'a Cfg,
    definitions: &'a mut ReachingDefinitions,
}

impl JumpTableSearch for TableSearch<'_> {
    fn code(&self, index: usize) -> Option<(u64, &[u8])> {
        let at = self.cfg.instructions.get(index)?.at;
        Some((at, self.function.code_at(at)))
    }

    fn definitions(&mut self, index: usize, register: u64) -> Option<Vec<usize>> {
        self.definitions.definitions(self.cfg, index, register)
    }

    fn only_predecessor(&self, index: usize) -> Option<usize> {
        self.definitions.only_predecessor(index)
    }

    fn is_taken(&self, branch: usize, index: usize) -> bool {
        self.cfg.is(branch, |it| it.end() != self.cfg.instructions.get(index).map_or(0, |it| it.at))
    }

    fn may_write(&self, index: usize, registers: u64) -> bool {
        self.definitions.may_write(index, registers)
    }

    fn is_call(&self, index: usize) -> bool {
        self.cfg.is(index, |it| it.successors == Successors::Call)
    }
}

impl Cfg {
    /// Decodes a function and finds its jump tables. Takes time in proportion to the code.
    #[must_use]
    pub(crate) fn of(function: &Function<'_>, memory: &dyn Memory, set: &'static dyn InstructionSet) -> Self {
        let mut cfg = Self::decode(function, set);
        settle(&mut cfg, function, memory);
        cfg
    }
}

/// Finds out what each indirect jump of a function does, and adds the edges of the jump tables.
fn settle(cfg: &mut Cfg, function: &Function<'_>, memory: &dyn Memory) {
    let is_jump = |index: &usize| cfg.is(*index, |it| it.successors == Successors::Indirect);
    let jumps: Vec<usize> = (0..cfg.instructions.len()).filter(is_jump).collect();
    if jumps.is_empty() {
        return;
    }
    let mut settling = Settling::new(cfg, function, memory);
    settling.find(cfg, &jumps);
    cfg.indirect = settling.indirect(cfg);
    cfg.find_reachable();
}

/// The indirect jumps of one function during the analysis.
struct Settling<'f> {
    function: &'f Function<'f>,
    memory: &'f dyn Memory,
    definitions: ReachingDefinitions,
    /// The edges of the graph without those of jump tables.
    direct: BTreeMap<u64, Vec<Edge>>,
    /// The tables of each jump after the last round.
    tables: BTreeMap<usize, Option<Vec<JumpTable>>>,
    /// The starts of all tables found in any round.
    starts: BTreeSet<u64>,
    /// The targets of each jump after the last round, entry by entry.
    targets: BTreeMap<usize, Option<Vec<u64>>>,
    /// Whether the last round changed nothing.
    is_stable: bool,
}

impl<'f> Settling<'f> {
    fn new(cfg: &Cfg, function: &'f Function<'f>, memory: &'f dyn Memory) -> Self {
        Self {
            function,
            memory,
            definitions: ReachingDefinitions::new(function, cfg),
            direct: cfg.edges.clone(),
            tables: BTreeMap::new(),
            starts: BTreeSet::new(),
            targets: BTreeMap::new(),
            is_stable: false,
        }
    }

    /// Finds the tables. The edges of one table may let another one be found, so this repeats until
    /// nothing changes.
    fn find(&mut self, cfg: &mut Cfg, jumps: &[usize]) {
        for _ in 0..ROUNDS {
            self.find_tables(cfg, jumps);
            let targets = self.read_tables(cfg);
            self.is_stable = targets == self.targets;
            self.targets = targets;
            self.add_edges(cfg);
            if self.is_stable {
                break;
            }
        }
    }

    fn find_tables(&mut self, cfg: &Cfg, jumps: &[usize]) {
        // Earlier rounds assumed that all unknown jumps lead anywhere. So a table that they found
        // remains valid.
        let targets = &self.targets;
        self.definitions.update(cfg, |jump| matches!(targets.get(&jump), Some(Some(_))));
        self.tables.clear();
        for &jump in jumps {
            let mut search = TableSearch { function: self.function, cfg, definitions: &mut self.definitions };
            let tables = cfg.set.jump_tables(&mut search, jump);
            self.starts.extend(tables.iter().flatten().map(|table| table.at));
            self.tables.insert(jump, tables);
        }
    }

    fn read_tables(&self, cfg: &Cfg) -> BTreeMap<usize, Option<Vec<u64>>> {
        // Limits the time if thousands of jumps use one long table.
        let mut left = cfg.instructions.len().saturating_mul(MOST.1).saturating_add(MOST.0);
        let all = self.tables.iter();
        let read = all.map(|(&jump, tables)| (jump, tables.as_deref().and_then(|it| self.read(cfg, it, &mut left))));
        read.collect()
    }

    /// The targets of tables, entry by entry; `None` if a table cannot be read, or leads into the
    /// middle of an instruction.
    fn read(&self, cfg: &Cfg, tables: &[JumpTable], left: &mut usize) -> Option<Vec<u64>> {
        let mut targets = Vec::new();
        for table in tables {
            let (entries, is_checked) = match table.entries {
                Entries::Checked(entries) if entries > LONGEST => return None,
                Entries::Checked(entries) => (entries, true),
                Entries::AtMost(entries) => (entries.min(LONGEST), false),
            };
            for entry in 0..entries {
                *left = left.checked_sub(1)?;
                let at = table.at.wrapping_add(entry.checked_mul(u64::from(table.size))?);
                if !is_checked && entry > 0 && self.starts.contains(&at) {
                    break;
                }
                let raw = self.memory.read(Vaddr(at), usize::from(table.size));
                match raw.map(|raw| table.target(raw, cfg.set.address_bits())) {
                    Some(target) if cfg.index(target).is_some() => targets.push(target),
                    // The caller may omit a range of the function that has no marker. No edge is
                    // needed for a target there.
                    Some(target) if is_checked && !cfg.contains(Vaddr(target)) => targets.push(target),
                    _ if is_checked || entry == 0 => return None,
                    _ => break,
                }
            }
        }
        Some(targets)
    }

    fn add_edges(&self, cfg: &mut Cfg) {
        cfg.edges.clone_from(&self.direct);
        for (&jump, targets) in &self.targets {
            let Some(from) = cfg.instructions.get(jump).map(|it| Vaddr(it.at)) else { continue };
            for (entry, &target) in targets.iter().flatten().enumerate() {
                let entry = u32::try_from(entry).unwrap_or(u32::MAX);
                cfg.add(target, Edge { from, kind: EdgeKind::JumpTable { entry } });
            }
        }
        cfg.find_reachable();
    }

    /// What each jump does. A table that is no longer valid with all edges known counts as unknown.
    fn indirect(&self, cfg: &Cfg) -> Vec<(Vaddr, Indirect)> {
        let has_orphans = cfg.has_orphans();
        let depths = stack_depth::depths(self.function, cfg);
        let of = |(&jump, targets): (&usize, &Option<Vec<u64>>)| {
            let at = cfg.instructions.get(jump)?.at;
            let code = self.function.code_at(at);
            let is_read = self.is_stable && !(has_orphans && self.may_have_holes(jump));
            let what = match targets {
                Some(targets) if is_read => {
                    Indirect::JumpTable { entries: u32::try_from(targets.len()).unwrap_or(u32::MAX) }
                }
                _ if (!has_orphans || self.is_epilogue(cfg, jump))
                    && depths.get(jump) == Some(&Some(0))
                    && cfg.set.may_be_tail_call(at, code) =>
                {
                    Indirect::Leaves
                }
                _ if cfg.has_landing_marks && cfg.set.needs_landing_mark(code) => Indirect::Marked,
                _ => Indirect::Unknown,
            };
            Some((Vaddr(at), what))
        };
        self.targets.iter().filter_map(of).collect()
    }

    /// Whether a table of the jump may be one that the programmer wrote, with holes. Such a table
    /// is certainly complete only if all code has predecessors. The table of a `switch` has no
    /// holes.
    fn may_have_holes(&self, jump: usize) -> bool {
        let tables = self.tables.get(&jump).and_then(Option::as_deref).unwrap_or_default();
        tables.iter().any(JumpTable::may_have_holes)
    }

    /// Whether the instruction before a jump frees stack. Compilers do this only before jumps that
    /// leave the function.
    fn is_epilogue(&self, cfg: &Cfg, jump: usize) -> bool {
        let before = cfg.before(jump).and_then(|before| cfg.instructions.get(before));
        before.is_some_and(|before| {
            let start = StackDepth { stack: 0, frame: Some(0) };
            let after = cfg.set.stack_after(before.at, self.function.code_at(before.at), start);
            before.edge_to_next() == Some(EdgeKind::FallThrough) && after.is_some_and(|after| after.stack < 0)
        })
    }
}
