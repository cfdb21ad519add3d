//! What wrote a unit, and with which options (`DW_AT_producer`; DWARF 5, 3.1.1).

use std::borrow::Cow;

use gimli::constants as dw;

use super::debug_info::DebugInfo;
use super::types::Types;
use super::unit::Die;
use crate::Error;
use crate::rates::Compiler;

/// What wrote a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Producer {
    /// gcc, in any language but Rust.
    Gcc,
    /// A compiler of Rust.
    Rust,
    /// Another compiler.
    Other,
}

/// Whether gcc wrote a row for each statement of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frontiers {
    /// It did, as far as is known.
    Written,
    /// It did not optimise the unit.
    Unoptimized,
    /// Its options switch them off.
    Off,
    /// It described lines only, without such rows (`-g1`).
    LinesOnly,
}

impl DebugInfo<'_> {
    /// What wrote a unit.
    pub(crate) fn producer(&self, unit: usize) -> Producer {
        match self.units.unit_language(unit) {
            Some(dw::DW_LANG_Rust) => Producer::Rust,
            _ if self.is_unit_by_gcc(unit) => Producer::Gcc,
            _ => Producer::Other,
        }
    }

    /// The compiler of an entry; `None` if it is none of those whose values were measured.
    pub(crate) fn compiler(&self, die: Die) -> Option<Compiler> {
        let is_clang = |text: Cow<'_, [u8]>| text.windows(5).any(|part| part == b"clang");
        match self.producer(die.unit) {
            Producer::Gcc => Some(Compiler::Gcc),
            Producer::Rust => Some(Compiler::Rustc),
            Producer::Other => self.producer_text(die.unit).is_some_and(is_clang).then_some(Compiler::Clang),
        }
    }

    fn is_unit_by_gcc(&self, unit: usize) -> bool {
        self.producer_text(unit).is_some_and(|producer| producer.starts_with(b"GNU "))
    }

    fn producer_text(&self, unit: usize) -> Option<Cow<'_, [u8]>> {
        self.units.string(self.units.root(unit).ok()?, dw::DW_AT_producer).ok()?
    }

    /// Whether gcc wrote a row for each statement of a unit, as its options say (`DW_AT_producer`).
    pub(crate) fn frontiers(&self, unit: usize) -> Frontiers {
        self.producer_text(unit).map_or(Frontiers::Written, |producer| frontiers_of(&producer))
    }
}

impl Types<'_> {
    /// The minor version of the rustc that wrote a unit: 95 for 1.95. `None` if rustc 1 did not write it.
    pub(super) fn rustc_minor(&self, unit: usize) -> Result<Option<u32>, Error> {
        let producer = self.units.string(self.units.root(unit)?, dw::DW_AT_producer)?;
        Ok(producer.and_then(|producer| rustc_minor_of(&producer)))
    }
}

/// The minor version in a producer: `clang LLVM (rustc version 1.95.0 (59807616e 2026-04-14))`.
fn rustc_minor_of(producer: &[u8]) -> Option<u32> {
    let producer = std::str::from_utf8(producer).ok()?;
    let (_, version) = producer.split_once("rustc version 1.")?;
    version.split('.').next()?.parse().ok()
}

/// What the options in a producer of gcc say. The last option of a kind counts.
fn frontiers_of(producer: &[u8]) -> Frontiers {
    let (mut is_optimized, mut says) = (None, None);
    let (mut has_options, mut is_brief) = (false, false);
    for word in producer.split(|byte| *byte == b' ') {
        has_options |= word.starts_with(b"-");
        match word {
            b"-O0" => is_optimized = Some(false),
            b"-g1" | b"-ggdb1" => is_brief = true,
            b"-g" | b"-g2" | b"-g3" | b"-ggdb" | b"-ggdb2" | b"-ggdb3" => is_brief = false,
            b"-gstatement-frontiers" => says = Some(true),
            b"-gno-statement-frontiers" => says = Some(false),
            // gcc writes none with them.
            b"-fselective-scheduling" | b"-fselective-scheduling2" => says = says.or(Some(false)),
            _ if word.starts_with(b"-O") => is_optimized = Some(true),
            _ => {}
        }
    }
    match (says, is_optimized) {
        (Some(true), _) => Frontiers::Written,
        (_, Some(false)) => Frontiers::Unoptimized,
        (_, None) if has_options => Frontiers::Unoptimized,
        (Some(false), _) => Frontiers::Off,
        _ if is_brief => Frontiers::LinesOnly,
        _ => Frontiers::Written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_producer_says_which_rustc_it_was() {
        for (producer, expected) in [
            ("clang LLVM (rustc version 1.95.0 (59807616e 2026-04-14))", Some(95)),
            ("clang LLVM (rustc version 1.97.0-nightly (e50aa6fba 2026-05-19))", Some(97)),
            ("clang LLVM (rustc version 1.)", None),
            ("GNU C17 12.2.0", None),
        ] {
            assert_eq!(rustc_minor_of(producer.as_bytes()), expected, "{producer}");
        }
    }

    #[test]
    fn options_say_whether_statements_have_rows() {
        for (producer, expected) in [
            ("GNU C17 12.2.0", Frontiers::Written),
            ("GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -O2", Frontiers::Written),
            ("GNU C17 12.2.0 -g -Og -fpic", Frontiers::Written),
            ("GNU GIMPLE 12.2.0 -g -Os -flto", Frontiers::Written),
            ("GNU C17 12.2.0 -mtune=generic -march=x86-64 -g", Frontiers::Unoptimized),
            ("GNU C17 12.2.0 -g -O2 -O0", Frontiers::Unoptimized),
            ("GNU C17 12.2.0 -g -gstatement-frontiers", Frontiers::Written),
            ("GNU C17 12.2.0 -gno-statement-frontiers -O2", Frontiers::Off),
            ("GNU C17 12.2.0 -O2 -fselective-scheduling2", Frontiers::Off),
            ("GNU C17 12.2.0 -g -g1 -O2", Frontiers::LinesOnly),
            ("GNU C17 12.2.0 -g1 -g -O2", Frontiers::Written),
        ] {
            assert_eq!(frontiers_of(producer.as_bytes()), expected, "{producer}");
        }
    }
}
