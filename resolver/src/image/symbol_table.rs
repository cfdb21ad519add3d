//! The symbols of an ELF file's symbol table (gABI "Symbol Table"), sorted by address. A stripped file
//! has those of its dynamic linking, and of its [mini debug info](super::mini_debug_info).

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use object::read::elf::{ElfFile, FileHeader, SectionHeader, Sym as _, SymbolTable as ElfSymbolTable};
use object::{Endianness, Object as _, ObjectSection as _, SectionIndex, elf};

use super::mini_debug_info::{MINI_DEBUG_INFO, unpack_mini_debug_info};
use crate::Error;
use crate::error::parser_says;
use crate::ranges::RangeMap;

/// A function or variable symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Symbol {
    /// The start: a link-time address, or a section offset in a relocatable object.
    pub start: u64,
    /// The address after the last byte. Equal to `start` if the symbol has no size.
    pub end: u64,
    /// The symbol's index in its table, which identifies it in the image.
    pub index: u32,
    /// The offset of the name in the string table.
    pub(super) name: u32,
    /// The section index in a relocatable object, otherwise 0.
    section: u32,
    /// The symbol type (`STT_*`).
    kind: u8,
    /// The symbol binding (`STB_*`).
    pub(super) bind: u8,
}

impl Symbol {
    /// Whether the symbol is weak. Several object files can each contain a copy of a weak function,
    /// and the linker keeps one of them.
    #[must_use]
    pub(crate) fn is_weak(&self) -> bool {
        self.bind == elf::STB_WEAK
    }

    /// Whether the symbol is global.
    pub(crate) fn is_global(&self) -> bool {
        self.bind == elf::STB_GLOBAL
    }

    /// Whether the symbol is an indirect function (`STT_GNU_IFUNC`): the code at its address
    /// returns the address of the function.
    pub(crate) fn is_indirect(&self) -> bool {
        self.kind == elf::STT_GNU_IFUNC
    }

    /// The size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether the symbol type is a function type.
    pub(super) fn is_function(&self) -> bool {
        matches!(self.kind, elf::STT_FUNC | elf::STT_GNU_IFUNC)
    }

    /// Whether the symbol names code. The kernel's assembly code that is not entered by a call
    /// (`SYM_CODE_START`) has a size but no type.
    pub(super) fn is_code(&self) -> bool {
        self.is_function() || self.kind == elf::STT_NOTYPE && self.size() > 0
    }

    pub(super) fn is_variable(&self) -> bool {
        self.kind == elf::STT_OBJECT
    }

    fn section(&self) -> Option<SectionIndex> {
        (self.section != 0).then_some(SectionIndex(self.section as usize))
    }

    /// The functions and variables of a table, in its order.
    fn all<Elf: FileHeader<Endian = Endianness>>(
        file: &ElfFile<'_, Elf>,
        table: &ElfSymbolTable<'_, Elf>,
    ) -> Vec<Self> {
        let endian = file.endian();
        let header = file.elf_header();
        let is_relocatable = header.e_type(endian) == elf::ET_REL;
        // The low bit of a function's value marks Thumb code (AAELF32 5.5.3).
        let mask = if header.e_machine(endian) == elf::EM_ARM { !1 } else { !0 };
        let mut symbols = Vec::with_capacity(table.len());
        for (index, symbol) in table.enumerate() {
            let kind = symbol.st_type();
            let size: u64 = symbol.st_size(endian).into();
            let is_kept = match kind {
                elf::STT_FUNC | elf::STT_GNU_IFUNC | elf::STT_OBJECT => true,
                elf::STT_NOTYPE => size > 0,
                _ => false,
            };
            let (true, Ok(index_in_table)) = (is_kept, u32::try_from(index.0)) else { continue };
            let Ok(Some(section)) = table.symbol_section(endian, symbol, index) else { continue };
            let section = if is_relocatable { u32::try_from(section.0).unwrap_or(0) } else { 0 };
            let start = Into::<u64>::into(symbol.st_value(endian)) & mask;
            let (end, name, bind) = (start.saturating_add(size), symbol.st_name(endian), symbol.st_bind());
            symbols.push(Self { start, end, index: index_in_table, name, section, kind, bind });
        }
        symbols
    }
}

/// Where the names of symbols are.
#[derive(Debug)]
pub(super) enum SymbolStrings {
    /// In this range of the file.
    File(Range<usize>),
    /// In these bytes: they are from several string tables.
    Joined(Vec<u8>),
}

/// The functions and variables of `.symtab`. If the image is stripped, those of `.dynsym` and of
/// `.gnu_debugdata`.
#[derive(Debug)]
pub(super) struct SymbolTable {
    pub(super) names: SymbolStrings,
    /// The symbols, sorted by section, address and index.
    pub(super) symbols: Vec<Symbol>,
    /// Whether the image is stripped. Then functions may be missing: `.gnu_debugdata` usually leaves
    /// out the weak ones.
    pub(super) is_stripped: bool,
    /// Why `.gnu_debugdata` was not read; `None` if it was, or if it was not needed.
    pub(super) problem: Option<Error>,
    pub(super) functions: OnceLock<ByAddress>,
    pub(super) variables: OnceLock<ByAddress>,
}

/// The symbol for each address, as an index into [`SymbolTable::symbols`]. The key is the section
/// in a relocatable object, otherwise `None`.
pub(super) type ByAddress = HashMap<Option<SectionIndex>, RangeMap<u32>>;

impl SymbolTable {
    /// The table of an image without symbols.
    pub(super) fn empty() -> Self {
        Self::new(SymbolStrings::File(0..0), Vec::new(), false, None)
    }

    fn new(names: SymbolStrings, mut symbols: Vec<Symbol>, is_stripped: bool, problem: Option<Error>) -> Self {
        symbols.shrink_to_fit();
        symbols.sort_unstable_by_key(|symbol| (symbol.section, symbol.start, symbol.index));
        Self { names, symbols, is_stripped, problem, functions: OnceLock::new(), variables: OnceLock::new() }
    }

    pub(super) fn of<Elf: FileHeader<Endian = Endianness>>(file: &ElfFile<'_, Elf>, data: &[u8]) -> Self {
        let table = file.elf_symbol_table();
        if !table.is_empty() {
            return Self::new(SymbolStrings::File(strings_of(file, table)), Symbol::all(file, table), false, None);
        }
        let table = file.elf_dynamic_symbol_table();
        let (strings, mut symbols) = (strings_of(file, table), Symbol::all(file, table));
        let section = file.section_by_name_bytes(MINI_DEBUG_INFO.as_bytes());
        let stripped = |symbols, problem| Self::new(SymbolStrings::File(strings.clone()), symbols, true, problem);
        let Some(section) = section else { return stripped(symbols, None) };
        let malformed = |error| Error::Section { section: MINI_DEBUG_INFO.to_owned(), what: parser_says(error) };
        let read = section.data().map_err(malformed).and_then(unpack_mini_debug_info).and_then(|bytes| {
            let mini = ElfFile::<'_, Elf>::parse(&*bytes).map_err(malformed)?;
            let table = mini.elf_symbol_table();
            let names = bytes.get(strings_of(&mini, table)).unwrap_or_default().to_vec();
            Ok((names, Symbol::all(&mini, table)))
        });
        let (mut names, mut more) = match read {
            Ok(read) => read,
            Err(problem) => return stripped(symbols, Some(problem)),
        };
        // Names and indexes of the dynamic symbols follow those of the others.
        let indexes = more.iter().map(|symbol| symbol.index).max().map_or(0, |last| last.saturating_add(1));
        let start = u32::try_from(names.len()).unwrap_or(u32::MAX);
        for symbol in &mut symbols {
            symbol.name = symbol.name.saturating_add(start);
            symbol.index = symbol.index.saturating_add(indexes);
        }
        names.extend_from_slice(data.get(strings).unwrap_or_default());
        more.append(&mut symbols);
        Self::new(SymbolStrings::Joined(names), more, true, None)
    }

    /// Maps each address to one of the selected symbols. A symbol without a size (assembly without
    /// `.size`, crt's `frame_dummy`) contains its first byte only, because a function whose symbol
    /// was stripped may follow it.
    pub(super) fn by_address(&self, is_meant: impl Fn(&Symbol) -> bool) -> ByAddress {
        let mut sections: HashMap<Option<SectionIndex>, Vec<_>> = HashMap::new();
        for (index, symbol) in (0u32..).zip(&self.symbols).filter(|(_, symbol)| is_meant(symbol)) {
            let has_size = symbol.size() > 0;
            let end = if has_size { symbol.end } else { symbol.start.saturating_add(1) };
            let bind = match symbol.bind {
                elf::STB_GLOBAL => 2u8,
                elf::STB_WEAK => 1,
                _ => 0,
            };
            // The greatest rank wins.
            let rank = (symbol.start, has_size, bind, Reverse(symbol.index));
            sections.entry(symbol.section()).or_default().push((symbol.start..end, rank, index));
        }
        sections.into_iter().map(|(section, symbols)| (section, RangeMap::new(&symbols))).collect()
    }
}

/// The file range of a symbol table's string table.
pub(super) fn strings_of<Elf: FileHeader<Endian = Endianness>>(
    file: &ElfFile<'_, Elf>,
    table: &ElfSymbolTable<'_, Elf>,
) -> Range<usize> {
    let range = || {
        let section = file.elf_section_table().section(table.string_section()).ok()?;
        let (start, size) = section.file_range(file.endian())?;
        Some(usize::try_from(start).ok()?..usize::try_from(start.checked_add(size)?).ok()?)
    };
    range().unwrap_or_default()
}
