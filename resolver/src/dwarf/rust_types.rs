//! Types of Rust's standard library, recognised by their names *and* their members as rustc 1.63 to
//! 1.97 describe them. A type with other members is treated as a plain structure.

use gimli::constants as dw;

use super::members::{FoundMember, MemberBits};
use super::types::Types;
use super::types::{TypeRef, is_pointer};
use super::unit::Die;
use super::unsupported::Unsupported;
use crate::Error;
use crate::types::SequenceKind;

/// Elements in other memory, and their number.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawSequence {
    pub(super) kind: SequenceKind,
    /// The first bit of the pointer, and its type.
    pub(super) data: (u64, TypeRef),
    /// Bytes from the address in the pointer to the first element.
    pub(super) offset: u64,
    /// The first bit of the number, and its type.
    pub(super) length: (u64, TypeRef),
    /// The first bit of how many elements there is room for, and the type; `None` if that is not stated, or
    /// means nothing.
    pub(super) capacity: Option<(u64, TypeRef)>,
    pub(super) element: TypeRef,
}

/// What `*` does to a type of the library.
#[derive(Clone, Debug)]
pub(super) enum DerefTarget {
    /// It gives a part of the object.
    Part(u64, TypeRef),
    /// It gives the object `offset` bytes after the address in the pointer.
    Through { pointer: (u64, TypeRef), offset: u64, of: TypeRef },
    /// The type can be dereferenced in Rust, but that is not supported.
    Refused(Unsupported),
}

/// How many wrappers around a pointer are followed: `Vec`, `RawVec`, `RawVecInner`, `Unique`,
/// `NonNull`.
const NESTING: u32 = 8;

impl Types<'_> {
    /// The first bit and the type of a member by its name; `None` if there is no such member, or
    /// its place is not known.
    pub(super) fn part(&self, of: TypeRef, name: &str) -> Result<Option<(u64, TypeRef)>, Error> {
        let Some(of) = self.aggregate(of)? else { return Ok(None) };
        Ok(match self.find_member(of, name)? {
            FoundMember::Member(MemberBits { bit_offset, bit_size: None }, of) => Some((bit_offset, of)),
            _ => None,
        })
    }

    /// The entry of a structure.
    pub(super) fn aggregate(&self, of: TypeRef) -> Result<Option<Die>, Error> {
        match self.strip(of)? {
            Some(of) if super::types::is_aggregate(self.type_tag(of)?) => Ok(Some(of.die)),
            _ => Ok(None),
        }
    }

    /// The pointer that the type is or wraps.
    pub(super) fn pointer_in(&self, of: TypeRef) -> Result<Option<(u64, TypeRef)>, Error> {
        let (mut offset, mut of) = (0u64, of);
        for _ in 0..NESTING {
            let Some(inner) = self.strip(of)? else { return Ok(None) };
            if is_pointer(self.type_tag(inner)?) {
                return Ok(Some((offset, inner)));
            }
            let mut next = None;
            for name in ["inner", "ptr", "pointer", "data_ptr", "0"] {
                if let Some(found) = self.part(inner, name)? {
                    next = Some(found);
                    break;
                }
            }
            let Some((bits, wrapped)) = next else { return Ok(None) };
            let Some(sum) = offset.checked_add(bits) else { return Ok(None) };
            (offset, of) = (sum, wrapped);
        }
        Ok(None)
    }

    /// A type parameter of a generic type, counted from 0.
    pub(super) fn type_parameter(&self, die: Die, number: usize) -> Result<Option<TypeRef>, Error> {
        let children = self.units.children(die)?;
        let mut all = children.iter().filter(|(_, tag)| *tag == dw::DW_TAG_template_type_parameter);
        all.nth(number).map_or(Ok(None), |(child, _)| self.type_of(*child))
    }

    /// The elements of a slice, a `Vec` or a similar type; `None` for every other type.
    pub(super) fn sequence(&self, of: TypeRef) -> Result<Option<RawSequence>, Error> {
        let Some(die) = self.aggregate(of)? else { return Ok(None) };
        let name = self.text_name(die)?;
        match base(&name) {
            "String" | "PathBuf" | "OsString" | "Buf" => self.text_of_vec(die),
            "Vec" => self.vec(die),
            "CString" => {
                let Some((offset, inner)) = self.part(die.into(), "inner")? else { return Ok(None) };
                let Some(slice) = self.sequence_of_slice(inner)? else { return Ok(None) };
                Ok(slice.shifted(offset).map(|slice| RawSequence { kind: SequenceKind::CText, ..slice }))
            }
            "Rc" | "Arc" => {
                let Some((offset, pointer)) = self.part(die.into(), "ptr")? else { return Ok(None) };
                let Some((within, pointer)) = self.part(pointer, "pointer")? else { return Ok(None) };
                let slice = self.sequence_of_slice(pointer)?;
                Ok(slice.and_then(|slice| slice.shifted(offset.checked_add(within)?)))
            }
            _ => self.sequence_of_slice(die.into()),
        }
    }

    /// The text of a `String` or `PathBuf`, which wrap a `Vec<u8>` once or several times.
    fn text_of_vec(&self, die: Die) -> Result<Option<RawSequence>, Error> {
        let (mut offset, mut of) = (0u64, TypeRef::from(die));
        for _ in 0..NESTING {
            let mut next = None;
            for name in ["vec", "inner"] {
                if let Some(found) = self.part(of, name)? {
                    next = Some(found);
                    break;
                }
            }
            let Some((bits, inner)) = next else { return Ok(None) };
            let Some(sum) = offset.checked_add(bits) else { return Ok(None) };
            (offset, of) = (sum, inner);
            let Some(inner) = self.aggregate(inner)? else { return Ok(None) };
            if base(&self.text_name(inner)?) == "Vec" {
                let vec = self.vec(inner)?.and_then(|vec| vec.shifted(offset));
                return Ok(vec.map(|vec| RawSequence { kind: SequenceKind::Text, ..vec }));
            }
        }
        Ok(None)
    }

    fn vec(&self, die: Die) -> Result<Option<RawSequence>, Error> {
        let (Some((buffer, inner)), Some(length)) = (self.part(die.into(), "buf")?, self.part(die.into(), "len")?)
        else {
            return Ok(None);
        };
        let (Some((within, pointer)), Some(element)) = (self.pointer_in(inner)?, self.type_parameter(die, 0)?) else {
            return Ok(None);
        };
        let Some(data) = buffer.checked_add(within) else { return Ok(None) };
        // Without a size of elements there is no buffer.
        let capacity = match self.type_size(element)? {
            Some(1..) => self.capacity_in(inner)?,
            _ => None,
        };
        let capacity = capacity.and_then(|(bits, of)| Some((buffer.checked_add(bits)?, of)));
        let (kind, data) = (SequenceKind::Elements, (data, pointer));
        Ok(Some(RawSequence { kind, data, offset: 0, length, capacity, element }))
    }

    /// How many elements a buffer has room for: `inner.cap.0` of a `RawVec`.
    fn capacity_in(&self, of: TypeRef) -> Result<Option<(u64, TypeRef)>, Error> {
        let (mut offset, mut of, mut is_found) = (0u64, of, false);
        for _ in 0..NESTING {
            let mut next = None;
            for name in ["inner", "cap", "0"] {
                if let Some((bits, inner)) = self.part(of, name)? {
                    is_found |= name == "cap";
                    next = offset.checked_add(bits).map(|offset| (offset, inner));
                    break;
                }
            }
            match next {
                Some(next) => (offset, of) = next,
                None => break,
            }
        }
        Ok(Some((offset, of)).filter(|_| is_found && matches!(self.type_size(of), Ok(Some(1..=8)))))
    }

    /// A pointer with a length: `&[T]`, `*const [T]`, `Box<str>`, `*const RcInner<[T]>`, `&Path`.
    fn sequence_of_slice(&self, of: TypeRef) -> Result<Option<RawSequence>, Error> {
        let Some(die) = self.aggregate(of)? else { return Ok(None) };
        // Most structures are no pointers, and their members need not be read.
        let name = self.text_name(die)?;
        let pointee = pointee_name(&name);
        if pointee.is_empty() {
            return Ok(None);
        }
        let (Some(data), Some(length)) = (self.part(die.into(), "data_ptr")?, self.part(die.into(), "length")?) else {
            return Ok(None);
        };
        let Some(pointer) = self.strip(data.1)? else { return Ok(None) };
        let Some(target) = self.type_of(pointer.die)? else { return Ok(None) };
        let sequence = |kind, offset, element| {
            Ok(Some(RawSequence { kind, data: (data.0, pointer), offset, length, capacity: None, element }))
        };
        if pointee == "str" {
            return sequence(SequenceKind::Text, 0, target);
        }
        if pointee.starts_with('[') {
            return sequence(SequenceKind::Elements, 0, target);
        }
        let Some(inner) = self.aggregate(target)? else { return Ok(None) };
        let inner_name = self.text_name(inner)?;
        match base(&inner_name) {
            // The counts, and then the elements. `RcBox` is the name up to Rust 1.71.
            "RcInner" | "RcBox" | "ArcInner" => {
                let mut value = self.part(target, "value")?;
                if value.is_none() {
                    value = self.part(target, "data")?;
                }
                let Some((bits, element)) = value else { return Ok(None) };
                let what = inner_name.split_once('<').map_or("", |(_, rest)| rest);
                let kind = match what {
                    "str>" => SequenceKind::Text,
                    _ if what.starts_with('[') => SequenceKind::Elements,
                    _ => return Ok(None),
                };
                sequence(kind, bits / 8, element)
            }
            "CStr" => match self.part(target, "inner")? {
                Some((0, element)) => sequence(SequenceKind::CText, 0, element),
                _ => Ok(None),
            },
            "Path" | "OsStr" | "Slice" => {
                let mut of = target;
                for _ in 0..NESTING {
                    match self.part(of, "inner")? {
                        Some((0, inner)) => of = inner,
                        Some(_) => return Ok(None),
                        None => break,
                    }
                }
                match self.type_size(of)? {
                    Some(1) => sequence(SequenceKind::Text, 0, of),
                    _ => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    /// What `*` gives for a type of the library that can be dereferenced, but is not a pointer in
    /// debug information; `None` for all others.
    pub(super) fn library_target(&self, of: TypeRef) -> Result<Option<DerefTarget>, Error> {
        let Some(die) = self.aggregate(of)? else { return Ok(None) };
        let name = self.text_name(die)?;
        let of = TypeRef::from(die);
        match base(&name) {
            "Rc" | "Arc" => {
                let Some((outer, inner)) = self.part(of, "ptr")? else { return Ok(None) };
                self.counted(outer, inner)
            }
            "Pin" => {
                let mut inner = self.part(of, "pointer")?;
                if inner.is_none() {
                    // The name up to about Rust 1.82.
                    inner = self.part(of, "__pointer")?;
                }
                Ok(inner.map(|(offset, inner)| DerefTarget::Part(offset, inner)))
            }
            "ManuallyDrop" | "MaybeDangling" => {
                let mut inner = self.part(of, "value")?;
                if inner.is_none() {
                    inner = self.part(of, "0")?;
                }
                Ok(inner.map(|(offset, inner)| DerefTarget::Part(offset, inner)))
            }
            "Ref" | "RefMut" => {
                let (Some((outer, inner)), Some(_)) = (self.part(of, "value")?, self.part(of, "borrow")?) else {
                    return Ok(None);
                };
                self.whole_target(outer, inner)
            }
            "RwLockReadGuard" => match self.part(of, "data")? {
                Some((outer, inner)) => self.whole_target(outer, inner),
                None => Ok(None),
            },
            "MutexGuard" | "RwLockWriteGuard" => {
                let Some((outer, lock)) = self.part(of, "lock")? else { return Ok(None) };
                let Some((within, pointer)) = self.pointer_in(lock)? else { return Ok(None) };
                let (Some(lock), Some(at)) = (self.type_of(pointer.die)?, outer.checked_add(within)) else {
                    return Ok(None);
                };
                let Some((data, cell)) = self.part(lock, "data")? else { return Ok(None) };
                let Some((value, of)) = self.part(cell, "value")? else { return Ok(None) };
                let Some(bits) = data.checked_add(value) else { return Ok(None) };
                Ok(Some(DerefTarget::Through { pointer: (at, pointer), offset: bits / 8, of }))
            }
            _ if pointee_name(&name).is_empty() => Ok(None),
            _ if self.part(of, "data_ptr")?.is_some() && self.part(of, "length")?.is_some() => {
                Ok(Some(DerefTarget::Refused(Unsupported::UnsizedTarget { of: Some(name) })))
            }
            _ if self.part(of, "pointer")?.is_some() && self.part(of, "vtable")?.is_some() => {
                Ok(Some(DerefTarget::Refused(Unsupported::TraitObject { of: Some(name) })))
            }
            _ => Ok(None),
        }
    }

    /// The whole object that the pointer in a type points at.
    fn whole_target(&self, outer: u64, of: TypeRef) -> Result<Option<DerefTarget>, Error> {
        if let Some(refused @ DerefTarget::Refused(_)) = self.fat(of)? {
            return Ok(Some(refused));
        }
        let Some((within, pointer)) = self.pointer_in(of)? else { return Ok(None) };
        let (Some(of), Some(at)) = (self.type_of(pointer.die)?, outer.checked_add(within)) else { return Ok(None) };
        Ok(Some(DerefTarget::Through { pointer: (at, pointer), offset: 0, of }))
    }

    /// The object in an `Rc` or `Arc`.
    fn counted(&self, outer: u64, of: TypeRef) -> Result<Option<DerefTarget>, Error> {
        if let Some(refused @ DerefTarget::Refused(_)) = self.fat(of)? {
            return Ok(Some(refused));
        }
        let Some((within, pointer)) = self.pointer_in(of)? else { return Ok(None) };
        let (Some(inner), Some(at)) = (self.type_of(pointer.die)?, outer.checked_add(within)) else { return Ok(None) };
        if self.part(inner, "strong")?.is_none() || self.part(inner, "weak")?.is_none() {
            return Ok(None);
        }
        let mut value = self.part(inner, "value")?;
        if value.is_none() {
            value = self.part(inner, "data")?;
        }
        Ok(value.map(|(bits, of)| DerefTarget::Through { pointer: (at, pointer), offset: bits / 8, of }))
    }

    /// Why the pointer in a wrapper cannot be followed: it has a length or a vtable.
    fn fat(&self, of: TypeRef) -> Result<Option<DerefTarget>, Error> {
        let mut of = of;
        for _ in 0..NESTING {
            if self.part(of, "length")?.is_some() {
                return Ok(Some(DerefTarget::Refused(Unsupported::UnsizedTarget { of: None })));
            }
            if self.part(of, "vtable")?.is_some() {
                return Ok(Some(DerefTarget::Refused(Unsupported::TraitObject { of: None })));
            }
            match self.part(of, "pointer")? {
                Some((_, inner)) => of = inner,
                None => break,
            }
        }
        Ok(None)
    }
}

impl RawSequence {
    /// The same, `bits` further into the object that contains it.
    fn shifted(self, bits: u64) -> Option<Self> {
        let data = (self.data.0.checked_add(bits)?, self.data.1);
        let length = (self.length.0.checked_add(bits)?, self.length.1);
        let capacity = match self.capacity {
            Some((at, of)) => Some((at.checked_add(bits)?, of)),
            None => None,
        };
        Some(Self { data, length, capacity, ..self })
    }
}

/// A name without its parameters.
fn base(name: &str) -> &str {
    name.split_once('<').map_or(name, |(base, _)| base)
}

/// The name of the type that a Rust pointer points at, from the name of the pointer type.
pub(super) fn pointee_name(name: &str) -> &str {
    for sign in ["&mut ", "&", "*const ", "*mut "] {
        if let Some(rest) = name.strip_prefix(sign) {
            return rest;
        }
    }
    // `alloc::boxed::Box<str, alloc::alloc::Global>`.
    match name.split_once("Box<") {
        Some(("" | "alloc::boxed::", rest)) if rest.starts_with("str,") || rest == "str>" => "str",
        Some(("" | "alloc::boxed::", rest)) => rest,
        _ => "",
    }
}
