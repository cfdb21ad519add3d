//! Which memory a value refers to: a table of steps that find, from the bytes of a value, what its
//! pointers lead to. Whoever copies a value out of a running program follows it
//! ([`render`](super::render) then finds the bytes at their addresses).
//!
//! The steps are those of elements. An element is a value, or one of several in a row, such as
//! those of a `Vec`. Its steps end with [`ReadStep::End`], which says how large it is.

use std::collections::HashMap;
use std::sync::Arc;

use super::wrappers::{is_letter, is_raw_pointer, pointee, transparent};
use super::{Collection, Language, Limits, Member, Sequence, SequenceKind, Shape, Type, Variants};

/// The most steps of a table. A value that needs more is read in part.
pub const MAX_READ_STEPS: usize = 1024;

/// The steps that find what values refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReadTable {
    /// The steps. The first one ends an element of which nothing is followed.
    pub steps: Vec<ReadStep>,
}

/// The step that ends an element of which nothing is followed.
pub const NO_STEPS: u16 = 0;

/// A step. Offsets count bytes from the start of the element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadStep {
    /// Passes over the next `skip` steps, unless a number is in a range, or outside of it.
    Test {
        /// The offset of the number.
        offset: u32,
        /// How many bits it has: 8, 16, 32 or 64, or fewer if it is a bit-field that begins a byte.
        bits: u8,
        /// The lowest number of the range, without the bits beyond `bits`.
        low: u64,
        /// The distance to the highest number of the range. The range may go past the largest
        /// number and on from 0, as that of a signed number does.
        span: u64,
        /// Whether the number has to be in the range.
        is_in: bool,
        /// How many steps are passed over.
        skip: u16,
    },
    /// Reads what a pointer leads to.
    Follow(FollowStep),
    /// The end of an element.
    End {
        /// The size of the element in bytes.
        size: u32,
    },
}

/// How a pointer is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FollowStep {
    /// The offset of the pointer, which has 8 bytes. A null pointer is not followed.
    pub pointer: u32,
    /// How many bytes are added to it.
    pub add: i32,
    /// Where the elements begin that are read.
    pub place: ReadPlace,
    /// How many elements are there.
    pub count: ReadCount,
    /// The most elements that are read; of a text the most bytes.
    pub most: u16,
    /// The size of an element.
    pub stride: u32,
    /// The first step of an element.
    pub steps: u16,
}

impl FollowStep {
    /// Reads the one element of `stride` bytes behind a pointer.
    pub(super) fn one(pointer: u32, stride: u32, steps: u16) -> Self {
        Self { pointer, add: 0, place: ReadPlace::First, count: ReadCount::One, most: 1, stride, steps }
    }
}

/// How many elements are behind a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadCount {
    /// One.
    One,
    /// As many as the number of 8 bytes at this offset says.
    Number(u32),
    /// One more than that number.
    NumberAndOne(u32),
    /// As many as fit up to the address at this offset.
    Until(u32),
    /// Bytes up to a NUL.
    Text,
}

/// Where the elements behind a pointer begin that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadPlace {
    /// There.
    First,
    /// At the element with the number at an offset. No more than the number at another offset are there.
    From {
        /// The offset of the number of the element.
        index: u32,
        /// The offset of how many elements there are.
        capacity: u32,
    },
    /// They end there.
    Before,
    /// In a block. The addresses of blocks are there, as numbers of 8 bytes.
    Block {
        /// The offset of the number of the first element, which counts from the start of the first block.
        index: u32,
        /// How many elements a block has.
        block: u16,
        /// Whether they begin with the block behind that of the first element. Nothing is read if the
        /// elements do not go on there.
        is_next: bool,
    },
}

impl ReadTable {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self { steps: vec![ReadStep::End { size: u32::MAX }] }
    }

    /// Adds the steps of a value, and returns the first of them. Nothing is read of what the limits
    /// leave out, and of what is beyond [`MAX_READ_STEPS`].
    ///
    /// Raw pointers are only followed to text, unless `levels` says how many pointers are followed.
    pub fn add(&mut self, of: &Arc<Type>, language: Language, limits: &Limits, levels: Option<u8>) -> u16 {
        if self.steps.is_empty() {
            *self = Self::new();
        }
        let (nodes, known, known_entries) = (Vec::new(), HashMap::new(), HashMap::new());
        let follows_raw = levels.is_some();
        let mut builder = ReadTableBuilder { language, limits, follows_raw, nodes, known, known_entries };
        builder.node(of, levels.map_or(limits.depth, u32::from));
        // A node is done when its steps are known. The nodes that it leads to come behind it.
        let mut next = 0;
        let mut all: Vec<Vec<ReadStep>> = Vec::new();
        while let Some(node) = builder.nodes.get(next).cloned() {
            let mut steps = Vec::new();
            let size = match node {
                ReadNode::Value { of, depth } => {
                    builder.value(&of, depth, 0, 0, &mut steps);
                    of.size.and_then(|size| u32::try_from(size).ok()).unwrap_or(u32::MAX)
                }
                ReadNode::Entry(EntryNode { parts, links, size, depth }) => {
                    for (offset, of) in parts {
                        builder.value(&of, depth, offset.saturating_mul(8), 0, &mut steps);
                    }
                    for (offset, node, size) in links {
                        builder.link(offset, node, size, &mut steps);
                    }
                    size
                }
            };
            steps.push(ReadStep::End { size });
            all.push(steps);
            next += 1;
        }
        let mut starts = Vec::new();
        let mut end = self.steps.len();
        for steps in &all {
            // A node of which nothing is followed, or that has no room, is no more than its end.
            let fits = steps.len() > 1 && end + steps.len() <= MAX_READ_STEPS;
            starts.push(if fits { u16::try_from(end).unwrap_or(NO_STEPS) } else { NO_STEPS });
            end += if fits { steps.len() } else { 0 };
        }
        for (steps, start) in all.into_iter().zip(&starts).filter(|(_, start)| **start != NO_STEPS) {
            debug_assert_eq!(self.steps.len(), usize::from(*start));
            self.steps.extend(steps.into_iter().map(|step| match step {
                ReadStep::Follow(step) => {
                    let steps = starts.get(usize::from(step.steps)).copied().unwrap_or(NO_STEPS);
                    ReadStep::Follow(FollowStep { steps, ..step })
                }
                step => step,
            }));
        }
        starts.first().copied().unwrap_or(NO_STEPS)
    }
}

/// A kind of element.
#[derive(Clone)]
pub(super) enum ReadNode {
    /// A value.
    Value { of: Arc<Type>, depth: u32 },
    /// An element, or the node of a list or of a tree.
    Entry(EntryNode),
}

/// An element of a collection, or a node with some.
#[derive(Clone)]
pub(super) struct EntryNode {
    /// The offset and the type of what it has.
    pub(super) parts: Vec<(u64, Arc<Type>)>,
    /// The offset of the address of each other node, its number and its size.
    pub(super) links: Vec<(u64, u16, u32)>,
    /// Its size in bytes.
    pub(super) size: u32,
    /// How many pointers are followed in it.
    pub(super) depth: u32,
}

pub(super) struct ReadTableBuilder<'l> {
    language: Language,
    pub(super) limits: &'l Limits,
    follows_raw: bool,
    pub(super) nodes: Vec<ReadNode>,
    known: HashMap<(*const Type, u32), u16>,
    /// The first node of the entries of a collection, which are the same wherever the collection is.
    pub(super) known_entries: HashMap<(*const Collection<Arc<Type>>, u32), u16>,
}

/// How deeply types may be nested.
const NESTING: u32 = 32;
/// The most steps of an element.
const ELEMENT_STEPS: usize = 256;
/// A text without a type of its own has no steps.
pub(super) const TEXT: u16 = u16::MAX;

impl ReadTableBuilder<'_> {
    /// The number of a node.
    pub(super) fn node(&mut self, of: &Arc<Type>, depth: u32) -> u16 {
        if let Some(known) = self.known.get(&(Arc::as_ptr(of), depth)) {
            return *known;
        }
        let number = u16::try_from(self.nodes.len()).unwrap_or(TEXT);
        self.nodes.push(ReadNode::Value { of: Arc::clone(of), depth });
        self.known.insert((Arc::as_ptr(of), depth), number);
        number
    }

    /// Adds the steps of a value at a bit of the element.
    pub(super) fn value(&mut self, of: &Type, depth: u32, bit: u64, nesting: u32, steps: &mut Vec<ReadStep>) {
        if nesting > NESTING || steps.len() >= ELEMENT_STEPS || bit % 8 != 0 {
            return;
        }
        let nested = nesting + 1;
        let is_rust = self.language == Language::Rust;
        match &of.shape {
            Shape::Pointer { to: Some(to) } => match (is_raw_pointer(of, self.language), is_letter(to)) {
                (true, true) => self.text(bit, steps),
                (true, false) if !self.follows_raw => {}
                _ => self.follow(bit, 0, to, depth, steps),
            },
            Shape::Struct { .. } if is_rust && transparent(of).is_some() => {
                let Some(member) = transparent(of) else { return };
                self.member(member, depth, bit, nested, steps);
            }
            Shape::Struct { .. } if is_rust && pointee(of).is_some() => {
                let Some(pointee) = pointee(of) else { return };
                let bit = bit.saturating_add(pointee.bit_offset);
                // With the counts, which filters of recordings take.
                if let Some(counted) = pointee.counted {
                    return self.follow(bit, 0, counted, depth, steps);
                }
                let (Some(to), Ok(add)) = (pointee.to, i32::try_from(pointee.offset)) else { return };
                self.follow(bit, add, to, depth, steps);
            }
            Shape::Struct { members } => {
                members.iter().for_each(|member| self.member(member, depth, bit, nested, steps));
            }
            Shape::Variants(variants) => self.variants(variants, depth, bit, nested, steps),
            Shape::Array { element, count: Some(count), stride: Some(stride) } => {
                for index in 0..(*count).min(self.limits.elements as u64) {
                    let at = index.saturating_mul(*stride).saturating_mul(8).saturating_add(bit);
                    let before = steps.len();
                    self.value(element, depth, at, nested, steps);
                    if steps.len() == before {
                        break;
                    }
                }
            }
            Shape::Sequence(sequence) => self.sequence(sequence, depth, bit, steps),
            Shape::Collection(collection) => self.collection(collection, depth, bit, steps),
            Shape::Dynamic(dynamic) if self.follows_raw || !is_raw_pointer(of, self.language) => {
                self.dynamic(dynamic, depth, bit, steps);
            }
            // Which member of a union is the right one is not known.
            _ => {}
        }
    }

    fn member(&mut self, member: &Member, depth: u32, bit: u64, nesting: u32, steps: &mut Vec<ReadStep>) {
        if member.bit_size.is_none() {
            self.value(&member.of, depth, bit.saturating_add(member.bit_offset), nesting, steps);
        }
    }

    /// Follows a pointer to one object.
    pub(super) fn follow(&mut self, bit: u64, add: i32, to: &Arc<Type>, depth: u32, steps: &mut Vec<ReadStep>) {
        let (Some(pointer), Some(depth)) = (byte(bit), depth.checked_sub(1)) else { return };
        let Some(stride) = to.size.and_then(|size| u32::try_from(size).ok()).filter(|size| *size > 0) else { return };
        if matches!(to.shape, Shape::Opaque(_)) {
            return;
        }
        let node = self.node(to, depth);
        steps.push(ReadStep::Follow(FollowStep { add, ..FollowStep::one(pointer, stride, node) }));
    }

    /// Reads a text up to its NUL.
    fn text(&self, bit: u64, steps: &mut Vec<ReadStep>) {
        let Some(pointer) = byte(bit) else { return };
        let most = u16::try_from(self.limits.text).unwrap_or(u16::MAX);
        let (count, steps_of_text) = (ReadCount::Text, TEXT);
        let place = ReadPlace::First;
        let step = FollowStep { pointer, add: 0, place, count, most, stride: 1, steps: steps_of_text };
        steps.push(ReadStep::Follow(step));
    }

    fn sequence(&mut self, sequence: &Sequence, depth: u32, bit: u64, steps: &mut Vec<ReadStep>) {
        let part = |member: &Member| byte(bit.checked_add(member.bit_offset)?).filter(|_| member.of.size == Some(8));
        let (Some(pointer), Some(length)) = (part(&sequence.data), part(&sequence.length)) else { return };
        let Ok(add) = i32::try_from(sequence.offset) else { return };
        let (count, place) = (ReadCount::Number(length), ReadPlace::First);
        if sequence.kind != SequenceKind::Elements {
            let most = u16::try_from(self.limits.text).unwrap_or(u16::MAX);
            steps.push(ReadStep::Follow(FollowStep { pointer, add, place, count, most, stride: 1, steps: TEXT }));
            return;
        }
        let Some(element) = &sequence.element else { return };
        let Some(stride) = element.size.and_then(|size| u32::try_from(size).ok()).filter(|size| *size > 0) else {
            return;
        };
        let most = u16::try_from(self.limits.elements).unwrap_or(u16::MAX);
        let node = self.node(element, depth.saturating_sub(1));
        steps.push(ReadStep::Follow(FollowStep { pointer, add, place, count, most, stride, steps: node }));
    }

    /// Adds the steps of each variant behind a test of the discriminant.
    fn variants(&mut self, variants: &Variants, depth: u32, bit: u64, nesting: u32, steps: &mut Vec<ReadStep>) {
        let tests = variants.discriminant.as_ref().map(|member| {
            let offset = byte(bit.saturating_add(member.bit_offset))?;
            let bits = member.bit_size.or(member.of.size.and_then(|size| size.checked_mul(8)))?;
            u8::try_from(bits).ok().filter(|bits| (1..=64).contains(bits)).map(|bits| (offset, bits))
        });
        for variant in &variants.variants {
            let mut inside = Vec::new();
            variant.members.iter().for_each(|member| self.member(member, depth, bit, nesting, &mut inside));
            if inside.is_empty() {
                continue;
            }
            match tests {
                None => steps.extend(inside),
                // A number of 16 bytes.
                Some(None) => {}
                Some(Some(at)) => {
                    let others = variants.variants.iter().filter_map(|variant| variant.values.as_deref()).flatten();
                    match &variant.values {
                        // Each range is tried by itself.
                        Some(ranges) => {
                            for range in ranges {
                                steps.extend(test(at, *range, true, inside.len()));
                                steps.extend(&inside);
                            }
                        }
                        None => {
                            let others: Vec<_> = others.copied().collect();
                            let all = others.len();
                            for (number, range) in others.into_iter().enumerate() {
                                steps.extend(test(at, range, false, all - number - 1 + inside.len()));
                            }
                            steps.extend(inside);
                        }
                    }
                }
            }
        }
        variants.common.iter().for_each(|member| self.member(member, depth, bit, nesting, steps));
    }
}

/// Passes over steps unless the discriminant is in a range, or outside of it.
pub(super) fn test((offset, bits): (u32, u8), (low, high): (i128, i128), is_in: bool, skip: usize) -> Option<ReadStep> {
    let mask = u64::MAX >> (64 - u32::from(bits.clamp(1, 64)));
    let (low, span) = (low as u64 & mask, high.wrapping_sub(low) as u64 & mask);
    Some(ReadStep::Test { offset, bits, low, span, is_in, skip: u16::try_from(skip).ok()? })
}

/// The byte that a bit begins; `None` if it is inside of one.
pub(super) fn byte(bit: u64) -> Option<u32> {
    u32::try_from(bit / 8).ok().filter(|_| bit % 8 == 0)
}

#[cfg(test)]
mod tests {
    use super::super::Variant;
    use super::*;

    fn of(name: &str, size: u64, shape: Shape) -> Arc<Type> {
        Arc::new(Type { name: name.into(), size: Some(size), shape })
    }

    fn member(name: &str, byte: u64, of: &Arc<Type>) -> Member {
        Member { name: name.into(), bit_offset: 8 * byte, bit_size: None, of: Arc::clone(of) }
    }

    fn structure(name: &str, size: u64, members: Vec<Member>) -> Arc<Type> {
        of(name, size, Shape::Struct { members: members.into() })
    }

    fn number(name: &str, size: u64) -> Arc<Type> {
        of(name, size, Shape::Integer { signed: false })
    }

    fn steps(of: &Arc<Type>, language: Language, levels: Option<u8>) -> (u16, Vec<ReadStep>) {
        let mut table = ReadTable::new();
        let limits = Limits { depth: 4, elements: 16, text: 256, ..Limits::default() };
        (table.add(of, language, &limits, levels), table.steps)
    }

    fn follow(pointer: u32, count: ReadCount, most: u16, stride: u32, steps: u16) -> ReadStep {
        ReadStep::Follow(FollowStep { pointer, add: 0, place: ReadPlace::First, count, most, stride, steps })
    }

    const NOTHING: ReadStep = ReadStep::End { size: u32::MAX };

    #[test]
    fn a_collection_is_followed_by_its_length() {
        let (word, byte) = (number("usize", 8), number("u8", 1));
        let raw = of("*u8", 8, Shape::Pointer { to: Some(Arc::clone(&byte)) });
        let sequence = |name: &str, kind, element: &Arc<Type>| {
            let (data, length, element) = (member("", 8, &raw), member("", 16, &word), Some(Arc::clone(element)));
            of(name, 24, Shape::Sequence(Arc::new(Sequence { kind, data, offset: 0, length, element, capacity: None })))
        };
        let text = sequence("String", SequenceKind::Text, &byte);
        let all = sequence("Vec<String>", SequenceKind::Elements, &text);
        let (start, steps) = steps(&structure("Names", 32, vec![member("all", 8, &all)]), Language::Rust, None);
        assert_eq!(start, 1);
        assert_eq!(
            steps,
            [
                NOTHING,
                follow(16, ReadCount::Number(24), 16, 24, 3),
                ReadStep::End { size: 32 },
                follow(8, ReadCount::Number(16), 256, 1, NO_STEPS),
                ReadStep::End { size: 24 },
            ]
        );
    }

    #[test]
    fn the_pointer_of_a_variant_is_followed_where_the_value_has_it() {
        let (tag, to) = (number("u8", 1), number("u32", 4));
        let pointer = of("&u32", 8, Shape::Pointer { to: Some(to) });
        let some = structure("Some", 16, vec![member("__0", 8, &pointer)]);
        let variant = |name: &str, values, of: &Arc<Type>| Variant {
            values,
            name: name.into(),
            members: vec![member(name, 0, of)],
            state: None,
        };
        let none = structure("None", 16, vec![]);
        let with = |some_values| {
            let variants = vec![variant("None", Some(vec![(3, 4)]), &none), variant("Some", some_values, &some)];
            let variants = Variants { discriminant: Some(member("", 0, &tag)), variants, common: vec![] };
            steps(&of("Option", 16, Shape::Variants(Arc::new(variants))), Language::Rust, None).1
        };
        let inside = follow(8, ReadCount::One, 1, 4, NO_STEPS);
        let test = |low, span, is_in| ReadStep::Test { offset: 0, bits: 8, low, span, is_in, skip: 1 };
        let end = ReadStep::End { size: 16 };
        assert_eq!(with(None), [NOTHING, test(3, 1, false), inside, end]);
        assert_eq!(with(Some(vec![(-1, 0)])), [NOTHING, test(0xff, 1, true), inside, end]);
    }

    #[test]
    fn raw_pointers_are_followed_to_text_or_by_levels() {
        let letter = of("char", 1, Shape::Character { signed: true });
        let text = of("char *", 8, Shape::Pointer { to: Some(letter) });
        let inner = structure("struct b", 8, vec![member("name", 0, &text)]);
        let pointer = of("struct b *", 8, Shape::Pointer { to: Some(inner) });
        let outer = structure("struct a", 16, vec![member("name", 0, &text), member("b", 8, &pointer)]);
        let name = follow(0, ReadCount::Text, 256, 1, NO_STEPS);
        let (end, inner_end) = (ReadStep::End { size: 16 }, ReadStep::End { size: 8 });
        assert_eq!(steps(&outer, Language::C, None).1, [NOTHING, name, end]);
        let followed = follow(8, ReadCount::One, 1, 8, 4);
        assert_eq!(steps(&outer, Language::C, Some(1)).1, [NOTHING, name, followed, end, name, inner_end]);
        assert_eq!(steps(&outer, Language::C, Some(0)).1, [NOTHING, name, end]);
        let union = of("union u", 16, Shape::Union { members: [member("b", 8, &pointer)].into() });
        assert_eq!(steps(&union, Language::C, Some(4)), (NO_STEPS, vec![NOTHING]));
    }
}
