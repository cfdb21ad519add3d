//! The words that the dynamic linker fills with the addresses of functions in other images (gABI
//! "Relocation"; the relocation types `JUMP_SLOT` and `GLOB_DAT` of the processor supplements).

use std::collections::HashMap;

use object::{Object as _, ObjectSymbol as _, ObjectSymbolTable as _, RelocationFlags, RelocationTarget};

use super::Image;

/// The longest name that is read, in bytes.
const LONGEST: usize = 16 << 10;

impl<'data> Image<'data> {
    /// Maps the address of each such word to the mangled name of the symbol. A word with several
    /// relocations is left out. The map is empty for a relocatable object, and if the set has no such calls that are
    /// followed.
    pub(crate) fn imports(&self) -> HashMap<u64, &'data [u8]> {
        let imports = self.processor().set().map_or(&[][..], |set| set.import_relocations());
        let Some(table) = self.elf.dynamic_symbol_table().filter(|_| !imports.is_empty()) else {
            return HashMap::new();
        };
        let mut found: HashMap<u64, Option<&[u8]>> = HashMap::new();
        for (address, relocation) in self.elf.dynamic_relocations().into_iter().flatten() {
            let (RelocationFlags::Elf { r_type }, RelocationTarget::Symbol(index)) =
                (relocation.flags(), relocation.target())
            else {
                continue;
            };
            if !imports.contains(&r_type) {
                continue;
            }
            let name = table.symbol_by_index(index).ok().and_then(|symbol| symbol.name_bytes().ok());
            let name = name.filter(|name| !name.is_empty() && name.len() <= LONGEST);
            found.entry(address).and_modify(|known| *known = None).or_insert(name);
        }
        found.into_iter().filter_map(|(address, name)| Some((address, name?))).collect()
    }
}
