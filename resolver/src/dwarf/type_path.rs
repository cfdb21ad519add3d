//! The name by which a debugger finds a type.

use gimli::constants as dw;

use super::types::{TypeRef, Types, is_qualifier};
use super::unit::is_cxx;
use crate::Error;
use crate::types::{Language, TypeNotation, TypePath};

impl Types<'_> {
    /// The name of a type with its scopes. `None` if the type has no name, as an array, or if it is declared in
    /// a function, where a debugger looks it up only from the code of that function.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(super) fn type_path(&self, of: TypeRef) -> Result<Option<TypePath>, Error> {
        let is_outer = |tag| tag != dw::DW_TAG_typedef && is_qualifier(tag);
        let Some(TypeRef { die, dimension: 0 }) = self.strip_while(of, is_outer)? else { return Ok(None) };
        let tag = self.units.tag(die)?;
        let is_named = matches!(
            tag,
            dw::DW_TAG_structure_type
                | dw::DW_TAG_class_type
                | dw::DW_TAG_union_type
                | dw::DW_TAG_enumeration_type
                | dw::DW_TAG_base_type
                | dw::DW_TAG_typedef
        );
        let name = self.text_name(die)?;
        if !is_named || name.is_empty() {
            return Ok(None);
        }
        let notation = match self.language(die) {
            Language::Rust => TypeNotation::Rust,
            Language::C if self.units.unit_language(die.unit).is_some_and(is_cxx) => TypeNotation::Cxx,
            Language::C => TypeNotation::C,
        };
        let mut path = match notation {
            TypeNotation::C => format!("{}{name}", self.keyword(die, tag)),
            TypeNotation::Cxx | TypeNotation::Rust => name,
        };
        for outer in self.type_scopes(die.unit)?.around(die) {
            let tag = self.units.tag(outer)?;
            let name = self.text_name(outer)?;
            match (tag, &*name) {
                (dw::DW_TAG_subprogram | dw::DW_TAG_lexical_block, _) => return Ok(None),
                (dw::DW_TAG_namespace, "") => path = format!("(anonymous namespace)::{path}"),
                (_, "") => return Ok(None),
                // The scopes of C are no part of a name.
                _ if notation == TypeNotation::C => {}
                _ => path = format!("{name}::{path}"),
            }
        }
        Ok(Some(TypePath { name: path, notation }))
    }
}
