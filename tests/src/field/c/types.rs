//! What a marker may name of a type of C or C++, by the debug information.

use gimli::constants as dw;

use crate::field::places::Argument;
use crate::field::scopes::{self, Dwarf, Entry, Offset, Type, Unit, encoding, name, number, reference};

/// Behind qualifiers and names.
fn stripped<'a, 'u>(unit: &'u Unit<'a>, mut offset: Offset) -> Option<Entry<'a, 'u>> {
    for _ in 0..16 {
        let entry = unit.entry(offset).ok()?;
        match entry.tag() {
            dw::DW_TAG_typedef | dw::DW_TAG_const_type | dw::DW_TAG_restrict_type => {
                offset = reference(&entry, dw::DW_AT_type)?;
            }
            _ => return Some(entry),
        }
    }
    None
}

/// Types of C and C++.
pub(super) struct Types;

impl scopes::Types for Types {
    fn unit(&mut self, _: &Dwarf<'_>, _: &Unit<'_>) -> gimli::Result<()> {
        Ok(())
    }

    fn describe(&self, dwarf: &Dwarf<'_>, unit: &Unit<'_>, offset: Offset) -> Option<Type> {
        described(dwarf, unit, offset)
    }
}

fn described(dwarf: &Dwarf<'_>, unit: &Unit<'_>, offset: Offset) -> Option<Type> {
    let entry = stripped(unit, offset)?;
    if let Some(conversion) = scalar(dwarf, unit, &entry) {
        return Some(Type::Scalar(conversion));
    }
    if is_structure(&entry) {
        return Some(Type::Structure { pointer: None, members: members(dwarf, unit, &entry, ".")? });
    }
    if entry.tag() != dw::DW_TAG_pointer_type {
        return None;
    }
    let target = reference(&entry, dw::DW_AT_type).and_then(|to| stripped(unit, to));
    let Some(target) = target.filter(is_structure) else {
        return Some(Type::Scalar("%p"));
    };
    Some(Type::Structure { pointer: Some("%p"), members: members(dwarf, unit, &target, "->")? })
}

fn is_structure(of: &Entry<'_, '_>) -> bool {
    matches!(of.tag(), dw::DW_TAG_structure_type | dw::DW_TAG_class_type)
}

/// The scalars in a structure, with what is written before their names.
fn members(dwarf: &Dwarf<'_>, unit: &Unit<'_>, of: &Entry<'_, '_>, before: &str) -> Option<Vec<Argument>> {
    let mut members = Vec::new();
    let mut tree = unit.entries_tree(Some(of.offset())).ok()?;
    let mut children = tree.root().ok()?.children();
    while let Ok(Some(child)) = children.next() {
        let entry = child.entry();
        if entry.tag() != dw::DW_TAG_member || number(entry, dw::DW_AT_accessibility).is_some_and(|access| access > 1) {
            continue;
        }
        let Some(ty) = reference(entry, dw::DW_AT_type).and_then(|ty| stripped(unit, ty)) else { continue };
        if let (Some(name), Some(conversion)) = (name(dwarf, unit, entry), scalar(dwarf, unit, &ty)) {
            members.push((format!("{before}{name}"), conversion));
        }
    }
    Some(members)
}

/// The conversion of a scalar that is no pointer to a structure.
fn scalar(dwarf: &Dwarf<'_>, unit: &Unit<'_>, entry: &Entry<'_, '_>) -> Option<&'static str> {
    let size = number(entry, dw::DW_AT_byte_size);
    match entry.tag() {
        dw::DW_TAG_enumeration_type => {
            let of = reference(entry, dw::DW_AT_type).and_then(|ty| stripped(unit, ty));
            let is_unsigned = of.and_then(|of| encoding(&of)) == Some(dw::DW_ATE_unsigned);
            (size == Some(4)).then_some(if is_unsigned { "%u" } else { "%d" })
        }
        dw::DW_TAG_base_type => {
            let name = name(dwarf, unit, entry)?;
            let is_longest = name.contains("long long");
            Some(match (encoding(entry)?, size?) {
                (dw::DW_ATE_boolean, 1) => "%d",
                (dw::DW_ATE_float, 4 | 8) => "%g",
                (dw::DW_ATE_signed_char | dw::DW_ATE_signed, 1) => "%hhd",
                (dw::DW_ATE_unsigned_char | dw::DW_ATE_unsigned, 1) => "%hhu",
                (dw::DW_ATE_signed, 2) => "%hd",
                (dw::DW_ATE_unsigned, 2) => "%hu",
                (dw::DW_ATE_signed, 4) => "%d",
                (dw::DW_ATE_unsigned, 4) => "%u",
                (dw::DW_ATE_signed, 8) if is_longest => "%lld",
                (dw::DW_ATE_unsigned, 8) if is_longest => "%llu",
                (dw::DW_ATE_signed, 8) => "%ld",
                (dw::DW_ATE_unsigned, 8) => "%lu",
                _ => return None,
            })
        }
        dw::DW_TAG_pointer_type => Some("%p"),
        _ => None,
    }
}
