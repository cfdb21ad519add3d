//! Which entry of a location attribute describes a variable at a place, and what that says about its
//! location (DWARF 5, 2.6.2). `location_list.rs` reads the entries.

use std::ops::Range;

use gimli::Expression;

use super::expression::{Evaluator, ExpressionRefusal};
use super::frame::Moment;
use super::location_list::{ListEntry, LocationContent, is_tombstone};
use super::sections::Reader;
use super::unit::{Die, UnitValue};
use super::unsupported::{EntryValue, Unsupported};
use crate::Error;
use crate::address::Vaddr;
use crate::location::{Location, Node, Source};

/// What the debug information says about the location of a variable at a place.
#[derive(Clone, Debug, PartialEq)]
pub enum VariableLocation {
    /// It is here. Some pieces, but not all, may be
    /// [`Source::OptimizedOut`](crate::location::Source::OptimizedOut).
    At {
        /// The location.
        location: Location,
        /// The addresses that the list entry covers; `None` if the location holds for all of the
        /// scope.
        range: Option<Range<Vaddr>>,
        /// How the list changes at the place, if nothing says whether it does so before or after the
        /// requested moment; `None` if it does not change there.
        change: Option<Change>,
    },
    /// It is only described by a value from the time of entry to the function. Nothing proves that
    /// this value still exists.
    Entry {
        /// The value.
        value: EntryValue,
        /// The location with values of the entry ([`Node::AtEntry`](crate::location::Node::AtEntry)); `None` if
        /// it needs more of the entry than registers.
        location: Option<Location>,
        /// The addresses that the list entry covers; `None` if it holds for all of the scope.
        range: Option<Range<Vaddr>>,
        /// How the list changes at the place, as in [`Self::At`].
        change: Option<Change>,
    },
    /// It is described elsewhere, but not at this place.
    Lost {
        /// The ranges where it is described and can be read, ascending. Adjacent ranges are joined.
        ranges: Vec<Range<Vaddr>>,
    },
    /// It has no location and no value anywhere.
    Never,
    /// It has no valid address. The linker dropped it, or another object defines it (in a
    /// relocatable object).
    Dropped,
    /// The description is not supported.
    Unsupported {
        /// The reason.
        why: Unsupported,
    },
}

/// How a location list changes at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A location begins there, and another one ends there.
    Replaced,
    /// A location begins there, and none ends there.
    Begins,
}

impl<'s> Evaluator<'_, 's> {
    /// What a location attribute of `from` says at the place. If a list has no entry for it, the
    /// result is [`VariableLocation::Lost`] without ranges.
    ///
    /// If entries overlap, the value is in each of them (DWARF 5, 2.6.2). The first one that can be
    /// read counts.
    pub(super) fn attribute(&self, from: Die, value: &UnitValue<'s>) -> Result<VariableLocation, ExpressionRefusal> {
        let lost = || VariableLocation::Lost { ranges: Vec::new() };
        let (entries, moment) = match (self.info.location_attribute(from, value)?, self.context.moment()) {
            (LocationContent::Single(expression), _) => {
                return Ok(self.described(from, expression, None)?.unwrap_or_else(lost));
            }
            (LocationContent::List(entries), Some(moment)) => (entries, moment),
            (LocationContent::List(_), None) => return Ok(lost()),
        };
        let mut here: Vec<_> = entries.iter().filter(|entry| entry.holds(moment)).collect();
        if here.is_empty() {
            here = entries.iter().filter(|entry| entry.range.is_none()).collect();
        }
        let mut refused = None;
        for entry in here {
            match self.described(from, entry.expression, entry.range.clone())? {
                Some(VariableLocation::At { location, range, .. }) => {
                    let change = change(&entries, entry, moment);
                    return Ok(VariableLocation::At { location, range, change });
                }
                Some(VariableLocation::Entry { value, location, range, .. }) => {
                    let change = change(&entries, entry, moment);
                    refused = refused.or(Some(VariableLocation::Entry { value, location, range, change }));
                }
                Some(other) => refused = refused.or(Some(other)),
                None => {}
            }
        }
        Ok(refused.unwrap_or_else(lost))
    }

    /// What one expression says; `None` if it says that there is no location.
    fn described(
        &self,
        from: Die,
        expression: Expression<Reader<'s>>,
        range: Option<Range<Vaddr>>,
    ) -> Result<Option<VariableLocation>, Error> {
        match self.location(from, expression) {
            Ok(Some(location)) if self.is_dropped(&location) => Ok(Some(VariableLocation::Dropped)),
            Ok(Some(location)) if range.is_some() && self.is_ambiguous(from, &location)? => {
                Ok(Some(VariableLocation::Unsupported { why: Unsupported::AddressOrValue }))
            }
            Ok(location) => Ok(location.map(|location| VariableLocation::At { location, range, change: None })),
            Err(ExpressionRefusal::Entry(value)) => {
                let evaluator = Self { takes_entry_values: true, ..self.clone() };
                let location = match evaluator.location(from, expression) {
                    Ok(location) => location,
                    Err(ExpressionRefusal::Broken(error)) => return Err(error),
                    Err(_) => None,
                };
                let location = match location {
                    Some(location) if range.is_some() && self.is_ambiguous(from, &location)? => None,
                    location => location,
                };
                Ok(Some(VariableLocation::Entry { value, location, range, change: None }))
            }
            Err(ExpressionRefusal::Unsupported(why)) => Ok(Some(VariableLocation::Unsupported { why })),
            Err(ExpressionRefusal::Broken(error)) => Err(error),
        }
    }

    /// Whether the variable is at an address that linkers write for dropped data: 0 or 1, or the
    /// highest addresses (lld). In a relocatable object, only symbols of other objects are at 0
    /// (`image/layout.rs`).
    fn is_dropped(&self, location: &Location) -> bool {
        let size = self.info.units.sections.address_size();
        match location.source() {
            Some(Source::Memory(address)) => match address.node() {
                Node::Address(address) => address.0 <= 1 || is_tombstone(address.0, size),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether a location in memory may in fact be a value. LLVM marks a computed value with
    /// `DW_OP_stack_value`, but omits it before DWARF 4, which introduced it. Then `DW_OP_breg5 1`
    /// is either the value `rdi + 1`, or the memory there.
    fn is_ambiguous(&self, from: Die, location: &Location) -> Result<bool, Error> {
        if self.info.units.unit(from.unit)?.encoding().version >= 4 {
            return Ok(false);
        }
        if !location.pieces.iter().any(|piece| matches!(piece.source, Source::Memory(_))) {
            return Ok(false);
        }
        let producer =
            self.info.units.string(self.info.units.root(from.unit)?, gimli::DW_AT_producer)?.unwrap_or_default();
        let has = |word: &[u8]| producer.windows(word.len()).any(|window| window == word);
        Ok(has(b"clang") || has(b"LLVM"))
    }

    /// The addresses where a location attribute of `from` gives something that can be read. A
    /// single expression covers all addresses.
    pub(super) fn attribute_ranges(
        &self,
        from: Die,
        value: &UnitValue<'s>,
    ) -> Result<Vec<Range<Vaddr>>, ExpressionRefusal> {
        let everywhere = Vaddr(0)..Vaddr(u64::MAX);
        let entries = match self.info.location_attribute(from, value)? {
            LocationContent::Single(expression) => vec![ListEntry { range: None, views: None, expression }],
            LocationContent::List(entries) => entries,
        };
        let mut ranges = Vec::new();
        for entry in entries {
            match self.location(from, entry.expression) {
                // An entry between two views of an address covers no address.
                Ok(Some(_)) => match entry.range {
                    Some(range) if range.start >= range.end => {}
                    range => ranges.push(range.unwrap_or_else(|| everywhere.clone())),
                },
                Ok(None) | Err(ExpressionRefusal::Entry(_) | ExpressionRefusal::Unsupported(_)) => {}
                Err(refusal @ ExpressionRefusal::Broken(_)) => return Err(refusal),
            }
        }
        Ok(joined(ranges))
    }
}

/// How a list changes at the address of a moment, if nothing says whether the entry `now` began
/// before the moment.
fn change(entries: &[ListEntry<'_>], now: &ListEntry<'_>, (pc, moment): (Vaddr, Moment)) -> Option<Change> {
    let begins = now.range.as_ref().is_some_and(|range| range.start == pc);
    let is_decided = match moment {
        Moment::First => true,
        Moment::View(_) => now.views.is_some(),
        Moment::Last => false,
    };
    if !begins || is_decided {
        return None;
    }
    let ends = |entry: &ListEntry<'_>| entry.range.as_ref().is_some_and(|range| range.start < pc && range.end == pc);
    Some(if entries.iter().any(ends) { Change::Replaced } else { Change::Begins })
}

/// Sorts the ranges, and joins those that touch.
fn joined(mut ranges: Vec<Range<Vaddr>>) -> Vec<Range<Vaddr>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<Vaddr>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}
