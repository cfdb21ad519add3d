//! What each step of a place does to a type: `.member`, `[index]`, `*` (the places of
//! `simple_mark!`, and of C).
//!
//! As in Rust, a step is repeated through references, boxes and counted pointers if the type itself
//! has no such member.

use gimli::constants as dw;

use super::members::FoundMember;
use super::rust_types::DerefTarget;
use super::types::Types;
use super::types::{TypeRef, is_aggregate, is_pointer, is_reference};
use super::unit::Die;
use super::unsupported::{ArrayProblem, NoSuchPart, Unsupported};
use crate::Error;
use crate::types::Language;

/// One step of a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// `.name`, `.0`; after a [`Step::Deref`], `->name`.
    Member(String),
    /// `[3]`.
    Index(u64),
    /// `*`.
    Deref,
    /// What a reference of C++ refers to.
    Referred,
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Projection {
    /// A part of the object.
    Part {
        /// Where it starts, in bits from the start of the object, counted as in
        /// [`crate::types::Member::bit_offset`].
        bit_offset: u64,
        /// The size in bits of a bit-field; `None` for other parts.
        bit_size: Option<u64>,
        /// Its type.
        of: TypeRef,
        /// Whether to repeat the step from there.
        again: bool,
    },
    /// The target of a pointer in the object.
    Through {
        /// Where the pointer starts, in bits from the start of the object.
        pointer_bit_offset: u64,
        /// Bytes of the pointer.
        pointer_size: u64,
        /// The offset of the target in bytes from the address in the pointer.
        offset: u64,
        /// Its type.
        of: TypeRef,
        /// Whether to repeat the step from there.
        again: bool,
    },
    /// A static member of C++, by its declaration.
    Static(Die),
    /// The type has no such part.
    Absent(NoSuchPart),
    /// The part may exist, but the step to it is not supported.
    Refused(Unsupported),
}

/// How many members [`NoSuchPart::NoMember`] lists.
const LISTED: usize = 12;

impl Types<'_> {
    /// Where a step leads from an object of a type.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(super) fn step(&self, of: TypeRef, step: &Step) -> Result<Projection, Error> {
        let Some(stripped) = self.strip(of)? else { return Ok(Projection::Absent(NoSuchPart::Void)) };
        let tag = self.type_tag(stripped)?;
        // A C++ reference is used like the object that it refers to.
        if is_reference(tag) {
            return self.follow(stripped, *step != Step::Referred);
        }
        match step {
            Step::Referred => Ok(Projection::Part { bit_offset: 0, bit_size: None, of, again: false }),
            Step::Deref => self.deref(of, stripped),
            Step::Member(name) => self.member_step(of, stripped, name),
            Step::Index(index) => self.index(of, stripped, *index),
        }
    }

    fn deref(&self, named: TypeRef, of: TypeRef) -> Result<Projection, Error> {
        let tag = self.type_tag(of)?;
        if is_pointer(tag) {
            return self.follow(of, false);
        }
        // `*a` is `a[0]` in C.
        if tag == dw::DW_TAG_array_type && self.language(of.die) == Language::C {
            return self.index(named, of, 0);
        }
        if let Some(projection) = self.library_deref(of, false)? {
            return Ok(projection);
        }
        Ok(Projection::Absent(NoSuchPart::NotPointer { of: self.type_name(Some(named))? }))
    }

    /// Follows a pointer.
    fn follow(&self, pointer: TypeRef, again: bool) -> Result<Projection, Error> {
        if self.units.unsigned(pointer.die, dw::DW_AT_address_class)?.unwrap_or(0) != 0 {
            return Ok(refused(Unsupported::PointerAddressSpace));
        }
        let target = self.type_of(pointer.die)?;
        let Some(of) = target else {
            return Ok(refused(Unsupported::UnknownTarget { of: self.type_name(Some(pointer))? }));
        };
        match self.strip(of)? {
            None => {
                return Ok(refused(Unsupported::UnknownTarget { of: self.type_name(Some(pointer))? }));
            }
            Some(of) if self.type_tag(of)? == dw::DW_TAG_subroutine_type => {
                return Ok(refused(Unsupported::CodePointer));
            }
            Some(_) => {}
        }
        let Some(pointer_size) = self.type_size(pointer)? else { return Ok(refused(Unsupported::PointerSize)) };
        Ok(Projection::Through { pointer_bit_offset: 0, pointer_size, offset: 0, of, again })
    }

    /// Dereferences a type of Rust's library.
    fn library_deref(&self, of: TypeRef, again: bool) -> Result<Option<Projection>, Error> {
        if self.language(of.die) != Language::Rust {
            return Ok(None);
        }
        Ok(match self.library_target(of)? {
            None => None,
            Some(DerefTarget::Refused(why)) => Some(Projection::Refused(why)),
            // Dereferencing a `Pin` dereferences what it holds. `ManuallyDrop` gives what it holds,
            // which has one more wrapper since Rust 1.94.
            Some(DerefTarget::Part(bit_offset, inner)) => {
                let is_wrapper = match self.strip(inner)? {
                    Some(inner) => self.library_target(inner)?.is_some() || is_pointer(self.type_tag(inner)?),
                    None => false,
                };
                let is_pin = self.text_name(of.die)?.starts_with("Pin<");
                let is_dangling = match self.strip(inner)? {
                    Some(inner) => self.text_name(inner.die)?.starts_with("MaybeDangling<"),
                    None => false,
                };
                let again = again || is_dangling || (is_pin && is_wrapper);
                Some(Projection::Part { bit_offset, bit_size: None, of: inner, again })
            }
            Some(DerefTarget::Through { pointer: (pointer_bit_offset, pointer), offset, of }) => {
                let Some(pointer_size) = self.type_size(pointer)? else {
                    return Ok(Some(refused(Unsupported::PointerSize)));
                };
                Some(Projection::Through { pointer_bit_offset, pointer_size, offset, of, again })
            }
        })
    }

    fn member_step(&self, named: TypeRef, of: TypeRef, name: &str) -> Result<Projection, Error> {
        let tag = self.type_tag(of)?;
        if is_pointer(tag) {
            return self.follow(of, true);
        }
        if !is_aggregate(tag) {
            return Ok(Projection::Absent(NoSuchPart::NoMembers { of: self.type_name(Some(named))? }));
        }
        // This comes first, because the fields of the library's pointers are private.
        if let Some(projection) = self.library_deref(of, true)? {
            return Ok(projection);
        }
        if self.is_declaration(of.die)? {
            return Ok(refused(Unsupported::OnlyDeclared { of: self.type_name(Some(named))? }));
        }
        match self.find_member(of.die, name)? {
            FoundMember::Member(place, of) => {
                return Ok(Projection::Part {
                    bit_offset: place.bit_offset,
                    bit_size: place.bit_size,
                    of,
                    again: false,
                });
            }
            FoundMember::Static(member) => return Ok(Projection::Static(member)),
            FoundMember::Refused(why) => return Ok(Projection::Refused(why)),
            FoundMember::No => {}
        }
        let Some(variants) = self.variants(of.die)? else { return self.no_member(named, of.die, name) };
        match &*variants.variants {
            [only] => match &*only.members {
                [member] => match (&member.place, member.of) {
                    (Ok(place), Some(of)) => Ok(Projection::Part {
                        bit_offset: place.bit_offset,
                        bit_size: place.bit_size,
                        of,
                        again: member.name != name,
                    }),
                    (&Err(problem), _) => Ok(refused(Unsupported::VariantPlace(problem))),
                    (Ok(_), None) => self.no_member(named, of.die, name),
                },
                _ => self.no_member(named, of.die, name),
            },
            several => {
                let variants = several.iter().take(LISTED).map(|variant| variant.name().to_owned()).collect();
                let of = self.type_name(Some(named))?;
                Ok(refused(Unsupported::SeveralVariants { of, variants, count: several.len() }))
            }
        }
    }

    fn no_member(&self, named: TypeRef, die: Die, name: &str) -> Result<Projection, Error> {
        let members = self.members(die)?;
        let names: Vec<_> =
            members.iter().filter(|member| !member.name.is_empty()).map(|member| &member.name).collect();
        let shown = |name: &&String| match name.strip_prefix("__") {
            Some(number) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => number.to_owned(),
            _ => (*name).clone(),
        };
        let has = names.iter().take(LISTED).map(shown).collect();
        let of = self.type_name(Some(named))?;
        Ok(Projection::Absent(NoSuchPart::NoMember { of, member: name.to_owned(), has, count: names.len() }))
    }

    fn index(&self, named: TypeRef, of: TypeRef, index: u64) -> Result<Projection, Error> {
        let tag = self.type_tag(of)?;
        let rust = self.language(of.die) == Language::Rust;
        if is_pointer(tag) {
            return match (rust, self.follow(of, rust)?) {
                (false, Projection::Through { pointer_bit_offset, pointer_size, of, .. }) => {
                    Ok(match self.offset_of(of, index)? {
                        Some(offset) => {
                            Projection::Through { pointer_bit_offset, pointer_size, offset, of, again: false }
                        }
                        None => refused(Unsupported::ElementSize),
                    })
                }
                (_, projection) => Ok(projection),
            };
        }
        if tag == dw::DW_TAG_array_type {
            return self.index_array(of, index);
        }
        if rust && is_aggregate(tag) {
            if let Some(sequence) = self.sequence(of)? {
                return self.index_sequence(&sequence, index);
            }
            if let Some(projection) = self.library_deref(of, true)? {
                return Ok(projection);
            }
        }
        Ok(Projection::Absent(NoSuchPart::NotArray { of: self.type_name(Some(named))? }))
    }

    fn index_array(&self, of: TypeRef, index: u64) -> Result<Projection, Error> {
        if let Some(problem) = self.odd_array(of.die)? {
            return Ok(refused(Unsupported::Array(problem)));
        }
        let dimensions = self.dimensions(of.die)?;
        let Some(dimension) = dimensions.get(of.dimension) else {
            return Ok(refused(Unsupported::Array(ArrayProblem::Dimension)));
        };
        if !dimension.from_zero {
            return Ok(refused(Unsupported::Array(ArrayProblem::LowerBound)));
        }
        // 0 is a flexible array, as C wrote it before C99.
        match dimension.count {
            Some(count) if count != 0 && index >= count => {
                return Ok(Projection::Absent(NoSuchPart::NoElement { index, count }));
            }
            _ => {}
        }
        let Some(element) = self.element(of)? else { return Ok(refused(Unsupported::ElementType)) };
        let bits = self.offset_of(element, index)?.and_then(|bytes| bytes.checked_mul(8));
        Ok(match bits {
            Some(bit_offset) => Projection::Part { bit_offset, bit_size: None, of: element, again: false },
            None => refused(Unsupported::ElementSize),
        })
    }

    fn index_sequence(&self, sequence: &super::rust_types::RawSequence, index: u64) -> Result<Projection, Error> {
        if sequence.kind != crate::types::SequenceKind::Elements {
            return Ok(refused(Unsupported::TextElement));
        }
        let offset = self.offset_of(sequence.element, index)?.and_then(|bytes| bytes.checked_add(sequence.offset));
        let (Some(offset), Some(pointer_size)) = (offset, self.type_size(sequence.data.1)?) else {
            return Ok(refused(Unsupported::ElementSize));
        };
        let (pointer_bit_offset, of) = (sequence.data.0, sequence.element);
        Ok(Projection::Through { pointer_bit_offset, pointer_size, offset, of, again: false })
    }

    /// The offset of an element in bytes.
    fn offset_of(&self, element: TypeRef, index: u64) -> Result<Option<u64>, Error> {
        Ok(self.type_size(element)?.and_then(|size| size.checked_mul(index)))
    }
}

fn refused(why: Unsupported) -> Projection {
    Projection::Refused(why)
}
