//! The description of a type as plain data, [`Type`]. It follows pointers to a given depth and has
//! at most some hundred types.

use std::collections::HashMap;
use std::sync::Arc;

use gimli::{AttributeValue, constants as dw};

use super::coroutines::{captured_name, is_async_fn, is_closure};
use super::members::{MemberBits, RawMember};
use super::trait_objects::RawDynamicType;
use super::types::Types;
use super::types::{TypeRef, constant, is_aggregate, is_pointer, is_reference, wrap};
use super::unit::{Die, is_c};
use super::unsupported::PlaceProblem;
use super::variants::RawVariants;
use super::views::{RawView, RecordPart, Spot};
use crate::Error;
use crate::text;
use crate::types::{
    Collection, CollectionPart, Dynamic, DynamicType, FutureState, Language, Member, NULLOPT, NULLPTR, OPTIONAL,
    OpaqueReason, Sequence, Shape, TARGET, Type, VALUELESS, Variant, Variants, is_library_name,
};

/// The most types in one description.
const MOST: usize = 512;

/// The same of one that values are shown by.
const MOST_OF_VALUE: usize = 1024;

/// How deeply types may be nested, pointers or not.
const NESTING: u32 = 48;

/// The most members of a type of Rust's library that conversions look into.
const LIBRARY_MEMBERS: usize = 3;

/// The bytes of the counts of an `Rc` or `Arc`.
const COUNTS: u64 = 16;

/// The most enumerators of one type. The largest enumerations of the kernel have a few thousand.
const ENUMERATORS: usize = 4096;

impl Types<'_> {
    /// A description of a type. Pointers are followed `depth` times. The description always
    /// includes numbers and characters behind a pointer.
    ///
    /// # Errors
    ///
    /// The debug information of the type itself cannot be read. A problem with a nested type is
    /// described there, as [`Shape::Opaque`].
    pub(super) fn describe_type(&self, of: Option<TypeRef>, depth: u32) -> Result<Arc<Type>, Error> {
        Describer::new(self, MOST, false).describe(of, depth, 0)
    }

    /// Like [`DebugInfo::describe_type`], but where the structures behind the last pointers would be too
    /// many, only some of these are described. So a member of the value itself is always described.
    ///
    /// `declared` finds the file and the line of an entry.
    pub(super) fn describe_value(
        &self,
        of: Option<TypeRef>,
        depth: u32,
        declared: DeclarationFinder<'_>,
    ) -> Result<Arc<Type>, Error> {
        for level in (0..=depth).rev() {
            let of_value = |left| Describer { declared: Some(declared), ..Describer::new(self, left, false) };
            let mut describer = of_value(MOST_OF_VALUE);
            let described = describer.describe(of, level, 0)?;
            if describer.left > 0 && level < depth {
                let (left, last) = (2 * MOST_OF_VALUE, Some(describer.left));
                return Describer { last, ..of_value(left) }.describe(of, level + 1, 0);
            }
            if describer.left > 0 || level == 0 {
                return Ok(described);
            }
        }
        self.describe_type(of, 0)
    }

    /// Like [`DebugInfo::describe_type`], but a large structure or union behind a pointer has only
    /// its name and size. The structures of the kernel have hundreds of members each, and point to
    /// each other.
    pub(super) fn describe_type_briefly(&self, of: Option<TypeRef>, depth: u32) -> Result<Arc<Type>, Error> {
        Describer::new(self, MOST, true).describe(of, depth, 0)
    }

    /// Whether the number has a sign.
    pub(super) fn is_signed(&self, of: TypeRef) -> Result<bool, Error> {
        let mut of = of;
        for _ in 0..4 {
            let Some(stripped) = self.strip(of)? else { return Ok(false) };
            if let Some(AttributeValue::Encoding(encoding)) =
                self.units.own_attribute(stripped.die, dw::DW_AT_encoding)?
            {
                return Ok(matches!(encoding, dw::DW_ATE_signed | dw::DW_ATE_signed_char));
            }
            match self.type_of(stripped.die)? {
                Some(inner) if self.type_tag(stripped)? == dw::DW_TAG_enumeration_type => of = inner,
                _ => return Ok(false),
            }
        }
        Ok(false)
    }
}

/// Finds the file, as the compiler was given it, and the line in which an entry is declared.
pub(super) type DeclarationFinder<'d> = &'d dyn Fn(Die) -> Result<Option<(Arc<str>, u32)>, Error>;

struct Describer<'a, 's> {
    info: &'a Types<'s>,
    known: HashMap<(TypeRef, u32), Arc<Type>>,
    left: usize,
    /// How many types may still be described behind the last pointers; `None` if that is not limited.
    last: Option<usize>,
    is_brief: bool,
    /// Finds where an entry is declared. `None` if no values are shown, for which the types behind vtables
    /// are described too.
    declared: Option<DeclarationFinder<'a>>,
}

impl<'a, 's> Describer<'a, 's> {
    fn new(info: &'a Types<'s>, left: usize, is_brief: bool) -> Self {
        Self { info, known: HashMap::new(), left, last: None, is_brief, declared: None }
    }

    fn describe(&mut self, of: Option<TypeRef>, depth: u32, nesting: u32) -> Result<Arc<Type>, Error> {
        let Some(of) = of else {
            return Ok(Arc::new(Type { name: "void".into(), size: None, shape: Shape::Void }));
        };
        if let Some(known) = self.known.get(&(of, depth)) {
            return Ok(Arc::clone(known));
        }
        let name: Arc<str> = self.named(of)?.into();
        let Some(left) = self.left.checked_sub(1) else { return Ok(opaque(name, None, OpaqueReason::TooManyTypes)) };
        if nesting > NESTING {
            return Ok(opaque(name, None, OpaqueReason::TooDeep));
        }
        self.left = left;
        self.last = self.last.map(|last| last.saturating_sub(usize::from(depth == 0)));
        let size = self.info.type_size(of)?;
        let shape = match self.info.strip(of)? {
            Some(stripped) => self.shape(stripped, size, depth, nesting)?,
            None => Shape::Void,
        };
        let described = Arc::new(Type { name, size, shape });
        self.known.insert((of, depth), Arc::clone(&described));
        Ok(described)
    }

    /// The name of a type. A reference has its own, because that says what it is, and a closure has the
    /// function around it.
    fn named(&self, of: TypeRef) -> Result<String, Error> {
        let name = self.info.type_name(Some(of))?;
        if is_closure(&name) && self.info.language(of.die) == Language::Rust {
            return self.info.closure_path(of.die, &name);
        }
        if self.is_own(of, &name)? {
            return self.info.path_of(of.die, &name);
        }
        if self.info.type_tag(of)? == dw::DW_TAG_typedef {
            if let Some(reference) = self.info.strip(of)? {
                if is_reference(self.info.type_tag(reference)?) {
                    return self.info.type_name(Some(reference));
                }
            }
        }
        Ok(name)
    }

    /// Whether a type of the program has the name of one of Rust's library that is not written by its
    /// members. Only of values that are shown, because the scopes of all types of the unit are read.
    fn is_own(&self, of: TypeRef, name: &str) -> Result<bool, Error> {
        if self.declared.is_none() || !is_library_name(name) || self.info.language(of.die) != Language::Rust {
            return Ok(false);
        }
        let scopes = self.info.scopes_of(of.die)?;
        Ok(scopes.first().is_some_and(|outer| !matches!(&**outer, "core" | "alloc" | "std")))
    }

    /// The type of a part. An error here makes only this part opaque.
    fn inner(&mut self, of: Option<TypeRef>, depth: u32, nesting: u32) -> Arc<Type> {
        self.describe(of, depth, nesting + 1)
            .unwrap_or_else(|error| opaque("?".into(), None, OpaqueReason::Unreadable(Arc::new(error))))
    }

    fn shape(&mut self, of: TypeRef, size: Option<u64>, depth: u32, nesting: u32) -> Result<Shape, Error> {
        let TypeRef { die, .. } = of;
        let tag = self.info.type_tag(of)?;
        if is_pointer(tag) {
            return self.pointer(die, depth, nesting);
        }
        match tag {
            dw::DW_TAG_base_type => self.base(die, size),
            dw::DW_TAG_array_type => self.array(of, depth, nesting),
            dw::DW_TAG_enumeration_type => self.enumeration(die, size),
            dw::DW_TAG_subroutine_type => Ok(Shape::Function),
            dw::DW_TAG_unspecified_type => Ok(match &*self.info.text_name(die)? {
                "decltype(nullptr)" | "nullptr_t" => Shape::Opaque(OpaqueReason::NullPointer),
                _ => Shape::Void,
            }),
            dw::DW_TAG_ptr_to_member_type => Ok(Shape::Opaque(OpaqueReason::MemberPointer)),
            _ if is_aggregate(tag) => self.aggregate(die, tag == dw::DW_TAG_union_type, depth, nesting),
            _ => Ok(Shape::Opaque(OpaqueReason::Entry(tag.0))),
        }
    }

    fn base(&self, die: Die, size: Option<u64>) -> Result<Shape, Error> {
        let name = self.info.text_name(die)?;
        let unknown = |why| Ok(Shape::Opaque(why));
        match self.info.units.own_attribute(die, dw::DW_AT_endianity)? {
            None | Some(AttributeValue::Endianity(dw::DW_END_default)) => {}
            Some(_) => return unknown(OpaqueReason::ByteOrder),
        }
        let Some(size) = size else { return unknown(OpaqueReason::NumberSize) };
        if size == 0 {
            return Ok(Shape::Void);
        }
        match self.info.units.unsigned(die, dw::DW_AT_bit_size)? {
            Some(bits) if Some(bits) != size.checked_mul(8) => return unknown(OpaqueReason::BitSize),
            _ if name.contains("_BitInt(") => return unknown(OpaqueReason::BitSize),
            _ => {}
        }
        let Some(AttributeValue::Encoding(encoding)) = self.info.units.own_attribute(die, dw::DW_AT_encoding)? else {
            return unknown(OpaqueReason::NoEncoding);
        };
        Ok(match encoding {
            dw::DW_ATE_boolean => Shape::Boolean,
            dw::DW_ATE_UTF => Shape::Character { signed: false },
            // `signed char` and `unsigned char` are the numbers of C, `char` its character.
            dw::DW_ATE_signed_char | dw::DW_ATE_unsigned_char if name == "char" => {
                Shape::Character { signed: encoding == dw::DW_ATE_signed_char }
            }
            dw::DW_ATE_signed | dw::DW_ATE_signed_char if size <= 16 => Shape::Integer { signed: true },
            dw::DW_ATE_unsigned | dw::DW_ATE_unsigned_char if size <= 16 => Shape::Integer { signed: false },
            dw::DW_ATE_address if size <= 8 => Shape::Pointer { to: None },
            dw::DW_ATE_float => self.float(&name, size),
            other => Shape::Opaque(OpaqueReason::Encoding(other.0)),
        })
    }

    /// A float in an IEEE 754 format, or the `long double` of the x87.
    fn float(&self, name: &str, size: u64) -> Shape {
        let has_x87 = self.info.units.processor().set().map(|set| set.x87().is_some());
        match (size, name) {
            (2, "_Float16" | "__fp16" | "f16" | "half") | (4 | 8, _) => Shape::Float,
            (12 | 16, "long double") if has_x87 == Some(true) => Shape::Float,
            (16, "long double" | "_Float128" | "__float128" | "f128") if has_x87 == Some(false) => Shape::Float,
            _ => Shape::Opaque(OpaqueReason::FloatFormat),
        }
    }

    fn pointer(&mut self, die: Die, depth: u32, nesting: u32) -> Result<Shape, Error> {
        if self.info.units.unsigned(die, dw::DW_AT_address_class)?.unwrap_or(0) != 0 {
            return Ok(Shape::Opaque(OpaqueReason::PointerAddressSpace));
        }
        let target = self.info.type_of(die)?;
        let stripped = target.map(|target| self.info.strip(target)).transpose()?.flatten();
        let Some(stripped) = stripped else {
            return Ok(Shape::Pointer { to: Some(self.inner(target, 0, nesting)) });
        };
        Ok(match self.info.type_tag(stripped)? {
            dw::DW_TAG_subroutine_type => Shape::Function,
            dw::DW_TAG_base_type | dw::DW_TAG_enumeration_type | dw::DW_TAG_unspecified_type => {
                Shape::Pointer { to: Some(self.inner(target, 0, nesting)) }
            }
            tag => match depth.checked_sub(1) {
                Some(_) if self.is_brief && is_aggregate(tag) && self.is_outlined(stripped.die)? => {
                    Shape::Pointer { to: Some(self.outline(target, tag == dw::DW_TAG_union_type)?) }
                }
                Some(0) if self.last == Some(0) => Shape::Pointer { to: None },
                Some(depth) => Shape::Pointer { to: Some(self.inner(target, depth, nesting)) },
                None => Shape::Pointer { to: None },
            },
        })
    }

    /// Whether this is a structure of C with members, or one of Rust with more members than the types
    /// of the library that conversions look into (`Rc` has three).
    fn is_outlined(&self, die: Die) -> Result<bool, Error> {
        if self.info.is_declaration(die)? {
            return Ok(false);
        }
        if self.info.language(die) == Language::Rust {
            let children = self.info.units.children(die)?;
            return Ok(children.iter().filter(|(_, tag)| *tag == dw::DW_TAG_member).nth(LIBRARY_MEMBERS).is_some());
        }
        Ok(self.info.dwarf_language(die).is_some_and(is_c))
    }

    /// A structure or union without its members.
    fn outline(&self, of: Option<TypeRef>, is_union: bool) -> Result<Arc<Type>, Error> {
        let size = of.map(|of| self.info.type_size(of)).transpose()?.flatten();
        let members = Arc::from([]);
        let shape = if is_union { Shape::Union { members } } else { Shape::Struct { members } };
        Ok(Arc::new(Type { name: self.info.type_name(of)?.into(), size, shape }))
    }

    fn array(&mut self, of: TypeRef, depth: u32, nesting: u32) -> Result<Shape, Error> {
        if let Some(problem) = self.info.odd_array(of.die)? {
            return Ok(Shape::Opaque(OpaqueReason::Array(problem)));
        }
        let dimensions = self.info.dimensions(of.die)?;
        let count = dimensions.get(of.dimension).and_then(|dimension| dimension.count);
        let element = self.info.element(of)?;
        let element = self.inner(element, depth, nesting);
        let stride = element.size;
        Ok(Shape::Array { element, count, stride })
    }

    fn enumeration(&self, die: Die, size: Option<u64>) -> Result<Shape, Error> {
        let mut raw = Vec::new();
        let mut is_negative = false;
        for (child, tag) in self.info.units.children(die)? {
            if tag != dw::DW_TAG_enumerator || raw.len() >= ENUMERATORS {
                continue;
            }
            let Some(value) = self.info.units.own_attribute(child, dw::DW_AT_const_value)? else { continue };
            let Some(value) = constant(&value) else { continue };
            is_negative |= value < 0;
            raw.push((child, value));
        }
        // gcc writes the underlying type since version 5. With -gdwarf-2 and -gdwarf-4
        // -gno-strict-dwarf it writes the encoding.
        let signed = is_negative || self.info.is_signed(die.into())?;
        let mut enumerators = Vec::with_capacity(raw.len());
        for (child, value) in raw {
            let name = self.info.units.name(child)?.map_or_else(String::new, |name| text::from_bytes(&name));
            enumerators.push((Arc::from(name), wrap(value, size.unwrap_or(16), signed)));
        }
        match size {
            Some(1..=16) => Ok(Shape::Enumeration { signed, enumerators: enumerators.into() }),
            _ => Ok(Shape::Opaque(OpaqueReason::EnumerationSize)),
        }
    }

    fn aggregate(&mut self, die: Die, is_union: bool, depth: u32, nesting: u32) -> Result<Shape, Error> {
        if self.info.is_declaration(die)? {
            return Ok(Shape::Opaque(OpaqueReason::OnlyDeclared));
        }
        let language = self.info.language(die);
        let rust = language == Language::Rust;
        if let Some(view) = self.info.view(die, language)? {
            return match view {
                RawView::Value(spot) => {
                    let value = self.inner(Some(spot.of), depth, nesting);
                    let size = self.info.type_size(die.into())?;
                    match &value.shape {
                        // What is around it has its shape, so a number must have its size too.
                        shape if value.size == size || is_sizeless(shape) => Ok(shape.clone()),
                        _ => self.plain(die, is_union, depth, nesting),
                    }
                }
                view => self.view(view, die, depth, nesting),
            };
        }
        if rust {
            if let Some(sequence) = self.info.sequence(die.into())? {
                let (data, length) = (self.part(sequence.data, nesting), self.part(sequence.length, nesting));
                let element = self.behind_pointer(sequence.element, depth, nesting)?;
                let capacity = sequence.capacity.map(|part| self.part(part, nesting));
                let (kind, offset) = (sequence.kind, sequence.offset);
                return Ok(Shape::Sequence(Arc::new(Sequence { kind, data, offset, length, capacity, element })));
            }
            if let Some(object) = self.trait_object(die, depth, nesting)? {
                return Ok(Shape::Dynamic(Arc::new(object)));
            }
            if let Some(variants) = self.info.variants(die)? {
                let discriminant = match &variants.discriminant {
                    Some(raw) => match self.member(raw, depth, nesting) {
                        Ok(member) => Some(member),
                        Err(_) => return Ok(Shape::Opaque(OpaqueReason::DiscriminantPlace)),
                    },
                    None if variants.variants.len() > 1 => {
                        return Ok(Shape::Opaque(OpaqueReason::NoDiscriminant));
                    }
                    None => None,
                };
                let mut described = Vec::with_capacity(variants.variants.len());
                let name = self.info.text_name(die)?;
                if is_closure(&name) {
                    if let Some(variants) = self.states(&variants, is_async_fn(&name), depth, nesting)? {
                        return Ok(Shape::Variants(Arc::new(Variants { discriminant, variants, common: Vec::new() })));
                    }
                }
                for raw in &variants.variants {
                    let name = raw.name().into();
                    let members = self.all(&raw.members, depth, nesting);
                    described.push(Variant { values: raw.values.clone(), name, members, state: None });
                }
                let common = self.info.members(die)?;
                let common = self.all(&common, depth, nesting);
                return Ok(Shape::Variants(Arc::new(Variants { discriminant, variants: described, common })));
            }
        }
        self.plain(die, is_union, depth, nesting)
    }

    /// A pointer with a vtable, of a value that is shown.
    fn trait_object(&mut self, die: Die, depth: u32, nesting: u32) -> Result<Option<Dynamic<Arc<Type>>>, Error> {
        if self.declared.is_none() {
            return Ok(None);
        }
        let Some(object) = self.info.trait_object(die)? else { return Ok(None) };
        let mut types = Vec::with_capacity(object.types.len());
        for RawDynamicType { name, of, vtables, align } in object.types {
            let name: Arc<str> = name.into();
            // The types that the value does not have leave room for the others.
            let of = match depth.checked_sub(1).filter(|_| self.left > MOST_OF_VALUE / 2) {
                Some(depth) => self.inner(Some(of), depth, nesting),
                None => opaque(Arc::clone(&name), self.info.type_size(of)?, OpaqueReason::TooManyTypes),
            };
            types.push(DynamicType { name, vtables, align, of });
        }
        let counts = if object.is_counted { COUNTS } else { 0 };
        let (of, data, vtable) = (object.of.into(), object.data / 8, object.vtable / 8);
        Ok(Some(Dynamic { of, data, vtable, counts, types }))
    }

    /// The states of a future, with the variables that it has in each. `None` if it is none.
    fn states(
        &mut self,
        variants: &RawVariants,
        is_async_fn: bool,
        depth: u32,
        nesting: u32,
    ) -> Result<Option<Vec<Variant>>, Error> {
        let mut states: Vec<Variant> = Vec::with_capacity(variants.variants.len());
        let mut captured: Vec<Arc<str>> = Vec::new();
        for raw in &variants.variants {
            let Some((name, mut state)) = self.info.future_state(raw)? else { return Ok(None) };
            if let (FutureState::Suspended { at }, Some(declared)) = (&mut state, self.declared) {
                let member = self.info.variant_member(raw)?;
                *at = member.map(declared).transpose()?.flatten();
            }
            let mut members = self.all(&raw.members, depth, nesting);
            if let [member] = &mut *members {
                let inner = match &member.of.shape {
                    Shape::Struct { members } => members.to_vec(),
                    _ => Vec::new(),
                };
                if state == FutureState::Unresumed {
                    captured = inner.iter().map(|member| Arc::clone(&member.name)).collect();
                }
                let kept = kept_variables(inner, &state, &captured, is_async_fn);
                member.of = Arc::new(Type { shape: Shape::Struct { members: kept.into() }, ..Type::clone(&member.of) });
            }
            states.push(Variant { values: raw.values.clone(), name: name.into(), members, state: Some(state) });
        }
        Ok(Some(states))
    }

    /// A structure or union as the members that it has.
    fn plain(&mut self, die: Die, is_union: bool, depth: u32, nesting: u32) -> Result<Shape, Error> {
        let mut members = self.info.members(die)?;
        if self.info.language(die) == Language::Rust && is_closure(&self.info.text_name(die)?) {
            members.iter_mut().for_each(|member| member.name = captured_name(&member.name).to_owned());
        }
        let members = self.all(&members, depth, nesting).into();
        Ok(if is_union { Shape::Union { members } } else { Shape::Struct { members } })
    }

    /// A library type as its view shows it.
    fn view(&mut self, view: RawView, die: Die, depth: u32, nesting: u32) -> Result<Shape, Error> {
        Ok(match view {
            RawView::Record(parts) => {
                let members = parts.into_iter().map(|part| self.record_part(&part, depth, nesting)).collect();
                Shape::Struct { members }
            }
            RawView::Sequence { kind, data, length, element } => {
                let (data, length) =
                    (self.part((data.bit, data.of), nesting), self.part((length.bit, length.of), nesting));
                let element = self.behind_pointer(element, depth, nesting)?;
                Shape::Sequence(Arc::new(Sequence { kind, data, offset: 0, length, capacity: None, element }))
            }
            // `describe` takes its shape as that of the whole.
            RawView::Value(spot) => self.inner(Some(spot.of), depth, nesting).shape.clone(),
            RawView::Optional { engaged, value } => {
                let flag = self.part((engaged.bit, engaged.of), nesting);
                let none = constant_value("nullopt", 0, &flag);
                let value = self.placed("value", value, depth, nesting);
                let variants = vec![variant(NULLOPT, (0, 0), none), variant(OPTIONAL, (1, 1), value)];
                Shape::Variants(Arc::new(Variants { discriminant: Some(flag), variants, common: Vec::new() }))
            }
            RawView::Function { engaged, target } => {
                let flag = self.unsigned_part(engaged, nesting);
                let none = constant_value("nullptr", 0, &flag);
                let mut value = self.part((target.bit, target.of), nesting);
                value.of = Arc::new(Type { shape: Shape::Function, ..Type::clone(&value.of) });
                let variants = vec![variant(NULLPTR, (0, 0), none), variant(TARGET, (1, highest(&flag)), value)];
                Shape::Variants(Arc::new(Variants { discriminant: Some(flag), variants, common: Vec::new() }))
            }
            RawView::Variant { index, items } => {
                let index = self.unsigned_part(index, nesting);
                let none = highest(&index);
                let mut variants = vec![variant(VALUELESS, (none, none), constant_value("valueless", none, &index))];
                for (number, item) in (0..none).zip(items) {
                    let name = number.to_string();
                    let value = self.placed(&name, item, depth, nesting);
                    variants.push(variant(&name, (number, number), value));
                }
                Shape::Variants(Arc::new(Variants { discriminant: Some(index), variants, common: Vec::new() }))
            }
            RawView::Once { state, complete, value } => {
                let name_of: Arc<str> = self.info.type_name(Some(die.into()))?.into();
                let inner = |of| Member { name: "0".into(), bit_offset: 0, bit_size: None, of };
                let variant = |name: &str, values, bit_offset, of: Arc<Type>| {
                    let shape = Shape::Struct { members: Arc::from([inner(Arc::clone(&of))]) };
                    let of = Arc::new(Type { name: Arc::clone(&name_of), size: of.size, shape });
                    Variant {
                        values,
                        name: name.into(),
                        members: vec![Member { name: "".into(), bit_offset, bit_size: None, of }],
                        state: None,
                    }
                };
                let discriminant = self.part((state.bit, state.of), nesting);
                let there = vec![(complete.into(), complete.into())];
                let variants = vec![
                    variant(OPTIONAL, Some(there), value.bit, self.inner(Some(value.of), depth, nesting)),
                    variant(NULLOPT, None, 0, opaque("".into(), Some(0), OpaqueReason::Uninitialized)),
                ];
                Shape::Variants(Arc::new(Variants { discriminant: Some(discriminant), variants, common: Vec::new() }))
            }
            RawView::Small { tag, inline_tags, inline, heap, element } => {
                let discriminant = Member { bit_size: tag.bits, ..self.part((tag.bit, tag.of), nesting) };
                let key = self.behind_pointer(element, depth, nesting)?.map(|of| CollectionPart { offset: 0, of });
                let inline = Collection { layout: inline, is_set: false, key, value: None };
                let heap = self.view(*heap, die, depth, nesting)?;
                let variant = |values, shape| {
                    let of = Arc::new(Type { name: "".into(), size: None, shape });
                    let member = Member { name: "".into(), bit_offset: 0, bit_size: None, of };
                    Variant { values, name: OPTIONAL.into(), members: vec![member], state: None }
                };
                let variants =
                    vec![variant(Some(vec![inline_tags]), Shape::Collection(Arc::new(inline))), variant(None, heap)];
                Shape::Variants(Arc::new(Variants { discriminant: Some(discriminant), variants, common: Vec::new() }))
            }
            RawView::Collection { layout, is_set, key, value } => {
                let is_map = value.is_some();
                let (key, value) = (self.entry_part(key, depth, nesting)?, self.entry_part(value, depth, nesting)?);
                // If the tree is cut off before the values, keys alone would look like a list.
                let key = key.filter(|_| value.is_some() || !is_map);
                Shape::Collection(Arc::new(Collection { layout, is_set, key, value }))
            }
        })
    }

    fn record_part(&mut self, part: &RecordPart, depth: u32, nesting: u32) -> Member {
        let mut of = self.inner(Some(part.spot.of), depth, nesting);
        if part.is_boolean {
            of = Arc::new(Type { name: "bool".into(), size: of.size, shape: Shape::Boolean });
        }
        Member { name: part.name.as_ref().into(), bit_offset: part.spot.bit, bit_size: part.spot.bits, of }
    }

    /// The keys or values of a collection.
    fn entry_part(
        &mut self,
        spot: Option<Spot>,
        depth: u32,
        nesting: u32,
    ) -> Result<Option<CollectionPart<Arc<Type>>>, Error> {
        let Some(Spot { bit, of, .. }) = spot else { return Ok(None) };
        Ok(self.behind_pointer(of, depth, nesting)?.map(|of| CollectionPart { offset: bit / 8, of }))
    }

    /// The target of a pointer inside a type of the Rust library.
    fn behind_pointer(&mut self, of: TypeRef, depth: u32, nesting: u32) -> Result<Option<Arc<Type>>, Error> {
        let is_base = match self.info.strip(of)? {
            Some(of) => self.info.type_tag(of)? == dw::DW_TAG_base_type,
            None => true,
        };
        Ok(match (is_base, depth.checked_sub(1)) {
            (true, _) => Some(self.inner(Some(of), 0, nesting)),
            (false, Some(depth)) => Some(self.inner(Some(of), depth, nesting)),
            (false, None) => None,
        })
    }

    fn part(&mut self, (bit_offset, of): (u64, TypeRef), nesting: u32) -> Member {
        Member { name: "".into(), bit_offset, bit_size: None, of: self.inner(Some(of), 0, nesting) }
    }

    /// A number as one without a sign.
    fn unsigned_part(&mut self, spot: Spot, nesting: u32) -> Member {
        let part = self.part((spot.bit, spot.of), nesting);
        let of = Type { shape: Shape::Integer { signed: false }, ..Type::clone(&part.of) };
        Member { of: Arc::new(of), bit_size: spot.bits, ..part }
    }

    /// A member of this name at a place.
    fn placed(&mut self, name: &str, spot: Spot, depth: u32, nesting: u32) -> Member {
        let of = self.inner(Some(spot.of), depth, nesting);
        Member { name: name.into(), bit_offset: spot.bit, bit_size: spot.bits, of }
    }

    fn all(&mut self, members: &[RawMember], depth: u32, nesting: u32) -> Vec<Member> {
        let mut described = Vec::with_capacity(members.len());
        for raw in members {
            described.push(self.member(raw, depth, nesting).unwrap_or_else(|problem| Member {
                name: raw.name.as_str().into(),
                bit_offset: 0,
                bit_size: None,
                of: opaque("?".into(), None, OpaqueReason::MemberPlace(problem)),
            }));
        }
        described
    }

    fn member(&mut self, raw: &RawMember, depth: u32, nesting: u32) -> Result<Member, PlaceProblem> {
        let MemberBits { bit_offset, bit_size } = raw.place?;
        let of = self.inner(raw.of, depth, nesting);
        Ok(Member { name: raw.name.as_str().into(), bit_offset, bit_size, of })
    }
}

/// The variables that a future has in a state, of those that rustc describes: behind those that live there,
/// it describes all that were captured.
fn kept_variables(mut all: Vec<Member>, state: &FutureState, captured: &[Arc<str>], is_async_fn: bool) -> Vec<Member> {
    match state {
        FutureState::Unresumed => {}
        // They are dropped.
        FutureState::Returned | FutureState::Panicked => all.clear(),
        FutureState::Suspended { .. } => {
            // Those without a name in the source.
            let is_hidden = |name: &str| name.strip_prefix("__").is_some_and(|number| number.parse::<u32>().is_ok());
            let own = all.len().saturating_sub(captured.len());
            let is_captured = all.iter().skip(own).map(|member| &member.name).eq(captured);
            if is_captured {
                let mut behind = all.split_off(own);
                // The parameters of a function are moved to variables before its first statement.
                behind.retain(|member| !is_async_fn && all.iter().all(|known| known.name != member.name));
                all.extend(behind);
            }
            all.retain(|member| !is_hidden(&member.name));
        }
    }
    for member in &mut all {
        member.name = captured_name(&member.name).into();
    }
    all
}

/// A variant with one member, which a number in a range stands for.
fn variant(name: &str, values: (i128, i128), member: Member) -> Variant {
    Variant { values: Some(vec![values]), name: name.into(), members: vec![member], state: None }
}

/// What stands for a value that is not there: the only enumerator of the number that says so.
fn constant_value(name: &str, value: i128, number: &Member) -> Member {
    let shape = Shape::Enumeration { signed: false, enumerators: Arc::new([(name.into(), value)]) };
    let of = Type { name: name.into(), size: number.of.size, shape };
    Member { of: Arc::new(of), ..number.clone() }
}

/// The highest number that has as many bits as one without a sign.
fn highest(number: &Member) -> i128 {
    let bits = number.bit_size.or(number.of.size.and_then(|size| size.checked_mul(8))).unwrap_or(0);
    let bits = u32::try_from(bits).unwrap_or(u32::MAX);
    1i128.checked_shl(bits.min(64)).map_or(0, |end| end.saturating_sub(1))
}

/// Whether values are read without the size of their type.
fn is_sizeless(shape: &Shape) -> bool {
    matches!(
        shape,
        Shape::Array { .. }
            | Shape::Struct { .. }
            | Shape::Union { .. }
            | Shape::Variants(_)
            | Shape::Sequence(_)
            | Shape::Collection(_)
    )
}

fn opaque(name: Arc<str>, size: Option<u64>, why: OpaqueReason) -> Arc<Type> {
    Arc::new(Type { name, size, shape: Shape::Opaque(why) })
}

/// The name of an encoding (`DW_ATE_*`).
pub(crate) fn encoding_name(encoding: u8) -> String {
    gimli::DwAte(encoding).to_string()
}

/// The name of the tag of an entry (`DW_TAG_*`).
pub(crate) fn tag_name(tag: u16) -> String {
    gimli::DwTag(tag).to_string()
}
