//! Compiles a computation of the debug information to BPF.
//!
//! A value is kept as [`Value`] keeps it: the bits beyond
//! the size of its type are 0. Each operation has the meaning that `location::Expr::evaluate` gives
//! it, for addresses of 8 bytes.

use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::location::{Binary, Expr, Node, Unary, Value, ValueType};

use super::assembler::{Assembler, Label};
use super::instruction::{Alu, Helper, JumpCondition, Reg, Size};
use crate::arch::{Conventions, Platform};
use crate::plan::{MAX_DEPTH, MAX_NODES, Uncompilable};
use crate::record::UNSEEN;

/// What a computation depends on besides registers and memory.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The link-time address of the probe. At run time the instruction pointer holds the same place.
    pub probe: Vaddr,
    /// The platform of the image; `None` if it has no machine code.
    pub platform: Option<Platform>,
    /// The size of the thread-local storage of the executable, rounded up to its alignment; `None`
    /// if the image is not an executable.
    pub thread_local_size: Option<u64>,
    /// Whether the program may sleep, so that it can read memory that is not present.
    pub is_sleepable: bool,
    /// Whether the kernel has atomic operations that return a value (Linux 5.12). In one without them, no
    /// program interrupts another one on its CPU.
    pub has_exchange: bool,
    /// Where the kernel has what the program needs.
    pub kernel: KernelOffsets,
}

/// Where the kernel has what programs need: offsets in its `task_struct`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelOffsets {
    /// The thread pointer; `None` if it is not known.
    pub thread_pointer: Option<u32>,
    /// What tells processes apart; `None` if no values are noted at the entries of functions. A
    /// kernel whose programs cannot sleep may skip some of them, so it must not be given there.
    pub identity: Option<TaskOffsets>,
}

/// Where the kernel keeps what tells processes apart: offsets in its `task_struct`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskOffsets {
    /// The pointer to the first thread of the process.
    pub first_thread: u32,
    /// When a thread started.
    pub start: u32,
}

/// Free words of the stack.
#[derive(Clone, Debug)]
pub struct StackAllocator {
    /// The lowest offset from the frame pointer that is in use.
    next: i16,
}

/// The stack of a BPF program in bytes.
const STACK: i16 = 512;

impl StackAllocator {
    /// A stack of which the first `used` bytes are in use.
    #[must_use]
    pub fn new(used: i16) -> Self {
        Self { next: -used }
    }

    /// The offset of a free word.
    pub(super) fn push(&mut self) -> Result<i16, Uncompilable> {
        if self.next - 8 < -STACK {
            return Err(Uncompilable::TooLarge);
        }
        self.next -= 8;
        Ok(self.next)
    }

    /// Frees the last word.
    pub(super) fn pop(&mut self) {
        self.next += 8;
    }
}

/// Compiles computations. `R6` has the context of the program.
pub(super) struct Compiler<'a> {
    pub(super) code: &'a mut Assembler,
    pub(super) target: &'a Target,
    pub(super) stack: &'a mut StackAllocator,
    /// Where to go if the value cannot be computed.
    pub(super) failed: Label,
    /// The values of the entry of the function.
    pub(super) entered: EntryWords<'a>,
}

/// Where the values of the entry of the function are.
#[derive(Clone, Copy)]
pub(super) enum EntryWords<'a> {
    /// The computation is only checked.
    Anywhere,
    /// In these words of the stack, if a bit of `R9` does not say that they are not known.
    At(&'a [(Expr, i16)]),
}

impl Compiler<'_> {
    /// Leaves the value of a computation in `R0`.
    pub(super) fn value(&mut self, of: &Expr) -> Result<(), Uncompilable> {
        match of.node_count() <= MAX_NODES && of.depth() <= MAX_DEPTH {
            true => self.node(of),
            false => Err(Uncompilable::TooLarge),
        }
    }

    fn node(&mut self, of: &Expr) -> Result<(), Uncompilable> {
        match of.node() {
            Node::Constant(Value { of, bits }) => {
                integer(*of)?;
                self.code.set(Reg::R0, *bits);
            }
            Node::Address(address) => {
                let offset = self.conventions()?.instruction_pointer();
                self.code.load(Size::Eight, Reg::R0, Reg::R6, offset);
                self.add(address.0.wrapping_sub(self.target.probe.0));
            }
            Node::ThreadLocal(offset) => self.thread_local(offset)?,
            Node::Register(register, of) => {
                integer(*of)?;
                let offset = self.conventions()?.register(*register).ok_or(Uncompilable::Register(*register))?;
                self.code.load(Size::Eight, Reg::R0, Reg::R6, offset);
                self.truncate(Reg::R0, *of);
            }
            Node::Memory { address, size, to } => {
                integer(*to)?;
                if !(1..=8).contains(size) {
                    return Err(Uncompilable::ReadSize(*size));
                }
                self.node(address)?;
                self.read(*size)?;
            }
            Node::AtEntry(a) => self.at_entry(a)?,
            Node::Unary(operation, a) => self.unary(*operation, a)?,
            Node::Binary(operation, a, b) => self.binary(*operation, a, b)?,
            Node::Convert(to, a) => {
                integer(*to)?;
                self.node(a)?;
                if let ValueType::Signed(_) = a.value_type() {
                    self.extend(Reg::R0, a.value_type());
                }
                self.truncate(Reg::R0, *to);
            }
            Node::Reinterpret(to, a) => {
                integer(*to)?;
                if to.size(8) != a.value_type().size(8) {
                    return Err(Uncompilable::Types);
                }
                self.node(a)?;
            }
        }
        Ok(())
    }

    fn at_entry(&mut self, value: &Expr) -> Result<(), Uncompilable> {
        match self.entered {
            // It is computed at the entry.
            EntryWords::Anywhere if self.target.kernel.identity.is_some() && value.is_of_registers() => {
                self.node(value)
            }
            EntryWords::Anywhere => Err(Uncompilable::EntryValue),
            EntryWords::At(words) => {
                let known = words.iter().find(|(known, _)| known == value);
                let (_, word) = known.ok_or(Uncompilable::EntryValue)?;
                self.code.jump_if_immediate(JumpCondition::Test, Reg::R9, 1 << UNSEEN, self.failed);
                self.code.load(Size::Eight, Reg::R0, Reg::Frame, *word);
                Ok(())
            }
        }
    }

    fn conventions(&self) -> Result<&'static dyn Conventions, Uncompilable> {
        self.target.platform.map(Platform::conventions).ok_or(Uncompilable::Platform)
    }

    /// `R0 += number`.
    fn add(&mut self, number: u64) {
        if number == 0 {
            return;
        }
        match i32::try_from(number as i64) {
            Ok(immediate) => self.code.alu_immediate(Alu::Add, Reg::R0, immediate),
            Err(_) => {
                self.code.set(Reg::R1, number);
                self.code.alu(Alu::Add, Reg::R0, Reg::R1);
            }
        }
    }

    /// The thread pointer, less the distance of the block from there, plus the offset.
    fn thread_local(&mut self, offset: &Expr) -> Result<(), Uncompilable> {
        let (Some(size), Some(thread_pointer)) = (self.target.thread_local_size, self.target.kernel.thread_pointer)
        else {
            return Err(Uncompilable::ThreadLocal);
        };
        self.node(offset)?;
        let saved = self.stack.push()?;
        let word = self.stack.push()?;
        self.code.store(Size::Eight, Reg::Frame, saved, Reg::R0);
        self.code.call(Helper::GetCurrentTask);
        self.add(u64::from(thread_pointer));
        self.code.copy(Reg::R3, Reg::R0);
        self.code.copy(Reg::R1, Reg::Frame);
        self.code.alu_immediate(Alu::Add, Reg::R1, word.into());
        self.code.set(Reg::R2, 8);
        self.code.call(Helper::ProbeReadKernel);
        self.code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, 0, self.failed);
        self.code.load(Size::Eight, Reg::R0, Reg::Frame, word);
        self.code.load(Size::Eight, Reg::R1, Reg::Frame, saved);
        self.code.alu(Alu::Add, Reg::R0, Reg::R1);
        self.add(size.wrapping_neg());
        self.stack.pop();
        self.stack.pop();
        Ok(())
    }

    /// Replaces the address in `R0` with `size` bytes of the program's memory there.
    pub(super) fn read(&mut self, size: u8) -> Result<(), Uncompilable> {
        let word = self.stack.push()?;
        if size < 8 {
            self.code.store_immediate(Size::Eight, Reg::Frame, word, 0);
        }
        self.code.copy(Reg::R3, Reg::R0);
        self.code.copy(Reg::R1, Reg::Frame);
        self.code.alu_immediate(Alu::Add, Reg::R1, word.into());
        self.code.set(Reg::R2, size.into());
        self.code.call(if self.target.is_sleepable { Helper::CopyFromUser } else { Helper::ProbeReadUser });
        self.code.jump_if_immediate(JumpCondition::NotEqual, Reg::R0, 0, self.failed);
        self.code.load(Size::Eight, Reg::R0, Reg::Frame, word);
        self.stack.pop();
        Ok(())
    }

    fn unary(&mut self, operation: Unary, a: &Expr) -> Result<(), Uncompilable> {
        let of = a.value_type();
        let is_signed = integer(of)? != Integer::Unsigned;
        self.node(a)?;
        match operation {
            Unary::Not => self.code.alu_immediate(Alu::Xor, Reg::R0, -1),
            Unary::Neg if is_signed => self.code.negate(Reg::R0),
            Unary::Neg => return Err(Uncompilable::Types),
            Unary::Abs if is_signed => {
                self.extend(Reg::R0, of);
                self.negate_if_negative(Reg::R0, Reg::R0);
            }
            Unary::Abs => return Ok(()),
        }
        self.truncate(Reg::R0, of);
        Ok(())
    }

    /// Leaves the value of `a` in `R0` and that of `b` in `R1`.
    fn operands(&mut self, a: &Expr, b: &Expr) -> Result<(), Uncompilable> {
        if let Node::Constant(Value { bits, .. }) = b.node() {
            self.node(a)?;
            self.code.set(Reg::R1, *bits);
            return Ok(());
        }
        self.node(a)?;
        let saved = self.stack.push()?;
        self.code.store(Size::Eight, Reg::Frame, saved, Reg::R0);
        self.node(b)?;
        self.stack.pop();
        self.code.copy(Reg::R1, Reg::R0);
        self.code.load(Size::Eight, Reg::R0, Reg::Frame, saved);
        Ok(())
    }

    fn binary(&mut self, operation: Binary, a: &Expr, b: &Expr) -> Result<(), Uncompilable> {
        let of = a.value_type();
        let kind = integer(of)?;
        let is_shift = matches!(operation, Binary::Shl | Binary::Shr | Binary::Shra);
        integer(b.value_type())?;
        if !is_shift && of != b.value_type() {
            return Err(Uncompilable::Types);
        }
        self.operands(a, b)?;
        if is_shift {
            return self.shift(operation, of, b.value_type());
        }
        let is_signed = kind != Integer::Unsigned;
        match operation {
            Binary::And => self.code.alu(Alu::And, Reg::R0, Reg::R1),
            Binary::Or => self.code.alu(Alu::Or, Reg::R0, Reg::R1),
            Binary::Xor => self.code.alu(Alu::Xor, Reg::R0, Reg::R1),
            Binary::Plus => self.code.alu(Alu::Add, Reg::R0, Reg::R1),
            Binary::Minus => self.code.alu(Alu::Sub, Reg::R0, Reg::R1),
            Binary::Mul => self.code.alu(Alu::Mul, Reg::R0, Reg::R1),
            Binary::Div => self.divide(of, is_signed, Alu::Div),
            // The generic type is unsigned in this operation.
            Binary::Mod => self.divide(of, kind == Integer::Signed, Alu::Mod),
            Binary::Eq => self.compare(of, is_signed, JumpCondition::Equal, JumpCondition::Equal),
            Binary::Ne => self.compare(of, is_signed, JumpCondition::NotEqual, JumpCondition::NotEqual),
            Binary::Lt => self.compare(of, is_signed, JumpCondition::SignedLess, JumpCondition::Less),
            Binary::Le => self.compare(of, is_signed, JumpCondition::SignedLessEqual, JumpCondition::LessEqual),
            Binary::Gt => self.compare(of, is_signed, JumpCondition::SignedGreater, JumpCondition::Greater),
            Binary::Ge => self.compare(of, is_signed, JumpCondition::SignedGreaterEqual, JumpCondition::GreaterEqual),
            Binary::Shl | Binary::Shr | Binary::Shra => {}
        }
        if !operation.is_comparison() {
            self.truncate(Reg::R0, of);
        }
        Ok(())
    }

    /// Divides `R0` by `R1`, towards zero. A remainder has the sign of `R0`. The signed operations of BPF
    /// are as new as Linux 6.6.
    fn divide(&mut self, of: ValueType, is_signed: bool, operation: Alu) {
        self.code.jump_if_immediate(JumpCondition::Equal, Reg::R1, 0, self.failed);
        if !is_signed {
            self.code.alu(operation, Reg::R0, Reg::R1);
            return;
        }
        self.extend(Reg::R0, of);
        self.extend(Reg::R1, of);
        // Its sign is that of the result.
        self.code.copy(Reg::R2, Reg::R0);
        if operation == Alu::Div {
            self.code.alu(Alu::Xor, Reg::R2, Reg::R1);
        }
        self.negate_if_negative(Reg::R0, Reg::R0);
        self.negate_if_negative(Reg::R1, Reg::R1);
        self.code.alu(operation, Reg::R0, Reg::R1);
        self.negate_if_negative(Reg::R2, Reg::R0);
    }

    /// Negates a register if `sign` is negative.
    fn negate_if_negative(&mut self, sign: Reg, register: Reg) {
        let positive = self.code.label();
        self.code.jump_if_immediate(JumpCondition::SignedGreaterEqual, sign, 0, positive);
        self.code.negate(register);
        self.code.place(positive);
    }

    fn compare(&mut self, of: ValueType, is_signed: bool, signed: JumpCondition, unsigned: JumpCondition) {
        if is_signed {
            self.extend(Reg::R0, of);
            self.extend(Reg::R1, of);
        }
        let holds = self.code.label();
        self.code.copy(Reg::R2, Reg::R0);
        self.code.set(Reg::R0, 1);
        self.code.jump_if(if is_signed { signed } else { unsigned }, Reg::R2, Reg::R1, holds);
        self.code.set(Reg::R0, 0);
        self.code.place(holds);
    }

    /// Shifts `R0` by `R1`. A count of at least the width shifts out every bit.
    fn shift(&mut self, operation: Binary, of: ValueType, by: ValueType) -> Result<(), Uncompilable> {
        let kind = integer(of)?;
        match (operation, kind) {
            (Binary::Shr, Integer::Signed) | (Binary::Shra, Integer::Unsigned) => return Err(Uncompilable::Types),
            _ => {}
        }
        if integer(by)? == Integer::Signed {
            self.extend(Reg::R1, by);
            self.code.jump_if_immediate(JumpCondition::SignedLess, Reg::R1, 0, self.failed);
        }
        let done = self.code.label();
        if operation == Binary::Shra {
            self.extend(Reg::R0, of);
            self.code.jump_if_immediate(JumpCondition::Less, Reg::R1, 63, done);
            self.code.set(Reg::R1, 63);
            self.code.place(done);
            self.code.alu(Alu::Arsh, Reg::R0, Reg::R1);
        } else {
            let (within, width) = (self.code.label(), i32::from(of.size(8)) * 8);
            self.code.jump_if_immediate(JumpCondition::Less, Reg::R1, width, within);
            self.code.set(Reg::R0, 0);
            self.code.jump(done);
            self.code.place(within);
            self.code.alu(if operation == Binary::Shl { Alu::Lsh } else { Alu::Rsh }, Reg::R0, Reg::R1);
            self.code.place(done);
        }
        self.truncate(Reg::R0, of);
        Ok(())
    }

    /// Clears the bits beyond the size of a type.
    fn truncate(&mut self, register: Reg, of: ValueType) {
        let unused = unused(of);
        if unused > 0 {
            self.code.alu_immediate(Alu::Lsh, register, unused);
            self.code.alu_immediate(Alu::Rsh, register, unused);
        }
    }

    /// Fills the bits beyond the size of a type with its sign.
    fn extend(&mut self, register: Reg, of: ValueType) {
        let unused = unused(of);
        if unused > 0 {
            self.code.alu_immediate(Alu::Lsh, register, unused);
            self.code.alu_immediate(Alu::Arsh, register, unused);
        }
    }
}

/// How many of 64 bits a type does not have.
fn unused(of: ValueType) -> i32 {
    64i32.saturating_sub(i32::from(of.size(8)) * 8)
}

/// An integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Integer {
    Generic,
    Signed,
    Unsigned,
}

fn integer(of: ValueType) -> Result<Integer, Uncompilable> {
    match of {
        ValueType::Generic => Ok(Integer::Generic),
        ValueType::Signed(1 | 2 | 4 | 8) => Ok(Integer::Signed),
        ValueType::Unsigned(1 | 2 | 4 | 8) => Ok(Integer::Unsigned),
        ValueType::Signed(_) | ValueType::Unsigned(_) => Err(Uncompilable::Types),
        ValueType::Float(_) => Err(Uncompilable::Float),
    }
}
