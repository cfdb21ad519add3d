//! Thread-local variables whose locations compilers leave out: gcc 12 and clang 14 do so on processors
//! for which they know no relocation for them. The symbol table has them.

use gimli::constants as dw;

use super::locations::Locations;
use super::unit::Die;
use crate::error::Error;
use crate::image::ThreadLocalSymbol;
use crate::location::{Expr, Location, Node, Source};

impl Locations<'_> {
    /// The location of a variable for which the debug information has none; `None` if it is not certain
    /// that a symbol is that of the variable.
    ///
    /// A variable has no location either if it was removed. So the name alone is not enough: a symbol
    /// that is local must be of the unit's file.
    pub(super) fn thread_local_by_symbol(&self, variable: Die) -> Result<Option<Location>, Error> {
        let symbols = self.units.sections.thread_locals();
        if symbols.is_empty() || self.units.tag(variable)? != dw::DW_TAG_variable {
            return Ok(None);
        }
        let named = |name: &[u8]| match symbols.get(name).map(Vec::as_slice) {
            Some([one]) => Some(one),
            _ => None,
        };
        let location = |symbol: &ThreadLocalSymbol| {
            let address = Expr::new(Node::ThreadLocal(Expr::constant(symbol.offset)))?;
            Some(Location::whole(Source::Memory(address)))
        };
        if let Some(name) = self.units.string(variable, dw::DW_AT_linkage_name)? {
            return Ok(named(&name).and_then(location));
        }
        let Some(symbol) = self.units.name(variable)?.and_then(|name| named(&name)) else { return Ok(None) };
        let is_external = self.units.flag(variable, dw::DW_AT_external)?;
        let is_it = match &symbol.file {
            None => is_external,
            Some(file) => !is_external && self.is_of_unit(variable)? && self.is_only_unit_of(variable.unit, file)?,
        };
        Ok(location(symbol).filter(|_| is_it))
    }

    /// Whether a variable is directly in its unit, and so neither in a function nor in a namespace.
    fn is_of_unit(&self, variable: Die) -> Result<bool, Error> {
        let children = self.units.children(self.units.root(variable.unit)?)?;
        self.units.charge(children.len() as u64)?;
        Ok(children.iter().any(|(child, _)| *child == variable))
    }

    /// Whether a unit is the only one of a source file with this name, as symbols have it: without folders.
    fn is_only_unit_of(&self, unit: usize, file: &[u8]) -> Result<bool, Error> {
        let mut units = Vec::new();
        for other in self.units.compiled_units() {
            self.units.charge(1)?;
            let path = self.units.name(self.units.root(other)?)?.unwrap_or_default();
            if path.rsplit(|byte| *byte == b'/').next() == Some(file) {
                units.push(other);
            }
        }
        Ok(units == [unit])
    }
}
