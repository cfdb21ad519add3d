//! Where thread-local variables are ("ELF Handling For Thread-Local Storage", Drepper).
//!
//! The block of an executable is at a fixed distance from the thread pointer. A shared object finds
//! its own in one of two ways, and code that does so has left a slot in the global offset table, which
//! the loader has filled: the distance from the thread pointer, or the number of the module for the
//! thread's table of blocks. The layout of that table is glibc's. [`crate::arch`] has what differs
//! between processors.

use std::ops::Range;

use object::elf::{DT_NEEDED, FileHeader64, SHT_RELA, STT_TLS};
use object::read::elf::{Dyn as _, FileHeader as _, Rela as _, SectionHeader as _, SectionTable, Sym as _};
use object::{Endianness, SymbolIndex};
use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::location::{Binary, Expr, Node, ValueType};

use crate::arch::{Conventions, Platform, ThreadLocalSlot};
use crate::elf;

/// How the thread-local variables of an image are found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ThreadLocals {
    /// Not at all, or it is not known how.
    #[default]
    Unknown,
    /// It is an executable. The distance from the start of its block to the thread pointer.
    Executable(u64),
    /// It is a shared object.
    Library(Slots),
}

/// The slots of a shared object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// Where the address of a thread's table is, from the thread pointer on.
    table: u64,
    /// Has the distance from the thread pointer to this offset of the block.
    distance: Option<(Vaddr, u64)>,
    /// Has the number of the module.
    module: Option<Vaddr>,
    /// The slots of variables that another module may replace, with their offsets in the block.
    variables: Vec<(Range<u64>, Slot)>,
}

/// The slot of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// Has the variable's distance from the thread pointer.
    Distance(Vaddr),
    /// Has the number of the variable's module, and then its offset in the block of that.
    Module(Vaddr),
}

impl ThreadLocals {
    /// Reads where the block of an executable is.
    #[must_use]
    pub fn of_executable(bytes: &[u8]) -> Self {
        elf::thread_local_distance(bytes).map_or(Self::Unknown, Self::Executable)
    }

    /// Reads the slots of a shared object.
    #[must_use]
    pub fn of_library(bytes: &[u8]) -> Self {
        slots(bytes).map_or(Self::Unknown, Self::Library)
    }

    /// The distance from the start of the block that computations use to the thread pointer; those
    /// of a shared object start at the thread pointer. `None` if there are none.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::Unknown => None,
            Self::Executable(size) => Some(*size),
            Self::Library(_) => Some(0),
        }
    }

    /// A computation in which the addresses of a shared object's thread-local variables are computed
    /// from the thread pointer. `None` if one of them cannot be.
    #[must_use]
    pub fn located(&self, of: &Expr) -> Option<Expr> {
        let Self::Library(slots) = self else { return Some(of.clone()) };
        match of.node() {
            Node::ThreadLocal(offset) => slots.address(&self.located(offset)?),
            // Of an entry only registers are noted.
            Node::AtEntry(_) => Some(of.clone()),
            _ => of.with_operands(&|operand| self.located(operand)),
        }
    }
}

fn word(address: Expr) -> Option<Expr> {
    Expr::new(Node::Memory { address, size: 8, to: ValueType::Generic })
}

fn binary(operation: Binary, a: Expr, b: Expr) -> Option<Expr> {
    Expr::new(Node::Binary(operation, a, b))
}

fn at_thread_pointer(offset: u64) -> Option<Expr> {
    Expr::new(Node::ThreadLocal(Expr::constant(offset)))
}

impl Slots {
    /// The address of what is at an offset of the block.
    fn address(&self, offset: &Expr) -> Option<Expr> {
        let slot = |slot: Vaddr, more: u64| word(Expr::new(Node::Address(Vaddr(slot.0.wrapping_add(more))))?);
        if let Some((inside, variable)) = self.variable(offset) {
            let start = match variable {
                Slot::Distance(distance) => binary(Binary::Plus, at_thread_pointer(0)?, slot(distance, 0)?)?,
                Slot::Module(module) => binary(Binary::Plus, self.block(&slot(module, 0)?)?, slot(module, 8)?)?,
            };
            return binary(Binary::Plus, start, Expr::constant(inside));
        }
        if let Some((distance, from)) = self.distance {
            let block = binary(Binary::Plus, at_thread_pointer(from.wrapping_neg())?, slot(distance, 0)?)?;
            return binary(Binary::Plus, block, offset.clone());
        }
        binary(Binary::Plus, self.block(&slot(self.module?, 0)?)?, offset.clone())
    }

    /// The slot of the variable at an offset, and the distance from the variable's start.
    fn variable(&self, offset: &Expr) -> Option<(u64, Slot)> {
        let Node::Constant(value) = offset.node() else { return None };
        let (range, slot) = self.variables.iter().find(|(range, _)| range.contains(&value.bits))?;
        Some((value.bits - range.start, *slot))
    }

    /// The thread's block of a module, which glibc allocates when the thread first needs it. The
    /// computation divides by 0 if it is not allocated.
    fn block(&self, module: &Expr) -> Option<Expr> {
        // `tcbhead_t.dtv`: entries of 16 bytes, a block's address first. Entry -1 has the last number.
        let table = word(at_thread_pointer(self.table)?)?;
        let last = word(binary(Binary::Minus, table.clone(), Expr::constant(16))?)?;
        let entry = binary(Binary::Plus, table, binary(Binary::Shl, module.clone(), Expr::constant(4))?)?;
        let block = word(entry)?;
        let one = || Expr::constant(1);
        let has_entry = binary(Binary::Div, one(), binary(Binary::Le, module.clone(), last)?)?;
        // `TLS_DTV_UNALLOCATED` is -1.
        let next = binary(Binary::Plus, block.clone(), one())?;
        let is_allocated = binary(Binary::Div, binary(Binary::Div, one(), block.clone())?, next)?;
        let nothing = binary(Binary::And, binary(Binary::Or, has_entry, is_allocated)?, Expr::constant(0))?;
        // The table has no entry for a number that is too large: it is looked at after that is known.
        binary(Binary::Plus, nothing, block)
    }
}

fn slots(bytes: &[u8]) -> Option<Slots> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, bytes).ok()?;
    let conventions = Platform::of_elf(header.e_machine(endian))?.conventions();
    let mut slots = Slots { table: conventions.thread_table(), ..Slots::default() };
    let is_glibc = needs_glibc(conventions, &sections, endian, bytes);
    for section in sections.iter().filter(|section| section.sh_type(endian) == SHT_RELA) {
        let Ok(Some((entries, link))) = section.rela(endian, bytes) else { continue };
        let symbols = sections.symbol_table_by_index(endian, bytes, link).ok();
        for entry in entries {
            let Some(kind) = conventions.thread_local_slot(entry.r_type(endian, false)) else { continue };
            let slot = Vaddr(entry.r_offset(endian));
            let variable = match entry.r_sym(endian, false) {
                0 => None,
                index => {
                    let symbol = symbols.as_ref()?.symbol(SymbolIndex(index as usize)).ok()?;
                    if symbol.is_undefined(endian) || symbol.st_type() != STT_TLS {
                        continue;
                    }
                    let start = symbol.st_value(endian);
                    Some(start..start.checked_add(symbol.st_size(endian).max(1))?)
                }
            };
            let addend = entry.r_addend(endian) as u64;
            match (kind, variable) {
                (ThreadLocalSlot::Distance, None) => slots.distance = Some((slot, addend)),
                (ThreadLocalSlot::Distance, Some(range)) if addend == 0 => {
                    slots.variables.push((range, Slot::Distance(slot)));
                }
                (ThreadLocalSlot::Module, None) if is_glibc => slots.module = Some(slot),
                (ThreadLocalSlot::Module, Some(range)) if is_glibc => {
                    slots.variables.push((range, Slot::Module(slot)));
                }
                _ => {}
            }
        }
    }
    let is_empty = slots.distance.is_none() && slots.module.is_none() && slots.variables.is_empty();
    (!is_empty).then_some(slots)
}

/// Whether a shared object is linked with glibc.
fn needs_glibc(
    conventions: &dyn Conventions,
    sections: &SectionTable<'_, FileHeader64<Endianness>>,
    endian: Endianness,
    bytes: &[u8],
) -> bool {
    let Ok(Some((entries, link))) = sections.dynamic(endian, bytes) else { return false };
    let Ok(strings) = sections.strings(endian, bytes, link) else { return false };
    let name = |entry: &object::elf::Dyn64<Endianness>| {
        let is_needed = entry.d_tag(endian) == DT_NEEDED;
        strings.get(u32::try_from(entry.d_val(endian)).ok().filter(|_| is_needed)?).ok()
    };
    entries.iter().filter_map(name).any(|name| name == b"libc.so.6" || name == conventions.loader())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use simple_markers_resolver::address::RuntimeAddress;
    use simple_markers_resolver::location::{Machine, Register, Unreadable};

    use super::*;

    /// A thread in a process with an image at 0x10000. Its memory has words only.
    struct Thread(HashMap<u64, u64>);

    impl Machine for Thread {
        fn register(&self, _: Register) -> Option<Vec<u8>> {
            None
        }
        fn read(&self, address: RuntimeAddress, into: &mut [u8]) -> bool {
            let Some(word) = self.0.get(&address.0) else { return false };
            into.copy_from_slice(&word.to_le_bytes());
            true
        }
        fn bias(&self) -> u64 {
            0x10000
        }
        fn thread_local(&self, offset: u64) -> Option<RuntimeAddress> {
            Some(RuntimeAddress(offset.wrapping_add(0x7000)))
        }
        fn address_size(&self) -> u8 {
            8
        }
        fn is_big_endian(&self) -> bool {
            false
        }
    }

    fn at(slots: &Slots, offset: u64, thread: &Thread) -> Result<u64, Option<Unreadable>> {
        let variable = Expr::new(Node::ThreadLocal(Expr::constant(offset))).expect("a node");
        let located = ThreadLocals::Library(slots.clone()).located(&variable).ok_or(None)?;
        located.evaluate(thread).map(|value| value.bits).map_err(Some)
    }

    #[test]
    fn a_distance_is_from_the_thread_pointer() {
        let slots = Slots { distance: Some((Vaddr(0x100), 8)), ..Slots::default() };
        let thread = Thread(HashMap::from([(0x10100, 0u64.wrapping_sub(0x40))]));
        assert_eq!(at(&slots, 8, &thread), Ok(0x6fc0));
        assert_eq!(at(&slots, 0x10, &thread), Ok(0x6fc8));
    }

    #[test]
    fn a_block_is_found_in_the_table_of_the_thread() {
        let slots = Slots { table: 8, module: Some(Vaddr(0x100)), ..Slots::default() };
        // The module number 2; the table at 0x9000 has entries up to 2.
        let mut words = HashMap::from([(0x10100, 2), (0x7008, 0x9000), (0x8ff0, 2), (0x9020, 0x5000)]);
        assert_eq!(at(&slots, 0x18, &Thread(words.clone())), Ok(0x5018));
        for unallocated in [u64::MAX, 0] {
            words.insert(0x9020, unallocated);
            assert_eq!(at(&slots, 0x18, &Thread(words.clone())), Err(Some(Unreadable::DivisionByZero)));
        }
        words.extend([(0x9020, 0x5000), (0x8ff0, 1)]);
        assert_eq!(at(&slots, 0x18, &Thread(words)), Err(Some(Unreadable::DivisionByZero)));
    }

    #[test]
    fn a_variable_that_may_be_replaced_has_a_slot_of_its_own() {
        let variables = vec![(0x20..0x28, Slot::Module(Vaddr(0x200))), (0x30..0x34, Slot::Distance(Vaddr(0x300)))];
        let slots = Slots { table: 8, variables, ..Slots::default() };
        let table = [(0x7008, 0x9000), (0x8ff0, 2), (0x9010, 0x5000)];
        let thread = Thread(table.into_iter().chain([(0x10200, 1), (0x10208, 0x70), (0x10300, 0x10)]).collect());
        assert_eq!(at(&slots, 0x24, &thread), Ok(0x5074));
        assert_eq!(at(&slots, 0x30, &thread), Ok(0x7010));
        assert_eq!(at(&slots, 0x40, &thread), Err(None));
    }

    #[test]
    fn other_files_have_no_slots() {
        for bytes in [&b""[..], b"\x7fELF", &[0; 64]] {
            assert_eq!(ThreadLocals::of_library(bytes), ThreadLocals::Unknown);
        }
    }
}
