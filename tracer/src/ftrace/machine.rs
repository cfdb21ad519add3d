//! The registers and the memory of a hit, as far as the kernel copied them.

use simple_markers_resolver::address::{RuntimeAddress, Vaddr};
use simple_markers_resolver::location::{Expr, Machine, Register};

use super::fetch::Fetches;

/// The size of a page of memory in bytes.
pub(super) const PAGE: u64 = 4096;

/// Registers and memory at a hit.
#[derive(Debug)]
pub struct Snapshot<'a> {
    /// The load bias of the image.
    pub(super) bias: u64,
    registers: Vec<(Register, &'a [u8])>,
    /// The pieces of memory that are known, each in one page, with their addresses.
    memory: Vec<(u64, &'a [u8])>,
    /// Where a copy failed: the address and how many bytes.
    unreadable: Vec<(u64, usize)>,
}

impl<'a> Snapshot<'a> {
    /// Registers and memory from the copies of a record. `probe` is the link-time address of the probe
    /// and `ip` the one at run time. `copies` has the registers and then the memory, in the order of
    /// `fetches`. `is_mapped` tells whether a page is in the memory of the process.
    #[must_use]
    pub fn new(
        fetches: &Fetches,
        probe: Vaddr,
        ip: u64,
        mut copies: impl Iterator<Item = &'a [u8]>,
        is_mapped: &mut dyn FnMut(u64) -> bool,
    ) -> Self {
        let registers = fetches.registers.iter().copied().zip(&mut copies).collect();
        let mut copied = Self { bias: ip.wrapping_sub(probe.0), registers, memory: Vec::new(), unreadable: Vec::new() };
        for (window, mut rest) in fetches.windows.iter().zip(copies) {
            // Without the pointer nothing was copied.
            let Some(mut address) = copied.value(&window.address) else { continue };
            while !rest.is_empty() {
                let left = usize::try_from(PAGE - address % PAGE).unwrap_or(rest.len());
                let (part, after) = rest.split_at(left.min(rest.len()));
                // A copy that failed leaves zeros.
                let is_known = window.is_mapped || part.iter().any(|byte| *byte != 0) || is_mapped(address);
                match is_known {
                    true => copied.memory.push((address, part)),
                    false => copied.unreadable.push((address, part.len())),
                }
                (address, rest) = (address.wrapping_add(part.len() as u64), after);
            }
        }
        copied
    }

    pub(super) fn value(&self, of: &Expr) -> Option<u64> {
        of.evaluate(self).ok().map(|value| value.bits)
    }

    /// The known bytes from an address on, at least one. `None` if the first is not known.
    pub(super) fn known(&self, address: u64) -> Option<&'a [u8]> {
        self.memory.iter().find_map(|(start, bytes)| {
            let offset = usize::try_from(address.checked_sub(*start)?).ok()?;
            bytes.get(offset..).filter(|bytes| !bytes.is_empty())
        })
    }

    /// Whether the kernel could not copy the byte at an address.
    pub(super) fn is_unreadable(&self, address: RuntimeAddress) -> bool {
        let is_in = |(start, size): &(u64, usize)| address.0.wrapping_sub(*start) < *size as u64;
        self.unreadable.iter().any(is_in)
    }

    /// Appends a text without its NUL, of at most `most` bytes with it. Returns whether all of it is
    /// known, and whether it has its NUL.
    pub(super) fn text(&self, mut address: u64, most: u16, into: &mut Vec<u8>) -> Option<bool> {
        let mut left = usize::from(most).saturating_sub(1);
        while left > 0 {
            let bytes = self.known(address)?;
            let bytes = bytes.get(..left).unwrap_or(bytes);
            let end = bytes.iter().position(|byte| *byte == 0);
            let text = bytes.get(..end.unwrap_or(bytes.len()))?;
            into.extend_from_slice(text);
            if end.is_some() {
                return Some(true);
            }
            (address, left) = (address.wrapping_add(text.len() as u64), left.saturating_sub(text.len()));
        }
        Some(false)
    }
}

impl Machine for Snapshot<'_> {
    fn register(&self, register: Register) -> Option<Vec<u8>> {
        self.registers.iter().find(|(known, _)| *known == register).map(|(_, bytes)| bytes.to_vec())
    }

    fn read(&self, address: RuntimeAddress, into: &mut [u8]) -> bool {
        let (mut address, mut into) = (address.0, into);
        while !into.is_empty() {
            let Some(bytes) = self.known(address) else { return false };
            let length = bytes.len().min(into.len());
            let (now, later) = into.split_at_mut(length);
            now.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            (address, into) = (address.wrapping_add(length as u64), later);
        }
        true
    }

    fn bias(&self) -> u64 {
        self.bias
    }

    fn thread_local(&self, _: u64) -> Option<RuntimeAddress> {
        None
    }

    fn address_size(&self) -> u8 {
        8
    }

    fn is_big_endian(&self) -> bool {
        false
    }
}
