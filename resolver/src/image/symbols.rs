//! The functions and variables that symbols name (gABI "Symbol Table"): which one holds an address.
//!
//! Read only when a site has to be named. Of the symbols that hold an address the innermost counts, and of those that start at
//! one address the one with a size, then global before weak before local, then the first in the table.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use object::read::elf::{ElfFile, FileHeader, SectionHeader, Sym as _, SymbolTable};
use object::{Endianness, Object as _, ObjectSymbol as _, SectionIndex, SymbolIndex, elf};

use super::Image;
use crate::ranges::RangeMap;

/// The longest symbol name that is read, in bytes. C++ and Rust reach a few thousand.
const WINDOW: usize = 16 << 10;

/// A function or variable as a symbol has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Symbol {
    /// The symbol's index in its table: its identity in the image.
    pub symbol: usize,
    /// Where it starts: a link-time address, or in a relocatable object an offset in its section.
    pub start: u64,
    /// The address after its last byte; `start` where the symbol has no size.
    pub end: u64,
    /// Whether it is weak: so are the functions of which several files have a copy and the linker keeps one.
    pub is_weak: bool,
    /// Where the name starts in the string table.
    name: u32,
}

/// The functions of an image, or its variables.
#[derive(Debug)]
pub struct Symbols<'data> {
    strings: &'data [u8],
    /// By section in a relocatable object, else all under `None`.
    by_section: HashMap<Option<SectionIndex>, RangeMap<Symbol>>,
}

impl<'data> Symbols<'data> {
    /// The functions of `.symtab`, or of `.dynsym` where the image was stripped.
    #[must_use]
    pub fn functions(image: &Image<'data>) -> Self {
        // What the kernel writes in assembly and is entered otherwise than by a call (SYM_CODE_START) has a size and no type.
        Self::of(image, |kind, has_size| match kind {
            elf::STT_FUNC | elf::STT_GNU_IFUNC => true,
            elf::STT_NOTYPE => has_size,
            _ => false,
        })
    }

    /// The functions of a linked image of which several symbols have one address, by that; and whether there is a local one among all.
    pub(crate) fn sharing(image: &Image<'data>) -> Sharing<'data> {
        match &image.elf {
            object::File::Elf32(elf) => Sharing::of_elf(elf),
            object::File::Elf64(elf) => Sharing::of_elf(elf),
            _ => Sharing::default(),
        }
    }

    /// The variables of `.symtab`, or of `.dynsym` where the image was stripped.
    #[must_use]
    pub fn variables(image: &Image<'data>) -> Self {
        Self::of(image, |kind, _| kind == elf::STT_OBJECT)
    }

    /// The addresses of the functions of some names, mangled; of several of one name the first in the table. Whichever symbol is best at an
    /// address, all of them are looked at: where a linker made one of two functions, both names stand at its address.
    #[must_use]
    pub fn functions_named<'n>(image: &Image<'data>, names: &HashSet<&'n [u8]>) -> HashMap<&'n [u8], u64> {
        let longest = names.iter().map(|name| name.len()).max().unwrap_or(0).min(WINDOW);
        let mut found = HashMap::new();
        for symbol in image.elf.symbols().filter(|symbol| symbol.kind() == object::SymbolKind::Text) {
            let (Ok(bytes), Some(_)) = (symbol.name_bytes(), symbol.section_index()) else { continue };
            if let Some(name) = Some(bytes).filter(|name| name.len() <= longest).and_then(|name| names.get(name)) {
                found.entry(*name).or_insert(symbol.address());
            }
        }
        found
    }

    fn of(image: &Image<'data>, is_meant: impl Fn(u8, bool) -> bool) -> Self {
        match &image.elf {
            object::File::Elf32(elf) => Self::of_elf(elf, is_meant),
            object::File::Elf64(elf) => Self::of_elf(elf, is_meant),
            _ => Self { strings: &[], by_section: HashMap::new() },
        }
    }

    /// The one that holds `address` (in `section`, which counts in relocatable objects only).
    #[must_use]
    pub fn at(&self, section: Option<SectionIndex>, address: u64) -> Option<Symbol> {
        self.by_section.get(&section)?.get(address)
    }

    /// The one that ends at `address`: a marker after a call that does not return stands there.
    #[must_use]
    pub fn ending_at(&self, section: Option<SectionIndex>, address: u64) -> Option<Symbol> {
        let before = self.by_section.get(&section)?.get(address.checked_sub(1)?)?;
        (before.end == address).then_some(before)
    }

    /// The name as the symbol has it, mangled.
    #[must_use]
    pub fn name(&self, function: &Symbol) -> &'data [u8] {
        name_at(self.strings, function.name)
    }

    /// All of them, of one address one: the section in a relocatable object, and the symbol.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Option<SectionIndex>, Symbol)> {
        let starts = |symbol: &Symbol, at: u64| symbol.start == at;
        self.by_section.iter().flat_map(move |(section, symbols)| {
            symbols.starts().filter(move |(at, symbol)| starts(symbol, *at)).map(|(_, symbol)| (*section, symbol))
        })
    }

    fn of_elf<Elf: FileHeader<Endian = Endianness>>(
        file: &ElfFile<'data, Elf>,
        is_meant: impl Fn(u8, bool) -> bool,
    ) -> Self {
        let endian = file.endian();
        let header = file.elf_header();
        let is_relocatable = header.e_type(endian) == elf::ET_REL;
        let mask = address_mask(file);
        let table = match file.elf_symbol_table() {
            table if table.is_empty() => file.elf_dynamic_symbol_table(),
            table => table,
        };
        let strings = strings_of(file, table);
        let mut sections: HashMap<Option<SectionIndex>, Vec<_>> = HashMap::new();
        for (index, symbol) in table.enumerate() {
            if !is_meant(symbol.st_type(), Into::<u64>::into(symbol.st_size(endian)) != 0) {
                continue;
            }
            let Ok(Some(section)) = table.symbol_section(endian, symbol, index) else { continue };
            let start = Into::<u64>::into(symbol.st_value(endian)) & mask;
            let end = start.saturating_add(symbol.st_size(endian).into());
            let is_weak = symbol.st_bind() == elf::STB_WEAK;
            let function = Symbol { symbol: index.0, start, end, is_weak, name: symbol.st_name(endian) };
            let rank = rank(symbol.st_bind(), index);
            sections.entry(is_relocatable.then_some(section)).or_default().push((function, rank));
        }
        let by_section = sections.into_iter().map(|(section, functions)| (section, ranges(functions))).collect();
        Self { strings, by_section }
    }
}

/// The functions that have an address in common.
#[derive(Debug, Default)]
pub(crate) struct Sharing<'data> {
    /// By address, two or more each.
    pub(crate) groups: HashMap<u64, Vec<Sharer<'data>>>,
    /// Where functions start, and their sizes.
    pub(crate) starts: HashMap<u64, u64>,
    /// The names of all.
    pub(crate) names: HashSet<&'data [u8]>,
    /// Whether there are local functions in `.symtab`: they are of all programs with the startup files of a C compiler, unless somebody took
    /// them out.
    pub(crate) has_local: bool,
}

/// One of several functions at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sharer<'data> {
    pub(crate) name: &'data [u8],
    pub(crate) size: u64,
    /// Whether it stands for what the function there returns (`STT_GNU_IFUNC`), and so has its address from its source.
    pub(crate) is_indirect: bool,
}

impl<'data> Sharing<'data> {
    fn of_elf<Elf: FileHeader<Endian = Endianness>>(file: &ElfFile<'data, Elf>) -> Self {
        let (endian, mask) = (file.endian(), address_mask(file));
        let table = file.elf_symbol_table();
        let strings = strings_of(file, table);
        let mut all = Vec::new();
        let mut has_local = false;
        for (index, symbol) in table.enumerate() {
            let kind = symbol.st_type();
            let is_function = matches!(kind, elf::STT_FUNC | elf::STT_GNU_IFUNC);
            if !is_function || !matches!(table.symbol_section(endian, symbol, index), Ok(Some(_))) {
                continue;
            }
            has_local |= symbol.st_bind() == elf::STB_LOCAL;
            let start = Into::<u64>::into(symbol.st_value(endian)) & mask;
            all.push((start, index.0, symbol.st_name(endian), symbol.st_size(endian).into(), kind));
        }
        all.sort_unstable();
        let mut groups = HashMap::new();
        for group in all.chunk_by(|one, other| one.0 == other.0).filter(|group| group.len() > 1) {
            let sharer = |&(_, _, name, size, kind): &_| Sharer {
                name: name_at(strings, name),
                size,
                is_indirect: kind == elf::STT_GNU_IFUNC,
            };
            groups.extend(group.first().map(|first| (first.0, group.iter().map(sharer).collect())));
        }
        let names = all.iter().map(|it| name_at(strings, it.2)).collect();
        Self { groups, starts: all.iter().map(|it| (it.0, it.3)).collect(), names, has_local }
    }
}

/// The bits of a symbol's value that are its address: the low one of a function's says Thumb (AAELF32 5.5.3).
fn address_mask<Elf: FileHeader<Endian = Endianness>>(file: &ElfFile<'_, Elf>) -> u64 {
    if file.elf_header().e_machine(file.endian()) == elf::EM_ARM { !1 } else { !0 }
}

/// The names of a table's symbols.
fn strings_of<'data, Elf: FileHeader<Endian = Endianness>>(
    file: &ElfFile<'data, Elf>,
    table: &SymbolTable<'data, Elf>,
) -> &'data [u8] {
    let section = file.elf_section_table().section(table.string_section());
    section.and_then(|section| SectionHeader::data(section, file.endian(), file.data())).unwrap_or_default()
}

fn name_at(strings: &[u8], at: u32) -> &[u8] {
    let rest = strings.get(at as usize..).unwrap_or_default();
    let window = rest.get(..WINDOW).unwrap_or(rest);
    window.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// Greater is better.
type Rank = (u8, Reverse<usize>);

fn rank(bind: u8, index: SymbolIndex) -> Rank {
    let bind = match bind {
        elf::STB_GLOBAL => 2,
        elf::STB_WEAK => 1,
        _ => 0,
    };
    (bind, Reverse(index.0))
}

/// The map of functions. One without a size (assembly without `.size`, crt's `frame_dummy`) holds its first byte: it may well go
/// on, but so may a function whose symbol was stripped begin there.
fn ranges(functions: Vec<(Symbol, Rank)>) -> RangeMap<Symbol> {
    let range = |(mut function, rank): (Symbol, Rank)| {
        let sized = function.end > function.start;
        let end = if sized { function.end } else { function.start.saturating_add(1) };
        // So that what follows its first byte is not taken for what follows its last.
        function.end = if sized { end } else { function.start };
        (function.start..end, (function.start, sized, rank), function)
    };
    RangeMap::new(&functions.into_iter().map(range).collect::<Vec<_>>())
}
