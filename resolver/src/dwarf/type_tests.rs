//! Tests of reading types.

use gimli::constants as dw;
use gimli::write::{Address, AttributeValue as Attr, UnitEntryId};
use images::dwarf::{DwarfBuilder, bytes, name, typed};
use simple_markers_record::ByteOrder;

use super::test_dwarf::with;
use super::{DebugInfo, NoSuchPart, PlaceProblem, Projection, Step, TypeRef, Unsupported};
use crate::types::{Language, OpaqueReason, Shape, Type};

/// A unit of a language.
fn unit(version: u16, language: gimli::DwLang) -> DwarfBuilder {
    unit_of_order(version, language, ByteOrder::Little)
}

fn unit_of_order(version: u16, language: gimli::DwLang, order: ByteOrder) -> DwarfBuilder {
    let mut builder = DwarfBuilder::with_encoding(version, 8, order);
    builder.set(builder.root(), dw::DW_AT_language, Attr::Language(language));
    builder
}

/// Adds a variable `x` of the type, and runs a check on the type.
fn check(mut builder: DwarfBuilder, of: UnitEntryId, check: impl FnOnce(&DebugInfo<'_>, TypeRef)) {
    let variable = builder.entry(builder.root(), dw::DW_TAG_variable, &[name("x"), typed(of)]);
    with(builder, |info, die| check(info, info.type_of(die(variable)).unwrap().unwrap()));
}

fn member(called: &str) -> Step {
    Step::Member(called.to_owned())
}

fn refusal(projection: Projection) -> Unsupported {
    match projection {
        Projection::Refused(why) => why,
        other => panic!("{other:?}"),
    }
}

fn absence(projection: Projection) -> NoSuchPart {
    match projection {
        Projection::Absent(why) => why,
        other => panic!("{other:?}"),
    }
}

fn part(projection: Projection) -> (u64, Option<u64>, TypeRef, bool) {
    match projection {
        Projection::Part { bit_offset, bit_size, of, again } => (bit_offset, bit_size, of, again),
        other => panic!("{other:?}"),
    }
}

fn through(projection: Projection) -> (u64, u64, u64, TypeRef, bool) {
    match projection {
        Projection::Through { pointer_bit_offset, pointer_size, offset, of, again } => {
            (pointer_bit_offset, pointer_size, offset, of, again)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn bit_fields_of_every_version_are_counted_alike() {
    // struct { int a:3; int b:5; } as gcc -gdwarf-2 describes it, and as -gdwarf-5 does.
    for (big, places) in [(false, [0, 3]), (true, [0, 3])] {
        let order = if big { ByteOrder::Big } else { ByteOrder::Little };
        let mut builder = unit_of_order(2, dw::DW_LANG_C89, order);
        let int = builder.base("int", 4, dw::DW_ATE_signed);
        let outer = builder.entry(builder.root(), dw::DW_TAG_structure_type, &[name("s"), bytes(4)]);
        let from_top = if big { [0, 3] } else { [29, 24] };
        for ((called, size), offset) in [("a", 3), ("b", 5)].into_iter().zip(from_top) {
            let id = builder.entry(outer, dw::DW_TAG_member, &[name(called), typed(int), bytes(4)]);
            builder.set(id, dw::DW_AT_bit_size, Attr::Udata(size));
            builder.set(id, dw::DW_AT_bit_offset, Attr::Udata(offset));
            // DW_OP_plus_uconst 4.
            builder.set(id, dw::DW_AT_data_member_location, Attr::Block(vec![0x23, 4]));
        }
        check(builder, outer, |info, of| {
            for ((called, size), place) in [("a", 3), ("b", 5)].into_iter().zip(places) {
                let (bit_offset, bit_size, ..) = part(info.step(of, &member(called)).unwrap());
                assert_eq!((bit_offset, bit_size), (32 + place, Some(size)), "{called}, big-endian: {big}");
            }
        });
    }
    let mut builder = unit(5, dw::DW_LANG_C11);
    let int = builder.base("int", 4, dw::DW_ATE_signed);
    let outer = builder.entry(builder.root(), dw::DW_TAG_structure_type, &[name("s"), bytes(4)]);
    let place = [(dw::DW_AT_bit_size, Attr::Udata(5)), (dw::DW_AT_data_bit_offset, Attr::Udata(35))];
    builder.entry(outer, dw::DW_TAG_member, &[&[name("b"), typed(int)], &place[..]].concat());
    check(builder, outer, |info, of| {
        let (bit_offset, bit_size, ..) = part(info.step(of, &member("b")).unwrap());
        assert_eq!((bit_offset, bit_size), (35, Some(5)));
    });
}

#[test]
fn names_are_written_as_in_c() {
    let mut builder = unit(4, dw::DW_LANG_C99);
    let int = builder.base("long unsigned int", 8, dw::DW_ATE_unsigned);
    let tag = builder.entry(builder.root(), dw::DW_TAG_structure_type, &[name("node"), bytes(8)]);
    let constant = builder.entry(builder.root(), dw::DW_TAG_const_type, &[typed(tag)]);
    let pointer = builder.entry(builder.root(), dw::DW_TAG_pointer_type, &[bytes(8), typed(constant)]);
    let fixed = builder.entry(builder.root(), dw::DW_TAG_const_type, &[typed(pointer)]);
    let array = builder.entry(builder.root(), dw::DW_TAG_array_type, &[typed(fixed)]);
    builder.entry(array, dw::DW_TAG_subrange_type, &[(dw::DW_AT_upper_bound, Attr::Udata(1))]);
    builder.entry(array, dw::DW_TAG_subrange_type, &[(dw::DW_AT_count, Attr::Udata(3))]);
    let function = builder.entry(
        builder.root(),
        dw::DW_TAG_subroutine_type,
        &[typed(int), (dw::DW_AT_prototyped, Attr::Flag(true))],
    );
    builder.entry(function, dw::DW_TAG_formal_parameter, &[typed(array)]);
    let code = builder.entry(builder.root(), dw::DW_TAG_pointer_type, &[bytes(8), typed(function)]);
    check(builder, code, |info, of| {
        assert_eq!(info.type_name(Some(of)).unwrap(), "unsigned long (*)(const struct node *const[2][3])");
        assert_eq!(info.type_name(None).unwrap(), "void");
        assert_eq!(info.type_size(of).unwrap(), Some(8));
        assert_eq!(info.language(of.die), Language::C);
        assert_eq!(refusal(info.step(of, &Step::Deref).unwrap()), Unsupported::CodePointer);
        assert_eq!(info.describe_type(Some(of), 1).unwrap().shape, Shape::Function);
    });
}

#[test]
fn arrays_of_arrays_are_indexed_one_by_one() {
    let mut builder = unit(5, dw::DW_LANG_C11);
    let short = builder.base("short", 2, dw::DW_ATE_signed);
    let array = builder.entry(builder.root(), dw::DW_TAG_array_type, &[typed(short)]);
    builder.entry(array, dw::DW_TAG_subrange_type, &[(dw::DW_AT_upper_bound, Attr::Udata(1))]);
    builder.entry(array, dw::DW_TAG_subrange_type, &[(dw::DW_AT_upper_bound, Attr::Udata(2))]);
    check(builder, array, |info, of| {
        assert_eq!(info.type_size(of).unwrap(), Some(12));
        let (bit_offset, _, row, _) = part(info.step(of, &Step::Index(1)).unwrap());
        assert_eq!((bit_offset, info.type_size(row).unwrap()), (48, Some(6)));
        assert_eq!(info.type_name(Some(row)).unwrap(), "short[3]");
        let (bit_offset, _, element, _) = part(info.step(row, &Step::Index(2)).unwrap());
        assert_eq!((bit_offset, info.type_name(Some(element)).unwrap().as_str()), (32, "short"));
        assert_eq!(absence(info.step(row, &Step::Index(3)).unwrap()), NoSuchPart::NoElement { index: 3, count: 3 });
        let of_array = || "short[2][3]".to_owned();
        assert_eq!(absence(info.step(of, &member("x")).unwrap()), NoSuchPart::NoMembers { of: of_array() });
        assert_eq!(
            absence(info.step(element, &Step::Deref).unwrap()),
            NoSuchPart::NotPointer { of: "short".to_owned() }
        );
    });
}

#[test]
fn members_of_anonymous_unions_and_of_declared_structures() {
    let mut builder = unit(5, dw::DW_LANG_C11);
    let int = builder.base("int", 4, dw::DW_ATE_signed);
    let union = builder.entry(builder.root(), dw::DW_TAG_union_type, &[bytes(4)]);
    builder.entry(union, dw::DW_TAG_member, &[name("inside"), typed(int)]);
    let declared = builder.entry(
        builder.root(),
        dw::DW_TAG_structure_type,
        &[name("s"), (dw::DW_AT_declaration, Attr::Flag(true))],
    );
    let absent = builder.entry(
        builder.root(),
        dw::DW_TAG_structure_type,
        &[name("t"), (dw::DW_AT_declaration, Attr::Flag(true))],
    );
    let outer = builder.entry(builder.root(), dw::DW_TAG_structure_type, &[name("s"), bytes(32)]);
    builder.entry(outer, dw::DW_TAG_member, &[typed(union), (dw::DW_AT_data_member_location, Attr::Udata(4))]);
    let pointer = builder.entry(builder.root(), dw::DW_TAG_pointer_type, &[bytes(8), typed(absent)]);
    builder.member(outer, "t", 8, pointer);
    let odd = builder.member(outer, "odd", 0, int);
    // DW_OP_dup: something computed.
    builder.set(odd, dw::DW_AT_data_member_location, Attr::Block(vec![0x12]));
    let link = builder.entry(builder.root(), dw::DW_TAG_pointer_type, &[typed(declared)]);
    check(builder, link, |info, of| {
        let (at, size, offset, target, again) = through(info.step(of, &member("inside")).unwrap());
        assert_eq!((at, size, offset, again), (0, 8, 0, true));
        let (bit_offset, ..) = part(info.step(target, &member("inside")).unwrap());
        assert_eq!(bit_offset, 32);
        let (.., t, _) = part(info.step(target, &member("t")).unwrap());
        let (.., t, _) = through(info.step(t, &Step::Deref).unwrap());
        assert_eq!(
            refusal(info.step(t, &member("x")).unwrap()),
            Unsupported::OnlyDeclared { of: "struct t".to_owned() }
        );
        let why = refusal(info.step(target, &member("odd")).unwrap());
        let problem = PlaceProblem::Expression;
        assert_eq!(why, Unsupported::MemberPlace { member: "odd".to_owned(), problem });
        let why = absence(info.step(target, &member("gone")).unwrap());
        let has = vec!["t".to_owned(), "odd".to_owned()];
        let expected = NoSuchPart::NoMember { of: "struct s".to_owned(), member: "gone".to_owned(), has, count: 2 };
        assert_eq!(why, expected);
        let described = info.describe_type(Some(target), 1).unwrap();
        let Shape::Struct { members } = &described.shape else { panic!("{described:?}") };
        assert_eq!((&*members[0].name, members[0].bit_offset), ("", 32));
        assert!(
            matches!(&members[1].of.shape, Shape::Pointer { to: Some(to) } if to.shape == Shape::Opaque(OpaqueReason::OnlyDeclared))
        );
        assert!(matches!(members[2].of.shape, Shape::Opaque(_)));
    });
}

#[test]
fn circles_end() {
    let mut builder = unit(5, dw::DW_LANG_C11);
    let first = builder.entry(builder.root(), dw::DW_TAG_typedef, &[]);
    let second = builder.entry(builder.root(), dw::DW_TAG_const_type, &[typed(first)]);
    let (at, value) = typed(second);
    builder.set(first, at, value);
    check(builder, first, |info, of| {
        assert!(info.strip(of).unwrap_err().to_string().ends_with("a type that is defined by itself"));
        assert!(info.type_name(Some(of)).unwrap().ends_with(".."));
    });
    // A structure that contains itself.
    let mut builder = unit(5, dw::DW_LANG_C11);
    let outer = builder.entry(builder.root(), dw::DW_TAG_structure_type, &[name("s"), bytes(8)]);
    builder.member(outer, "s", 0, outer);
    check(builder, outer, |info, of| {
        fn depth(of: &Type) -> u32 {
            match &of.shape {
                Shape::Struct { members } => 1 + depth(&members[0].of),
                _ => 0,
            }
        }
        assert!(depth(&info.describe_type(Some(of), 1).unwrap()) < 64);
    });
}

#[test]
fn rust_enums_and_what_leads_through_pointers() {
    let mut builder = unit(4, dw::DW_LANG_Rust);
    let u32_ = builder.base("u32", 4, dw::DW_ATE_unsigned);
    let u64_ = builder.base("u64", 8, dw::DW_ATE_unsigned);
    let value = builder.entry(builder.root(), dw::DW_TAG_structure_type, &[name("Queue"), bytes(4)]);
    builder.member(value, "depth", 0, u32_);
    // Option<&Queue> with the niche of the reference.
    let reference = builder.entry(builder.root(), dw::DW_TAG_pointer_type, &[name("&Queue"), typed(value)]);
    let option = builder.entry(builder.root(), dw::DW_TAG_structure_type, &[name("Option<&Queue>"), bytes(8)]);
    let some = builder.entry(option, dw::DW_TAG_structure_type, &[name("Some"), bytes(8)]);
    builder.member(some, "__0", 0, reference);
    let none = builder.entry(option, dw::DW_TAG_structure_type, &[name("None"), bytes(8)]);
    let variants = builder.entry(option, dw::DW_TAG_variant_part, &[]);
    let discriminant = builder.member(variants, "", 0, u64_);
    builder.set(variants, dw::DW_AT_discr, Attr::UnitRef(discriminant));
    let variant = builder.entry(variants, dw::DW_TAG_variant, &[(dw::DW_AT_discr_value, Attr::Data1(0))]);
    builder.member(variant, "None", 0, none);
    let variant = builder.entry(variants, dw::DW_TAG_variant, &[]);
    builder.member(variant, "Some", 0, some);
    // Rc<Queue>.
    let counted = builder.entry(builder.root(), dw::DW_TAG_structure_type, &[name("RcInner<Queue>"), bytes(24)]);
    builder.member(counted, "strong", 0, u64_);
    builder.member(counted, "weak", 8, u64_);
    builder.member(counted, "value", 16, value);
    let raw = builder.entry(builder.root(), dw::DW_TAG_pointer_type, &[name("*const RcInner<Queue>"), typed(counted)]);
    let wrapped =
        builder.entry(builder.root(), dw::DW_TAG_structure_type, &[name("NonNull<RcInner<Queue>>"), bytes(8)]);
    builder.member(wrapped, "pointer", 0, raw);
    let rc = builder.entry(builder.root(), dw::DW_TAG_structure_type, &[name("Rc<Queue>"), bytes(8)]);
    builder.member(rc, "ptr", 0, wrapped);
    let tuple =
        builder.entry(builder.root(), dw::DW_TAG_structure_type, &[name("(Option<&Queue>, Rc<Queue>)"), bytes(16)]);
    builder.member(tuple, "__0", 0, option);
    builder.member(tuple, "__1", 8, rc);
    check(builder, tuple, |info, of| {
        let (bit_offset, _, option, _) = part(info.step(of, &member("0")).unwrap());
        assert_eq!(bit_offset, 0);
        let why = refusal(info.step(option, &member("depth")).unwrap());
        let variants = vec!["None".to_owned(), "Some".to_owned()];
        let name = "Option<&Queue>".to_owned();
        assert_eq!(why, Unsupported::SeveralVariants { of: name, variants, count: 2 });
        let described = info.describe_type(Some(option), 1).unwrap();
        let Shape::Variants(variants) = &described.shape else { panic!("{described:?}") };
        assert_eq!(variants.variants[0].values, Some(vec![(0, 0)]));
        assert_eq!((&variants.variants[1].values, &*variants.variants[1].name), (&None, "Some"));
        let (bit_offset, _, rc, _) = part(info.step(of, &member("1")).unwrap());
        assert_eq!(bit_offset, 64);
        let (at, size, offset, target, again) = through(info.step(rc, &member("depth")).unwrap());
        assert_eq!((at, size, offset, again), (0, 8, 16, true));
        assert_eq!(part(info.step(target, &member("depth")).unwrap()).0, 0);
        assert!(!through(info.step(rc, &Step::Deref).unwrap()).4);
    });
}

#[test]
fn addresses_stay_out_of_names() {
    // An attribute of another class in place of a name is an error, not a panic.
    let mut builder = unit(5, dw::DW_LANG_C11);
    let base = builder.base("int", 4, dw::DW_ATE_signed);
    let odd = builder.entry(
        builder.root(),
        dw::DW_TAG_typedef,
        &[(dw::DW_AT_name, Attr::Address(Address::Constant(4))), typed(base)],
    );
    check(builder, odd, |info, of| {
        assert!(info.type_name(Some(of)).is_err());
        assert_eq!(info.type_size(of).unwrap(), Some(4));
    });
}

/// What is behind the last pointers is left out first.
#[test]
fn a_value_of_many_types_has_all_of_its_own_members() {
    let mut builder = unit(5, dw::DW_LANG_C11);
    let int = builder.base("int", 4, dw::DW_ATE_signed);
    let outer = builder.entry(builder.root(), dw::DW_TAG_structure_type, &[name("s"), bytes(4808)]);
    for number in 0..600 {
        let inner = builder.entry(builder.root(), dw::DW_TAG_structure_type, &[name("t"), bytes(4)]);
        builder.member(inner, "x", 0, int);
        let pointer = builder.entry(builder.root(), dw::DW_TAG_pointer_type, &[bytes(8), typed(inner)]);
        builder.member(outer, &format!("p{number}"), 8 * number, pointer);
    }
    builder.member(outer, "last", 4800, int);
    check(builder, outer, |info, of| {
        let described = info.describe_value(Some(of), 4).unwrap();
        let Shape::Struct { members } = &described.shape else { panic!("{described:?}") };
        assert_eq!(members[600].of.shape, Shape::Integer { signed: true });
        let is_known = |member: usize| matches!(&members[member].of.shape, Shape::Pointer { to: Some(_) });
        assert_eq!((is_known(0), is_known(200), is_known(599)), (true, true, false));
        let described = info.describe_type(Some(of), 4).unwrap();
        let Shape::Struct { members } = &described.shape else { panic!("{described:?}") };
        assert_eq!(members[600].of.shape, Shape::Opaque(OpaqueReason::TooManyTypes));
    });
}
