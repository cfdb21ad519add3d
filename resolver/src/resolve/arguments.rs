//! Arguments that are places: looks up the variable from the marker's scope, follows the place
//! through its type and location, and gives a verdict (`docs/verdicts.md`).
//!
//! The type is followed even if the location is lost, so that as much as possible is known about
//! the argument.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use simple_markers_record::printf;

use super::doubt::{Root, chain};
use super::names::AddressNames;
use super::path::{Extent, Locator, Move, Path, entry_refusal, judge};
use super::place::{Place, PlaceError, RESULT};
use super::refusal::Refusal;
use super::site_answer::STEPS;
use super::value_members;
use super::{
    Argument, DataModel, DeclaredArgument, DeclaredWords, Encoding, EntryReading, Mismatch, Nearest, Reason, Verdict,
    conversions, words,
};
use crate::Error;
use crate::address::Vaddr;
use crate::arch::returned_value::ResultProblem;
use crate::dwarf::{
    DebugInfo, Die, EntryValue, Frame, Lookup, NoSuchPart, Projection, Scope, SharingVariable, Step, TypeRef,
};
use crate::location::{Location, LocationNames as _, Source};
use crate::rates::Compiler;
use crate::types::{Language, Shape, Type, is_letter};

/// How many pointers are followed in the type of an argument: the text of a `String` is three
/// structures and a pointer away.
const TYPE_DEPTH: u32 = 2;

/// How many pointers are followed in the type of a whole value, besides the one that the argument is.
const VALUE_DEPTH: u32 = 4;

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
pub(super) struct Arguments<'a> {
    pub(super) debug: &'a DebugInfo<'a>,
    pub(super) locator: Locator<'a>,
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
    /// Why there is no result of the function; `None` if the function returns there.
    pub(super) no_result: Option<ResultProblem>,
    /// Whether a function that a user named is entered there, before its first statement.
    pub(super) is_entered: bool,
}

/// An object on the way through a place.
pub(super) struct PlaceObject {
    pub(super) location: Result<Location, Refusal>,
    /// The way to it, from the variable on.
    pub(super) path: Path,
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
    pub(super) made: Option<CastType>,
}

impl PlaceObject {
    /// The object that a place begins with, of so many bytes.
    pub(super) fn root(
        location: Result<Location, Refusal>,
        path: Path,
        of: Option<TypeRef>,
        size: Option<u64>,
    ) -> Self {
        Self {
            location,
            path,
            of,
            whole: (0, size),
            is_behind: false,
            way: Vec::new(),
            is_extracted: false,
            bits: None,
            made: None,
        }
    }
}

/// A type that a cast makes of others.
#[derive(Clone, Debug)]
pub(super) enum CastType {
    /// A number of C.
    Number(Arc<Type>),
    /// A pointer; `None` to `void`.
    Pointer(Option<Arc<PointerTarget>>),
}

/// What a pointer of a cast points at.
#[derive(Clone, Debug)]
pub(super) enum PointerTarget {
    /// A type of the debug information.
    Described(TypeRef),
    /// Another one.
    Cast(CastType),
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

/// What the debug information says of an argument at a site.
pub(super) struct ArgumentFacts {
    /// The argument with a verdict, before it is doubted.
    pub(super) argument: Argument,
    /// The way from its variable to it; `None` if it was refused.
    pub(super) path: Option<Path>,
    /// What the location of its variable says.
    pub(super) extent: Extent,
    /// Bytes of its object in memory before it, and from it to the end of the object.
    pub(super) object: (u64, u64),
    /// Whether it is behind a pointer that the place follows.
    pub(super) is_behind: bool,
    /// The pointers in memory that the place follows.
    pub(super) way: Vec<FollowedPointer>,
    /// Whether it is a bit-field.
    pub(super) is_extracted: bool,
}

/// The type and the location of a whole argument.
struct Whole {
    of: Arc<Type>,
    location: Result<Location, Refusal>,
    path: Path,
    object: (u64, u64),
    is_behind: bool,
    way: Vec<FollowedPointer>,
    is_extracted: bool,
    /// The number of bits of a bit-field.
    bits: Option<u64>,
    /// The type of the value that `%p{..}` shows; `None` for other conversions, and if it has no entry.
    shown: Option<TypeRef>,
}

impl<'a> Arguments<'a> {
    pub(super) fn new(debug: &'a DebugInfo<'a>, names: AddressNames<'a>, detail: TypeDetail) -> Self {
        Self { debug, locator: Locator { debug, names }, detail, types: Mutex::new(HashMap::new()) }
    }

    /// An argument at a stop, as far as the debug information describes it.
    pub(super) fn resolve(&self, declared: &DeclaredArgument, stop: &Stop<'_>) -> ArgumentFacts {
        self.resolve_at(declared, None, stop)
    }

    /// The same for a place that is known to be at a location.
    pub(super) fn resolve_at(
        &self,
        declared: &DeclaredArgument,
        known: Option<&Location>,
        stop: &Stop<'_>,
    ) -> ArgumentFacts {
        let mut facts = ArgumentFacts {
            argument: Argument::unresolved(&declared.text),
            path: None,
            extent: Extent::default(),
            object: (0, 0),
            is_behind: false,
            way: Vec::new(),
            is_extracted: false,
        };
        let place = match Place::parse(&declared.text) {
            Ok(place) => place,
            Err(error) => {
                refuse(&mut facts.argument, Refusal::unsupported(Reason::NotAPlace(error)));
                return facts;
            }
        };
        facts.argument.name = place.root().join("::").into();
        match self.whole((&place, known), declared.form.is_some(), stop, &mut facts.extent) {
            Ok(whole) => self.complete(&mut facts, declared, whole, stop),
            Err(refusal) => refuse(&mut facts.argument, refusal),
        }
        facts
    }

    /// The type and the location of a place. Of one that is shown as a whole value and is a pointer to
    /// another value, those of that value. The place may be known to be at a location.
    fn whole(
        &self,
        (place, known): (&Place, Option<&Location>),
        is_value: bool,
        stop: &Stop<'_>,
        extent: &mut Extent,
    ) -> Result<Whole, Refusal> {
        let (inner, is_address) = match place {
            // The value at an address is what the address is taken of.
            Place::Address(inner) if is_value => (&**inner, false),
            Place::Address(inner) => (&**inner, true),
            other => (other, false),
        };
        let mut object = self.object(inner, stop, extent)?;
        if let Some(known) = known {
            object.location = Ok(known.clone());
        }
        let (mut object, mut reference) = self.referred(object, stop)?;
        if is_value && inner == place && self.points_at_value(&object)? {
            (object, reference) = (self.step(object, &Step::Deref, stop)?, None);
        }
        let (bytes, way) = (around(object.whole), std::mem::take(&mut object.way));
        let (is_behind, is_extracted) = (object.is_behind, object.is_extracted);
        let bits = object.bits.filter(|_| !is_address);
        let described = object.of.filter(|_| is_value && object.made.is_none());
        let (mut of, PlaceObject { location, path, .. }) = self.finish(object, is_address, stop)?;
        if let Some(described) = described {
            of = self.debug.describe_value(Some(described), VALUE_DEPTH)?;
        }
        if let Some(name) = reference.filter(|_| !is_address) {
            of = Arc::new(Type { name, ..Type::clone(&of) });
        }
        if let Some(bits) = bits {
            of = conversions::bit_field(of, bits);
        }
        Ok(Whole { of, location, path, object: bytes, is_behind, way, is_extracted, bits, shown: described })
    }

    /// Whether an object is a pointer to a value that can be shown, and not one to text.
    fn points_at_value(&self, object: &PlaceObject) -> Result<bool, Refusal> {
        let of = self.type_of_object(object)?;
        let Shape::Pointer { to: Some(to) } = &of.shape else { return Ok(false) };
        Ok(!is_letter(to)
            && to.size.is_some_and(|size| size > 0)
            && !matches!(to.shape, Shape::Function | Shape::Opaque(_)))
    }

    /// Adds to an argument its type, its location and its verdict.
    fn complete(&self, facts: &mut ArgumentFacts, declared: &DeclaredArgument, whole: Whole, stop: &Stop<'_>) {
        let Whole { of, location, path, object, is_behind, way, is_extracted, bits, shown } = whole;
        (facts.path, facts.way, facts.object) = (Some(path), way, object);
        (facts.is_behind, facts.is_extracted) = (is_behind, is_extracted);
        let (argument, extent) = (&mut facts.argument, &facts.extent);
        argument.ranges = extent.ranges.iter().map(|range: &Range<Vaddr>| range.start.0..range.end.0).collect();
        argument.type_name = Some(Arc::clone(&of.name));
        argument.size = of.size;
        argument.encoding = encoding(&of);
        argument.language = self.language(stop);
        argument.mismatch = match (&declared.form, argument.language) {
            (None, language) => self.mismatch(declared, &of, bits, language),
            (Some(form), Language::C) => shown.and_then(|shown| value_members::mismatch(self.debug, shown, form)),
            (Some(_), Language::Rust) => None,
        };
        argument.ty = Some(Arc::clone(&of));
        // A type whose name cannot be read is shown without it.
        let named = shown.filter(|_| self.detail == TypeDetail::Full);
        argument.type_path = named.and_then(|of| self.debug.type_path(of).ok().flatten()).map(Arc::new);
        if declared.words == Some(DeclaredWords::Type) {
            words::add_names_of_type(argument);
        }
        let value = location.as_ref().ok().and_then(|location| location.entry_values().into_iter().next());
        let value = value.map(EntryValue::Expression);
        match (location.and_then(|location| judge(location, &of)), value) {
            (judged, Some(value)) => {
                refuse(argument, entry_refusal(value, &self.locator.names));
                if let Ok((Verdict::Live, None, location)) = judged {
                    let location_text = self.locator.text(&location);
                    argument.at_entry = Some(EntryReading::Readable { location, location_text });
                }
            }
            (Ok((verdict, reason, location)), None) => {
                argument.verdict = Some(verdict);
                argument.reason = reason;
                argument.location_text = Some(self.locator.text(&location));
                argument.location = Some(location);
            }
            (Err(mut refusal), None) => {
                if let Reason::NotDescribedHere { nearest } = &mut refusal.reason {
                    *nearest = nearest_range(stop.frame.pc, &extent.ranges);
                }
                refuse(argument, refusal);
            }
        }
    }

    /// The object that a place refers to. The ranges of its variable's location go to `ranges`.
    fn object(&self, place: &Place, stop: &Stop<'_>, extent: &mut Extent) -> Result<PlaceObject, Refusal> {
        match place {
            Place::Variable(path) if matches!(path.as_slice(), [name] if name == RESULT) => self.returned(stop),
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
                    self.cast(self.address_of(object, stop), of, stop)
                }
                inner => self.cast(self.object(inner, stop, extent)?, of, stop),
            },
            Place::Address(_) => Err(Refusal::unsupported(Reason::NotAPlace(PlaceError::InnerAddress))),
        }
    }

    fn variable(&self, path: &[String], stop: &Stop<'_>, extent: &mut Extent) -> Result<PlaceObject, Refusal> {
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
        let (variable, is_placed, is_static) = match found {
            Lookup::Found { variable, is_placed, is_static } => (variable, is_placed, is_static),
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
        extent.named = Some(variable).filter(|_| is_placed && !is_static);
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
    ) -> Result<PlaceObject, Refusal> {
        let of = self.debug.type_of(variable)?;
        let path = Path::new(variable, is_placed);
        let size = of.map(|of| self.debug.type_size(of)).transpose()?.flatten();
        let (mut location, found) = self.locator.variable(&path, &stop.frame)?;
        *extent = found;
        extent.variable = Some(variable);
        if stop.is_entered
            && extent.ranges.is_empty()
            && location.as_ref().is_ok_and(|it| self.is_stored_later(it, variable))
        {
            location = Err(Refusal::lost(Reason::NotDescribedHere { nearest: None }));
        }
        Ok(PlaceObject::root(location, path, of, size))
    }

    /// Whether a variable that is described for all of its function in the frame is not there yet where the
    /// function is entered. gcc counts from the frame of the caller, which passed what is in that frame.
    fn is_stored_later(&self, location: &Location, variable: Die) -> bool {
        // The return address may be in between.
        let is_passed =
            |offset: i64| self.debug.compiler(variable) == Some(Compiler::Gcc) && offset >= self.address_size().into();
        location.pieces.iter().any(|piece| match &piece.source {
            Source::Memory(address) => match chain(address) {
                Some((Root::Register(_), offsets)) => !matches!(*offsets, [offset] if is_passed(offset)),
                Some((Root::Image(_) | Root::Thread, _)) => false,
                None => true,
            },
            _ => false,
        })
    }

    /// Whether the debug information of the marker's unit describes no variables.
    fn has_lines_only(&self, stop: &Stop<'_>) -> Result<bool, Error> {
        let frame = stop.scope.and_then(|scope| scope.frames.first());
        self.debug.has_lines_only(frame.map(|frame| frame.instance), stop.frame.pc)
    }

    /// Follows one step, with the dereferences that it implies.
    pub(super) fn step(&self, object: PlaceObject, step: &Step, stop: &Stop<'_>) -> Result<PlaceObject, Refusal> {
        let mut object = object;
        if let Some(made) = object.made.take() {
            return self.step_from(object, made, step, stop);
        }
        for _ in 0..AUTOMATIC {
            let Some(of) = object.of else { return Err(Refusal::absent(Reason::NoSuchPart(NoSuchPart::Void))) };
            match self.debug.step(of, step)? {
                Projection::Part { bit_offset, bit_size, of, again } => {
                    object = self.part(object, (bit_offset, bit_size), of, stop)?;
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

    fn part(
        &self,
        object: PlaceObject,
        (bit_offset, bit_size): (u64, Option<u64>),
        of: TypeRef,
        stop: &Stop<'_>,
    ) -> Result<PlaceObject, Refusal> {
        let to = match bit_size {
            Some(bits) => {
                let is_signed = encoding(&*self.describe(Some(of))?) == Some(Encoding::Signed);
                Move::BitField { bit_offset, bits, is_signed }
            }
            None => {
                let bits = self.debug.type_size(of)?.and_then(|size| size.checked_mul(8));
                Move::Part { bit_offset, bits }
            }
        };
        let whole = (object.whole.0.saturating_add(bit_offset), object.whole.1);
        let is_extracted = bit_size.is_some();
        let part = self.moved(object, to, stop);
        Ok(PlaceObject { of: Some(of), whole, is_extracted, bits: bit_size, made: None, ..part })
    }

    /// An object at another location, which a step leads to.
    pub(super) fn moved(&self, object: PlaceObject, to: Move, stop: &Stop<'_>) -> PlaceObject {
        let PlaceObject { location, mut path, .. } = object;
        let location = location.and_then(|location| self.locator.moved(location, &to, &stop.frame));
        path.moves.push(to);
        PlaceObject { location, path, ..object }
    }

    /// The object of `target_size` bytes, still without a type, at `offset` bytes behind the pointer at
    /// a bit of an object and with a size in bytes.
    pub(super) fn through(
        &self,
        object: PlaceObject,
        (bit_offset, size): (u64, u8),
        offset: u64,
        target_size: Option<u64>,
        stop: &Stop<'_>,
    ) -> PlaceObject {
        let mut object = object;
        let pointer = object.location.as_ref().ok().and_then(|location| {
            let location = location.part(bit_offset, Some(u64::from(size) * 8)).ok()?;
            let bytes = around((object.whole.0.saturating_add(bit_offset), object.whole.1));
            Some(FollowedPointer { location, size: size.into(), object: bytes, is_behind: object.is_behind })
        });
        object.way.extend(pointer.filter(|pointer| matches!(pointer.location.source(), Some(Source::Memory(_)))));
        let whole = (offset.saturating_mul(8), target_size.and_then(|size| size.checked_add(offset)));
        let found = self.moved(object, Move::Through { bit_offset, size, offset }, stop);
        PlaceObject { of: None, whole, is_behind: true, is_extracted: false, bits: None, made: None, ..found }
    }

    /// The type of the whole argument, and the argument.
    fn finish(
        &self,
        object: PlaceObject,
        is_address: bool,
        stop: &Stop<'_>,
    ) -> Result<(Arc<Type>, PlaceObject), Refusal> {
        let of = self.type_of_object(&object)?;
        if !is_address {
            return Ok((of, object));
        }
        let pointer = Type {
            name: format!("{} *", of.name).into(),
            size: Some(self.address_size().into()),
            shape: Shape::Pointer { to: Some(of) },
        };
        Ok((Arc::new(pointer), self.moved(object, Move::Address, stop)))
    }

    /// A pointer to an object, still without a type.
    pub(super) fn address_of(&self, object: PlaceObject, stop: &Stop<'_>) -> PlaceObject {
        let pointer = self.moved(object, Move::Address, stop);
        PlaceObject {
            of: None,
            whole: (0, None),
            is_behind: false,
            way: Vec::new(),
            is_extracted: false,
            bits: None,
            made: Some(CastType::Pointer(None)),
            ..pointer
        }
    }

    /// The variable that shares the location of a local variable at the frame `last`, and has one
    /// at the stop too.
    pub(super) fn sharing(&self, stop: &Stop<'_>, variable: Die, last: &Frame) -> Option<SharingVariable> {
        self.debug.allow(STEPS);
        self.debug.sharing(stop.scope?, variable, (stop.file, stop.line), last, &stop.frame).ok().flatten()
    }

    /// How many bytes an address has.
    pub(super) fn address_size(&self) -> u8 {
        self.locator.names.address_size()
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
        let model = DataModel { language, address_size: self.locator.names.address_size().into() };
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
