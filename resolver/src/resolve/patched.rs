//! What a Linux kernel, or a module, does to its own code beside running it: branches that it patches in (static keys, `__jump_table`,
//! `include/linux/jump_label.h`), where it goes on after a fault (`__ex_table`, `asm/extable.h`), and instructions that it replaces by what
//! the processor has (`.altinstructions`, `asm/alternative.h`).
//!
//! Each table has offsets of four bytes from where they stand. Entries of static keys have 16 bytes. Those of faults have 12, on AArch64 8
//! before Linux 5.17; those of replaced instructions 12, 13 or 14 by the kernel's version: the size is taken by which all of them have a
//! meaning, and a table of which none has says so.

use std::ops::Range;

use simple_markers_record::ByteOrder;

use super::PatchesUnknown;
use super::code_bytes::CodeBytes;
use crate::address::{SectionOffset, Vaddr};
use crate::code::{Arch, Cfg, CodeRange, Edge, EdgeKind, Function, Indirect, NoMemory};

const KEYS: &str = "__jump_table";
const FAULTS: &str = "__ex_table";
const ALTERNATIVES: &str = ".altinstructions";
const REPLACEMENTS: &str = ".altinstr_replacement";

/// What is done to the code of an image.
#[derive(Debug, Default)]
pub(super) struct Patched {
    /// Ways that the instructions do not show, by target.
    edges: Vec<(Vaddr, Edge)>,
    /// Instructions that may be replaced, by address, disjoint or equal.
    replaced: Vec<Range<u64>>,
    /// Why not all of it is known.
    unknown: Option<PatchesUnknown>,
}

/// A table with its address.
struct Table<'b> {
    start: Vaddr,
    bytes: &'b [u8],
    order: ByteOrder,
}

impl Table<'_> {
    /// Where the offset points that stands `at` so many bytes from the start.
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

    /// Where each entry of so many bytes starts; nothing where the table has not a whole number of them.
    fn entries(&self, size: usize) -> Option<impl Iterator<Item = usize> + use<>> {
        let length = self.bytes.len();
        (length % size == 0).then(|| (0..length).step_by(size))
    }
}

impl Patched {
    pub(super) fn of(code: &CodeBytes<'_, '_>, arch: Arch) -> Self {
        let mut patched = Self::default();
        each(code, KEYS, |table| {
            for at in table.entries(16).into_iter().flatten() {
                if let (Some(from), Some(target)) = (table.target(at), table.target(at.wrapping_add(4))) {
                    patched.edges.push((target, Edge { from, kind: EdgeKind::Patched }));
                }
            }
        });
        each(code, FAULTS, |table| match fault_size(table, arch).and_then(|size| table.entries(size)) {
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
                    patched.replace(code, arch, range, replacement);
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

    /// The ways into a range of addresses.
    pub(super) fn edges<'p>(&'p self, range: &Range<u64>) -> impl Iterator<Item = (Vaddr, Edge)> + use<'p> {
        let first = self.edges.partition_point(|(target, _)| target.0 < range.start);
        let end = range.end;
        self.edges.iter().skip(first).take_while(move |(target, _)| target.0 < end).copied()
    }

    /// Whether an address is behind the first byte of instructions that may be replaced.
    pub(super) fn is_inside(&self, at: Vaddr) -> bool {
        let after = self.replaced.partition_point(|range| range.start < at.0);
        // No alternative is longer than 255 bytes, and none overlaps another but one of the same start.
        let near = self.replaced.get(after.saturating_sub(4)..after).unwrap_or_default();
        near.iter().any(|range| range.start < at.0 && at.0 < range.end)
    }

    /// Why not all is known of what is done to the code.
    pub(super) fn unknown(&self) -> Option<PatchesUnknown> {
        self.unknown
    }

    /// Takes in what may run in place of the instructions of a range.
    fn replace(&mut self, code: &CodeBytes<'_, '_>, arch: Arch, range: Range<u64>, replacement: Range<u64>) {
        let cfg = |range: &Range<u64>| {
            let size = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
            let part = CodeRange { start: Vaddr(range.start), bytes: code.from(Vaddr(range.start))?.get(..size)? };
            let (entry, ranges, hidden_edges) = (part.start, vec![part], Vec::new());
            let function = Function { entry, ranges, hidden_edges, landing_pads_known: false, traps_return: true };
            Some(Cfg::of(&function, &NoMemory, arch))
        };
        let from = Vaddr(range.start);
        let falls = cfg(&range).is_none_or(|cfg| cfg.falls_out());
        // What is shorter is filled up with instructions that do nothing.
        let is_padded = replacement.end.wrapping_sub(replacement.start) < range.end.wrapping_sub(range.start);
        let falls_then = if replacement.is_empty() {
            true
        } else {
            let Some(cfg) = cfg(&replacement) else {
                self.unknown = Some(PatchesUnknown::NotInFile { section: REPLACEMENTS });
                return;
            };
            for (_, target) in cfg.branches() {
                self.edges.extend(target.map(|target| (target, Edge { from, kind: EdgeKind::Patched })));
            }
            if cfg.indirect().iter().any(|(_, what)| *what != Indirect::Leaves) || cfg.has_undecoded() {
                self.unknown = Some(PatchesUnknown::ReplacementLeadsAnywhere { address: range.start });
            }
            cfg.falls_out() || is_padded && !cfg.branches().any(|(_, target)| target.is_some())
        };
        if falls_then && !falls {
            self.edges.push((Vaddr(range.end), Edge { from, kind: EdgeKind::Patched }));
        }
        self.replaced.push(range);
    }
}

/// Gives each table of a name, with its relocations applied.
fn each(code: &CodeBytes<'_, '_>, name: &'static str, mut use_: impl FnMut(&Table<'_>)) {
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
            // What cannot be relocated leads nowhere near.
            image.relocate(name, &mut contents, place, |_| {});
        }
        use_(&Table { start, bytes: &contents.bytes, order: image.byte_order() });
    }
}

/// Bytes of an entry of the table of faults.
fn fault_size(table: &Table<'_>, arch: Arch) -> Option<usize> {
    // The third field is a type of which there are a few, with data in the upper half; before, the next entry's first offset.
    let is_typed = |size: usize| {
        let mut entries = table.entries(size)?;
        Some(entries.all(|at| table.word(at.wrapping_add(8)).is_some_and(|word| word & 0xff < 64)))
    };
    match arch {
        Arch::Aarch64 if is_typed(12) == Some(true) => Some(12),
        Arch::Aarch64 => Some(8),
        Arch::X86_64 | Arch::I386 => Some(12),
    }
    .filter(|size| table.bytes.len() % size == 0)
}

/// The instructions that may be replaced, each with what replaces them; `None` where the entries have no known size.
fn alternatives(code: &CodeBytes<'_, '_>, table: &Table<'_>) -> Option<Vec<(Range<u64>, Range<u64>)>> {
    // The two lengths are the last fields, but for the padding that the entries of 13 bytes have behind them.
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
