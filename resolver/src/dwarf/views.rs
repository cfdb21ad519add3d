//! Fits views to types ([`crate::views`], `docs/views.md`). A view fits a type with its name that has
//! all members that its paths lead through, so versions of a library are told apart by what their types
//! contain.

use std::collections::HashMap;

use gimli::constants as dw;

use super::members::{FoundMember, MemberBits};
use super::types::{TypeRef, Types, is_pointer};
use super::unit::Die;
use crate::Error;
use crate::types::{BitPlace, BlockPosition, CollectionLayout, Language, NumberPlace, SequenceKind};
use crate::views::{TypeView, ViewKind, ViewPart, ViewPath, ViewStep, ViewTable};

/// The bytes of a block of libc++'s `std::deque`.
const BLOCK_SIZE: u64 = 4096;
/// The bytes from which on an element is large there,
const LARGE_ELEMENT: u64 = 256;
/// and how many of these a block has.
const LARGE_ELEMENTS: u64 = 16;

/// The most items of a tuple or a variant.
const MAX_ITEMS: usize = 64;

/// Where a thread-local variable has the number of a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskSpot {
    /// The offset in the variable of the pointer to what has the number; `None` if the variable has it itself. A null
    /// pointer is no task.
    pub(super) pointer: Option<u64>,
    /// The offset of the number in bytes.
    pub(super) offset: u64,
    /// The type of the number.
    pub(super) of: TypeRef,
}

/// A part of an object: its first bit, and its type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) bit: u64,
    /// The number of bits of a bit-field.
    pub(super) bits: Option<u64>,
    pub(super) of: TypeRef,
}

/// A type as a view shows it.
#[derive(Clone, Debug)]
pub(super) enum RawView {
    /// A structure of these parts.
    Record(Vec<RecordPart>),
    /// Text or elements in other memory.
    Sequence { kind: SequenceKind, data: Spot, length: Spot, element: TypeRef },
    /// A value that is there if a Boolean is true.
    Optional { engaged: Spot, value: Spot },
    /// A part that begins where the object does.
    Value(Spot),
    /// One of several values, and which one.
    Variant { index: Spot, items: Vec<Spot> },
    /// The address of a function, which is there if a number is not 0.
    Function { engaged: Spot, target: Spot },
    /// A value that is there if the state of a `std::sync::Once` is this number.
    Once { state: Spot, complete: u32, value: Spot },
    /// A text or elements, which are in the object if a number is in a range.
    Small { tag: Spot, inline_tags: (i128, i128), inline: CollectionLayout, heap: Box<RawView>, element: TypeRef },
    /// A collection.
    Collection { layout: CollectionLayout, is_set: bool, key: Option<Spot>, value: Option<Spot> },
}

/// A part of a structure.
#[derive(Clone, Debug)]
pub(super) struct RecordPart {
    pub(super) name: Box<str>,
    pub(super) spot: Spot,
    /// Whether it is a Boolean, whatever its type says.
    pub(super) is_boolean: bool,
}

impl Types<'_> {
    /// How a library type is shown. `None` for all others.
    pub(super) fn view(&self, die: Die, language: Language) -> Result<Option<RawView>, Error> {
        let name = self.text_name(die)?;
        let name = name.split_once('<').map_or(&*name, |(base, _)| base);
        for view in self.views.called(name).iter().chain(ViewTable::of_language(language).called(name)) {
            if !view.scopes.is_empty() && !view.is_in(&self.scopes_of(die)?) {
                continue;
            }
            if let Some(shown) = self.fitted(view, die.into())? {
                return Ok(Some(shown));
            }
        }
        Ok(None)
    }

    /// The names of the scopes around a type, the outermost first, without their parameters. Anonymous
    /// scopes are left out.
    pub(super) fn scopes_of(&self, die: Die) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        for outer in self.type_scopes(die.unit)?.around(die) {
            let name = self.text_name(outer)?;
            names.push(name.split_once('<').map_or(&*name, |(base, _)| base).to_owned());
        }
        names.retain(|name| !name.is_empty());
        names.reverse();
        Ok(names)
    }

    /// The number of a task in a thread-local variable. `None` if the view does not fit the type of the variable.
    pub(super) fn task_number(&self, view: &TypeView, of: TypeRef) -> Result<Option<TaskSpot>, Error> {
        let Some(part) = view.parts.iter().find(|part| &*part.name == "number") else { return Ok(None) };
        let bytes = |spot: Option<Spot>| spot.filter(|spot| spot.bit % 8 == 0 && spot.bits.is_none());
        for path in part.paths.iter().filter(|path| path.place.is_none()) {
            let mut outer_and_inner = path.of.splitn(2, |step| *step == ViewStep::Target);
            let outer = bytes(self.walked(of, outer_and_inner.next().unwrap_or_default())?);
            let (Some(outer), inner) = (outer, outer_and_inner.next()) else { continue };
            match inner {
                None => return Ok(Some(TaskSpot { pointer: None, offset: outer.bit / 8, of: outer.of })),
                // A step behind a second pointer would count from that.
                Some(inner) if inner.contains(&ViewStep::Target) => {}
                Some(inner) => {
                    let Some(target) = self.walked_step(outer, &ViewStep::Target)? else { continue };
                    if let Some(found) = bytes(self.walked(target.of, inner)?) {
                        let pointer = Some(outer.bit / 8);
                        return Ok(Some(TaskSpot { pointer, offset: found.bit / 8, of: found.of }));
                    }
                }
            }
        }
        Ok(None)
    }

    /// What a view makes of a type. `None` if it does not fit.
    fn fitted(&self, view: &TypeView, of: TypeRef) -> Result<Option<RawView>, Error> {
        if view.kind == ViewKind::Record {
            let mut parts = Vec::new();
            for part in &view.parts {
                let Some(spot) = self.spot(of, &part.paths)? else { return Ok(None) };
                parts.push(RecordPart { name: part.name.clone(), spot, is_boolean: part.is_boolean });
            }
            return Ok(Some(RawView::Record(parts)));
        }
        if let ViewKind::Tuple | ViewKind::Variant = view.kind {
            return self.fitted_items(view, of);
        }
        let mut spots = HashMap::new();
        for part in &view.parts {
            let Some(spot) = self.spot(of, &part.paths)? else { return Ok(None) };
            spots.insert(&*part.name, spot);
        }
        self.fitted_spots(view.kind, &spots)
    }

    fn fitted_spots(&self, kind: ViewKind, spots: &HashMap<&str, Spot>) -> Result<Option<RawView>, Error> {
        let get = |name: &str| spots.get(name).copied();
        let number = |name: &str| -> Result<Option<NumberPlace>, Error> {
            let Some(Spot { bit, bits: None, of }) = get(name) else { return Ok(None) };
            let size = self.type_size(of)?.filter(|size| matches!(size, 1 | 2 | 4 | 8));
            Ok(size.filter(|_| bit % 8 == 0).map(|size| NumberPlace { offset: bit / 8, size }))
        };
        let key = get("key").or(get("set"));
        let entry = get("entry").or(key).map(|spot| self.type_size(spot.of)).transpose()?.flatten();
        let layout = match kind {
            ViewKind::Sequence | ViewKind::Text => {
                let (Some(data), Some(length)) = (get("data"), get("length")) else { return Ok(None) };
                if number("data")?.is_none() || number("length")?.is_none() {
                    return Ok(None);
                }
                let Some(pointer) = self.strip(data.of)?.filter(|_| kind == ViewKind::Text) else {
                    let kind = SequenceKind::Elements;
                    return Ok(key.map(|key| RawView::Sequence { kind, data, length, element: key.of }));
                };
                let element = match key {
                    Some(key) => Some(key.of),
                    None => self.type_of(pointer.die)?,
                };
                let Some(element) = element else { return Ok(None) };
                let is_byte = self.type_size(element)? == Some(1);
                let kind = if is_byte { SequenceKind::Text } else { SequenceKind::Elements };
                return Ok(Some(RawView::Sequence { kind, data, length, element }));
            }
            ViewKind::Optional => {
                let (Some(engaged), Some(value)) = (get("engaged"), get("value")) else { return Ok(None) };
                return Ok(number("engaged")?.map(|_| RawView::Optional { engaged, value }));
            }
            ViewKind::Once => {
                let (Some(state), Some(value)) = (get("state"), get("value")) else { return Ok(None) };
                let complete = self.once_complete(state.of)?.filter(|_| matches!(number("state"), Ok(Some(_))));
                return Ok(complete.map(|complete| RawView::Once { state, complete, value }));
            }
            ViewKind::Range => match (number("start")?, number("end")?, entry) {
                (Some(start), Some(end), Some(stride)) => CollectionLayout::Range { start, end, stride },
                _ => return Ok(None),
            },
            ViewKind::Ring => {
                let (data, head) = (number("data")?, number("head")?);
                match (data, head, number("length")?, number("capacity")?, entry) {
                    (Some(data), Some(head), Some(length), Some(capacity), Some(stride)) => {
                        CollectionLayout::Ring { data, head, length, capacity, stride }
                    }
                    _ => return Ok(None),
                }
            }
            ViewKind::HashTable => match (number("control")?, number("mask")?, number("length")?, entry) {
                (Some(control), Some(mask), Some(length), Some(stride)) => {
                    CollectionLayout::HashTable { control, mask, length, stride }
                }
                _ => return Ok(None),
            },
            ViewKind::BTree => {
                let edges = get("edges").map(|spot| spot.bit / 8);
                match (number("root")?, number("height")?, number("length")?, number("node_length")?, edges) {
                    (Some(root), Some(height), Some(length), Some(node_length), Some(edges)) => {
                        CollectionLayout::BTree { root, height, length, node_length, edges }
                    }
                    _ => return Ok(None),
                }
            }
            ViewKind::Linked => match (number("first")?, number("length")?, number("next")?) {
                (Some(_), None, Some(_)) if get("length").is_some() => return Ok(None),
                (Some(first), length, Some(next)) => CollectionLayout::Linked { first, length, next },
                _ => return Ok(None),
            },
            ViewKind::Blocks => match (number("table")?, number("first")?, number("length")?, entry) {
                (Some(table), Some(first), Some(length), Some(stride)) => {
                    let block = BLOCK_SIZE.checked_div(stride).filter(|_| stride < LARGE_ELEMENT);
                    let block = block.unwrap_or(LARGE_ELEMENTS);
                    CollectionLayout::Blocks { table, first, length, block, stride }
                }
                _ => return Ok(None),
            },
            ViewKind::BlockRange => {
                let position = |element: &str, block: &str, entry: &str| -> Result<Option<BlockPosition>, Error> {
                    let (element, block, entry) = (number(element)?, number(block)?, number(entry)?);
                    let all = element.zip(block).zip(entry);
                    Ok(all.map(|((element, block), entry)| BlockPosition { element, block, entry }))
                };
                let start = position("start", "start_block", "start_entry")?;
                // The end of the last block is not needed.
                let end = position("end", "end_block", "end_entry")?;
                match (start, number("start_block_end")?, end, entry.filter(|stride| *stride > 0)) {
                    (Some(start), Some(start_block_end), Some(end), Some(stride)) => {
                        CollectionLayout::BlockRange { start, start_block_end, end, stride }
                    }
                    _ => return Ok(None),
                }
            }
            ViewKind::Value => {
                let Some(value) = get("value").filter(|value| value.bit == 0 && value.bits.is_none()) else {
                    return Ok(None);
                };
                if let Some(key) = key {
                    let Some(array) = self.strip(value.of)? else { return Ok(None) };
                    let is_array = self.type_tag(array)? == dw::DW_TAG_array_type;
                    let element = if is_array { self.element(array)? } else { None };
                    let element = element.map(|element| self.strip(element)).transpose()?.flatten();
                    if element.is_none() || element != self.strip(key.of)? {
                        return Ok(None);
                    }
                }
                return Ok(Some(RawView::Value(value)));
            }
            ViewKind::Function => {
                let (Some(engaged), Some(target)) = (get("engaged"), get("target")) else { return Ok(None) };
                let is_number = number("engaged")?.is_some() && number("target")?.is_some();
                return Ok(is_number.then_some(RawView::Function { engaged, target }));
            }
            ViewKind::BinaryTree => match (number("root")?, number("length")?, number("left")?, number("right")?) {
                (Some(root), Some(length), Some(left), Some(right)) => {
                    CollectionLayout::BinaryTree { root, length, left, right }
                }
                _ => return Ok(None),
            },
            ViewKind::Pointer => match number("address")?.filter(|place| place.size >= 4) {
                Some(address) => CollectionLayout::Pointer { address },
                None => return Ok(None),
            },
            ViewKind::Duration => match (number("seconds")?, number("nanoseconds")?) {
                (Some(seconds), Some(nanoseconds)) => CollectionLayout::Duration { seconds, nanoseconds },
                _ => return Ok(None),
            },
            ViewKind::Internet => {
                let Some(octets) = get("octets").filter(|spot| spot.bit % 8 == 0) else { return Ok(None) };
                match self.type_size(octets.of)? {
                    Some(size @ (4 | 16)) => CollectionLayout::Internet { offset: octets.bit / 8, size },
                    _ => return Ok(None),
                }
            }
            ViewKind::SmallSequence | ViewKind::SmallText => return self.fitted_small(kind, spots),
            ViewKind::Record | ViewKind::Tuple | ViewKind::Variant | ViewKind::Task => return Ok(None),
        };
        Ok(Some(RawView::Collection { layout, is_set: get("set").is_some(), key, value: get("value") }))
    }

    /// The state of a `std::sync::Once` that ran, by the compiler of the unit. `None` if that is not known:
    /// it became 0 between 1.90 and 1.91.
    fn once_complete(&self, state: TypeRef) -> Result<Option<u32>, Error> {
        Ok(match self.rustc_minor(state.die.unit)? {
            Some(91..) => Some(0),
            Some(81..=89) => Some(3),
            _ => None,
        })
    }

    /// Elements or a text that are in the object if they are few.
    fn fitted_small(&self, kind: ViewKind, spots: &HashMap<&str, Spot>) -> Result<Option<RawView>, Error> {
        let (Some(inline), Some(inline_length)) = (spots.get("inline"), spots.get("inline_length")) else {
            return Ok(None);
        };
        let Some(array) = self.strip(inline.of)?.filter(|_| inline.bit % 8 == 0) else { return Ok(None) };
        if self.type_tag(array)? != dw::DW_TAG_array_type {
            return Ok(None);
        }
        let count = self.dimensions(array.die)?.get(array.dimension).and_then(|dimension| dimension.count);
        let (Some(capacity), Some(element)) = (count, self.element(array)?) else { return Ok(None) };
        let Some(stride) = self.type_size(element)? else { return Ok(None) };
        let bits = match inline_length.bits {
            Some(bits) => Some(bits),
            None => self.type_size(inline_length.of)?.and_then(|size| size.checked_mul(8)),
        };
        let Some(bits) = bits.filter(|bits| *bits <= 64) else { return Ok(None) };
        let (tag, inline_tags) = match spots.get("is_long") {
            Some(is_long) => (*is_long, (0, 0)),
            None => (*inline_length, (0, i128::from(capacity))),
        };
        let is_text = kind == ViewKind::SmallText && stride == 1;
        let length = BitPlace { bit: inline_length.bit, bits };
        let inline = CollectionLayout::Inline { offset: inline.bit / 8, length, capacity, stride, is_text };
        let (Some(data), Some(length)) = (spots.get("data").copied(), spots.get("length").copied()) else {
            return Ok(None);
        };
        let kind = if is_text { SequenceKind::Text } else { SequenceKind::Elements };
        let heap = Box::new(RawView::Sequence { kind, data, length, element });
        Ok(Some(RawView::Small { tag, inline_tags, inline, heap, element }))
    }

    /// A tuple or a variant: items in a chain of structures, or each in a base class.
    fn fitted_items(&self, view: &TypeView, of: TypeRef) -> Result<Option<RawView>, Error> {
        let part = |name: &str| view.parts.iter().find(|part| *part.name == *name);
        let (Some(first), Some(item)) = (part("first"), part("item")) else { return Ok(None) };
        let Some(mut place) = self.spot(of, &first.paths)? else { return Ok(None) };
        let from = |outer: Spot, part: &ViewPart| {
            let found = self.spot(outer.of, &part.paths)?;
            let within = |spot: Spot| Some(Spot { bit: outer.bit.checked_add(spot.bit)?, ..spot });
            Ok::<_, Error>(found.and_then(within))
        };
        let mut items = Vec::new();
        match part("next") {
            Some(next) => {
                while let Some(found) = from(place, item)?.filter(|_| items.len() < MAX_ITEMS) {
                    items.push(found);
                    let Some(inner) = from(place, next)? else { break };
                    place = inner;
                }
            }
            None => {
                for number in 0..MAX_ITEMS {
                    let Some(base) = self.walked_step(place, &ViewStep::Base(number))? else { break };
                    items.extend(from(base, item)?);
                }
            }
        }
        if items.is_empty() {
            return Ok(None);
        }
        if view.kind == ViewKind::Tuple {
            let names = (0..).map(|number: usize| number.to_string().into());
            let parts = items.into_iter().zip(names);
            return Ok(Some(RawView::Record(
                parts.map(|(spot, name)| RecordPart { name, spot, is_boolean: false }).collect(),
            )));
        }
        let index = part("index").map(|index| self.spot(of, &index.paths)).transpose()?.flatten();
        Ok(index.map(|index| RawView::Variant { index, items }))
    }

    /// What the first of some paths that exists leads to. Of `TYPE@PLACE` it is the type of the first
    /// path, as far behind the second as it is in its object.
    fn spot(&self, start: TypeRef, paths: &[ViewPath]) -> Result<Option<Spot>, Error> {
        for ViewPath { of, place } in paths {
            let found = match place {
                None => self.walked(start, of)?,
                Some(place) => match (self.walked(start, of)?, self.walked(start, place)?) {
                    (Some(of), Some(place)) => of.bit.checked_add(place.bit).map(|bit| Spot { bit, ..of }),
                    _ => None,
                },
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn walked(&self, start: TypeRef, path: &[ViewStep]) -> Result<Option<Spot>, Error> {
        let mut spot = Spot { bit: 0, bits: None, of: start };
        for step in path {
            let Some(next) = self.walked_step(spot, step)? else { return Ok(None) };
            spot = next;
        }
        Ok(Some(spot))
    }

    fn walked_step(&self, Spot { bit, bits, of }: Spot, step: &ViewStep) -> Result<Option<Spot>, Error> {
        let within = |found: Option<(u64, TypeRef)>| {
            found.and_then(|(bits, of)| Some(Spot { bit: bit.checked_add(bits)?, bits: None, of }))
        };
        let name = match step {
            ViewStep::Pointer => return Ok(within(self.pointer_in(of)?)),
            ViewStep::Target => {
                let Some(pointer) = self.strip(of)? else { return Ok(None) };
                return Ok(match is_pointer(self.type_tag(pointer)?) {
                    true => self.type_of(pointer.die)?.map(|of| Spot { bit: 0, bits: None, of }),
                    false => None,
                });
            }
            ViewStep::Parameter(number) => {
                let Some(die) = self.aggregate(of)? else { return Ok(None) };
                return Ok(self.type_parameter(die, *number)?.map(|of| Spot { bit: 0, bits: None, of }));
            }
            ViewStep::Typedef(name) => {
                let Some(die) = self.aggregate(of)? else { return Ok(None) };
                for (child, tag) in self.units.children(die)? {
                    if tag == dw::DW_TAG_typedef && *self.text_name(child)? == **name {
                        return Ok(Some(Spot { bit: 0, bits: None, of: child.into() }));
                    }
                }
                return Ok(None);
            }
            ViewStep::Bits { first, count } => {
                let size = self.type_size(of)?.unwrap_or(0).saturating_mul(8);
                let is_inside = first.checked_add(*count).is_some_and(|end| end <= size) && !self.is_big_endian();
                // Not those of bits.
                let bits = Some(*count).filter(|_| is_inside && bits.is_none());
                return Ok(bits.and_then(|_| Some(Spot { bit: bit.checked_add(*first)?, bits, of })));
            }
            ViewStep::Base(_) | ViewStep::NamedBase(_) => {
                let Some(die) = self.aggregate(of)? else { return Ok(None) };
                let is_it = |number: usize, of: TypeRef| {
                    Ok::<_, Error>(match step {
                        ViewStep::Base(wanted) => number == *wanted,
                        ViewStep::NamedBase(wanted) => {
                            let Some(base) = self.strip(of)? else { return Ok(false) };
                            self.text_name(base.die)?.split('<').next() == Some(&**wanted)
                        }
                        _ => false,
                    })
                };
                let bases = self.units.children(die)?.into_iter().filter(|(_, tag)| *tag == dw::DW_TAG_inheritance);
                for (number, (base, _)) in bases.enumerate() {
                    let member = self.member_at(base)?;
                    let (Some(of), Ok(place)) = (member.of, member.place) else { continue };
                    if is_it(number, of)? {
                        return Ok(within(Some((place.bit_offset, of))));
                    }
                }
                return Ok(None);
            }
            ViewStep::Member(name) => name,
        };
        let Some(die) = self.aggregate(of)? else { return Ok(None) };
        if let FoundMember::Member(MemberBits { bit_offset, bit_size }, of) = self.find_member(die, name)? {
            return Ok(bit.checked_add(bit_offset).map(|bit| Spot { bit, bits: bit_size, of }));
        }
        let variants = self.variants(die)?.map(|variants| variants.variants).unwrap_or_default();
        for variant in variants.iter().filter(|variant| *variant.name() == **name) {
            let [member] = &*variant.members else { continue };
            if let (Ok(MemberBits { bit_offset, bit_size: None }), Some(of)) = (member.place, member.of) {
                return Ok(within(Some((bit_offset, of))));
            }
        }
        Ok(None)
    }
}
