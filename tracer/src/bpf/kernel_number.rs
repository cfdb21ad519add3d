//! Numbers in the kernel's structures. A structure may have another layout in another kernel, and a number
//! another size: the verifier refuses a program that reads more than the number has.

use simple_markers_events::btf::Btf;

use super::instruction::Size;

/// A number in a structure of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelNumber {
    /// Its offset in the structure.
    pub offset: u32,
    /// Its size.
    pub size: Size,
}

impl KernelNumber {
    /// The number that a member of a structure is; `None` if there is no such member, or it is no number.
    #[must_use]
    pub fn of(btf: &Btf<'_>, structure: &str, path: &[&str]) -> Option<Self> {
        let member = btf.member(structure, path)?;
        Some(Self { offset: member.offset, size: Size::of(member.size?)? })
    }
}
