//! What a Linux kernel, or a module, does to its own code: branches that it patches in (static
//! keys, `__jump_table`, `include/linux/jump_label.h`), code where it continues after a fault
//! (`__ex_table`, `asm/extable.h`), and instructions that it replaces by those that the processor
//! has (`.altinstructions`, `asm/alternative.h`).
//!
//! The fields of the tables are offsets of four bytes from their own addresses. Entries of static
//! keys have 16 bytes. Entries of faults have 12, on AArch64 8 before Linux 5.17. Entries of
//! replaced instructions have 12, 13 or 14, by the kernel's version: the size is the one with which
//! all entries make sense. If none does, the patches are not known.

use std::ops::Range;

use simple_markers_record::ByteOrder;

use super::PatchesUnknown;
use super::code_bytes::CodeBytes;
use crate::address::{SectionOffset, Vaddr};
use crate::arch::InstructionSet;
use crate::code::{Cfg, CodeRange, Edge, EdgeKind, Function, Indirect, NoMemory};

const KEYS: &str = "__jump_table";
const FAULTS: &str = "__ex_table";
const ALTERNATIVES: &str = ".altinstructions";
const REPLACEMENTS: &str = ".altinstr_replacement";

/// What a kernel does to the code of an image.
#[derive(Debug, Default)]
pub(super) struct CodePatches {
    /// Edges that the instructions do not show, by target.
    edges: Vec<(Vaddr, Edge)>,
    /// Instructions that may be replaced, by address, disjoint or equal.
    replaced: Vec<Range<u64>>,
    /// Why the patches are not all known.
    unknown: Option<PatchesUnknown>,
}

/// A table with its address.
struct PatchTable<'b> {
    start: Vaddr,
    bytes: &'b [u8],
    order: ByteOrder,
}

impl PatchTable<'_> {
    /// The target of the offset that is `at` bytes from the start.
    fn target(&self, at: usize) -> Option<Vaddr> {
        let value = self.word(at)? as i32;
        Some(Vaddr(self.start.0.wrapping_add(at as u64).wrapping_add_signed(value.into())))
    }

    fn word(&self, at: usize) -> Option<u32> {
        let bytes: [u8; 4] = self.bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(match self.order {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        })
    }

    /// Where each entry starts, if entries have `size` bytes; `None` if the table has no whole
    /// number of them.
    fn entries(&self, size: usize) -> Option<impl Iterator<Item = usize> + use<>> {
        let length = self.bytes.len();
        (length % size == 0).then(|| (0..length).step_by(size))
    }
}

impl CodePatches {
    pub(super) fn of(code: &CodeBytes<'_>, set: &'static dyn InstructionSet) -> Self {
        let mut patched = Self::default();
        each(code, KEYS, |table| {
            for at in table.entries(16).into_iter().flatten() {
                if let (Some(from), Some(target)) = (table.target(at), table.target(at.wrapping_add(4))) {
                    patched.edges.push((target, Edge { from, kind: EdgeKind::Patched }));
                }
            }
        });
        each(code, FAULTS, |table| match fault_size(table, set).and_then(|size| table.entries(size)) {
            Some(entries) => {
                for at in entries {
                    if let (Some(from), Some(target)) = (table.target(at), table.target(at.wrapping_add(4))) {
                        patched.edges.push((target, Edge { from, kind: EdgeKind::Fixup }));
                    }
                }
            }
            None => patched.unknown = Some(PatchesUnknown::EntrySize { section: FAULTS }),
        });
        each(code, ALTERNATIVES, |table| match alternatives(code, table) {
            Some(alternatives) => {
                for (range, replacement) in alternatives {
                    patched.replace(code, set, range, replacement);
                }
            }
            None => patched.unknown = Some(PatchesUnknown::EntrySize { section: ALTERNATIVES }),
        });
        patched.edges.sort_unstable();
        patched.edges.dedup();
        patched.replaced.sort_by_key(|range| (range.start, range.end));
        patched.replaced.dedup();
        patched
    }

    /// The edges into a range of addresses.
    pub(super) fn edges<'p>(&'p self, range: &Range<u64>) -> impl Iterator<Item = (Vaddr, Edge)> + use<'p> {
        let first = self.edges.partition_point(|(target, _)| target.0 < range.start);
        let end = range.end;
        self.edges.iter().skip(first).take_while(move |(target, _)| target.0 < end).copied()
    }

    /// Whether an address is behind the first byte of instructions that may be replaced.
    pub(super) fn is_inside(&self, at: Vaddr) -> bool {
        let after = self.replaced.partition_point(|range| range.start < at.0);
        // No alternative is longer than 255 bytes, and none overlaps another but one of the same
        // start.
        let near = self.replaced.get(after.saturating_sub(4)..after).unwrap_or_default();
        near.iter().any(|range| range.start < at.0 && at.0 < range.end)
    }

    /// Why the patches are not all known; `None` if they are.
    pub(super) fn unknown(&self) -> Option<PatchesUnknown> {
        self.unknown
    }

    /// Adds the instructions that may replace those of a range.
    fn replace(
        &mut self,
        code: &CodeBytes<'_>,
        set: &'static dyn InstructionSet,
        range: Range<u64>,
        replacement: Range<u64>,
    ) {
        let cfg = |range: &Range<u64>| {
            let size = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
            let part = CodeRange { start: Vaddr(range.start), bytes: code.from(Vaddr(range.start))?.get(..size)? };
            let (entry, ranges, hidden_edges) = (part.start, vec![part], Vec::new());
            let function = Function { entry, ranges, hidden_edges, landing_pads_known: false, traps_return: true };
            Some(Cfg::of(&function, &NoMemory, set))
        };
        let from = Vaddr(range.start);
        let falls = cfg(&range).is_none_or(|cfg| cfg.falls_out());
        // A shorter replacement is filled up with no-operations.
        let is_padded = replacement.end.wrapping_sub(replacement.start) < range.end.wrapping_sub(range.start);
        let falls_then = if replacement.is_empty() {
            true
        } else {
            let Some(cfg) = cfg(&replacement) else {
                self.unknown = Some(PatchesUnknown::NotInFile { section: REPLACEMENTS });
                return;
            };
            self.edges.extend(cfg.branch_targets().map(|target| (target, Edge { from, kind: EdgeKind::Patched })));
            if cfg.indirect().iter().any(|(_, what)| *what != Indirect::Leaves) || cfg.has_undecoded() {
                self.unknown = Some(PatchesUnknown::ReplacementLeadsAnywhere { address: range.start });
            }
            cfg.falls_out() || is_padded && cfg.branch_targets().next().is_none()
        };
        if falls_then && !falls {
            self.edges.push((Vaddr(range.end), Edge { from, kind: EdgeKind::Patched }));
        }
        self.replaced.push(range);
    }
}

/// Calls `use_` with each table of a name, with its relocations applied.
fn each(code: &CodeBytes<'_>, name: &'static str, mut use_: impl FnMut(&PatchTable<'_>)) {
    let (image, layout) = (code.image(), code.layout());
    for contents in image.contents(name) {
        let Ok(mut contents) = contents else { continue };
        let start = match layout {
            Some(layout) => layout.address(contents.section, SectionOffset(0)),
            None => image.section_address(name, None),
        };
        let Some(start) = start else { continue };
        if let Some(layout) = layout {
            let place = |section, offset| layout.address(section, SectionOffset(offset)).map_or(0, |at| at.0);
            // An offset that cannot be relocated leads far away from all code.
            image.relocate(name, &mut contents, place, |_| {});
        }
        use_(&PatchTable { start, bytes: &contents.bytes, order: image.byte_order() });
    }
}

/// Bytes of an entry of the table of faults; `None` if the table has no whole number of them.
fn fault_size(table: &PatchTable<'_>, set: &dyn InstructionSet) -> Option<usize> {
    // The third field is a type, one of a few, with data in the upper half. In old tables the
    // offset of the next entry is there.
    let is_typed = |size: usize| {
        let mut entries = table.entries(size)?;
        Some(entries.all(|at| table.word(at.wrapping_add(8)).is_some_and(|word| word & 0xff < 64)))
    };
    let size = match set.untyped_fault_entry() {
        Some(size) if is_typed(12) != Some(true) => size,
        _ => 12,
    };
    (table.bytes.len() % size == 0).then_some(size)
}

/// The instructions that may be replaced, each with its replacement; `None` if the size of the
/// entries is not known.
fn alternatives(code: &CodeBytes<'_>, table: &PatchTable<'_>) -> Option<Vec<(Range<u64>, Range<u64>)>> {
    // The two lengths are the last fields. Entries of 13 bytes have a byte of padding behind them.
    let read = |size: usize, lengths: usize| {
        let entry = |at: usize| {
            let (instructions, replacement) = (table.target(at)?, table.target(at.wrapping_add(4))?);
            let length = |index: usize| table.bytes.get(at.wrapping_add(lengths).wrapping_add(index)).copied();
            let (length, new) = (length(0)?, length(1)?);
            let is_there = length > 0
                && code.from(instructions).is_some_and(|bytes| bytes.len() >= length.into())
                && (new == 0 || code.from(replacement).is_some_and(|bytes| bytes.len() >= new.into()))
                && new <= length;
            is_there.then(|| {
                let range = |start: Vaddr, length: u8| start.0..start.0.saturating_add(length.into());
                (range(instructions, length), range(replacement, new))
            })
        };
        table.entries(size)?.map(entry).collect::<Option<Vec<_>>>()
    };
    [(12, 10), (14, 12), (13, 10)].into_iter().find_map(|(size, lengths)| read(size, lengths))
}
