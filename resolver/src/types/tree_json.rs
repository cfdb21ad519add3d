//! Writes a tree as JSON (`docs/json.md`, "Whole values").

use serde::ser::{Serialize, SerializeMap, SerializeSeq as _, Serializer};

use super::tree::{
    AddressKind, AddressValue, DynamicValue, FutureValue, IntegerValue, IntervalValue, ListValue, MapValue,
    MemberValue, StructureValue, TextValue, ValueTree, VariantValue,
};
use super::tree_members::VariantRole;
use super::{FutureState, OPTIONAL, OpaqueReason, ValueProblem};
use crate::english::types::opaque;
use crate::json::Hexadecimal;
use crate::text::{from_bytes, hexadecimal};

/// The largest integer that every reader of JSON keeps (RFC 8259, 6).
const MAX_INTEGER: u128 = 1 << 53;

/// Appends a value as JSON, in one line.
pub fn write_json(tree: &ValueTree, out: &mut String) {
    // The keys of all objects are texts, so it cannot fail.
    out.push_str(&serde_json::to_string(tree).unwrap_or_default());
}

impl Serialize for ValueTree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Void => serializer.serialize_seq(Some(0))?.end(),
            Self::Integer(integer) => integer.serialize(serializer),
            Self::Boolean(value) => serializer.serialize_bool(*value),
            Self::Character(character) => serializer.serialize_char(*character),
            Self::HalfCharacter(code) => serializer.serialize_u16(*code),
            Self::Float(float) => match float.text.parse::<f64>() {
                // JSON has no infinities and no NaN.
                Ok(number) if number.is_finite() => serializer.serialize_f64(number),
                _ => serializer.serialize_str(&float.text),
            },
            Self::Text(text) => text.serialize(serializer),
            Self::Address(address) => address.serialize(serializer),
            Self::Dynamic(dynamic) => dynamic.serialize(serializer),
            Self::Enumerator { name, .. } => serializer.serialize_str(name),
            Self::Flags { names, .. } => serializer.serialize_str(names),
            Self::Structure(structure) => structure.serialize(serializer),
            Self::Variant(variant) => variant.serialize(serializer),
            Self::Future(future) => future.serialize(serializer),
            Self::List(list) => list.serialize(serializer),
            Self::Map(map) => map.serialize(serializer),
            Self::Duration(duration) => serializer.collect_str(&format_args!("{duration:?}")),
            Self::Internet(address) => serializer.collect_str(address),
            Self::Socket(address) => serializer.collect_str(address),
            Self::Interval(interval) => interval.serialize(serializer),
            Self::Uninitialized => serializer.serialize_unit(),
            Self::Problem(problem) => problem.serialize(serializer),
            Self::Cut => rest(serializer, None),
        }
    }
}

/// The object that stands for omitted parts: how many there are, or null.
fn rest<S: Serializer>(serializer: S, count: Option<u64>) -> Result<S::Ok, S::Error> {
    let mut object = serializer.serialize_map(Some(1))?;
    object.serialize_entry("..", &count)?;
    object.end()
}

/// Omitted parts at the end of a list.
struct ListRest(Option<u64>);

impl Serialize for ListRest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        rest(serializer, self.0)
    }
}

impl Serialize for IntegerValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.number() {
            Some(number) if number.unsigned_abs() <= MAX_INTEGER => serializer.serialize_i64(number as i64),
            Some(number) => serializer.collect_str(&number),
            None => serializer.collect_str(&self.bits),
        }
    }
}

impl Serialize for TextValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = from_bytes(&self.bytes);
        if !self.is_cut {
            return serializer.serialize_str(&text);
        }
        let mut object = serializer.serialize_map(Some(1))?;
        object.serialize_entry("..", &text)?;
        object.end()
    }
}

impl Serialize for AddressValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (&self.to, self.kind) {
            (Some(to @ (ValueTree::Text(_) | ValueTree::Cut)), _)
            | (Some(to), AddressKind::Reference | AddressKind::Owner) => to.serialize(serializer),
            (None, _) if self.address == 0 => serializer.serialize_unit(),
            (to, _) => {
                let mut object = serializer.serialize_map(None)?;
                object.serialize_entry("@", &Hexadecimal(self.address))?;
                if let Some(to) = to {
                    object.serialize_entry("to", to)?;
                }
                if let Some(function) = &self.function {
                    object.serialize_entry("function", &**function)?;
                }
                object.end()
            }
        }
    }
}

impl Serialize for DynamicValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { address, vtable, types, value, .. } = self;
        let mut object = serializer.serialize_map(None)?;
        match &**types {
            [] => object.serialize_entry("dyn", &())?,
            [name] => object.serialize_entry("dyn", &**name)?,
            names => object.serialize_entry("dyn", &names.iter().map(|name| &**name).collect::<Vec<_>>())?,
        }
        match value {
            Some(value) => object.serialize_entry("value", value)?,
            None => {
                object.serialize_entry("@", &Hexadecimal(*address))?;
                object.serialize_entry("vtable", &Hexadecimal(*vtable))?;
            }
        }
        object.end()
    }
}

impl Serialize for IntervalValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        if let Some(start) = &self.start {
            object.serialize_entry("start", start)?;
        }
        if let Some(end) = &self.end {
            object.serialize_entry("end", end)?;
        }
        if self.is_exhausted {
            object.serialize_entry("exhausted", &true)?;
        }
        object.end()
    }
}

impl Serialize for StructureValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A newtype stands for what it contains.
        if let Some(value) = self.newtype() {
            return value.serialize(serializer);
        }
        if self.is_tuple {
            let mut array = serializer.serialize_seq(None)?;
            self.members.iter().try_for_each(|member| array.serialize_element(&member.value))?;
            if self.is_cut {
                array.serialize_element(&ListRest(None))?;
            }
            return array.end();
        }
        let mut object = serializer.serialize_map(None)?;
        for (name, value) in self.named_members() {
            object.serialize_entry(&*name, value)?;
        }
        if self.is_cut {
            object.serialize_entry("..", &None::<u64>)?;
        }
        object.end()
    }
}

impl ValueTree {
    /// Whether its JSON may be null, which its type decides: then `Some` of it must be told from `None`.
    #[must_use]
    pub fn may_be_null(&self) -> bool {
        match self {
            Self::Uninitialized => true,
            Self::Variant(variant) => &*variant.of == "Option" || variant.role() != VariantRole::Alternative,
            Self::Address(address) => match (&address.to, address.kind) {
                (Some(to), AddressKind::Reference | AddressKind::Owner) => to.may_be_null(),
                (to, kind) => {
                    matches!(kind, AddressKind::Raw | AddressKind::Function) || to.is_none() && address.address == 0
                }
            },
            Self::Structure(structure) => structure.newtype().is_some_and(Self::may_be_null),
            _ => false,
        }
    }
}

impl Serialize for VariantValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_option = &*self.of == "Option";
        match self.role() {
            VariantRole::Nothing(_) => return serializer.serialize_unit(),
            VariantRole::Value if self.value.may_be_null() && &*self.name == OPTIONAL => {
                let mut object = serializer.serialize_map(Some(1))?;
                object.serialize_entry("Some", &self.value)?;
                return object.end();
            }
            VariantRole::Value => return self.value.serialize(serializer),
            VariantRole::Alternative => {}
        }
        let ValueTree::Structure(structure) = &self.value else {
            let mut object = serializer.serialize_map(Some(1))?;
            object.serialize_entry(&*self.name, &self.value)?;
            return object.end();
        };
        match (&*self.name, &*structure.members, &*self.common) {
            ("None", [], []) if is_option => serializer.serialize_unit(),
            ("Some", [payload], []) if is_option && !payload.value.may_be_null() => payload.value.serialize(serializer),
            (name, [], []) if !structure.is_cut && !self.is_numbered() => serializer.serialize_str(name),
            (name, _, common) => {
                let mut object = serializer.serialize_map(None)?;
                object.serialize_entry(name, structure)?;
                for MemberValue { name, value } in common {
                    object.serialize_entry(&**name, value)?;
                }
                object.end()
            }
        }
    }
}

/// The variables of a future, and whether some are missing.
struct FutureVariables<'v>(&'v [MemberValue], bool);

impl Serialize for FutureVariables<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        self.0.iter().try_for_each(|MemberValue { name, value }| object.serialize_entry(&**name, value))?;
        if self.1 {
            object.serialize_entry("..", &None::<u64>)?;
        }
        object.end()
    }
}

impl Serialize for FutureValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { name, state, variables, awaited, is_cut } = self;
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("future", &**name)?;
        object.serialize_entry("state", state.word())?;
        if let FutureState::Suspended { at: Some((file, line)) } = state {
            object.serialize_entry("file", &**file)?;
            object.serialize_entry("line", line)?;
        }
        object.serialize_entry("variables", &FutureVariables(variables, *is_cut))?;
        if let Some(awaited) = awaited {
            object.serialize_entry("awaiting", awaited)?;
        }
        object.end()
    }
}

impl Serialize for ListValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut array = serializer.serialize_seq(None)?;
        self.items.iter().try_for_each(|item| array.serialize_element(item))?;
        match self.rest() {
            Some(0) => {}
            rest => array.serialize_element(&ListRest(rest))?,
        }
        array.end()
    }
}

/// The text of a key, behind references and newtypes. `None` if it is no whole text, or not UTF-8.
fn text_key(key: &ValueTree) -> Option<&str> {
    match key {
        ValueTree::Text(TextValue { bytes, is_cut: false }) => std::str::from_utf8(bytes).ok(),
        ValueTree::Address(address) => text_key(address.to.as_ref()?),
        // One that is either in the object or elsewhere.
        ValueTree::Variant(variant) if &*variant.name == OPTIONAL => text_key(&variant.value),
        _ => None,
    }
}

impl Serialize for MapValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let keys: Option<Vec<&str>> = self.entries.iter().map(|(key, _)| text_key(key)).collect();
        let is_unlike_rest = |keys: &Vec<&str>| self.rest() == Some(0) || !keys.contains(&"..");
        if let Some(keys) = keys.filter(|keys| self.has_text_keys && is_unlike_rest(keys)) {
            let mut object = serializer.serialize_map(None)?;
            for (key, (_, value)) in keys.into_iter().zip(&self.entries) {
                object.serialize_entry(key, value)?;
            }
            match self.rest() {
                Some(0) => {}
                rest => object.serialize_entry("..", &rest)?,
            }
            return object.end();
        }
        let mut array = serializer.serialize_seq(None)?;
        self.entries.iter().try_for_each(|entry| array.serialize_element(entry))?;
        match self.rest() {
            Some(0) => {}
            rest => array.serialize_element(&ListRest(rest))?,
        }
        array.end()
    }
}

impl Serialize for ValueProblem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("?", <&str>::from(self))?;
        match self {
            Self::Unreadable { address, length } => {
                object.serialize_entry("address", &Hexadecimal(*address))?;
                object.serialize_entry("length", length)?;
            }
            Self::InvalidBoolean(bits) | Self::InvalidFloat(bits) => {
                object.serialize_entry("bits", &format!("{bits:#x}"))?;
            }
            Self::InvalidCharacter(code) => object.serialize_entry("bits", &format!("{code:#x}"))?,
            Self::InvalidEnumerator(value) | Self::InvalidDiscriminant { value, .. } => {
                object.serialize_entry("value", &value.to_string())?;
            }
            Self::Opaque { reason, bytes } => serialize_opaque(reason, bytes, &mut object)?,
            Self::MaybeUninitialized { of } => object.serialize_entry("type", &**of)?,
            Self::NoMember(name) => object.serialize_entry("member", &**name)?,
            _ => {}
        }
        object.end()
    }
}

fn serialize_opaque<M: SerializeMap>(reason: &OpaqueReason, bytes: &[u8], object: &mut M) -> Result<(), M::Error> {
    object.serialize_entry("why", &opaque(reason))?;
    if !bytes.is_empty() {
        object.serialize_entry("bytes", &hexadecimal(bytes))?;
    }
    Ok(())
}
