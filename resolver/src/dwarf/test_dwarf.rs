//! Opens the debug information that unit tests make with the builder `images::dwarf`.

use std::borrow::Cow;

use gimli::write::{Address, CallFrameInstruction, CommonInformationEntry, FrameDescriptionEntry, UnitEntryId};
use gimli::{Encoding, Format, Register};
use images::dwarf::{DwarfBuilder, FUNCTION, FUNCTION_SIZE, Written};
use simple_markers_record::ByteOrder;

use super::debug_info::DebugInfo;
use super::frame::{Frame, Moment};
use super::sections::Sections;
use super::unit::Die;
use crate::address::Vaddr;
use crate::location::Processor;

pub(super) fn open(written: &Written) -> Sections<'_> {
    let processor = match (written.order, written.address_size) {
        (ByteOrder::Big, _) => Processor::Other,
        (_, 4) => Processor::I386,
        _ => Processor::X86_64,
    };
    let parts = written.sections.iter().map(|(name, bytes)| (*name, Cow::Borrowed(&**bytes)));
    Sections::from_parts(parts, written.order, processor, written.address_size)
}

/// Runs a test on what a builder made. The test finds entries with the function that it gets.
pub(super) fn with<T>(builder: DwarfBuilder, test: impl FnOnce(&DebugInfo<'_>, &dyn Fn(UnitEntryId) -> Die) -> T) -> T {
    let written = builder.write();
    test(&DebugInfo::new(&open(&written)), &|entry| Die { unit: 0, offset: written.offset(entry) })
}

/// A place `pc` bytes into the function of the builder.
pub(super) fn frame(function: Die, pc: u64) -> Frame {
    Frame { pc: Vaddr(FUNCTION + pc), function: Some(function), at_entry: false, moment: Moment::Last }
}

/// Adds call frame information for the function of the builder: CFA = rsp + 8, after 0x10 bytes
/// rsp + 16 with rbx saved at CFA - 16.
pub(super) fn add_frames(builder: &mut DwarfBuilder) {
    const RBX: Register = Register(3);
    const RSP: Register = Register(7);
    let encoding = Encoding { format: Format::Dwarf32, version: 1, address_size: 8 };
    let mut common = CommonInformationEntry::new(encoding, 1, -8, Register(16));
    common.add_instruction(CallFrameInstruction::Cfa(RSP, 8));
    let common = builder.frames.add_cie(common);
    let mut entry = FrameDescriptionEntry::new(Address::Constant(FUNCTION), FUNCTION_SIZE as u32);
    entry.add_instruction(0x10, CallFrameInstruction::CfaOffset(16));
    entry.add_instruction(0x10, CallFrameInstruction::Offset(RBX, -16));
    builder.frames.add_fde(common, entry);
}
