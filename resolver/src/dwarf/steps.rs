//! What each step of a place does to its type: `.member`, `[index]`, `*` (the places of `simple_mark!`, and of C).
//!
//! As Rust does, a step is repeated behind references, boxes and counted pointers where the type has no such member
//! itself.

use gimli::constants as dw;

use super::members::Found;
use super::rust_types::Target;
use super::types::{TypeRef, is_aggregate, is_pointer};
use super::units::{DebugInfo, Die};
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
}

/// What a step leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Projection {
    /// A part of the object.
    Part {
        /// Where it starts, in bits from the start of the object, counted as in [`crate::types::Member::bit_offset`].
        bit_offset: u64,
        /// Its bits where it is a bit-field.
        bit_size: Option<u64>,
        /// Its type.
        of: TypeRef,
        /// Whether the step is still to be made, from there.
        again: bool,
    },
    /// What a pointer in the object points at.
    Through {
        /// Where the pointer starts, in bits from the start of the object.
        pointer_bit_offset: u64,
        /// Bytes of the pointer.
        pointer_size: u64,
        /// How many bytes behind where it points the thing is.
        offset: u64,
        /// Its type.
        of: TypeRef,
        /// Whether the step is still to be made, from there.
        again: bool,
    },
    /// The type has no such part: why.
    Absent(String),
    /// The step can be made, and we cannot follow: why.
    Refused(String),
}

/// How many members a refusal lists.
const LISTED: usize = 12;

impl DebugInfo<'_> {
    /// Where a step leads from an object of a type.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub fn step(&self, of: TypeRef, step: &Step) -> Result<Projection, Error> {
        let Some(stripped) = self.strip(of)? else { return Ok(absent("`void` has no parts")) };
        let tag = self.type_tag(stripped)?;
        // A reference of C++ stands for what it refers to.
        if matches!(tag, dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type) {
            return self.follow(stripped, true);
        }
        match step {
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
        Ok(absent(format!("`{}` is not a pointer", self.type_name(Some(named))?)))
    }

    /// Through a pointer.
    fn follow(&self, pointer: TypeRef, again: bool) -> Result<Projection, Error> {
        if self.unsigned(pointer.die, dw::DW_AT_address_class)?.unwrap_or(0) != 0 {
            return Ok(refused("a pointer into an address space of its own"));
        }
        let target = self.type_of(pointer.die)?;
        let Some(of) = target else {
            return Ok(refused(format!("`{}` points at something of no known type", self.type_name(Some(pointer))?)));
        };
        match self.strip(of)? {
            None => {
                return Ok(refused(format!(
                    "`{}` points at something of no known type",
                    self.type_name(Some(pointer))?
                )));
            }
            Some(of) if self.type_tag(of)? == dw::DW_TAG_subroutine_type => return Ok(refused("a pointer to code")),
            Some(_) => {}
        }
        let Some(pointer_size) = self.type_size(pointer)? else { return Ok(refused("a pointer of no known size")) };
        Ok(Projection::Through { pointer_bit_offset: 0, pointer_size, offset: 0, of, again })
    }

    /// Through what Rust's library makes of a pointer.
    fn library_deref(&self, of: TypeRef, again: bool) -> Result<Option<Projection>, Error> {
        if self.language(of.die) != Language::Rust {
            return Ok(None);
        }
        Ok(match self.library_target(of)? {
            None => None,
            Some(Target::Refused(why)) => Some(Projection::Refused(why)),
            // A `Pin` is dereferenced by what it holds; `ManuallyDrop` is itself what it holds, since Rust 1.94 in one
            // more wrapper.
            Some(Target::Part(bit_offset, inner)) => {
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
            Some(Target::Through { pointer: (pointer_bit_offset, pointer), offset, of }) => {
                let Some(pointer_size) = self.type_size(pointer)? else {
                    return Ok(Some(refused("a pointer of no known size")));
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
            return Ok(absent(format!("`{}` has no members", self.type_name(Some(named))?)));
        }
        // First, for the fields of the library's pointers are private.
        if let Some(projection) = self.library_deref(of, true)? {
            return Ok(projection);
        }
        if self.is_declaration(of.die)? {
            return Ok(refused(format!("`{}` is only declared in this unit", self.type_name(Some(named))?)));
        }
        match self.find_member(of.die, name)? {
            Found::Member(place, of) => {
                return Ok(Projection::Part {
                    bit_offset: place.bit_offset,
                    bit_size: place.bit_size,
                    of,
                    again: false,
                });
            }
            Found::Refused(why) => return Ok(Projection::Refused(why)),
            Found::No => {}
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
                    (Err(why), _) => Ok(refused(why.clone())),
                    (Ok(_), None) => self.no_member(named, of.die, name),
                },
                _ => self.no_member(named, of.die, name),
            },
            several => {
                let names: Vec<_> = several.iter().take(LISTED).map(|variant| variant.name().to_owned()).collect();
                Ok(refused(format!(
                    "`{}` has several variants ({}), and only one of them is there",
                    self.type_name(Some(named))?,
                    listed(&names, several.len())
                )))
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
        let list: Vec<_> = names.iter().take(LISTED).map(shown).collect();
        let has = match list.is_empty() {
            true => "it has none".to_owned(),
            false => format!("it has {}", listed(&list, names.len())),
        };
        Ok(absent(format!("`{}` has no member `{name}`: {has}", self.type_name(Some(named))?)))
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
                        None => refused("elements of no known size"),
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
        Ok(absent(format!("`{}` is not an array", self.type_name(Some(named))?)))
    }

    fn index_array(&self, of: TypeRef, index: u64) -> Result<Projection, Error> {
        if let Some(what) = self.odd_array(of.die)? {
            return Ok(refused(what));
        }
        let dimensions = self.dimensions(of.die)?;
        let Some(dimension) = dimensions.get(of.dimension) else { return Ok(refused("not an array")) };
        if !dimension.from_zero {
            return Ok(refused("an array whose first element has not the number 0"));
        }
        // 0 is what C wrote for a flexible array before C99.
        match dimension.count {
            Some(count) if count != 0 && index >= count => {
                return Ok(absent(format!("there is no element {index} in an array of {count}")));
            }
            _ => {}
        }
        let Some(element) = self.element(of)? else { return Ok(refused("elements of no known type")) };
        let bits = self.offset_of(element, index)?.and_then(|bytes| bytes.checked_mul(8));
        Ok(match bits {
            Some(bit_offset) => Projection::Part { bit_offset, bit_size: None, of: element, again: false },
            None => refused("elements of no known size"),
        })
    }

    fn index_sequence(&self, sequence: &super::rust_types::RawSequence, index: u64) -> Result<Projection, Error> {
        if sequence.kind != crate::types::SequenceKind::Elements {
            return Ok(refused("text has no elements"));
        }
        let offset = self.offset_of(sequence.element, index)?.and_then(|bytes| bytes.checked_add(sequence.offset));
        let (Some(offset), Some(pointer_size)) = (offset, self.type_size(sequence.data.1)?) else {
            return Ok(refused("elements of no known size"));
        };
        let (pointer_bit_offset, of) = (sequence.data.0, sequence.element);
        Ok(Projection::Through { pointer_bit_offset, pointer_size, offset, of, again: false })
    }

    /// Bytes before an element.
    fn offset_of(&self, element: TypeRef, index: u64) -> Result<Option<u64>, Error> {
        Ok(self.type_size(element)?.and_then(|size| size.checked_mul(index)))
    }
}

fn absent(why: impl Into<String>) -> Projection {
    Projection::Absent(why.into())
}

fn refused(why: impl Into<String>) -> Projection {
    Projection::Refused(why.into())
}

/// Names, and that there are more.
fn listed(names: &[String], of: usize) -> String {
    let more = if of > names.len() { ", .." } else { "" };
    format!("{}{more}", names.join(", "))
}
