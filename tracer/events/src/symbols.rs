//! The symbols of the kernel (`/proc/kallsyms`), and the texts that events point to
//! (`printk_formats`).

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// A symbol of the kernel, and where an address is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// The address minus that of the symbol.
    pub offset: u64,
    /// The size of the symbol in bytes.
    pub size: u64,
    /// The module that it is in; `None` for the kernel itself.
    pub module: Option<Cow<'a, str>>,
}

/// The symbols in the text of `/proc/kallsyms`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols {
    text: String,
    /// Sorted by the address. Of several with one address, the first one of the text is the first.
    entries: Vec<Entry>,
    /// The addresses that have symbols of the kernel itself. Empty if the text does not say it.
    code: Vec<Range<u64>>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    address: u64,
    /// Where the name is in the text.
    name: (u32, u32),
    /// Where the name of the module is; empty for the kernel itself.
    module: (u32, u32),
}

/// A variable of every kernel.
const DATA: &str = "init_task";

impl Symbols {
    /// Reads the text. Without the right to see addresses they are all 0, and there are no symbols.
    #[must_use]
    pub(crate) fn parse(text: String) -> Self {
        let mut entries = Vec::new();
        let mut bounds = [None; 4];
        let mut has_data = false;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let start = at;
            at += line.len();
            let Some(entry) = entry(&text, start, line) else { continue };
            let name = slice(&text, entry.name);
            has_data |= name == DATA;
            if let Some(which) = ["_stext", "_etext", "_sinittext", "_einittext"].iter().position(|of| *of == name) {
                if let Some(bound) = bounds.get_mut(which) {
                    *bound = Some(entry.address);
                }
            }
            entries.push(entry);
        }
        entries.sort_by_key(|entry| entry.address);
        // Without CONFIG_KALLSYMS_ALL the kernel looks only at code.
        let code = match bounds {
            [Some(start), Some(end), first, last] if !has_data => {
                [Some(start..end), first.zip(last).map(|(first, last)| first..last)].into_iter().flatten().collect()
            }
            _ => Vec::new(),
        };
        Self { text, entries, code }
    }

    /// The symbol that contains an address. `None` if there is none.
    #[must_use]
    pub(crate) fn get(&self, address: u64) -> Option<Symbol<'_>> {
        let after = self.entries.partition_point(|entry| entry.address <= address);
        let nearest = self.entries.get(after.checked_sub(1)?)?;
        let first = self.entries.partition_point(|entry| entry.address < nearest.address);
        let entry = self.entries.get(first)?;
        let is_module = entry.module.0 != entry.module.1;
        if !is_module && !self.code.is_empty() && !self.code.iter().any(|range| range.contains(&address)) {
            return None;
        }
        // What is behind the last symbol of the kernel or of a module belongs to nothing.
        let next = self.entries.get(after)?;
        let module = slice(&self.text, entry.module);
        Some(Symbol {
            name: Cow::Borrowed(slice(&self.text, entry.name)),
            offset: address.checked_sub(entry.address)?,
            size: next.address.checked_sub(entry.address)?,
            module: is_module.then_some(Cow::Borrowed(module)),
        })
    }
}

/// `ffffffff81000000 T _stext`, and in a module with a tab and `[name]`.
fn entry(text: &str, start: usize, line: &str) -> Option<Entry> {
    let (address, rest) = line.split_once(' ')?;
    let address = u64::from_str_radix(address, 16).ok().filter(|address| *address != 0)?;
    let (_, rest) = rest.split_once(' ')?;
    let (name, module) = rest.split_once('\t').unwrap_or((rest, ""));
    let place = |part: &str| {
        // The part is in the text.
        let offset = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize).filter(|offset| *offset >= start)?;
        let end = offset.checked_add(part.len())?;
        Some((u32::try_from(offset).ok()?, u32::try_from(end).ok()?))
    };
    let module = module.trim().trim_start_matches('[').trim_end_matches(']');
    Some(Entry {
        address,
        name: place(name.trim_end())?,
        module: if module.is_empty() { (0, 0) } else { place(module)? },
    })
}

fn slice(text: &str, range: (u32, u32)) -> &str {
    text.get(range.0 as usize..range.1 as usize).unwrap_or_default()
}

/// The texts in `printk_formats` by their addresses.
#[must_use]
pub(crate) fn texts(printk_formats: &str) -> HashMap<u64, String> {
    let lines = printk_formats.lines().filter_map(|line| {
        let (address, text) = line.split_once(" : ")?;
        let address = u64::from_str_radix(address.trim().strip_prefix("0x")?, 16).ok()?;
        let text = text.strip_prefix('"')?.strip_suffix('"')?;
        // Lines of modules have more between the two.
        Some((address, unescaped(text)))
    });
    lines.collect()
}

/// The kernel writes `\n`, `\t`, `\\` and `\"`.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        out.push(match character {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const KALLSYMS: &str = "\
ffffffff81000000 T first
ffffffff81000000 T _stext
ffffffff81000040 t second
ffffffff81000100 T _etext
ffffffff81000200 T _sinittext
ffffffff81000280 T _einittext
ffffffffc0201000 t in_module\t[a_module]
ffffffffc0201080 t more\t[a_module]
0000000000000000 T hidden
";

    fn shown(symbols: &Symbols, address: u64) -> Option<String> {
        let symbol = symbols.get(address)?;
        let module = symbol.module.map(|module| format!(" [{module}]")).unwrap_or_default();
        Some(format!("{}+{:#x}/{:#x}{module}", symbol.name, symbol.offset, symbol.size))
    }

    #[test]
    fn addresses_have_symbols() {
        let symbols = Symbols::parse(KALLSYMS.to_owned());
        let of = |address| shown(&symbols, address);
        assert_eq!(of(0xffff_ffff_8100_0004).as_deref(), Some("first+0x4/0x40"));
        assert_eq!(of(0xffff_ffff_8100_0040).as_deref(), Some("second+0x0/0xc0"));
        assert_eq!(of(0xffff_ffff_8100_0100), None);
        assert_eq!(of(0xffff_ffff_8100_0201).as_deref(), Some("_sinittext+0x1/0x80"));
        assert_eq!(of(0xffff_ffff_c020_1001).as_deref(), Some("in_module+0x1/0x80 [a_module]"));
        assert_eq!(of(0xffff_ffff_c020_1081), None);
        assert_eq!(of(5), None);
        assert_eq!(shown(&Symbols::parse("0000000000000000 T a\n".to_owned()), 0), None);
        // With data, all addresses have symbols.
        let all = Symbols::parse(format!("{KALLSYMS}ffffffff81000180 D init_task\n"));
        assert_eq!(shown(&all, 0xffff_ffff_8100_0181).as_deref(), Some("init_task+0x1/0x80"));
    }

    #[test]
    fn texts_are_read() {
        let texts = texts("0xffffffff828195af : \"thaw_processes\"\n0x10 : \"a\\n\\\"b\\\\\"\nnonsense\n0x11 : b\n");
        assert_eq!(texts.get(&0xffff_ffff_8281_95af).map(String::as_str), Some("thaw_processes"));
        assert_eq!(texts.get(&0x10).map(String::as_str), Some("a\n\"b\\"));
        assert_eq!(texts.len(), 2);
    }
}
