//! The variables and functions of an image by name, and its thread-local variables. Operands of
//! notes name them.

use std::collections::HashMap;

use object::read::elf::{ElfFile, FileHeader, Sym as _};
use object::{Endianness, elf};

use super::Image;
use super::symbol_table::strings_of;
use crate::address::Vaddr;
use crate::location::operand::{OFFSET_TABLE, OperandProblem, SymbolPlace};

/// Longer names are not read, in bytes.
const WINDOW: usize = 1 << 10;

/// The places of the symbols with each name.
#[derive(Debug, Default)]
pub(crate) struct NamedSymbols<'data> {
    places: HashMap<&'data [u8], Vec<SymbolPlace>>,
}

impl<'data> Image<'data> {
    /// The symbols of `.symtab`, or of `.dynsym` if the image is stripped. None of a relocatable
    /// object: they have no addresses yet.
    pub(crate) fn named_symbols(&self) -> NamedSymbols<'data> {
        let mut found = match &self.elf {
            _ if self.is_relocatable() => return NamedSymbols::default(),
            object::File::Elf32(elf) => NamedSymbols::of(elf, self.data),
            object::File::Elf64(elf) => NamedSymbols::of(elf, self.data),
            _ => NamedSymbols::default(),
        };
        // It is a local symbol, so `.dynsym` does not have it. Linkers for x86 put it there.
        let table = [".got.plt", ".got"].iter().find_map(|name| self.section_address(name, None));
        if let Some(address) = table {
            found.places.entry(OFFSET_TABLE.as_bytes()).or_insert_with(|| vec![SymbolPlace::Address(address)]);
        }
        found
    }
}

impl<'data> NamedSymbols<'data> {
    fn of<Elf: FileHeader<Endian = Endianness>>(file: &ElfFile<'data, Elf>, data: &'data [u8]) -> Self {
        let (all, dynamic) = (file.elf_symbol_table(), file.elf_dynamic_symbol_table());
        let table = if all.is_empty() { dynamic } else { all };
        let strings = data.get(strings_of(file, table)).unwrap_or_default();
        let endian = file.endian();
        let mut places: HashMap<&[u8], Vec<SymbolPlace>> = HashMap::new();
        for symbol in table.iter().filter(|symbol| !symbol.is_undefined(endian)) {
            let value: u64 = symbol.st_value(endian).into();
            let place = match symbol.st_type() {
                elf::STT_TLS => SymbolPlace::ThreadLocal(value),
                elf::STT_OBJECT | elf::STT_FUNC | elf::STT_NOTYPE => SymbolPlace::Address(Vaddr(value)),
                _ => continue,
            };
            let rest = strings.get(symbol.st_name(endian) as usize..).unwrap_or_default();
            let window = rest.get(..WINDOW).unwrap_or(rest);
            let Some(end) = window.iter().position(|&byte| byte == 0).filter(|end| *end > 0) else { continue };
            let of_name = places.entry(window.get(..end).unwrap_or_default()).or_default();
            // Two different places are enough to know that a name is ambiguous.
            if of_name.len() < 2 && !of_name.contains(&place) {
                of_name.push(place);
            }
        }
        Self { places }
    }

    /// Where the symbol with a name is.
    ///
    /// # Errors
    ///
    /// There is none, or there are several.
    pub(crate) fn place(&self, name: &str) -> Result<SymbolPlace, OperandProblem> {
        match self.places.get(name.as_bytes()).map(Vec::as_slice) {
            Some([place]) => Ok(*place),
            Some([_, ..]) => Err(OperandProblem::SeveralSymbols { name: name.into() }),
            _ => Err(OperandProblem::NoSymbol { name: name.into() }),
        }
    }
}
