//! Arguments that are places: the variable looked up from the marker's scope, the place followed through its type and location, and
//! a verdict (`docs/verdicts.md`).
//!
//! The type is followed even where the location is lost, so that what is said of the argument is as much as is known.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use simple_markers_record::printf;

use super::place::Place;
use super::{Argument, DataModel, DeclaredArgument, Encoding, Verdict, conversions};
use crate::Error;
use crate::address::Vaddr;
use crate::dwarf::{DebugInfo, Described, Frame, Lookup, Projection, Scope, Step, TypeRef};
use crate::english;
use crate::location::{Location, Names, PartError, Source};
use crate::types::{Language, Shape, Type};

/// How deep pointers are followed in the type of an argument: the text of a `String` is three structures and a pointer away.
const TYPE_DEPTH: u32 = 2;

/// How many dereferences one step of a place may take by itself (`self.x` with `self: &mut Box<T>`).
const AUTOMATIC: usize = 8;

/// How much of the types of arguments is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TypeDetail {
    /// What conversions are checked against: of a structure of C behind a pointer its name and size.
    Brief,
    /// What values are read and written by.
    Full,
}

/// What arguments of an image are looked up in.
pub(super) struct Arguments<'d, 's> {
    debug: &'d DebugInfo<'s>,
    names: &'d (dyn Names + Sync),
    is_big_endian: bool,
    detail: TypeDetail,
    types: Mutex<HashMap<Option<TypeRef>, Arc<Type>>>,
}

/// Where a marker's argument is looked up from.
pub(super) struct Stop<'a> {
    pub(super) scope: Option<&'a Scope>,
    pub(super) frame: Frame,
    /// The marker's file and line.
    pub(super) file: &'a str,
    pub(super) line: u32,
}

/// An object on the way through a place.
struct Object {
    location: Result<Location, Refusal>,
    of: Option<TypeRef>,
}

/// Why there is no location.
struct Refusal {
    verdict: Verdict,
    why: String,
}

impl Refusal {
    fn new(verdict: Verdict, why: impl Into<String>) -> Self {
        Self { verdict, why: why.into() }
    }

    fn unsupported(why: impl Into<String>) -> Self {
        Self::new(Verdict::Unsupported, why)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::unsupported(error.to_string())
    }
}

impl From<PartError> for Refusal {
    fn from(why: PartError) -> Self {
        match why {
            PartError::OptimizedOut | PartError::ImplicitPointer(..) => Self::new(Verdict::Lost, why.to_string()),
            PartError::Scattered(_) => Self::unsupported(why.to_string()),
        }
    }
}

impl<'d, 's> Arguments<'d, 's> {
    pub(super) fn new(
        debug: &'d DebugInfo<'s>,
        names: &'d (dyn Names + Sync),
        is_big_endian: bool,
        detail: TypeDetail,
    ) -> Self {
        Self { debug, names, is_big_endian, detail, types: Mutex::new(HashMap::new()) }
    }

    /// An argument at a stop, as far as the debug information says.
    pub(super) fn resolve(&self, declared: &DeclaredArgument, stop: &Stop<'_>) -> Argument {
        let mut argument = Argument::unresolved(&declared.text);
        let place = match Place::parse(&declared.text) {
            Ok(place) => place,
            Err(why) => return refuse(argument, Refusal::unsupported(format!("not a place: {why}"))),
        };
        argument.name = place.root().join("::").into();
        let (inner, is_address) = match &place {
            Place::Address(inner) => (&**inner, true),
            other => (other, false),
        };
        let mut ranges = Vec::new();
        let object = match self.object(inner, stop, &mut ranges) {
            Ok(object) => object,
            Err(refusal) => return refuse(argument, refusal),
        };
        argument.ranges = ranges.iter().map(|range: &Range<Vaddr>| range.start.0..range.end.0).collect();
        let (of, location) = match self.finish(object, is_address) {
            Ok(finished) => finished,
            Err(refusal) => return refuse(argument, refusal),
        };
        argument.type_name = Some(Arc::clone(&of.name));
        argument.size = of.size;
        argument.encoding = encoding(&of);
        argument.language = self.language(stop);
        argument.mismatch = self.mismatch(declared, &of, argument.language).map(Into::into);
        let size = of.size;
        argument.of = Some(of);
        match location.and_then(|location| judge(location, size)) {
            Ok((verdict, why, location)) => {
                argument.verdict = Some(verdict);
                argument.why = why.map(Into::into);
                argument.location = Some(location.text(self.names).into());
                argument.value = Some(location);
                argument
            }
            Err(mut refusal) => {
                if refusal.verdict == Verdict::Lost {
                    say_where(&mut refusal.why, stop.frame.pc, &ranges);
                }
                refuse(argument, refusal)
            }
        }
    }

    /// The object that a place means. Where its variable is described goes to `ranges`.
    fn object(&self, place: &Place, stop: &Stop<'_>, ranges: &mut Vec<Range<Vaddr>>) -> Result<Object, Refusal> {
        match place {
            Place::Variable(path) => self.variable(path, stop, ranges),
            Place::Member(inner, name) => {
                self.step(self.object(inner, stop, ranges)?, &Step::Member(name.clone()), stop)
            }
            Place::Index(inner, index) => self.step(self.object(inner, stop, ranges)?, &Step::Index(*index), stop),
            Place::Deref(inner) => self.step(self.object(inner, stop, ranges)?, &Step::Deref, stop),
            Place::Address(_) => Err(Refusal::unsupported("the address of a place can only be all of an argument")),
        }
    }

    fn variable(&self, path: &[String], stop: &Stop<'_>, ranges: &mut Vec<Range<Vaddr>>) -> Result<Object, Refusal> {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let Some(scope) = stop.scope else {
            return Err(Refusal::new(Verdict::Absent, "the debug information describes no function here"));
        };
        let (variable, is_placed) = match self.debug.lookup(scope, &path, stop.file, stop.line)? {
            Lookup::Found { variable, is_placed, .. } => (variable, is_placed),
            Lookup::NoScope => {
                let why = "the code here is described as that of other functions than the marker's";
                return Err(Refusal::new(Verdict::Absent, why));
            }
            Lookup::Several(several) => {
                let why = format!(
                    "{} variables called `{}` may be meant, and nothing tells which",
                    several.len(),
                    path.join("::")
                );
                return Err(Refusal::unsupported(why));
            }
            Lookup::OtherFrame { .. } => {
                return Err(Refusal::unsupported("a variable of the function around this one, in another frame"));
            }
            Lookup::DeclaredLater { line } => {
                let why = format!("`{}` is declared only in line {line}, after the marker", path.join("::"));
                return Err(Refusal::new(Verdict::Absent, why));
            }
            Lookup::Absent { similar } => {
                let mut why = format!("no variable `{}` is described in this scope", path.join("::"));
                if !similar.is_empty() {
                    let _ = write!(
                        why,
                        "; there is {}",
                        similar.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
                    );
                }
                return Err(Refusal::new(Verdict::Absent, why));
            }
        };
        let of = self.debug.type_of(variable)?;
        // An entry of the abstract instance only: nothing of it is left in this one.
        let described = if is_placed { self.debug.variable(variable, &stop.frame)? } else { Described::Never };
        let (location, described) = located(described, self.names);
        *ranges = described;
        Ok(Object { location, of })
    }

    /// Follows one step, with the dereferences that it implies.
    fn step(&self, object: Object, step: &Step, stop: &Stop<'_>) -> Result<Object, Refusal> {
        let mut object = object;
        for _ in 0..AUTOMATIC {
            let Some(of) = object.of else { return Err(Refusal::new(Verdict::Absent, "nothing is inside of `void`")) };
            match self.debug.step(of, step)? {
                Projection::Part { bit_offset, bit_size, of, again } => {
                    object = self.part(object, bit_offset, bit_size, of)?;
                    if !again {
                        return Ok(object);
                    }
                }
                Projection::Through { pointer_bit_offset, pointer_size, offset, of, again } => {
                    let Ok(pointer_size) = u8::try_from(pointer_size) else {
                        return Err(Refusal::unsupported("a pointer of more than 255 bytes"));
                    };
                    object = self.through(object, pointer_bit_offset, pointer_size, offset, of, stop);
                    if !again {
                        return Ok(object);
                    }
                }
                Projection::Absent(why) => {
                    return Err(Refusal::new(Verdict::Absent, english::dwarf::no_such_part(&why)));
                }
                Projection::Refused(why) => return Err(Refusal::unsupported(english::dwarf::unsupported(&why))),
            }
        }
        Err(Refusal::unsupported(format!("more than {AUTOMATIC} pointers on the way to a member")))
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
                return Err(Refusal::unsupported("a part of a register, or a bit-field, of a big-endian processor"));
            }
            let location = location.part(bit_offset, bits)?;
            match bit_size {
                Some(bits) => Ok(Location::whole(Source::Value(location.integer(bits, signed)?))),
                None => Ok(location),
            }
        };
        Ok(Object { location: object.location.and_then(part), of: Some(of) })
    }

    /// What is `offset` bytes into what the pointer at `bit_offset` of an object points at.
    fn through(&self, object: Object, bit_offset: u64, size: u8, offset: u64, of: TypeRef, stop: &Stop<'_>) -> Object {
        let follow = |location: Location| {
            let is_known = location.pieces.iter().any(|piece| matches!(piece.source, Source::Bytes(_)));
            if self.is_big_endian && is_known {
                return Err(Refusal::unsupported("a pointer of known bytes, of a big-endian processor"));
            }
            let pointer = location.part(bit_offset, Some(u64::from(size) * 8)).and_then(|part| part.pointer(size));
            match pointer {
                Ok(pointer) => {
                    let offset =
                        i64::try_from(offset).map_err(|_| Refusal::unsupported("an offset of more than 63 bits"))?;
                    let address =
                        pointer.plus(offset).ok_or_else(|| Refusal::unsupported("a computation of too many steps"))?;
                    Ok(Location::whole(Source::Memory(address)))
                }
                Err(PartError::ImplicitPointer(variable, inner)) => {
                    let (location, _) = located(self.debug.pointee(variable, &stop.frame)?, self.names);
                    let inner = u64::try_from(inner)
                        .ok()
                        .and_then(|inner| inner.checked_add(offset))
                        .and_then(|bytes| bytes.checked_mul(8));
                    let inner =
                        inner.ok_or_else(|| Refusal::unsupported("an implicit pointer to before its variable"))?;
                    Ok(location?.part(inner, None)?)
                }
                Err(why) => Err(why.into()),
            }
        };
        Object { location: object.location.and_then(follow), of: Some(of) }
    }

    /// Type and location of all of an argument.
    fn finish(&self, object: Object, is_address: bool) -> Result<(Arc<Type>, Result<Location, Refusal>), Refusal> {
        let of = self.describe(object.of)?;
        if !is_address {
            return Ok((of, object.location));
        }
        let address = |location: Location| match location.source() {
            Some(Source::Memory(address)) => Ok(Location::whole(Source::Value(address.clone()))),
            _ => Err(Refusal::new(Verdict::Lost, "it is not in memory here, so it has no address")),
        };
        let pointer = Type {
            name: format!("{} *", of.name).into(),
            size: Some(self.names.address_size().into()),
            shape: Shape::Pointer { to: Some(of) },
        };
        Ok((Arc::new(pointer), object.location.and_then(address)))
    }

    /// The language of the marker's function.
    fn language(&self, stop: &Stop<'_>) -> Language {
        let unit = stop.scope.and_then(|scope| scope.frames.first()).map(|frame| frame.instance);
        unit.map_or(Language::C, |unit| self.debug.language(unit))
    }

    /// What is wrong with the conversion of an argument for its type.
    fn mismatch(&self, declared: &DeclaredArgument, of: &Type, language: Language) -> Option<String> {
        let model = DataModel { language, address_size: self.names.address_size().into() };
        let conversion = declared.conversion.as_deref()?;
        if conversion == "*" {
            return conversions::star_mismatch(of, model);
        }
        match printf::parse(conversion.as_bytes()).next() {
            Some(Ok(printf::Piece::Conversion(conversion))) => conversions::mismatch(&conversion, of, model),
            _ => None,
        }
    }

    fn describe(&self, of: Option<TypeRef>) -> Result<Arc<Type>, Refusal> {
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

/// The location that the debug information gives, or why there is none, and where there is one.
fn located(described: Described, names: &dyn Names) -> (Result<Location, Refusal>, Vec<Range<Vaddr>>) {
    match described {
        Described::At { location, range } => (Ok(location), range.into_iter().collect()),
        Described::Entry { value } => {
            let value = english::dwarf::entry_value(&value, names);
            (
                Err(Refusal::new(Verdict::Entry, format!("only known as {value}, which was overwritten since"))),
                Vec::new(),
            )
        }
        Described::Lost { ranges } => {
            (Err(Refusal::new(Verdict::Lost, "the debug information describes no location of it here")), ranges)
        }
        Described::Never => {
            (Err(Refusal::new(Verdict::Lost, "the debug information describes no location of it anywhere")), Vec::new())
        }
        Described::Dropped => (
            Err(Refusal::new(Verdict::Lost, "it has no address: the linker dropped it, or another object defines it")),
            Vec::new(),
        ),
        Described::Unsupported { why } => (Err(Refusal::unsupported(english::dwarf::unsupported(&why))), Vec::new()),
    }
}

/// The verdict on a value of `size` bytes at a location, and why it is not better.
fn judge(mut location: Location, size: Option<u64>) -> Result<(Verdict, Option<String>, Location), Refusal> {
    let Some(size) = size else {
        return Ok((Verdict::Live, Some("the size of its type is not described".to_owned()), location));
    };
    if let Some(Source::ImplicitPointer { .. }) = location.source() {
        let why = "the optimiser removed the pointer; what it would point at may be readable (`*` before it)";
        return Err(Refusal::new(Verdict::Lost, why));
    }
    location.fill(size);
    let gone = location.optimized_out(size);
    let missing: u64 = gone.iter().map(|(from, to)| to - from).sum();
    if size > 0 && missing >= size.saturating_mul(8) {
        return Err(Refusal::new(Verdict::Lost, "the debug information describes no piece of it here"));
    }
    if missing > 0 {
        let gone: Vec<String> = gone.iter().map(|(from, to)| format!("{}..{}", from / 8, to.div_ceil(8))).collect();
        return Ok((Verdict::Partial, Some(format!("its bytes {} are optimised out", gone.join(", "))), location));
    }
    let verdict = if location.is_constant() { Verdict::Constant } else { Verdict::Live };
    Ok((verdict, None, location))
}

/// Adds where a lost variable is described, and how far that is.
fn say_where(why: &mut String, pc: Vaddr, ranges: &[Range<Vaddr>]) {
    let distance = |range: &&Range<Vaddr>| match range.start > pc {
        true => range.start.0 - pc.0,
        false => pc.0.saturating_sub(range.end.0),
    };
    let Some(nearest) = ranges.iter().filter(|range| !range.contains(&pc)).min_by_key(distance) else { return };
    let _ = match (nearest.start > pc, distance(&nearest)) {
        (true, bytes) => write!(why, "; the nearest that does begins {} later", bytes_of(bytes)),
        (false, 0) => write!(why, "; the last one ends right here"),
        (false, bytes) => write!(why, "; the nearest that does ends {} before", bytes_of(bytes)),
    };
}

fn bytes_of(count: u64) -> String {
    format!("{count} byte{}", if count == 1 { "" } else { "s" })
}

fn refuse(mut argument: Argument, refusal: Refusal) -> Argument {
    argument.verdict = Some(refusal.verdict);
    argument.why = Some(refusal.why.into());
    argument
}

/// How a number of that type is read; `None` where it is none.
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
