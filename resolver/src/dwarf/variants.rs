//! Types with several variants (DWARF 5, 5.7.10): Rust's enums.

use gimli::{AttributeValue, Reader as _, constants as dw};

use super::members::RawMember;
use super::types::Types;
use super::types::{constant, wrap};
use super::unit::Die;
use crate::error::{DwarfProblem, Error};

/// The variants of a type.
#[derive(Clone, Debug)]
pub(super) struct RawVariants {
    /// The member that selects the variant; `None` if there is only one variant, or the debug
    /// information does not state it.
    pub(super) discriminant: Option<RawMember>,
    /// The variants in the order of their declaration.
    pub(super) variants: Vec<RawVariant>,
}

/// One variant.
#[derive(Clone, Debug)]
pub(super) struct RawVariant {
    /// The values of the discriminant, with inclusive ends; `None` for the variant that all other
    /// values select.
    pub(super) values: Option<Vec<(i128, i128)>>,
    /// Its members.
    pub(super) members: Vec<RawMember>,
    /// Its entry.
    pub(super) die: Die,
}

impl RawVariant {
    /// The name of the variant, which rustc writes as the name of its only member.
    pub(super) fn name(&self) -> &str {
        match &*self.members {
            [member] => &member.name,
            _ => "",
        }
    }
}

/// The most variants of one type.
const MOST: usize = 4096;

impl Types<'_> {
    /// The variants of a structure; `None` if it has no variants.
    pub(super) fn variants(&self, aggregate: Die) -> Result<Option<RawVariants>, Error> {
        let part = self.units.children(aggregate)?.into_iter().find(|(_, tag)| *tag == dw::DW_TAG_variant_part);
        let Some((part, _)) = part else { return Ok(None) };
        let discriminant = match self.units.own_attribute(part, dw::DW_AT_discr)? {
            Some(value) => Some(self.member_at(self.units.reference(part, &value)?)?),
            None => None,
        };
        let (size, signed) = match discriminant.as_ref().and_then(|member| member.of) {
            Some(of) => (self.type_size(of)?.unwrap_or(16), self.is_signed(of)?),
            None => (16, false),
        };
        let mut variants = Vec::new();
        for (child, tag) in self.units.children(part)? {
            if tag == dw::DW_TAG_variant && variants.len() < MOST {
                let values = self.variant_values(child, size, signed)?;
                variants.push(RawVariant { values, members: self.members(child)?, die: child });
            }
        }
        Ok(Some(RawVariants { discriminant, variants }))
    }

    fn variant_values(&self, variant: Die, size: u64, signed: bool) -> Result<Option<Vec<(i128, i128)>>, Error> {
        if let Some(value) = self.units.own_attribute(variant, dw::DW_AT_discr_value)? {
            let value = constant(&value).ok_or_else(|| self.units.error(variant, DwarfProblem::Discriminant))?;
            let value = wrap(value, size, signed);
            return Ok(Some(vec![(value, value)]));
        }
        let Some(value) = self.units.own_attribute(variant, dw::DW_AT_discr_list)? else { return Ok(None) };
        let AttributeValue::Block(mut block) = value else {
            return Err(self.units.error(variant, DwarfProblem::DiscriminantList));
        };
        // DWARF 5, 7.5.6 and Figure 7.19: a label, then one or two values in LEB128 with the sign
        // of the discriminant.
        let mut values = Vec::new();
        let error = |error: gimli::Error| self.units.error(variant, error);
        while !block.is_empty() {
            self.units.charge(1)?;
            let label = block.read_u8().map_err(error)?;
            let mut value = || match signed {
                true => block.read_sleb128().map(i128::from),
                false => block.read_uleb128().map(i128::from),
            };
            let low = value().map_err(error)?;
            let high = if label == dw::DW_DSC_range.0 { value().map_err(error)? } else { low };
            values.push((low, high));
        }
        Ok(Some(values))
    }
}
