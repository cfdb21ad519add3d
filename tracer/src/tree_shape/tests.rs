//! Tests of shapes: what differs between values, and where the limits are.

use simple_markers_resolver::types::{
    AddressKind, AddressValue, FloatValue, IntegerValue, ListValue, MemberValue, StructureValue, TextValue,
    ValueProblem, ValueTree,
};

use super::{Alternative, AlternativeLabel, IntegerWidth, MAX_DEPTH, MAX_WIDTH, TreeContent, TreeShape, ValueCategory};

fn integer(bits: u128, size: u64, is_signed: bool) -> ValueTree {
    ValueTree::Integer(IntegerValue { bits, size, is_signed })
}

fn text(bytes: &[u8]) -> ValueTree {
    ValueTree::Text(TextValue { bytes: bytes.to_vec(), is_cut: false })
}

fn structure(members: Vec<(&str, ValueTree)>) -> ValueTree {
    let member = |(name, value): (&str, ValueTree)| MemberValue { name: name.into(), value };
    let members = members.into_iter().map(member).collect();
    ValueTree::Structure(StructureValue { name: "S".into(), is_tuple: false, members, is_cut: false })
}

fn pointer(address: u64, to: Option<ValueTree>) -> ValueTree {
    ValueTree::Address(Box::new(AddressValue { address, kind: AddressKind::Raw, to, function: None }))
}

fn list(items: Vec<ValueTree>) -> ValueTree {
    let total = Some(items.len() as u64);
    ValueTree::List(ListValue { items, total, is_set: false })
}

/// The shape of some values, and what is left of the budget.
fn grown(trees: &[ValueTree], budget: usize) -> (TreeShape, usize) {
    let (mut shape, mut left) = (TreeShape::default(), budget);
    trees.iter().for_each(|tree| shape.add(tree, &mut left));
    (shape, left)
}

fn shape(trees: &[ValueTree]) -> TreeShape {
    grown(trees, 1000).0
}

/// The words of the alternatives of the members.
fn words(of: &TreeShape) -> Vec<(&str, Vec<&str>)> {
    let Some(TreeContent::Members(members)) = of.only() else { panic!("{of:?}") };
    members.iter().map(|member| (&*member.name, member.shape.words().collect())).collect()
}

#[test]
fn integers_have_the_smallest_type_that_has_all() {
    let of = |one: ValueTree, other| shape(&[one, other]).only().cloned();
    let width = |is_signed, bits| Some(TreeContent::Integer(IntegerWidth { is_signed, bits }));
    assert_eq!(of(integer(5, 3, false), integer(7, 16, false)), width(false, 16));
    assert_eq!(of(integer(255, 8, false), integer(255, 8, true)), width(true, 16));
    assert_eq!(of(integer(1, 33, true), integer(1, 64, true)), width(true, 64));
    assert_eq!(of(integer(1, 64, true), integer(1, 64, false)), Some(TreeContent::Digits));
    assert_eq!(of(integer(1, 128, true), integer(1, 8, false)), Some(TreeContent::Digits));
    assert_eq!(of(integer(1, 8, true), ValueTree::Float(FloatValue::from(0.5))), Some(TreeContent::Digits));
}

#[test]
fn names_of_numbers_are_each_there_once() {
    let named = |name: &str, value| ValueTree::Enumerator { name: name.into(), value };
    let all = [named("A", 1), integer(7, 32, false), named("B", -2), named("A", 1), named("A", 3)];
    let (found, left) = grown(&all, 10);
    let names = vec![(1, "A".into()), (-2, "B".into()), (3, "A (3)".into())];
    let width = IntegerWidth { is_signed: true, bits: 64 };
    assert_eq!(found.only(), Some(&TreeContent::Enumeration { width, names }));
    assert_eq!(left, 10 - 4);
    let wide = shape(&[named("A", 1), named("B", 1 << 70)]);
    assert_eq!(wide.only(), Some(&TreeContent::Digits));
}

#[test]
fn a_place_that_varies_has_alternatives() {
    let unreadable = ValueTree::Problem(ValueProblem::Unreadable { address: 16, length: 4 });
    let all = [
        structure(vec![("a", integer(1, 32, false)), ("t", text(b"x")), ("p", pointer(0, None))]),
        structure(vec![("a", unreadable), ("t", text(b"")), ("p", pointer(16, None)), ("new", ValueTree::Cut)]),
        structure(vec![("t", pointer(0, None)), ("a", integer(1, 32, false))]),
    ];
    let found = shape(&all);
    let expected: Vec<(&str, Vec<&str>)> = vec![
        ("a", vec!["value", "unreadable"]),
        ("t", vec!["value", "empty", "null"]),
        // Null so far, and then a pointer.
        ("p", vec!["value", "absent"]),
        ("new", vec!["absent", "left_out"]),
    ];
    assert_eq!(words(&found), expected);
    let kinds = shape(&[text(b"x"), integer(1, 8, false), structure(Vec::new())]);
    assert_eq!(kinds.words().collect::<Vec<_>>(), ["text", "number", "S"]);
}

#[test]
fn pointers_have_what_they_lead_to_if_one_was_followed() {
    let to = |trees: &[ValueTree]| match shape(trees).only() {
        Some(TreeContent::Pointer(to)) => to.as_deref().map(|to| to.words().map(str::to_owned).collect::<Vec<_>>()),
        other => panic!("{other:?}"),
    };
    let (null, far, near) = (pointer(0, None), pointer(16, None), pointer(32, Some(integer(1, 8, false))));
    assert_eq!(to(std::slice::from_ref(&null)), None);
    assert_eq!(to(&[null.clone(), far.clone()]), None);
    assert_eq!(to(&[near.clone(), near.clone()]), Some(vec!["value".to_owned()]));
    let both = |first: &str, second: &str| Some(vec![first.to_owned(), second.to_owned()]);
    assert_eq!(to(&[near.clone(), null.clone()]), both("value", "absent"));
    assert_eq!(to(&[null, near.clone(), far]), both("absent", "value"));
}

#[test]
fn two_members_of_one_name_stay_two() {
    let twice = structure(vec![("a", integer(1, 8, false)), ("a", text(b"x"))]);
    let once = structure(vec![("b", ValueTree::Void), ("a", integer(2, 8, false))]);
    let found = shape(&[twice, once]);
    let expected: Vec<(&str, Vec<&str>)> =
        vec![("a", vec!["value"]), ("a", vec!["value", "absent"]), ("b", vec!["absent", "value"])];
    assert_eq!(words(&found), expected);
}

fn any() -> TreeShape {
    let (label, content) = (AlternativeLabel::Value(ValueCategory::Any), TreeContent::Any);
    TreeShape { alternatives: vec![Alternative { label, content }] }
}

#[test]
fn what_exceeds_a_limit_is_text() {
    // The places inside each other.
    let nested = |depth| (0..depth).fold(integer(1, 8, false), |inner, _| list(vec![inner]));
    let depth = |mut found: &TreeShape| {
        let mut depth = 0;
        while let Some(TreeContent::List { element, .. }) = found.only() {
            (found, depth) = (element, depth + 1);
        }
        (depth, found.is_any())
    };
    assert_eq!(depth(&shape(&[nested(MAX_DEPTH)])), (MAX_DEPTH, false));
    assert_eq!(depth(&shape(&[nested(MAX_DEPTH + 1)])), (MAX_DEPTH + 1, true));
    // The budget: the list, its structure, two members and their numbers.
    let item = list(vec![structure(vec![("a", integer(1, 8, false)), ("b", integer(1, 8, false))])]);
    let (found, left) = grown(std::slice::from_ref(&item), 6);
    assert_eq!((depth(&found), left), ((1, false), 0));
    let Some(TreeContent::List { element, .. }) = found.only() else { panic!("{found:?}") };
    assert_eq!(words(element), [("a", vec!["value"]), ("b", vec!["value"])]);
    let (found, _) = grown(&[item.clone(), item], 3);
    let Some(TreeContent::List { element, .. }) = found.only() else { panic!("{found:?}") };
    assert_eq!(**element, any());
    assert_eq!(grown(&[ValueTree::Void], 0).0, any());
    // The members: one structure with many, and many structures that have no member in common.
    let names: Vec<String> = (0..=MAX_WIDTH).map(|number| format!("m{number}")).collect();
    let member = |name: &String| structure(vec![(name, ValueTree::Void)]);
    let wide = |count: usize| structure(names.iter().take(count).map(|name| (&**name, ValueTree::Void)).collect());
    let is_any = |trees: &[ValueTree]| grown(trees, usize::MAX).0.is_any();
    assert_eq!([wide(MAX_WIDTH), wide(MAX_WIDTH + 1)].map(|tree| is_any(&[tree])), [false, true]);
    let all: Vec<ValueTree> = names.iter().map(member).collect();
    assert_eq!((is_any(&all[..MAX_WIDTH]), is_any(&all)), (false, true));
}

#[test]
fn a_place_that_is_text_stays_text() {
    let (mut shape, mut left) = (TreeShape::default(), 0);
    shape.add(&ValueTree::Boolean(true), &mut left);
    left = 100;
    shape.add(&structure(vec![("a", ValueTree::Void)]), &mut left);
    assert_eq!((shape, left), (any(), 100));
}
