//! Arguments that are places: looks up the variable from the marker's scope, follows the place
//! through its type and location, and gives a verdict (`docs/verdicts.md`).
//!
//! The type is followed even if the location is lost, so that as much as possible is known about
//! the argument.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use simple_markers_record::printf;

use super::casts::Made;
use super::names::AddressNames;
use super::place::{Place, PlaceError};
use super::{
    Argument, DataModel, DeclaredArgument, DeclaredWords, Encoding, Mismatch, Nearest, Reason, Verdict, conversions,
    words,
};
use crate::Error;
use crate::address::Vaddr;
use crate::dwarf::{Change, DebugInfo, Described, Die, Frame, Lookup, NoSuchPart, Projection, Scope, Step, TypeRef};
use crate::english;
use crate::location::{Location, Names, PartError, Source};
use crate::types::{Language, Shape, Type};

/// How many pointers are followed in the type of an argument: the text of a `String` is three
/// structures and a pointer away.
const TYPE_DEPTH: u32 = 2;

/// How many implicit dereferences one step of a place may have (`self.x` with `self: &mut Box<T>`).
const AUTOMATIC: usize = 8;

/// How much of the types of arguments is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TypeDetail {
    /// Enough to check conversions: a structure of C behind a pointer has only its name and size.
    Brief,
    /// Enough to read and show values.
    Full,
}

/// Looks up the arguments of an image.
pub(super) struct Arguments<'d, 's> {
    pub(super) debug: &'d DebugInfo<'s>,
    names: AddressNames<'d, 'd>,
    pub(super) is_big_endian: bool,
    detail: TypeDetail,
    types: Mutex<HashMap<Option<TypeRef>, Arc<Type>>>,
}

/// The site and scope from which arguments are looked up.
pub(super) struct Stop<'a> {
    pub(super) scope: Option<&'a Scope>,
    pub(super) frame: Frame,
    /// The marker's file and line.
    pub(super) file: &'a str,
    pub(super) line: u32,
}

/// An object on the way through a place.
pub(super) struct Object {
    pub(super) location: Result<Location, Refusal>,
    pub(super) of: Option<TypeRef>,
    /// How many bits of the whole object in memory are before it, and the size of the whole in
    /// bytes; `None` if it is not described.
    pub(super) whole: (u64, Option<u64>),
    /// Whether it is behind a pointer.
    pub(super) is_behind: bool,
    /// The pointers in memory that were followed to it.
    pub(super) way: Vec<FollowedPointer>,
    /// Whether it is a bit-field.
    pub(super) is_extracted: bool,
    /// The number of bits of a bit-field.
    pub(super) bits: Option<u64>,
    /// The type that a cast gave it, if the debug information has no entry for that. Then `of` is
    /// `None`.
    pub(super) made: Option<Made>,
}

/// A pointer that a place follows, or a reference.
pub(super) struct FollowedPointer {
    pub(super) location: Location,
    /// In bytes.
    pub(super) size: u64,
    /// Bytes of its object before it, and from it to the end of the object.
    pub(super) object: (u64, u64),
    /// Whether it is itself behind a pointer.
    pub(super) is_behind: bool,
}

/// What the location of the variable of a place says of addresses.
#[derive(Default)]
pub(super) struct Extent {
    ranges: Vec<Range<Vaddr>>,
    /// How it changes at the site.
    change: Option<Change>,
    variable: Option<Die>,
}

/// What the debug information says of an argument at a site.
pub(super) struct ArgumentFacts {
    /// The argument with a verdict, before it is doubted.
    pub(super) argument: Argument,
    /// Its text as a place; `None` if it is none.
    pub(super) place: Option<Place>,
    /// How the location of its variable changes at the site.
    pub(super) change: Option<Change>,
    /// Bytes of its object in memory before it, and from it to the end of the object.
    pub(super) object: (u64, u64),
    /// Whether it is behind a pointer that the place follows.
    pub(super) is_behind: bool,
    /// The pointers in memory that the place follows.
    pub(super) way: Vec<FollowedPointer>,
    /// Whether it is a bit-field.
    pub(super) is_extracted: bool,
    /// Its variable.
    pub(super) variable: Option<Die>,
}

/// The type and the location of a whole argument.
struct Whole {
    of: Arc<Type>,
    location: Result<Location, Refusal>,
    object: (u64, u64),
    is_behind: bool,
    way: Vec<FollowedPointer>,
    is_extracted: bool,
    /// The number of bits of a bit-field.
    bits: Option<u64>,
}

/// Why there is no location, and the verdict that follows.
pub(super) struct Refusal {
    /// `None` if the debug information describes no variables at all.
    verdict: Option<Verdict>,
    reason: Reason,
}

impl Refusal {
    fn new(verdict: Verdict, reason: Reason) -> Self {
        Self { verdict: Some(verdict), reason }
    }

    fn lines_only() -> Self {
        Self { verdict: None, reason: Reason::LinesOnly }
    }

    pub(super) fn absent(reason: Reason) -> Self {
        Self::new(Verdict::Absent, reason)
    }

    pub(super) fn lost(reason: Reason) -> Self {
        Self::new(Verdict::Lost, reason)
    }

    pub(super) fn unsupported(reason: Reason) -> Self {
        Self::new(Verdict::Unsupported, reason)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::unsupported(Reason::DebugInfo { message: error.to_string().into() })
    }
}

impl From<PartError> for Refusal {
    fn from(why: PartError) -> Self {
        match why {
            PartError::OptimizedOut => Self::lost(Reason::OptimizedOut),
            PartError::ImplicitPointer(..) => Self::lost(Reason::PointerOptimizedOut),
            PartError::Scattered(why) => Self::unsupported(Reason::Scattered(why)),
        }
    }
}

impl<'d, 's> Arguments<'d, 's> {
    pub(super) fn new(
        debug: &'d DebugInfo<'s>,
        names: AddressNames<'d, 'd>,
        is_big_endian: bool,
        detail: TypeDetail,
    ) -> Self {
        Self { debug, names, is_big_endian, detail, types: Mutex::new(HashMap::new()) }
    }

    /// An argument at a stop, as far as the debug information describes it.
    pub(super) fn resolve(&self, declared: &DeclaredArgument, stop: &Stop<'_>) -> ArgumentFacts {
        let mut facts = ArgumentFacts {
            argument: Argument::unresolved(&declared.text),
            place: None,
            change: None,
            object: (0, 0),
            is_behind: false,
            way: Vec::new(),
            is_extracted: false,
            variable: None,
        };
        let place = match Place::parse(&declared.text) {
            Ok(place) => place,
            Err(error) => {
                refuse(&mut facts.argument, Refusal::unsupported(Reason::NotAPlace(error)));
                return facts;
            }
        };
        let mut extent = Extent::default();
        facts.argument.name = place.root().join("::").into();
        match self.whole(&place, stop, &mut extent) {
            Ok(mut whole) => {
                (facts.object, facts.is_behind, facts.is_extracted) =
                    (whole.object, whole.is_behind, whole.is_extracted);
                facts.way = std::mem::take(&mut whole.way);
                self.complete(&mut facts.argument, declared, whole, &extent, stop);
            }
            Err(refusal) => refuse(&mut facts.argument, refusal),
        }
        (facts.change, facts.variable) = (extent.change, extent.variable);
        facts.place = Some(place);
        facts
    }

    /// Where a place is at a stop; `None` if it cannot be read there.
    pub(super) fn locate(&self, place: &Place, stop: &Stop<'_>) -> Option<Location> {
        let Whole { of, location, .. } = self.whole(place, stop, &mut Extent::default()).ok()?;
        let (.., location) = judge(location.ok()?, of.size).ok()?;
        Some(location)
    }

    /// A location as the assembler and C write it.
    pub(super) fn text(&self, location: &Location) -> Arc<str> {
        location.text(&self.names).into()
    }

    /// The type and the location of a place.
    fn whole(&self, place: &Place, stop: &Stop<'_>, extent: &mut Extent) -> Result<Whole, Refusal> {
        let (inner, is_address) = match place {
            Place::Address(inner) => (&**inner, true),
            other => (other, false),
        };
        let (mut object, reference) = self.referred(self.object(inner, stop, extent)?, stop)?;
        let (bytes, way) = (around(object.whole), std::mem::take(&mut object.way));
        let (is_behind, is_extracted) = (object.is_behind, object.is_extracted);
        let bits = object.bits.filter(|_| !is_address);
        let (mut of, location) = self.finish(object, is_address)?;
        if let Some(name) = reference.filter(|_| !is_address) {
            of = Arc::new(Type { name, ..Type::clone(&of) });
        }
        if let Some(bits) = bits {
            of = conversions::bit_field(of, bits);
        }
        Ok(Whole { of, location, object: bytes, is_behind, way, is_extracted, bits })
    }

    /// Adds to an argument its type, its location and its verdict.
    fn complete(
        &self,
        argument: &mut Argument,
        declared: &DeclaredArgument,
        whole: Whole,
        extent: &Extent,
        stop: &Stop<'_>,
    ) {
        let Whole { of, location, bits, .. } = whole;
        argument.ranges = extent.ranges.iter().map(|range: &Range<Vaddr>| range.start.0..range.end.0).collect();
        argument.type_name = Some(Arc::clone(&of.name));
        argument.size = of.size;
        argument.encoding = encoding(&of);
        argument.language = self.language(stop);
        argument.mismatch = self.mismatch(declared, &of, bits, argument.language);
        let size = of.size;
        argument.ty = Some(of);
        if declared.words == Some(DeclaredWords::Type) {
            words::add_names_of_type(argument);
        }
        match location.and_then(|location| judge(location, size)) {
            Ok((verdict, reason, location)) => {
                argument.verdict = Some(verdict);
                argument.reason = reason;
                argument.location_text = Some(self.text(&location));
                argument.location = Some(location);
            }
            Err(mut refusal) => {
                if let Reason::NotDescribedHere { nearest } = &mut refusal.reason {
                    *nearest = nearest_range(stop.frame.pc, &extent.ranges);
                }
                refuse(argument, refusal);
            }
        }
    }

    /// The object that a place refers to. The ranges of its variable's location go to `ranges`.
    fn object(&self, place: &Place, stop: &Stop<'_>, extent: &mut Extent) -> Result<Object, Refusal> {
        match place {
            Place::Variable(path) => self.variable(path, stop, extent),
            Place::Member(inner, name) => match self.object(inner, stop, extent) {
                Ok(object) => self.step(object, &Step::Member(name.clone()), stop),
                Err(refusal) if matches!(refusal.reason, Reason::NoVariable { .. }) => {
                    self.captured_member(place, stop, extent)?.ok_or(refusal)
                }
                Err(refusal) => Err(refusal),
            },
            Place::Index(inner, index) => self.step(self.object(inner, stop, extent)?, &Step::Index(*index), stop),
            Place::Deref(inner) => self.step(self.object(inner, stop, extent)?, &Step::Deref, stop),
            // `(long)&x` is the only place for an address inside of an argument.
            Place::Cast(of, inner) => match &**inner {
                Place::Address(inner) => {
                    let (object, _) = self.referred(self.object(inner, stop, extent)?, stop)?;
                    self.cast(self.address_of(object)?, of, stop)
                }
                inner => self.cast(self.object(inner, stop, extent)?, of, stop),
            },
            Place::Address(_) => Err(Refusal::unsupported(Reason::NotAPlace(PlaceError::InnerAddress))),
        }
    }

    fn variable(&self, path: &[String], stop: &Stop<'_>, extent: &mut Extent) -> Result<Object, Refusal> {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let name = || Arc::from(path.join("::"));
        let Some(scope) = stop.scope else {
            // LLVM leaves out functions that nothing was inlined into, if it describes only lines.
            return Err(if self.has_lines_only(stop)? {
                Refusal::lines_only()
            } else {
                Refusal::absent(Reason::NoScope)
            });
        };
        let found = match self.debug.lookup_in_function(scope, &path, stop.file, stop.line)? {
            Some(found) if !matches!(found, Lookup::DeclaredLater { .. }) => found,
            later => {
                if let &[member] = path.as_slice() {
                    if let Some(object) = self.member(member, scope, stop, extent)? {
                        return Ok(object);
                    }
                }
                self.debug.lookup_outside(scope, &path, stop.file, stop.line, later)?
            }
        };
        let (variable, is_placed) = match found {
            Lookup::Found { variable, is_placed, .. } => (variable, is_placed),
            Lookup::NoScope | Lookup::Absent { .. } if self.has_lines_only(stop)? => return Err(Refusal::lines_only()),
            Lookup::NoScope => return Err(Refusal::absent(Reason::OtherFunctions)),
            Lookup::Several(several) => {
                return Err(Refusal::unsupported(Reason::SeveralVariables { name: name(), count: several.len() }));
            }
            Lookup::OtherFrame { .. } => {
                return Err(Refusal::unsupported(Reason::OtherFrame));
            }
            Lookup::Unnamed { line } => {
                return Err(Refusal::unsupported(Reason::UnnamedBinding { name: name(), line }));
            }
            Lookup::DeclaredLater { line } => {
                return Err(Refusal::absent(Reason::DeclaredLater { name: name(), line }));
            }
            Lookup::Absent { similar } => {
                let similar = similar.iter().map(|name| (**name).into()).collect();
                return Err(Refusal::absent(Reason::NoVariable { name: name(), similar }));
            }
        };
        let object = self.variable_object(variable, is_placed, stop, extent)?;
        match path.as_slice() {
            ["this"] => self.this(object, scope, stop, extent),
            _ => Ok(object),
        }
    }

    /// The object that a variable is.
    pub(super) fn variable_object(
        &self,
        variable: Die,
        is_placed: bool,
        stop: &Stop<'_>,
        extent: &mut Extent,
    ) -> Result<Object, Refusal> {
        let of = self.debug.type_of(variable)?;
        // A variable that is only in the abstract instance has no location in this one.
        let described = if is_placed { self.debug.variable(variable, &stop.frame)? } else { Described::Never };
        let size = of.map(|of| self.debug.type_size(of)).transpose()?.flatten();
        let location;
        (location, *extent) = located(described, &self.names);
        extent.variable = Some(variable);
        Ok(Object {
            location,
            of,
            whole: (0, size),
            is_behind: false,
            way: Vec::new(),
            is_extracted: false,
            bits: None,
            made: None,
        })
    }

    /// Whether the debug information of the marker's unit describes no variables.
    fn has_lines_only(&self, stop: &Stop<'_>) -> Result<bool, Error> {
        let frame = stop.scope.and_then(|scope| scope.frames.first());
        self.debug.has_lines_only(frame.map(|frame| frame.instance), stop.frame.pc)
    }

    /// Follows one step, with the dereferences that it implies.
    pub(super) fn step(&self, object: Object, step: &Step, stop: &Stop<'_>) -> Result<Object, Refusal> {
        let mut object = object;
        if let Some(made) = object.made.take() {
            return self.step_from(object, made, step, stop);
        }
        for _ in 0..AUTOMATIC {
            let Some(of) = object.of else { return Err(Refusal::absent(Reason::NoSuchPart(NoSuchPart::Void))) };
            match self.debug.step(of, step)? {
                Projection::Part { bit_offset, bit_size, of, again } => {
                    object = self.part(object, bit_offset, bit_size, of)?;
                    if !again {
                        return Ok(object);
                    }
                }
                Projection::Through { pointer_bit_offset, pointer_size, offset, of, again } => {
                    let Ok(pointer_size) = u8::try_from(pointer_size) else {
                        return Err(Refusal::unsupported(Reason::WidePointer));
                    };
                    let target_size = self.debug.type_size(of).ok().flatten();
                    object = self.through(object, (pointer_bit_offset, pointer_size), offset, target_size, stop);
                    object.of = Some(of);
                    if !again {
                        return Ok(object);
                    }
                }
                Projection::Static(member) => return self.static_member(member, stop, &mut Extent::default()),
                Projection::Absent(why) => return Err(Refusal::absent(Reason::NoSuchPart(why))),
                Projection::Refused(why) => return Err(Refusal::unsupported(Reason::Unsupported(why))),
            }
        }
        Err(Refusal::unsupported(Reason::TooManyPointers { most: AUTOMATIC }))
    }

    fn part(&self, object: Object, bit_offset: u64, bit_size: Option<u64>, of: TypeRef) -> Result<Object, Refusal> {
        let bits = match bit_size {
            Some(bits) => Some(bits),
            None => self.debug.type_size(of)?.and_then(|size| size.checked_mul(8)),
        };
        let signed = match bit_size {
            Some(_) => encoding(&*self.describe(Some(of))?) == Some(Encoding::Signed),
            None => false,
        };
        let part = |location: Location| {
            let in_memory = location.pieces.iter().all(|piece| matches!(piece.source, Source::Memory(_)));
            if self.is_big_endian && (bit_size.is_some() || !in_memory) {
                return Err(Refusal::unsupported(Reason::BigEndianPart));
            }
            let location = location.part(bit_offset, bits)?;
            match bit_size {
                Some(bits) => Ok(Location::whole(Source::Value(location.integer(bits, signed)?))),
                None => Ok(location),
            }
        };
        let whole = (object.whole.0.saturating_add(bit_offset), object.whole.1);
        let is_behind = object.is_behind;
        Ok(Object {
            location: object.location.and_then(part),
            of: Some(of),
            whole,
            is_behind,
            way: object.way,
            is_extracted: bit_size.is_some(),
            bits: bit_size,
            made: None,
        })
    }

    /// The object of `target_size` bytes, still without a type, at `offset` bytes behind the pointer at
    /// a bit of an object and with a size in bytes.
    pub(super) fn through(
        &self,
        object: Object,
        (bit_offset, size): (u64, u8),
        offset: u64,
        target_size: Option<u64>,
        stop: &Stop<'_>,
    ) -> Object {
        let follow = |location: Location| {
            let is_known = location.pieces.iter().any(|piece| matches!(piece.source, Source::Bytes(_)));
            if self.is_big_endian && is_known {
                return Err(Refusal::unsupported(Reason::BigEndianPointer));
            }
            let pointer = location.part(bit_offset, Some(u64::from(size) * 8)).and_then(|part| part.pointer(size));
            match pointer {
                Ok(pointer) => {
                    let offset = i64::try_from(offset).map_err(|_| Refusal::unsupported(Reason::WideOffset))?;
                    let address = pointer.plus(offset).ok_or_else(|| Refusal::unsupported(Reason::TooManySteps))?;
                    Ok(Location::whole(Source::Memory(address)))
                }
                Err(PartError::ImplicitPointer(variable, inner)) => {
                    let (location, _) = located(self.debug.pointee(variable, &stop.frame)?, &self.names);
                    let inner = u64::try_from(inner)
                        .ok()
                        .and_then(|inner| inner.checked_add(offset))
                        .and_then(|bytes| bytes.checked_mul(8));
                    let inner = inner.ok_or_else(|| Refusal::unsupported(Reason::BeforeVariable))?;
                    Ok(location?.part(inner, None)?)
                }
                Err(why) => Err(why.into()),
            }
        };
        let mut way = object.way;
        let pointer = object.location.as_ref().ok().and_then(|location| {
            let location = location.part(bit_offset, Some(u64::from(size) * 8)).ok()?;
            let bytes = around((object.whole.0.saturating_add(bit_offset), object.whole.1));
            Some(FollowedPointer { location, size: size.into(), object: bytes, is_behind: object.is_behind })
        });
        way.extend(pointer.filter(|pointer| matches!(pointer.location.source(), Some(Source::Memory(_)))));
        let size = target_size.and_then(|size| size.checked_add(offset));
        let whole = (offset.saturating_mul(8), size);
        let location = object.location.and_then(follow);
        Object { location, of: None, whole, is_behind: true, way, is_extracted: false, bits: None, made: None }
    }

    /// The type and location of the whole argument.
    fn finish(&self, object: Object, is_address: bool) -> Result<(Arc<Type>, Result<Location, Refusal>), Refusal> {
        let of = self.type_of_object(&object)?;
        if !is_address {
            return Ok((of, object.location));
        }
        let pointer = Type {
            name: format!("{} *", of.name).into(),
            size: Some(self.names.address_size().into()),
            shape: Shape::Pointer { to: Some(of) },
        };
        Ok((Arc::new(pointer), object.location.and_then(|location| address(&location))))
    }

    /// A pointer to an object, still without a type.
    pub(super) fn address_of(&self, object: Object) -> Result<Object, Refusal> {
        let made = Some(Made::Pointer(None));
        let location = object.location.and_then(|location| address(&location));
        Ok(Object {
            location,
            of: None,
            whole: (0, None),
            is_behind: false,
            way: Vec::new(),
            is_extracted: false,
            bits: None,
            made,
        })
    }

    /// How many bytes an address has.
    pub(super) fn address_size(&self) -> u8 {
        self.names.address_size()
    }

    /// The language of the marker's function.
    pub(super) fn language(&self, stop: &Stop<'_>) -> Language {
        let unit = stop.scope.and_then(|scope| scope.frames.first()).map(|frame| frame.instance);
        unit.map_or(Language::C, |unit| self.debug.language(unit))
    }

    /// Why the conversion of an argument does not fit its type.
    fn mismatch(
        &self,
        declared: &DeclaredArgument,
        of: &Type,
        bits: Option<u64>,
        language: Language,
    ) -> Option<Mismatch> {
        let model = DataModel { language, address_size: self.names.address_size().into() };
        let conversion = declared.conversion.as_deref()?;
        if conversion == "*" {
            return conversions::star_mismatch(of, model);
        }
        match printf::parse(conversion.as_bytes()).next() {
            Some(Ok(printf::Piece::Conversion(conversion))) if declared.words == Some(DeclaredWords::Type) => {
                conversions::mismatch_of_named(&conversion, of, model)
            }
            Some(Ok(printf::Piece::Conversion(conversion))) if conversions::takes_promoted(&conversion, of, bits) => {
                None
            }
            Some(Ok(printf::Piece::Conversion(conversion))) => conversions::mismatch(&conversion, of, model),
            _ => None,
        }
    }

    pub(super) fn describe(&self, of: Option<TypeRef>) -> Result<Arc<Type>, Refusal> {
        let types = || self.types.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = types().get(&of) {
            return Ok(Arc::clone(known));
        }
        let described = match self.detail {
            TypeDetail::Brief => self.debug.describe_type_briefly(of, TYPE_DEPTH)?,
            TypeDetail::Full => self.debug.describe_type(of, TYPE_DEPTH)?,
        };
        types().insert(of, Arc::clone(&described));
        Ok(described)
    }
}

/// The bytes before a place in its object, and from it to the end of the object. The place is some bits behind
/// the start of the object, whose size may be known.
fn around((bits, size): (u64, Option<u64>)) -> (u64, u64) {
    let before = bits / 8;
    (before, size.map_or(1, |size| size.saturating_sub(before)))
}

/// The address of what is at a location.
fn address(location: &Location) -> Result<Location, Refusal> {
    match location.source() {
        Some(Source::Memory(address)) => Ok(Location::whole(Source::Value(address.clone()))),
        _ => Err(Refusal::lost(Reason::NotInMemory)),
    }
}

/// The location, or why there is none; and the addresses that have one.
fn located(described: Described, names: &dyn Names) -> (Result<Location, Refusal>, Extent) {
    let everywhere = Extent::default;
    match described {
        Described::At { location, range, change } => {
            (Ok(location), Extent { ranges: range.into_iter().collect(), change, variable: None })
        }
        Described::Entry { value } => {
            let text = english::dwarf::entry_value(&value, names).into();
            (Err(Refusal::new(Verdict::Entry, Reason::EntryValue { value, text })), everywhere())
        }
        Described::Lost { ranges } => {
            (Err(Refusal::lost(Reason::NotDescribedHere { nearest: None })), Extent { ranges, ..Extent::default() })
        }
        Described::Never => (Err(Refusal::lost(Reason::NeverDescribed)), everywhere()),
        Described::Dropped => (Err(Refusal::lost(Reason::NoAddress)), everywhere()),
        Described::Unsupported { why } => (Err(Refusal::unsupported(Reason::Unsupported(why))), everywhere()),
    }
}

/// The verdict on a value of `size` bytes at a location, and why it is not better.
fn judge(mut location: Location, size: Option<u64>) -> Result<(Verdict, Option<Reason>, Location), Refusal> {
    let Some(size) = size else {
        return Ok((Verdict::Live, Some(Reason::NoSize), location));
    };
    if let Some(Source::ImplicitPointer { .. }) = location.source() {
        return Err(Refusal::lost(Reason::ImplicitPointer));
    }
    location.fill(size);
    let gone = location.optimized_out(size);
    let missing: u64 = gone.iter().map(|(from, to)| to - from).sum();
    if size > 0 && missing >= size.saturating_mul(8) {
        return Err(Refusal::lost(Reason::NoPiece));
    }
    if missing > 0 {
        let bytes = gone.iter().map(|(from, to)| from / 8..to.div_ceil(8)).collect();
        return Ok((Verdict::Partial, Some(Reason::MissingBytes { bytes }), location));
    }
    let verdict = if location.is_constant() { Verdict::Constant } else { Verdict::Live };
    Ok((verdict, None, location))
}

/// The range that is nearest to an address outside of all ranges.
fn nearest_range(pc: Vaddr, ranges: &[Range<Vaddr>]) -> Option<Nearest> {
    let distance = |range: &&Range<Vaddr>| match range.start > pc {
        true => range.start.0 - pc.0,
        false => pc.0.saturating_sub(range.end.0),
    };
    let nearest = ranges.iter().filter(|range| !range.contains(&pc)).min_by_key(distance)?;
    Some(match nearest.start > pc {
        true => Nearest::Begins { after: distance(&nearest) },
        false => Nearest::Ends { before: distance(&nearest) },
    })
}

fn refuse(argument: &mut Argument, refusal: Refusal) {
    argument.verdict = refusal.verdict;
    argument.reason = Some(refusal.reason);
}

/// How a number of that type is read; `None` if the type is not a number.
fn encoding(of: &Type) -> Option<Encoding> {
    Some(match of.shape {
        Shape::Integer { signed: true }
        | Shape::Character { signed: true }
        | Shape::Enumeration { signed: true, .. } => Encoding::Signed,
        Shape::Integer { .. }
        | Shape::Character { .. }
        | Shape::Enumeration { .. }
        | Shape::Boolean
        | Shape::Pointer { .. }
        | Shape::Function => Encoding::Unsigned,
        Shape::Float => Encoding::Float,
        _ => return None,
    })
}
