//! The text of an instruction that ends a live range: a call with the name of its callee.

use std::sync::Arc;

use super::Instructions;
use super::function_code::Calls;
use crate::address::Vaddr;
use crate::code::{CallEffect, Callee};
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

/// Functions that write where their first argument points and read nothing there: whether the second
/// argument points at what they read, and whether the third one is the number of bytes. Compilers know
/// them, and drop a store before one that overwrites it.
const WRITERS: [(&str, bool, bool); 10] = [
    ("memset", false, true),
    ("bzero", false, false),
    ("explicit_bzero", false, false),
    ("memcpy", true, true),
    ("mempcpy", true, true),
    ("memmove", true, true),
    ("strcpy", true, false),
    ("stpcpy", true, false),
    ("strncpy", true, true),
    ("stpncpy", true, true),
];

impl Calls for Instructions<'_> {
    fn effect(&self, call: Vaddr) -> Option<CallEffect> {
        let name = self.callee(self.set.callee(call.0, self.code.from(call)?)?)?;
        let name = name.rsplit("::").next()?.split('@').next()?;
        if ALLOCATORS.contains(&name) {
            return Some(CallEffect::Nothing);
        }
        let plain = name.strip_prefix("__").and_then(|name| name.strip_suffix("_chk")).unwrap_or(name);
        let (_, reads_second, has_size) = *WRITERS.iter().find(|(writer, ..)| *writer == plain)?;
        Some(CallEffect::Writes { reads_second, has_size })
    }
}

impl Instructions<'_> {
    /// The instruction of a function that holds the byte at an address: where it starts, and its
    /// text as objdump writes it. A call has the name of its callee. `None` if the function could
    /// not be decoded.
    pub(in crate::resolve) fn holding(&self, function: Die, byte: Vaddr) -> Option<(Vaddr, Arc<str>)> {
        let at = self.function(function)?.holding(byte)?;
        let bytes = self.code.from(at)?;
        let text = self.set.text(at.0, bytes)?;
        let callee = self.set.callee(at.0, bytes).filter(|_| text.starts_with("call"));
        let Some(callee) = callee else { return Some((at, text.into())) };
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

    /// The name of a callee: a function of the image, or `NAME@plt` for an entry of the procedure
    /// linkage table.
    pub(super) fn callee(&self, callee: Callee) -> Option<String> {
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
