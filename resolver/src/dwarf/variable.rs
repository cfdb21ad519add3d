//! Where a variable is at a place, or its value if it is a constant (DWARF 5, 2.6, 2.10 and 4.1).

use std::ops::Range;

use gimli::{AttributeValue, constants as dw};

use super::expression::{EvaluationContext, Evaluator, ExpressionRefusal};
use super::frame::Frame;
use super::locations::Locations;
use super::tables;
use super::unit::{Die, UnitValue};
use super::unsupported::{ConstantProblem, Unsupported};
use super::variable_location::VariableLocation;
use crate::address::Vaddr;
use crate::error::{DwarfProblem, Error};
use crate::location::{Expr, InfoOffset, Location, Node, Source};

/// The most links that are followed from an entry to its origins, and from a type to the type that
/// it qualifies.
const LINKS: usize = 32;

/// What an entry says about its location or value.
enum LocationOrValue<'s> {
    Location(Die, UnitValue<'s>),
    Constant(Die, UnitValue<'s>),
    /// The symbol table alone says where the thread-local variable is.
    BySymbol(Location),
    Nothing,
}

impl<'s> Locations<'s> {
    /// The location or value of a variable, parameter or DWARF procedure at a place.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(super) fn variable(&self, variable: Die, frame: &Frame) -> Result<VariableLocation, Error> {
        let evaluator =
            Evaluator { info: self, context: EvaluationContext::Frame(frame), depth: 0, takes_entry_values: false };
        let described = match self.said(variable)? {
            LocationOrValue::Location(from, value) => evaluator.attribute(from, &value),
            LocationOrValue::Constant(from, value) => self.constant(variable, from, &value),
            LocationOrValue::BySymbol(location) => Ok(VariableLocation::At { location, range: None, change: None }),
            LocationOrValue::Nothing => return Ok(VariableLocation::Never),
        };
        match described {
            Ok(VariableLocation::Lost { .. }) => Ok(VariableLocation::Lost { ranges: self.variable_ranges(variable)? }),
            Ok(described) => Ok(described),
            Err(ExpressionRefusal::Entry(value)) => {
                Ok(VariableLocation::Entry { value, location: None, range: None, change: None })
            }
            Err(ExpressionRefusal::Unsupported(why)) => Ok(VariableLocation::Unsupported { why }),
            Err(ExpressionRefusal::Broken(error)) => Err(error),
        }
    }

    /// Where a variable is at all places. `None` if that differs from place to place, or is not known.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(super) fn location_everywhere(&self, variable: Die) -> Result<Option<Location>, Error> {
        let evaluator =
            Evaluator { info: self, context: EvaluationContext::Unknown, depth: 0, takes_entry_values: false };
        Ok(match self.said(variable)? {
            LocationOrValue::Location(from, value) => match evaluator.attribute(from, &value) {
                Ok(VariableLocation::At { location, range: None, .. }) => Some(location),
                _ => None,
            },
            LocationOrValue::BySymbol(location) => Some(location),
            LocationOrValue::Constant(..) | LocationOrValue::Nothing => None,
        })
    }

    /// The addresses where a variable is described and can be read, ascending. Adjacent ranges are
    /// joined. A variable with a single location or value for its scope has the whole address
    /// space.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(super) fn variable_ranges(&self, variable: Die) -> Result<Vec<Range<Vaddr>>, Error> {
        let evaluator =
            Evaluator { info: self, context: EvaluationContext::Unknown, depth: 0, takes_entry_values: false };
        let everywhere = || vec![Vaddr(0)..Vaddr(u64::MAX)];
        let ranges = match self.said(variable)? {
            LocationOrValue::Location(from, value) => evaluator.attribute_ranges(from, &value),
            LocationOrValue::Constant(from, value) => self.constant(variable, from, &value).map(|_| everywhere()),
            LocationOrValue::BySymbol(_) => Ok(everywhere()),
            LocationOrValue::Nothing => Ok(Vec::new()),
        };
        match ranges {
            Ok(ranges) => Ok(ranges),
            Err(ExpressionRefusal::Broken(error)) => Err(error),
            Err(ExpressionRefusal::Entry(_) | ExpressionRefusal::Unsupported(_)) => Ok(Vec::new()),
        }
    }

    /// The location of the variable that a [`Source::ImplicitPointer`] points into;
    /// [`VariableLocation::Never`] if there is none.
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(super) fn pointee(&self, variable: InfoOffset, frame: &Frame) -> Result<VariableLocation, Error> {
        match self.units.die_at(variable) {
            Some(die) => self.variable(die, frame),
            None => Ok(VariableLocation::Never),
        }
    }

    /// The location or value of an entry or its origins. The entry's own attribute has precedence.
    fn said(&self, variable: Die) -> Result<LocationOrValue<'s>, Error> {
        let mut die = variable;
        for _ in 0..LINKS {
            if let Some(value) = self.units.own_attribute(die, dw::DW_AT_location)? {
                return Ok(LocationOrValue::Location(die, value));
            }
            if let Some(value) = self.units.own_attribute(die, dw::DW_AT_const_value)? {
                return Ok(LocationOrValue::Constant(die, value));
            }
            match self.units.origin(die)? {
                Some(origin) => die = origin,
                None => {
                    let location = self.thread_local_by_symbol(variable)?;
                    return Ok(location.map_or(LocationOrValue::Nothing, LocationOrValue::BySymbol));
                }
            }
        }
        Err(self.units.error(variable, DwarfProblem::EndlessOrigins))
    }

    /// `DW_AT_const_value`, in the bytes that the variable would have.
    ///
    /// `DW_FORM_data1` and similar forms are extended with zeros, even if the type has a sign: gcc
    /// and clang write negative numbers as `DW_FORM_sdata`, and gdb reads them in the same way.
    fn constant(&self, variable: Die, from: Die, value: &UnitValue<'s>) -> Result<VariableLocation, ExpressionRefusal> {
        let size = match self.types.type_of(variable)? {
            Some(of) => self.types.type_size(of)?,
            None => None,
        };
        let unsupported = |problem| Err(ExpressionRefusal::Unsupported(Unsupported::Constant(problem)));
        let is_big = self.units.sections.is_big_endian();
        let number = |number: u64, fill: u8, present: u64| {
            // For values of a fixed form, such as floating-point numbers, the type needs no size.
            let size = size.or((present != 0).then_some(present));
            let Some(size) = size.and_then(|size| usize::try_from(size).ok()).filter(|size| *size <= 16) else {
                return unsupported(ConstantProblem::TypeSize);
            };
            let mut bytes = number.to_le_bytes().to_vec();
            // rustc writes -1 for a byte of 0xff, as an unsigned number of 64 bits.
            let beyond = bytes.get(size..).unwrap_or_default();
            let negative = size.checked_sub(1).and_then(|last| bytes.get(last)).is_some_and(|last| *last >= 0x80);
            let extends = beyond.iter().all(|byte| *byte == 0) || (negative && beyond.iter().all(|byte| *byte == 0xff));
            if !extends {
                return unsupported(ConstantProblem::Number { number, size });
            }
            bytes.resize(size, fill);
            if is_big {
                bytes.reverse();
            }
            Ok(Source::Bytes(bytes.into()))
        };
        let string = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            bytes.push(0);
            // The array has no room for the end of the string.
            if size == Some(bytes.len() as u64 - 1) {
                bytes.pop();
            }
            match size {
                Some(size) if size != bytes.len() as u64 => unsupported(ConstantProblem::String { size }),
                _ => Ok(Source::Bytes(bytes.into())),
            }
        };
        let source = match *value {
            AttributeValue::Data1(data) => number(data.into(), 0, 1),
            AttributeValue::Data2(data) => number(data.into(), 0, 2),
            AttributeValue::Data4(data) => number(data.into(), 0, 4),
            AttributeValue::Data8(data) => number(data, 0, 8),
            AttributeValue::Udata(data) => number(data, 0, 0),
            AttributeValue::Sdata(data) => number(data as u64, if data < 0 { 0xff } else { 0 }, 0),
            AttributeValue::Flag(flag) => number(flag.into(), 0, 0),
            AttributeValue::Addr(address) => {
                let address = Expr::new(Node::Address(Vaddr(address))).ok_or_else(ExpressionRefusal::too_large)?;
                Ok(Source::Value(address))
            }
            AttributeValue::Block(block) => match size {
                Some(size) if size != block.len() as u64 => {
                    unsupported(ConstantProblem::Block { bytes: block.len() as u64, size })
                }
                _ => Ok(Source::Bytes(block.slice().into())),
            },
            AttributeValue::String(_)
            | AttributeValue::DebugStrRef(_)
            | AttributeValue::DebugLineStrRef(_)
            | AttributeValue::DebugStrOffsetsIndex(_) => {
                let text = tables::text(self.units.dwarf_of(from.unit)?, self.units.unit(from.unit)?, *value);
                string(text.map_err(|error| self.units.error(from, error))?.slice())
            }
            _ => unsupported(ConstantProblem::Form),
        };
        Ok(VariableLocation::At { location: Location::whole(source?), range: None, change: None })
    }
}

#[cfg(test)]
mod tests {
    use gimli::constants as dw;
    use gimli::write::{AttributeValue as Attr, UnitEntryId};
    use images::dwarf::{DwarfBuilder, typed};

    use super::super::test_dwarf::{add_frames, frame, with};
    use super::super::test_machine::Fake;
    use super::super::unsupported::FrameBaseProblem;
    use super::*;
    use crate::location::LocationNames;

    fn constants(described: VariableLocation) -> Result<Vec<u8>, ConstantProblem> {
        match described {
            VariableLocation::At { location, range: None, .. } => match location.source() {
                Some(Source::Bytes(bytes)) => Ok(bytes.to_vec()),
                source => panic!("{source:?}"),
            },
            VariableLocation::Unsupported { why: Unsupported::Constant(problem) } => Err(problem),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn constants_have_the_bytes_of_their_type() {
        let mut build = DwarfBuilder::new(4);
        let root = build.root();
        let byte = build.base("u8", 1, dw::DW_ATE_unsigned_char);
        let int = build.base("int", 4, dw::DW_ATE_signed);
        let named = build.entry(root, dw::DW_TAG_typedef, &[typed(int)]);
        let pointer = build.entry(root, dw::DW_TAG_pointer_type, &[typed(int)]);
        let wide = build.base("__int128", 16, dw::DW_ATE_signed);
        let function = build.function(&[0x56]);
        let mut wide_bytes = [0; 16];
        wide_bytes[..8].fill(0xff);
        type Expected<'a> = Result<&'a [u8], ConstantProblem>;
        let cases: [(Attr, UnitEntryId, Expected<'_>); 10] = [
            (Attr::Data1(200), named, Ok(&[0xc8, 0, 0, 0])),
            (Attr::Data1(3), pointer, Ok(&[3, 0, 0, 0, 0, 0, 0, 0])),
            (Attr::Sdata(-3), int, Ok(&[0xfd, 0xff, 0xff, 0xff])),
            (Attr::Sdata(-1), wide, Ok(&[0xff; 16])),
            (Attr::Udata(u64::MAX), byte, Ok(&[0xff])),
            (Attr::Udata(0x100), byte, Err(ConstantProblem::Number { number: 0x100, size: 1 })),
            (Attr::Udata(u64::MAX), wide, Ok(&wide_bytes)),
            (Attr::Block(vec![1, 2, 3, 4]), int, Ok(&[1, 2, 3, 4])),
            (Attr::Block(vec![1, 2]), int, Err(ConstantProblem::Block { bytes: 2, size: 4 })),
            // A number in one byte has one byte if its type has no size.
            (Attr::Data1(3), function, Ok(&[3])),
        ];
        let variable = |(value, of, _): &(Attr, UnitEntryId, Expected<'_>)| {
            build.entry(function, dw::DW_TAG_variable, &[typed(*of), (dw::DW_AT_const_value, value.clone())])
        };
        let variables: Vec<_> = cases.iter().map(variable).collect();
        with(build, |info, die| {
            for (variable, (value, _, expected)) in variables.into_iter().zip(cases) {
                let described = info.variable(die(variable), &frame(die(function), 0)).expect("readable");
                assert_eq!(constants(described).as_deref(), expected.as_ref().copied(), "{value:?}");
            }
        });
    }

    #[test]
    fn entry_values_need_a_proof() {
        let mut build = DwarfBuilder::new(4);
        add_frames(&mut build);
        let function = build.function(&[0x9c]);
        let on_entry = build.variable(function, &[0xa3, 1, 0x55, 0x23, 8, 0x9f]);
        let copy = build.completing(function, dw::DW_TAG_variable, on_entry);
        let local = build.variable(function, &[0x91, 0x70]);
        let kept = build.variable(function, &[0xf3, 1, 0x53, 0x9f]);
        with(build, |info, die| {
            let names = Fake { address_size: 8 };
            let say = |variable, frame: &Frame| match info.variable(die(variable), frame).expect("readable") {
                VariableLocation::At { location, .. } => location.text(&names as &dyn LocationNames),
                VariableLocation::Entry { value, .. } => crate::english::dwarf::entry_value(&value, &names),
                other => format!("{other:?}"),
            };
            // The address of the entry alone proves nothing, because a loop may lead back to it.
            let entry = frame(die(function), 0);
            assert_eq!(say(copy, &entry), "%rdi on entry");
            let described = info.variable(die(copy), &entry).expect("readable");
            let VariableLocation::Entry { location: Some(location), .. } = described else { panic!("{described:?}") };
            assert_eq!(location.text(&names as &dyn LocationNames), "entry(%rdi) + 8");
            assert_eq!((location.registers(), location.entry_values().len()), (Vec::new(), 1));
            assert_eq!(say(copy, &Frame { at_entry: true, ..entry }), "%rdi+0x8");
            // %rbx has no rule before it is saved. Then it is at CFA - 16.
            assert_eq!(say(kept, &frame(die(function), 0x8)), "%rbx on entry");
            assert_eq!(say(kept, &frame(die(function), 0x10)), "*(%rsp)");
            // The frame base is the CFA: %rsp + 8, then %rsp + 16.
            assert_eq!(say(local, &frame(die(function), 0xf)), "-0x8(%rsp)");
            assert_eq!(say(local, &frame(die(function), 0x10)), "(%rsp)");
            let outside = info.variable(die(local), &frame(die(function), 0x1000)).expect("readable");
            let why = Unsupported::NoCallFrame { pc: Vaddr(0x2000) };
            assert_eq!(outside, VariableLocation::Unsupported { why });
            let nowhere = Frame { function: None, ..entry };
            let why = Unsupported::FrameBase(FrameBaseProblem::NoFunction);
            assert_eq!(info.variable(die(local), &nowhere).expect("readable"), VariableLocation::Unsupported { why });
            assert_eq!(info.variable_ranges(die(local)).expect("readable"), [Vaddr(0)..Vaddr(u64::MAX)]);
            assert_eq!(info.variable_ranges(die(copy)).expect("readable"), []);
            assert_eq!(
                info.pointee(info.info_offset(die(local)), &entry).expect("readable"),
                info.variable(die(local), &entry).expect("readable")
            );
            assert_eq!(info.variable(die(function), &entry).expect("readable"), VariableLocation::Never);
        });
    }
}
