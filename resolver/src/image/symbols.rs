//! Function and variable symbols (gABI "Symbol Table"), and the lookup of the symbol at an address.
//!
//! The symbol table of an image is read once, on first use, and then shared. If several symbols
//! contain an address, the innermost one wins. If several symbols start at the same address, a
//! symbol with a size wins over one without. The next criteria are the binding (global, then weak,
//! then local) and the order in the table.

use std::collections::{HashMap, HashSet};

use object::{SectionIndex, elf};
use simple_markers_record::ghost;

use super::Image;
pub(crate) use super::symbol_table::Symbol;
use super::symbol_table::{ByAddress, SymbolStrings, SymbolTable, strings_of};
use crate::Error;

/// The longest symbol name that is read, in bytes. C++ and Rust names reach a few thousand bytes.
const WINDOW: usize = 16 << 10;

/// The functions or the variables of an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbols<'a> {
    strings: &'a [u8],
    table: &'a SymbolTable,
    by_address: &'a ByAddress,
}

impl Image<'_> {
    /// The functions of `.symtab`. If the image is stripped, those of `.dynsym` and `.gnu_debugdata`.
    #[must_use]
    pub(crate) fn functions(&self) -> Symbols<'_> {
        let table = self.symbol_table();
        self.named(table, table.functions.get_or_init(|| table.by_address(Symbol::is_code)))
    }

    /// The variables of `.symtab`, or of `.dynsym` if the image is stripped.
    #[must_use]
    pub(crate) fn variables(&self) -> Symbols<'_> {
        let table = self.symbol_table();
        self.named(table, table.variables.get_or_init(|| table.by_address(Symbol::is_variable)))
    }

    /// The names of the symbols of `.symtab` that may be declarations of ghosts, with their offsets in
    /// the string table.
    pub(crate) fn ghosts(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let strings = match &self.elf {
            object::File::Elf32(elf) => strings_of(elf, elf.elf_symbol_table()),
            object::File::Elf64(elf) => strings_of(elf, elf.elf_symbol_table()),
            _ => 0..0,
        };
        // The symbols of an image without a ghost are not read.
        let has_ghosts = self.data.get(strings).is_some_and(|strings| strings.contains(&ghost::SEPARATOR));
        let variables = has_ghosts.then(|| self.variables());
        variables.into_iter().flat_map(|of| {
            let empty = of.table.symbols.iter().filter(|symbol| symbol.is_variable() && symbol.size() == 0);
            // Many symbols may have one name.
            let mut seen = HashSet::new();
            let empty = empty.filter(move |symbol| seen.insert(symbol.name));
            empty.map(move |symbol| (symbol.name as usize, of.name(symbol)))
        })
    }

    fn named<'a>(&'a self, table: &'a SymbolTable, by_address: &'a ByAddress) -> Symbols<'a> {
        let strings = match &table.names {
            SymbolStrings::File(range) => self.data.get(range.clone()).unwrap_or_default(),
            SymbolStrings::Joined(bytes) => bytes,
        };
        Symbols { strings, table, by_address }
    }

    /// Why the symbols in `.gnu_debugdata` were not read; `None` if they were, or were not asked for.
    pub(crate) fn symbol_problem(&self) -> Option<&Error> {
        self.symbols.get()?.problem.as_ref()
    }

    fn symbol_table(&self) -> &SymbolTable {
        self.symbols.get_or_init(|| match &self.elf {
            object::File::Elf32(elf) => SymbolTable::of(elf, self.data),
            object::File::Elf64(elf) => SymbolTable::of(elf, self.data),
            _ => SymbolTable::empty(),
        })
    }
}

impl<'a> Symbols<'a> {
    /// The symbol that contains `address`. `section` is the section in a relocatable object,
    /// otherwise `None`.
    #[must_use]
    pub(crate) fn at(&self, section: Option<SectionIndex>, address: u64) -> Option<Symbol> {
        let index = self.by_address.get(&section)?.get(address)?;
        self.table.symbols.get(index as usize).copied()
    }

    /// The symbol that ends at `address`. A marker after a call that does not return is at the end
    /// of its function.
    #[must_use]
    pub(crate) fn ending_at(&self, section: Option<SectionIndex>, address: u64) -> Option<Symbol> {
        self.at(section, address.checked_sub(1)?).filter(|before| before.end == address)
    }

    /// The mangled name of a symbol.
    #[must_use]
    pub(crate) fn name(&self, symbol: &Symbol) -> &'a [u8] {
        let rest = self.strings.get(symbol.name as usize..).unwrap_or_default();
        let window = rest.get(..WINDOW).unwrap_or(rest);
        window.split(|&byte| byte == 0).next().unwrap_or_default()
    }

    /// The symbols that are the lookup result for their own start address, one per address. Each
    /// comes with its section in a relocatable object.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Option<SectionIndex>, Symbol)> {
        let table = self.table;
        self.by_address.iter().flat_map(move |(section, symbols)| {
            let symbol = move |(at, index): (u64, u32)| Some((at, table.symbols.get(index as usize).copied()?));
            let own = symbols.starts().filter_map(symbol).filter(|(at, symbol)| symbol.start == *at);
            own.map(|(_, symbol)| (*section, symbol))
        })
    }

    /// All functions and code symbols, also those that share their address with another one.
    pub(crate) fn every(&self) -> impl Iterator<Item = &'a Symbol> + use<'a> {
        self.table.symbols.iter().filter(|symbol| symbol.is_code())
    }

    /// The functions of `.symtab`, sorted by address. Empty if the image is stripped.
    fn typed(&self) -> impl Iterator<Item = &'a Symbol> + use<'a> {
        let is_stripped = self.table.is_stripped;
        self.table.symbols.iter().filter(move |symbol| !is_stripped && symbol.is_function())
    }

    /// The functions of `.symtab` that start at an address, in table order. The image must be
    /// linked.
    pub(crate) fn starting_at(&self, address: u64) -> impl Iterator<Item = &'a Symbol> + use<'a> {
        let is_stripped = self.table.is_stripped;
        let first = self.table.symbols.partition_point(|symbol| symbol.start < address);
        let here = self.table.symbols.get(first..).unwrap_or_default().iter();
        let here = here.take_while(move |symbol| symbol.start == address);
        here.filter(move |symbol| !is_stripped && symbol.is_function())
    }

    /// The functions of `.symtab` that share their address with another one. The image must be
    /// linked.
    pub(crate) fn sharing(&self) -> impl Iterator<Item = &'a Symbol> + use<'a> {
        let is_stripped = self.table.is_stripped;
        self.table.symbols.chunk_by(|one, other| one.start == other.start).flat_map(move |group| {
            let is_meant = move |symbol: &&Symbol| !is_stripped && symbol.is_function();
            let is_shared = group.iter().filter(is_meant).nth(1).is_some();
            group.iter().filter(is_meant).filter(move |_| is_shared)
        })
    }

    /// The mangled names of the functions of `.symtab`.
    pub(crate) fn function_names(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let symbols = *self;
        self.typed().map(move |symbol| symbols.name(symbol))
    }

    /// Whether `.symtab` has local functions. The startup files of a C compiler always contain
    /// some, so they are missing only if a tool removed them.
    pub(crate) fn has_local_function(&self) -> bool {
        self.typed().any(|symbol| symbol.bind == elf::STB_LOCAL)
    }

    /// The addresses of the functions with the given mangled names. If several functions have the
    /// same name, the first one in the table wins. This considers all symbols, not only the lookup
    /// result for each address: both names of a folded function have the same address.
    pub(crate) fn functions_named<'n>(&self, names: &HashSet<&'n [u8]>) -> HashMap<&'n [u8], u64> {
        let mut found: HashMap<&'n [u8], &'a Symbol> = HashMap::new();
        for symbol in self.typed() {
            let Some(name) = names.get(self.name(symbol)) else { continue };
            found
                .entry(name)
                .and_modify(|first| {
                    if symbol.index < first.index {
                        *first = symbol;
                    }
                })
                .or_insert(symbol);
        }
        found.into_iter().map(|(name, symbol)| (name, symbol.start)).collect()
    }
}
