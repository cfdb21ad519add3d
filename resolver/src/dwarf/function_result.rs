//! The result of a function: its type, and what a calling convention needs to know of that.
//!
//! Structures are flattened to the numbers in them. Whether a class of C++ is passed in memory is what
//! compilers say themselves (`DW_AT_calling_convention` of the class, DWARF 5, 5.7.1.1).

use gimli::{AttributeValue, constants as dw};

use super::types::{TypeRef, Types, is_aggregate, is_pointer, is_reference};
use super::unit::{Die, is_c, is_cxx};
use crate::Error;
use crate::arch::returned_value::{
    CallLanguage, Enclosure, LARGEST, Passing, ResultProblem, ReturnedKind, ReturnedValue, ScalarField, ScalarKind,
};
use crate::error::DwarfProblem;

/// The result of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FunctionResult {
    /// It returns nothing.
    Nothing,
    /// A value of a type. How it is returned, or why that is not known.
    Value(TypeRef, Result<ReturnedValue, ResultProblem>),
}

/// The most numbers of an aggregate.
const MOST: usize = 128;

/// How deeply aggregates are followed.
const NESTING: u32 = 32;

/// The numbers of a type, while they are collected.
#[derive(Default)]
struct FlatType {
    all: Vec<ScalarField>,
    /// Whether some part of it is in a class that is passed in memory, or may be.
    passing: Option<Passing>,
    /// Why it cannot be flattened.
    problem: Option<ResultProblem>,
}

impl Types<'_> {
    /// The result of a function.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(super) fn result_of(&self, function: Die) -> Result<FunctionResult, Error> {
        let Some(of) = self.type_of(function)? else { return Ok(FunctionResult::Nothing) };
        let Some(stripped) = self.strip(of)? else { return Ok(FunctionResult::Nothing) };
        let size = self.type_size(of)?;
        // `()` and `!` of Rust, and an empty structure of C.
        if size == Some(0) || size.is_none() && self.type_tag(stripped)? == dw::DW_TAG_unspecified_type {
            return Ok(FunctionResult::Nothing);
        }
        let value = self.returned(function, stripped, size)?;
        Ok(FunctionResult::Value(of, value))
    }

    fn returned(
        &self,
        function: Die,
        of: TypeRef,
        size: Option<u64>,
    ) -> Result<Result<ReturnedValue, ResultProblem>, Error> {
        let language = match self.dwarf_language(function) {
            Some(language) if is_c(language) || is_cxx(language) => CallLanguage::C,
            Some(dw::DW_LANG_Rust) => CallLanguage::Rust,
            _ => return Ok(Err(ResultProblem::Convention)),
        };
        match self.units.attribute(function, dw::DW_AT_calling_convention)? {
            None | Some((_, AttributeValue::CallingConvention(dw::DW_CC_normal | dw::DW_CC_program))) => {}
            // The compiler dropped parameters, or the result.
            Some((_, AttributeValue::CallingConvention(dw::DW_CC_nocall))) => return Ok(Err(ResultProblem::Changed)),
            Some(_) => return Ok(Err(ResultProblem::Convention)),
        }
        let Some(size) = size else { return Ok(Err(ResultProblem::Type)) };
        let mut fields = FlatType::default();
        let is_aggregate = is_aggregate(self.type_tag(of)?);
        self.flatten(of, 0, Enclosure::Structure, &mut fields, 0)?;
        if let Some(problem) = fields.problem {
            return Ok(Err(problem));
        }
        let kind = match (is_aggregate, fields.all.as_slice()) {
            (false, [field]) => ReturnedKind::Scalar(field.kind),
            (false, _) => return Ok(Err(ResultProblem::Type)),
            (true, _) => {
                let passing = fields.passing.unwrap_or(Passing::Value);
                ReturnedKind::Aggregate { fields: fields.all, passing }
            }
        };
        Ok(Ok(ReturnedValue { size, kind, language }))
    }

    /// Adds the numbers of a type that starts at a bit.
    fn flatten(
        &self,
        of: TypeRef,
        offset: u64,
        enclosure: Enclosure,
        fields: &mut FlatType,
        nesting: u32,
    ) -> Result<(), Error> {
        if nesting > NESTING {
            return Err(self.units.error(of.die, DwarfProblem::DeepType));
        }
        let Some(of) = self.strip(of)? else { return Ok(()) };
        let tag = self.type_tag(of)?;
        let kind = match tag {
            _ if is_pointer(tag) => Some(ScalarKind::Pointer),
            dw::DW_TAG_enumeration_type => Some(ScalarKind::Integer),
            dw::DW_TAG_base_type => self.number(of.die)?,
            dw::DW_TAG_array_type => return self.flatten_array(of, offset, enclosure, fields, nesting),
            _ if is_aggregate(tag) => return self.flatten_members(of.die, offset, enclosure, fields, nesting),
            _ => None,
        };
        match (kind, self.type_size(of)?.and_then(|size| size.checked_mul(8))) {
            (Some(kind), Some(size)) if fields.all.len() < MOST => {
                fields.all.push(ScalarField { offset, size, kind, is_bit_field: false, enclosure });
            }
            _ => fields.problem = fields.problem.or(Some(ResultProblem::Type)),
        }
        Ok(())
    }

    /// The kind of a number; `None` if it is none whose convention is known.
    fn number(&self, die: Die) -> Result<Option<ScalarKind>, Error> {
        let name = self.text_name(die)?;
        let bits = self.units.unsigned(die, dw::DW_AT_bit_size)?;
        let bytes = self.units.unsigned(die, dw::DW_AT_byte_size)?;
        if bits.is_some_and(|bits| Some(bits) != bytes.and_then(|bytes| bytes.checked_mul(8)))
            || name.contains("_BitInt(")
        {
            return Ok(None);
        }
        let Some(AttributeValue::Encoding(encoding)) = self.units.own_attribute(die, dw::DW_AT_encoding)? else {
            return Ok(None);
        };
        Ok(match encoding {
            dw::DW_ATE_address
            | dw::DW_ATE_boolean
            | dw::DW_ATE_signed
            | dw::DW_ATE_signed_char
            | dw::DW_ATE_unsigned
            | dw::DW_ATE_unsigned_char
            | dw::DW_ATE_UTF => Some(ScalarKind::Integer),
            // Other numbers of the size of `long double` are in other registers on some processors.
            dw::DW_ATE_float if bytes.is_some_and(|bytes| bytes <= 8) || name == "long double" => {
                Some(ScalarKind::Float)
            }
            _ => None,
        })
    }

    fn flatten_array(
        &self,
        of: TypeRef,
        offset: u64,
        enclosure: Enclosure,
        fields: &mut FlatType,
        nesting: u32,
    ) -> Result<(), Error> {
        let is_vector = self.units.own_attribute(of.die, dw::DW_AT_GNU_vector)?.is_some();
        if is_vector || self.odd_array(of.die)?.is_some() {
            fields.problem = fields.problem.or(Some(ResultProblem::Type));
            return Ok(());
        }
        let dimensions = self.dimensions(of.die)?;
        // A flexible array has no elements.
        let count = dimensions.get(of.dimension).and_then(|dimension| dimension.count).unwrap_or(0);
        let Some(element) = self.element(of)? else { return Ok(()) };
        let Some(size) = self.type_size(element)? else {
            fields.problem = fields.problem.or(Some(ResultProblem::Type));
            return Ok(());
        };
        for index in 0..count {
            if fields.problem.is_some() {
                break;
            }
            let start = index.saturating_mul(size).saturating_mul(8).saturating_add(offset);
            self.flatten(element, start, enclosure.max(Enclosure::Array), fields, nesting + 1)?;
        }
        Ok(())
    }

    fn flatten_members(
        &self,
        die: Die,
        offset: u64,
        enclosure: Enclosure,
        fields: &mut FlatType,
        nesting: u32,
    ) -> Result<(), Error> {
        if self.is_declaration(die)? {
            fields.problem = fields.problem.or(Some(ResultProblem::Type));
            return Ok(());
        }
        if nesting == 0 {
            fields.passing = Some(self.passing(die)?);
            // No part of it is in a register.
            if self.type_size(die.into())?.is_none_or(|size| size > LARGEST) {
                return Ok(());
            }
        }
        let enclosure = if self.units.tag(die)? == dw::DW_TAG_union_type { Enclosure::Union } else { enclosure };
        for (_, tag) in self.units.children(die)? {
            if tag == dw::DW_TAG_variant_part {
                fields.problem = fields.problem.or(Some(ResultProblem::RustType));
                return Ok(());
            }
        }
        for member in self.members(die)? {
            let (Some(of), Ok(place)) = (member.of, member.place) else {
                fields.problem = fields.problem.or(Some(ResultProblem::Type));
                return Ok(());
            };
            let start = offset.saturating_add(place.bit_offset);
            match place.bit_size {
                Some(size) if fields.all.len() < MOST => {
                    let kind = ScalarKind::Integer;
                    fields.all.push(ScalarField { offset: start, size, kind, is_bit_field: true, enclosure });
                }
                Some(_) => fields.problem = fields.problem.or(Some(ResultProblem::Type)),
                None => self.flatten(of, start, enclosure, fields, nesting + 1)?,
            }
            if fields.problem.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// How a class is passed: as the compiler says (clang does), or else by the functions that copy and
    /// destroy it.
    fn passing(&self, die: Die) -> Result<Passing, Error> {
        if !self.dwarf_language(die).is_some_and(is_cxx) {
            return Ok(Passing::Value);
        }
        Ok(match self.units.own_attribute(die, dw::DW_AT_calling_convention)? {
            Some(AttributeValue::CallingConvention(dw::DW_CC_pass_by_value)) => Passing::Value,
            Some(AttributeValue::CallingConvention(dw::DW_CC_pass_by_reference)) => Passing::Reference,
            _ if self.is_copied_as_bytes(die.into(), 0)? => Passing::Value,
            _ => Passing::Unknown,
        })
    }

    /// Whether neither a class nor a part of it declares a constructor that copies or moves, a destructor
    /// or a virtual function. Then the implicit ones copy bytes (C++20, 11.4.5.3 and 11.4.7).
    fn is_copied_as_bytes(&self, of: TypeRef, nesting: u32) -> Result<bool, Error> {
        if nesting > NESTING {
            return Err(self.units.error(of.die, DwarfProblem::DeepType));
        }
        let Some(of) = self.strip(of)? else { return Ok(true) };
        let tag = self.type_tag(of)?;
        if tag == dw::DW_TAG_array_type {
            let element = self.element(of)?;
            return element.map_or(Ok(true), |element| self.is_copied_as_bytes(element, nesting + 1));
        }
        if !is_aggregate(tag) {
            return Ok(true);
        }
        if self.is_declaration(of.die)? {
            return Ok(false);
        }
        let class = self.text_name(of.die)?;
        // The name of a template has its arguments, that of its constructor has not.
        let class = class.split('<').next().unwrap_or_default();
        for (child, tag) in self.units.children(of.die)? {
            if tag != dw::DW_TAG_subprogram {
                continue;
            }
            let name = self.text_name(child)?;
            let is_constructor = name.split('<').next() == Some(class) && self.takes_reference(child)?;
            let is_virtual = self.units.own_attribute(child, dw::DW_AT_virtuality)?.is_some();
            if name.starts_with('~') || is_constructor || is_virtual {
                return Ok(false);
            }
        }
        for member in self.members(of.die)? {
            let (Some(inner), Ok(_)) = (member.of, member.place) else { return Ok(false) };
            if !self.is_copied_as_bytes(inner, nesting + 1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a function has a parameter that is a reference.
    fn takes_reference(&self, function: Die) -> Result<bool, Error> {
        for (child, tag) in self.units.children(function)? {
            if tag != dw::DW_TAG_formal_parameter {
                continue;
            }
            let Some(of) = self.type_of(child)? else { continue };
            let Some(of) = self.strip(of)? else { continue };
            if is_reference(self.type_tag(of)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
