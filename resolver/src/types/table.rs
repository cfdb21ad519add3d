//! Types as a flat table, in the JSON of plan files and recordings.
//!
//! A type refers to others by their numbers, which are lower than its own. So there are no circles,
//! and a type that several others have in common is there once.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    Collection, Dynamic, FutureState, Member, OpaqueReason, Sequence, SequenceKind, Shape, Type, Variant, Variants,
};
use crate::english::types::opaque;
use crate::json::{JsonError, objects};

/// The most types in a table.
pub const MAX_TYPES: usize = 4096;

/// How deep types may be nested in each other.
pub const MAX_TYPE_NESTING: u32 = 64;

/// Types that refer to each other by number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TypeTable {
    #[serde(deserialize_with = "objects")]
    types: Vec<TableType>,
}

/// A type. Absent members are those without a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct TableType {
    name: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    shape: FlatShape,
}

/// The number of a type.
type TypeNumber = u32;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FlatShape {
    Void,
    Signed,
    Unsigned,
    Boolean,
    SignedCharacter,
    Character,
    Float,
    Pointer(Option<TypeNumber>),
    Function,
    Struct(#[serde(deserialize_with = "objects")] Vec<FlatMember>),
    Union(#[serde(deserialize_with = "objects")] Vec<FlatMember>),
    Variants(FlatVariants),
    SignedEnumeration(Vec<(Arc<str>, Wide)>),
    Enumeration(Vec<(Arc<str>, Wide)>),
    Array {
        element: TypeNumber,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stride: Option<u64>,
    },
    Text(FlatSequence),
    CText(FlatSequence),
    Elements(FlatSequence),
    Collection(Collection<TypeNumber>),
    Dynamic(Dynamic<TypeNumber>),
    Opaque(Arc<str>),
}

/// A member: its first bit, and its size in bits if it is a bit-field.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct FlatMember {
    #[serde(default, skip_serializing_if = "is_empty")]
    name: Arc<str>,
    bit: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bits: Option<u64>,
    of: TypeNumber,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct FlatVariants {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<FlatMember>,
    #[serde(deserialize_with = "objects")]
    variants: Vec<FlatVariant>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "objects")]
    common: Vec<FlatMember>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct FlatVariant {
    name: Arc<str>,
    /// Ranges with inclusive ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    values: Option<Vec<(Wide, Wide)>>,
    #[serde(deserialize_with = "objects")]
    members: Vec<FlatMember>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<FutureState>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct FlatSequence {
    data: FlatMember,
    length: FlatMember,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capacity: Option<FlatMember>,
    #[serde(default, skip_serializing_if = "is_zero")]
    offset: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    element: Option<TypeNumber>,
}

fn is_empty(name: &str) -> bool {
    name.is_empty()
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// An integer: a text if it does not fit into 64 bits, which readers of JSON do not keep.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
enum Wide {
    Number(i64),
    Digits(String),
}

impl From<i128> for Wide {
    fn from(number: i128) -> Self {
        i64::try_from(number).map_or_else(|_| Self::Digits(number.to_string()), Self::Number)
    }
}

impl Wide {
    fn number(&self) -> Result<i128, String> {
        match self {
            Self::Number(number) => Ok((*number).into()),
            Self::Digits(digits) => digits.parse().map_err(|_| format!("`{digits}` is no integer of 128 bits")),
        }
    }
}

impl TypeTable {
    /// A table of these types and all that they refer to, and the number of each. The number is
    /// `None` if the table would get more than [`MAX_TYPES`] types.
    #[must_use]
    pub fn new(types: &[Arc<Type>]) -> (Self, Vec<Option<usize>>) {
        let mut writer = TableWriter::default();
        let mut numbers = Vec::with_capacity(types.len());
        for of in types {
            let number = writer.number(of, 0);
            numbers.push(number.and_then(|number| usize::try_from(number).ok()));
        }
        (Self { types: writer.types }, numbers)
    }

    /// The types, each at its number. `path` says where the table is.
    ///
    /// # Errors
    ///
    /// There are too many types, they are nested too deep, or one refers to a type that does not
    /// precede it.
    pub fn types(&self, path: &str) -> Result<Vec<Arc<Type>>, JsonError> {
        if self.types.len() > MAX_TYPES {
            let what = format!("there are {}; {MAX_TYPES} are possible", self.types.len());
            return Err(JsonError::new(path, &what));
        }
        let mut reader = TableReader::default();
        for (number, flat) in self.types.iter().enumerate() {
            let of = reader.read(flat).map_err(|what| JsonError::new(&format!("{path}[{number}]"), &what))?;
            reader.types.push((Arc::new(of), reader.nesting));
        }
        Ok(reader.types.into_iter().map(|(of, _)| of).collect())
    }
}

#[derive(Default)]
struct TableWriter {
    types: Vec<TableType>,
    /// The numbers of types by their content.
    known: HashMap<TableType, TypeNumber>,
    /// The numbers of types by their address, which the caller keeps alive.
    shared: HashMap<*const Type, (TypeNumber, u32)>,
    /// How deep the type that was added last is nested.
    nesting: u32,
}

impl TableWriter {
    /// The number of a type that is nested so deep. `None` if the table is full.
    fn number(&mut self, of: &Arc<Type>, depth: u32) -> Option<TypeNumber> {
        if let Some((number, nesting)) = self.shared.get(&Arc::as_ptr(of)) {
            self.nesting = self.nesting.max(*nesting);
            return Some(*number);
        }
        let outer = std::mem::take(&mut self.nesting);
        let mut shape = match depth.checked_add(1).filter(|depth| *depth < MAX_TYPE_NESTING) {
            Some(depth) => Some(self.shape(&of.shape, depth)?),
            None => None,
        };
        // A type that readers would refuse is cut off.
        if self.nesting >= MAX_TYPE_NESTING {
            (shape, self.nesting) = (None, 0);
        }
        let shape = shape.unwrap_or_else(|| FlatShape::Opaque(opaque(&OpaqueReason::TooDeep).into()));
        let nesting = self.nesting.saturating_add(1);
        let flat = TableType { name: Arc::clone(&of.name), size: of.size, shape };
        let number = match self.known.get(&flat) {
            Some(number) => *number,
            None if self.types.len() >= MAX_TYPES => return None,
            None => {
                let number = TypeNumber::try_from(self.types.len()).ok()?;
                self.types.push(flat.clone());
                self.known.insert(flat, number);
                number
            }
        };
        self.shared.insert(Arc::as_ptr(of), (number, nesting));
        self.nesting = outer.max(nesting);
        Some(number)
    }

    fn shape(&mut self, shape: &Shape, depth: u32) -> Option<FlatShape> {
        let enumerators = |enumerators: &[(Arc<str>, i128)]| {
            enumerators.iter().map(|(name, value)| (Arc::clone(name), (*value).into())).collect()
        };
        Some(match shape {
            Shape::Void => FlatShape::Void,
            Shape::Integer { signed: true } => FlatShape::Signed,
            Shape::Integer { signed: false } => FlatShape::Unsigned,
            Shape::Boolean => FlatShape::Boolean,
            Shape::Character { signed: true } => FlatShape::SignedCharacter,
            Shape::Character { signed: false } => FlatShape::Character,
            Shape::Float => FlatShape::Float,
            Shape::Pointer { to } => FlatShape::Pointer(self.maybe(to.as_ref(), depth)?),
            Shape::Function => FlatShape::Function,
            Shape::Struct { members } => FlatShape::Struct(self.members(members, depth)?),
            Shape::Union { members } => FlatShape::Union(self.members(members, depth)?),
            Shape::Variants(variants) => FlatShape::Variants(self.variants(variants, depth)?),
            Shape::Enumeration { signed: true, enumerators: all } => FlatShape::SignedEnumeration(enumerators(all)),
            Shape::Enumeration { signed: false, enumerators: all } => FlatShape::Enumeration(enumerators(all)),
            Shape::Array { element, count, stride } => {
                FlatShape::Array { element: self.number(element, depth)?, count: *count, stride: *stride }
            }
            Shape::Sequence(sequence) => {
                let Sequence { kind, data, offset, length, capacity, element } = &**sequence;
                let (data, length) = (self.member(data, depth)?, self.member(length, depth)?);
                let element = self.maybe(element.as_ref(), depth)?;
                let capacity = match capacity {
                    Some(member) => Some(self.member(member, depth)?),
                    None => None,
                };
                let flat = FlatSequence { data, length, capacity, offset: *offset, element };
                match kind {
                    SequenceKind::Text => FlatShape::Text(flat),
                    SequenceKind::CText => FlatShape::CText(flat),
                    SequenceKind::Elements => FlatShape::Elements(flat),
                }
            }
            Shape::Collection(collection) => {
                FlatShape::Collection(collection.with_types(|of| self.number(of, depth).ok_or(())).ok()?)
            }
            Shape::Dynamic(dynamic) => {
                FlatShape::Dynamic(dynamic.with_types(|of| self.number(of, depth).ok_or(())).ok()?)
            }
            Shape::Opaque(reason) => FlatShape::Opaque(opaque(reason).into()),
        })
    }

    fn maybe(&mut self, of: Option<&Arc<Type>>, depth: u32) -> Option<Option<TypeNumber>> {
        match of {
            Some(of) => self.number(of, depth).map(Some),
            None => Some(None),
        }
    }

    fn member(&mut self, member: &Member, depth: u32) -> Option<FlatMember> {
        let of = self.number(&member.of, depth)?;
        Some(FlatMember { name: Arc::clone(&member.name), bit: member.bit_offset, bits: member.bit_size, of })
    }

    fn members(&mut self, members: &[Member], depth: u32) -> Option<Vec<FlatMember>> {
        members.iter().map(|member| self.member(member, depth)).collect()
    }

    fn variants(&mut self, variants: &Variants, depth: u32) -> Option<FlatVariants> {
        let by = match &variants.discriminant {
            Some(member) => Some(self.member(member, depth)?),
            None => None,
        };
        let mut flat = Vec::with_capacity(variants.variants.len());
        for Variant { values, name, members, state } in &variants.variants {
            let range = |(low, high): &(i128, i128)| ((*low).into(), (*high).into());
            let values = values.as_ref().map(|ranges| ranges.iter().map(range).collect());
            let (name, members, state) = (Arc::clone(name), self.members(members, depth)?, state.clone());
            flat.push(FlatVariant { name, values, members, state });
        }
        Some(FlatVariants { by, variants: flat, common: self.members(&variants.common, depth)? })
    }
}

#[derive(Default)]
struct TableReader {
    /// The types, and how deep each is nested.
    types: Vec<(Arc<Type>, u32)>,
    /// How deep the type that is read is nested.
    nesting: u32,
}

impl TableReader {
    fn read(&mut self, flat: &TableType) -> Result<Type, String> {
        self.nesting = 1;
        let shape = self.shape(&flat.shape)?;
        Ok(Type { name: Arc::clone(&flat.name), size: flat.size, shape })
    }

    fn get(&mut self, number: TypeNumber) -> Result<Arc<Type>, String> {
        let found = usize::try_from(number).ok().and_then(|number| self.types.get(number));
        let (of, nesting) =
            found.ok_or_else(|| format!("it refers to the type {number}, which does not precede it"))?;
        self.nesting = self.nesting.max(nesting.saturating_add(1));
        if self.nesting > MAX_TYPE_NESTING {
            return Err(format!("more than {MAX_TYPE_NESTING} types are nested in each other"));
        }
        Ok(Arc::clone(of))
    }

    fn maybe(&mut self, number: Option<TypeNumber>) -> Result<Option<Arc<Type>>, String> {
        number.map(|number| self.get(number)).transpose()
    }

    fn shape(&mut self, shape: &FlatShape) -> Result<Shape, String> {
        let enumeration = |signed, all: &[(Arc<str>, Wide)]| -> Result<Shape, String> {
            let enumerator = |(name, value): &(Arc<str>, Wide)| Ok((Arc::clone(name), value.number()?));
            let enumerators: Result<Vec<_>, String> = all.iter().map(enumerator).collect();
            Ok(Shape::Enumeration { signed, enumerators: enumerators?.into() })
        };
        Ok(match shape {
            FlatShape::Void => Shape::Void,
            FlatShape::Signed => Shape::Integer { signed: true },
            FlatShape::Unsigned => Shape::Integer { signed: false },
            FlatShape::Boolean => Shape::Boolean,
            FlatShape::SignedCharacter => Shape::Character { signed: true },
            FlatShape::Character => Shape::Character { signed: false },
            FlatShape::Float => Shape::Float,
            FlatShape::Pointer(to) => Shape::Pointer { to: self.maybe(*to)? },
            FlatShape::Function => Shape::Function,
            FlatShape::Struct(members) => Shape::Struct { members: self.members(members)?.into() },
            FlatShape::Union(members) => Shape::Union { members: self.members(members)?.into() },
            FlatShape::Variants(variants) => Shape::Variants(Arc::new(self.variants(variants)?)),
            FlatShape::SignedEnumeration(all) => enumeration(true, all)?,
            FlatShape::Enumeration(all) => enumeration(false, all)?,
            FlatShape::Array { element, count, stride } => {
                Shape::Array { element: self.get(*element)?, count: *count, stride: *stride }
            }
            FlatShape::Text(sequence) => self.sequence(SequenceKind::Text, sequence)?,
            FlatShape::CText(sequence) => self.sequence(SequenceKind::CText, sequence)?,
            FlatShape::Elements(sequence) => self.sequence(SequenceKind::Elements, sequence)?,
            FlatShape::Collection(collection) => {
                Shape::Collection(Arc::new(collection.with_types(|number| self.get(*number))?))
            }
            FlatShape::Dynamic(dynamic) => Shape::Dynamic(Arc::new(dynamic.with_types(|number| self.get(*number))?)),
            FlatShape::Opaque(words) => Shape::Opaque(OpaqueReason::Filed(Arc::clone(words))),
        })
    }

    fn sequence(&mut self, kind: SequenceKind, flat: &FlatSequence) -> Result<Shape, String> {
        let (data, length) = (self.member(&flat.data)?, self.member(&flat.length)?);
        let element = self.maybe(flat.element)?;
        let capacity = flat.capacity.as_ref().map(|member| self.member(member)).transpose()?;
        Ok(Shape::Sequence(Arc::new(Sequence { kind, data, offset: flat.offset, length, capacity, element })))
    }

    fn member(&mut self, flat: &FlatMember) -> Result<Member, String> {
        let of = self.get(flat.of)?;
        Ok(Member { name: Arc::clone(&flat.name), bit_offset: flat.bit, bit_size: flat.bits, of })
    }

    fn members(&mut self, flat: &[FlatMember]) -> Result<Vec<Member>, String> {
        flat.iter().map(|member| self.member(member)).collect()
    }

    fn variants(&mut self, flat: &FlatVariants) -> Result<Variants, String> {
        let discriminant = flat.by.as_ref().map(|member| self.member(member)).transpose()?;
        let mut variants = Vec::with_capacity(flat.variants.len());
        for FlatVariant { name, values, members, state } in &flat.variants {
            let range = |(low, high): &(Wide, Wide)| Ok((low.number()?, high.number()?));
            let values: Option<Result<Vec<_>, String>> = values.as_ref().map(|all| all.iter().map(range).collect());
            variants.push(Variant {
                values: values.transpose()?,
                name: Arc::clone(name),
                members: self.members(members)?,
                state: state.clone(),
            });
        }
        Ok(Variants { discriminant, variants, common: self.members(&flat.common)? })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::super::{CollectionLayout, CollectionPart, NumberPlace};
    use super::*;

    fn integer(size: u64) -> Arc<Type> {
        Arc::new(Type {
            name: format!("u{}", size * 8).into(),
            size: Some(size),
            shape: Shape::Integer { signed: false },
        })
    }

    fn member(name: &str, byte: u64, of: &Arc<Type>) -> Member {
        Member { name: name.into(), bit_offset: 8 * byte, bit_size: None, of: Arc::clone(of) }
    }

    fn of(name: &str, shape: Shape) -> Arc<Type> {
        Arc::new(Type { name: name.into(), size: Some(8), shape })
    }

    fn again(types: &[Arc<Type>]) -> (TypeTable, Vec<Arc<Type>>) {
        let (table, numbers) = TypeTable::new(types);
        let text = serde_json::to_string(&table).unwrap();
        let read: TypeTable = serde_json::from_str(&text).unwrap();
        assert_eq!(read, table);
        let all = read.types("types").unwrap();
        let read = numbers.into_iter().map(|number| Arc::clone(&all[number.unwrap()])).collect();
        (table, read)
    }

    fn error(json: &Json) -> String {
        let table: TypeTable = serde_json::from_value(json.clone()).unwrap();
        table.types("types").unwrap_err().to_string()
    }

    #[test]
    fn types_are_the_same_after_a_round_trip() {
        let (byte, word) = (integer(1), integer(8));
        let pointer = of("&u8", Shape::Pointer { to: Some(Arc::clone(&byte)) });
        let bits = Member { bit_size: Some(3), bit_offset: 5, ..member("b", 0, &byte) };
        let members = vec![member("a", 0, &byte), bits, member("", 8, &pointer)];
        let structure = of("Queue", Shape::Struct { members: members.clone().into() });
        let sequence = Sequence {
            kind: SequenceKind::CText,
            data: member("", 8, &pointer),
            offset: 16,
            length: member("", 0, &word),
            element: Some(Arc::clone(&byte)),
            capacity: None,
        };
        let variant = |values, name: &str| Variant {
            values,
            name: name.into(),
            members: vec![member(name, 0, &structure)],
            state: None,
        };
        let variants = Variants {
            discriminant: Some(member("", 0, &byte)),
            variants: vec![variant(Some(vec![(-1, 3), (i128::MIN, i128::MAX)]), "A"), variant(None, "B")],
            common: vec![member("all", 2, &byte)],
        };
        let place = |offset| NumberPlace { offset, size: 8 };
        let map = Collection {
            layout: CollectionLayout::Linked { first: place(0), length: Some(place(8)), next: place(16) },
            is_set: false,
            key: Some(CollectionPart { offset: 8, of: Arc::clone(&byte) }),
            value: Some(CollectionPart { offset: 16, of: Arc::clone(&structure) }),
        };
        let types = [
            Arc::clone(&structure),
            of("u", Shape::Union { members: members.into() }),
            of(
                "e",
                Shape::Enumeration { signed: true, enumerators: vec![("A".into(), -7), ("B".into(), 1 << 80)].into() },
            ),
            of("CString", Shape::Sequence(Arc::new(sequence))),
            of("V", Shape::Variants(Arc::new(variants))),
            of("Map", Shape::Collection(Arc::new(map))),
            of("[u8; 3]", Shape::Array { element: Arc::clone(&byte), count: Some(3), stride: None }),
            of("*x", Shape::Pointer { to: None }),
            of("c", Shape::Character { signed: true }),
            Arc::new(Type { name: "s".into(), size: None, shape: Shape::Opaque(OpaqueReason::Filed("why".into())) }),
            integer(1),
        ];
        let (table, read) = again(&types);
        assert_eq!(read, types);
        // The pointer and the three numbers of 8 bits are one type each.
        assert_eq!(table.types.len(), 13);
        let Shape::Struct { members } = &read[0].shape else { panic!("{read:?}") };
        assert!(Arc::ptr_eq(&members[0].of, &read[10]));
        let declared = of("s", Shape::Opaque(OpaqueReason::OnlyDeclared));
        assert_eq!(again(&[declared]).1[0].shape, Shape::Opaque(OpaqueReason::Filed("declared only".into())));
    }

    #[test]
    fn a_table_is_plain_json() {
        let structure = of("Queue", Shape::Struct { members: vec![member("a", 4, &integer(1))].into() });
        let (table, _) = TypeTable::new(&[structure]);
        let expected = json!([
            {"name": "u8", "size": 1, "shape": "unsigned"},
            {"name": "Queue", "size": 8, "shape": {"struct": [{"name": "a", "bit": 32, "of": 0}]}},
        ]);
        assert_eq!(json!(table), expected);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let pointer = |to: usize| json!({"name": "p", "shape": {"pointer": to}});
        assert_eq!(error(&json!([pointer(0)])), "`types[0]`: it refers to the type 0, which does not precede it");
        assert_eq!(
            error(&json!([{"name": "v", "shape": "void"}, pointer(2), pointer(1)])),
            "`types[1]`: it refers to the type 2, which does not precede it"
        );
        let deep: Vec<Json> =
            std::iter::once(json!({"name": "v", "shape": "void"})).chain((0..64).map(pointer)).collect();
        assert_eq!(error(&json!(deep)), "`types[64]`: more than 64 types are nested in each other");
        let many = vec![json!({"name": "v", "shape": "void"}); 4097];
        assert_eq!(error(&json!(many)), "`types`: there are 4097; 4096 are possible");
        let odd = json!([{"name": "e", "shape": {"enumeration": [["A", "x"]]}}]);
        assert_eq!(error(&odd), "`types[0]`: `x` is no integer of 128 bits");
    }

    #[test]
    fn what_is_too_much_is_left_out() {
        let array = |count| of("a", Shape::Array { element: integer(1), count: Some(count), stride: Some(1) });
        let types: Vec<_> = (0..5000).map(array).collect();
        let (table, numbers) = TypeTable::new(&types);
        assert_eq!((table.types.len(), numbers[4094], numbers[4095], numbers[4999]), (4096, Some(4095), None, None));
        assert_eq!(table.types("").unwrap().len(), 4096);
        let deep = (0..100).fold(integer(1), |inner, _| of("*", Shape::Pointer { to: Some(inner) }));
        let (table, _) = TypeTable::new(&[deep]);
        assert_eq!(table.types("").unwrap().len(), 64);
    }
}
