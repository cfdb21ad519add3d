//! Indirect jumps: which are jump tables, and where those lead; which leave the function.
//!
//! A table is read as far as the check of its index goes. Where there is none (rustc and clang leave it out where the type has no
//! other values) it is read for as long as its entries lead to instructions of the function, and no further than the next table. That takes
//! at least what is in the table, for all of it leads there: too many ways in make no address exact that is not. It rests on
//! [`Function::ranges`] being all of the function.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::cfg::{Cfg, Indirect, InstructionKind, Successors};
use super::reaching_definitions::{ReachingDefinitions, bytes};
use super::{Arch, Edge, EdgeKind, Function, Memory, tables_aarch64, tables_x86};
use crate::address::Vaddr;

/// The longest table that is read.
const LONGEST: u64 = 1 << 16;

/// How many entries are read for one function, and some more for each of its instructions.
const MOST: usize = 1 << 17;

/// How often tables are looked for anew with those that were found: each round may find one behind another.
const ROUNDS: usize = 8;

/// Where the entries of a table are, and how each is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct JumpTable {
    /// The address of the first entry.
    pub(super) at: u64,
    /// Bytes of an entry.
    pub(super) size: u8,
    /// What is added to each entry, once shifted.
    pub(super) base: u64,
    /// How far an entry is shifted to the left.
    pub(super) shift: u8,
    pub(super) signed: bool,
    pub(super) entries: Entries,
}

/// How many entries a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Entries {
    /// As many as the check of the index lets through.
    Checked(u64),
    /// No more than that.
    AtMost(u64),
}

/// What is needed to settle the indirect jumps of one function.
pub(super) struct Resolver<'f> {
    pub(super) function: &'f Function<'f>,
    memory: &'f dyn Memory,
    arch: Arch,
    /// How many entries of tables may still be read: bounds the time for thousands of jumps through one long table.
    left: Cell<usize>,
}

impl<'f> Resolver<'f> {
    pub(super) fn new(function: &'f Function<'f>, memory: &'f dyn Memory, arch: Arch) -> Self {
        Self { function, memory, arch, left: Cell::new(0) }
    }

    /// Settles each jump in `cfg`. A table gives ways, and these may let another table be found: done again until nothing changes; what
    /// does not hold with all ways known is unknown.
    pub(super) fn settle(&self, cfg: &mut Cfg, jumps: &[usize]) {
        let mut reach = ReachingDefinitions::new(self.function, cfg);
        let direct = cfg.edges.clone();
        let mut found: BTreeMap<usize, Option<Vec<u64>>> = BTreeMap::new();
        let mut stable = false;
        let mut starts = BTreeSet::new();
        let mut shapes = BTreeMap::new();
        for _ in 0..ROUNDS {
            // What was settled before was settled with all others going anywhere: it stays so, whatever these turn out to be.
            reach.update(cfg, |jump| matches!(found.get(&jump), Some(Some(_))));
            self.left.set(cfg.instructions.len().saturating_mul(16).saturating_add(MOST));
            shapes.clear();
            for &jump in jumps {
                let tables = match self.arch {
                    Arch::X86_64 => tables_x86::tables(self, cfg, &mut reach, jump, 64),
                    Arch::I386 => tables_x86::tables(self, cfg, &mut reach, jump, 32),
                    Arch::Aarch64 => tables_aarch64::tables(self, cfg, &mut reach, jump),
                };
                starts.extend(tables.iter().flatten().map(|table| table.at));
                shapes.insert(jump, tables);
            }
            let targets = |tables: &Option<Vec<JumpTable>>| self.targets(cfg, tables.as_deref()?, &starts);
            let next = shapes.iter().map(|(&jump, tables)| (jump, targets(tables))).collect();
            stable = next == found;
            found = next;
            cfg.edges.clone_from(&direct);
            for (&jump, targets) in &found {
                let Some(from) = cfg.instructions.get(jump).map(|it| Vaddr(it.at)) else { continue };
                for (entry, &target) in targets.iter().flatten().enumerate() {
                    let entry = u32::try_from(entry).unwrap_or(u32::MAX);
                    cfg.add(target, Edge { from, kind: EdgeKind::JumpTable { entry } });
                }
            }
            cfg.find_reachable();
            if stable {
                break;
            }
        }
        let orphans = cfg.orphans();
        // `goto *labels[op]` reads an array of the programmer's, which may have holes: that it was read whole is shown only by its leaving no
        // code that nothing leads to. What a compiler makes of a `switch` has none.
        let is_open = |jump: &usize| {
            let tables = shapes.get(jump).and_then(Option::as_deref).unwrap_or_default();
            tables.iter().any(|table| table.base == 0 && matches!(table.entries, Entries::AtMost(_)))
        };
        let depths = self.depths(cfg);
        cfg.indirect = found
            .into_iter()
            .filter_map(|(jump, targets)| {
                let it = cfg.instructions.get(jump)?;
                let what = match targets {
                    Some(targets) if stable && !(orphans && is_open(&jump)) => {
                        Indirect::JumpTable { entries: u32::try_from(targets.len()).unwrap_or(u32::MAX) }
                    }
                    _ if (!orphans || self.is_epilogue(cfg, jump))
                        && depths.get(jump) == Some(&Some(0))
                        && self.may_leave(it.at) =>
                    {
                        Indirect::Leaves
                    }
                    _ if cfg.marked && !self.is_untracked(it.at) => Indirect::Marked,
                    _ => Indirect::Unknown,
                };
                Some((Vaddr(it.at), what))
            })
            .collect();
    }

    /// Where the tables lead, entry by entry; `None` where one cannot be read or leads into the middle of an instruction.
    fn targets(&self, cfg: &Cfg, tables: &[JumpTable], starts: &BTreeSet<u64>) -> Option<Vec<u64>> {
        let mut targets = Vec::new();
        for table in tables {
            let (entries, is_checked) = match table.entries {
                Entries::Checked(entries) if entries > LONGEST => return None,
                Entries::Checked(entries) => (entries, true),
                Entries::AtMost(entries) => (entries.min(LONGEST), false),
            };
            for entry in 0..entries {
                self.left.set(self.left.get().checked_sub(1)?);
                let at = table.at.wrapping_add(entry.checked_mul(u64::from(table.size))?);
                if !is_checked && entry > 0 && starts.contains(&at) {
                    break;
                }
                let target = self.memory.read(Vaddr(at), usize::from(table.size)).map(|raw| self.target(table, raw));
                match target {
                    Some(target) if cfg.index(target).is_some() => targets.push(target),
                    // A part of the function that has no marker's address may be left out; there is nothing to add for it.
                    Some(target) if is_checked && !cfg.contains(Vaddr(target)) => targets.push(target),
                    _ if is_checked || entry == 0 => return None,
                    _ => break,
                }
            }
        }
        Some(targets)
    }

    fn target(&self, table: &JumpTable, raw: &[u8]) -> u64 {
        let mut value = raw.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
        if table.signed && table.size < 8 {
            let unused = 64u32.saturating_sub(u32::from(table.size).saturating_mul(8));
            value = (value.wrapping_shl(unused) as i64).wrapping_shr(unused) as u64;
        }
        let target = table.base.wrapping_add(value.wrapping_shl(u32::from(table.shift)));
        if self.arch == Arch::I386 { target & u64::from(u32::MAX) } else { target }
    }

    fn may_leave(&self, jump: u64) -> bool {
        match self.arch {
            Arch::X86_64 => tables_x86::may_leave(bytes(self.function, jump), jump, 64),
            Arch::I386 => tables_x86::may_leave(bytes(self.function, jump), jump, 32),
            Arch::Aarch64 => true,
        }
    }

    /// Whether the instruction before a jump gives back the stack: no compiler does that before it goes on in the function.
    fn is_epilogue(&self, cfg: &Cfg, jump: usize) -> bool {
        let before = cfg.before(jump).and_then(|before| cfg.instructions.get(before));
        before.is_some_and(|before| {
            let code = bytes(self.function, before.at);
            let after = match self.arch {
                Arch::X86_64 => tables_x86::depth(code, before.at, 64, 0, Some(0)),
                Arch::I386 => tables_x86::depth(code, before.at, 32, 0, Some(0)),
                Arch::Aarch64 => tables_aarch64::depth(code, 0, Some(0)),
            };
            before.falls() == Some(EdgeKind::FallThrough) && after.is_some_and(|(depth, _)| depth < 0)
        })
    }

    fn is_untracked(&self, jump: u64) -> bool {
        match self.arch {
            // `notrack`: -fcf-protection marks with it the jumps that may lead where no `endbr64` is.
            Arch::X86_64 | Arch::I386 => bytes(self.function, jump).first() == Some(&0x3e),
            Arch::Aarch64 => true,
        }
    }

    /// How many bytes each instruction finds on the stack since the function was entered; `None` where that is not known.
    fn depths(&self, cfg: &Cfg) -> Vec<Option<i64>> {
        let mut depths: Vec<Option<i64>> = vec![None; cfg.instructions.len()];
        let mut targets: HashMap<u64, Vec<u64>> = HashMap::new();
        for (&target, edges) in &cfg.edges {
            for edge in edges.iter().filter(|edge| matches!(edge.kind, EdgeKind::JumpTable { .. })) {
                targets.entry(edge.from.0).or_default().push(target);
            }
        }
        let mut todo: Vec<(usize, i64, Option<i64>)> =
            cfg.index(cfg.entry).map(|entry| (entry, 0, None)).into_iter().collect();
        while let Some((index, depth, frame)) = todo.pop() {
            match depths.get_mut(index) {
                Some(known @ None) => *known = Some(depth),
                _ => continue,
            }
            let Some(it) = cfg.instructions.get(index) else { continue };
            let code = bytes(self.function, it.at);
            let after = match self.arch {
                Arch::X86_64 => tables_x86::depth(code, it.at, 64, depth, frame),
                Arch::I386 => tables_x86::depth(code, it.at, 32, depth, frame),
                Arch::Aarch64 => tables_aarch64::depth(code, depth, frame),
            };
            let Some((depth, frame)) = after else { continue };
            if it.falls().is_some() {
                todo.extend(cfg.index(it.end()).map(|next| (next, depth, frame)));
            }
            if let Successors::Conditional(target) | Successors::Jump(target) = it.successors {
                todo.extend(cfg.index(target).map(|next| (next, depth, frame)));
            }
            if it.successors == Successors::Indirect {
                let targets = targets.remove(&it.at).unwrap_or_default();
                todo.extend(targets.into_iter().filter_map(|target| Some((cfg.index(target)?, depth, frame))));
            }
        }
        depths
    }
}

impl Cfg {
    /// Whether there is code that nothing is known to lead to: what a jump that is not understood may be for.
    fn orphans(&self) -> bool {
        (0..self.instructions.len()).any(|index| {
            self.is(index, |it| it.kind != InstructionKind::Padding) && self.predecessors(index).is_empty()
        })
    }
}
