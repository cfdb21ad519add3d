//! Function symbols, for consumers that name a place by symbol and offset.

use std::collections::HashMap;

use super::{ExportError, SiteOmission, Tool};
use crate::address::Vaddr;
use crate::demangle::demangle;
use crate::image::Image;

/// The function symbols of an image, and how many there are of each name.
pub(super) struct FunctionNames<'data> {
    image: Image<'data>,
    count: HashMap<&'data [u8], u32>,
}

impl<'data> FunctionNames<'data> {
    pub(super) fn of(bytes: &'data [u8]) -> Result<Self, ExportError> {
        let image = Image::parse(bytes).map_err(ExportError::Unreadable)?;
        let symbols = image.functions();
        let mut count: HashMap<&[u8], u32> = HashMap::new();
        for (_, symbol) in symbols.all() {
            *count.entry(symbols.name(&symbol)).or_default() += 1;
        }
        Ok(Self { image, count })
    }

    /// Whether a symbol covers an address.
    pub(super) fn holds(&self, address: Vaddr) -> bool {
        self.image.functions().at(None, address.0).is_some()
    }

    /// The `main` of a Rust program, as its debug information names it (`server::main`), and its
    /// address; `None` if there is none, or several.
    pub(super) fn rust_main(&self) -> Option<(String, Vaddr)> {
        let symbols = self.image.functions();
        let is_main = |name: &[u8]| {
            (name.starts_with(b"_ZN") || name.starts_with(b"_R")) && name.windows(5).any(|it| it == b"4main")
        };
        let is_path = |name: &str| {
            let path = name.strip_suffix("::main");
            path.is_some_and(|path| !path.is_empty() && path.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_'))
        };
        let mains = symbols.all().filter(|(_, symbol)| is_main(symbols.name(symbol)));
        let mut mains = mains.map(|(_, symbol)| (demangle(symbols.name(&symbol)), Vaddr(symbol.start)));
        let mut mains = mains.by_ref().filter(|(name, _)| is_path(name));
        let found = mains.next()?;
        mains.next().is_none().then_some(found)
    }

    /// The only symbol that covers an address, and the offset in it; why `tool` cannot be given one.
    pub(super) fn unique(&self, address: Vaddr, tool: Tool) -> Result<(&'data str, u64), SiteOmission> {
        let symbols = self.image.functions();
        let symbol = symbols.at(None, address.0).ok_or(SiteOmission::NoSymbol(tool))?;
        let name = std::str::from_utf8(symbols.name(&symbol)).unwrap_or_default();
        let is_plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '$' | '.');
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(SiteOmission::SymbolName(tool));
        }
        if self.count.get(name.as_bytes()).copied().unwrap_or(0) != 1 {
            return Err(SiteOmission::AmbiguousSymbol(tool, name.to_owned()));
        }
        let offset = address.0.checked_sub(symbol.start).ok_or(SiteOmission::NoSymbol(tool))?;
        Ok((name, offset))
    }
}
