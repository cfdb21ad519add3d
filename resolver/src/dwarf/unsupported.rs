//! Debug information that this crate does not support: closed enums with their data.
//!
//! Each reason has a stable name for programs. `english/dwarf.rs` writes the text for people.

use strum::IntoStaticStr;

use crate::address::Vaddr;
use crate::location::{Expr, Processor, Register};

/// An operation of a DWARF expression, by its code (DWARF 5, 7.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operation(pub u8);

impl Operation {
    /// The name of the operation, as `DW_OP_bra`; `None` for a code without a name.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        gimli::DwOp(self.0).static_string().or(match self.0 {
            0xf0 => Some("DW_OP_GNU_uninit"),
            0xf1 => Some("DW_OP_GNU_encoded_addr"),
            0xfd => Some("DW_OP_GNU_variable_value"),
            _ => None,
        })
    }
}

impl From<gimli::DwOp> for Operation {
    fn from(operation: gimli::DwOp) -> Self {
        Self(operation.0)
    }
}

/// Why a location, a value or a step to a part is not supported.
#[derive(Clone, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Unsupported {
    /// The location has more steps than [`crate::location::MAX_NODES`], or more pieces or stack
    /// values than accepted.
    #[strum(serialize = "location_too_large")]
    TooLarge,
    /// The location is malformed.
    #[strum(serialize = "malformed_location")]
    Malformed(Malformed),
    /// The expression has a conditional branch (`DW_OP_bra`).
    Branch,
    /// The expression branches backwards (`DW_OP_skip`).
    #[strum(serialize = "branch")]
    BackwardSkip,
    /// The operation reads from a separate address space.
    AddressSpace {
        /// The operation.
        operation: Operation,
    },
    /// The operation reads a register of the x87 stack.
    X87Register {
        /// The operation.
        operation: Operation,
        /// The register.
        register: Register,
        /// The processor that gives the register its name.
        processor: Processor,
    },
    /// The expression needs the address of an object, and there is none
    /// (`DW_OP_push_object_address`).
    #[strum(serialize = "object_address")]
    NoObject,
    /// The variable has no value yet (`DW_OP_GNU_uninit`).
    Uninitialised,
    /// The operation is known, but not supported.
    Operation {
        /// The operation.
        operation: Operation,
    },
    /// The operation is in no known specification.
    UnknownOperation {
        /// The operation.
        operation: Operation,
    },
    /// The expression calls an entry whose location is a list.
    #[strum(serialize = "call_to_location_list")]
    CalledList {
        /// The operation.
        operation: Operation,
    },
    /// The stack machine does not have the type.
    BaseType {
        /// The operation that names the type.
        operation: Operation,
        /// What is special about the type.
        problem: BaseTypeProblem,
        /// Name of the type.
        name: String,
        /// Bytes of the type.
        size: u64,
    },
    /// The computation mixes types.
    MixedTypes,
    /// The operation gets a floating-point number.
    FloatOperand {
        /// The operation.
        operation: Operation,
    },
    /// No call frame information covers the address (`DW_OP_call_frame_cfa`).
    NoCallFrame {
        /// The address.
        pc: Vaddr,
    },
    /// The call frame information for the address cannot be read.
    #[strum(serialize = "malformed_call_frame")]
    CallFrame {
        /// The address.
        pc: Vaddr,
        /// What the parser says.
        parser: String,
    },
    /// The location is relative to the frame base, which is not known (`DW_OP_fbreg`).
    FrameBase(FrameBaseProblem),
    /// The location attribute has a form that locations do not have.
    LocationForm,
    /// The location list has an entry of an unknown kind.
    #[strum(serialize = "location_list_entry")]
    ListEntry {
        /// The kind (`DW_LLE_*`).
        kind: u8,
    },
    /// LLVM before DWARF 4: the location may be the address of the value or the value.
    AddressOrValue,
    /// The constant of the variable does not fit its type (`DW_AT_const_value`).
    Constant(ConstantProblem),
    /// The entries of the unit are in a file that was not found (`DW_AT_dwo_name`).
    #[strum(serialize = "split_unit_not_found")]
    SplitUnit {
        /// Name of the file.
        file: String,
    },
    /// The pointer points into a separate address space (`DW_AT_address_class`).
    #[strum(serialize = "address_space")]
    PointerAddressSpace,
    /// The type of the pointer's target is not known.
    UnknownTarget {
        /// Name of the pointer's type.
        of: String,
    },
    /// The pointer points at code.
    CodePointer,
    /// The size of the pointer is not known.
    PointerSize,
    /// The unit only declares the type.
    OnlyDeclared {
        /// Name of the type.
        of: String,
    },
    /// The type has several variants, and the step does not name one.
    SeveralVariants {
        /// Name of the type.
        of: String,
        /// Names of the first variants.
        variants: Vec<String>,
        /// How many variants the type has.
        count: usize,
    },
    /// The size of the elements is not known.
    ElementSize,
    /// The type of the elements is not known.
    ElementType,
    /// The text of a `str` or `String` has no elements.
    TextElement,
    /// The array is laid out in an unusual way.
    #[strum(serialize = "array_layout")]
    Array(ArrayProblem),
    /// The place of the member in its structure is not known.
    MemberPlace {
        /// Name of the member.
        member: String,
        /// Why not.
        problem: PlaceProblem,
    },
    /// The member may be in a base class or anonymous structure whose place is not known.
    #[strum(serialize = "member_place")]
    MemberPlaceOfBase {
        /// Name of the member.
        member: String,
        /// Why not.
        problem: PlaceProblem,
    },
    /// The variant is at a place that is not known.
    #[strum(serialize = "member_place")]
    VariantPlace(PlaceProblem),
    /// The member has no type.
    MemberType {
        /// Name of the member.
        member: String,
    },
    /// Several base classes have a member of that name.
    AmbiguousMember {
        /// Name of the member.
        member: String,
    },
    /// The offset of the member is too large.
    #[strum(serialize = "member_place")]
    MemberOffset,
    /// Only the running program knows the size of the pointer's target.
    UnsizedTarget {
        /// Name of the pointer's type; `None` for a pointer inside of a wrapper.
        of: Option<String>,
    },
    /// The pointer points at a trait object. Only the running program knows its type.
    TraitObject {
        /// Name of the pointer's type; `None` for a pointer inside of a wrapper.
        of: Option<String>,
    },
}

/// What is wrong with a malformed location.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// The DWARF parser refuses it, with this message.
    Parser(String),
    /// The frame base is computed from itself.
    FrameBaseOfItself,
    /// The location has pieces, but a value is expected.
    PiecesForValue,
    /// The expression gives a location, but a value is expected.
    LocationForValue,
    /// The expression leaves nothing on the stack.
    EmptyStack,
    /// The operations take more values than the stack has.
    StackUnderflow,
    /// Expressions refer to each other too deeply.
    Nesting,
    /// Operations follow the end of the location.
    AfterEnd,
    /// Something follows the last piece.
    AfterLastPiece,
    /// Values are left on the stack at a piece.
    LeftAtPiece,
    /// A floating-point number is used as an address.
    FloatAddress,
    /// The operation and its type differ in size.
    Size {
        /// The operation.
        operation: Operation,
        /// Bytes of the operation.
        bytes: u64,
        /// Bytes of the type.
        type_size: u8,
    },
    /// The expression has an index of an address, but is not in a unit.
    IndexOutsideUnit,
    /// The expression names a type, but is not in a unit.
    TypeOutsideUnit,
    /// The operation calls an entry that does not exist.
    NoCallee {
        /// The operation.
        operation: Operation,
    },
    /// The operation names a type that is not a base type.
    NoBaseType {
        /// The operation.
        operation: Operation,
    },
}

/// What is special about a base type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BaseTypeProblem {
    /// Its bits are not whole bytes.
    Bits,
    /// It has its own byte order (`DW_AT_endianity`).
    ByteOrder,
    /// Its encoding or size is not supported.
    Encoding,
}

/// Why a frame base is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameBaseProblem {
    /// The function has no entry in the debug information.
    NoFunction,
    /// The function has no `DW_AT_frame_base`.
    NoAttribute,
    /// The frame base is in pieces.
    Pieces,
    /// The frame base is described for other addresses, but not for this one.
    NotHere,
}

/// Why a constant does not fit its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConstantProblem {
    /// The type has no size, or more than 16 bytes.
    TypeSize,
    /// The number needs more bytes than the type has.
    Number {
        /// The number.
        number: u64,
        /// Bytes of the type.
        size: usize,
    },
    /// The string and the type differ in length.
    String {
        /// Bytes of the type.
        size: u64,
    },
    /// The block and the type differ in length.
    Block {
        /// Bytes of the block.
        bytes: u64,
        /// Bytes of the type.
        size: u64,
    },
    /// The attribute has a form that constants do not have.
    Form,
}

/// Why the layout of an array is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArrayProblem {
    /// The elements are further apart than their size (`DW_AT_byte_stride`, `DW_AT_bit_stride`).
    Stride,
    /// The elements are elsewhere (`DW_AT_data_location`).
    Elsewhere,
    /// The number of the first element is not 0.
    LowerBound,
    /// The type has fewer dimensions than the step needs.
    Dimension,
}

/// Why the place of a member in its structure is not known (DWARF 5, 5.7.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlaceProblem {
    /// It is in a virtual base class. Only the running program knows where.
    VirtualBase,
    /// The bit offset is not a constant.
    BitOffset,
    /// The offset is too large.
    Offset,
    /// The bit-field is not in the structure.
    BitField,
    /// The place depends on the address in the code (a location list).
    List,
    /// The place is not a constant.
    NotConstant,
    /// Only the running program knows the place (an expression).
    Expression,
}

/// Why a type does not have the part that a step names.
#[derive(Clone, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum NoSuchPart {
    /// `void` has no parts.
    Void,
    /// The type is not a pointer.
    #[strum(serialize = "not_a_pointer")]
    NotPointer {
        /// Name of the type.
        of: String,
    },
    /// The type is not an array.
    #[strum(serialize = "not_an_array")]
    NotArray {
        /// Name of the type.
        of: String,
    },
    /// The type has no members at all.
    NoMembers {
        /// Name of the type.
        of: String,
    },
    /// The type has no member of that name.
    #[strum(serialize = "no_such_member")]
    NoMember {
        /// Name of the type.
        of: String,
        /// Name of the member.
        member: String,
        /// Names of the first members that it has.
        has: Vec<String>,
        /// How many members with a name it has.
        count: usize,
    },
    /// The array has no element of that number.
    #[strum(serialize = "no_such_element")]
    NoElement {
        /// The number.
        index: u64,
        /// How many elements the array has.
        count: u64,
    },
}

/// A value from the time of entry to the function.
#[derive(Clone, Debug, PartialEq, Eq, IntoStaticStr)]
#[non_exhaustive]
pub enum EntryValue {
    /// The value of an expression on entry (`DW_OP_entry_value`).
    #[strum(serialize = "entry_value")]
    Expression(Expr),
    /// An argument as the caller passed it (`DW_OP_GNU_parameter_ref`).
    #[strum(serialize = "parameter_of_caller")]
    Parameter,
}

/// Why the exception tables of a function cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExceptionTableProblem {
    /// The call frame information that names the table cannot be read.
    CallFrame {
        /// The message of the parser.
        parser: String,
    },
    /// The address of the table is given indirectly, through a pointer.
    Indirect,
    /// Nothing is loaded at the address of the table.
    NotLoaded {
        /// The address.
        table: Vaddr,
    },
    /// The table cannot be read.
    Malformed {
        /// The address.
        table: Vaddr,
        /// The message of the parser.
        parser: String,
    },
    /// The table has an encoding that is not supported.
    Encoding {
        /// The address.
        table: Vaddr,
    },
    /// The work limit for this debug information is reached.
    WorkLimit,
}

impl Unsupported {
    /// The stable name of the reason, for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.into()
    }
}

impl NoSuchPart {
    /// The stable name of the reason, for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.into()
    }
}

impl EntryValue {
    /// The stable name of the kind of value, for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.into()
    }
}

impl From<Malformed> for Unsupported {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}
