//! Programs with random values of random types, which they print with `{:?}` and mark with `%p{}`.

use std::fmt::Write as _;

use crate::tools::Choices;

/// A type of Rust.
#[derive(Clone, Debug)]
enum ValueType {
    /// A number, `bool`, `char` or `()`, by its name.
    Plain(&'static str),
    String,
    Str,
    Option(Box<ValueType>),
    Box(Box<ValueType>),
    Rc(Box<ValueType>),
    Reference(Box<ValueType>),
    Vec(Box<ValueType>),
    Slice(Box<ValueType>),
    Array(Box<ValueType>, usize),
    Tuple(Vec<ValueType>),
    /// A structure or an enumeration that the program declares.
    Declared(usize),
}

/// What a program declares.
#[derive(Clone, Debug)]
enum Declaration {
    Struct(Vec<ValueType>),
    TupleStruct(Vec<ValueType>),
    Packed(Vec<ValueType>),
    /// The fields of each variant; the second says whether they have names.
    Enum(Vec<(Vec<ValueType>, bool)>),
}

const PLAIN: [&str; 17] = [
    "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "u128", "i128", "usize", "isize", "f32", "f64", "bool",
    "char", "()",
];

struct Generator {
    choices: Choices,
    declared: Vec<Declaration>,
}

/// A program in Rust that passes `values` random values to each of `functions` functions. Each
/// prints its value, and then marks it: `whole:m3`.
#[must_use]
pub fn rust(seed: u64, functions: usize, values: usize) -> String {
    let mut generator = Generator { choices: Choices::new(seed), declared: Vec::new() };
    for _ in 0..functions / 2 {
        let declaration = generator.declaration();
        generator.declared.push(declaration);
    }
    let (mut code, mut main) = (String::new(), String::new());
    for number in 0..functions {
        let of = generator.of(3);
        let name = of.name();
        let _ = writeln!(
            code,
            "#[inline(never)]\nfn m{number}(value: &{name}) {{\n    println!(\"whole:m{number}: {{value:?}}\");\n    \
             simple_mark!(whole:m{number}, \"%p{{}}\", *value);\n    black_box(value);\n}}\n"
        );
        for _ in 0..values {
            let value = generator.value(&of);
            let _ = writeln!(
                main,
                "    {{\n        let value: {name} = {value};\n        m{number}(black_box(&value));\n    }}"
            );
        }
    }
    let declarations: String = (0..generator.declared.len()).map(|number| generator.written(number)).collect();
    format!(
        "#![allow(dead_code, unused, clippy::all)]\nuse simple_markers::simple_mark;\nuse std::hint::black_box;\n\
         use std::rc::Rc;\n\n{declarations}{code}fn main() {{\n{main}}}\n"
    )
}

impl ValueType {
    fn name(&self) -> String {
        match self {
            Self::Plain(name) => (*name).to_owned(),
            Self::String => "String".to_owned(),
            Self::Str => "&'static str".to_owned(),
            Self::Option(of) => format!("Option<{}>", of.name()),
            Self::Box(of) => format!("Box<{}>", of.name()),
            Self::Rc(of) => format!("Rc<{}>", of.name()),
            Self::Reference(of) => format!("&'static {}", of.name()),
            Self::Vec(of) => format!("Vec<{}>", of.name()),
            Self::Slice(of) => format!("&'static [{}]", of.name()),
            Self::Array(of, count) => format!("[{}; {count}]", of.name()),
            Self::Tuple(of) => format!("({},)", of.iter().map(Self::name).collect::<Vec<_>>().join(", ")),
            Self::Declared(number) => format!("D{number}"),
        }
    }
}

impl Generator {
    fn declaration(&mut self) -> Declaration {
        let fields = |this: &mut Self| (0..this.choices.below(5usize)).map(|_| this.of(2)).collect::<Vec<_>>();
        match self.choices.below(8u32) {
            0 => Declaration::TupleStruct(fields(self)),
            // A reference to a field of such a structure does not compile, so its fields can be copied.
            1 => Declaration::Packed((0..3).map(|_| ValueType::Plain(self.plain())).collect()),
            2..=4 => Declaration::Struct(fields(self)),
            _ => {
                let variant = |this: &mut Self| {
                    let fields = if this.choices.chance(40) { Vec::new() } else { fields(this) };
                    (fields, this.choices.chance(50))
                };
                Declaration::Enum((0..1 + self.choices.below(5usize)).map(|_| variant(self)).collect())
            }
        }
    }

    fn plain(&mut self) -> &'static str {
        PLAIN[self.choices.below(PLAIN.len())]
    }

    /// A type that is nested at most so deep.
    fn of(&mut self, depth: u32) -> ValueType {
        let Some(next) = depth.checked_sub(1) else { return ValueType::Plain(self.plain()) };
        let inner = |this: &mut Self| Box::new(this.of(next));
        match self.choices.below(20u32) {
            0..=4 => ValueType::Plain(self.plain()),
            5 | 6 => ValueType::String,
            7 => ValueType::Str,
            8 | 9 => ValueType::Option(inner(self)),
            10 => ValueType::Box(inner(self)),
            11 => ValueType::Rc(inner(self)),
            12 => ValueType::Reference(Box::new(ValueType::Plain(self.plain()))),
            13 | 14 => ValueType::Vec(inner(self)),
            15 => ValueType::Slice(Box::new(ValueType::Plain(self.plain()))),
            16 => ValueType::Array(inner(self), self.choices.below(4)),
            17 => ValueType::Tuple((0..1 + self.choices.below(3usize)).map(|_| self.of(next)).collect()),
            _ if !self.declared.is_empty() => ValueType::Declared(self.choices.below(self.declared.len())),
            _ => ValueType::Plain(self.plain()),
        }
    }

    fn written(&self, number: usize) -> String {
        let named = |of: &[ValueType]| {
            let fields = of.iter().enumerate().map(|(index, of)| format!("f{index}: {}", of.name()));
            fields.collect::<Vec<_>>().join(", ")
        };
        let unnamed = |of: &[ValueType]| of.iter().map(ValueType::name).collect::<Vec<_>>().join(", ");
        match &self.declared[number] {
            Declaration::Struct(of) => format!("#[derive(Clone, Debug)]\nstruct D{number} {{ {} }}\n\n", named(of)),
            Declaration::TupleStruct(of) if of.is_empty() => format!("#[derive(Clone, Debug)]\nstruct D{number};\n\n"),
            Declaration::TupleStruct(of) => format!("#[derive(Clone, Debug)]\nstruct D{number}({});\n\n", unnamed(of)),
            Declaration::Packed(of) => {
                format!("#[derive(Clone, Copy, Debug)]\n#[repr(packed)]\nstruct D{number} {{ {} }}\n\n", named(of))
            }
            Declaration::Enum(variants) => {
                let variant = |(index, (of, has_names)): (usize, &(Vec<ValueType>, bool))| match (&**of, has_names) {
                    ([], _) => format!("V{index}"),
                    (of, true) => format!("V{index} {{ {} }}", named(of)),
                    (of, false) => format!("V{index}({})", unnamed(of)),
                };
                let variants: Vec<_> = variants.iter().enumerate().map(variant).collect();
                format!("#[derive(Clone, Debug)]\nenum D{number} {{ {} }}\n\n", variants.join(", "))
            }
        }
    }

    fn values(&mut self, of: &[ValueType]) -> String {
        of.iter().map(|of| self.value(of)).collect::<Vec<_>>().join(", ")
    }

    fn named_values(&mut self, of: &[ValueType]) -> String {
        let value = |(index, of)| format!("f{index}: {}", self.value(of));
        of.iter().enumerate().map(value).collect::<Vec<_>>().join(", ")
    }

    /// An expression of a type.
    fn value(&mut self, of: &ValueType) -> String {
        let several = |this: &mut Self, of: &ValueType, most: usize| {
            let count = this.choices.below(most);
            this.values(&vec![of.clone(); count])
        };
        match of {
            ValueType::Plain(name) => self.plain_value(name),
            ValueType::String => format!("String::from({})", self.text()),
            ValueType::Str => self.text(),
            ValueType::Option(_) if self.choices.chance(30) => "None".to_owned(),
            ValueType::Option(of) => format!("Some({})", self.value(of)),
            ValueType::Box(of) => format!("Box::new({})", self.value(of)),
            ValueType::Rc(of) => format!("Rc::new({})", self.value(of)),
            ValueType::Reference(of) => format!("&*Box::leak(Box::new({}))", self.value(of)),
            ValueType::Vec(of) => format!("Vec::<{}>::from([{}])", of.name(), several(self, of, 6)),
            ValueType::Slice(of) => {
                format!("&*Vec::leak(Vec::<{}>::from([{}]))", of.name(), several(self, of, 9))
            }
            ValueType::Array(of, count) => format!("[{}]", self.values(&vec![of.as_ref().clone(); *count])),
            ValueType::Tuple(of) => format!("({},)", self.values(of)),
            ValueType::Declared(number) => match self.declared[*number].clone() {
                Declaration::Struct(of) | Declaration::Packed(of) => {
                    format!("D{number} {{ {} }}", self.named_values(&of))
                }
                Declaration::TupleStruct(of) if of.is_empty() => format!("D{number}"),
                Declaration::TupleStruct(of) => format!("D{number}({})", self.values(&of)),
                Declaration::Enum(variants) => {
                    let index = self.choices.below(variants.len());
                    match &variants[index] {
                        (of, _) if of.is_empty() => format!("D{number}::V{index}"),
                        (of, true) => format!("D{number}::V{index} {{ {} }}", self.named_values(of)),
                        (of, false) => format!("D{number}::V{index}({})", self.values(of)),
                    }
                }
            },
        }
    }

    fn plain_value(&mut self, name: &str) -> String {
        const FLOATS: [&str; 9] =
            ["0.0", "-0.0", "1.5", "NAN", "INFINITY", "NEG_INFINITY", "MIN_POSITIVE", "MAX", "1e-7"];
        const CHARACTERS: [&str; 7] = ["'a'", "'\\n'", "'\\''", "'\\u{e9}'", "'\\u{10ffff}'", "'\\0'", "'\"'"];
        match name {
            "()" => "()".to_owned(),
            "bool" => self.choices.chance(50).to_string(),
            "char" => CHARACTERS[self.choices.below(CHARACTERS.len())].to_owned(),
            "f32" | "f64" => match FLOATS[self.choices.below(FLOATS.len())] {
                known if known.starts_with(|first: char| first.is_ascii_uppercase()) => format!("{name}::{known}"),
                number => format!("{number}_{name}"),
            },
            _ => match self.choices.below(5u32) {
                0 => format!("{name}::MAX"),
                1 => format!("{name}::MIN"),
                2 => format!("0_{name}"),
                _ => format!("({}_u64 as {name})", self.choices.number()),
            },
        }
    }

    fn text(&mut self) -> String {
        const TEXTS: [&str; 7] = [
            "\"\"",
            "\"a\"",
            "\"two words\"",
            "\"\\\"quoted\\\"\"",
            "\"a\\nb\\t\\\\\"",
            "\"caf\\u{e9}\"",
            "\"\\u{1f600}\\0end\"",
        ];
        match self.choices.below(9usize) {
            8 => format!("\"{}\"", "long ".repeat(self.choices.below(12))),
            number => TEXTS[number % TEXTS.len()].to_owned(),
        }
    }
}

/// A value as `{:?}` prints it, of what `smark` says: that a value is behind a reference is left out.
#[must_use]
pub fn normalized(said: &str) -> String {
    let mut text = String::new();
    // The character that ends the literal.
    let mut end = None;
    let mut letters = said.chars();
    while let Some(letter) = letters.next() {
        match (letter, end) {
            ('&', None) => continue,
            ('"' | '\'', None) => end = Some(letter),
            ('\\', Some(_)) => {
                text.push(letter);
                text.extend(letters.next());
                continue;
            }
            (letter, Some(known)) if letter == known => end = None,
            _ => {}
        }
        text.push(letter);
    }
    text
}
