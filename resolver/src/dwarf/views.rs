//! Views: how library types are shown that are no plain structures (`docs/views.md`). A view is a
//! line of a table. It fits a type with its name that has all members that its paths lead through,
//! so versions of a library are told apart by what their types contain.

use std::collections::HashMap;
use std::sync::LazyLock;

use gimli::constants as dw;

use super::members::MemberBits;
use super::types::Types;
use super::types::{TypeRef, is_pointer};
use super::unit::Die;
use crate::Error;
use crate::types::{CollectionLayout, Language, NumberPlace, SequenceKind};

/// A view of a type.
#[derive(Debug)]
struct LibraryView {
    kind: &'static str,
    /// Names of parts and the paths to them.
    parts: Vec<(&'static str, &'static str)>,
}

/// Views by the name of the type without its parameters.
type Views = HashMap<&'static str, Vec<LibraryView>>;

static RUST: LazyLock<Views> = LazyLock::new(|| parse(include_str!("views/rust.views")));
static CPP: LazyLock<Views> = LazyLock::new(|| parse(include_str!("views/cpp.views")));

/// The views in a table. A line without parts, or a part without a path, is left out.
fn parse(table: &'static str) -> Views {
    let mut views = Views::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let (Some(name), Some(kind)) = (words.next(), words.next()) else { continue };
        let parts = words.filter_map(|word| word.split_once('=')).collect();
        views.entry(name).or_default().push(LibraryView { kind, parts });
    }
    views
}

/// A part of an object: its first bit, and its type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) bit: u64,
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
    /// A collection.
    Collection { layout: CollectionLayout, is_set: bool, key: Option<Spot>, value: Option<Spot> },
}

/// A part of a structure.
#[derive(Clone, Debug)]
pub(super) struct RecordPart {
    pub(super) name: &'static str,
    pub(super) spot: Spot,
    /// Whether it is a Boolean, whatever its type says.
    pub(super) is_boolean: bool,
}

impl Types<'_> {
    /// How a library type is shown. `None` for all others.
    pub(super) fn view(&self, die: Die, language: Language) -> Result<Option<RawView>, Error> {
        let name = self.text_name(die)?;
        let name = name.split_once('<').map_or(&*name, |(base, _)| base);
        let views = if language == Language::Rust { &RUST } else { &CPP };
        for view in views.get(name).into_iter().flatten() {
            if let Some(shown) = self.fitted(view, die.into())? {
                return Ok(Some(shown));
            }
        }
        Ok(None)
    }

    /// What a view makes of a type. `None` if it does not fit.
    fn fitted(&self, view: &LibraryView, of: TypeRef) -> Result<Option<RawView>, Error> {
        if view.kind == "record" {
            let mut parts = Vec::new();
            for (name, path) in &view.parts {
                let Some(spot) = self.spot(of, path)? else { return Ok(None) };
                let (name, is_boolean) = name.strip_suffix('?').map_or((*name, false), |name| (name, true));
                parts.push(RecordPart { name, spot, is_boolean });
            }
            return Ok(Some(RawView::Record(parts)));
        }
        let mut spots = HashMap::new();
        for (name, path) in &view.parts {
            let Some(spot) = self.spot(of, path)? else { return Ok(None) };
            spots.insert(*name, spot);
        }
        self.fitted_spots(view.kind, &spots)
    }

    fn fitted_spots(&self, kind: &str, spots: &HashMap<&str, Spot>) -> Result<Option<RawView>, Error> {
        let get = |name: &str| spots.get(name).copied();
        let number = |name: &str| -> Result<Option<NumberPlace>, Error> {
            let Some(Spot { bit, of }) = get(name) else { return Ok(None) };
            let size = self.type_size(of)?.filter(|size| matches!(size, 1 | 2 | 4 | 8));
            Ok(size.filter(|_| bit % 8 == 0).map(|size| NumberPlace { offset: bit / 8, size }))
        };
        let key = get("key").or(get("set"));
        let entry = get("entry").or(key).map(|spot| self.type_size(spot.of)).transpose()?.flatten();
        let layout = match kind {
            "sequence" | "text" => {
                let (Some(data), Some(length)) = (get("data"), get("length")) else { return Ok(None) };
                if number("data")?.is_none() || number("length")?.is_none() {
                    return Ok(None);
                }
                let Some(pointer) = self.strip(data.of)?.filter(|_| kind == "text") else {
                    let kind = SequenceKind::Elements;
                    return Ok(key.map(|key| RawView::Sequence { kind, data, length, element: key.of }));
                };
                let Some(element) = self.type_of(pointer.die)? else { return Ok(None) };
                let is_byte = self.type_size(element)? == Some(1);
                let kind = if is_byte { SequenceKind::Text } else { SequenceKind::Elements };
                return Ok(Some(RawView::Sequence { kind, data, length, element }));
            }
            "optional" => {
                let (Some(engaged), Some(value)) = (get("engaged"), get("value")) else { return Ok(None) };
                return Ok(number("engaged")?.map(|_| RawView::Optional { engaged, value }));
            }
            "range" => match (number("start")?, number("end")?, entry) {
                (Some(start), Some(end), Some(stride)) => CollectionLayout::Range { start, end, stride },
                _ => return Ok(None),
            },
            "ring" => {
                let (data, head) = (number("data")?, number("head")?);
                match (data, head, number("length")?, number("capacity")?, entry) {
                    (Some(data), Some(head), Some(length), Some(capacity), Some(stride)) => {
                        CollectionLayout::Ring { data, head, length, capacity, stride }
                    }
                    _ => return Ok(None),
                }
            }
            "hash_table" => match (number("control")?, number("mask")?, number("length")?, entry) {
                (Some(control), Some(mask), Some(length), Some(stride)) => {
                    CollectionLayout::HashTable { control, mask, length, stride }
                }
                _ => return Ok(None),
            },
            "b_tree" => {
                let edges = get("edges").map(|spot| spot.bit / 8);
                match (number("root")?, number("height")?, number("length")?, number("node_length")?, edges) {
                    (Some(root), Some(height), Some(length), Some(node_length), Some(edges)) => {
                        CollectionLayout::BTree { root, height, length, node_length, edges }
                    }
                    _ => return Ok(None),
                }
            }
            "linked" => match (number("first")?, number("length")?, number("next")?) {
                (Some(first), Some(length), Some(next)) => CollectionLayout::Linked { first, length, next },
                _ => return Ok(None),
            },
            "binary_tree" => match (number("root")?, number("length")?, number("left")?, number("right")?) {
                (Some(root), Some(length), Some(left), Some(right)) => {
                    CollectionLayout::BinaryTree { root, length, left, right }
                }
                _ => return Ok(None),
            },
            "pointer" => match number("address")?.filter(|place| place.size >= 4) {
                Some(address) => CollectionLayout::Pointer { address },
                None => return Ok(None),
            },
            "duration" => match (number("seconds")?, number("nanoseconds")?) {
                (Some(seconds), Some(nanoseconds)) => CollectionLayout::Duration { seconds, nanoseconds },
                _ => return Ok(None),
            },
            "internet" => {
                let Some(octets) = get("octets").filter(|spot| spot.bit % 8 == 0) else { return Ok(None) };
                match self.type_size(octets.of)? {
                    Some(size @ (4 | 16)) => CollectionLayout::Internet { offset: octets.bit / 8, size },
                    _ => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(RawView::Collection { layout, is_set: get("set").is_some(), key, value: get("value") }))
    }

    /// What the first of some paths that exists leads to: `PATH|PATH`. Of `TYPE@PLACE` it is the type
    /// of the first path, as far behind the second as it is in its object.
    fn spot(&self, start: TypeRef, paths: &str) -> Result<Option<Spot>, Error> {
        for path in paths.split('|') {
            let found = match path.split_once('@') {
                None => self.walked(start, path)?,
                Some((of, place)) => match (self.walked(start, of)?, self.walked(start, place)?) {
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

    fn walked(&self, start: TypeRef, path: &str) -> Result<Option<Spot>, Error> {
        let mut spot = Spot { bit: 0, of: start };
        for step in path.split('.') {
            let Some(next) = self.walked_step(spot, step)? else { return Ok(None) };
            spot = next;
        }
        Ok(Some(spot))
    }

    fn walked_step(&self, Spot { bit, of }: Spot, step: &str) -> Result<Option<Spot>, Error> {
        let within =
            |found: Option<(u64, TypeRef)>| found.and_then(|(bits, of)| Some(Spot { bit: bit.checked_add(bits)?, of }));
        if step == "~" {
            return Ok(within(self.pointer_in(of)?));
        }
        if step == "*" {
            let pointer = self.strip(of)?;
            let Some(pointer) = pointer else { return Ok(None) };
            return Ok(match is_pointer(self.type_tag(pointer)?) {
                true => self.type_of(pointer.die)?.map(|of| Spot { bit: 0, of }),
                false => None,
            });
        }
        let Some(die) = self.aggregate(of)? else { return Ok(None) };
        if let Some(number) = step.strip_prefix('$') {
            let number = number.parse().unwrap_or(usize::MAX);
            return Ok(self.type_parameter(die, number)?.map(|of| Spot { bit: 0, of }));
        }
        if let Some(name) = step.strip_prefix(':') {
            for (child, tag) in self.units.children(die)? {
                if tag == dw::DW_TAG_typedef && self.text_name(child)? == name {
                    return Ok(Some(Spot { bit: 0, of: child.into() }));
                }
            }
            return Ok(None);
        }
        if let Some(found) = self.part(of, step)? {
            return Ok(within(Some(found)));
        }
        let variants = self.variants(die)?.map(|variants| variants.variants).unwrap_or_default();
        for variant in variants.iter().filter(|variant| variant.name() == step) {
            let [member] = &*variant.members else { continue };
            if let (Ok(MemberBits { bit_offset, bit_size: None }), Some(of)) = (member.place, member.of) {
                return Ok(within(Some((bit_offset, of))));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_the_tables_is_a_view() {
        for (views, lines) in [(&*RUST, include_str!("views/rust.views")), (&*CPP, include_str!("views/cpp.views"))] {
            let is_view = |line: &&str| !line.is_empty() && !line.starts_with('#');
            assert_eq!(views.values().map(Vec::len).sum::<usize>(), lines.lines().filter(is_view).count());
            for line in lines.lines().filter(is_view) {
                assert!(line.split_whitespace().skip(2).all(|part| part.contains('=')), "{line}");
            }
            for view in views.values().flatten() {
                let kinds = [
                    "binary_tree",
                    "b_tree",
                    "duration",
                    "hash_table",
                    "internet",
                    "linked",
                    "optional",
                    "pointer",
                    "range",
                    "record",
                    "ring",
                    "sequence",
                    "text",
                ];
                assert!(kinds.contains(&view.kind) && !view.parts.is_empty(), "{view:?}");
            }
        }
    }
}
