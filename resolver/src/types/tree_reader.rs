//! Reads a whole value into a tree.
//!
//! Invalid and unreadable values become problems in the tree, and what a limit omits becomes a cut.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use simple_markers_record::names::write_flags;

use super::collection_reader::{CollectionEntries, CollectionEntry, entries, number as place_number};
use super::float::Float;
use super::layout::{BitRange, choose, ends};
use super::names::are_flags;
use super::notation::{Notation, in_notation};
use super::object::{Object, ReadContext, number};
use super::tree::{
    AddressKind, AddressValue, DynamicValue, FloatValue, FutureValue, IntegerValue, ListValue, MapValue, MemberValue,
    StructureValue, TextValue, ValueTree, VariantValue,
};
use super::wrappers::{is_letter, is_raw_pointer, pointee, short_name, transparent};
use super::{AWAITED, OPTIONAL};
use super::{
    Collection, CollectionLayout, CollectionPart, Dynamic, DynamicType, FutureState, Language, Member, MemberChoice,
    NumberPlace, OpaqueReason, Sequence, SequenceKind, Shape, Type, ValueProblem, Variants,
};

/// Maximum nesting depth of types.
pub(super) const NESTING: u32 = 64;

/// Reads the complete value of an object. Raw pointers are not followed, except to text.
#[must_use]
pub fn tree(of: &Type, object: Object<'_>, context: &ReadContext<'_>) -> ValueTree {
    TreeReader { context, spent: 0, depth: 0, nesting: 0, follows_raw: false }.value(of, object, BitRange::default())
}

/// Reads the chosen parts of an object.
///
/// A raw pointer is followed if it is the object itself, or if `choice` says how many levels of
/// pointers are followed.
#[must_use]
pub fn tree_of(of: &Type, object: Object<'_>, context: &ReadContext<'_>, choice: &MemberChoice) -> ValueTree {
    let mut context = *context;
    if let Some(levels) = choice.levels {
        context.limits.depth = levels.into();
    }
    let follows_raw = choice.levels.is_some();
    let mut reader = TreeReader { context: &context, spent: 0, depth: 0, nesting: 0, follows_raw };
    let at = BitRange::default();
    if choice.members.is_empty() {
        return match &of.shape {
            Shape::Pointer { to: Some(to) } if reader.is_raw(of) && !is_letter(to) => {
                reader.raw_pointer(of, object, at, true).unwrap_or_else(ValueTree::Problem)
            }
            _ => reader.value(of, object, at),
        };
    }
    let paths: Vec<&[Arc<str>]> = choice.members.iter().map(|path| &**path).collect();
    reader.chosen(of, object, at, &paths).unwrap_or_else(ValueTree::Problem)
}

/// An `Rc` or `Arc`.
pub(super) struct CountedPointer<'t> {
    /// The address of the counts.
    pub(super) address: u64,
    /// Bytes from there to the target, and its type. `None` if it is not known.
    pub(super) to: Option<(u64, &'t Type)>,
}

pub(super) struct TreeReader<'a> {
    pub(super) context: &'a ReadContext<'a>,
    /// The approximate length of the text of what was read.
    spent: usize,
    /// Number of pointers followed.
    depth: u32,
    pub(super) nesting: u32,
    /// Whether raw pointers are followed.
    follows_raw: bool,
}

impl TreeReader<'_> {
    pub(super) fn is_rust(&self) -> bool {
        self.context.language == Language::Rust
    }

    /// Whether nothing more may be added to the tree.
    pub(super) fn is_exhausted(&self) -> bool {
        self.spent >= self.context.limits.output
    }

    pub(super) fn spend(&mut self, bytes: usize) {
        self.spent = self.spent.saturating_add(bytes);
    }

    pub(super) fn value(&mut self, of: &Type, object: Object<'_>, at: BitRange) -> ValueTree {
        if self.is_exhausted() || self.nesting >= NESTING {
            self.spend(2);
            return ValueTree::Cut;
        }
        self.nesting += 1;
        let value = self.try_value(of, object, at).unwrap_or_else(missing);
        self.nesting -= 1;
        self.spend(length(&value));
        value
    }

    fn bits(&self, of: &Type, object: Object<'_>, at: BitRange) -> Result<(u128, u64), ValueProblem> {
        let size = at.bits.or(of.size.map(|size| size.saturating_mul(8))).ok_or(ValueProblem::NoSize)?;
        if size > 128 {
            return Err(ValueProblem::TooLarge);
        }
        Ok((object.bits(self.context.byte_order, at.bit, size)?, size))
    }

    fn try_value(&mut self, of: &Type, object: Object<'_>, at: BitRange) -> Result<ValueTree, ValueProblem> {
        Ok(match &of.shape {
            Shape::Void => ValueTree::Void,
            Shape::Integer { signed } => {
                let (bits, size) = self.bits(of, object, at)?;
                integer(bits, size, *signed)
            }
            Shape::Boolean => match self.bits(of, object, at)?.0 {
                0 => ValueTree::Boolean(false),
                1 => ValueTree::Boolean(true),
                other => return Err(ValueProblem::InvalidBoolean(other)),
            },
            Shape::Character { signed } => {
                let (bits, size) = self.bits(of, object, at)?;
                character(bits, size, *signed)?
            }
            Shape::Float => {
                let (bits, size) = self.bits(of, object, at)?;
                let size = size / 8;
                let number = Float::from_bits(bits, size, self.context.x87).ok_or(ValueProblem::FloatFormat)?;
                let text = number.shortest(bits, size).ok_or(ValueProblem::InvalidFloat(bits))?;
                ValueTree::Float(FloatValue { number, text })
            }
            Shape::Enumeration { signed, enumerators } => {
                let (bits, size) = self.bits(of, object, at)?;
                self.enumeration(bits, size, *signed, enumerators)?
            }
            Shape::Function => {
                let (address, _) = self.bits(of, object, at)?;
                pointer(AddressKind::Function, u64::try_from(address).map_err(|_| ValueProblem::TooLarge)?, None)
            }
            Shape::Pointer { .. } => self.pointer(of, object, at)?,
            Shape::Struct { members } => self.structure(of, members, object, at)?,
            Shape::Union { .. } if self.is_rust() && Notation::of(of) == Some(Notation::MaybeUninit) => {
                let base = of.name.find('<').and_then(|end| of.name.get(..end)).unwrap_or(&of.name);
                let of = base.rfind("::").and_then(|at| of.name.get(at + 2..)).unwrap_or(&of.name);
                return Err(ValueProblem::MaybeUninitialized { of: of.into() });
            }
            Shape::Union { members } => self.members(short_name(&of.name).into(), members, object, at),
            Shape::Variants(variants) => self.variants(of, variants, object, at)?,
            Shape::Array { element, count, stride } => self.array(element, *count, *stride, object, at)?,
            Shape::Sequence(sequence) => self.sequence(sequence, object, at)?,
            Shape::Collection(collection) => self.collection(collection, object, at)?,
            Shape::Dynamic(dynamic) => self.dynamic(of, dynamic, object, at)?,
            Shape::Opaque(reason) => {
                let size = of.size.filter(|size| (1..=32).contains(size));
                let bytes = size.and_then(|size| object.bytes(at.bit, size).ok()).unwrap_or_default().to_vec();
                return Err(ValueProblem::Opaque { reason: reason.clone(), bytes });
            }
        })
    }

    fn enumeration(
        &self,
        bits: u128,
        size: u64,
        signed: bool,
        enumerators: &[(Arc<str>, i128)],
    ) -> Result<ValueTree, ValueProblem> {
        let value = number(bits, size, signed);
        if let Some((name, _)) = enumerators.iter().find(|(_, known)| *known == value) {
            return Ok(ValueTree::Enumerator { name: Arc::clone(name), value });
        }
        if self.is_rust() {
            return Err(ValueProblem::InvalidEnumerator(value));
        }
        // Single-bit enumerators are flags. They are written as the kernel's `__print_flags` does.
        let bits_of = |value: i128| u64::try_from(value).ok();
        match bits_of(value).filter(|value| *value != 0 && are_flags(enumerators)) {
            Some(flags) if enumerators.iter().any(|(_, known)| known & value != 0) => {
                let masks = enumerators.iter().filter_map(|(name, known)| Some((bits_of(*known)?, &**name)));
                let mut names = String::new();
                write_flags(flags, "|", masks.filter(|(mask, _)| *mask != 0), &mut names);
                Ok(ValueTree::Flags { names, bits: flags })
            }
            _ => Ok(integer(bits, size, signed)),
        }
    }

    /// Whether a pointer is neither a reference nor an owner.
    pub(super) fn is_raw(&self, of: &Type) -> bool {
        is_raw_pointer(of, self.context.language)
    }

    fn pointer(&mut self, of: &Type, object: Object<'_>, at: BitRange) -> Result<ValueTree, ValueProblem> {
        if self.is_raw(of) {
            return self.raw_pointer(of, object, at, self.follows_raw);
        }
        let address = self.address(of, object, at)?;
        let is_owner = self.is_rust() && !of.name.starts_with('&');
        let kind = if is_owner { AddressKind::Owner } else { AddressKind::Reference };
        Ok(match &of.shape {
            Shape::Pointer { to } => self.behind(kind, address, to.as_deref().map(|to| (0, to))),
            _ => pointer(kind, address, None),
        })
    }

    /// A pointer to a value whose type its vtable tells.
    fn dynamic(
        &mut self,
        of: &Type,
        dynamic: &Dynamic<Arc<Type>>,
        object: Object<'_>,
        at: BitRange,
    ) -> Result<ValueTree, ValueProblem> {
        let number = |offset| place_number(object, at.bit, NumberPlace { offset, size: 8 }, self.context);
        let (address, vtable) = (number(dynamic.data)?, number(dynamic.vtable)?);
        let linked = self.context.load_bias.map(|bias| vtable.wrapping_sub(bias));
        let is_it = |of: &&DynamicType<Arc<Type>>| linked.is_some_and(|linked| of.vtables.contains(&linked));
        let types: Vec<_> = dynamic.types.iter().filter(is_it).collect();
        let kind = match of.name.as_bytes().first() {
            Some(b'*') => AddressKind::Raw,
            Some(b'&') => AddressKind::Reference,
            _ => AddressKind::Owner,
        };
        let value = match &*types {
            [of] if kind != AddressKind::Raw || self.follows_raw => {
                match self.follow(address.wrapping_add(dynamic.offset(of.align)), &of.of) {
                    None if self.ends_at(&of.of) => Some(ValueTree::Cut),
                    value => value,
                }
            }
            _ => None,
        };
        let types = types.into_iter().map(|of| Arc::clone(&of.name)).collect();
        let of = Arc::clone(&dynamic.of);
        Ok(ValueTree::Dynamic(Box::new(DynamicValue { of, address, vtable, kind, types, value })))
    }

    /// What a reference or an owner leads to: the type, and its distance from the address; no type if the
    /// description ends there.
    fn behind(&mut self, kind: AddressKind, address: u64, to: Option<(u64, &Type)>) -> ValueTree {
        if address == 0 {
            return pointer(kind, address, None);
        }
        let Some((offset, to)) = to else { return ValueTree::Cut };
        match self.follow(address.wrapping_add(offset), to) {
            None if self.ends_at(to) => ValueTree::Cut,
            to => pointer(kind, address, to),
        }
    }

    pub(super) fn address(&self, of: &Type, object: Object<'_>, at: BitRange) -> Result<u64, ValueProblem> {
        u64::try_from(self.bits(of, object, at)?.0).map_err(|_| ValueProblem::TooLarge)
    }

    /// A pointer of C, or a raw pointer of Rust.
    fn raw_pointer(
        &mut self,
        of: &Type,
        object: Object<'_>,
        at: BitRange,
        follows: bool,
    ) -> Result<ValueTree, ValueProblem> {
        let address = self.address(of, object, at)?;
        let to = match &of.shape {
            Shape::Pointer { to: Some(to) } if address != 0 => match is_letter(to) {
                true => match self.context.string_at(address, self.context.limits.text) {
                    Ok((bytes, has_end)) => Some(ValueTree::Text(TextValue { bytes, is_cut: !has_end })),
                    Err(ValueProblem::NotCaptured) => Some(ValueTree::Cut),
                    Err(_) => None,
                },
                false if follows => self.follow(address, to),
                false => None,
            },
            _ => None,
        };
        self.spend(to.as_ref().map_or(0, length));
        Ok(pointer(AddressKind::Raw, address, to))
    }

    /// Whether a limit ends what is shown before the target of a pointer.
    fn ends_at(&self, to: &Type) -> bool {
        let is_left_out = matches!(to.shape, Shape::Opaque(OpaqueReason::TooManyTypes | OpaqueReason::TooDeep));
        is_left_out || self.depth >= self.context.limits.depth
    }

    /// Reads the object at an address. `None` if it cannot be read or the pointer limit is reached.
    fn follow(&mut self, address: u64, to: &Type) -> Option<ValueTree> {
        let is_opaque = match to.shape {
            Shape::Opaque(_) => true,
            // C's `void` has no size, and Rust's `()` has the size 0.
            Shape::Void => to.size != Some(0),
            _ => false,
        };
        if self.depth >= self.context.limits.depth || is_opaque {
            return None;
        }
        let size = to.size?;
        let bytes = match self.context.start_at(address, size) {
            _ if size == 0 => Vec::new(),
            Ok(bytes) => bytes,
            Err(ValueProblem::NotCaptured) => return Some(ValueTree::Cut),
            Err(_) => return None,
        };
        self.depth += 1;
        let value = self.value(to, Object::start(&bytes, size), BitRange::default());
        self.depth -= 1;
        Some(value)
    }

    fn structure(
        &mut self,
        of: &Type,
        members: &[Member],
        object: Object<'_>,
        at: BitRange,
    ) -> Result<ValueTree, ValueProblem> {
        if self.is_rust() {
            if let Some(member) = transparent(of) {
                let value = self.value(&member.of, object, at.of_member(member)?);
                return match value {
                    ValueTree::Integer(IntegerValue { bits, .. }) if short_name(&of.name) == "AtomicBool" => match bits
                    {
                        0 | 1 => Ok(ValueTree::Boolean(bits == 1)),
                        other => Err(ValueProblem::InvalidBoolean(other)),
                    },
                    value => Ok(value),
                };
            }
            if let Some(CountedPointer { address, to }) = self.counted(of, object, at)? {
                return Ok(self.behind(AddressKind::Owner, address, to));
            }
        }
        let value = self.members(short_name(&of.name).into(), members, object, at);
        Ok(match Notation::of(of).filter(|_| self.is_rust()) {
            Some(notation) => in_notation(notation, value),
            None => value,
        })
    }

    /// The address in an `Rc` or `Arc`, and its target. `None` for other types.
    pub(super) fn counted<'t>(
        &self,
        of: &'t Type,
        object: Object<'_>,
        at: BitRange,
    ) -> Result<Option<CountedPointer<'t>>, ValueProblem> {
        let Some(pointee) = pointee(of) else { return Ok(None) };
        let bit = at.bit.checked_add(pointee.bit_offset).ok_or(ValueProblem::Incomplete)?;
        let address = object.bits(self.context.byte_order, bit, pointee.size.min(8).saturating_mul(8))?;
        let address = u64::try_from(address).map_err(|_| ValueProblem::TooLarge)?;
        Ok(Some(CountedPointer { address, to: pointee.to.map(|to| (pointee.offset, &**to)) }))
    }

    fn members(&mut self, name: Arc<str>, members: &[Member], object: Object<'_>, at: BitRange) -> ValueTree {
        ValueTree::Structure(self.structure_of(name, members, object, at))
    }

    fn structure_of(&mut self, name: Arc<str>, members: &[Member], object: Object<'_>, at: BitRange) -> StructureValue {
        let is_tuple = !members.is_empty()
            && match self.is_rust() {
                true => members.iter().all(|member| is_tuple_index(&member.name)),
                // No member of C has a number as its name.
                false => members.iter().all(|member| member.name.starts_with(|first: char| first.is_ascii_digit())),
            };
        let name = if is_tuple && !self.is_rust() { "()".into() } else { name };
        let mut structure = StructureValue { name, is_tuple, members: Vec::new(), is_cut: false };
        self.spend(if self.is_rust() { structure.name.len() } else { 0 });
        for member in members {
            if self.is_exhausted() {
                structure.is_cut = true;
                break;
            }
            self.spend(if is_tuple { 2 } else { member.name.len().saturating_add(4) });
            let value = match at.of_member(member) {
                Ok(at) => self.value(&member.of, object, at),
                Err(problem) => ValueTree::Problem(problem),
            };
            structure.members.push(MemberValue { name: Arc::clone(&member.name), value });
        }
        structure
    }

    fn variants(
        &mut self,
        of: &Type,
        variants: &Variants,
        object: Object<'_>,
        at: BitRange,
    ) -> Result<ValueTree, ValueProblem> {
        let (chosen, value) = choose(variants, object, at.bit, self.context)?;
        let is_content = self.is_rust() && Notation::of(of) == Some(Notation::Content);
        let name_of = Arc::clone(&of.name);
        let of: Arc<str> = short_name(&of.name).into();
        let Some(chosen) = chosen else { return Err(ValueProblem::InvalidDiscriminant { of, value }) };
        if let Some(state) = &chosen.state {
            return self.future(Arc::clone(&name_of), state, &chosen.members, object, at);
        }
        let value = match &*chosen.members {
            [member] => self.value(&member.of, object, at.of_member(member)?),
            members => self.members(Arc::clone(&chosen.name), members, object, at),
        };
        let value = match value {
            ValueTree::Structure(mut content) if is_content && content.members.len() == 1 => {
                return Ok(content.members.pop().map_or(ValueTree::Cut, |member| member.value));
            }
            value => value,
        };
        let common = match &*variants.common {
            [] => Vec::new(),
            common => self.structure_of("".into(), common, object, at).members,
        };
        Ok(ValueTree::Variant(Box::new(VariantValue { of, name: Arc::clone(&chosen.name), value, common })))
    }

    /// The future of an `async` function or block, whose variables are in the one member of its variant.
    fn future(
        &mut self,
        name: Arc<str>,
        state: &FutureState,
        members: &[Member],
        object: Object<'_>,
        at: BitRange,
    ) -> Result<ValueTree, ValueProblem> {
        let mut structure = StructureValue { name: "".into(), is_tuple: false, members: Vec::new(), is_cut: false };
        self.spend(name.len().saturating_add(16));
        if let [Member { of, .. }] = members {
            if let (Shape::Struct { members: variables }, Some(member)) = (&of.shape, members.first()) {
                structure = self.structure_of("".into(), variables, object, at.of_member(member)?);
            }
        }
        let StructureValue { members: mut variables, is_cut, .. } = structure;
        let awaited = variables.iter().rposition(|variable| &*variable.name == AWAITED);
        let awaited = awaited.map(|at| variables.remove(at).value);
        let state = state.clone();
        Ok(ValueTree::Future(Box::new(FutureValue { name, state, variables, awaited, is_cut })))
    }

    fn array(
        &mut self,
        element: &Type,
        count: Option<u64>,
        stride: Option<u64>,
        object: Object<'_>,
        at: BitRange,
    ) -> Result<ValueTree, ValueProblem> {
        let count = count.ok_or(ValueProblem::NoLength)?;
        if is_letter(element) && !self.is_rust() {
            let bytes = object.bytes(at.bit, count)?;
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            let shown = end.min(self.context.limits.text);
            let bytes = bytes.get(..shown).unwrap_or_default().to_vec();
            return Ok(ValueTree::Text(TextValue { bytes, is_cut: shown < end }));
        }
        let stride = stride.ok_or(ValueProblem::NoElementSize)?;
        Ok(self.elements(element, count, count, stride, object, at))
    }

    /// The first `readable` of `count` elements.
    fn elements(
        &mut self,
        element: &Type,
        count: u64,
        readable: u64,
        stride: u64,
        object: Object<'_>,
        start: BitRange,
    ) -> ValueTree {
        let mut items = Vec::new();
        for index in 0..readable.min(self.context.limits.elements as u64) {
            if self.is_exhausted() {
                break;
            }
            self.spend(2);
            items.push(match start.of_element(index, stride) {
                Ok(at) => self.value(element, object, at),
                Err(problem) => ValueTree::Problem(problem),
            });
        }
        ValueTree::List(ListValue { items, total: Some(count), is_set: false })
    }

    fn sequence(&mut self, sequence: &Sequence, object: Object<'_>, at: BitRange) -> Result<ValueTree, ValueProblem> {
        let (address, length) = ends(sequence, object, at.bit, self.context)?;
        // Nothing is larger than half of the addresses.
        let stride = sequence.element.as_deref().and_then(|element| element.size).unwrap_or(1);
        if length.checked_mul(stride).is_none_or(|size| size > i64::MAX as u64) {
            return Err(ValueProblem::Inconsistent);
        }
        if let Some(Member { bit_offset, of, .. }) = &sequence.capacity {
            let (offset, size) = ((at.bit.saturating_add(*bit_offset)), of.size.unwrap_or(0).min(8));
            let capacity = object.bits(self.context.byte_order, offset, size.saturating_mul(8))?;
            if u128::from(length) > capacity {
                return Err(ValueProblem::Inconsistent);
            }
        }
        let all_of = |problem| match problem {
            ValueProblem::Unreadable { .. } => ValueProblem::Unreadable { address, length },
            problem => problem,
        };
        if sequence.kind != SequenceKind::Elements {
            let length = length.saturating_sub(u64::from(sequence.kind == SequenceKind::CText));
            let wanted = length.min(self.context.limits.text as u64);
            let unreadable = |_| ValueProblem::Unreadable { address, length };
            let bytes = match self.context.start_at(address, wanted) {
                Err(ValueProblem::NotCaptured) => Vec::new(),
                bytes => bytes.map_err(unreadable)?,
            };
            let is_cut = (bytes.len() as u64) < length;
            return Ok(ValueTree::Text(TextValue { bytes, is_cut }));
        }
        let Some((element, stride)) = sequence.element.as_deref().and_then(|element| Some((element, element.size?)))
        else {
            // The description of the type ends here.
            return Ok(ValueTree::List(ListValue { items: Vec::new(), total: Some(length), is_set: false }));
        };
        let wanted = length.min(self.context.limits.elements as u64);
        let size = stride.checked_mul(wanted).ok_or(ValueProblem::Unreadable { address, length })?;
        let bytes = match self.context.start_at(address, size) {
            Err(ValueProblem::NotCaptured) => Vec::new(),
            bytes => bytes.map_err(all_of)?,
        };
        let readable = (bytes.len() as u64).checked_div(stride).unwrap_or(wanted);
        Ok(self.elements(element, length, readable, stride, Object::new(&bytes), BitRange::default()))
    }

    fn collection(
        &mut self,
        collection: &Collection<Arc<Type>>,
        object: Object<'_>,
        at: BitRange,
    ) -> Result<ValueTree, ValueProblem> {
        let Collection { layout, is_set, key, value } = collection;
        match *layout {
            CollectionLayout::Pointer { address } => {
                let address = place_number(object, at.bit, address, self.context)?;
                return Ok(self.behind(AddressKind::Owner, address, key.as_ref().map(|key| (0, &*key.of))));
            }
            CollectionLayout::Duration { seconds, nanoseconds } => {
                let seconds = place_number(object, at.bit, seconds, self.context)?;
                let nanoseconds = place_number(object, at.bit, nanoseconds, self.context)?;
                let nanoseconds = u32::try_from(nanoseconds).ok().filter(|nanoseconds| *nanoseconds < 1_000_000_000);
                return Ok(ValueTree::Duration(Duration::new(seconds, nanoseconds.ok_or(ValueProblem::Inconsistent)?)));
            }
            CollectionLayout::Inline { offset, length, capacity, stride, is_text } => {
                let bit = length.bit.checked_add(at.bit).ok_or(ValueProblem::Incomplete)?;
                let total = object.bits(self.context.byte_order, bit, length.bits.min(64))?;
                let total = u64::try_from(total).ok().filter(|total| *total <= capacity);
                let total = total.ok_or(ValueProblem::Inconsistent)?;
                let bit = offset.checked_mul(8).and_then(|bit| bit.checked_add(at.bit));
                let start = BitRange { bit: bit.ok_or(ValueProblem::Incomplete)?, bits: None };
                if is_text {
                    let shown = total.min(self.context.limits.text as u64);
                    let bytes = object.bytes(start.bit, shown)?.to_vec();
                    return Ok(ValueTree::Text(TextValue { bytes, is_cut: shown < total }));
                }
                let Some(key) = key else { return Ok(ValueTree::Cut) };
                return Ok(self.elements(&key.of, total, total, stride, object, start));
            }
            CollectionLayout::Internet { offset, size } => {
                let bit = offset.checked_mul(8).and_then(|bit| bit.checked_add(at.bit));
                let octets = object.bytes(bit.ok_or(ValueProblem::Incomplete)?, size)?;
                let four = <[u8; 4]>::try_from(octets).map(IpAddr::from);
                let address = four.or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from));
                return Ok(ValueTree::Internet(address.map_err(|_| ValueProblem::TooLarge)?));
            }
            _ => {}
        }
        let CollectionEntries { entries, total } = entries(*layout, object, at.bit, self.context)?;
        let Some(key) = key else { return Ok(ValueTree::Cut) };
        let Some(value) = value else {
            let mut items = Vec::new();
            for entry in entries {
                if self.is_exhausted() {
                    break;
                }
                self.spend(2);
                items.push(self.entry_part(key, entry));
            }
            return Ok(ValueTree::List(ListValue { items, total, is_set: *is_set }));
        };
        let mut shown = Vec::new();
        for entry in entries {
            if self.is_exhausted() {
                break;
            }
            self.spend(4);
            shown.push((self.entry_part(key, entry), self.entry_part(value, entry)));
        }
        let has_text_keys = is_text(&key.of);
        Ok(ValueTree::Map(MapValue { entries: shown, total, has_text_keys }))
    }

    /// The key or the value of an entry.
    fn entry_part(&mut self, part: &CollectionPart<Arc<Type>>, entry: CollectionEntry) -> ValueTree {
        let Some(size) = part.of.size else { return ValueTree::Problem(ValueProblem::NoSize) };
        let address = entry.address.wrapping_add(part.offset).wrapping_add(entry.index.wrapping_mul(size));
        match self.context.start_at(address, size) {
            Ok(bytes) => self.value(&part.of, Object::start(&bytes, size), BitRange::default()),
            Err(problem) => missing(problem),
        }
    }
}

/// What stands for a value that is not known.
pub(super) fn missing(problem: ValueProblem) -> ValueTree {
    match problem {
        ValueProblem::NotCaptured => ValueTree::Cut,
        problem => ValueTree::Problem(problem),
    }
}

fn integer(bits: u128, size: u64, is_signed: bool) -> ValueTree {
    ValueTree::Integer(IntegerValue { bits, size, is_signed })
}

fn character(bits: u128, size: u64, signed: bool) -> Result<ValueTree, ValueProblem> {
    match (u32::try_from(bits), size) {
        (Ok(byte @ 0..=0x7f), 8) => Ok(ValueTree::Character(char::from(byte as u8))),
        // The character depends on the program's encoding.
        (Ok(_), 8) | (Err(_), _) => Ok(integer(bits, size, signed)),
        (Ok(code), _) => match (char::from_u32(code), u16::try_from(code)) {
            (Some(character), _) => Ok(ValueTree::Character(character)),
            (None, Ok(half)) if size == 16 => Ok(ValueTree::HalfCharacter(half)),
            (None, _) => Err(ValueProblem::InvalidCharacter(code)),
        },
    }
}

pub(super) fn pointer(kind: AddressKind, address: u64, to: Option<ValueTree>) -> ValueTree {
    ValueTree::Address(Box::new(AddressValue { address, kind, to, function: None }))
}

/// Whether the values of a type are texts.
fn is_text(of: &Type) -> bool {
    match &of.shape {
        Shape::Sequence(sequence) => sequence.kind != SequenceKind::Elements,
        Shape::Pointer { to: Some(to) } => is_letter(to) || of.name.starts_with('&') && is_text(to),
        Shape::Collection(collection) => matches!(collection.layout, CollectionLayout::Inline { is_text: true, .. }),
        // One that is either in the object or elsewhere.
        Shape::Variants(variants) => variants
            .variants
            .iter()
            .all(|variant| &*variant.name == OPTIONAL && matches!(&*variant.members, [member] if is_text(&member.of))),
        _ => false,
    }
}

/// Whether a member has the name of a member of a tuple.
pub(super) fn is_tuple_index(name: &str) -> bool {
    name.strip_prefix("__").unwrap_or(name).parse::<u32>().is_ok()
}

/// The approximate length of the text of a value without what is in it.
fn length(value: &ValueTree) -> usize {
    match value {
        ValueTree::Integer(integer) => match integer.number() {
            Some(number) => number.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 1,
            None => 39,
        },
        ValueTree::Float(float) => float.text.len(),
        ValueTree::Text(text) => text.bytes.len().saturating_add(2),
        ValueTree::Enumerator { name, .. } => name.len(),
        ValueTree::Flags { names, .. } => names.len(),
        ValueTree::Address(address) if address.to.is_some() && address.kind != AddressKind::Raw => 1,
        ValueTree::Address(address) => (address.address.checked_ilog2().unwrap_or(0) / 4) as usize + 3,
        ValueTree::Dynamic(dynamic) => dynamic.untold_type().map_or(32, str::len),
        ValueTree::Problem(_) => 16,
        ValueTree::Structure(_) | ValueTree::Variant(_) => 0,
        _ => 4,
    }
}
