//! The frame base and the call frame of a variable at a place (DWARF 5, 3.3.5 and 6.4).
//!
//! Call frame information comes from `.debug_frame`. If that has none for the address, it comes
//! from `.eh_frame`.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;

use gimli::{
    CfaRule, CieOrFde, CommonInformationEntry, EndianSlice, RegisterRule, UnwindOffset, UnwindSection, constants as dw,
};

use super::expression::{EvaluationContext, Evaluator, ExpressionRefusal};
use super::frame::{Frame, Frames, Moment};
use super::locations::Locations;
use super::sections::Reader;
use super::unsupported::{FrameBaseProblem, Unsupported};
use super::variable_location::VariableLocation;
use crate::address::Vaddr;
use crate::arch::InstructionSet;
use crate::location::{Expr, Node, Register, Source, ValueType};
use crate::ranges::RangeMap;

/// The row of the call frame table for an address.
struct FrameRow<'s> {
    cfa: Cfa<'s>,
    /// The rule of the requested register.
    rule: RegisterRule<usize>,
}

enum Cfa<'s> {
    Register(Register, i64),
    Expression(gimli::Expression<Reader<'s>>, gimli::Encoding),
}

impl<'s> Locations<'s> {
    /// The canonical frame address (`DW_OP_call_frame_cfa`).
    pub(super) fn cfa(&self, frame: &Frame, depth: u8) -> Result<Expr, ExpressionRefusal> {
        let Some(row) = self.row(frame.pc, None)? else {
            return Err(Unsupported::NoCallFrame { pc: frame.pc }.into());
        };
        match row.cfa {
            Cfa::Register(register, offset) => {
                let register = Expr::new(Node::Register(register, ValueType::Generic));
                register.and_then(|register| register.plus(offset)).ok_or_else(ExpressionRefusal::too_large)
            }
            Cfa::Expression(expression, encoding) => {
                let evaluator = Evaluator {
                    info: self,
                    context: EvaluationContext::FrameBase(frame),
                    depth,
                    takes_entry_values: false,
                };
                evaluator.value(None, encoding, expression)
            }
        }
    }

    /// The stack pointer as it was when the function that holds an address was entered; `None` if call
    /// frame information does not say it.
    pub(super) fn entry_stack_pointer(&self, pc: Vaddr) -> Option<Expr> {
        let pushed = self.units.processor().set()?.pushed_by_call();
        let frame = Frame { pc, function: None, at_entry: false, moment: Moment::Last };
        self.cfa(&frame, 0).ok()?.plus(-i64::from(pushed))
    }

    /// Where the value that a register had on entry is at a place, if call frame information says
    /// so: in the frame, or still in the register.
    ///
    /// A register without a rule proves nothing. With `preserve_none`, gcc and clang pass arguments
    /// in registers that are otherwise callee-saved.
    pub(super) fn saved(
        &self,
        frame: &Frame,
        register: Register,
        depth: u8,
    ) -> Result<Option<Expr>, ExpressionRefusal> {
        if !register.is_callee_saved(self.units.processor()) {
            return Ok(None);
        }
        let Some(row) = self.row(frame.pc, Some(register))? else { return Ok(None) };
        let expr = match row.rule {
            RegisterRule::SameValue => Expr::new(Node::Register(register, ValueType::Generic)),
            RegisterRule::Offset(offset) => self.cfa(frame, depth)?.plus(offset).and_then(|address| {
                Expr::new(Node::Memory { address, size: self.units.sections.address_size(), to: ValueType::Generic })
            }),
            _ => return Ok(None),
        };
        expr.map(Some).ok_or_else(ExpressionRefusal::too_large)
    }

    /// The address that `DW_OP_fbreg` adds its offset to.
    pub(super) fn frame_base(&self, frame: &Frame, depth: u8) -> Result<Expr, ExpressionRefusal> {
        let unsupported = |problem| ExpressionRefusal::Unsupported(Unsupported::FrameBase(problem));
        let function = frame.function.ok_or_else(|| unsupported(FrameBaseProblem::NoFunction))?;
        let base = self.units.attribute(function, dw::DW_AT_frame_base)?;
        let (from, value) = base.ok_or_else(|| unsupported(FrameBaseProblem::NoAttribute))?;
        let evaluator =
            Evaluator { info: self, context: EvaluationContext::FrameBase(frame), depth, takes_entry_values: false };
        match evaluator.attribute(from, &value)? {
            VariableLocation::At { location, .. } => match location.source() {
                // Clang's `DW_OP_reg6`: the frame base is the content of the register.
                Some(Source::Register(register)) => {
                    Expr::new(Node::Register(*register, ValueType::Generic)).ok_or_else(ExpressionRefusal::too_large)
                }
                Some(Source::Memory(expr) | Source::Value(expr)) if expr.value_type() == ValueType::Generic => {
                    Ok(expr.clone())
                }
                _ => Err(unsupported(FrameBaseProblem::Pieces)),
            },
            VariableLocation::Entry { value, .. } => Err(ExpressionRefusal::Entry(value)),
            VariableLocation::Unsupported { why } => Err(ExpressionRefusal::Unsupported(why)),
            VariableLocation::Lost { .. } | VariableLocation::Never | VariableLocation::Dropped => {
                Err(unsupported(FrameBaseProblem::NotHere))
            }
        }
    }

    fn row(&self, pc: Vaddr, register: Option<Register>) -> Result<Option<FrameRow<'s>>, ExpressionRefusal> {
        let (debug_frame, eh_frame) = self.frame_sections();
        let frames = self.call_frames();
        if let Some(offset) = frames.debug_frame.get(pc.0) {
            return self.row_of(&debug_frame, offset, pc, register);
        }
        match frames.eh_frame.get(pc.0) {
            Some(offset) => self.row_of(&eh_frame, offset, pc, register),
            None => Ok(None),
        }
    }

    fn call_frames(&self) -> &Frames {
        self.frames.get_or_init(|| {
            let (debug_frame, eh_frame) = self.frame_sections();
            let bases = self.units.sections.bases();
            Frames { debug_frame: index(&debug_frame, &bases), eh_frame: index(&eh_frame, &bases) }
        })
    }

    /// The offset in `.eh_frame` of the entry for an address.
    pub(super) fn eh_frame_at(&self, address: u64) -> Option<usize> {
        self.call_frames().eh_frame.get(address)
    }

    pub(super) fn frame_sections(&self) -> (gimli::DebugFrame<Reader<'s>>, gimli::EhFrame<Reader<'s>>) {
        let vendor = self.units.processor().set().map_or(gimli::Vendor::Default, InstructionSet::call_frame_vendor);
        let mut debug_frame = gimli::DebugFrame::from(self.units.sections.reader(".debug_frame"));
        debug_frame.set_address_size(self.units.sections.address_size());
        debug_frame.set_vendor(vendor);
        let mut eh_frame = gimli::EhFrame::from(self.units.sections.reader(".eh_frame"));
        eh_frame.set_address_size(self.units.sections.address_size());
        eh_frame.set_vendor(vendor);
        (debug_frame, eh_frame)
    }

    fn row_of<S>(
        &self,
        section: &S,
        offset: usize,
        pc: Vaddr,
        register: Option<Register>,
    ) -> Result<Option<FrameRow<'s>>, ExpressionRefusal>
    where
        S: UnwindSection<Reader<'s>>,
        S::Offset: UnwindOffset<usize>,
    {
        let bad = |error: gimli::Error| {
            ExpressionRefusal::Unsupported(Unsupported::CallFrame { pc, parser: error.to_string() })
        };
        let bases = self.units.sections.bases();
        let fde = section.fde_from_offset(&bases, offset.into(), S::cie_from_offset).map_err(bad)?;
        let instructions = (fde.entry_len() as u64).saturating_add(fde.cie().entry_len() as u64);
        self.units.charge((instructions / 8).max(1))?;
        let mut context = gimli::UnwindContext::new();
        let row = match fde.unwind_info_for_address(section, &bases, &mut context, pc.0) {
            Ok(row) => row,
            Err(gimli::Error::NoUnwindInfoForAddress) => return Ok(None),
            Err(error) => return Err(bad(error)),
        };
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => Cfa::Register(Register(register.0), *offset),
            CfaRule::Expression(expression) => {
                Cfa::Expression(expression.get(section).map_err(bad)?, fde.cie().encoding())
            }
        };
        let rule = register.map_or(RegisterRule::Undefined, |register| row.register(gimli::Register(register.0)));
        Ok(Some(FrameRow { cfa, rule }))
    }
}

/// Which frame description entry holds an address; the first one if several do. Entries that cannot
/// be read are left out.
fn index<'s, S>(section: &S, bases: &gimli::BaseAddresses) -> RangeMap<usize>
where
    S: UnwindSection<EndianSlice<'s, gimli::RunTimeEndian>>,
    S::Offset: UnwindOffset<usize>,
{
    let mut ranges = Vec::new();
    let mut entries = section.entries(bases);
    // Many entries share a common information entry, which may be long. Each is read once.
    let mut common = HashMap::new();
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let Ok(fde) = partial.parse(|section, bases, offset| match common.entry(UnwindOffset::into(offset)) {
            MapEntry::Occupied(known) => Ok(CommonInformationEntry::clone(known.get())),
            MapEntry::Vacant(vacant) => section.cie_from_offset(bases, offset).inspect(|cie| {
                vacant.insert(cie.clone());
            }),
        }) else {
            continue;
        };
        ranges.push((fde.initial_address()..fde.end_address(), Reverse(fde.offset()), fde.offset()));
    }
    RangeMap::new(&ranges)
}
