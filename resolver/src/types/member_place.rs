//! Where a member of a value is: the pointers that lead to it, and the variants that have it.
//!
//! The names on the way are those of `%p{owner.name}`. Unlike there, the type alone decides: nothing is
//! read. So a variant may be named, and a place says what has to hold for the member to be there.

use std::sync::Arc;

use super::wrappers::{Pointee, is_letter, is_raw_pointer, pointee, short_name, transparent};
use super::{
    CollectionLayout, Language, Member, NULLOPT, NULLPTR, OPTIONAL, SequenceKind, Shape, TARGET, Type, Variant,
    Variants,
};

/// The most pointers that lead to a member.
const MAX_POINTERS: usize = 8;

/// How deeply types are looked through without a name.
const NESTING: usize = 32;
/// The same for anonymous members.
const ANONYMOUS: usize = 16;
/// The most names of members that are listed.
const MAX_NAMES: usize = 256;

/// Where a member of a value is. Offsets count from the start of the value, or behind a pointer from
/// what that leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberPlace {
    /// What leads there, in this order.
    pub steps: Vec<PlaceStep>,
    /// Its first bit.
    pub bit: u64,
    /// Its size in bits, if it is a bit-field.
    pub bits: Option<u64>,
    /// Its type.
    pub of: Arc<Type>,
}

/// A step on the way to a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceStep {
    /// On to what a pointer leads to.
    Follow {
        /// The offset of the pointer in bytes.
        pointer: u64,
        /// How many bytes are added to it.
        add: u64,
    },
    /// The member is there only if the value has this variant.
    Require(VariantTest),
}

/// Whether a value has a variant: a number is in ranges, or in none of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantTest {
    /// The offset of the number in bytes.
    pub offset: u64,
    /// Its size in bytes: 1, 2, 4 or 8.
    pub size: u8,
    /// The lowest and the highest number of each range, without the bits beyond the size. A range may go
    /// past the largest number and on from 0.
    pub ranges: Vec<(u64, u64)>,
    /// Whether the number has to be in one of them.
    pub is_in: bool,
}

/// What is at the place of a member, of what can be compared with a number or a text.
#[derive(Clone, Debug, PartialEq)]
pub enum MemberContent {
    /// A number of at most 64 bits. The type is one of numbers, enumerators or addresses.
    Number,
    /// A pointer to a text that ends with a NUL.
    TextPointer,
    /// A text that ends with a NUL or with its space, which has so many bytes.
    Letters(u64),
    /// A text elsewhere.
    Text {
        /// The offset of the pointer to it in bytes.
        pointer: u64,
        /// How many bytes are added to the pointer.
        add: u64,
        /// The offset of its length in bytes.
        length: u64,
    },
    /// One of several variants, each with its name and what tells it. `None` for the only one.
    Variants(Vec<(Arc<str>, Option<VariantTest>)>),
}

/// Why there is no such member, or why it cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemberProblem {
    /// The type has no member of this name.
    Unknown,
    /// Several variants have one.
    InSeveralVariants,
    /// Too many pointers lead to it: there are more than 8, or the type behind the last one is not known.
    TooFar,
    /// What tells the variants apart cannot be read.
    Discriminant,
    /// Only the vtable tells the type of what has it.
    Dynamic,
    /// It is neither a number nor a text.
    Incomparable,
    /// Its size is not supported.
    Size,
}

impl MemberPlace {
    /// The place of the value itself.
    #[must_use]
    pub fn new(of: &Arc<Type>) -> Self {
        Self { steps: Vec::new(), bit: 0, bits: None, of: Arc::clone(of) }
    }

    /// The place of a member: through pointers, references, wrappers such as `Rc` and `Cell`, locks, and the
    /// `Some` of an `Option`. `name` may also be that of a variant, and `strong` or `weak` for a count of
    /// an `Rc` or `Arc` to something that has no such member.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub fn member(self, name: &str, language: Language) -> Result<Self, MemberProblem> {
        let counts = match name {
            "strong" | "weak" => self.clone().counts(language),
            _ => None,
        };
        match (self.own_member(name, language), counts) {
            (Err(MemberProblem::Unknown), Some(counts)) => counts.own_member(name, language),
            (found, _) => found,
        }
    }

    /// The counts of an `Rc` or `Arc`. `None` if there is none on the way to the value.
    fn counts(self, language: Language) -> Option<Self> {
        let mut place = self;
        for _ in 0..NESTING {
            if let Some(Pointee { bit_offset, counted: Some(counted), .. }) = pointee(&place.of) {
                let bit = place.bit.saturating_add(bit_offset);
                let mut steps = place.steps;
                steps.push(PlaceStep::Follow { pointer: bit / 8, add: 0 });
                return (bit % 8 == 0).then(|| Self { steps, bit: 0, bits: None, of: Arc::clone(counted) });
            }
            place = place.behind(language).ok()??;
        }
        None
    }

    fn own_member(self, name: &str, language: Language) -> Result<Self, MemberProblem> {
        let mut place = self.entered(language)?;
        for _ in 0..NESTING {
            let inner = match &place.of.shape {
                Shape::Struct { members } | Shape::Union { members } => {
                    let is_tuple = language == Language::Rust;
                    if let Some((at, member)) = find(members, name, is_tuple, ANONYMOUS) {
                        return Ok(place.inside(at, member));
                    }
                    let inner = wrapped(&place.of, members).ok_or(MemberProblem::Unknown)?;
                    place.inside(inner.bit_offset, inner)
                }
                Shape::Variants(variants) => match place.variant(variants, name, language)? {
                    Descent::Found(found) => return Ok(found),
                    Descent::Inside(inner) => inner,
                },
                Shape::Dynamic(_) => return Err(MemberProblem::Dynamic),
                _ => return Err(MemberProblem::Unknown),
            };
            place = inner.entered(language)?;
        }
        Err(MemberProblem::Unknown)
    }

    /// What is there: behind references, and in wrappers. With `is_optional` also in the `Some` of an
    /// `Option`.
    ///
    /// # Errors
    ///
    /// Why it cannot be compared.
    pub fn content(self, language: Language, is_optional: bool) -> Result<(Self, MemberContent), MemberProblem> {
        let mut place = self;
        for _ in 0..NESTING {
            let bits = place.bits.or(place.of.size.and_then(|size| size.checked_mul(8)));
            let of = Arc::clone(&place.of);
            place = match &of.shape {
                Shape::Integer { .. } | Shape::Boolean | Shape::Character { .. } | Shape::Enumeration { .. } => {
                    let is_number = bits.is_some_and(|bits| (1..=64).contains(&bits));
                    return if is_number { Ok((place, MemberContent::Number)) } else { Err(MemberProblem::Size) };
                }
                Shape::Float if matches!(of.size, Some(4 | 8)) => return Ok((place, MemberContent::Number)),
                Shape::Function => return Ok((place, MemberContent::Number)),
                Shape::Pointer { to } => match to {
                    Some(_) if !is_raw_pointer(&of, language) => {
                        place.behind(language)?.ok_or(MemberProblem::Incomparable)?
                    }
                    Some(to) if language == Language::C && is_letter(to) => {
                        return Ok((place, MemberContent::TextPointer));
                    }
                    _ => return Ok((place, MemberContent::Number)),
                },
                Shape::Struct { members } => match place.clone().behind(language)? {
                    Some(behind) => behind,
                    None => {
                        let inner = wrapped(&of, members).ok_or(MemberProblem::Incomparable)?;
                        place.inside(inner.bit_offset, inner)
                    }
                },
                Shape::Array { element, count: Some(count), .. } if language == Language::C && is_letter(element) => {
                    return Ok((place, MemberContent::Letters(*count)));
                }
                Shape::Sequence(sequence) if sequence.kind != SequenceKind::Elements => {
                    let is_word = |member: &Member| member.of.size == Some(8) && member.bit_offset % 8 == 0;
                    if !is_word(&sequence.data) || !is_word(&sequence.length) {
                        return Err(MemberProblem::Size);
                    }
                    let at = |member: &Member| place.bit.saturating_add(member.bit_offset) / 8;
                    let (pointer, length, add) = (at(&sequence.data), at(&sequence.length), sequence.offset);
                    let content = match sequence.kind {
                        // Its length has the NUL.
                        SequenceKind::CText if add == 0 => {
                            place.bit = pointer.saturating_mul(8);
                            MemberContent::TextPointer
                        }
                        SequenceKind::CText => return Err(MemberProblem::Incomparable),
                        _ => MemberContent::Text { pointer, add, length },
                    };
                    return Ok((place, content));
                }
                Shape::Variants(variants) => match optional(variants).filter(|_| is_optional) {
                    Some((some, payload)) => place.in_variant(variants, some, payload)?,
                    None if is_one_thing(variants) => return Err(MemberProblem::Incomparable),
                    None => {
                        let tests: Result<Vec<_>, MemberProblem> = variants
                            .variants
                            .iter()
                            .map(|variant| Ok((Arc::clone(&variant.name), place.test(variants, variant)?)))
                            .collect();
                        return Ok((place, MemberContent::Variants(tests?)));
                    }
                },
                Shape::Collection(collection) => {
                    let CollectionLayout::Pointer { address } = collection.layout else {
                        return Err(MemberProblem::Incomparable);
                    };
                    place.bit = place.bit.saturating_add(address.offset.saturating_mul(8));
                    place.bits = Some(address.size.saturating_mul(8));
                    return Ok((place, MemberContent::Number));
                }
                Shape::Dynamic(_) => return Err(MemberProblem::Dynamic),
                _ => return Err(MemberProblem::Incomparable),
            };
        }
        Err(MemberProblem::Incomparable)
    }

    /// The names of the members there, and of the variants.
    #[must_use]
    pub fn names(self, language: Language) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        let Ok(mut place) = self.entered(language) else { return names };
        for _ in 0..NESTING {
            let inner = match &place.of.shape {
                Shape::Struct { members } | Shape::Union { members } => {
                    add_names(members, ANONYMOUS, &mut names);
                    wrapped(&place.of, members).map(|inner| place.inside(inner.bit_offset, inner))
                }
                Shape::Variants(variants) if is_one_thing(variants) => None,
                Shape::Variants(variants) => {
                    names.extend(variants.variants.iter().map(|variant| Arc::from(short_name(&variant.name))));
                    add_names(&variants.common, ANONYMOUS, &mut names);
                    optional(variants).map(|(_, payload)| place.inside(payload.0, payload.1))
                }
                _ => None,
            };
            match inner.map(|inner| inner.entered(language)) {
                Some(Ok(inner)) => place = inner,
                _ => break,
            }
        }
        names
    }

    /// A member of what is here.
    fn inside(&self, bit: u64, member: &Member) -> Self {
        let bit = self.bit.saturating_add(bit);
        Self { steps: self.steps.clone(), bit, bits: member.bit_size, of: Arc::clone(&member.of) }
    }

    /// What a pointer here leads to, and what a wrapper here has. `None` if it is neither.
    fn behind(mut self, language: Language) -> Result<Option<Self>, MemberProblem> {
        let of = Arc::clone(&self.of);
        if language == Language::Rust {
            if let Some(member) = transparent(&of) {
                return Ok(Some(self.inside(member.bit_offset, member)));
            }
        }
        let (bit, add, to) = match &of.shape {
            Shape::Pointer { to } => (0, 0, to.as_ref()),
            Shape::Struct { .. } if language == Language::Rust => match pointee(&of) {
                Some(pointee) => (pointee.bit_offset, pointee.offset, pointee.to),
                None => return Ok(None),
            },
            Shape::Collection(collection) => match collection.layout {
                CollectionLayout::Pointer { address } => {
                    let part = collection.key.as_ref();
                    (address.offset.saturating_mul(8), part.map_or(0, |part| part.offset), part.map(|part| &part.of))
                }
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let to = to.ok_or(MemberProblem::TooFar)?;
        let is_follow = |step: &&PlaceStep| matches!(step, PlaceStep::Follow { .. });
        if self.steps.iter().filter(is_follow).count() >= MAX_POINTERS {
            return Err(MemberProblem::TooFar);
        }
        let bit = self.bit.saturating_add(bit);
        if bit % 8 != 0 || self.bits.is_some() {
            return Err(MemberProblem::Size);
        }
        self.steps.push(PlaceStep::Follow { pointer: bit / 8, add });
        Ok(Some(Self { steps: self.steps, bit: 0, bits: None, of: Arc::clone(to) }))
    }

    /// What is here without pointers and wrappers around it.
    fn entered(self, language: Language) -> Result<Self, MemberProblem> {
        let mut place = self;
        for _ in 0..NESTING {
            match place.clone().behind(language)? {
                Some(inner) => place = inner,
                None => return Ok(place),
            }
        }
        Err(MemberProblem::TooFar)
    }

    /// The variant of this name, or a member of the only variant that has it, or what is in the `Some` of an
    /// `Option`.
    fn variant(&self, variants: &Variants, name: &str, language: Language) -> Result<Descent, MemberProblem> {
        let all = &variants.variants;
        if let Some(variant) = all.iter().find(|variant| is_name_of(&variant.name, name)) {
            return match &*variant.members {
                [member] => self.in_variant(variants, variant, (member.bit_offset, member)).map(Descent::Found),
                _ => Err(MemberProblem::Unknown),
            };
        }
        if let Some((at, member)) = find(&variants.common, name, false, ANONYMOUS) {
            return Ok(Descent::Found(self.inside(at, member)));
        }
        if let Some((some, payload)) = optional(variants) {
            let inner = self.in_variant(variants, some, payload)?;
            let is_payload = payload.1.name.strip_prefix("__").unwrap_or(&payload.1.name) == name;
            return match is_payload && inner.clone().member(name, language).is_err() {
                true => Ok(Descent::Found(inner)),
                false => Ok(Descent::Inside(inner)),
            };
        }
        let with = all.iter().filter_map(|variant| {
            let [outer] = &*variant.members else { return None };
            let Shape::Struct { members } = &outer.of.shape else { return None };
            let (at, member) = find(members, name, true, ANONYMOUS)?;
            Some((variant, (outer.bit_offset.saturating_add(at), member)))
        });
        match &*with.collect::<Vec<_>>() {
            [] => Err(MemberProblem::Unknown),
            [(variant, member)] => self.in_variant(variants, variant, *member).map(Descent::Found),
            _ => Err(MemberProblem::InSeveralVariants),
        }
    }

    /// A member of a variant.
    fn in_variant(
        &self,
        variants: &Variants,
        variant: &Variant,
        (at, member): (u64, &Member),
    ) -> Result<Self, MemberProblem> {
        let mut inner = self.inside(at, member);
        inner.steps.extend(self.test(variants, variant)?.map(PlaceStep::Require));
        Ok(inner)
    }

    /// What tells whether the value has a variant; `None` if it is the only one.
    fn test(&self, variants: &Variants, variant: &Variant) -> Result<Option<VariantTest>, MemberProblem> {
        let Some(by) = &variants.discriminant else { return Ok(None) };
        let bit = self.bit.saturating_add(by.bit_offset);
        let size = by.of.size.filter(|size| matches!(size, 1 | 2 | 4 | 8) && by.bit_size.is_none() && bit % 8 == 0);
        let size = size.and_then(|size| u8::try_from(size).ok()).ok_or(MemberProblem::Discriminant)?;
        let all = u64::MAX >> (64 - 8 * u32::from(size));
        let others = || variants.variants.iter().filter_map(|variant| variant.values.as_deref()).flatten();
        let (ranges, is_in): (Vec<_>, bool) = match &variant.values {
            Some(ranges) => (ranges.iter().collect(), true),
            None => (others().collect(), false),
        };
        let ranges = ranges.into_iter().map(|(low, high)| (*low as u64 & all, *high as u64 & all)).collect();
        Ok(Some(VariantTest { offset: bit / 8, size, ranges, is_in }))
    }
}

/// Where a name in a value with variants leads.
enum Descent {
    /// To a member.
    Found(MemberPlace),
    /// To a value in which it is looked for.
    Inside(MemberPlace),
}

/// The `Some` of an `Option`, and what is in it; the same of a `std::optional`.
fn optional(variants: &Variants) -> Option<(&Variant, (u64, &Member))> {
    let of = |name: &str| variants.variants.iter().find(|variant| &*variant.name == name);
    let pairs = [(NULLOPT, OPTIONAL), (NULLPTR, TARGET)];
    if let Some((_, optional)) = pairs.into_iter().find_map(|(none, some)| of(none).zip(of(some))) {
        let [value] = &*optional.members else { return None };
        return Some((optional, (value.bit_offset, value)));
    }
    let (some, _) = of("Some").zip(of("None")).filter(|_| variants.variants.len() == 2)?;
    let [outer] = &*some.members else { return None };
    let Shape::Struct { members } = &outer.of.shape else { return None };
    let [payload] = &**members else { return None };
    Some((some, (outer.bit_offset.saturating_add(payload.bit_offset), payload)))
}

/// Whether the variants are one thing that is either in the object or elsewhere.
fn is_one_thing(variants: &Variants) -> bool {
    variants.variants.iter().all(|variant| &*variant.name == OPTIONAL)
}

/// The member that a type of a library is worth: a lock, a `RefCell`, a `Pin`.
fn wrapped<'t>(of: &Type, members: &'t [Member]) -> Option<&'t Member> {
    let inner = match short_name(&of.name) {
        "Mutex" | "RwLock" | "ReentrantMutex" => "data",
        "RefCell" | "ManuallyDrop" | "CachePadded" => "value",
        "OnceCell" => "inner",
        "OnceLock" | "LazyLock" => "0",
        "Pin" => return members.iter().find(|member| matches!(&*member.name, "pointer" | "__pointer")),
        _ => return None,
    };
    members.iter().find(|member| &*member.name == inner)
}

/// Whether a text names a variant: `None`, `Option::None`, `nullopt`.
#[must_use]
pub fn is_name_of(variant: &str, text: &str) -> bool {
    let last = |name: &str| name.rsplit("::").next().map(str::to_owned);
    last(variant) == last(text)
}

/// The numbers of variants, and the number that has them: its offset and its size in bytes. `None` for one
/// that has to be computed: their positions, from 1 on, and 0 for the variant that no number selects.
#[must_use]
pub fn variant_numbers(variants: &[(Arc<str>, Option<VariantTest>)]) -> (Vec<i128>, Option<(u64, u8)>) {
    let single = |test: &VariantTest| match *test.ranges {
        [(low, high)] if test.is_in && low == high => Some((i128::from(low), (test.offset, test.size))),
        _ => None,
    };
    let plain: Option<Vec<_>> = variants.iter().map(|(_, test)| single(test.as_ref()?)).collect();
    if let Some((plain, (_, at))) = plain.and_then(|plain| plain.first().copied().map(|first| (plain, first))) {
        return (plain.into_iter().map(|(number, _)| number).collect(), Some(at));
    }
    let computed = (1..).zip(variants).map(|(number, (_, test))| match test {
        Some(test) if test.is_in => number,
        _ => 0,
    });
    (computed.collect(), None)
}

/// The member of this name and its first bit, also in anonymous members and base classes.
fn find<'t>(members: &'t [Member], name: &str, is_tuple: bool, left: usize) -> Option<(u64, &'t Member)> {
    let is_it = |member: &&Member| {
        *member.name == *name || is_tuple && member.name.strip_prefix("__").is_some_and(|index| index == name)
    };
    if let Some(member) = members.iter().find(is_it) {
        return Some((member.bit_offset, member));
    }
    let left = left.checked_sub(1)?;
    members.iter().filter(|member| member.name.is_empty()).find_map(|outer| {
        let (Shape::Struct { members } | Shape::Union { members }) = &outer.of.shape else { return None };
        let (bit, member) = find(members, name, false, left)?;
        Some((outer.bit_offset.saturating_add(bit), member))
    })
}

fn add_names(members: &[Member], left: usize, names: &mut Vec<Arc<str>>) {
    for member in members.iter().take(MAX_NAMES.saturating_sub(names.len())) {
        match (&member.of.shape, left.checked_sub(1)) {
            (Shape::Struct { members } | Shape::Union { members }, Some(left)) if member.name.is_empty() => {
                add_names(members, left, names);
            }
            _ => match member.name.strip_prefix("__").filter(|index| index.parse::<u32>().is_ok()) {
                Some(index) => names.push(index.into()),
                None if member.name.is_empty() => {}
                None => names.push(Arc::clone(&member.name)),
            },
        }
    }
}
