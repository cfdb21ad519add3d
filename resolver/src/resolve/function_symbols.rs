//! The functions that symbols describe, with the parts that gcc and clang split off as `NAME.cold`
//! and `NAME.cold.N`.
//!
//! Used only for functions that the debug information does not describe. Debug information lists
//! all ranges of a function.

use std::collections::HashMap;
use std::ops::Range;

use crate::address::SectionOffset;
use crate::demangle::demangle;
use crate::image::{Image, Layout};

/// The most cold parts of one function: functions of one name in several files have cold parts of
/// one name.
const PARTS: usize = 16;

/// A function's symbol, in addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct FunctionSymbol<'data> {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) is_cold: bool,
    /// Whether several files may have the function, and the linker keeps one copy: it is weak, or a
    /// part of a weak one (`f.part.0`, which is local).
    pub(super) may_be_in_several: bool,
    name: &'data [u8],
}

/// The symbols of functions: one for each function, by address.
#[derive(Debug)]
pub(super) struct FunctionSymbols<'data> {
    all: Vec<FunctionSymbol<'data>>,
    /// The indices of the cold parts, by the name of their function.
    cold: HashMap<&'data [u8], Vec<usize>>,
    /// Where the function of each of those names starts; `None` if several have the name.
    wholes: HashMap<&'data [u8], Option<u64>>,
}

impl<'data> FunctionSymbols<'data> {
    pub(super) fn of(image: &'data Image<'_>, layout: Option<&Layout>) -> Self {
        let symbols = image.functions();
        let address = |section, offset| match (layout, section) {
            (Some(layout), Some(section)) => Some(layout.address(section, SectionOffset(offset))?.0),
            _ => Some(offset),
        };
        let mut all: Vec<FunctionSymbol<'data>> = symbols
            .all()
            .filter_map(|(section, symbol)| {
                let (start, name) = (address(section, symbol.start)?, symbols.name(&symbol));
                let end = start.saturating_add(symbol.end.saturating_sub(symbol.start));
                let may_be_in_several = symbol.is_weak() || name.contains(&b'.');
                Some(FunctionSymbol { start, end, is_cold: whole(name).is_some(), may_be_in_several, name })
            })
            .collect();
        all.sort_by_key(|symbol| symbol.start);
        let mut cold: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (index, symbol) in all.iter().enumerate() {
            if let Some(name) = whole(symbol.name) {
                cold.entry(name).or_default().push(index);
            }
        }
        let mut wholes: HashMap<&[u8], Option<u64>> = HashMap::new();
        for symbol in all.iter().filter(|symbol| cold.contains_key(symbol.name)) {
            wholes.entry(symbol.name).and_modify(|start| *start = None).or_insert(Some(symbol.start));
        }
        Self { all, cold, wholes }
    }

    fn before(&self, address: u64) -> Option<&FunctionSymbol<'data>> {
        self.all.get(self.all.partition_point(|symbol| symbol.start <= address).checked_sub(1)?)
    }

    /// The function that holds an address.
    pub(super) fn at(&self, address: u64) -> Option<FunctionSymbol<'data>> {
        self.before(address).copied().filter(|symbol| address < symbol.end || address == symbol.start)
    }

    /// The name of the function that starts at an address, demangled.
    pub(super) fn name_at(&self, address: u64) -> Option<String> {
        self.starting_at(address).map(|symbol| demangle(symbol.name))
    }

    /// The function that starts at an address.
    pub(super) fn starting_at(&self, address: u64) -> Option<FunctionSymbol<'data>> {
        self.at(address).filter(|symbol| symbol.start == address)
    }

    /// The name of the function that ends at an address, demangled.
    pub(super) fn ending_at(&self, address: u64) -> Option<String> {
        let symbol = self.before(address.checked_sub(1)?)?;
        (symbol.end == address).then(|| demangle(symbol.name))
    }

    /// Where functions start in a range, without cold parts.
    pub(super) fn inside(&self, range: &Range<u64>) -> impl Iterator<Item = u64> {
        let first = self.all.partition_point(|symbol| symbol.start < range.start);
        let end = range.end;
        let inside = self.all.iter().skip(first).take_while(move |symbol| symbol.start < end);
        inside.filter(|symbol| !symbol.is_cold).map(|symbol| symbol.start)
    }

    /// Where the function of a symbol is entered, which may be the symbol of a cold part; `None` if
    /// several functions have the name.
    pub(super) fn entry_of(&self, symbol: FunctionSymbol<'data>) -> Option<u64> {
        let Some(name) = whole(symbol.name) else { return Some(symbol.start) };
        self.wholes.get(name).copied().flatten()
    }

    /// All ranges of the function that is entered at an address.
    pub(super) fn parts_of(&self, entry: u64) -> Vec<Range<u64>> {
        let Some(hot) = self.starting_at(entry) else { return Vec::new() };
        let cold = self.cold.get(hot.name).into_iter().flatten().filter_map(|&index| self.all.get(index));
        std::iter::once(&hot).chain(cold.take(PARTS)).map(|symbol| symbol.start..symbol.end).collect()
    }
}

/// The name of the function that a cold part belongs to; `None` if the symbol is no cold part.
fn whole(name: &[u8]) -> Option<&[u8]> {
    const COLD: &[u8] = b".cold";
    let at = name.windows(COLD.len()).rposition(|window| window == COLD).filter(|at| *at > 0)?;
    let rest = name.get(at.checked_add(COLD.len())?..)?;
    let is_number = |rest: &[u8]| !rest.is_empty() && rest.iter().all(u8::is_ascii_digit);
    (rest.is_empty() || rest.strip_prefix(b".").is_some_and(is_number)).then(|| name.get(..at))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cold_parts_are_told_by_their_names() {
        for (name, of) in [
            ("f.cold", Some("f")),
            ("f.cold.12", Some("f")),
            ("f.part.0.cold", Some("f.part.0")),
            ("f.colder", None),
            ("f.cold.", None),
            ("f.cold.x", None),
            (".cold", None),
            ("cold", None),
        ] {
            assert_eq!(whole(name.as_bytes()), of.map(str::as_bytes), "{name}");
        }
    }
}
