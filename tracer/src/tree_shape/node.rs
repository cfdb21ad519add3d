//! What a tree is at its root: which alternative of a place, and what is in it.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value as Json;
use simple_markers_resolver::types::{
    AddressKind, AddressValue, DynamicValue, FutureState, FutureValue, IntegerValue, IntervalValue, MemberValue,
    StructureValue, TextValue, ValueProblem, ValueTree, VariantRole, VariantValue,
};

use super::label::{AlternativeLabel, IntegerWidth, NULL, REST, ValueCategory};

/// What a tree is at its root.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeNode<'t> {
    /// Which alternative of a place.
    pub label: AlternativeLabel,
    /// What is in it.
    pub content: NodeContent<'t>,
}

/// What is in a value.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeContent<'t> {
    /// Nothing.
    Nothing,
    /// A Boolean.
    Boolean(bool),
    /// An integer that has its width.
    Integer(i128, IntegerWidth),
    /// The same, with its name.
    Enumerator(i128, IntegerWidth, &'t Arc<str>),
    /// A floating-point number.
    Float(f64),
    /// Another number, or the name of one.
    Digits(Cow<'t, str>),
    /// A text, which is not empty and has no byte 0.
    Text(Cow<'t, [u8]>),
    /// A text with a byte 0.
    Bytes(&'t [u8]),
    /// An address, and what is there if it was followed.
    Pointer(u64, Option<&'t ValueTree>),
    /// Members.
    Members(Vec<NodeMember<'t>>),
    /// The one value of a variant.
    Payload(&'t ValueTree),
    /// Elements, and how many more there are: `Some(0)` for none, `None` if nobody knows.
    List(&'t [ValueTree], Option<u64>),
    /// Keys with their values, and how many more there are.
    Map(&'t [(ValueTree, ValueTree)], Option<u64>),
}

/// A member.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeMember<'t> {
    /// Its name.
    pub name: Cow<'t, str>,
    /// Its value.
    pub value: Cow<'t, ValueTree>,
}

impl<'t> TreeNode<'t> {
    /// What a tree is. References, boxes and newtypes stand for what is in them, as in JSON.
    #[must_use]
    pub fn new(tree: &'t ValueTree) -> Self {
        let mut tree = tree;
        while let Some(inner) = inner(tree) {
            tree = inner;
        }
        let value = |category, content| Self { label: AlternativeLabel::Value(category), content };
        let number = |content| value(ValueCategory::Number, content);
        match tree {
            ValueTree::Void => value(ValueCategory::Unit, NodeContent::Nothing),
            ValueTree::Integer(integer) => number(of_integer(*integer)),
            ValueTree::Boolean(is_true) => value(ValueCategory::Boolean, NodeContent::Boolean(*is_true)),
            ValueTree::Character(character) => text(character.to_string().into_bytes().into(), false),
            ValueTree::HalfCharacter(code) => {
                number(NodeContent::Integer((*code).into(), IntegerWidth { is_signed: false, bits: 16 }))
            }
            ValueTree::Float(float) => number(match float.double() {
                Some(number) => NodeContent::Float(number),
                None => NodeContent::Digits(float.text.as_str().into()),
            }),
            ValueTree::Text(TextValue { bytes, is_cut }) => text(bytes.into(), *is_cut),
            ValueTree::Address(address) => of_address(address),
            ValueTree::Dynamic(dynamic) => of_dynamic(dynamic),
            ValueTree::Enumerator { name, value } => number(match IntegerWidth::of(*value) {
                Some(width) => NodeContent::Enumerator(*value, width, name),
                None => NodeContent::Digits((&**name).into()),
            }),
            ValueTree::Flags { names, .. } => text(names.as_bytes().into(), false),
            ValueTree::Structure(structure) => of_structure(structure),
            ValueTree::Variant(variant) => of_variant(variant),
            ValueTree::Future(future) => of_future(future),
            ValueTree::List(list) => value(ValueCategory::List, NodeContent::List(&list.items, list.rest())),
            ValueTree::Map(map) => value(ValueCategory::Map, NodeContent::Map(&map.entries, map.rest())),
            ValueTree::Duration(duration) => text(format!("{duration:?}").into_bytes().into(), false),
            ValueTree::Internet(address) => text(address.to_string().into_bytes().into(), false),
            ValueTree::Socket(address) => text(address.to_string().into_bytes().into(), false),
            ValueTree::Interval(interval) => of_interval(interval),
            ValueTree::Uninitialized => Self::missing("uninitialized"),
            ValueTree::Problem(problem) => of_problem(problem),
            ValueTree::Cut => Self::missing("left_out"),
            // Trees of later versions have no other forms here.
            _ => Self::missing("unknown"),
        }
    }

    /// No value, and why.
    #[must_use]
    pub fn missing(why: &'static str) -> Self {
        Self { label: AlternativeLabel::Missing(why), content: NodeContent::Nothing }
    }
}

/// What a tree stands for.
fn inner(tree: &ValueTree) -> Option<&ValueTree> {
    match tree {
        ValueTree::Address(address) => match (&address.to, address.kind) {
            (Some(to @ (ValueTree::Text(_) | ValueTree::Cut)), _)
            | (Some(to), AddressKind::Reference | AddressKind::Owner) => Some(to),
            _ => None,
        },
        ValueTree::Structure(structure) => structure.newtype(),
        ValueTree::Variant(variant) if variant.role() == VariantRole::Value && !variant.value.may_be_null() => {
            Some(&variant.value)
        }
        _ => None,
    }
}

fn text(bytes: Cow<'_, [u8]>, is_cut: bool) -> TreeNode<'_> {
    let (label, content) = match bytes {
        Cow::Borrowed(bytes) if bytes.contains(&0) => {
            let word = if is_cut { "cut_bytes" } else { "bytes" };
            (AlternativeLabel::Special(word), NodeContent::Bytes(bytes))
        }
        // The character 0.
        Cow::Owned(bytes) if bytes.contains(&0) => (AlternativeLabel::Special("nul"), NodeContent::Nothing),
        bytes if bytes.is_empty() => {
            let empty = AlternativeLabel::Special("empty");
            (if is_cut { AlternativeLabel::Missing("left_out") } else { empty }, NodeContent::Nothing)
        }
        bytes if is_cut => (AlternativeLabel::Special("cut"), NodeContent::Text(bytes)),
        bytes => (AlternativeLabel::Value(ValueCategory::Text), NodeContent::Text(bytes)),
    };
    TreeNode { label, content }
}

fn of_integer(integer: IntegerValue) -> NodeContent<'static> {
    let number = integer.number().filter(|_| integer.size <= 64);
    let bits = match integer.size {
        0..=8 => 8,
        9..=16 => 16,
        17..=32 => 32,
        _ => 64,
    };
    match number {
        Some(number) => NodeContent::Integer(number, IntegerWidth { is_signed: integer.is_signed, bits }),
        None => NodeContent::Digits(match integer.number() {
            Some(number) => number.to_string().into(),
            None => integer.bits.to_string().into(),
        }),
    }
}

fn of_address(address: &AddressValue) -> TreeNode<'_> {
    if let Some(function) = &address.function {
        let members = vec![owned("@", of_raw(address.address)), owned("function", of_text(function))];
        let label = AlternativeLabel::Structure("function".into());
        return TreeNode { label, content: NodeContent::Members(members) };
    }
    let label = match (address.address, &address.to) {
        (0, None) => NULL,
        _ => AlternativeLabel::Value(ValueCategory::Pointer),
    };
    TreeNode { label, content: NodeContent::Pointer(address.address, address.to.as_ref()) }
}

/// The name of the type and the value, or where it is.
fn of_dynamic(dynamic: &DynamicValue) -> TreeNode<'_> {
    let mut members = vec![owned("dyn", of_text(&dynamic.types.join("|")))];
    match &dynamic.value {
        Some(value) => members.push(NodeMember { name: "value".into(), value: Cow::Borrowed(value) }),
        None => members.extend([owned("@", of_raw(dynamic.address)), owned("vtable", of_raw(dynamic.vtable))]),
    }
    let label = AlternativeLabel::Structure(Arc::clone(&dynamic.of));
    TreeNode { label, content: NodeContent::Members(members) }
}

/// The state of a future, and the variables that it keeps in it.
fn of_future(future: &FutureValue) -> TreeNode<'_> {
    let FutureValue { name, state, variables, awaited, is_cut } = future;
    let mut members = vec![owned("state", of_text(state.word()))];
    if let FutureState::Suspended { at: Some((file, line)) } = state {
        let line = IntegerValue { bits: (*line).into(), size: 32, is_signed: false };
        members.extend([owned("file", of_text(file)), owned("line", ValueTree::Integer(line))]);
    }
    members.extend(
        variables.iter().map(|MemberValue { name, value }| NodeMember {
            name: Cow::Borrowed(&**name),
            value: Cow::Borrowed(value),
        }),
    );
    members.extend(is_cut.then(|| owned(REST, ValueTree::Cut)));
    members.extend(awaited.as_ref().map(|value| NodeMember { name: ".await".into(), value: Cow::Borrowed(value) }));
    TreeNode { label: AlternativeLabel::Structure(Arc::clone(name)), content: NodeContent::Members(members) }
}

fn owned(name: &'static str, value: ValueTree) -> NodeMember<'static> {
    NodeMember { name: name.into(), value: Cow::Owned(value) }
}

fn of_text(text: &str) -> ValueTree {
    ValueTree::Text(TextValue { bytes: text.as_bytes().to_vec(), is_cut: false })
}

fn of_raw(address: u64) -> ValueTree {
    ValueTree::Address(Box::new(AddressValue { address, kind: AddressKind::Raw, to: None, function: None }))
}

/// The members of a structure, with one more if some are missing.
fn members(structure: &StructureValue) -> Vec<NodeMember<'_>> {
    let named = structure.named_members().into_iter();
    let mut members: Vec<NodeMember<'_>> =
        named.map(|(name, value)| NodeMember { name, value: Cow::Borrowed(value) }).collect();
    if structure.is_cut {
        members.push(NodeMember { name: REST.into(), value: Cow::Owned(ValueTree::Cut) });
    }
    members
}

fn of_structure(structure: &StructureValue) -> TreeNode<'_> {
    let label = AlternativeLabel::Structure(Arc::clone(&structure.name));
    TreeNode { label, content: NodeContent::Members(members(structure)) }
}

fn of_variant(variant: &VariantValue) -> TreeNode<'_> {
    let name = match variant.role() {
        VariantRole::Nothing(word) => return TreeNode::missing(word),
        // Its value may be missing too.
        VariantRole::Value => "Some".into(),
        VariantRole::Alternative => Arc::clone(&variant.name),
    };
    let content = match &variant.value {
        ValueTree::Structure(structure) if variant.role() == VariantRole::Alternative && !variant.is_numbered() => {
            match (structure.newtype(), &*variant.common) {
                (Some(value), []) => NodeContent::Payload(value),
                (_, common) => {
                    let mut all = members(structure);
                    let borrowed = common.iter();
                    all.extend(borrowed.map(|member| NodeMember {
                        name: Cow::Borrowed(&*member.name),
                        value: Cow::Borrowed(&member.value),
                    }));
                    if all.is_empty() { NodeContent::Nothing } else { NodeContent::Members(all) }
                }
            }
        }
        value => NodeContent::Payload(value),
    };
    TreeNode { label: AlternativeLabel::Variant(name), content }
}

fn of_interval(interval: &IntervalValue) -> TreeNode<'_> {
    let ends = [("start", &interval.start), ("end", &interval.end)];
    let mut members: Vec<NodeMember<'_>> = ends
        .into_iter()
        .filter_map(|(name, end)| Some(NodeMember { name: name.into(), value: Cow::Borrowed(end.as_ref()?) }))
        .collect();
    if interval.is_closed && interval.start.is_some() {
        let value = Cow::Owned(ValueTree::Boolean(interval.is_exhausted));
        members.push(NodeMember { name: "exhausted".into(), value });
    }
    TreeNode { label: AlternativeLabel::Structure("Range".into()), content: NodeContent::Members(members) }
}

/// Why there is no value, with the details that JSON has.
fn of_problem(problem: &ValueProblem) -> TreeNode<'_> {
    let details = match serde_json::to_value(problem) {
        Ok(Json::Object(details)) => details,
        _ => serde_json::Map::new(),
    };
    let detail = |(name, detail): (String, Json)| {
        let tree = match (&detail, detail.as_u64()) {
            (_, Some(number)) => ValueTree::Integer(IntegerValue { bits: number.into(), size: 64, is_signed: false }),
            (Json::String(text), _) => of_text(text),
            (other, _) => of_text(&other.to_string()),
        };
        (name != "?").then(|| NodeMember { name: name.into(), value: Cow::Owned(tree) })
    };
    let members: Vec<NodeMember<'_>> = details.into_iter().filter_map(detail).collect();
    let content = if members.is_empty() { NodeContent::Nothing } else { NodeContent::Members(members) };
    TreeNode { label: AlternativeLabel::Missing(problem.into()), content }
}
