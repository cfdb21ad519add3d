//! The types of shapes in TSDL (CTF 1.8, C).
//!
//! Each function writes what `fields` appends as bytes.

use std::fmt::Write as _;

use simple_markers_record::tsdl::StringLiteral;

use crate::ctf::identifier::identifier;
use crate::tree_shape::{IntegerWidth, REST, TreeContent, TreeShape};

/// How deeply the fields of an argument are indented.
const INDENTATION: usize = 2;

/// Words that cannot be names of alternatives.
const KEYWORDS: [&str; 28] = [
    "align",
    "callsite",
    "char",
    "clock",
    "const",
    "double",
    "enum",
    "env",
    "event",
    "float",
    "floating_point",
    "int",
    "integer",
    "long",
    "short",
    "signed",
    "stream",
    "string",
    "struct",
    "trace",
    "typealias",
    "typedef",
    "unsigned",
    "variant",
    "void",
    "_Bool",
    "_Complex",
    "_Imaginary",
];

/// Appends the field that says whether a value changed while it was read.
pub(super) fn changing(name: &str, out: &mut String) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "\t\t{BOOLEAN} _{name}__changing;");
}

/// Appends the fields of an argument.
pub(super) fn of_argument(shape: &TreeShape, name: &str, out: &mut String) {
    TypeWriter { out, indentation: INDENTATION }.place(shape, name);
}

/// Appends the variant of an argument, by its state.
pub(super) fn with_state(shape: &TreeShape, name: &str, out: &mut String) {
    let mut writer = TypeWriter { out, indentation: INDENTATION };
    writer.block(&format!("variant <_{name}__state>"), &format!(" _{name};"), |writer| {
        for state in ["value", "maybe"] {
            writer.place_type(shape, &format!(" {state};"));
        }
        // The text of a value that is too large.
        writer.line("text_t cut;");
        writer.line("text_t maybe_cut;");
        for state in ["unreadable", "doubtful", "entry_unseen", "null", "maybe_null"] {
            writer.line(&format!("struct {{ }} {state};"));
        }
    });
}

/// A Boolean.
const BOOLEAN: &str = r#"enum : uint8_t { "false" = 0, "true" = 1 }"#;

struct TypeWriter<'o> {
    out: &'o mut String,
    indentation: usize,
}

impl TypeWriter<'_> {
    fn line(&mut self, text: &str) {
        self.out.extend(std::iter::repeat_n('\t', self.indentation));
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// `BEFORE { .. }BEHIND`
    fn block(&mut self, before: &str, behind: &str, content: impl FnOnce(&mut Self)) {
        self.line(&format!("{before} {{"));
        self.indentation += 1;
        content(self);
        self.indentation -= 1;
        self.line(&format!("}}{behind}"));
    }

    /// The fields of a place.
    fn place(&mut self, shape: &TreeShape, name: &str) {
        if let Some(content) = shape.only() {
            return self.content(content, name);
        }
        let Some(labels) = labels(shape) else { return self.line(&format!("struct {{ }} _{name};")) };
        let tag = tag_type(&labels);
        if is_enumeration(shape) {
            return self.line(&format!("{tag} _{name};"));
        }
        self.line(&format!("{tag} _{name}__tag;"));
        self.block(&format!("variant <_{name}__tag>"), &format!(" _{name};"), |writer| {
            for (alternative, label) in shape.alternatives.iter().zip(&labels) {
                writer.content_type(&alternative.content, &format!(" {label};"));
            }
        });
    }

    /// The fields of a content.
    fn content(&mut self, content: &TreeContent, name: &str) {
        let is_sequence = matches!(content, TreeContent::Bytes | TreeContent::List { .. } | TreeContent::Map { .. });
        if is_sequence {
            self.line(&format!("uint32_t _{name}__length;"));
        }
        if let TreeContent::List { is_cut: true, .. } | TreeContent::Map { is_cut: true, .. } = content {
            self.line(&format!("int64_t _{name}__more;"));
        }
        let sequence = format!(" _{name}[_{name}__length];");
        match content {
            TreeContent::Bytes => self.line(&format!("hex8_t{sequence}")),
            TreeContent::List { element, .. } => self.place_type(element, &sequence),
            TreeContent::Map { key, value, .. } => self.block("struct", &sequence, |writer| {
                writer.place(key, "key");
                writer.place(value, "value");
            }),
            content => self.content_type(content, &format!(" _{name};")),
        }
    }

    /// The type of a place, where nothing can precede it.
    fn place_type(&mut self, shape: &TreeShape, behind: &str) {
        match (shape.only(), labels(shape)) {
            (Some(content), _) => self.content_type(content, behind),
            (None, None) => self.line(&format!("struct {{ }}{behind}")),
            (None, Some(labels)) if is_enumeration(shape) => self.line(&format!("{}{behind}", tag_type(&labels))),
            (None, Some(_)) => self.block("struct", behind, |writer| writer.place(shape, "value")),
        }
    }

    /// The type of a content, where nothing can precede it.
    fn content_type(&mut self, content: &TreeContent, behind: &str) {
        let of = match content {
            TreeContent::Nothing => "struct { }",
            TreeContent::Boolean => BOOLEAN,
            TreeContent::Float => "float64_t",
            TreeContent::Digits | TreeContent::Text | TreeContent::Any => "text_t",
            TreeContent::Pointer(None) => "hex64_t",
            TreeContent::Integer(width) => return self.line(&format!("{}{behind}", integer(*width))),
            TreeContent::Enumeration { width, names } => {
                let names = names.iter().map(|(number, name)| format!("{} = {number}", StringLiteral(name)));
                let names = names.collect::<Vec<_>>().join(", ");
                return self.line(&format!("enum : {} {{ {names} }}{behind}", integer(*width)));
            }
            TreeContent::Pointer(Some(to)) => {
                return self.block("struct", behind, |writer| {
                    writer.line("hex64_t _address;");
                    writer.place(to, "to");
                });
            }
            TreeContent::Members(members) => {
                return self.block("struct", behind, |writer| {
                    let mut used = Vec::new();
                    for member in members {
                        let text = if &*member.name == REST { "left_out" } else { &member.name };
                        let name = identifier(text, &used);
                        writer.place(&member.shape, &name);
                        used.push(name);
                    }
                });
            }
            TreeContent::Payload(place) => return self.place_type(place, behind),
            TreeContent::Bytes | TreeContent::List { .. } | TreeContent::Map { .. } => {
                return self.block("struct", behind, |writer| writer.content(content, "items"));
            }
        };
        self.line(&format!("{of}{behind}"));
    }
}

/// Whether no alternative has content.
pub(super) fn is_enumeration(shape: &TreeShape) -> bool {
    shape.alternatives.iter().all(|alternative| alternative.content == TreeContent::Nothing)
}

/// The labels of the alternatives, which are identifiers; `None` if there are none.
fn labels(shape: &TreeShape) -> Option<Vec<String>> {
    let mut used: Vec<String> = Vec::new();
    for word in shape.words() {
        let name = identifier(word, &used);
        used.push(name);
    }
    for label in &mut used {
        let is_type = label.ends_with("_t");
        if is_type || KEYWORDS.contains(&label.as_str()) || label.starts_with(|first: char| first.is_ascii_digit()) {
            label.insert(0, '_');
        }
    }
    (!used.is_empty()).then_some(used)
}

/// The enumeration that says which alternative a value is.
fn tag_type(labels: &[String]) -> String {
    let of = if is_small(labels.len()) { "uint8_t" } else { "uint16_t" };
    let pairs = labels.iter().enumerate().map(|(number, label)| format!("{label} = {number}"));
    format!("enum : {of} {{ {} }}", pairs.collect::<Vec<_>>().join(", "))
}

/// Whether the number of one of so many alternatives is a byte.
pub(super) fn is_small(alternatives: usize) -> bool {
    alternatives <= 1 << 8
}

fn integer(IntegerWidth { is_signed, bits }: IntegerWidth) -> String {
    let sign = if is_signed { "" } else { "u" };
    format!("{sign}int{bits}_t")
}
