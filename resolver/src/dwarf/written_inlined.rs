//! Inlined functions that may write a variable through a pointer that the optimiser removed.

use std::collections::BTreeSet;
use std::ops::Range;

use gimli::constants as dw;

use super::DebugInfo;
use super::functions::Kind;
use super::types::TypeRef;
use super::unit::Die;
use crate::Error;

impl DebugInfo<'_> {
    /// Whether a function is inlined in an instance of another one with code in a range, and lost a
    /// parameter that is a pointer to the type of a variable, and not to constants.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(crate) fn lost_pointer_to(&self, variable: Die, function: Die, range: &Range<u64>) -> Result<bool, Error> {
        let Some(of) = self.types.type_of(variable)? else { return Ok(false) };
        let Some(of) = self.types.strip(of)? else { return Ok(false) };
        let functions = self.scopes.functions.of_unit(function.unit)?;
        let Some(start) = functions.at_offset(function.offset) else { return Ok(false) };
        let is_inside = |code: &Range<u64>| code.start < range.end && range.start < code.end;
        for at in functions.below(start) {
            self.units.charge(1)?;
            let Some(node) = functions.node(at).filter(|node| node.kind == Kind::Inlined) else { continue };
            if !functions.ranges(at).iter().any(is_inside) {
                continue;
            }
            let die = Die { unit: function.unit, offset: node.offset };
            let Some(origin) = self.units.own_attribute(die, dw::DW_AT_abstract_origin)? else { continue };
            let origin = self.units.reference(die, &origin)?;
            let of_abstract = self.scopes.functions.of_unit(origin.unit)?;
            let Some(node) = of_abstract.at_offset(origin.offset) else { continue };
            let placed = self.scopes.functions.variables(function.unit, at)?;
            let placed: BTreeSet<Die> = placed.iter().map(|variable| variable.origin).collect();
            for parameter in self.scopes.functions.variables(origin.unit, node)?.iter() {
                self.units.charge(1)?;
                if !placed.contains(&parameter.die)
                    && self.is_parameter(parameter.die)
                    && self.points_to(parameter.die, of)?
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether a variable is a pointer or a reference to a type, through which that may be written.
    fn points_to(&self, variable: Die, of: TypeRef) -> Result<bool, Error> {
        let Some(pointer) = self.types.type_of(variable)? else { return Ok(false) };
        let Some(pointer) = self.types.strip(pointer)? else { return Ok(false) };
        if !matches!(self.units.tag(pointer.die)?, dw::DW_TAG_pointer_type | dw::DW_TAG_reference_type) {
            return Ok(false);
        }
        let Some(behind) = self.types.type_of(pointer.die)? else { return Ok(false) };
        // In Rust, the name says what may be written.
        let name = self.types.type_name(Some(pointer))?;
        let is_constant = self.units.tag(behind.die)? == dw::DW_TAG_const_type
            || (name.starts_with('&') && !name.starts_with("&mut "));
        Ok(!is_constant && self.types.strip(behind)? == Some(of))
    }
}
