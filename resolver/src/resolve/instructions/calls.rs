//! The text of an instruction that ends a live range: a call with the name of its callee.

use std::sync::Arc;

use super::Instructions;
use super::function::Key;
use crate::address::Vaddr;
use crate::code::Callee;
use crate::demangle::demangle;
use crate::dwarf::Die;

/// Functions of C, C++ and Rust that allocate or free memory.
const ALLOCATORS: [&str; 11] = [
    "free",
    "malloc",
    "calloc",
    "aligned_alloc",
    "operator new",
    "operator new[]",
    "operator delete",
    "operator delete[]",
    "__rust_alloc",
    "__rust_alloc_zeroed",
    "__rust_dealloc",
];

impl Instructions<'_, '_, '_, '_> {
    /// The instruction of a function that holds the byte at an address: where it starts, and its
    /// text as objdump writes it. A call has the name of its callee. `None` if the function could
    /// not be decoded.
    pub(in crate::resolve) fn holding(&self, function: Die, byte: Vaddr) -> Option<(Vaddr, Arc<str>)> {
        let cell = self.decoded(Key::Described(function));
        let at = cell.get()?.as_ref().ok()?.cfg.holding(byte)?;
        let bytes = self.code.from(at)?;
        let text = self.set.probe(at.0, bytes).instruction?;
        let Some(callee) = self.set.callee(at.0, bytes) else { return Some((at, text.into())) };
        let mnemonic = text.split_whitespace().next().unwrap_or(&text);
        // The name of the slot replaces the operand of `callq *0x2fb2(%rip)`.
        let mnemonic = mnemonic.strip_suffix('q').unwrap_or(mnemonic);
        let text = match self.callee(callee) {
            Some(name) => format!("{mnemonic} {name}").into(),
            // In a relocatable object the linker has yet to fill in the target.
            None if self.code.layout().is_some() => mnemonic.into(),
            None => text.into(),
        };
        Some((at, text))
    }

    /// Whether a call allocates or frees memory. Compilers know that such a function reads no other
    /// memory of the program.
    pub(super) fn only_allocates(&self, call: Vaddr) -> bool {
        let callee = || self.set.callee(call.0, self.code.from(call)?);
        let name = callee().and_then(|callee| self.callee(callee)).unwrap_or_default();
        let name = name.rsplit("::").next().unwrap_or_default();
        ALLOCATORS.contains(&name.split('@').next().unwrap_or_default())
    }

    /// The name of a callee: a function of the image, or `NAME@plt` for an entry of the procedure
    /// linkage table.
    fn callee(&self, callee: Callee) -> Option<String> {
        let imported = |slot: Vaddr| {
            let name = self.imports.get_or_init(|| self.code.image().imports()).get(&slot.0)?;
            Some(demangle(name))
        };
        match callee {
            Callee::Through(slot) => imported(slot),
            Callee::At(target) => {
                let named = self.symbols().name_at(target.0);
                let described = || self.debug?.function_starting_at(target).ok().flatten().map(|name| name.to_string());
                let linked = || {
                    let slot = self.set.linkage_slot(target.0, self.code.from(target)?)?;
                    Some(format!("{}@plt", imported(slot)?))
                };
                named.or_else(described).or_else(linked)
            }
        }
    }
}
