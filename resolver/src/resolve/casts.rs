//! The casts of C in arguments: what a name of a type means, and how C converts a value to it (ISO C23
//! 6.3.1.3, 6.3.2.3).
//!
//! Integers, characters, enumerations and pointers are converted to each other. A cast that computes
//! more, from or to a floating-point number or to a Boolean, is refused.

use std::sync::Arc;

use super::Reason;
use super::arguments::{Arguments, CastType, PlaceObject, PointerTarget, Stop};
use super::path::Move;
use super::place::TypeName;
use super::refusal::Refusal;
use crate::dwarf::{NoSuchPart, Step, TypeRef, Unsupported};
use crate::location::LocationNames as _;
use crate::types::{Shape, Type};

impl Arguments<'_> {
    /// The object that a cast gives.
    pub(super) fn cast(&self, object: PlaceObject, to: &TypeName, stop: &Stop<'_>) -> Result<PlaceObject, Refusal> {
        let (object, _) = self.referred(object, stop)?;
        let from = self.type_of_object(&object)?;
        let target = self.named(to, stop)?;
        let (of, made) = match target {
            PointerTarget::Described(of) => (Some(of), None),
            PointerTarget::Cast(made) => (None, Some(made)),
        };
        let mut cast = PlaceObject { location: object.location, of, made, ..object };
        let to_type = self.type_of_object(&cast)?;
        let refused = || Refusal::unsupported(Reason::Cast { from: Arc::clone(&from.name), to: to.text().into() });
        let (Some(from_size), Some(to_size)) = (from.size, to_type.size) else { return Err(refused()) };
        let is_array = matches!(from.shape, Shape::Array { .. });
        let is_signed = match &from.shape {
            Shape::Integer { signed } | Shape::Character { signed } | Shape::Enumeration { signed, .. } => *signed,
            Shape::Boolean | Shape::Pointer { .. } | Shape::Function | Shape::Array { .. } => false,
            _ => return Err(refused()),
        };
        let from_size = if is_array { u64::from(self.address_size()) } else { from_size };
        let is_whole = matches!(
            to_type.shape,
            Shape::Integer { .. }
                | Shape::Character { .. }
                | Shape::Enumeration { .. }
                | Shape::Pointer { .. }
                | Shape::Function
        );
        if !is_whole || from_size > 8 || to_size > 8 || from_size == 0 || to_size == 0 {
            return Err(refused());
        }
        if self.locator.names.is_big_endian() && from_size != to_size {
            return Err(Refusal::unsupported(Reason::BigEndianPart));
        }
        cast.bits = None;
        cast.is_extracted |= to_size > from_size;
        if is_array {
            (cast.whole, cast.is_behind) = ((0, None), false);
        }
        Ok(self.moved(cast, Move::Cast { is_array, from: from_size, to: to_size, is_signed }, stop))
    }

    /// The type of an object, with what a cast made of it.
    pub(super) fn type_of_object(&self, object: &PlaceObject) -> Result<Arc<Type>, Refusal> {
        match &object.made {
            Some(made) => self.made(made),
            None => self.describe(object.of),
        }
    }

    fn made(&self, made: &CastType) -> Result<Arc<Type>, Refusal> {
        Ok(match made {
            CastType::Number(of) => Arc::clone(of),
            CastType::Pointer(to) => {
                let to = match to.as_deref() {
                    None => self.describe(None)?,
                    Some(PointerTarget::Described(of)) => self.describe(Some(*of))?,
                    Some(PointerTarget::Cast(made)) => self.made(made)?,
                };
                let separator = if to.name.ends_with('*') { "" } else { " " };
                let name = format!("{}{separator}*", to.name).into();
                let shape = match &to.shape {
                    Shape::Function => Shape::Function,
                    _ => Shape::Pointer { to: Some(to) },
                };
                Arc::new(Type { name, size: Some(self.address_size().into()), shape })
            }
        })
    }

    /// Follows one step from an object whose type a cast made.
    pub(super) fn step_from(
        &self,
        object: PlaceObject,
        made: CastType,
        step: &Step,
        stop: &Stop<'_>,
    ) -> Result<PlaceObject, Refusal> {
        let of = || Ok::<_, Refusal>(self.made(&made)?.name.to_string());
        let absent = |why| Err(Refusal::absent(Reason::NoSuchPart(why)));
        let index = match step {
            Step::Deref => 0,
            Step::Index(index) => *index,
            Step::Member(_) => return absent(NoSuchPart::NoMembers { of: of()? }),
            Step::Referred => return Ok(PlaceObject { made: Some(made), ..object }),
        };
        let target = match &made {
            CastType::Number(_) => return absent(NoSuchPart::NotPointer { of: of()? }),
            CastType::Pointer(None) => {
                return Err(Refusal::unsupported(Reason::Unsupported(Unsupported::UnknownTarget { of: of()? })));
            }
            CastType::Pointer(Some(target)) => Arc::clone(target),
        };
        let size = match &*target {
            PointerTarget::Described(of) => self.debug.type_size(*of)?,
            PointerTarget::Cast(made) => self.made(made)?.size,
        };
        let offset = match (index, size.and_then(|size| size.checked_mul(index))) {
            (0, _) => 0,
            (_, Some(offset)) => offset,
            (_, None) => return Err(Refusal::unsupported(Reason::Unsupported(Unsupported::ElementSize))),
        };
        let mut found = self.through(object, (0, self.address_size()), offset, size, stop);
        match &*target {
            PointerTarget::Described(of) => found.of = Some(*of),
            PointerTarget::Cast(made) => found.made = Some(made.clone()),
        }
        Ok(found)
    }

    /// The type that a name means in the unit of the marker's function.
    fn named(&self, name: &TypeName, stop: &Stop<'_>) -> Result<PointerTarget, Refusal> {
        let words: Vec<&str> = name.words.iter().map(String::as_str).collect();
        let function = stop.scope.and_then(|scope| scope.frames.first()).map(|frame| frame.instance);
        let described = |words: &[&str]| -> Result<Option<TypeRef>, Refusal> {
            Ok(function.map(|function| self.debug.type_called(function, words)).transpose()?.flatten())
        };
        let mut pointers = name.pointers;
        let mut of = match (words.as_slice(), number(&words, self.address_size())) {
            (["void"], _) if pointers > 0 => {
                pointers -= 1;
                PointerTarget::Cast(CastType::Pointer(None))
            }
            // Whether it is signed is the target's choice.
            (["char"], _) => match described(&words)? {
                Some(of) => PointerTarget::Described(of),
                None => return Err(unknown(name)),
            },
            (_, Some(of)) => PointerTarget::Cast(CastType::Number(Arc::new(of))),
            (words, None) => match (described(words)?, words) {
                (Some(of), _) => PointerTarget::Described(of),
                (None, [word]) => {
                    let standard = standard(word.strip_prefix("std::").unwrap_or(word), self.address_size());
                    PointerTarget::Cast(CastType::Number(Arc::new(standard.ok_or_else(|| unknown(name))?)))
                }
                (None, _) => return Err(unknown(name)),
            },
        };
        for _ in 0..pointers {
            of = PointerTarget::Cast(CastType::Pointer(Some(Arc::new(of))));
        }
        Ok(of)
    }
}

fn unknown(name: &TypeName) -> Refusal {
    Refusal::unsupported(Reason::NoType { name: name.words.join(" ").into() })
}

fn integer(name: &str, size: u8, signed: bool) -> Type {
    Type { name: name.into(), size: Some(size.into()), shape: Shape::Integer { signed } }
}

/// The integer of C that keywords name (ISO C23 6.7.3.1); `None` if they name none, or `char`.
fn number(words: &[&str], address_size: u8) -> Option<Type> {
    let (mut signed, mut unsigned, mut long, mut short, mut char_, mut int) = (0, 0, 0, 0, 0, 0);
    for word in words {
        *match *word {
            "signed" | "__signed__" => &mut signed,
            "unsigned" => &mut unsigned,
            "long" => &mut long,
            "short" => &mut short,
            "char" => &mut char_,
            "int" => &mut int,
            _ => return None,
        } += 1;
    }
    let is_valid = signed + unsigned <= 1 && int <= 1 && long <= 2 && short <= 1 && char_ <= 1;
    let size = match (long, short, char_) {
        (0, 0, 0) => 4,
        (1, 0, 0) => address_size,
        (2, 0, 0) => 8,
        (0, 1, 0) => 2,
        (0, 0, 1) if int == 0 && signed + unsigned == 1 => 1,
        _ => return None,
    };
    (is_valid && !words.is_empty()).then(|| integer(&words.join(" "), size, unsigned == 0))
}

/// A type of `<stdint.h>` and `<stddef.h>`, which a program may use in a cast alone.
fn standard(name: &str, address_size: u8) -> Option<Type> {
    let (size, signed) = match name {
        "int8_t" => (1, true),
        "int16_t" => (2, true),
        "int32_t" => (4, true),
        "int64_t" | "intmax_t" => (8, true),
        "uint8_t" => (1, false),
        "uint16_t" => (2, false),
        "uint32_t" => (4, false),
        "uint64_t" | "uintmax_t" => (8, false),
        "intptr_t" | "ptrdiff_t" | "ssize_t" => (address_size, true),
        "uintptr_t" | "size_t" => (address_size, false),
        _ => return None,
    };
    Some(integer(name, size, signed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_name_integers() {
        let found = |text: &str| {
            let words: Vec<&str> = text.split(' ').collect();
            number(&words, 8).map(|of| (of.size.unwrap_or(0), matches!(of.shape, Shape::Integer { signed: true })))
        };
        assert_eq!(found("int"), Some((4, true)));
        assert_eq!(found("unsigned"), Some((4, false)));
        assert_eq!(found("long unsigned int"), Some((8, false)));
        assert_eq!(found("long long"), Some((8, true)));
        assert_eq!(found("unsigned char"), Some((1, false)));
        assert_eq!(found("short int"), Some((2, true)));
        for text in ["char", "long long long", "signed unsigned", "long short", "double", "node", "int int"] {
            assert_eq!(found(text), None, "{text}");
        }
        assert_eq!(number(&["long"], 4).and_then(|of| of.size), Some(4));
        assert_eq!(standard("size_t", 8).and_then(|of| of.size), Some(8));
        assert_eq!(standard("node", 8), None);
    }
}
