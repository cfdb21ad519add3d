//! The frames of the kernel's stack at a hit, with the names that `/proc/kallsyms` has.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value as Json, json};
use simple_markers_events::{KernelNames, Names as _, Source};
use simple_markers_resolver::text::shown;

use crate::console::Console;

/// Names frames of the kernel.
pub(crate) struct KernelFrames {
    names: KernelNames,
    /// How many frames nothing names.
    unnamed: u64,
}

impl KernelFrames {
    pub(crate) fn new() -> Self {
        let names = KernelNames::new(Box::new(|source| match source {
            Source::Symbols => fs::read("/proc/kallsyms").ok(),
            Source::Types | Source::Texts | Source::Variables => None,
        }));
        Self { names, unnamed: 0 }
    }

    /// Appends the frames of a stack, one a line.
    pub(crate) fn write(&mut self, addresses: impl Iterator<Item = u64>, indent: &str, out: &mut String) {
        for address in addresses.filter(|address| *address > 0) {
            // Writing to a String cannot fail.
            let _ = match self.names.symbol(address) {
                Some(symbol) => {
                    let module = symbol.module.as_deref().unwrap_or("kernel");
                    writeln!(out, "{indent}{}+{:#x} [{}]", shown(&symbol.name), symbol.offset, shown(module))
                }
                None => {
                    self.unnamed += 1;
                    writeln!(out, "{indent}{address:#x} [kernel]")
                }
            };
        }
    }

    /// The frames as JSON.
    pub(crate) fn json(&mut self, addresses: impl Iterator<Item = u64>) -> Json {
        let frame = |address: u64| {
            let symbol = self.names.symbol(address);
            self.unnamed += u64::from(symbol.is_none());
            json!({
                "address": format!("{address:#x}"),
                "function": symbol.as_ref().map(|symbol| &*symbol.name),
                "offset": symbol.as_ref().map(|symbol| symbol.offset),
                "module": symbol.as_ref().and_then(|symbol| symbol.module.as_deref()),
            })
        };
        addresses.filter(|address| *address > 0).map(frame).collect()
    }

    /// Says why frames have no names.
    pub(crate) fn tell(&self, console: &Console) {
        if self.unnamed > 0 {
            let why = match hides_addresses() {
                None => ": /proc/kallsyms cannot be read",
                Some(true) => {
                    ": /proc/kallsyms has no addresses. It takes CAP_SYSLOG, and /proc/sys/kernel/kptr_restrict below 2"
                }
                Some(false) => ": /proc/kallsyms has no symbol there",
            };
            console.note(&format!("{} frames of the kernel have no names{why}", self.unnamed));
        }
    }
}

/// Whether all addresses of the symbols are 0; `None` if nothing can be read.
fn hides_addresses() -> Option<bool> {
    let text = fs::read("/proc/kallsyms").ok().filter(|text| !text.is_empty())?;
    let mut lines = text.split(|byte| *byte == b'\n').take(1000).filter(|line| !line.is_empty());
    Some(lines.all(|line| line.iter().take_while(|byte| **byte != b' ').all(|digit| *digit == b'0')))
}
