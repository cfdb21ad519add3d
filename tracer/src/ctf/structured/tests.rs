//! Random values, written by their shapes and read again by a reader that knows the types in the metadata
//! and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use simple_markers_resolver::types::{
    AddressKind, AddressValue, IntegerValue, Language, ListValue, MapValue, MemberValue, StructureValue, TextValue,
    ValueProblem, ValueTree, VariantValue,
};
use tools::Choices;

use super::{MAX_SIZE, MOST, fields, types};
use crate::tree_shape::TreeShape;

/// A type of the metadata.
enum TestType {
    Name(String),
    Enumeration { of: String, names: Vec<(String, i128)> },
    Structure(Vec<TestField>),
    Variant { tag: String, options: Vec<TestField> },
}

struct TestField {
    name: String,
    of: TestType,
    /// The field with the length of a sequence.
    length: Option<String>,
}

/// Reads types.
struct Tokens(std::vec::IntoIter<String>);

impl Tokens {
    fn new(text: &str) -> Self {
        let (mut all, mut quoted) = (Vec::new(), false);
        let mut word = String::new();
        for letter in text.chars() {
            if letter == '"' {
                quoted = !quoted;
            } else if quoted || letter.is_alphanumeric() || letter == '_' || letter == '-' {
                word.push(letter);
                continue;
            }
            if !word.is_empty() {
                all.push(std::mem::take(&mut word));
            }
            if !letter.is_whitespace() && letter != '"' {
                all.push(letter.to_string());
            }
        }
        Self(all.into_iter())
    }

    fn next(&mut self) -> String {
        self.0.next().expect("a token")
    }

    fn expect(&mut self, token: &str) {
        assert_eq!(self.next(), token);
    }

    fn is(&self, token: &str) -> bool {
        self.0.as_slice().first().is_some_and(|next| next == token)
    }

    /// The fields up to a brace, or the end.
    fn fields(&mut self) -> Vec<TestField> {
        let mut all = Vec::new();
        while !self.0.as_slice().is_empty() && !self.is("}") {
            let (of, name) = (self.of(), self.next());
            let length = self.is("[").then(|| {
                self.expect("[");
                let length = self.next();
                self.expect("]");
                length
            });
            self.expect(";");
            all.push(TestField { name, of, length });
        }
        all
    }

    fn braces(&mut self) -> Vec<TestField> {
        self.expect("{");
        let fields = self.fields();
        self.expect("}");
        fields
    }

    fn of(&mut self) -> TestType {
        match &*self.next() {
            "struct" => TestType::Structure(self.braces()),
            "variant" => {
                self.expect("<");
                let tag = self.next();
                self.expect(">");
                TestType::Variant { tag, options: self.braces() }
            }
            "enum" => {
                self.expect(":");
                let of = self.next();
                self.expect("{");
                let mut names = Vec::new();
                while !self.is("}") {
                    let name = self.next();
                    self.expect("=");
                    names.push((name, self.next().parse().expect("a number")));
                    if self.is(",") {
                        self.next();
                    }
                }
                self.expect("}");
                TestType::Enumeration { of, names }
            }
            name => TestType::Name(name.to_owned()),
        }
    }
}

/// A value that was read.
enum TestValue {
    Scalar(String),
    Label(String),
    Structure(Vec<(String, TestValue)>),
    Sequence(Vec<TestValue>),
}

struct Reader<'b> {
    bytes: &'b [u8],
    /// The integers and labels of the structures around a field.
    scopes: Vec<BTreeMap<String, String>>,
}

impl Reader<'_> {
    fn take(&mut self, size: usize) -> &[u8] {
        let (taken, rest) = self.bytes.split_at(size);
        self.bytes = rest;
        taken
    }

    fn number(&mut self, name: &str) -> i128 {
        let digits = name.trim_matches(|letter: char| !letter.is_ascii_digit());
        let bits: u32 = digits.parse().expect("a size");
        let mut number = [0; 16];
        let size = bits as usize / 8;
        number[..size].copy_from_slice(self.take(size));
        let number = i128::from_le_bytes(number);
        if name.starts_with("int") { number << (128 - bits) >> (128 - bits) } else { number }
    }

    fn known(&self, name: &str) -> String {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).expect("a field before it").clone()
    }

    fn fields(&mut self, fields: &[TestField]) -> TestValue {
        self.scopes.push(BTreeMap::new());
        let mut values = Vec::new();
        for TestField { name, of, length } in fields {
            let value = match length {
                None => self.value(of),
                Some(length) => {
                    let count: usize = self.known(length).parse().expect("a length");
                    TestValue::Sequence((0..count).map(|_| self.value(of)).collect())
                }
            };
            if let TestValue::Scalar(text) | TestValue::Label(text) = &value {
                self.scopes.last_mut().expect("a scope").insert(name.clone(), text.clone());
            }
            values.push((name.trim_start_matches('_').to_owned(), value));
        }
        self.scopes.pop();
        TestValue::Structure(values)
    }

    fn value(&mut self, of: &TestType) -> TestValue {
        match of {
            TestType::Name(name) if name == "text_t" => {
                let end = self.bytes.iter().position(|byte| *byte == 0).expect("an end");
                let text = String::from_utf8(self.take(end).to_vec()).expect("UTF-8");
                self.take(1);
                assert!(!text.is_empty());
                TestValue::Scalar(text)
            }
            TestType::Name(name) if name == "float64_t" => {
                let bytes = self.take(8).try_into().expect("8 bytes");
                TestValue::Scalar(format!("{:?}", f64::from_le_bytes(bytes)))
            }
            TestType::Name(name) => TestValue::Scalar(self.number(name).to_string()),
            TestType::Enumeration { of, names } => {
                let number = self.number(of);
                match names.iter().find(|(_, value)| *value == number) {
                    Some((name, _)) => TestValue::Label(name.clone()),
                    None => TestValue::Scalar(number.to_string()),
                }
            }
            TestType::Structure(fields) => self.fields(fields),
            TestType::Variant { tag, options } => {
                let tag = self.known(tag);
                let option = options.iter().find(|option| option.name == tag).expect("an option of this name");
                self.value(&option.of)
            }
        }
    }
}

/// A value in one form, whatever else was at its place.
fn read(value: &TestValue) -> String {
    match value {
        TestValue::Scalar(text) => text.clone(),
        TestValue::Label(label) => of_label(label, "()"),
        TestValue::Sequence(items) => format!("[{}]", items.iter().map(read).collect::<Vec<_>>().join(",")),
        TestValue::Structure(fields) => {
            let mut members = BTreeMap::new();
            let find = |name: &str| fields.iter().find(|(other, _)| other == name).map(|(_, value)| value);
            for (name, value) in fields {
                if ["__tag", "__length", "__more"].iter().any(|end| name.ends_with(end)) {
                    continue;
                }
                let mut text = match (find(&format!("{name}__tag")), value) {
                    (Some(TestValue::Label(label)), value) => of_label(label, &read(value)),
                    (_, value) => read(value),
                };
                if let Some(TestValue::Scalar(more)) = find(&format!("{name}__more")).filter(|_| text.starts_with('['))
                {
                    if more != "0" {
                        text.push_str(&format!("+{more}"));
                    }
                }
                if text != "<absent>" {
                    members.insert(name.clone(), text);
                }
            }
            match (members.remove("address"), members.remove("to"), &mut members) {
                (Some(address), Some(to), _) => format!("@{address}->{to}"),
                // It was not followed.
                (Some(address), None, members) if members.is_empty() => address,
                (address, _, members) => {
                    members.extend(address.map(|address| ("address".to_owned(), address)));
                    structure(members)
                }
            }
        }
    }
}

/// The members of a structure. What only wraps a value is that value.
fn structure(members: &BTreeMap<String, String>) -> String {
    match members.iter().next() {
        None => "()".to_owned(),
        Some((name, only)) if members.len() == 1 && ["value", "items"].contains(&name.as_str()) => only.clone(),
        _ => format!("{members:?}"),
    }
}

fn of_label(label: &str, content: &str) -> String {
    const KINDS: [&str; 9] = ["value", "unit", "number", "boolean", "text", "pointer", "list", "map", "null"];
    let is_value = KINDS.contains(&label) || label.starts_with(['S', 'E']) || ["true", "false"].contains(&label);
    match content {
        "()" if label.starts_with('E') || label == "true" || label == "false" => label.to_owned(),
        content if is_value => content.to_owned(),
        "()" => format!("<{label}>"),
        content => format!("<{label}>{content}"),
    }
}

/// The same form, made of the tree.
fn said(tree: &ValueTree) -> String {
    let members = |of: &[MemberValue]| {
        structure(&of.iter().map(|member| (member.name.to_string(), said(&member.value))).collect())
    };
    let more = |rest: Option<u64>| match rest {
        Some(0) => String::new(),
        Some(rest) => format!("+{rest}"),
        None => "+-1".to_owned(),
    };
    match tree {
        ValueTree::Integer(integer) => match integer.number() {
            Some(number) => number.to_string(),
            None => integer.bits.to_string(),
        },
        ValueTree::Boolean(is_true) => is_true.to_string(),
        ValueTree::Character('\0') => "<nul>".to_owned(),
        ValueTree::Character(letter) => letter.to_string(),
        ValueTree::Float(float) => float.text.clone(),
        ValueTree::Text(TextValue { bytes, is_cut }) => match (&**bytes, is_cut) {
            (b"", false) => "<empty>".to_owned(),
            (b"", true) => "<left_out>".to_owned(),
            (bytes, is_cut) if bytes.contains(&0) => {
                let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
                format!("<{}>[{}]", if *is_cut { "cut_bytes" } else { "bytes" }, numbers.join(","))
            }
            (bytes, is_cut) => format!("{}{}", if *is_cut { "<cut>" } else { "" }, String::from_utf8_lossy(bytes)),
        },
        ValueTree::Address(address) => match (&address.to, address.kind) {
            (Some(to @ (ValueTree::Text(_) | ValueTree::Cut)), _) => said(to),
            (Some(to), AddressKind::Raw) => format!("@{}->{}", address.address, said(to)),
            (Some(to), _) => said(to),
            (None, _) => address.address.to_string(),
        },
        ValueTree::Enumerator { name, .. } => name.to_string(),
        ValueTree::Structure(structure) => members(&structure.members),
        ValueTree::Variant(variant) => match &variant.value {
            ValueTree::Structure(structure) if structure.is_tuple => {
                of_label(&variant.name, &said(&structure.members[0].value))
            }
            ValueTree::Structure(structure) if structure.members.is_empty() => format!("<{}>", variant.name),
            other => of_label(&variant.name, &said(other)),
        },
        ValueTree::List(list) => {
            format!("[{}]{}", list.items.iter().map(said).collect::<Vec<_>>().join(","), more(list.rest()))
        }
        ValueTree::Map(map) => {
            let entry = |(key, value): &(ValueTree, ValueTree)| {
                structure(&[("key".to_owned(), said(key)), ("value".to_owned(), said(value))].into())
            };
            format!("[{}]{}", map.entries.iter().map(entry).collect::<Vec<_>>().join(","), more(map.rest()))
        }
        ValueTree::Problem(ValueProblem::Unreadable { address, length }) => {
            let details = [("address".to_owned(), format!("{address:#x}")), ("length".to_owned(), length.to_string())];
            format!("<unreadable>{}", structure(&details.into()))
        }
        ValueTree::Problem(_) => "<optimized_out>".to_owned(),
        ValueTree::Cut => "<left_out>".to_owned(),
        ValueTree::Uninitialized => "<uninitialized>".to_owned(),
        ValueTree::Void => "()".to_owned(),
        other => panic!("{other:?}"),
    }
}

/// A random value. Enumerators have values that no integer has.
fn random(choices: &mut Choices, depth: u32) -> ValueTree {
    const NUMBERS: [u128; 8] = [0, 1, 127, 128, 0x8000_0000, u64::MAX as u128, 1 << 63, u128::MAX];
    let kinds = if depth == 0 { 11 } else { 18u32 };
    match choices.below(kinds) {
        0 | 1 => {
            let size = *choices.one(&[1, 5, 8, 16, 32, 63, 64, 128]);
            let bits = choices.one(&NUMBERS) & u128::MAX >> (128 - size);
            ValueTree::Integer(IntegerValue { bits, size, is_signed: choices.chance(50) })
        }
        2 => ValueTree::Boolean(choices.chance(50)),
        3 => ValueTree::Character(*choices.one(&['a', '\0', '\u{20ac}'])),
        4 => ValueTree::Float((*choices.one(&[0.0, -0.1, 1e300, f64::INFINITY])).into()),
        5 | 6 => {
            let bytes = choices.one(&[&b"text"[..], b"", b"a\0b", "\u{fc}".as_bytes()]).to_vec();
            ValueTree::Text(TextValue { bytes, is_cut: choices.chance(20) })
        }
        7 => {
            let value = *choices.one(&[1000, 1001, -1002, 1 << 40]);
            ValueTree::Enumerator { name: format!("E{value}").into(), value }
        }
        8 => match choices.below(5u32) {
            0 => ValueTree::Cut,
            1 => ValueTree::Uninitialized,
            2 => ValueTree::Problem(ValueProblem::OptimizedOut),
            3 => ValueTree::Void,
            _ => ValueTree::Problem(ValueProblem::Unreadable { address: choices.number(), length: 3 }),
        },
        9 | 10 => {
            let address = if choices.chance(30) { 0 } else { choices.number() };
            let (kind, to) = (AddressKind::Raw, None);
            ValueTree::Address(Box::new(AddressValue { address, kind, to, function: None }))
        }
        11 => {
            let kind = *choices.one(&[AddressKind::Raw, AddressKind::Reference, AddressKind::Owner]);
            let to = Some(random(choices, depth - 1));
            ValueTree::Address(Box::new(AddressValue { address: choices.number() | 1, kind, to, function: None }))
        }
        12 | 13 => {
            let names: Vec<&str> = ["a", "b", "c", "d"].into_iter().filter(|_| choices.chance(70)).collect();
            let member = |name: &str| MemberValue { name: name.into(), value: random(choices, depth - 1) };
            let members = names.into_iter().map(member).collect();
            let name: Arc<str> = if choices.chance(80) { "S0".into() } else { "S1".into() };
            ValueTree::Structure(StructureValue { name, is_tuple: false, members, is_cut: false })
        }
        14 | 15 => {
            let number = choices.below(3u32);
            let name: Arc<str> = format!("V{number}").into();
            let member = |name: &str, value| MemberValue { name: name.into(), value };
            let members = match number {
                0 => Vec::new(),
                1 => vec![member("__0", random(choices, depth - 1))],
                _ => vec![member("a", random(choices, depth - 1)), member("b", random(choices, depth - 1))],
            };
            let is_tuple = number == 1;
            let value = StructureValue { name: Arc::clone(&name), is_tuple, members, is_cut: false };
            let value = ValueTree::Structure(value);
            ValueTree::Variant(Box::new(VariantValue { of: "V".into(), name, value, common: Vec::new() }))
        }
        16 => {
            let items: Vec<ValueTree> = (0..choices.below(4u32)).map(|_| random(choices, depth - 1)).collect();
            let total = *choices.one(&[Some(items.len() as u64), Some(items.len() as u64), Some(9), None]);
            ValueTree::List(ListValue { items, total, is_set: false })
        }
        _ => {
            let entry = |_| (random(choices, 0), random(choices, depth - 1));
            let entries: Vec<_> = (0..3).map(entry).collect();
            let total = *choices.one(&[Some(3), Some(3), Some(4)]);
            ValueTree::Map(MapValue { entries, total, has_text_keys: false })
        }
    }
}

/// The bytes of some values by their shape, and the type.
fn written(trees: &[ValueTree]) -> (TreeShape, String, Vec<Vec<u8>>) {
    let (mut shape, mut budget) = (TreeShape::default(), MOST);
    trees.iter().for_each(|tree| shape.add(tree, &mut budget));
    let mut metadata = String::new();
    types::of_argument(&shape, "value", &mut metadata);
    let bytes = |tree| {
        let mut out = Vec::new();
        fields::place(&shape, tree, Language::Rust, MAX_SIZE, &mut out).expect("a value of the shape");
        out
    };
    let bytes = trees.iter().map(bytes).collect();
    (shape, metadata, bytes)
}

#[test]
fn random_values_are_read_by_their_types() {
    let mut tags = 0;
    for seed in 0..3000 {
        let mut choices = Choices::new(seed);
        let trees: Vec<ValueTree> = (0..1 + choices.below(6u32)).map(|_| random(&mut choices, 4)).collect();
        let (_, metadata, values) = written(&trees);
        tags += metadata.matches("__tag;").count();
        let fields = Tokens::new(&metadata).fields();
        for (tree, bytes) in trees.iter().zip(&values) {
            let mut reader = Reader { bytes, scopes: Vec::new() };
            let value = read(&reader.fields(&fields));
            assert_eq!(reader.bytes, b"", "seed {seed}: {metadata}");
            assert_eq!(value, said(tree), "seed {seed}: {tree:?}\n{metadata}");
        }
    }
    assert!(tags > 5_000, "{tags}");
}

fn integer(number: u32) -> ValueTree {
    ValueTree::Integer(IntegerValue { bits: number.into(), size: 32, is_signed: false })
}

fn structure_of(members: Vec<(&str, ValueTree)>) -> ValueTree {
    let member = |(name, value): (&str, ValueTree)| MemberValue { name: name.into(), value };
    let members = members.into_iter().map(member).collect();
    ValueTree::Structure(StructureValue { name: "S".into(), is_tuple: false, members, is_cut: false })
}

#[test]
fn one_structure_is_a_structure() {
    let (_, metadata, bytes) = written(&[structure_of(vec![("a", integer(1)), ("r#type", integer(2))])]);
    assert_eq!(metadata, "\t\tstruct {\n\t\t\tuint32_t _a;\n\t\t\tuint32_t _r_type;\n\t\t} _value;\n");
    assert_eq!(bytes, [[1, 0, 0, 0, 2, 0, 0, 0]]);
}

#[test]
fn a_value_that_would_be_too_large_is_none() {
    let list = ValueTree::List(ListValue { items: vec![integer(1); 100], total: Some(100), is_set: false });
    let (shape, ..) = written(std::slice::from_ref(&list));
    let size = |most| fields::place(&shape, &list, Language::Rust, most, &mut Vec::new());
    assert_eq!((size(404), size(403)), (Some(()), None));
}
