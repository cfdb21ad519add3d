//! Where a call leads: to an address, or through a slot that the dynamic linker fills in. What is there is named elsewhere.

use iced_x86::{Mnemonic, OpKind, Register};

use super::{Arch, aarch64, x86};
use crate::address::Vaddr;

/// What a call names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// The instruction at an address.
    At(Vaddr),
    /// What the word at an address points at.
    Through(Vaddr),
}

/// What the call at the start of `bytes` names; `None` where that is no call, or one through a register.
#[must_use]
pub fn callee(arch: Arch, at: Vaddr, bytes: &[u8]) -> Option<Callee> {
    if arch == Arch::Aarch64 {
        let word = aarch64::word(bytes)?;
        // BL.
        return (word & 0xfc00_0000 == 0x9400_0000)
            .then(|| Callee::At(Vaddr(at.0.wrapping_add_signed(aarch64::signed(word, 0, 26).wrapping_mul(4)))));
    }
    let iced = x86::decode(bitness(arch), at.0, bytes)?;
    match iced.mnemonic() {
        Mnemonic::Call if iced.is_call_near() => Some(Callee::At(Vaddr(iced.near_branch_target()))),
        Mnemonic::Call => slot(&iced).map(Callee::Through),
        _ => None,
    }
}

/// The slot that an entry of a procedure linkage table jumps through, with or without a landing mark before the jump; `None` where the
/// code at the start of `bytes` is none, and for other processors than x86-64, whose entries name it in several steps.
#[must_use]
pub fn linkage(arch: Arch, at: Vaddr, bytes: &[u8]) -> Option<Vaddr> {
    if arch != Arch::X86_64 {
        return None;
    }
    let mut iced = x86::decode(64, at.0, bytes)?;
    if iced.mnemonic() == Mnemonic::Endbr64 {
        iced = x86::decode(64, iced.next_ip(), bytes.get(iced.len()..)?)?;
    }
    (iced.mnemonic() == Mnemonic::Jmp).then(|| slot(&iced)).flatten()
}

/// The word that a jump or a call reads where it leads, by its distance from the instruction.
fn slot(iced: &iced_x86::Instruction) -> Option<Vaddr> {
    let is_near = iced.op0_kind() == OpKind::Memory && iced.memory_base() == Register::RIP;
    (is_near && iced.memory_size() == iced_x86::MemorySize::QwordOffset).then(|| Vaddr(iced.ip_rel_memory_address()))
}

fn bitness(arch: Arch) -> u32 {
    if arch == Arch::I386 { 32 } else { 64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_lead_to_an_address_or_through_a_slot() {
        let at = |bytes: &[u8]| callee(Arch::X86_64, Vaddr(0x1000), bytes);
        // call 0x200a; call *0x2ff0(%rip); call *%rax; call *8(%rax); jmp 0x1007.
        assert_eq!(at(&[0xe8, 0x05, 0x10, 0, 0]), Some(Callee::At(Vaddr(0x200a))));
        assert_eq!(at(&[0xff, 0x15, 0xf0, 0x2f, 0, 0]), Some(Callee::Through(Vaddr(0x3ff6))));
        assert_eq!(at(&[0xff, 0xd0]), None);
        assert_eq!(at(&[0xff, 0x50, 8]), None);
        assert_eq!(at(&[0xeb, 5]), None);
        assert_eq!(at(&[0xe8, 0x05]), None);
        // bl 0x0fff..c: four bytes back.
        assert_eq!(
            callee(Arch::Aarch64, Vaddr(0x1000), &0x97ff_ffff_u32.to_le_bytes()),
            Some(Callee::At(Vaddr(0xffc)))
        );
        assert_eq!(callee(Arch::Aarch64, Vaddr(0x1000), &0x17ff_ffff_u32.to_le_bytes()), None);
        assert_eq!(callee(Arch::I386, Vaddr(0x1000), &[0xe8, 0xfb, 0xef, 0xff, 0xff]), Some(Callee::At(Vaddr(0))));
    }

    #[test]
    fn entries_of_linkage_tables_jump_through_a_slot() {
        let at = |bytes: &[u8]| linkage(Arch::X86_64, Vaddr(0x1000), bytes);
        // jmp *0x2fca(%rip), with a landing mark, and as `bnd jmp` behind one.
        assert_eq!(at(&[0xff, 0x25, 0xca, 0x2f, 0, 0, 0x68]), Some(Vaddr(0x3fd0)));
        assert_eq!(at(&[0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0xca, 0x2f, 0, 0]), Some(Vaddr(0x3fd4)));
        assert_eq!(at(&[0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xca, 0x2f, 0, 0]), Some(Vaddr(0x3fd5)));
        assert_eq!(at(&[0x55, 0xff, 0x25, 0xca, 0x2f, 0, 0]), None);
        assert_eq!(at(&[0xf3, 0x0f, 0x1e, 0xfa]), None);
        assert_eq!(linkage(Arch::I386, Vaddr(0x1000), &[0xff, 0x25, 0xca, 0x2f, 0, 0]), None);
    }
}
