//! What `dwarf/` finds out, in English.

use std::borrow::Cow;

use crate::dwarf::{
    ArrayProblem, BaseTypeProblem, ConstantProblem, EntryValue, ExceptionTableProblem, FrameBaseProblem, Malformed,
    NoSuchPart, Operation, PlaceProblem, Unsupported,
};
use crate::error::DwarfProblem;
use crate::location::{LocationNames, MAX_NODES};

/// What is wrong with debug information.
pub(crate) fn problem(problem: &DwarfProblem) -> String {
    match problem {
        DwarfProblem::Parser { parser } => parser.clone(),
        DwarfProblem::WorkLimit => "more work than debug information of this size warrants".to_owned(),
        DwarfProblem::NoSuchUnit => "no such unit".to_owned(),
        DwarfProblem::FileNotSearched => "a file that was not searched for".to_owned(),
        DwarfProblem::Unit { unit, problem } => format!("unit {unit}: {}", self::problem(problem)),
        DwarfProblem::UnitNotRead(error) => format!("{error}, its unit is not read"),
        DwarfProblem::UnitHeader { offset, parser } => {
            format!(".debug_info at {offset:#x}: {parser}, units from there on are not read")
        }
        DwarfProblem::LineProgram { unit, parser } => format!("line program of unit {unit}: {parser}"),
        DwarfProblem::Abbreviations { offset, parser } => format!(".debug_abbrev at {offset:#x}: {parser}"),
        DwarfProblem::ManyAttributes { offset, most } => {
            format!(".debug_abbrev at {offset:#x}: an abbreviation of more than {most} attributes")
        }
        DwarfProblem::EndlessOrigins => {
            "a chain of DW_AT_abstract_origin and DW_AT_specification that does not end".to_owned()
        }
        DwarfProblem::Reference => "a reference that leads nowhere".to_owned(),
        DwarfProblem::EndlessType => "a type that is defined by itself".to_owned(),
        DwarfProblem::DeepType => "a type that is nested too deep".to_owned(),
        DwarfProblem::DeepStructure => "a structure that is nested too deep".to_owned(),
        DwarfProblem::ManyRanges => "more than 2^32 ranges or variables".to_owned(),
        DwarfProblem::Discriminant => "a discriminant that is not a constant".to_owned(),
        DwarfProblem::DiscriminantList => "a list of discriminants of an unknown form".to_owned(),
        DwarfProblem::LocationListOffset => "a location list at an unknown offset".to_owned(),
        DwarfProblem::LocationList { offset, section, parser } => {
            format!("the location list at {offset:#x} of {section}: {parser}")
        }
        DwarfProblem::InSplitFile { path, offset, problem } => {
            format!("{path} at {offset:#x}: {}", self::problem(problem))
        }
        DwarfProblem::InSupplementaryFile { offset, problem } => {
            format!("supplementary file at {offset:#x}: {}", self::problem(problem))
        }
    }
}

/// Why a location, a value or a step to a part is not supported.
pub(crate) fn unsupported(why: &Unsupported) -> String {
    match why {
        Unsupported::TooLarge => format!("a location of more than {MAX_NODES} steps"),
        Unsupported::Malformed(what) => format!("a malformed location: {}", malformed(what)),
        Unsupported::Branch => "DW_OP_bra: a location that branches".to_owned(),
        Unsupported::BackwardSkip => "DW_OP_skip: a location that branches backwards".to_owned(),
        Unsupported::AddressSpace { operation } => format!("{}: more than one address space", name(*operation)),
        Unsupported::X87Register { operation, register, processor } => {
            format!("{}: {}, an x87 register", name(*operation), register.name(*processor))
        }
        Unsupported::NoObject => "DW_OP_push_object_address: there is no object".to_owned(),
        Unsupported::Uninitialised => "DW_OP_GNU_uninit: a variable without a value yet".to_owned(),
        Unsupported::Operation { operation } => name(*operation).into_owned(),
        Unsupported::UnknownOperation { operation } => format!("the unknown operation {:#x}", operation.0),
        Unsupported::CalledList { operation } => format!("{}: to an entry with a location list", name(*operation)),
        Unsupported::BaseType { operation, problem, name: type_name, size } => {
            let what = match problem {
                BaseTypeProblem::Bits => "a type of bits,",
                BaseTypeProblem::ByteOrder => "a type with a byte order of its own,",
                BaseTypeProblem::Encoding => "a type",
            };
            format!("{}: {what} `{type_name}` of {}", name(*operation), bytes(*size))
        }
        Unsupported::MixedTypes => "a computation that mixes types".to_owned(),
        Unsupported::FloatOperand { operation } => format!("{} of a floating-point number", name(*operation)),
        Unsupported::NoCallFrame { pc } => format!("DW_OP_call_frame_cfa: no call frame information for {pc}"),
        Unsupported::CallFrame { pc, parser } => format!("call frame information for {pc}: {parser}"),
        Unsupported::FrameBase(problem) => format!("DW_OP_fbreg: {}", frame_base(*problem)),
        Unsupported::LocationForm => "a location of a form that locations do not have".to_owned(),
        Unsupported::ListEntry { kind } => format!("location list entry of kind {kind:#x}"),
        Unsupported::AddressOrValue => {
            "LLVM before DWARF 4 does not say whether this is where the value is, or the value itself".to_owned()
        }
        Unsupported::Constant(problem) => format!("DW_AT_const_value: {}", constant(*problem)),
        Unsupported::SplitUnit { file } => format!("the debug information is in {file}, which was not found"),
        Unsupported::PointerAddressSpace => "a pointer into an address space of its own".to_owned(),
        Unsupported::UnknownTarget { of } => format!("`{of}` points at something of no known type"),
        Unsupported::CodePointer => "a pointer to code".to_owned(),
        Unsupported::PointerSize => "a pointer of no known size".to_owned(),
        Unsupported::OnlyDeclared { of } => format!("`{of}` is only declared in this unit"),
        Unsupported::SeveralVariants { of, variants, count } => {
            format!("`{of}` has several variants ({}), and only one of them is there", listed(variants, *count))
        }
        Unsupported::ElementSize => "elements of no known size".to_owned(),
        Unsupported::ElementType => "elements of no known type".to_owned(),
        Unsupported::TextElement => "text has no elements".to_owned(),
        Unsupported::Array(problem) => array(*problem).to_owned(),
        Unsupported::MemberPlace { member, problem } => format!("member `{member}` is at {}", place(*problem)),
        Unsupported::MemberPlaceOfBase { member, problem } => format!("`{member}` may be in {}", place(*problem)),
        Unsupported::VariantPlace(problem) => place(*problem).to_owned(),
        Unsupported::MemberType { member } => format!("member `{member}` has no type"),
        Unsupported::AmbiguousMember { member } => format!("`{member}` is a member of several base classes"),
        Unsupported::MemberOffset => "an offset that is too large".to_owned(),
        Unsupported::UnsizedTarget { of } => {
            format!("{}points at something of no fixed size: mark the pointer itself", quoted(of.as_deref()))
        }
        Unsupported::TraitObject { of: Some(of) } => {
            format!("`{of}` points at a trait object, whose type only the running program knows")
        }
        Unsupported::TraitObject { of: None } => "points at a trait object: mark the pointer itself".to_owned(),
    }
}

/// Why a type has no part that a step asks for.
pub(crate) fn no_such_part(why: &NoSuchPart) -> String {
    match why {
        NoSuchPart::Void => "`void` has no parts".to_owned(),
        NoSuchPart::NotPointer { of } => format!("`{of}` is not a pointer"),
        NoSuchPart::NotArray { of } => format!("`{of}` is not an array"),
        NoSuchPart::NoMembers { of } => format!("`{of}` has no members"),
        NoSuchPart::NoMember { of, member, has, count } => {
            let has = match has.is_empty() {
                true => "it has none".to_owned(),
                false => format!("it has {}", listed(has, *count)),
            };
            format!("`{of}` has no member `{member}`: {has}")
        }
        NoSuchPart::NoElement { index, count } => format!("there is no element {index} in an array of {count}"),
    }
}

/// A value from the time of entry to the function: `%rdi on entry`.
pub(crate) fn entry_value(value: &EntryValue, names: &dyn LocationNames) -> String {
    match value {
        EntryValue::Expression(expression) => format!("{} on entry", expression.text(names)),
        EntryValue::Parameter => "an argument as the caller passed it (DW_OP_GNU_parameter_ref)".to_owned(),
    }
}

/// Why the exception tables of a function cannot be read.
pub(crate) fn exception_table(why: &ExceptionTableProblem) -> String {
    match why {
        ExceptionTableProblem::CallFrame { parser } => format!("call frame information: {parser}"),
        ExceptionTableProblem::Indirect => "an exception table behind a pointer".to_owned(),
        ExceptionTableProblem::NotLoaded { table } => format!("no exception table at {table}"),
        ExceptionTableProblem::Malformed { table, parser } => format!("the exception table at {table}: {parser}"),
        ExceptionTableProblem::Encoding { table } => {
            format!("the exception table at {table} has an encoding that is not known")
        }
        ExceptionTableProblem::WorkLimit => "more work than debug information of this size warrants".to_owned(),
    }
}

fn malformed(what: &Malformed) -> String {
    match what {
        Malformed::Parser(parser) => parser.clone(),
        Malformed::FrameBaseOfItself => "a frame base that counts from itself".to_owned(),
        Malformed::PiecesForValue => "pieces where a value is expected".to_owned(),
        Malformed::LocationForValue => "a location where a value is expected".to_owned(),
        Malformed::EmptyStack => "an empty stack".to_owned(),
        Malformed::StackUnderflow => "too few values on the stack".to_owned(),
        Malformed::Nesting => "expressions are nested too deep".to_owned(),
        Malformed::AfterEnd => "operations after the end of a location".to_owned(),
        Malformed::AfterLastPiece => "something after the last piece".to_owned(),
        Malformed::LeftAtPiece => "values left on the stack at a piece".to_owned(),
        Malformed::FloatAddress => "a floating-point number for an address".to_owned(),
        Malformed::Size { operation, bytes: count, type_size } => {
            format!("{} of {} for a type of {type_size}", name(*operation), bytes(*count))
        }
        Malformed::IndexOutsideUnit => "an index of an address outside of any unit".to_owned(),
        Malformed::TypeOutsideUnit => "a type outside of any unit".to_owned(),
        Malformed::NoCallee { operation } => format!("{} to an entry that is not there", name(*operation)),
        Malformed::NoBaseType { operation } => format!("{}: a type that is no base type", name(*operation)),
    }
}

fn frame_base(problem: FrameBaseProblem) -> &'static str {
    match problem {
        FrameBaseProblem::NoFunction => "the function is not described",
        FrameBaseProblem::NoAttribute => "the function has no DW_AT_frame_base",
        FrameBaseProblem::Pieces => "a DW_AT_frame_base in pieces",
        FrameBaseProblem::NotHere => "no DW_AT_frame_base for the address",
    }
}

fn constant(problem: ConstantProblem) -> String {
    match problem {
        ConstantProblem::TypeSize => "a number for a type that has no size, or more than 16 bytes".to_owned(),
        ConstantProblem::Number { number, size } => format!("{number:#x} in {}", bytes(size as u64)),
        ConstantProblem::String { size } => format!("a string of another length than {}", bytes(size)),
        ConstantProblem::Block { bytes: count, size } => format!("{} for a type of {size}", bytes(count)),
        ConstantProblem::Form => "a form that values do not have".to_owned(),
    }
}

/// How an array is laid out that is not followed.
pub(crate) fn array(problem: ArrayProblem) -> &'static str {
    match problem {
        ArrayProblem::Stride => "an array with a stride of its own",
        ArrayProblem::Elsewhere => "an array whose elements are elsewhere",
        ArrayProblem::LowerBound => "an array whose first element does not have the number 0",
        ArrayProblem::Dimension => "not an array",
    }
}

/// Why the place of a member is not known.
pub(crate) fn place(problem: PlaceProblem) -> &'static str {
    match problem {
        PlaceProblem::VirtualBase => "a virtual base class, whose place only the running program knows",
        PlaceProblem::BitOffset => "a bit offset that is not a constant",
        PlaceProblem::Offset => "an offset that is too large",
        PlaceProblem::BitField => "a bit-field whose place is not in the structure",
        PlaceProblem::List => "a place in the structure that depends on the address in the code (a location list)",
        PlaceProblem::NotConstant => "a place in the structure that is not a constant",
        PlaceProblem::Expression => "a place in the structure that only the running program knows (an expression)",
    }
}

fn name(operation: Operation) -> Cow<'static, str> {
    operation.name().map_or_else(|| format!("operation {:#x}", operation.0).into(), Cow::Borrowed)
}

fn bytes(count: u64) -> String {
    format!("{count} byte{}", if count == 1 { "" } else { "s" })
}

fn quoted(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!("`{name}` "))
}

/// The first names of a list of `count`.
fn listed(names: &[String], count: usize) -> String {
    let more = if count > names.len() { ", .." } else { "" };
    format!("{}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Vaddr;
    use crate::location::{Processor, Register};

    #[test]
    fn reasons_name_the_operation() {
        let base_type = |code, problem, name: &str, size| Unsupported::BaseType {
            operation: Operation(code),
            problem,
            name: name.to_owned(),
            size,
        };
        let x87 = Unsupported::X87Register {
            operation: Operation(0x90),
            register: Register(33),
            processor: Processor::X86_64,
        };
        let cases = [
            (Unsupported::Branch, "DW_OP_bra: a location that branches"),
            (Unsupported::BackwardSkip, "DW_OP_skip: a location that branches backwards"),
            (Unsupported::AddressSpace { operation: Operation(0x18) }, "DW_OP_xderef: more than one address space"),
            (Unsupported::NoObject, "DW_OP_push_object_address: there is no object"),
            (Unsupported::Uninitialised, "DW_OP_GNU_uninit: a variable without a value yet"),
            (Unsupported::Operation { operation: Operation(0xfd) }, "DW_OP_GNU_variable_value"),
            (Unsupported::UnknownOperation { operation: Operation(0xe8) }, "the unknown operation 0xe8"),
            (x87, "DW_OP_regx: %st(0), an x87 register"),
            (
                base_type(0xa5, BaseTypeProblem::Encoding, "__int128", 16),
                "DW_OP_regval_type: a type `__int128` of 16 bytes",
            ),
            (
                base_type(0xa8, BaseTypeProblem::Bits, "DW_ATE_unsigned_1", 1),
                "DW_OP_convert: a type of bits, `DW_ATE_unsigned_1` of 1 byte",
            ),
            (Unsupported::MixedTypes, "a computation that mixes types"),
            (Malformed::StackUnderflow.into(), "a malformed location: too few values on the stack"),
            (Malformed::LeftAtPiece.into(), "a malformed location: values left on the stack at a piece"),
            (Malformed::AfterEnd.into(), "a malformed location: operations after the end of a location"),
            (Malformed::AfterLastPiece.into(), "a malformed location: something after the last piece"),
            (Unsupported::TooLarge, "a location of more than 4096 steps"),
            (
                Unsupported::NoCallFrame { pc: Vaddr(0x2000) },
                "DW_OP_call_frame_cfa: no call frame information for 0x2000",
            ),
            (Unsupported::FrameBase(FrameBaseProblem::NoFunction), "DW_OP_fbreg: the function is not described"),
            (Unsupported::ListEntry { kind: 0x77 }, "location list entry of kind 0x77"),
            (
                Unsupported::Constant(ConstantProblem::Number { number: 0x100, size: 1 }),
                "DW_AT_const_value: 0x100 in 1 byte",
            ),
            (
                Unsupported::Constant(ConstantProblem::Block { bytes: 2, size: 4 }),
                "DW_AT_const_value: 2 bytes for a type of 4",
            ),
        ];
        for (why, expected) in cases {
            assert_eq!(unsupported(&why), expected);
        }
    }

    #[test]
    fn reasons_name_the_type_and_its_parts() {
        let names = |names: [&str; 2]| names.map(str::to_owned).to_vec();
        assert_eq!(unsupported(&Unsupported::CodePointer), "a pointer to code");
        let member = Unsupported::MemberPlace { member: "odd".to_owned(), problem: PlaceProblem::Expression };
        assert_eq!(
            unsupported(&member),
            "member `odd` is at a place in the structure that only the running program knows (an expression)"
        );
        let declared = Unsupported::OnlyDeclared { of: "struct t".to_owned() };
        assert_eq!(unsupported(&declared), "`struct t` is only declared in this unit");
        let variants = names(["None", "Some"]);
        let variants = Unsupported::SeveralVariants { of: "Option<&Queue>".to_owned(), variants, count: 2 };
        assert_eq!(
            unsupported(&variants),
            "`Option<&Queue>` has several variants (None, Some), and only one of them is there"
        );
        let element = NoSuchPart::NoElement { index: 3, count: 3 };
        assert_eq!(no_such_part(&element), "there is no element 3 in an array of 3");
        let members = NoSuchPart::NoMembers { of: "short[2][3]".to_owned() };
        assert_eq!(no_such_part(&members), "`short[2][3]` has no members");
        let pointer = NoSuchPart::NotPointer { of: "short".to_owned() };
        assert_eq!(no_such_part(&pointer), "`short` is not a pointer");
        let (of, member, has) = ("struct s".to_owned(), "gone".to_owned(), names(["t", "odd"]));
        let absent = NoSuchPart::NoMember { of, member, has, count: 2 };
        assert_eq!(no_such_part(&absent), "`struct s` has no member `gone`: it has t, odd");
    }
}
