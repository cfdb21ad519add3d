//! Thread-local variables of the symbol table (gABI "Symbol Table": `STT_TLS`).

use std::collections::HashMap;

use object::{Object as _, ObjectSymbol as _, SymbolKind};

use super::elf_file::Image;
use super::kind::ImageKind;

/// A thread-local variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThreadLocalSymbol {
    /// The offset in the image's block of a thread.
    pub(crate) offset: u64,
    /// The source file that a symbol before it names, if it is local to that; `None` if it is global.
    pub(crate) file: Option<Box<[u8]>>,
}

/// The thread-local variables by name.
pub(crate) type ThreadLocalSymbols = HashMap<Box<[u8]>, Vec<ThreadLocalSymbol>>;

impl Image<'_> {
    /// Those of a linked image. In a relocatable object they have no place yet, so there are none.
    pub(crate) fn thread_locals(&self) -> ThreadLocalSymbols {
        let mut found = ThreadLocalSymbols::new();
        if self.kind() == ImageKind::Relocatable {
            return found;
        }
        let mut file: Box<[u8]> = Box::default();
        for symbol in self.elf.symbols() {
            let Ok(name) = symbol.name_bytes() else { continue };
            match symbol.kind() {
                SymbolKind::File => file = name.into(),
                SymbolKind::Tls if !symbol.is_undefined() => {
                    let file = symbol.is_local().then(|| file.clone());
                    found.entry(name.into()).or_default().push(ThreadLocalSymbol { offset: symbol.address(), file });
                }
                _ => {}
            }
        }
        found
    }
}
