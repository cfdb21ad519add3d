//! Functions that one symbol names, for consumers that tell a place by symbol and offset.

use std::collections::HashMap;

use crate::address::Vaddr;
use crate::image::Image;
use crate::image::symbols::Symbols;

/// The functions of an image, and how many symbols there are of each name.
pub(super) struct FunctionNames<'data> {
    symbols: Symbols<'data>,
    count: HashMap<&'data [u8], u32>,
}

impl<'data> FunctionNames<'data> {
    pub(super) fn of(bytes: &'data [u8]) -> Result<Self, String> {
        let image = Image::parse(bytes).map_err(|error| error.to_string())?;
        let symbols = Symbols::functions(&image);
        let mut count: HashMap<&[u8], u32> = HashMap::new();
        for (_, symbol) in symbols.all() {
            *count.entry(symbols.name(&symbol)).or_default() += 1;
        }
        Ok(Self { symbols, count })
    }

    /// Whether a symbol holds an address.
    pub(super) fn holds(&self, address: Vaddr) -> bool {
        self.symbols.at(None, address.0).is_some()
    }

    /// The symbol that holds an address, and how far into it that is; why it cannot be told so.
    pub(super) fn unique(&self, address: Vaddr) -> Result<(&'data str, u64), String> {
        let symbol = self.symbols.at(None, address.0).ok_or("no symbol holds it")?;
        let name = std::str::from_utf8(self.symbols.name(&symbol)).unwrap_or_default();
        let is_plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '$' | '.');
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(
                "its function's symbol has a name with other characters than letters, digits, `_`, `$` and `.`"
                    .to_owned(),
            );
        }
        if self.count.get(name.as_bytes()).copied().unwrap_or(0) != 1 {
            return Err(format!("several functions are called {name}"));
        }
        let offset = address.0.checked_sub(symbol.start).ok_or("no symbol holds it")?;
        Ok((name, offset))
    }
}
