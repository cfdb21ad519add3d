//! Compiles every conversion with every length for every kind of type.
//!
//! The expectation comes from the table `simple_markers_record::conversion`, and from the table
//! types of each Rust type below. The type checks of `simple_mark!` repeat that table in traits.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use simple_markers_record::conversion::{STAR, Type, accepts};
use simple_markers_record::printf::Length;
use simple_markers_record::specifier::Specifier;
use simple_markers_tests::fixture::{self, Fixture};
use simple_markers_tests::tools::{self, slice, tries_everything};

/// A Rust type, and the types of the table that it is.
struct Rust {
    /// As the compiler prints it.
    name: String,
    /// Whether the type is unsized. Then the field is a `&'static {name}`, and the marker names its
    /// target.
    unsized_place: bool,
    is: Vec<Type>,
    /// Whether it represents its kind: it is tested with every letter, and not only with one of
    /// each group.
    representative: bool,
}

impl Rust {
    fn new(name: &str, is: &[Type]) -> Self {
        Self { name: name.to_owned(), unsized_place: false, is: is.to_vec(), representative: false }
    }

    fn is_shown_by(&self, conversion: Conversion) -> bool {
        self.is.iter().any(|is| conversion.accepts().contains(is))
    }

    /// Whether no conversion fits, except perhaps `%p`, and the message cannot suggest one. A
    /// reference is resolved to its target before it counts as a pointer, and function pointers
    /// have no trait in common.
    fn is_wide(&self) -> bool {
        matches!(&*self.name, "i128" | "u128")
    }

    fn has_no_help(&self) -> bool {
        self.is.is_empty()
            || self.is == [Type::Pointer] && (self.name.starts_with('&') || FUNCTIONS.contains(&self.name.as_str()))
    }

    fn field(&self) -> String {
        if self.unsized_place {
            format!("&'static {}", self.name)
        } else {
            self.name.replace('&', "&'static ").replace("'_", "'static")
        }
    }

    fn place(&self, index: usize) -> String {
        if self.unsized_place { format!("*values.f{index}") } else { format!("values.f{index}") }
    }
}

/// A conversion without its `%`.
#[derive(Clone, Copy)]
struct Conversion(Length, Specifier);

impl Conversion {
    fn all() -> impl Iterator<Item = Self> {
        let specifiers = Specifier::ALL.iter().filter_map(|letter| Specifier::new(*letter));
        specifiers.flat_map(|specifier| Length::ALL.map(|length| Self(length, specifier)))
    }

    fn parse(text: &str) -> Self {
        Self::all().find(|conversion| conversion.text() == text).unwrap_or_else(|| panic!("no conversion: {text}"))
    }

    fn text(self) -> String {
        format!("{}{}", self.0.as_str(), self.1.letter())
    }

    fn letter(self) -> char {
        self.1.letter()
    }

    fn accepts(self) -> &'static [Type] {
        accepts(self.0, self.1)
    }

    /// Whether its letter represents its group, whose letters accept the same types.
    fn representative(self) -> bool {
        "dxcspg".contains(self.letter())
    }

    /// The types that it expects, in the form of a message.
    fn expected(self) -> String {
        let names: Vec<_> = self.accepts().iter().map(|accepted| primitive(*accepted)).collect();
        if let [name] = names[..] { name.to_owned() } else { format!("({})", names.join(", ")) }
    }
}

const INTEGERS: [Type; 10] =
    [Type::I8, Type::I16, Type::I32, Type::I64, Type::Isize, Type::U8, Type::U16, Type::U32, Type::U64, Type::Usize];

/// Rust's name for a table type that is a single type.
fn primitive(table: Type) -> &'static str {
    match table {
        Type::I8 => "i8",
        Type::I16 => "i16",
        Type::I32 => "i32",
        Type::I64 => "i64",
        Type::Isize => "isize",
        Type::U8 => "u8",
        Type::U16 => "u16",
        Type::U32 => "u32",
        Type::U64 => "u64",
        Type::Usize => "usize",
        Type::Bool => "bool",
        Type::Char => "char",
        Type::F32 => "f32",
        Type::F64 => "f64",
        Type::Text | Type::Pointer => panic!("{table:?} is many types"),
    }
}

fn types() -> Vec<Rust> {
    use Type::{Bool, Pointer, Text};
    let mut types = Vec::new();
    for table in Type::ALL.into_iter().filter(|table| !matches!(table, Text | Pointer)) {
        let name = primitive(table);
        types.push(Rust { representative: true, ..Rust::new(name, &[table]) });
        types.push(Rust::new(&format!("&{name}"), &[table, Pointer]));
        types.push(Rust::new(&format!("&mut {name}"), &[table, Pointer]));
    }
    for table in INTEGERS {
        let name = primitive(table);
        let capital = name[..1].to_uppercase() + &name[1..];
        types.push(Rust::new(&format!("Wrapping<{name}>"), &[table]));
        types.push(Rust::new(&format!("NonZero<{name}>"), &[table]));
        types.push(Rust::new(&format!("Atomic{capital}"), &[table]));
        types.push(Rust::new(&format!("Cell<{name}>"), &[table]));
        types.push(Rust::new(&format!("&Cell<{name}>"), &[table, Pointer]));
    }
    types.push(Rust::new("AtomicBool", &[Bool]));
    for text in ["str", "CStr", "[u8]"] {
        types.push(Rust { unsized_place: true, ..Rust::new(text, &[Text]) });
        types.push(Rust::new(&format!("&{text}"), &[Text, Pointer]));
        types.push(Rust::new(&format!("&&mut {text}"), &[Text, Pointer]));
        for pointer in ["Box", "Rc", "Arc"] {
            types.push(Rust::new(&format!("{pointer}<{text}>"), &[Text, Pointer]));
        }
        types.push(Rust::new(&format!("Cow<'_, {text}>"), &[Text]));
    }
    for text in ["String", "CString", "Vec<u8>", "[u8; 4]"] {
        types.push(Rust { representative: text == "String", ..Rust::new(text, &[Text]) });
        types.push(Rust::new(&format!("&{text}"), &[Text, Pointer]));
        types.push(Rust::new(&format!("Box<{text}>"), &[Text, Pointer]));
    }
    // `c_char` under the name that the compiler prints on the host.
    let c_char = std::any::type_name::<std::ffi::c_char>();
    for text in [format!("*const {c_char}"), format!("*mut {c_char}"), format!("&*const {c_char}")] {
        types.push(Rust::new(&text, &[Text, Pointer]));
    }
    types.push(Rust { representative: true, ..Rust::new("*const Opaque", &[Pointer]) });
    let pointers = [
        "*mut Opaque",
        "*const i32",
        "*const [i32]",
        "&Opaque",
        "&mut Opaque",
        "&[i32]",
        "&Vec<i32>",
        "&Option<i32>",
        "NonNull<i32>",
        "NonNull<[u8]>",
        "Box<i32>",
        "Rc<i32>",
        "Arc<Opaque>",
        "Option<&i32>",
        "Option<&mut Opaque>",
        "Option<&str>",
        "Option<Box<i32>>",
        "Option<Rc<Opaque>>",
        "Option<NonNull<u8>>",
    ];
    types.extend(pointers.map(|name| Rust::new(name, &[Pointer])));
    types.extend(FUNCTIONS.map(|name| Rust::new(name, &[Pointer])));
    types.push(Rust { representative: true, ..Rust::new("i128", &[]) });
    let none =
        ["u128", "()", "Opaque", "Vec<i32>", "[i32; 2]", "Option<i32>", "Option<String>", "(i32,)", "Cow<'_, [i32]>"];
    types.extend(none.map(|name| Rust::new(name, &[])));
    types
}

/// Function pointers.
const FUNCTIONS: [&str; 4] = ["Option<fn()>", "fn()", "fn(&i32) -> u8", "unsafe extern \"C\" fn(i32)"];

const PRELUDE: &str = "#![no_std]
#![deny(warnings)]
extern crate alloc;
pub use alloc::{borrow::Cow, boxed::Box, ffi::CString, rc::Rc, string::String, sync::Arc, vec::Vec};
pub use core::{cell::Cell, ffi::CStr, num::{NonZero, Wrapping}, ptr::NonNull, sync::atomic::*};
use simple_markers::simple_mark;

pub struct Opaque(pub i32);
";

/// A crate with a marker for a value of each type.
struct Source {
    text: String,
    /// The conversion and type on each line, from 1.
    cells: BTreeMap<usize, (Conversion, usize)>,
}

impl Source {
    fn new(types: &[Rust]) -> Self {
        let mut text = PRELUDE.to_owned();
        text.push_str("pub struct Values {\n");
        for (index, rust) in types.iter().enumerate() {
            let _ = writeln!(text, "pub f{index}: {},", rust.field());
        }
        text.push_str("}\n");
        Self { text, cells: BTreeMap::new() }
    }

    /// Adds a function with a marker on each line.
    fn function(&mut self, conversion: Conversion, format: &str, arguments: impl Iterator<Item = (usize, String)>) {
        let number = self.text.lines().count();
        let _ = writeln!(self.text, "pub fn line{number}(values: &'static mut Values) {{ let _ = &values;");
        for (index, argument) in arguments {
            let _ = writeln!(self.text, "simple_mark!(matrix:cell, {format:?}, {argument});");
            self.cells.insert(self.text.lines().count(), (conversion, index));
        }
        self.text.push_str("}\n");
    }

    fn fixture(&self, name: &str) -> Fixture {
        Fixture::new(name).file("src/lib.rs", &self.text)
    }

    /// The errors of the crate by line, in the compiler's order.
    fn errors(&self, name: &str) -> BTreeMap<usize, Vec<String>> {
        let mut check = self.fixture(name).cargo("check");
        let output = tools::output(check.arg("--message-format=json"));
        let mut errors: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let message: serde_json::Value = serde_json::from_slice(line).expect("cargo prints JSON");
            let diagnostic = &message["message"];
            let spans = diagnostic["spans"].as_array().into_iter().flatten();
            for span in spans.filter(|span| span["is_primary"] == true && diagnostic["level"] == "error") {
                assert_eq!(span["file_name"], Path::new("src/lib.rs").to_str().unwrap_or_default(), "{diagnostic}");
                let line = span["line_start"].as_u64().expect("a line") as usize;
                let text = diagnostic["message"].as_str().expect("a text");
                // The compiler prints a full path for a type that may be unfamiliar.
                errors.entry(line).or_default().push(text.replace("core::sync::atomic::", ""));
            }
        }
        errors
    }

    /// Asserts that each line has its own errors, and that `expected` accepts them.
    fn each_line_is_refused(&self, name: &str, types: &[Rust], expected: impl Fn(Conversion, &Rust, &[String])) {
        let errors = self.errors(name);
        let without: Vec<_> = self.cells.keys().filter(|line| !errors.contains_key(line)).collect();
        let text = |line: usize| self.text.lines().nth(line - 1).unwrap_or_default();
        assert!(without.is_empty(), "{} compile, such as {}", without.len(), text(*without[0]));
        for (line, messages) in &errors {
            let Some(&(conversion, index)) = self.cells.get(line) else { panic!("{}: {messages:?}", text(*line)) };
            expected(conversion, &types[index], messages);
        }
    }
}

/// The only error of a line.
fn one(messages: &[String]) -> &str {
    let [message] = messages else { panic!("{messages:?}") };
    message
}

/// The part of the matrix to test: every letter with the representative types, and one letter of
/// each group with all types.
fn cells(types: &[Rust], conversion: Conversion) -> impl Iterator<Item = (usize, &Rust)> {
    types.iter().enumerate().filter(move |(_, rust)| rust.representative || conversion.representative())
}

/// The conversions with a Rust type.
fn conversions() -> impl Iterator<Item = Conversion> {
    Conversion::all().filter(|conversion| !conversion.accepts().is_empty())
}

#[test]
fn what_the_table_accepts_compiles() {
    let types = types();
    let mut source = Source::new(&types);
    for conversion in conversions() {
        let accepted = cells(&types, conversion).filter(|(_, rust)| rust.is_shown_by(conversion));
        let format = format!("%{}", conversion.text());
        source.function(conversion, &format, accepted.map(|(index, rust)| (index, rust.place(index))));
    }
    let star = types.iter().enumerate().filter(|(_, rust)| is_star(rust));
    let star = star.map(|(index, rust)| (index, format!("{}, values.f0", rust.place(index))));
    source.function(Conversion::parse("d"), "%*d", star);
    let address = types.iter().enumerate().map(|(index, rust)| (index, format!("&{}", rust.place(index))));
    source.function(Conversion::parse("p"), "%p", address);
    assert!(source.cells.len() > 600, "only {} cells", source.cells.len());
    fixture::succeeds_silently(&mut source.fixture("conversions-accepted").cargo("check"));
}

/// Whether a `*` accepts it: any of the numbers, but no pointer.
fn is_star(rust: &Rust) -> bool {
    rust.is.iter().any(|is| STAR.contains(is)) && !rust.name.starts_with("Atomic")
}

#[test]
fn what_the_table_refuses_is_an_error_with_help() {
    let types = types();
    let mut source = Source::new(&types);
    for conversion in conversions() {
        let refused: Vec<_> = cells(&types, conversion).filter(|(_, rust)| !rust.is_shown_by(conversion)).collect();
        let picked: Vec<_> = (0..refused.len()).step_by(4).collect();
        let refused = slice(&format!("types refused by {}", conversion.text()), &refused, &picked).into_iter();
        let format = format!("%{}", conversion.text());
        source.function(conversion, &format, refused.map(|(index, rust)| (index, rust.place(index))));
    }
    let least = if tries_everything() { 2500 } else { 600 };
    assert!(source.cells.len() > least, "only {} cells", source.cells.len());
    source.each_line_is_refused("conversions-refused", &types, refused_as_expected);
}

fn refused_as_expected(conversion: Conversion, rust: &Rust, messages: &[String]) {
    let message = one(messages);
    let given = &rust.name;
    let start = match conversion.letter() {
        's' => format!(
            "`%s` expects text (str, String, CStr, CString, Box, Rc, Arc or Cow of them, [u8], Vec<u8>, *const c_char), given `{given}`"
        ),
        'p' => format!(
            "`%p` expects a reference, raw pointer, NonNull, Box, Rc, Arc, function pointer or an Option of one, given `{given}`"
        ),
        _ if rust.is_wide() => format!("no conversion shows the 128 bits of `{given}`"),
        _ if rust.has_no_help() => format!("no conversion shows a `{given}` as a number or as text"),
        _ => return suggests_a_conversion(conversion, rust, message),
    };
    assert_eq!(message, start);
}

/// Asserts that the message suggests a conversion that shows the type. It may suggest another
/// letter only if no length of the first letter fits, and another length only if necessary.
fn suggests_a_conversion(conversion: Conversion, rust: &Rust, message: &str) {
    let start = format!("`%{}` expects {}, given `{}`: use `%", conversion.text(), conversion.expected(), rust.name);
    let suggested = message.strip_prefix(&start).and_then(|rest| rest.strip_suffix('`'));
    let suggested = Conversion::parse(suggested.unwrap_or_else(|| panic!("{message}\ndoes not start with\n{start}")));
    assert!(rust.is_shown_by(suggested), "{message}: but {} does not show it", suggested.text());
    let same_letter = |other: &Conversion| other.letter() == conversion.letter() && rust.is_shown_by(*other);
    assert_eq!(suggested.letter() == conversion.letter(), conversions().any(|other| same_letter(&other)), "{message}");
    let same_length = Conversion(conversion.0, suggested.1);
    assert!(
        !rust.is_shown_by(same_length) || suggested.0 == conversion.0 || conversion.letter() != suggested.letter(),
        "{message}"
    );
}

#[test]
fn a_star_takes_what_the_table_says() {
    let types = types();
    let mut source = Source::new(&types);
    let refused = types.iter().enumerate().filter(|(_, rust)| !is_star(rust));
    let refused = refused.map(|(index, rust)| (index, format!("{}, values.f0", rust.place(index))));
    source.function(Conversion::parse("d"), "%*d", refused);
    source.each_line_is_refused("conversions-star", &types, |_, rust, messages| {
        let message = one(messages);
        // The message names the type behind a reference.
        let innermost = rust.name.trim_start_matches('&').trim_start_matches("mut ");
        let message = message.replace(&rust.name, innermost);
        assert_eq!(message, format!("a `*` of the format expects an i32 (i8, i16), given `{innermost}`"));
    });
}

#[test]
fn conversions_without_a_type_are_refused_whatever_is_given() {
    let types = types();
    let mut source = Source::new(&types);
    let none: Vec<_> = Conversion::all().filter(|conversion| conversion.accepts().is_empty()).collect();
    assert_eq!(none.len(), Specifier::ALL.len() * Length::ALL.len() - conversions().count());
    for conversion in none {
        let format = format!("a %{} b", conversion.text());
        source.function(conversion, &format, std::iter::once((0, "values.f0".to_owned())));
    }
    source.each_line_is_refused("conversions-without-type", &types, |conversion, _, messages| {
        let message = one(messages);
        let (text, letter, length) = (conversion.text(), conversion.letter(), conversion.0.as_str());
        let expected = match conversion.0 {
            Length::BigL => format!("`%{text}` is for C's long double, which Rust does not have: use `%{letter}`"),
            _ => format!("`%{text}`: `%{letter}` takes no length modifier `{length}`: use `%{letter}`"),
        };
        assert_eq!(message, expected);
        assert!(!Conversion::parse(&letter.to_string()).accepts().is_empty());
    });
}

/// Whether a register can hold it: a number of a single type, or a thin pointer for `%p` and `%s`.
fn is_kept_by(rust: &Rust, conversion: Conversion) -> bool {
    let name = rust.name.as_str();
    let target = ["&mut ", "&", "*const ", "*mut "].iter().find_map(|pointer| name.strip_prefix(pointer));
    let thin = target.is_some_and(|target| !["str", "CStr", "[u8]", "[i32]"].contains(&target));
    match conversion.letter() {
        's' => rust.is.contains(&Type::Text) && name.starts_with('*'),
        'p' => thin,
        _ => rust.representative && rust.is_shown_by(conversion),
    }
}

/// Whether a register can hold it for a `*`.
fn is_kept_star(rust: &Rust) -> bool {
    rust.representative && rust.is.iter().any(|is| STAR.contains(is))
}

/// `[-]SIZE[f]@`: the start of the operands string of a kept argument, for a register that holds a
/// `table`.
fn entry(table: Type) -> &'static str {
    match table {
        Type::I8 => "-1@",
        Type::I16 => "-2@",
        Type::I32 => "-4@",
        Type::I64 | Type::Isize => "-8@",
        Type::U8 | Type::Bool => "1@",
        Type::U16 => "2@",
        Type::U32 | Type::Char => "4@",
        Type::U64 | Type::Usize | Type::Pointer | Type::Text => "8@",
        Type::F32 => "4f@",
        Type::F64 => "8f@",
    }
}

/// The widest type that a conversion accepts, as C passes it.
fn widest(conversion: Conversion) -> Type {
    let accepted = conversion.accepts().iter().filter(|accepted| **accepted != Type::Bool);
    *accepted.max_by_key(|accepted| entry(**accepted).trim_start_matches('-')).expect("a type")
}

#[test]
fn what_is_kept_has_the_width_of_its_conversion_or_its_own() {
    let types = types();
    let mut source = Source::new(&types);
    let mut expected = BTreeMap::new();
    for conversion in conversions() {
        let accepted: Vec<_> = types.iter().enumerate().filter(|(_, rust)| is_kept_by(rust, conversion)).collect();
        let format = format!("%{}", conversion.text());
        let width = |rust: &Rust| if rust.representative { rust.is[0] } else { Type::Pointer };
        let forms = accepted.iter().flat_map(|&(index, rust)| {
            let (place, name) = (rust.place(index), &rust.name);
            let mut forms = vec![(index, format!("keep {place}"), widest(conversion))];
            // Naming a mutable reference moves it, as everywhere in Rust.
            if !name.starts_with("&mut") {
                forms.push((index, format!("keep value = {place}"), widest(conversion)));
                forms.push((index, format!("keep value: {name} = {place}"), width(rust)));
            }
            forms
        });
        let forms: Vec<_> = forms.collect();
        let before = source.text.lines().count() + 2;
        source.function(conversion, &format, forms.iter().map(|(index, argument, _)| (*index, argument.clone())));
        expected.extend(forms.iter().enumerate().map(|(at, form)| (before + at, entry(form.2))));
    }
    let star: Vec<_> = (0..types.len()).filter(|index| is_kept_star(&types[*index])).collect();
    let forms = star.iter().flat_map(|&index| {
        let (place, name) = (types[index].place(index), &types[index].name);
        let own = entry(types[index].is[0]);
        [
            (index, format!("keep {place}, values.f0"), "-4@"),
            (index, format!("keep n: {name} = {place}, values.f0"), own),
        ]
    });
    let forms: Vec<_> = forms.collect();
    let before = source.text.lines().count() + 2;
    let arguments = forms.iter().map(|(index, argument, _)| (*index, argument.clone()));
    source.function(Conversion::parse("d"), "%*d", arguments);
    expected.extend(forms.iter().enumerate().map(|(at, form)| (before + at, form.2)));
    assert!(expected.len() > 500, "only {} cells", expected.len());
    let text = source.text.replace("pub fn line", "#[unsafe(no_mangle)] pub fn line").replace("#![no_std]\n", "");
    let dependency =
        format!("[dependencies]\nsimple-markers = {}\n[lib]\ncrate-type = [\"cdylib\"]\n", fixture::markers(""));
    let fixture = Fixture::empty("conversions-kept").manifest("2024", &dependency).file("src/lib.rs", &text);
    fixture::succeeds_silently(&mut fixture.cargo("build"));
    let sites = fixture::sites(&fixture.built("libconversions_kept.so"));
    assert_eq!(sites.len(), expected.len());
    for site in sites {
        // PRELUDE is one line shorter here.
        let line = site.line as usize + 1;
        let entry = expected[&line];
        assert!(
            site.operands.starts_with(entry),
            "{entry} {site:?}: {}",
            source.text.lines().nth(line - 1).unwrap_or_default()
        );
    }
}

#[test]
fn what_no_register_holds_is_not_kept() {
    let mut types = types();
    types.retain(|rust| !rust.unsized_place);
    let mut source = Source::new(&types);
    for conversion in conversions().filter(|conversion| conversion.representative()) {
        let refused = types.iter().enumerate().filter(|(_, rust)| !is_kept_by(rust, conversion));
        let format = format!("%{}", conversion.text());
        source.function(
            conversion,
            &format,
            refused.map(|(index, rust)| (index, format!("keep {}", rust.place(index)))),
        );
    }
    // The compiler adds its own errors about the operand.
    source.each_line_is_refused("conversions-not-kept", &types, |conversion, rust, messages| {
        let given = &rust.name;
        let expected = match conversion.letter() {
            's' => format!("`keep` with `%s` takes a `*const c_char`, which one register holds, given `{given}`"),
            'p' => format!("`keep` with `%p` takes thin references and pointers, given `{given}`"),
            _ if rust.representative && rust.is.first().is_some_and(|is| !matches!(is, Type::Text | Type::Pointer)) => {
                let ours = messages.iter().find(|message| message.starts_with("`%"));
                return suggests_a_conversion(
                    conversion,
                    rust,
                    ours.unwrap_or_else(|| panic!("{given}: {messages:?}")),
                );
            }
            _ if rust.is_wide() => format!("no conversion shows the 128 bits of `{given}`"),
            _ => format!("`keep` with `%{}` takes integers, bool, char and floats, given `{given}`", conversion.text()),
        };
        assert!(messages.contains(&expected), "{messages:?}\nhas no\n{expected}");
    });
}

#[test]
fn a_kept_star_takes_what_the_table_says() {
    let mut types = types();
    types.retain(|rust| !rust.unsized_place);
    let mut source = Source::new(&types);
    let refused = types.iter().enumerate().filter(|(_, rust)| !is_kept_star(rust));
    let refused = refused.map(|(index, rust)| (index, format!("keep {}, values.f0", rust.place(index))));
    source.function(Conversion::parse("d"), "%*d", refused);
    source.each_line_is_refused("conversions-star-not-kept", &types, |_, rust, messages| {
        let expected = format!("`keep` for a `*` of the format takes an i32 (i8, i16), given `{}`", rust.name);
        assert!(messages.contains(&expected), "{messages:?}\nhas no\n{expected}");
    });
}
