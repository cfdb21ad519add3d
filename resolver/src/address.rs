//! The four kinds of address and all conversions between them. No other module converts addresses.
//!
//! `p_offset`, `p_vaddr` and `sh_offset` relate the kinds (ELF gABI, "Program Header" and "Section
//! Header").

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::json::hexadecimal;

macro_rules! address {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(#[serde(with = "hexadecimal")] pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
    };
}

address! {
    /// An offset in bytes from the start of a file, or from the start of an archive member.
    FileOffset
}
address! {
    /// A link-time address: an address that the linker assigned, before the program is loaded.
    Vaddr
}
address! {
    /// An address in a running process, after the loader placed the image.
    RuntimeAddress
}
address! {
    /// An offset in bytes from the start of a section.
    SectionOffset
}

impl Vaddr {
    /// The runtime address if the image is loaded `bias` bytes above its link-time addresses.
    /// `None` if it is past the end of the address space.
    #[must_use]
    pub fn to_runtime(self, bias: u64) -> Option<RuntimeAddress> {
        self.0.checked_add(bias).map(RuntimeAddress)
    }

    /// The file offset of the byte at this address, in a segment that is loaded at `vaddr` from the
    /// range `file`. `None` if the segment does not contain the address, or has no byte in the file
    /// for it (`.bss`).
    #[must_use]
    pub fn to_file_offset(self, vaddr: Self, file: &Range<u64>) -> Option<FileOffset> {
        let offset = file.start.checked_add(self.0.checked_sub(vaddr.0)?)?;
        file.contains(&offset).then_some(FileOffset(offset))
    }
}

impl RuntimeAddress {
    /// The link-time address if the image is loaded `bias` bytes above its link-time addresses.
    /// `None` if the address is below `bias`.
    #[must_use]
    pub fn to_vaddr(self, bias: u64) -> Option<Vaddr> {
        self.0.checked_sub(bias).map(Vaddr)
    }
}

impl SectionOffset {
    /// The file offset of the byte at this offset, in a section whose contents are at `file`.
    /// `None` if the offset is outside the section.
    #[must_use]
    pub fn to_file_offset(self, file: &Range<u64>) -> Option<FileOffset> {
        let offset = file.start.checked_add(self.0)?;
        file.contains(&offset).then_some(FileOffset(offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_refuse_what_is_outside() {
        assert_eq!(Vaddr(0x1010).to_file_offset(Vaddr(0x1000), &(0x200..0x220)), Some(FileOffset(0x210)));
        assert_eq!(Vaddr(0x1020).to_file_offset(Vaddr(0x1000), &(0x200..0x220)), None);
        assert_eq!(Vaddr(0xfff).to_file_offset(Vaddr(0x1000), &(0x200..0x220)), None);
        assert_eq!(Vaddr(u64::MAX).to_file_offset(Vaddr(0), &(1..u64::MAX)), None);
        assert_eq!(SectionOffset(4).to_file_offset(&(0x40..0x48)), Some(FileOffset(0x44)));
        assert_eq!(SectionOffset(8).to_file_offset(&(0x40..0x48)), None);
        assert_eq!(Vaddr(1).to_runtime(u64::MAX), None);
        assert_eq!(Vaddr(0x10).to_runtime(0x5500).and_then(|address| address.to_vaddr(0x5500)), Some(Vaddr(0x10)));
        assert_eq!(RuntimeAddress(1).to_vaddr(2), None);
        assert_eq!(SectionOffset(0x1c).to_string(), "0x1c");
    }
}
