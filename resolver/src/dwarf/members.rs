//! The members of structures and unions, and their offsets (DWARF 5, 5.7.6; bit-fields of DWARF 2
//! and 3: 5.5.6 there).

use gimli::{AttributeValue, Operation, constants as dw};

use super::types::Types;
use super::types::{TypeRef, constant};
use super::unit::Die;
use super::unsupported::{PlaceProblem, Unsupported};
use crate::error::{DwarfProblem, Error};
use crate::types::Language;

/// A member, or a base class.
#[derive(Clone, Debug)]
pub(super) struct RawMember {
    /// Its name; empty for an anonymous structure or union, and for a base class.
    pub(super) name: String,
    /// Whether its members are also members of the whole: an anonymous structure or union, or a
    /// base class.
    pub(super) is_inlined: bool,
    /// Its type.
    pub(super) of: Option<TypeRef>,
    /// Where it is, or why that is not known.
    pub(super) place: Result<MemberBits, PlaceProblem>,
}

/// The bits of a member in its structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemberBits {
    /// The first bit.
    pub(super) bit_offset: u64,
    /// The number of bits of a bit-field; `None` for other members.
    pub(super) bit_size: Option<u64>,
}

/// The most members of one structure. The largest one seen, a generated table, has a few thousand.
const MOST: usize = 4096;

/// How deeply anonymous structures and base classes are searched.
const NESTING: u32 = 16;

/// The result of a search for a member.
#[derive(Clone, Debug)]
pub(super) enum FoundMember {
    /// The member.
    Member(MemberBits, TypeRef),
    /// The member is there, or may be there, but cannot be reached.
    Refused(Unsupported),
    /// It is a static member: its declaration.
    Static(Die),
    /// There is no member of that name.
    No,
}

/// A member that a structure itself has.
enum OwnMember {
    Placed(RawMember),
    Static(Die),
}

impl Types<'_> {
    /// The members that have a place in the structure, in the order of their declaration.
    pub(super) fn members(&self, aggregate: Die) -> Result<Vec<RawMember>, Error> {
        let mut members = Vec::new();
        for (child, tag) in self.units.children(aggregate)? {
            if members.len() >= MOST {
                break;
            }
            match tag {
                dw::DW_TAG_member if self.is_static(child)? => {}
                dw::DW_TAG_member => members.push(self.member_at(child)?),
                dw::DW_TAG_inheritance => {
                    let is_virtual = self.units.unsigned(child, dw::DW_AT_virtuality)?.unwrap_or(0) != 0
                        || matches!(
                            self.units.own_attribute(child, dw::DW_AT_virtuality)?,
                            Some(AttributeValue::Virtuality(virtuality)) if virtuality != dw::DW_VIRTUALITY_none
                        );
                    let member = self.member_at(child)?;
                    let place = match is_virtual {
                        true => Err(PlaceProblem::VirtualBase),
                        false => member.place,
                    };
                    members.push(RawMember { name: String::new(), is_inlined: true, of: member.of, place });
                }
                _ => {}
            }
        }
        Ok(members)
    }

    /// Whether this is a static member of C++.
    fn is_static(&self, member: Die) -> Result<bool, Error> {
        Ok(self.units.flag(member, dw::DW_AT_external)? || self.units.flag(member, dw::DW_AT_declaration)?)
    }

    /// The member of that name that the structure itself has. Only the names of the others are read.
    fn own_member(&self, aggregate: Die, name: &str) -> Result<Option<OwnMember>, Error> {
        let mut members = Vec::new();
        for (child, tag) in self.units.children(aggregate)? {
            match tag {
                // A static member is a variable since DWARF 5.
                dw::DW_TAG_member | dw::DW_TAG_variable => members.push((child, tag)),
                // Its constants are names of the class, without a type in their entries.
                dw::DW_TAG_enumeration_type if !self.units.flag(child, dw::DW_AT_enum_class)? => {
                    let constants = self.units.children(child)?.into_iter();
                    members.extend(constants.map(|(constant, _)| (constant, dw::DW_TAG_member)));
                }
                _ => {}
            }
        }
        for (child, tag) in members.into_iter().take(MOST) {
            let known = self.text_name(child)?;
            if !known.is_empty() && is_called(&known, name) {
                return Ok(Some(match tag == dw::DW_TAG_variable || self.is_static(child)? {
                    true => OwnMember::Static(child),
                    false => OwnMember::Placed(self.member_at(child)?),
                }));
            }
        }
        Ok(None)
    }

    /// Reads one member.
    pub(super) fn member_at(&self, die: Die) -> Result<RawMember, Error> {
        let of = self.type_of(die)?;
        let name = self.text_name(die)?;
        let is_inlined = match of {
            Some(of) if name.is_empty() => match self.strip(of)? {
                Some(of) => super::types::is_aggregate(self.type_tag(of)?),
                None => false,
            },
            _ => false,
        };
        Ok(RawMember { name, is_inlined, of, place: self.place(die, of)? })
    }

    /// Where a member is, or why that is not known.
    fn place(&self, member: Die, of: Option<TypeRef>) -> Result<Result<MemberBits, PlaceProblem>, Error> {
        let bit_size = self.units.unsigned(member, dw::DW_AT_bit_size)?;
        if let Some(value) = self.units.own_attribute(member, dw::DW_AT_data_bit_offset)? {
            let place = value.udata_value().map(|bit_offset| MemberBits { bit_offset, bit_size });
            return Ok(place.ok_or(PlaceProblem::BitOffset));
        }
        let bytes = match self.byte_offset(member)? {
            Ok(bytes) => bytes,
            Err(why) => return Ok(Err(why)),
        };
        let Some(start) = bytes.checked_mul(8) else { return Ok(Err(PlaceProblem::Offset)) };
        let from_top = match self.units.own_attribute(member, dw::DW_AT_bit_offset)? {
            // LLVM writes a negative number without its sign, for a bit-field of a packed structure that
            // goes on behind its storage unit.
            Some(value) => match constant(&value) {
                Some(wrapped) if wrapped > i128::from(i64::MAX) => wrapped.checked_sub(1 << 64),
                number => number,
            },
            None => return Ok(Ok(MemberBits { bit_offset: start, bit_size })),
        };
        let storage = match (self.units.unsigned(member, dw::DW_AT_byte_size)?, of) {
            (Some(bytes), _) => Some(bytes),
            (None, Some(of)) => self.type_size(of)?,
            (None, None) => None,
        };
        let place = || {
            let (from_top, storage, size) = (from_top?, i128::from(storage?), i128::from(bit_size?));
            // DWARF 2 and 3 count from the most significant bit of the storage unit, in both byte
            // orders.
            let offset = match self.is_big_endian() {
                true => i128::from(start).checked_add(from_top)?,
                false => {
                    i128::from(start).checked_add(storage.checked_mul(8)?)?.checked_sub(from_top)?.checked_sub(size)?
                }
            };
            Some(MemberBits { bit_offset: u64::try_from(offset).ok()?, bit_size })
        };
        Ok(place().ok_or(PlaceProblem::BitField))
    }

    /// `DW_AT_data_member_location`, in bytes.
    fn byte_offset(&self, member: Die) -> Result<Result<u64, PlaceProblem>, Error> {
        let expression = match self.units.own_attribute(member, dw::DW_AT_data_member_location)? {
            None => return Ok(Ok(0)),
            Some(AttributeValue::Exprloc(expression)) => expression,
            // DWARF 2 and 3 have no separate form for an expression.
            Some(AttributeValue::Block(block)) => gimli::Expression(block),
            Some(AttributeValue::LocationListsRef(_) | AttributeValue::SecOffset(_)) => {
                return Ok(Err(PlaceProblem::List));
            }
            Some(value) => match constant(&value).and_then(|value| u64::try_from(value).ok()) {
                Some(bytes) => return Ok(Ok(bytes)),
                None => return Ok(Err(PlaceProblem::NotConstant)),
            },
        };
        let unit = self.units.unit(member.unit)?;
        let mut operations = expression.operations(unit.encoding());
        let first = operations.next().map_err(|error| self.units.error(member, error))?;
        let second = operations.next().map_err(|error| self.units.error(member, error))?;
        match (first, second) {
            (Some(Operation::PlusConstant { value }), None) => Ok(Ok(value)),
            // gcc 2 writes an addition to the address of the structure.
            (Some(Operation::UnsignedConstant { value }), Some(Operation::Plus)) => Ok(Ok(value)),
            _ => Ok(Err(PlaceProblem::Expression)),
        }
    }

    /// Finds a member by name: first in the structure itself, then in its anonymous structures and
    /// unions, then in its base classes.
    pub(super) fn find_member(&self, aggregate: Die, name: &str) -> Result<FoundMember, Error> {
        self.find_at(aggregate, name, 0)
    }

    fn find_at(&self, aggregate: Die, name: &str, nesting: u32) -> Result<FoundMember, Error> {
        if nesting > NESTING {
            return Err(self.units.error(aggregate, DwarfProblem::DeepStructure));
        }
        match self.own_member(aggregate, name)? {
            Some(OwnMember::Static(member)) => return Ok(FoundMember::Static(member)),
            Some(OwnMember::Placed(member)) => {
                return Ok(match (member.place, member.of) {
                    (Err(problem), _) => {
                        FoundMember::Refused(Unsupported::MemberPlace { member: name.to_owned(), problem })
                    }
                    (Ok(_), None) => FoundMember::Refused(Unsupported::MemberType { member: name.to_owned() }),
                    (Ok(place), Some(of)) => FoundMember::Member(place, of),
                });
            }
            None => {}
        }
        // In Rust no member is also one of the whole.
        if self.language(aggregate) == Language::Rust {
            return Ok(FoundMember::No);
        }
        let mut found = FoundMember::No;
        for member in self.members(aggregate)?.iter().filter(|member| member.is_inlined) {
            let Some(inner) = member.of.map(|of| self.strip(of)).transpose()?.flatten() else { continue };
            let within = match self.is_declaration(inner.die)? {
                true => FoundMember::Refused(Unsupported::OnlyDeclared { of: self.type_name(Some(inner))? }),
                false => self.find_at(inner.die, name, nesting + 1)?,
            };
            let reached = match (within, member.place) {
                (FoundMember::Member(..), Err(problem)) => {
                    FoundMember::Refused(Unsupported::MemberPlaceOfBase { member: name.to_owned(), problem })
                }
                (FoundMember::Member(within, of), Ok(place)) => match within.bit_offset.checked_add(place.bit_offset) {
                    Some(bit_offset) => FoundMember::Member(MemberBits { bit_offset, ..within }, of),
                    None => FoundMember::Refused(Unsupported::MemberOffset),
                },
                (other, _) => other,
            };
            found = match (found, reached) {
                (FoundMember::No, known) | (known, FoundMember::No) => known,
                // A base class that is only declared may have no such member.
                (FoundMember::Refused(Unsupported::OnlyDeclared { .. }), known)
                | (known, FoundMember::Refused(Unsupported::OnlyDeclared { .. })) => known,
                // The same base class by several ways.
                (FoundMember::Static(one), FoundMember::Static(other)) if one == other => FoundMember::Static(one),
                (refused @ FoundMember::Refused(_), FoundMember::Refused(_)) => refused,
                _ => return Ok(FoundMember::Refused(Unsupported::AmbiguousMember { member: name.to_owned() })),
            };
        }
        Ok(found)
    }
}

/// What a name without `this->` means in a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ClassMember {
    /// A member of the object, or one that cannot be reached.
    OfObject,
    /// A static member: its declaration.
    Static(Die),
    /// A constant, or perhaps a member: the unit only declares the class or a base of it.
    Unknown(Unsupported),
}

impl Types<'_> {
    /// What a name means in a class, or in the class that a pointer points at; `None` if nothing has
    /// the name there.
    pub(super) fn class_member(&self, of: TypeRef, name: &str) -> Result<Option<ClassMember>, Error> {
        let Some(mut of) = self.strip(of)? else { return Ok(None) };
        if super::types::is_pointer(self.type_tag(of)?) {
            let inner = self.type_of(of.die)?.map(|inner| self.strip(inner)).transpose()?.flatten();
            let Some(inner) = inner else { return Ok(None) };
            of = inner;
        }
        if !super::types::is_aggregate(self.type_tag(of)?) {
            return Ok(None);
        }
        if self.is_declaration(of.die)? {
            let of = self.type_name(Some(of))?;
            return Ok(Some(ClassMember::Unknown(Unsupported::OnlyDeclared { of })));
        }
        Ok(match self.find_member(of.die, name)? {
            FoundMember::Refused(why @ (Unsupported::OnlyDeclared { .. } | Unsupported::MemberType { .. })) => {
                Some(ClassMember::Unknown(why))
            }
            FoundMember::Member(..) | FoundMember::Refused(_) => Some(ClassMember::OfObject),
            FoundMember::Static(member) => Some(ClassMember::Static(member)),
            FoundMember::No => None,
        })
    }

    /// Whether a type is a reference to an object, and not to a function.
    pub(super) fn is_object_reference(&self, of: TypeRef) -> Result<bool, Error> {
        let Some(of) = self.strip(of)? else { return Ok(false) };
        if !super::types::is_reference(self.type_tag(of)?) {
            return Ok(false);
        }
        Ok(match self.type_of(of.die)?.map(|target| self.strip(target)).transpose()?.flatten() {
            Some(target) => self.type_tag(target)? != dw::DW_TAG_subroutine_type,
            None => true,
        })
    }
}

/// Whether a name in the debug information is the name in the source: rustc calls the first member
/// of a tuple `__0`.
pub(super) fn is_called(described: &str, written: &str) -> bool {
    let is_number = !written.is_empty() && written.bytes().all(|byte| byte.is_ascii_digit());
    described == written || (is_number && described.strip_prefix("__") == Some(written))
}
