//! Where an argument is at any address of a function: its variable, and the moves from the variable's
//! location to that of the argument. `arguments` makes the path, once, from names and types; no name is
//! looked up and no type is walked to follow it again.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use super::names::AddressNames;
use super::refusal::Refusal;
use super::{Reason, Verdict};
use crate::Error;
use crate::address::Vaddr;
use crate::dwarf::{Change, DebugInfo, Die, EntryValue, Frame, VariableLocation};
use crate::english;
use crate::location::{Location, LocationNames, PartError, Source};
use crate::types::{Type, members_at};

/// The way from a variable to an argument.
pub(super) struct Path {
    root: PathRoot,
    pub(super) moves: Vec<Move>,
}

/// Where a path starts.
enum PathRoot {
    Variable {
        variable: Die,
        /// Whether the variable is in the instance of the function; one that is only in the abstract
        /// instance has no location in this one.
        is_placed: bool,
    },
    /// The result of a function.
    Result(Die),
}

impl Path {
    pub(super) fn new(variable: Die, is_placed: bool) -> Self {
        Self { root: PathRoot::Variable { variable, is_placed }, moves: Vec::new() }
    }

    /// A path from the result of a function.
    pub(super) fn of_result(function: Die) -> Self {
        Self { root: PathRoot::Result(function), moves: Vec::new() }
    }

    /// Whether it starts from the result of a function.
    pub(super) fn is_of_result(&self) -> bool {
        matches!(self.root, PathRoot::Result(_))
    }
}

/// A step from the location of an object to that of another one. Sizes of objects are in bytes.
pub(super) enum Move {
    /// To a part; `bits` is `None` if its size is not known.
    Part { bit_offset: u64, bits: Option<u64> },
    /// To the value of a bit-field.
    BitField { bit_offset: u64, bits: u64, is_signed: bool },
    /// To what is `offset` bytes behind the object that a pointer of `size` bytes, at a bit, points to.
    Through { bit_offset: u64, size: u8, offset: u64 },
    /// To its address.
    Address,
    /// To the value in a type of another size. An array becomes a pointer to its first element.
    Cast { is_array: bool, from: u64, to: u64, is_signed: bool },
}

/// What the location of the variable of a place says of addresses.
#[derive(Default)]
pub(super) struct Extent {
    pub(super) ranges: Vec<Range<Vaddr>>,
    /// How it changes at the site.
    pub(super) change: Option<Change>,
    pub(super) variable: Option<Die>,
    /// The variable, if it is the local one that the root of the place names, and described here.
    pub(super) named: Option<Die>,
}

/// Finds variables, and follows paths from them.
pub(super) struct Locator<'a> {
    pub(super) debug: &'a DebugInfo<'a>,
    pub(super) names: AddressNames<'a>,
}

impl Locator<'_> {
    /// Where a path leads to a value of `size` bytes; `None` if that cannot be read there.
    pub(super) fn locate(&self, path: &Path, size: Option<u64>, frame: &Frame) -> Option<Location> {
        let (location, _) = self.variable(path, frame).ok()?;
        let mut moves = path.moves.iter();
        let location = moves.try_fold(location.ok()?, |location, to| self.moved(location, to, frame).ok())?;
        let (location, _) = filled(location, size).ok()?;
        Some(location)
    }

    /// Where the variable of a path is, or why it has no location.
    pub(super) fn variable(&self, path: &Path, frame: &Frame) -> Result<(Result<Location, Refusal>, Extent), Error> {
        let described = match path.root {
            PathRoot::Result(function) => return Ok((self.result(function), Extent::default())),
            PathRoot::Variable { variable, is_placed: true } => self.debug.variable(variable, frame)?,
            PathRoot::Variable { is_placed: false, .. } => VariableLocation::Never,
        };
        Ok(located(described, &self.names))
    }

    /// A location as the assembler and C write it.
    pub(super) fn text(&self, location: &Location) -> Arc<str> {
        location.text(&self.names).into()
    }

    /// The location to which a move leads.
    pub(super) fn moved(&self, location: Location, to: &Move, frame: &Frame) -> Result<Location, Refusal> {
        let value = location.entry_values().into_iter().next();
        let moved = self.moved_from(location, to, frame);
        // What is missing there is the value of the entry in the first place.
        moved
            .map_err(|refusal| value.map_or(refusal, |value| entry_refusal(EntryValue::Expression(value), &self.names)))
    }

    fn moved_from(&self, location: Location, to: &Move, frame: &Frame) -> Result<Location, Refusal> {
        match *to {
            Move::Part { bit_offset, bits } => {
                let is_in_memory = location.pieces.iter().all(|piece| matches!(piece.source, Source::Memory(_)));
                if self.names.is_big_endian() && !is_in_memory {
                    return Err(Refusal::unsupported(Reason::BigEndianPart));
                }
                Ok(location.part(bit_offset, bits)?)
            }
            Move::BitField { bit_offset, bits, is_signed } => {
                if self.names.is_big_endian() {
                    return Err(Refusal::unsupported(Reason::BigEndianPart));
                }
                let location = location.part(bit_offset, Some(bits))?;
                Ok(Location::whole(Source::Value(location.integer(bits, is_signed)?)))
            }
            Move::Through { bit_offset, size, offset } => self.through(&location, (bit_offset, size), offset, frame),
            Move::Address => address(&location),
            Move::Cast { is_array, from, to, is_signed } => {
                let location = if is_array { address(&location)? } else { location };
                Ok(match to.cmp(&from) {
                    Ordering::Equal => location,
                    Ordering::Less => location.part(0, Some(to * 8))?,
                    Ordering::Greater => {
                        if let Some(Source::ImplicitPointer { .. }) = location.source() {
                            return Err(PartError::OptimizedOut.into());
                        }
                        Location::whole(Source::Value(location.integer(from * 8, is_signed)?))
                    }
                })
            }
        }
    }

    /// What is `offset` bytes behind the object of the pointer at a bit of a location.
    fn through(
        &self,
        location: &Location,
        (bit_offset, size): (u64, u8),
        offset: u64,
        frame: &Frame,
    ) -> Result<Location, Refusal> {
        let is_known = location.pieces.iter().any(|piece| matches!(piece.source, Source::Bytes(_)));
        if self.names.is_big_endian() && is_known {
            return Err(Refusal::unsupported(Reason::BigEndianPointer));
        }
        match location.part(bit_offset, Some(u64::from(size) * 8)).and_then(|part| part.pointer(size)) {
            Ok(pointer) => {
                let offset = i64::try_from(offset).map_err(|_| Refusal::unsupported(Reason::WideOffset))?;
                let address = pointer.plus(offset).ok_or_else(|| Refusal::unsupported(Reason::TooManySteps))?;
                Ok(Location::whole(Source::Memory(address)))
            }
            Err(PartError::ImplicitPointer(variable, inner)) => {
                let (location, _) = located(self.debug.pointee(variable, frame)?, &self.names);
                let inner = u64::try_from(inner)
                    .ok()
                    .and_then(|inner| inner.checked_add(offset))
                    .and_then(|bytes| bytes.checked_mul(8));
                let inner = inner.ok_or_else(|| Refusal::unsupported(Reason::BeforeVariable))?;
                Ok(location?.part(inner, None)?)
            }
            Err(why) => Err(why.into()),
        }
    }
}

/// The location, or why there is none; and the addresses that have one.
fn located(described: VariableLocation, names: &dyn LocationNames) -> (Result<Location, Refusal>, Extent) {
    let everywhere = Extent::default;
    match described {
        VariableLocation::At { location, range, change } => {
            (Ok(location), Extent { ranges: range.into_iter().collect(), change, ..Extent::default() })
        }
        VariableLocation::Entry { location: Some(location), range, change, .. } => {
            (Ok(location), Extent { ranges: range.into_iter().collect(), change, ..Extent::default() })
        }
        VariableLocation::Entry { value, .. } => (Err(entry_refusal(value, names)), everywhere()),
        VariableLocation::Lost { ranges } => {
            (Err(Refusal::lost(Reason::NotDescribedHere { nearest: None })), Extent { ranges, ..Extent::default() })
        }
        VariableLocation::Never => (Err(Refusal::lost(Reason::NeverDescribed)), everywhere()),
        VariableLocation::Dropped => (Err(Refusal::lost(Reason::NoAddress)), everywhere()),
        VariableLocation::Unsupported { why } => (Err(Refusal::unsupported(Reason::Unsupported(why))), everywhere()),
    }
}

/// Why a value of the entry of the function is not there any more.
pub(super) fn entry_refusal(value: EntryValue, names: &dyn LocationNames) -> Refusal {
    let text = english::dwarf::entry_value(&value, names).into();
    Refusal::new(Verdict::Entry, Reason::EntryValue { value, text })
}

/// The verdict on a value of a type at a location, and why it is not better. Missing padding does not count.
pub(super) fn judge(location: Location, of: &Type) -> Result<(Verdict, Option<Reason>, Location), Refusal> {
    let (location, gone) = filled(location, of.size)?;
    if of.size.is_none() {
        return Ok((Verdict::Live, Some(Reason::NoSize), location));
    }
    let mut members = members_at(of, &gone);
    if !gone.is_empty() && !members.is_empty() {
        members.retain(|member| !member.is_empty());
        let bytes = gone.iter().map(|bits| bits.start / 8..bits.end.div_ceil(8)).collect();
        return Ok((Verdict::Partial, Some(Reason::MissingBytes { bytes, members }), location));
    }
    let verdict = if location.is_constant() { Verdict::Constant } else { Verdict::Live };
    Ok((verdict, None, location))
}

/// The location with all bits of a value of `size` bytes, and those of them that are nowhere.
fn filled(mut location: Location, size: Option<u64>) -> Result<(Location, Vec<Range<u64>>), Refusal> {
    let Some(size) = size else { return Ok((location, Vec::new())) };
    if let Some(Source::ImplicitPointer { .. }) = location.source() {
        return Err(Refusal::lost(Reason::ImplicitPointer));
    }
    location.fill(size);
    let gone = location.optimized_out(size);
    let missing: u64 = gone.iter().map(|bits| bits.end - bits.start).sum();
    match size > 0 && missing >= size.saturating_mul(8) {
        true => Err(Refusal::lost(Reason::NoPiece)),
        false => Ok((location, gone)),
    }
}

/// The address of what is at a location.
fn address(location: &Location) -> Result<Location, Refusal> {
    match location.source() {
        Some(Source::Memory(address)) => Ok(Location::whole(Source::Value(address.clone()))),
        _ => Err(Refusal::lost(Reason::NotInMemory)),
    }
}
