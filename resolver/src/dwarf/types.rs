//! Types in the debug information: the name, the parts and the size of a type, one step at a time
//! (DWARF 5, chapter 5).
//!
//! `describe.rs` describes whole types. `rust_types.rs` knows the types of Rust's library.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use gimli::{AttributeValue, DwTag, constants as dw};

use super::per_unit::PerUnit;
use super::type_scopes::TypeScopes;
use super::unit::{Die, UnitValue, is_cxx};
use super::units::Units;
use super::unsupported::ArrayProblem;
use super::vtables::Vtables;
use crate::address::Vaddr;
use crate::error::{DwarfProblem, Error};
use crate::text;
use crate::types::Language;
use crate::views::ViewTable;

/// A type: its entry, and how many dimensions of an array are already indexed. `int a[2][3]` is one
/// entry with two dimensions, and `a[1]` has no entry of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeRef {
    pub(super) die: Die,
    pub(super) dimension: usize,
}

impl From<Die> for TypeRef {
    fn from(die: Die) -> Self {
        Self { die, dimension: 0 }
    }
}

/// The types at the top level of a unit, found in one pass.
#[derive(Debug, Default)]
struct Definitions<'s> {
    /// The offsets of the defined types by name; `None` if several have the same name.
    defined: HashMap<(DwTag, Cow<'s, [u8]>), Option<usize>>,
    /// The offsets of the types that are only declared, ascending.
    declared: Vec<usize>,
}

/// How many qualifiers and typedefs are followed before the type counts as circular. The kernel has
/// a dozen.
const LINKS: usize = 64;

/// How deeply arrays and similar types are followed for a size.
const NESTING: u32 = 32;

/// One dimension of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dimension {
    /// The number of elements; `None` if it is not a constant, or not stated.
    pub(super) count: Option<u64>,
    /// Whether the first element has the number 0.
    pub(super) from_zero: bool,
}

/// The layer that reads types.
#[derive(Debug)]
pub(super) struct Types<'s> {
    pub(super) units: Arc<Units<'s>>,
    definitions: PerUnit<Definitions<'s>>,
    /// Where types are declared; only of units with a type that a view names with its path.
    pub(super) scopes: PerUnit<TypeScopes>,
    /// The vtables of the image, if they were needed.
    pub(super) vtables: OnceLock<Arc<Vtables>>,
    /// The views of the user.
    pub(super) views: &'s ViewTable,
}

impl<'s> Types<'s> {
    pub(super) fn new(units: &Arc<Units<'s>>, views: &'s ViewTable) -> Self {
        let count = units.unit_count();
        let (definitions, scopes, vtables) = (PerUnit::new(count), PerUnit::new(count), OnceLock::new());
        Self { units: Arc::clone(units), definitions, scopes, vtables, views }
    }

    /// Drops the caches of units.
    pub(super) fn clear(&self) {
        self.definitions.clear();
        self.scopes.clear();
    }

    /// The type of an entry: of a variable, a member, a function's result, or the target of a
    /// pointer; `None` for `void`.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(super) fn type_of(&self, die: Die) -> Result<Option<TypeRef>, Error> {
        Ok(self.units.referred(die, dw::DW_AT_type)?.map(TypeRef::from))
    }

    /// The type without typedefs and qualifiers (`typedef`, `const`, `volatile`, `restrict`,
    /// `_Atomic`; DWARF 5, 5.3 and 5.4). A declaration is replaced by its definition if the unit
    /// has one. `None` for `void`.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there, or is circular.
    pub(super) fn strip(&self, of: TypeRef) -> Result<Option<TypeRef>, Error> {
        match self.strip_while(of, is_qualifier)? {
            Some(of) if of.dimension == 0 => self.complete(of.die, self.units.tag(of.die)?).map(|die| Some(die.into())),
            of => Ok(of),
        }
    }

    /// The type without the entries around it that have such tags; `None` for `void`.
    pub(super) fn strip_while(&self, of: TypeRef, is_outer: fn(DwTag) -> bool) -> Result<Option<TypeRef>, Error> {
        let mut of = of;
        for _ in 0..LINKS {
            if of.dimension > 0 || !is_outer(self.units.tag(of.die)?) {
                return Ok(Some(of));
            }
            match self.type_of(of.die)? {
                Some(inner) => of = inner,
                None => return Ok(None),
            }
        }
        Err(self.units.error(of.die, DwarfProblem::EndlessType))
    }

    /// The scopes of the types of a unit.
    pub(super) fn type_scopes(&self, unit: usize) -> Result<Arc<TypeScopes>, Error> {
        self.scopes.get_or_make(unit, || TypeScopes::read(&self.units, unit))
    }

    /// The definition of a type that may be only declared: by its signature, or by name at the top
    /// level of the same unit. The same entry if there is no definition.
    ///
    /// Other units are not searched, because C does not require that types of the same name agree.
    fn complete(&self, die: Die, tag: DwTag) -> Result<Die, Error> {
        // gcc omits the declaration flag of an enumeration that is in a type unit.
        if let Some(value) = self.units.own_attribute(die, dw::DW_AT_signature)? {
            return self.units.reference(die, &value);
        }
        if !self.is_declaration(die)? {
            return Ok(die);
        }
        let Some(name) = self.units.name(die)? else { return Ok(die) };
        let definitions = self.definitions(die.unit)?;
        if definitions.declared.binary_search(&die.offset).is_err() {
            return Ok(die);
        }
        let defined = definitions.defined.get(&(tag, name));
        Ok(defined.copied().flatten().map_or(die, |offset| Die { unit: die.unit, offset }))
    }

    /// The type at the top level of a unit that a name of C means: `["struct", "node"]`, `["size_t"]`.
    /// `None` if there is none, or several.
    pub(super) fn type_called(&self, unit: usize, words: &[&str]) -> Result<Option<TypeRef>, Error> {
        let (tags, name): (&[DwTag], &str) = match words {
            ["struct" | "class", name] => (&[dw::DW_TAG_structure_type, dw::DW_TAG_class_type], name),
            ["union", name] => (&[dw::DW_TAG_union_type], name),
            ["enum", name] => (&[dw::DW_TAG_enumeration_type], name),
            ["char"] => (&[dw::DW_TAG_base_type], "char"),
            [name] if self.units.unit_language(unit).is_some_and(is_cxx) => (
                &[
                    dw::DW_TAG_typedef,
                    dw::DW_TAG_structure_type,
                    dw::DW_TAG_class_type,
                    dw::DW_TAG_union_type,
                    dw::DW_TAG_enumeration_type,
                ],
                name,
            ),
            [name] => (&[dw::DW_TAG_typedef], name),
            _ => return Ok(None),
        };
        let definitions = self.definitions(unit)?;
        let mut found = tags.iter().filter_map(|tag| definitions.defined.get(&(*tag, Cow::Borrowed(name.as_bytes()))));
        Ok(match (found.next(), found.next()) {
            (Some(Some(offset)), None) => Some(Die { unit, offset: *offset }.into()),
            _ => None,
        })
    }

    fn definitions(&self, unit: usize) -> Result<Arc<Definitions<'s>>, Error> {
        self.definitions.get_or_make(unit, || self.find_definitions(unit))
    }

    fn find_definitions(&self, unit: usize) -> Result<Definitions<'s>, Error> {
        let mut definitions = Definitions::default();
        for (child, tag) in self.units.children(self.units.root(unit)?)? {
            // Most entries at this level that are not types.
            if matches!(tag, dw::DW_TAG_subprogram | dw::DW_TAG_variable) {
                continue;
            }
            if self.is_declaration(child)? {
                definitions.declared.push(child.offset);
            } else if let Some(name) = self.units.name(child)? {
                let several = |known: &mut Option<usize>| *known = None;
                definitions.defined.entry((tag, name)).and_modify(several).or_insert(Some(child.offset));
            }
        }
        Ok(definitions)
    }

    /// Whether the entry is only a declaration (`DW_AT_declaration`).
    pub(super) fn is_declaration(&self, die: Die) -> Result<bool, Error> {
        Ok(matches!(self.units.own_attribute(die, dw::DW_AT_declaration)?, Some(AttributeValue::Flag(true))))
    }

    /// The tag of a type. A partly indexed array is an array.
    pub(super) fn type_tag(&self, of: TypeRef) -> Result<DwTag, Error> {
        self.units.tag(of.die)
    }

    /// The size of a type in bytes; `None` if the debug information does not state it, or only the
    /// running program knows it.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there, or is circular.
    pub(super) fn type_size(&self, of: TypeRef) -> Result<Option<u64>, Error> {
        self.size_at(of, 0)
    }

    fn size_at(&self, of: TypeRef, nesting: u32) -> Result<Option<u64>, Error> {
        if nesting > NESTING {
            return Err(self.units.error(of.die, DwarfProblem::DeepType));
        }
        let Some(of) = self.strip(of)? else { return Ok(None) };
        let tag = self.type_tag(of)?;
        if of.dimension == 0 {
            if let Some(size) = self.units.unsigned(of.die, dw::DW_AT_byte_size)? {
                return Ok(Some(size));
            }
            if let Some(bits) = self.units.unsigned(of.die, dw::DW_AT_bit_size)? {
                return Ok(Some(bits.div_ceil(8)));
            }
        }
        if is_pointer(tag) {
            return Ok(Some(self.address_size(of.die)?));
        }
        match tag {
            dw::DW_TAG_array_type => {
                let dimensions = self.dimensions(of.die)?;
                let Some(element) = self.type_of(of.die)? else { return Ok(None) };
                let Some(mut size) = self.size_at(element, nesting + 1)? else { return Ok(None) };
                for dimension in dimensions.iter().skip(of.dimension) {
                    let Some(count) = dimension.count else { return Ok(None) };
                    let Some(product) = size.checked_mul(count) else { return Ok(None) };
                    size = product;
                }
                Ok(Some(size))
            }
            // An enumeration of an old compiler, or a subrange.
            dw::DW_TAG_enumeration_type | dw::DW_TAG_subrange_type => match self.type_of(of.die)? {
                Some(underlying) => self.size_at(underlying, nesting + 1),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// Bytes of an address in the unit of an entry.
    pub(super) fn address_size(&self, die: Die) -> Result<u64, Error> {
        Ok(u64::from(self.units.unit(die.unit)?.encoding().address_size))
    }

    /// Whether the first byte of a number is the most significant one.
    pub(super) fn is_big_endian(&self) -> bool {
        use gimli::{Endianity as _, Reader as _};
        self.units.sections.reader(".debug_info").endian().is_big_endian()
    }

    /// Whether a unit has entries with a type. Compilers write none if they are told to describe
    /// lines only (`-g1`, `-gline-tables-only`, `-C debuginfo=1`). gcc then still describes global
    /// variables, without their types.
    fn has_types(&self, unit: usize) -> Result<bool, Error> {
        let abbreviations = &self.units.unit(unit)?.abbreviations;
        // Compilers number abbreviations from 1.
        for code in 1.. {
            let Some(abbreviation) = abbreviations.get(code) else { break };
            if abbreviation.attributes().iter().any(|attribute| attribute.name() == dw::DW_AT_type) {
                return Ok(true);
            }
            self.units.charge(1)?;
        }
        Ok(false)
    }

    /// Whether the unit of an entry, or else of an address, describes lines and no variables.
    pub(super) fn has_lines_only(&self, die: Option<Die>, pc: Vaddr) -> Result<bool, Error> {
        match die.map(|die| die.unit).or_else(|| self.units.unit_at(pc)) {
            Some(unit) => Ok(!self.has_types(unit)?),
            None => Ok(false),
        }
    }

    /// The language of the unit that an entry is in (`DW_AT_language`; DWARF 5, 3.1.1).
    pub(super) fn language(&self, die: Die) -> Language {
        match self.dwarf_language(die) {
            Some(dw::DW_LANG_Rust) => Language::Rust,
            _ => Language::C,
        }
    }

    pub(super) fn dwarf_language(&self, die: Die) -> Option<gimli::DwLang> {
        self.units.unit_language(die.unit)
    }

    /// The dimensions of an array that are not indexed (DWARF 5, 5.5 and 5.13).
    pub(super) fn dimensions(&self, array: Die) -> Result<Vec<Dimension>, Error> {
        let first = match self.dwarf_language(array) {
            Some(
                dw::DW_LANG_Fortran77
                | dw::DW_LANG_Fortran90
                | dw::DW_LANG_Fortran95
                | dw::DW_LANG_Fortran03
                | dw::DW_LANG_Fortran08
                | dw::DW_LANG_Ada83
                | dw::DW_LANG_Ada95
                | dw::DW_LANG_Pascal83
                | dw::DW_LANG_Modula2
                | dw::DW_LANG_Cobol74
                | dw::DW_LANG_Cobol85
                | dw::DW_LANG_PLI
                | dw::DW_LANG_Julia,
            ) => 1,
            _ => 0,
        };
        let mut dimensions = Vec::new();
        for (child, tag) in self.units.children(array)? {
            match tag {
                dw::DW_TAG_subrange_type => dimensions.push(self.dimension(child, first)?),
                dw::DW_TAG_enumeration_type => dimensions.push(Dimension { count: None, from_zero: false }),
                _ => {}
            }
        }
        if dimensions.is_empty() {
            dimensions.push(Dimension { count: None, from_zero: first == 0 });
        }
        Ok(dimensions)
    }

    fn dimension(&self, subrange: Die, first: i128) -> Result<Dimension, Error> {
        let lower = match self.units.own_attribute(subrange, dw::DW_AT_lower_bound)? {
            None => Some(first),
            Some(value) => constant(&value),
        };
        let count = match self.units.own_attribute(subrange, dw::DW_AT_count)? {
            Some(value) => constant(&value).and_then(|count| u64::try_from(count).ok()),
            None => match self.units.own_attribute(subrange, dw::DW_AT_upper_bound)? {
                Some(value) => match (constant(&value), lower) {
                    // For `int a[0]`, gcc writes -1 as the largest number of the form.
                    (Some(upper), Some(0)) if upper == i128::from(u64::MAX) => Some(0),
                    (Some(upper), Some(lower)) => {
                        let count = upper.checked_sub(lower).and_then(|last| last.checked_add(1));
                        count.and_then(|count| u64::try_from(count.max(0)).ok())
                    }
                    _ => None,
                },
                None => None,
            },
        };
        Ok(Dimension { count, from_zero: lower == Some(0) })
    }

    /// The type of an array's elements. It is an array too if further dimensions are not indexed.
    pub(super) fn element(&self, array: TypeRef) -> Result<Option<TypeRef>, Error> {
        let next = array.dimension.saturating_add(1);
        match next < self.dimensions(array.die)?.len() {
            true => Ok(Some(TypeRef { die: array.die, dimension: next })),
            false => self.type_of(array.die),
        }
    }

    /// How the layout of the array differs from an array of C; `None` if it does not.
    pub(super) fn odd_array(&self, array: Die) -> Result<Option<ArrayProblem>, Error> {
        for (name, what) in [
            (dw::DW_AT_byte_stride, ArrayProblem::Stride),
            (dw::DW_AT_bit_stride, ArrayProblem::Stride),
            (dw::DW_AT_data_location, ArrayProblem::Elsewhere),
        ] {
            if self.units.own_attribute(array, name)?.is_some() {
                return Ok(Some(what));
            }
        }
        Ok(None)
    }

    /// The name of an entry as text; empty if it has none.
    pub(super) fn text_name(&self, die: Die) -> Result<String, Error> {
        Ok(self.units.name(die)?.map_or_else(String::new, |name| text::from_bytes(&name)))
    }
}

/// Whether entries with the tag only name or qualify another type.
pub(super) fn is_qualifier(tag: DwTag) -> bool {
    matches!(
        tag,
        dw::DW_TAG_typedef
            | dw::DW_TAG_const_type
            | dw::DW_TAG_volatile_type
            | dw::DW_TAG_restrict_type
            | dw::DW_TAG_atomic_type
            | dw::DW_TAG_packed_type
            | dw::DW_TAG_immutable_type
            | dw::DW_TAG_template_alias
    )
}

/// Whether values of types with the tag are addresses.
pub(super) fn is_pointer(tag: DwTag) -> bool {
    tag == dw::DW_TAG_pointer_type || is_reference(tag)
}

/// Whether the tag is that of a reference of C++.
pub(super) fn is_reference(tag: DwTag) -> bool {
    matches!(tag, dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type)
}

/// Whether types with the tag have members.
pub(super) fn is_aggregate(tag: DwTag) -> bool {
    matches!(tag, dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type | dw::DW_TAG_interface_type)
}

/// A constant of any form. If the form has no sign, the constant is unsigned, because gcc and LLVM
/// write negative constants as `DW_FORM_sdata`. A constant of 16 bytes may be a block.
pub(super) fn constant(value: &UnitValue<'_>) -> Option<i128> {
    match value {
        AttributeValue::Sdata(value) => Some(i128::from(*value)),
        AttributeValue::Block(bytes) if bytes.slice().len() == 16 => {
            use gimli::{Endianity as _, Reader as _};
            let bytes16: [u8; 16] = bytes.slice().try_into().ok()?;
            Some(match bytes.endian().is_big_endian() {
                true => i128::from_be_bytes(bytes16),
                false => i128::from_le_bytes(bytes16),
            })
        }
        value => value.udata_value().map(i128::from),
    }
}

/// `value` wrapped to an integer of `size` bytes.
pub(super) fn wrap(value: i128, size: u64, signed: bool) -> i128 {
    let Some(unused) = u32::try_from(size).ok().and_then(|size| 128u32.checked_sub(size.checked_mul(8)?)) else {
        return value;
    };
    let raised = value.checked_shl(unused).unwrap_or(0);
    match signed {
        true => raised.checked_shr(unused).unwrap_or(0),
        false => (raised as u128).checked_shr(unused).unwrap_or(0) as i128,
    }
}
