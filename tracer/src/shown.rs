//! How arguments are shown by their types (`%p{..}`): as a tree, as text and as JSON.

use std::sync::Arc;

use serde_json::Value as Json;
use simple_markers_record::value_form::{Alignment, FormatSpec, FormatTrait, ValueForm, value_form};
use simple_markers_resolver::types::{
    IntegerValue, Limits, MemberChoice, MemorySnapshot, Object, ReadContext, TextValue, ValueTree, name_functions,
    tree_of, write_text,
};

use crate::function_names::FunctionNames;
use crate::hit::Hit;
use crate::plan::ShownType;
use crate::value::Value;
use crate::whole::{self, chunks, is_changing};

/// What is read is limited when it is read. These limits only end what never ends.
const LIMITS: Limits = Limits { depth: 16, elements: 1 << 12, text: 1 << 12, memory: 1 << 16, output: 1 << 16 };

impl ShownType {
    /// The value as a tree; `None` for a value that is not of this type.
    #[must_use]
    pub fn tree(&self, value: &Value<'_>) -> Option<ValueTree> {
        let number;
        let (mut memory, mut load_bias) = (Vec::new(), None);
        let bytes = match value {
            Value::Number { bits, size, .. } => {
                number = bits.to_le_bytes();
                number.get(..usize::from(*size))?
            }
            Value::Text { bytes, is_cut } => {
                return Some(ValueTree::Text(TextValue { bytes: bytes.to_vec(), is_cut: *is_cut }));
            }
            Value::Whole(all) => {
                load_bias = whole::load_bias(all);
                let mut all = chunks(all);
                let first = all.next()?;
                memory.extend(all);
                first.bytes
            }
            Value::Null | Value::Array { .. } => return None,
        };
        let size = self.of.size.unwrap_or(0);
        let object = Object { optimized_out: &self.gone, unread: &self.unread, ..Object::start(bytes, size) };
        let memory = MemorySnapshot { chunks: &memory };
        let context = ReadContext { limits: LIMITS, load_bias, ..ReadContext::new(self.language, &memory) };
        Some(tree_of(&self.of, object, &context, &Self::choice_of(&self.form)))
    }

    /// The value of a hit as a tree with the names of functions; `None` for a value that is not of this type.
    pub fn named_tree(&self, value: &Value<'_>, hit: &Hit<'_>, names: &dyn FunctionNames) -> Option<ValueTree> {
        let mut tree = self.tree(value)?;
        if let Value::Whole(all) = value {
            let load_bias = whole::load_bias(all);
            name_functions(&mut tree, &mut |address| names.function(hit, load_bias, address));
        }
        Some(tree)
    }

    /// Which parts of a value are shown. The first level is that of the value itself.
    pub(crate) fn choice_of(form: &str) -> MemberChoice {
        match value_form(form.as_bytes()) {
            Some(ValueForm::Levels(levels)) => {
                MemberChoice { levels: Some(levels.saturating_sub(1)), ..MemberChoice::default() }
            }
            Some(ValueForm::Members(paths)) => {
                let members = paths.iter().map(|path| path.members().map(Arc::from).collect()).collect();
                MemberChoice { members, levels: None }
            }
            Some(ValueForm::Whole | ValueForm::Formatted(_)) | None => MemberChoice::default(),
        }
    }

    /// Appends a value as text. Returns `false` for one that is not of this type.
    pub(crate) fn write(&self, value: &Value<'_>, hit: &Hit<'_>, names: &dyn FunctionNames, out: &mut String) -> bool {
        let Some(tree) = self.named_tree(value, hit, names) else { return false };
        match value_form(self.form.as_bytes()) {
            Some(ValueForm::Formatted(spec)) => formatted(&tree, &spec, self, out),
            _ => write_text(&tree, self.language, out),
        }
        if value.is_changing() {
            out.push_str(" <changing>");
        }
        true
    }

    /// A value as JSON (`docs/json.md`); `None` for one that is not of this type.
    #[must_use]
    pub fn json(&self, value: &Value<'_>, hit: &Hit<'_>, names: &dyn FunctionNames) -> Option<Json> {
        serde_json::to_value(self.named_tree(value, hit, names)?).ok()
    }
}

impl Value<'_> {
    /// Whether it is a whole value of which something changed while it was read.
    #[must_use]
    pub fn is_changing(&self) -> bool {
        matches!(self, Self::Whole(chunks) if is_changing(chunks))
    }
}

/// Appends a value as `{:SPEC}` of Rust writes it. What has no such form is written as `{:?}` does.
fn formatted(tree: &ValueTree, spec: &FormatSpec, shown: &ShownType, out: &mut String) {
    // A value that owns or refers to another one is written as that one.
    let mut tree = tree;
    while let ValueTree::Address(address) = tree {
        let Some(to) = &address.to else { break };
        tree = to;
    }
    let plain = || {
        let mut text = String::new();
        write_text(tree, shown.language, &mut text);
        text
    };
    let is_display = spec.kind == FormatTrait::Display;
    match tree {
        ValueTree::Integer(integer) => {
            let (sign, prefix, digits) = integer_parts(*integer, spec);
            let sign = if sign.is_empty() && spec.plus { "+" } else { sign };
            let prefix = if spec.alternate { prefix } else { "" };
            let zeros = match spec.width {
                Some(width) if spec.zero => usize::from(width).saturating_sub(sign.len() + prefix.len() + digits.len()),
                _ => 0,
            };
            padded(&format!("{sign}{prefix}{}{digits}", "0".repeat(zeros)), spec, Alignment::Right, out);
        }
        ValueTree::Text(TextValue { bytes, is_cut: false }) if is_display => {
            let text = simple_markers_resolver::text::from_bytes(bytes);
            let text = match spec.precision {
                Some(most) => text.chars().take(most.into()).collect(),
                None => text,
            };
            padded(&text, spec, Alignment::Left, out);
        }
        ValueTree::Character(character) if is_display => {
            padded(character.encode_utf8(&mut [0; 4]), spec, Alignment::Left, out);
        }
        ValueTree::Float(float) => {
            let text = match (spec.precision, float.text.parse::<f64>()) {
                (Some(digits), Ok(number)) if spec.kind != FormatTrait::LowerExp => {
                    format!("{number:.*}", digits.into())
                }
                (_, Ok(number)) if is_display => number.to_string(),
                _ => float.text.clone(),
            };
            padded(&text, spec, Alignment::Right, out);
        }
        _ => padded(&plain(), spec, Alignment::Left, out),
    }
}

/// The sign, the prefix and the digits of an integer.
fn integer_parts(integer: IntegerValue, spec: &FormatSpec) -> (&'static str, &'static str, String) {
    let IntegerValue { bits, .. } = integer;
    match spec.kind {
        FormatTrait::LowerHex | FormatTrait::DebugLowerHex => ("", "0x", format!("{bits:x}")),
        FormatTrait::UpperHex | FormatTrait::DebugUpperHex => ("", "0x", format!("{bits:X}")),
        FormatTrait::Octal => ("", "0o", format!("{bits:o}")),
        FormatTrait::Binary => ("", "0b", format!("{bits:b}")),
        _ => match integer.number() {
            Some(number) => (if number < 0 { "-" } else { "" }, "", number.unsigned_abs().to_string()),
            None => ("", "", bits.to_string()),
        },
    }
}

/// Appends a text in its width.
fn padded(text: &str, spec: &FormatSpec, side: Alignment, out: &mut String) {
    let missing = usize::from(spec.width.unwrap_or(0)).saturating_sub(text.chars().count());
    let before = match spec.align.unwrap_or(side) {
        Alignment::Left => 0,
        Alignment::Center => missing / 2,
        Alignment::Right => missing,
    };
    out.extend(std::iter::repeat_n(spec.fill, before));
    out.push_str(text);
    out.extend(std::iter::repeat_n(spec.fill, missing - before));
}
