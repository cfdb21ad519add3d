//! Makes types from a few bytes.

use std::sync::Arc;

use simple_markers_resolver::types::{Member, OpaqueReason, Sequence, SequenceKind, Shape, Type, Variant, Variants};

use crate::byte;

/// The names of types and members.
pub const NAMES: [&str; 12] =
    ["int", "char", "u8", "&str", "*u8", "alloc::boxed::Box<u8>", "long double", "0", "__0", "pointer", "Some", "None"];

/// Makes types.
#[derive(Debug)]
pub struct TypeMaker<'a> {
    input: &'a [u8],
    /// How many more types it makes.
    left: usize,
}

impl<'a> TypeMaker<'a> {
    /// One that makes them of these bytes.
    #[must_use]
    pub fn new(input: &'a [u8]) -> Self {
        Self { input, left: 40 }
    }

    fn number(&mut self) -> u64 {
        match byte(&mut self.input) {
            low @ ..0xf0 => low.into(),
            0xf0 => u64::MAX,
            0xf1 => u64::MAX / 8,
            0xf2 => 1 << 63,
            high => 1 << (high & 0xf) << 12,
        }
    }

    fn flag(&mut self) -> bool {
        byte(&mut self.input) & 1 == 1
    }

    fn name(&mut self) -> Arc<str> {
        NAMES[usize::from(byte(&mut self.input)) % NAMES.len()].into()
    }

    fn member(&mut self) -> Member {
        let bit_size = if self.flag() { Some(self.number()) } else { None };
        Member { name: self.name(), bit_offset: self.number(), bit_size, of: self.of() }
    }

    fn members(&mut self) -> Vec<Member> {
        (0..byte(&mut self.input) % 4).map(|_| self.member()).collect()
    }

    /// The next type.
    pub fn of(&mut self) -> Arc<Type> {
        let (name, has_size) = (self.name(), self.flag());
        let size = if has_size { Some(self.number()) } else { None };
        let Some(left) = self.left.checked_sub(1) else { return Arc::new(Type { name, size, shape: Shape::Void }) };
        self.left = left;
        let shape = match byte(&mut self.input) % 14 {
            0 => Shape::Integer { signed: self.flag() },
            1 => Shape::Boolean,
            2 => Shape::Character { signed: self.flag() },
            3 => Shape::Float,
            4 => Shape::Pointer { to: Some(self.of()) },
            5 => Shape::Function,
            6 => Shape::Struct { members: self.members().into() },
            7 => Shape::Union { members: self.members().into() },
            8 => {
                let discriminant = if self.flag() { Some(self.member()) } else { None };
                let variants = (0..byte(&mut self.input) % 4)
                    .map(|_| {
                        let value = i128::from(self.number() as i64);
                        let values = self.flag().then(|| vec![(value, value.wrapping_add(1))]);
                        Variant { values, name: self.name(), members: self.members(), state: None }
                    })
                    .collect();
                Shape::Variants(Arc::new(Variants { discriminant, variants, common: self.members() }))
            }
            9 => {
                let signed = self.flag();
                let enumerators =
                    (0..byte(&mut self.input) % 4).map(|_| (self.name(), i128::from(self.number() as i64))).collect();
                Shape::Enumeration { signed, enumerators }
            }
            10 => {
                let count = if self.flag() { Some(self.number()) } else { None };
                let stride = if self.flag() { Some(self.number()) } else { None };
                Shape::Array { element: self.of(), count, stride }
            }
            11 => {
                let kind = match byte(&mut self.input) % 3 {
                    0 => SequenceKind::Text,
                    1 => SequenceKind::CText,
                    _ => SequenceKind::Elements,
                };
                let (data, offset, length) = (self.member(), self.number(), self.member());
                let element = if self.flag() { Some(self.of()) } else { None };
                Shape::Sequence(Arc::new(Sequence { kind, data, offset, length, element, capacity: None }))
            }
            12 => Shape::Pointer { to: None },
            _ => Shape::Opaque(OpaqueReason::OnlyDeclared),
        };
        Arc::new(Type { name, size, shape })
    }
}
