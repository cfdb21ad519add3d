//! The stack machine of DWARF expressions (DWARF 5, 2.5 and 2.6.1). Its values are computations, not
//! numbers.

use gimli::{DieReference, Encoding, Expression, Operation, Reader as _, UnitOffset, constants as dw};

use super::super::sections::Reader;
use super::super::tables;
use super::super::unit::Die;
use super::super::unsupported::{BaseTypeProblem, EntryValue, Malformed, Unsupported};
use super::{EvaluationContext, Evaluator, ExpressionRefusal};
use crate::address::Vaddr;
use crate::location::{
    Binary, Expr, InfoOffset, Location, MAX_NODES, Node, Piece, Register, Source, Unary, Unbuildable, Value, ValueType,
};

/// How deeply expressions may be nested. Compilers reach three (`DW_OP_fbreg` in `DW_OP_call4`,
/// whose CFA is an expression).
const NESTED: u8 = 16;

/// The most values on the stack, and the most pieces. Compilers stay far below it.
const STACK: usize = 256;
const PIECES: usize = 4096;

/// The state of the stack machine.
pub(super) struct StackMachine<'i, 's> {
    evaluator: &'i Evaluator<'i, 's>,
    address_size: u8,
    stack: Vec<Expr>,
    pieces: Vec<Piece>,
    /// A complete location. Only a piece or the end may follow.
    complete: Option<Source>,
    /// The nodes of all pieces together.
    weight: u32,
}

/// An operation. gimli does not parse the pieces, see [`read`].
enum PieceOrOperation<'s> {
    Piece { bits: u64, offset: u64 },
    Other(Operation<Reader<'s>>, gimli::DwOp),
}

impl<'i, 's> StackMachine<'i, 's> {
    pub(super) fn new(evaluator: &'i Evaluator<'i, 's>) -> Self {
        let address_size = evaluator.info.units.sections.address_size();
        Self { evaluator, address_size, stack: Vec::new(), pieces: Vec::new(), complete: None, weight: 0 }
    }
}

impl<'s> StackMachine<'_, 's> {
    /// Runs the operations of an expression.
    pub(super) fn operations(
        &mut self,
        unit: Option<usize>,
        encoding: Encoding,
        mut bytes: Reader<'s>,
        depth: u8,
    ) -> Result<(), ExpressionRefusal> {
        if depth > NESTED {
            return Err(Malformed::Nesting.into());
        }
        while !bytes.is_empty() {
            self.evaluator.info.units.charge(1)?;
            match read(&mut bytes, encoding)? {
                PieceOrOperation::Other(Operation::Nop, _) => {}
                PieceOrOperation::Piece { bits, offset } => self.piece(bits, offset)?,
                PieceOrOperation::Other(..) if self.complete.is_some() => {
                    return Err(Malformed::AfterEnd.into());
                }
                PieceOrOperation::Other(Operation::Skip { target }, _) => {
                    let forward = usize::try_from(target).map_err(|_| Unsupported::BackwardSkip)?;
                    bytes.skip(forward)?;
                }
                PieceOrOperation::Other(operation, name) => self.operation(unit, encoding, operation, name, depth)?,
            }
            if self.stack.len() > STACK {
                return Err(ExpressionRefusal::too_large());
            }
        }
        Ok(())
    }

    /// The resulting location.
    pub(super) fn location(mut self) -> Result<Option<Location>, ExpressionRefusal> {
        if !self.pieces.is_empty() {
            if self.complete.is_some() || !self.stack.is_empty() {
                return Err(Malformed::AfterLastPiece.into());
            }
            let is_gone = self.pieces.iter().all(|piece| piece.source == Source::OptimizedOut);
            return Ok((!is_gone).then(|| Location { pieces: self.pieces.into() }));
        }
        let source = match self.complete.take() {
            Some(source) => source,
            None if self.stack.is_empty() => return Ok(None),
            None => Source::Memory(self.pop_address()?),
        };
        Ok(Some(Location::whole(source)))
    }

    /// The value on top of the stack.
    pub(super) fn value(self) -> Result<Expr, ExpressionRefusal> {
        match self {
            Self { complete: None | Some(Source::Value(_)), pieces, .. } if !pieces.is_empty() => {
                Err(Malformed::PiecesForValue.into())
            }
            Self { complete: Some(Source::Value(value)), .. } => Ok(value),
            Self { complete: Some(Source::Register(register)), pieces, .. } if pieces.is_empty() => {
                Expr::new(Node::Register(register, ValueType::Generic)).ok_or_else(ExpressionRefusal::too_large)
            }
            Self { complete: None, mut stack, .. } => stack.pop().ok_or_else(|| Malformed::EmptyStack.into()),
            _ => Err(Malformed::LocationForValue.into()),
        }
    }

    /// `DW_OP_piece`, `DW_OP_bit_piece`: the operations since the last piece describe these bits.
    /// If there are none, the bits are optimised out.
    fn piece(&mut self, bits: u64, offset: u64) -> Result<(), ExpressionRefusal> {
        let source = match self.complete.take() {
            Some(source) => source,
            None if self.stack.is_empty() => Source::OptimizedOut,
            None => Source::Memory(self.pop_address()?),
        };
        if !self.stack.is_empty() {
            return Err(Malformed::LeftAtPiece.into());
        }
        if let Source::Memory(expr) | Source::Value(expr) = &source {
            self.weight = self.weight.saturating_add(expr.node_count());
        }
        if self.weight > MAX_NODES || self.pieces.len() >= PIECES {
            return Err(ExpressionRefusal::too_large());
        }
        if bits != 0 {
            self.pieces.push(Piece { bits: Some(bits), source, offset });
        }
        Ok(())
    }

    fn operation(
        &mut self,
        unit: Option<usize>,
        encoding: Encoding,
        operation: Operation<Reader<'s>>,
        name: gimli::DwOp,
        depth: u8,
    ) -> Result<(), ExpressionRefusal> {
        if let Some(operation) = unary(&operation) {
            let of = self.pop()?;
            return self.push(Expr::unary(operation, &of, self.address_size));
        }
        if let Some(operation) = binary(&operation) {
            let (b, a) = (self.pop()?, self.pop()?);
            return self.push(Expr::binary(operation, &a, &b, self.address_size));
        }
        match operation {
            Operation::UnsignedConstant { value } => self.constant(value),
            Operation::SignedConstant { value } => self.constant(value as u64),
            Operation::Address { address } => self.push_node(Node::Address(Vaddr(address))),
            Operation::AddressIndex { index } => {
                let address = self.indexed(unit, index)?;
                self.push_node(Node::Address(Vaddr(address)))
            }
            Operation::ConstantIndex { index } => {
                let value = self.indexed(unit, index)?;
                self.constant(value)
            }
            Operation::TypedLiteral { base_type, value } => {
                let of = self.base_type(unit, base_type, name)?;
                let bits = literal(of, value, self.address_size, name)?;
                self.stack.push(Expr::of(Value::new(of, bits, self.address_size)));
                Ok(())
            }
            Operation::Drop => self.pop().map(|_| ()),
            Operation::Pick { index } => {
                let at = self.stack.len().checked_sub(usize::from(index).saturating_add(1));
                let value = at.and_then(|at| self.stack.get(at)).cloned();
                self.stack.push(value.ok_or_else(empty)?);
                Ok(())
            }
            Operation::Swap => {
                let (b, a) = (self.pop()?, self.pop()?);
                self.stack.extend([b, a]);
                Ok(())
            }
            Operation::Rot => {
                let (c, b, a) = (self.pop()?, self.pop()?, self.pop()?);
                self.stack.extend([c, a, b]);
                Ok(())
            }
            Operation::PlusConstant { value } => {
                let a = self.pop()?;
                let of = a.value_type();
                if matches!(of, ValueType::Float(_)) {
                    return Err(types(name));
                }
                let b = Expr::of(Value::new(of, value, self.address_size));
                self.push(Expr::binary(Binary::Plus, &a, &b, self.address_size))
            }
            Operation::Deref { space: true, .. } => Err(Unsupported::AddressSpace { operation: name.into() }.into()),
            Operation::Deref { base_type, size, .. } => self.memory(unit, base_type, size, name),
            Operation::Register { register } => {
                let register = self.register(register, name)?;
                self.complete = Some(Source::Register(register));
                Ok(())
            }
            Operation::RegisterOffset { register, offset, base_type } => {
                let register = self.register(register, name)?;
                let of = self.base_type(unit, base_type, name)?;
                let value = Expr::new(Node::Register(register, of)).ok_or_else(ExpressionRefusal::too_large)?;
                self.push_sum(&value, offset)
            }
            Operation::FrameOffset { offset } => {
                let base = match self.evaluator.context {
                    EvaluationContext::Frame(frame) => {
                        self.evaluator.info.frame_base(frame, depth.saturating_add(1))?
                    }
                    EvaluationContext::FrameBase(_) => return Err(Malformed::FrameBaseOfItself.into()),
                    EvaluationContext::Unknown => placeholder(),
                };
                self.push_sum(&base, offset)
            }
            Operation::CallFrameCFA => {
                let cfa = match self.evaluator.context {
                    EvaluationContext::Frame(frame) | EvaluationContext::FrameBase(frame) => {
                        self.evaluator.info.cfa(frame, depth.saturating_add(1))?
                    }
                    EvaluationContext::Unknown => placeholder(),
                };
                self.stack.push(cfa);
                Ok(())
            }
            Operation::PushObjectAddress => Err(Unsupported::NoObject.into()),
            Operation::TLS => {
                let offset = self.pop()?;
                // On some targets gcc writes the offset as an address, although it is not one.
                let offset = match offset.node() {
                    Node::Address(offset) => Expr::constant(offset.0),
                    _ => self.address(&offset)?,
                };
                self.push_node(Node::ThreadLocal(offset))
            }
            Operation::Call { offset } => self.call(unit, offset, name, depth),
            Operation::EntryValue { expression } => {
                let evaluator = Evaluator { depth: depth.saturating_add(1), ..self.evaluator.clone() };
                let value = evaluator.entry_value(unit, encoding, Expression(expression))?;
                self.stack.push(value);
                Ok(())
            }
            Operation::Convert { base_type } => {
                let (to, of) = (self.base_type(unit, base_type, name)?, self.pop()?);
                self.push(Expr::convert(to, &of, self.address_size))
            }
            Operation::Reinterpret { base_type } => {
                let (to, of) = (self.base_type(unit, base_type, name)?, self.pop()?);
                self.push(Expr::reinterpret(to, &of, self.address_size))
            }
            Operation::ImplicitValue { data } => {
                self.complete = Some(Source::Bytes(data.slice().into()));
                Ok(())
            }
            Operation::StackValue => {
                self.complete = Some(Source::Value(self.pop()?));
                Ok(())
            }
            Operation::ImplicitPointer { value, byte_offset } => {
                let info = self.evaluator.info;
                let variable =
                    unit.and_then(|unit| info.units.die_in(unit, value)).map(|die| info.units.info_offset(die));
                // A reference to nothing describes a value that is not available.
                let variable = variable.unwrap_or(InfoOffset(u64::MAX));
                self.complete = Some(Source::ImplicitPointer { variable, offset: byte_offset });
                Ok(())
            }
            Operation::ParameterRef { .. } => Err(ExpressionRefusal::Entry(EntryValue::Parameter)),
            Operation::Bra { .. } => Err(Unsupported::Branch.into()),
            _ => Err(Unsupported::Operation { operation: name.into() }.into()),
        }
    }

    fn pop(&mut self) -> Result<Expr, ExpressionRefusal> {
        self.stack.pop().ok_or_else(empty)
    }

    fn pop_address(&mut self) -> Result<Expr, ExpressionRefusal> {
        let value = self.pop()?;
        self.address(&value)
    }

    /// A value as an address.
    fn address(&self, value: &Expr) -> Result<Expr, ExpressionRefusal> {
        if matches!(value.value_type(), ValueType::Float(_)) {
            return Err(Malformed::FloatAddress.into());
        }
        built(Expr::convert(ValueType::Generic, value, self.address_size))
    }

    fn push(&mut self, value: Result<Expr, Unbuildable>) -> Result<(), ExpressionRefusal> {
        self.stack.push(built(value)?);
        Ok(())
    }

    fn push_node(&mut self, node: Node) -> Result<(), ExpressionRefusal> {
        self.stack.push(Expr::new(node).ok_or_else(ExpressionRefusal::too_large)?);
        Ok(())
    }

    fn constant(&mut self, value: u64) -> Result<(), ExpressionRefusal> {
        self.stack.push(Expr::of(Value::new(ValueType::Generic, value, self.address_size)));
        Ok(())
    }

    fn push_sum(&mut self, base: &Expr, offset: i64) -> Result<(), ExpressionRefusal> {
        if offset == 0 {
            self.stack.push(base.clone());
            return Ok(());
        }
        let offset = Expr::of(Value::new(ValueType::Generic, offset as u64, self.address_size));
        self.push(Expr::binary(Binary::Plus, base, &offset, self.address_size))
    }

    fn memory(
        &mut self,
        unit: Option<usize>,
        of: UnitOffset,
        size: u8,
        name: gimli::DwOp,
    ) -> Result<(), ExpressionRefusal> {
        let to = self.base_type(unit, of, name)?;
        let most = to.size(self.address_size);
        if size == 0 || size > most || (to != ValueType::Generic && size != most) {
            return Err(Malformed::Size { operation: name.into(), bytes: size.into(), type_size: most }.into());
        }
        let address = self.pop_address()?;
        self.push_node(Node::Memory { address, size, to })
    }

    fn register(&self, register: gimli::Register, name: gimli::DwOp) -> Result<Register, ExpressionRefusal> {
        let register = Register(register.0);
        let processor = self.evaluator.info.units.processor();
        if register.is_x87(processor) {
            return Err(Unsupported::X87Register { operation: name.into(), register, processor }.into());
        }
        Ok(register)
    }

    fn indexed(&self, unit: Option<usize>, index: gimli::DebugAddrIndex) -> Result<u64, ExpressionRefusal> {
        let unit = unit.ok_or(Malformed::IndexOutsideUnit)?;
        Ok(tables::address(self.evaluator.info.units.dwarf_of(unit)?, self.evaluator.info.units.unit(unit)?, index)?)
    }

    /// `DW_OP_call2` and similar: the operations of another entry's location replace the call.
    fn call(
        &mut self,
        unit: Option<usize>,
        callee: DieReference,
        name: gimli::DwOp,
        depth: u8,
    ) -> Result<(), ExpressionRefusal> {
        let info = self.evaluator.info;
        let die = match (callee, unit) {
            (DieReference::UnitRef(offset), Some(unit)) => Some(Die { unit, offset: offset.0 }),
            (DieReference::DebugInfoRef(offset), Some(unit)) => info.units.die_in(unit, offset),
            (_, None) => None,
        };
        let die = die.ok_or(Malformed::NoCallee { operation: name.into() })?;
        match info.units.attribute(die, dw::DW_AT_location)? {
            // "If there is no such attribute, then there is no effect" (DWARF 5, 2.5.1.5).
            None => Ok(()),
            Some((from, gimli::AttributeValue::Exprloc(expression))) => {
                let encoding = info.units.unit(from.unit)?.encoding();
                self.operations(Some(from.unit), encoding, expression.0, depth.saturating_add(1))
            }
            Some(_) => Err(Unsupported::CalledList { operation: name.into() }.into()),
        }
    }

    /// The type that a base type entry describes; the generic type for offset 0 (DWARF 5, 2.5.1.6).
    fn base_type(
        &self,
        unit: Option<usize>,
        offset: UnitOffset,
        name: gimli::DwOp,
    ) -> Result<ValueType, ExpressionRefusal> {
        if offset.0 == 0 {
            return Ok(ValueType::Generic);
        }
        let info = self.evaluator.info;
        let unit = unit.ok_or(Malformed::TypeOutsideUnit)?;
        let die = Die { unit, offset: offset.0 };
        if info.units.tag(die)? != dw::DW_TAG_base_type {
            return Err(Malformed::NoBaseType { operation: name.into() }.into());
        }
        let encoding = match info.units.own_attribute(die, dw::DW_AT_encoding)? {
            Some(gimli::AttributeValue::Encoding(encoding)) => encoding,
            _ => gimli::DwAte(0),
        };
        let size = info.units.unsigned(die, dw::DW_AT_byte_size)?.unwrap_or(0);
        let type_name = info.units.name(die)?.map(|name| crate::text::from_bytes(&name)).unwrap_or_default();
        let refuse = |problem| {
            Err(Unsupported::BaseType { operation: name.into(), problem, name: type_name.clone(), size }.into())
        };
        // LLVM's `DW_ATE_unsigned_1` has 1 bit. Its size is 0 bytes, or since LLVM 15 one byte.
        // Only its name gives the number of bits.
        let bits = type_name.strip_prefix("DW_ATE_").and_then(|name| name.rsplit('_').next()?.parse::<u64>().ok());
        if info.units.own_attribute(die, dw::DW_AT_bit_size)?.is_some()
            || bits.is_some_and(|bits| bits != size.wrapping_mul(8))
        {
            return refuse(BaseTypeProblem::Bits);
        }
        if info.units.own_attribute(die, dw::DW_AT_endianity)?.is_some() {
            return refuse(BaseTypeProblem::ByteOrder);
        }
        match (encoding, size) {
            (dw::DW_ATE_signed | dw::DW_ATE_signed_char, 1 | 2 | 4 | 8) => Ok(ValueType::Signed(size as u8)),
            (
                dw::DW_ATE_unsigned
                | dw::DW_ATE_unsigned_char
                | dw::DW_ATE_boolean
                | dw::DW_ATE_UTF
                | dw::DW_ATE_address,
                1 | 2 | 4 | 8,
            ) => Ok(ValueType::Unsigned(size as u8)),
            (dw::DW_ATE_float, 4 | 8) => Ok(ValueType::Float(size as u8)),
            _ => refuse(BaseTypeProblem::Encoding),
        }
    }
}

/// Reads one operation. gimli does not check for overflow when it multiplies the size of a piece,
/// so pieces are read here.
fn read<'s>(bytes: &mut Reader<'s>, encoding: Encoding) -> Result<PieceOrOperation<'s>, ExpressionRefusal> {
    let mut ahead = *bytes;
    let name = gimli::DwOp(ahead.read_u8()?);
    match name {
        dw::DW_OP_piece => {
            let bits = ahead.read_uleb128()?.checked_mul(8);
            *bytes = ahead;
            Ok(PieceOrOperation::Piece { bits: bits.ok_or_else(ExpressionRefusal::too_large)?, offset: 0 })
        }
        dw::DW_OP_bit_piece => {
            let (bits, offset) = (ahead.read_uleb128()?, ahead.read_uleb128()?);
            *bytes = ahead;
            Ok(PieceOrOperation::Piece { bits, offset })
        }
        _ => match Operation::parse(bytes, encoding) {
            Ok(operation) => Ok(PieceOrOperation::Other(operation, name)),
            Err(gimli::Error::InvalidExpression(_)) => Err(ExpressionRefusal::Unsupported(match name.0 {
                0xf0 => Unsupported::Uninitialised,
                0xf1 | 0xfd => Unsupported::Operation { operation: name.into() },
                _ => Unsupported::UnknownOperation { operation: name.into() },
            })),
            Err(error) => Err(error.into()),
        },
    }
}

/// The bits of `DW_OP_const_type`.
fn literal(
    of: ValueType,
    mut bytes: Reader<'_>,
    address_size: u8,
    name: gimli::DwOp,
) -> Result<u64, ExpressionRefusal> {
    let size = of.size(address_size);
    if of == ValueType::Generic || bytes.len() != usize::from(size) {
        return Err(Malformed::Size { operation: name.into(), bytes: bytes.len() as u64, type_size: size }.into());
    }
    Ok(match size {
        1 => bytes.read_u8()?.into(),
        2 => bytes.read_u16()?.into(),
        4 => bytes.read_u32()?.into(),
        _ => bytes.read_u64()?,
    })
}

fn built(value: Result<Expr, Unbuildable>) -> Result<Expr, ExpressionRefusal> {
    value.map_err(|error| match error {
        Unbuildable::TooLarge => ExpressionRefusal::too_large(),
        Unbuildable::Types => Unsupported::MixedTypes.into(),
    })
}

fn types(name: gimli::DwOp) -> ExpressionRefusal {
    Unsupported::FloatOperand { operation: name.into() }.into()
}

fn empty() -> ExpressionRefusal {
    Malformed::StackUnderflow.into()
}

/// A placeholder for a value that is known only at a place.
fn placeholder() -> Expr {
    Expr::constant(0)
}

fn unary<R: gimli::Reader>(operation: &Operation<R>) -> Option<Unary> {
    Some(match operation {
        Operation::Abs => Unary::Abs,
        Operation::Neg => Unary::Neg,
        Operation::Not => Unary::Not,
        _ => return None,
    })
}

fn binary<R: gimli::Reader>(operation: &Operation<R>) -> Option<Binary> {
    Some(match operation {
        Operation::And => Binary::And,
        Operation::Div => Binary::Div,
        Operation::Minus => Binary::Minus,
        Operation::Mod => Binary::Mod,
        Operation::Mul => Binary::Mul,
        Operation::Or => Binary::Or,
        Operation::Plus => Binary::Plus,
        Operation::Shl => Binary::Shl,
        Operation::Shr => Binary::Shr,
        Operation::Shra => Binary::Shra,
        Operation::Xor => Binary::Xor,
        Operation::Eq => Binary::Eq,
        Operation::Ge => Binary::Ge,
        Operation::Gt => Binary::Gt,
        Operation::Le => Binary::Le,
        Operation::Lt => Binary::Lt,
        Operation::Ne => Binary::Ne,
        _ => return None,
    })
}
