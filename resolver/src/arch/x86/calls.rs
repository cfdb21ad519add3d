//! The targets of calls, and the entries of procedure linkage tables.

use iced_x86::{Instruction as Iced, MemorySize, Mnemonic, OpKind, Register};

use super::decode::decode;
use crate::address::Vaddr;
use crate::code::instruction::Callee;

pub(super) fn callee(bitness: u32, at: u64, code: &[u8]) -> Option<Callee> {
    let iced = decode(bitness, at, code)?;
    match iced.mnemonic() {
        Mnemonic::Call if iced.is_call_near() => Some(Callee::At(Vaddr(iced.near_branch_target()))),
        Mnemonic::Jmp if iced.is_jmp_short_or_near() => Some(Callee::At(Vaddr(iced.near_branch_target()))),
        Mnemonic::Call | Mnemonic::Jmp => slot(&iced).map(Callee::Through),
        _ => None,
    }
}

/// The slot that an entry of a procedure linkage table jumps through, with or without an `endbr64`
/// before the jump.
pub(super) fn linkage_slot(at: u64, code: &[u8]) -> Option<Vaddr> {
    let mut iced = decode(64, at, code)?;
    if iced.mnemonic() == Mnemonic::Endbr64 {
        iced = decode(64, iced.next_ip(), code.get(iced.len()..)?)?;
    }
    (iced.mnemonic() == Mnemonic::Jmp).then(|| slot(&iced)).flatten()
}

/// The word that a jump or a call reads its target from, if it is addressed relative to the
/// instruction.
fn slot(iced: &Iced) -> Option<Vaddr> {
    let is_relative = iced.op0_kind() == OpKind::Memory && iced.memory_base() == Register::RIP;
    (is_relative && iced.memory_size() == MemorySize::QwordOffset).then(|| Vaddr(iced.ip_rel_memory_address()))
}
