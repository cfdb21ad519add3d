//! Expressions written by hand for each operation, and random ones that are compared with gimli's
//! evaluator.

use gimli::constants as dw;
use gimli::{EvaluationResult, RunTimeEndian, UnitOffset, Value as Theirs, ValueType as TheirType};
use images::dwarf::DwarfBuilder;
use simple_markers_record::ByteOrder;
use tools::Choices;

use super::super::test_dwarf::{add_frames, frame, with};
use super::super::test_machine::{BIAS, Fake, THREAD, mix};
use super::super::unsupported::{BaseTypeProblem, Malformed, Operation as Code, Unsupported};
use super::super::variable_location::VariableLocation;
use super::*;
use crate::location::{Machine as _, Processor, Register, Source, Unreadable, Value, ValueType};

/// The description of a variable with an expression, as text.
fn said(expression: &[u8]) -> Result<String, Unsupported> {
    let mut build = DwarfBuilder::new(4);
    add_frames(&mut build);
    let types = [
        build.base("int", 4, dw::DW_ATE_signed),
        build.base("double", 8, dw::DW_ATE_float),
        build.base("__int128", 16, dw::DW_ATE_unsigned),
        build.base("DW_ATE_unsigned_1", 1, dw::DW_ATE_unsigned),
    ];
    let function = build.function(&[0x56]);
    let called = build.variable(function, &[0x70, 8]);
    let variable = build.variable(function, expression);
    with(build, |info, die| {
        let offsets = types.map(|of| die(of).offset);
        assert_eq!(offsets, [INT, DOUBLE, INT128, BIT].map(usize::from));
        assert_eq!(die(called).offset, usize::from(CALLED));
        words(&info.variable(die(variable), &frame(die(function), 0x20)).expect("readable"))
    })
}

/// The offsets in the unit of [`said`] of its types and of the variable that is called.
const INT: u8 = 31;
const DOUBLE: u8 = 38;
const INT128: u8 = 48;
const BIT: u8 = 60;
const CALLED: u8 = 98;

fn words(described: &VariableLocation) -> Result<String, Unsupported> {
    let names = Fake { address_size: 8 };
    Ok(match described {
        VariableLocation::At { location, .. } => location.text(&names),
        VariableLocation::Entry { value, .. } => {
            format!("entry: {}", crate::english::dwarf::entry_value(value, &names))
        }
        VariableLocation::Lost { .. } => "lost".to_owned(),
        VariableLocation::Never => "never".to_owned(),
        VariableLocation::Dropped => "dropped".to_owned(),
        VariableLocation::Unsupported { why } => return Err(why.clone()),
    })
}

#[test]
fn every_class_of_operations_is_taken_or_refused_by_name() {
    let cases: &[(&[u8], &str)] = &[
        (&[], "lost"),
        (&[0x55], "%rdi"),
        (&[0x90, 0x43], "%xmm16"),
        (&[0x75, 0], "(%rdi)"),
        (&[0x76, 0x6c], "-0x14(%rbp)"),
        (&[0x76, 0x6c, 0x9f], "%rbp-0x14"),
        (&[0x92, 7, 0x10, 0x9f], "%rsp+0x10"),
        // The frame base is the content of %rbp (clang). The CFA is %rsp + 16 here.
        (&[0x91, 0x6c], "-0x14(%rbp)"),
        (&[0x9c], "0x10(%rsp)"),
        (&[0x75, 0x18, 0x06], "*(*(%rdi+0x18))"),
        (&[0x75, 0x18, 0x94, 4, 0x9f], "*(u32*)(%rdi+0x18)"),
        (&[0x74, 0, 0x0c, 0xff, 0xff, 0xff, 0xff, 0x1a, 0x32, 0x1e, 0x9f], "(%rsi & 0xffffffff) * 2"),
        (&[0x74, 0, 0x33, 0x1e, 0x75, 0, 0x22, 0x9f], "%rsi * 3 + %rdi"),
        (&[0x74, 0, 0x75, 0, 0x22, 0x33, 0x1e, 0x9f], "(%rsi + %rdi) * 3"),
        (&[0x74, 0, 0x75, 0, 0x1c, 0x35, 0x26, 0x9f], "%rsi - %rdi >>s 5"),
        (&[0x74, 0, 0x20, 0x1f, 0x9f], "-~%rsi"),
        (&[0x74, 0, 0x19, 0x9f], "abs(%rsi)"),
        (&[0x74, 0, 0x30, 0x2d, 0x9f], "%rsi < 0"),
        (&[0x35, 0x9f], "= 5"),
        (&[0x09, 0xff, 0x9f], "= -1"),
        (&[0x08, 200, 0x23, 0x10, 0x34, 0x1e, 0x9f], "= 864"),
        // 5 8 over + swap - : 5 - 13 ... Constant parts are computed at once.
        (&[0x35, 0x38, 0x14, 0x22, 0x16, 0x1c, 0x9f], "= 8"),
        (&[0x31, 0x32, 0x33, 0x17, 0x13, 0x13, 0x9f], "= 3"),
        (&[0x35, 0x36, 0x15, 1, 0x9f], "= 5"),
        (&[0x30, 0x75, 0, 0x16, 0x1b, 0x9f], "%rdi / 0"),
        (&[0x75, 0, 0x30, 0x1d, 0x9f], "%rdi % 0"),
        (&[0x03, 0x10, 0x40, 0, 0, 0, 0, 0, 0], "*(0x4010 <table+0x10>)"),
        (&[0x03, 0x10, 0x40, 0, 0, 0, 0, 0, 0, 0x23, 8, 0x9f], "= 0x4018 <table+0x18>"),
        (&[0x08, 0x10, 0x9b], "*(tls+0x10)"),
        (&[0x03, 0x10, 0x40, 0, 0, 0, 0, 0, 0, 0xe0], "*(tls+0x4010)"),
        (&[0x9e, 2, 1, 2], "= 0x201"),
        (&[0xa0, 0x20, 0, 0, 0, 4], "&the variable at .debug_info+0x20+0x4, a pointer that is nowhere"),
        (&[0x55, 0x93, 8, 0x54, 0x93, 8], "[0..8) %rdi, [8..16) %rsi"),
        (&[0x55, 0x93, 8, 0x93, 8], "[0..8) %rdi, [8..16) gone"),
        (&[0x93, 8], "lost"),
        (&[0x55, 0x9d, 3, 0, 0x35, 0x9f, 0x9d, 5, 2], "[bits 0..3) %rdi, [bits 3..8) = 5 from bit 2"),
        (&[0x96, 0x55, 0x96], "%rdi"),
        (&[0x2f, 1, 0, 0x96, 0x55], "%rdi"),
        (&[0x98, CALLED, 0, 0x23, 1], "0x9(%rax)"),
        (&[0xa5, 17, DOUBLE, 0x9f], "(f64)%xmm0"),
        (&[0xf5, 5, INT, 0xf7, 0, 0x9f], "(u64)(i32)%rdi"),
        (&[0xa4, INT, 4, 0xfe, 0xff, 0xff, 0xff, 0xa8, 0, 0x9f], "= -2"),
        (&[0x75, 0, 0xa8, DOUBLE, 0xa9, 0, 0x9f], "bits<u64>((f64)%rdi)"),
        (&[0x75, 8, 0xa6, 4, INT, 0x9f], "*(i32*)(%rdi+0x8)"),
        (&[0xa3, 1, 0x55, 0x9f], "entry: %rdi on entry"),
        (&[0x55, 0x93, 8, 0xf3, 1, 0x54, 0x9f, 0x93, 8], "entry: %rsi on entry"),
        // %rbx is saved just below the CFA, so its value on entry is known.
        (&[0xa3, 1, 0x53, 0x9f], "*(%rsp)"),
        (&[0xa3, 1, 0x5c, 0x9f], "entry: %r12 on entry"),
        (&[0xfa, 1, 0, 0, 0, 0x9f], "entry: an argument as the caller passed it (DW_OP_GNU_parameter_ref)"),
    ];
    for (expression, expected) in cases {
        assert_eq!(said(expression).as_deref(), Ok(*expected), "{expression:02x?}");
    }
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let base_type = |code, problem, name: &str, size| Unsupported::BaseType {
        operation: Code(code),
        problem,
        name: name.to_owned(),
        size,
    };
    let cases: &[(&[u8], Unsupported)] = &[
        (&[0x75, 0, 0x28, 0, 0, 0x9f], Unsupported::Branch),
        (&[0x2f, 0xfd, 0xff], Unsupported::BackwardSkip),
        (&[0x75, 0, 0x75, 0, 0x18], Unsupported::AddressSpace { operation: Code(0x18) }),
        (&[0x97], Unsupported::NoObject),
        (&[0x55, 0xf0], Unsupported::Uninitialised),
        (&[0xfd, 1, 0, 0, 0], Unsupported::Operation { operation: Code(0xfd) }),
        (&[0xe8], Unsupported::UnknownOperation { operation: Code(0xe8) }),
        (
            &[0x90, 33],
            Unsupported::X87Register { operation: Code(0x90), register: Register(33), processor: Processor::X86_64 },
        ),
        (&[0xa5, 5, INT128, 0x9f], base_type(0xa5, BaseTypeProblem::Encoding, "__int128", 16)),
        (&[0x75, 0, 0xa8, BIT, 0x9f], base_type(0xa8, BaseTypeProblem::Bits, "DW_ATE_unsigned_1", 1)),
        (&[0xa5, 5, INT, 0x35, 0x22, 0x9f], Unsupported::MixedTypes),
        (&[0x22], Malformed::StackUnderflow.into()),
        (&[0x75, 0, 0x75, 0, 0x93, 8], Malformed::LeftAtPiece.into()),
        (&[0x55, 0x54], Malformed::AfterEnd.into()),
        (&[0x55, 0x93, 8, 0x54], Malformed::AfterLastPiece.into()),
        (&[0x93, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], Unsupported::TooLarge),
    ];
    for (expression, expected) in cases {
        assert_eq!(said(expression).as_ref(), Err(expected), "{expression:02x?}");
    }
    // 2^200 of them.
    let mut doubled = vec![0x75, 0];
    doubled.extend([0x12, 0x22].repeat(100));
    assert_eq!(said(&doubled), Err(Unsupported::TooLarge));
    let deep = [&[0x75, 0][..], &[0x20; 200]].concat();
    assert!(said(&deep).unwrap().starts_with("*(~~~"));
}

const TYPES: [(u8, u8, TheirType); 10] = [
    (5, 1, TheirType::I8),
    (5, 2, TheirType::I16),
    (5, 4, TheirType::I32),
    (5, 8, TheirType::I64),
    (7, 1, TheirType::U8),
    (7, 2, TheirType::U16),
    (7, 4, TheirType::U32),
    (7, 8, TheirType::U64),
    (4, 4, TheirType::F32),
    (4, 8, TheirType::F64),
];

/// A random expression that mostly keeps types apart. It does not reinterpret a computed float,
/// because the bits of a NaN are not defined.
fn expression(choices: &mut Choices, types: &[u8], address_size: u8) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    // 0 for the generic type, else the index of the type plus 1.
    let mut stack: Vec<usize> = Vec::new();
    for _ in 0..=choices.below(14) {
        match choices.below(13) {
            0 => bytes.extend([0x30 + choices.below(32) as u8]),
            1 => bytes.extend([0x09, choices.below(256) as u8]),
            2 => bytes.extend([0x70 + choices.below(10) as u8, choices.below(128) as u8]),
            3 => bytes.extend([0x91, choices.below(128) as u8]),
            4 | 5 => {
                let of = choices.below(10) as usize;
                if choices.below(2) == 0 {
                    bytes.extend([0xa5, 21 + choices.below(4) as u8, types[of]]);
                } else {
                    let size = TYPES[of].1;
                    bytes.extend([0xa4, types[of], size]);
                    bytes.extend(&mix(choices.below(50)).to_le_bytes()[..usize::from(size)]);
                }
                stack.push(of + 1);
                continue;
            }
            6 if !stack.is_empty() => {
                bytes.extend([[0x19, 0x1f, 0x20][choices.below(3) as usize]]);
                continue;
            }
            7 if stack.last().is_some_and(|of| *of < 9) => {
                bytes.extend(if choices.below(2) == 0 {
                    vec![6]
                } else {
                    vec![0x94, 1 + choices.below(u64::from(address_size)) as u8]
                });
                stack.pop();
            }
            8 if !stack.is_empty() => {
                let from = stack.pop().unwrap_or(0);
                // gimli treats negative integers as large unsigned ones when it converts them to a
                // float.
                let to = choices.below(if (1..=4).contains(&from) { 9 } else { 11 }) as usize;
                let reinterpret = from < 9 && choices.below(3) == 0;
                bytes.extend([if reinterpret { 0xa9 } else { 0xa8 }, if to == 0 { 0 } else { types[to - 1] }]);
                stack.push(to);
                continue;
            }
            9 if stack.last().is_some_and(|of| *of < 9) => {
                bytes.extend([0x23, choices.below(128) as u8]);
                continue;
            }
            10 if stack.len() > 1 && choices.below(4) == 0 => {
                bytes.extend([0x16]);
                let last = stack.len() - 1;
                stack.swap(last, last - 1);
                continue;
            }
            _ if stack.len() > 1 => {
                let operations = [
                    0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x21, 0x22, 0x24, 0x25, 0x26, 0x27, 0x29, 0x2a, 0x2b, 0x2c, 0x2d,
                    0x2e,
                ];
                let (b, a) = (stack.pop().unwrap_or(0), stack.pop().unwrap_or(0));
                if a > 8 && (1..=4).contains(&b) {
                    bytes.extend([0xa8, 0]);
                }
                if a != b && choices.below(8) != 0 {
                    // Converts to the same type first.
                    bytes.extend([0xa8, if a == 0 { 0 } else { types[a - 1] }]);
                }
                let operation = operations[choices.below(17) as usize];
                bytes.extend([operation]);
                stack.push(if operation >= 0x29 { 0 } else { a });
                continue;
            }
            _ => continue,
        }
        stack.push(0);
    }
    match choices.below(4) {
        0 => {}
        1 => bytes.extend([0x9f, 0x93, 1]),
        _ => bytes.push(0x9f),
    }
    (bytes, stack.len() > 1)
}

/// The result of gimli's evaluator.
fn theirs(
    fake: &Fake,
    bytes: &[u8],
    encoding: Encoding,
    types: &[u8],
) -> gimli::Result<gimli::Piece<gimli::EndianSlice<'static, RunTimeEndian>>> {
    let number = |bytes: &[u8]| bytes.iter().take(8).rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    let base = |offset: UnitOffset| {
        let index = types.iter().position(|of| usize::from(*of) == offset.0);
        index.map_or(TheirType::Generic, |index| TYPES[index].2)
    };
    let value = |of: TheirType, bytes: &[u8]| match of {
        TheirType::F32 => Ok(Theirs::F32(f32::from_bits(number(bytes) as u32))),
        TheirType::F64 => Ok(Theirs::F64(f64::from_bits(number(bytes)))),
        of => Theirs::from_u64(of, number(bytes)),
    };
    let register = |register: u16| fake.register(Register(register)).unwrap_or_default();
    let bytes = gimli::EndianSlice::new(bytes.to_vec().leak() as &'static [u8], RunTimeEndian::Little);
    let mut evaluation = Expression(bytes).evaluation(encoding);
    let mut result = evaluation.evaluate()?;
    loop {
        result = match result {
            EvaluationResult::Complete => return Ok(evaluation.result()[0]),
            EvaluationResult::RequiresMemory { address, size, base_type, .. } => {
                let mut memory = vec![0; usize::from(size)];
                // gimli extends negative integers to 64 bits, even if addresses are smaller.
                fake.read(crate::address::RuntimeAddress(address & mask(fake.address_size)), &mut memory);
                evaluation.resume_with_memory(value(base(base_type), &memory)?)?
            }
            EvaluationResult::RequiresRegister { register: wanted, base_type } => {
                evaluation.resume_with_register(value(base(base_type), &register(wanted.0))?)?
            }
            EvaluationResult::RequiresFrameBase => evaluation.resume_with_frame_base(number(&register(6)))?,
            EvaluationResult::RequiresTls(offset) => evaluation.resume_with_tls(offset.wrapping_add(THREAD))?,
            EvaluationResult::RequiresRelocatedAddress(address) => {
                evaluation.resume_with_relocated_address(address.wrapping_add(BIAS))?
            }
            EvaluationResult::RequiresBaseType(offset) => evaluation.resume_with_base_type(base(offset))?,
            other => panic!("{other:?}"),
        }
    }
}

/// How often both gave the same value, both refused, and only ours refused because the result is
/// undefined.
fn agreements(address_size: u8, seeds: std::ops::Range<u64>) -> [u32; 3] {
    let fake = Fake { address_size };
    let unit = || {
        let mut build = DwarfBuilder::with_encoding(4, address_size, ByteOrder::Little);
        let types = TYPES.map(|(encoding, size, _)| build.base("t", size.into(), gimli::DwAte(encoding)));
        let function = build.function(&[0x56]);
        (build, types, function)
    };
    // The types are first in the unit, so variables do not change their offsets.
    let (build, types, _) = unit();
    let written = build.write();
    let types = types.map(|of| u8::try_from(written.offset(of)).expect("near the start of the unit"));
    let mut agreed = [0; 3];
    for seed in seeds {
        let mut choices = Choices::new(seed);
        let (mut build, _, function) = unit();
        let expressions: Vec<_> = (0..200).map(|_| expression(&mut choices, &types, address_size)).collect();
        let variables: Vec<_> = expressions.iter().map(|(bytes, _)| build.variable(function, bytes)).collect();
        with(build, |info, die| {
            let encoding = info.units.unit(0).expect("a unit").encoding();
            for ((bytes, leaves), variable) in expressions.iter().zip(variables) {
                let described = info.variable(die(variable), &frame(die(function), 0x20)).expect("readable");
                let theirs = theirs(&fake, bytes, encoding, &types);
                let which = compare(&fake, &described, &theirs, *leaves)
                    .unwrap_or_else(|| panic!("{bytes:02x?}: {described:?} {theirs:?}"));
                agreed[which] += 1;
            }
        });
    }
    agreed
}

fn compare<R: gimli::Reader>(
    fake: &Fake,
    ours: &VariableLocation,
    theirs: &gimli::Result<gimli::Piece<R>>,
    leaves: bool,
) -> Option<usize> {
    let location = match (ours, theirs) {
        (VariableLocation::Unsupported { .. } | VariableLocation::Lost { .. }, Err(_)) => return Some(1),
        (VariableLocation::Unsupported { why: Unsupported::Malformed(Malformed::LeftAtPiece) }, Ok(_)) => {
            return Some(1);
        }
        (VariableLocation::At { location, .. }, _) => location,
        _ => return None,
    };
    let piece = location.pieces.first()?;
    match (&piece.source, theirs) {
        (Source::Memory(expr), Ok(gimli::Piece { location: gimli::Location::Address { address }, .. })) => {
            match expr.evaluate(fake) {
                Ok(value) => (value.bits == *address & mask(fake.address_size)).then_some(0),
                Err(error) => (error == Unreadable::Undefined).then_some(2),
            }
        }
        (Source::Value(expr), Ok(gimli::Piece { location: gimli::Location::Value { value }, .. })) => {
            match expr.evaluate(fake) {
                Ok(ours) => same(ours, *value, fake.address_size).then_some(0),
                Err(error) => (error == Unreadable::Undefined).then_some(2),
            }
        }
        (Source::Memory(expr) | Source::Value(expr), Err(error)) => {
            let expected = match error {
                gimli::Error::DivisionByZero => Unreadable::DivisionByZero,
                _ => Unreadable::Types,
            };
            match expr.evaluate(fake) {
                Err(Unreadable::Undefined) => Some(2),
                Err(error) => (error == expected).then_some(1),
                Ok(_) => {
                    let fails = matches!(error, gimli::Error::DivisionByZero | gimli::Error::InvalidShiftExpression);
                    (leaves && fails).then_some(2)
                }
            }
        }
        _ => None,
    }
}

fn mask(address_size: u8) -> u64 {
    if address_size == 4 { u64::from(u32::MAX) } else { u64::MAX }
}

fn same(ours: Value, theirs: Theirs, address_size: u8) -> bool {
    let (of, bits) = match theirs {
        Theirs::Generic(value) => (ValueType::Generic, value & mask(address_size)),
        Theirs::I8(value) => (ValueType::Signed(1), u64::from(value as u8)),
        Theirs::I16(value) => (ValueType::Signed(2), u64::from(value as u16)),
        Theirs::I32(value) => (ValueType::Signed(4), u64::from(value as u32)),
        Theirs::I64(value) => (ValueType::Signed(8), value as u64),
        Theirs::U8(value) => (ValueType::Unsigned(1), value.into()),
        Theirs::U16(value) => (ValueType::Unsigned(2), value.into()),
        Theirs::U32(value) => (ValueType::Unsigned(4), value.into()),
        Theirs::U64(value) => (ValueType::Unsigned(8), value),
        Theirs::F32(value) => {
            let number = f32::from_bits(ours.bits as u32);
            return ours.of == ValueType::Float(4) && (number == value || number.is_nan() && value.is_nan());
        }
        Theirs::F64(value) => {
            let number = f64::from_bits(ours.bits);
            return ours.of == ValueType::Float(8) && (number == value || number.is_nan() && value.is_nan());
        }
    };
    (ours.of, ours.bits) == (of, bits)
}

#[test]
fn the_evaluator_of_gimli_comes_to_the_same() {
    for address_size in [8, 4] {
        let [same, refused, undefined] = agreements(address_size, 0..40);
        assert!(same > 2500 && refused > 500 && undefined < 500, "{same} {refused} {undefined}");
    }
}

/// Random bytes cause no panic: not in an expression, not in a location list, and not when the
/// result is evaluated or written.
#[test]
fn arbitrary_bytes_are_taken_or_refused() {
    let fake = Fake { address_size: 8 };
    let mut taken = 0;
    for seed in 0..60 {
        let mut choices = Choices::new(seed);
        let version = [4, 5][choices.below(2) as usize];
        let lists = if version >= 5 { ".debug_loclists" } else { ".debug_loc" };
        let mut build = DwarfBuilder::new(version);
        add_frames(&mut build);
        build.base("int", 4, dw::DW_ATE_signed);
        // Sometimes the frame base is random too.
        let function = build.function(if seed % 3 == 0 { &[0x9c] } else { &[0x91, 8] });
        let mut variables = Vec::new();
        for _ in 0..200 {
            let length = choices.below(40);
            let bytes: Vec<u8> = (0..length).map(|_| choices.below(256) as u8).collect();
            variables.push(build.variable(function, &bytes));
            if choices.below(4) == 0 {
                let offset = build.append(lists, &[4, 0, 0x40, bytes.len() as u8]);
                build.append(lists, &bytes);
                variables.push(build.listed(function, offset));
            }
        }
        with(build, |info, die| {
            for variable in variables {
                let Ok(described) = info.variable(die(variable), &frame(die(function), 0x20)) else { continue };
                let _ = info.variable_ranges(die(variable));
                if let VariableLocation::At { location, .. } = &described {
                    assert_ne!(location.text(&fake), "");
                    let _ = location.evaluate(&fake, 24);
                    let _ = location.evaluate_part(&fake, 24, 3..20);
                    taken += 1;
                }
            }
        });
    }
    assert!(taken > 100, "{taken}");
}
