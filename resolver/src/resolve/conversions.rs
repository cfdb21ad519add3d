//! Whether a conversion of the format fits the type that the debug information gives an argument.
//!
//! The macro of Rust checks this at compile time, the macro of C does not. The table is in
//! `simple_markers_record::conversion`. For Rust it is used as it is. For C only size and sign of a
//! type count, after the promotions of ISO C23 6.3.2.1, as in gcc's `-Wformat
//! -Wformat-signedness`. The sign does not count for enumerations, because the compiler chooses it,
//! and for `%hhd` and `%hd`, which convert their argument themselves.

use std::sync::Arc;

use simple_markers_record::conversion::{self, STAR, accepts};
use simple_markers_record::printf::{Conversion, Length};
use simple_markers_record::specifier::Specifier;

use super::WordsMistake;
use crate::dwarf::NoSuchPart;
use crate::types::{Language, Shape, Type, names_text, pointee, short_name, transparent};

/// What the meaning of a conversion depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataModel {
    /// The language of the marker.
    pub language: Language,
    /// Bytes of an address, and of C's `long`.
    pub address_size: u64,
}

/// Why an argument is not what its conversion expects.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Mismatch {
    /// No marker can have this conversion.
    NotAConversion {
        /// The conversion without flags, width and precision (`%ls`).
        conversion: Arc<str>,
    },
    /// The conversion does not show values of that type.
    Type {
        /// The conversion without flags, width and precision (`%lx`).
        conversion: Arc<str>,
        /// The type of the argument.
        given: GivenType,
        /// What to use instead; `None` if that is not known.
        help: Option<MismatchHelp>,
    },
    /// The argument of a `*` is no `int` of C, or `i32` of Rust.
    Star {
        /// The type of the argument.
        given: GivenType,
        /// The language of the marker.
        language: Language,
    },
    /// `{}` behind a conversion, and the type of the argument is no enumeration.
    NoNames {
        /// The type of the argument.
        given: GivenType,
    },
    /// The braces behind the conversion look like words, or like the form of a value, and cannot be read.
    Words(WordsMistake),
    /// A member in the braces of `%p{..}` that the value does not have.
    NoMember {
        /// The path of the member, as written (`owner.name`).
        path: Arc<str>,
        /// The first name on the path that is none.
        why: NoSuchPart,
    },
}

/// The type of an argument that its conversion does not expect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenType {
    /// The name of the type.
    pub name: Arc<str>,
    /// The size of a number in bytes; `None` for other types, and if it is not known.
    pub size: Option<u64>,
    /// Whether an integer is signed; `None` for other types.
    pub is_signed: Option<bool>,
}

/// What to use instead of a conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MismatchHelp {
    /// Another conversion (`%lu`).
    Conversion(Arc<str>),
    /// No conversion shows the type: mark one of its members, or its address with `%p`.
    MemberOrAddress,
}

impl Mismatch {
    /// The name of the reason, stable over versions (`docs/json.md`).
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.into()
    }
}

/// How deep references and newtypes are followed.
const NESTING: usize = 16;

/// Why a conversion does not fit a type, and what to use instead; `None` if it fits, as `%p{..}` does for
/// all, and if the debug information does not describe enough of the type.
#[must_use]
pub fn mismatch(conversion: &Conversion, of: &Type, model: DataModel) -> Option<Mismatch> {
    let (length, specifier) = (conversion.length, conversion.specifier);
    let letter = specifier.letter();
    if conversion.form.is_some() {
        return None;
    }
    let written = || Arc::from(format!("%{}{letter}", length.as_str()));
    let is_long_double = model.language == Language::C && length == Length::BigL && is_float_letter(letter);
    if accepts(length, specifier).is_empty() && !is_long_double {
        return Some(Mismatch::NotAConversion { conversion: written() });
    }
    let fits = match letter {
        's' => names_text(of, model.language, 0)?,
        'p' => is_pointer(of, model.language)?,
        _ => match value(of, model.language)? {
            Category::Number(number) => match model.language {
                Language::Rust => number.row().is_some_and(|row| accepts(length, specifier).contains(&row)),
                Language::C => fits_c(number, length, letter, model.address_size),
            },
            Category::Other => false,
        },
    };
    match fits {
        true => None,
        false => {
            Some(Mismatch::Type { conversion: written(), given: given(of), help: help(letter, length, of, model) })
        }
    }
}

/// The same for a conversion with `{}`, which also takes an enumeration of Rust of its size or less.
pub(super) fn mismatch_of_named(conversion: &Conversion, of: &Type, model: DataModel) -> Option<Mismatch> {
    let most = match conversion.length {
        Length::None => 4,
        Length::Hh => 1,
        Length::H => 2,
        _ => 8,
    };
    match (&of.shape, model.language, of.size) {
        (Shape::Enumeration { .. }, Language::Rust, Some(size)) if size <= most => None,
        (Shape::Enumeration { .. }, Language::Rust, None) => None,
        _ => mismatch(conversion, of, model),
    }
}

/// The type of a bit-field of C as a conversion gets it. One that an `int` holds is promoted to that,
/// also if its declared type is wider (ISO C23 6.3.1.1).
pub(super) fn bit_field(of: Arc<Type>, bits: u64) -> Arc<Type> {
    let is_wide = of.size.is_some_and(|size| size > 4) && bits < 32;
    match of.shape {
        Shape::Integer { .. } | Shape::Enumeration { .. } if is_wide => {
            let shape = match &of.shape {
                Shape::Integer { .. } => Shape::Integer { signed: true },
                other => other.clone(),
            };
            Arc::new(Type { name: Arc::clone(&of.name), size: Some(4), shape })
        }
        _ => of,
    }
}

/// Whether a conversion takes a bit-field because it is promoted to `int`: gcc's `-Wformat-signedness`
/// accepts an unsigned one for `%d`, and a signed one does not become unsigned.
pub(super) fn takes_promoted(conversion: &Conversion, of: &Type, bits: Option<u64>) -> bool {
    let is_signed = conversion.length == Length::None && matches!(conversion.specifier.letter(), 'd' | 'i');
    let is_integer = matches!(of.shape, Shape::Integer { .. } | Shape::Enumeration { .. } | Shape::Boolean);
    is_signed && is_integer && bits.is_some_and(|bits| bits < 32)
}

/// Why an argument of a type cannot be the width or precision of a `*`; `None` if it can, and if
/// the debug information does not describe enough of the type.
#[must_use]
pub fn star_mismatch(of: &Type, model: DataModel) -> Option<Mismatch> {
    let fits = match value(of, model.language)? {
        Category::Number(number) => match model.language {
            Language::Rust => number.row().is_some_and(|row| STAR.contains(&row)),
            Language::C => fits_c(number, Length::None, 'd', model.address_size),
        },
        Category::Other => false,
    };
    (!fits).then(|| Mismatch::Star { given: given(of), language: model.language })
}

/// The part of a type that matters for a conversion of a number.
#[derive(Clone, Copy, Debug)]
enum Category<'t> {
    Number(Number<'t>),
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Number<'t> {
    /// A number, a Boolean, a character or an enumeration. A character of C has one byte, one of
    /// Rust four.
    shape: &'t Shape,
    size: u64,
    /// Whether it is Rust's `isize` or `usize`.
    is_size: bool,
}

/// The type behind references and newtypes; `None` if the debug information does not tell.
fn value(of: &Type, language: Language) -> Option<Category<'_>> {
    let mut of = of;
    for _ in 0..NESTING {
        if let Some(member) = transparent(of).filter(|_| language == Language::Rust) {
            of = &member.of;
            continue;
        }
        match &of.shape {
            Shape::Pointer { to } if language == Language::Rust && of.name.starts_with('&') => {
                of = to.as_deref()?;
                continue;
            }
            Shape::Integer { .. }
            | Shape::Boolean
            | Shape::Character { .. }
            | Shape::Float
            | Shape::Enumeration { .. } => {}
            Shape::Opaque(_) => return None,
            _ => return Some(Category::Other),
        }
        let is_size = matches!(&*of.name, "isize" | "usize");
        return Some(Category::Number(Number { shape: &of.shape, size: of.size?, is_size }));
    }
    None
}

impl Number<'_> {
    /// The row of the table for a type of Rust.
    fn row(self) -> Option<conversion::Type> {
        use conversion::Type;
        Some(match (self.shape, self.size) {
            (Shape::Integer { signed: true }, _) if self.is_size => Type::Isize,
            (Shape::Integer { signed: false }, _) if self.is_size => Type::Usize,
            (Shape::Integer { signed: true }, 1) => Type::I8,
            (Shape::Integer { signed: true }, 2) => Type::I16,
            (Shape::Integer { signed: true }, 4) => Type::I32,
            (Shape::Integer { signed: true }, 8) => Type::I64,
            (Shape::Integer { signed: false }, 1) => Type::U8,
            (Shape::Integer { signed: false }, 2) => Type::U16,
            (Shape::Integer { signed: false }, 4) => Type::U32,
            (Shape::Integer { signed: false }, 8) => Type::U64,
            (Shape::Boolean, _) => Type::Bool,
            (Shape::Character { .. }, 4) => Type::Char,
            (Shape::Float, 4) => Type::F32,
            (Shape::Float, 8) => Type::F64,
            _ => return None,
        })
    }
}

fn fits_c(number: Number<'_>, length: Length, letter: char, address_size: u64) -> bool {
    let Number { shape, size, .. } = number;
    let sign = match shape {
        Shape::Float => return is_float_letter(letter) && (size > 8) == (length == Length::BigL),
        Shape::Integer { signed } | Shape::Character { signed } => Some(*signed),
        // A Boolean is promoted to `int`, and 0 or 1.
        _ => None,
    };
    if letter == 'c' {
        return size <= 4;
    }
    let wants_sign = match letter {
        'd' | 'i' => true,
        'u' | 'o' | 'x' | 'X' | 'b' | 'B' => false,
        _ => return false,
    };
    let same_sign = sign.is_none_or(|sign| sign == wants_sign);
    match length {
        Length::Hh => size <= 1,
        Length::H => size <= 2,
        // A type smaller than `int` is promoted to `int`, signed or not.
        Length::None => (size < 4 && (same_sign || wants_sign)) || (size == 4 && same_sign),
        Length::L | Length::Z | Length::T => size == address_size && same_sign,
        Length::Ll | Length::J => size == 8 && same_sign,
        Length::BigL => false,
    }
}

/// Whether `%p` shows a type; `None` where debug information does not say.
fn is_pointer(of: &Type, language: Language) -> Option<bool> {
    if pointee(of).is_some() {
        return Some(true);
    }
    Some(match &of.shape {
        Shape::Function | Shape::Dynamic(_) => true,
        // An array of C is passed as a pointer.
        Shape::Array { .. } => language == Language::C,
        Shape::Opaque(_) => return None,
        // A slice, but no `Vec` and no `String`.
        Shape::Sequence(_) => of.name.starts_with(['&', '*']) || matches!(short_name(&of.name), "Box" | "Rc" | "Arc"),
        Shape::Struct { members } => {
            let name = short_name(&of.name);
            let is_fat = members.iter().any(|member| &*member.name == "vtable");
            is_fat || matches!(name, "NonNull" | "Rc" | "Arc" | "Pin")
        }
        Shape::Variants(variants) if short_name(&of.name) == "Option" => {
            let some = variants.variants.iter().find(|variant| &*variant.name == "Some")?;
            match &some.members.first()?.of.shape {
                Shape::Struct { members } => is_pointer(&members.first()?.of, language)?,
                _ => false,
            }
        }
        _ => false,
    })
}

fn is_float_letter(letter: char) -> bool {
    matches!(letter, 'e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'a' | 'A')
}

/// A type as a mismatch has it.
pub(super) fn given(of: &Type) -> GivenType {
    let is_signed = match &of.shape {
        Shape::Integer { signed } => Some(*signed),
        _ => None,
    };
    let is_number =
        matches!(of.shape, Shape::Integer { .. } | Shape::Float | Shape::Enumeration { .. } | Shape::Character { .. });
    GivenType { name: Arc::clone(&of.name), size: of.size.filter(|_| is_number), is_signed }
}

/// What would be right.
fn help(letter: char, length: Length, of: &Type, model: DataModel) -> Option<MismatchHelp> {
    let conversion = |text: String| Some(MismatchHelp::Conversion(text.into()));
    if names_text(of, model.language, 0) == Some(true) {
        return conversion("%s".to_owned());
    }
    let number = match value(of, model.language) {
        Some(Category::Number(number)) => number,
        _ if is_pointer(of, model.language) == Some(true) => return conversion("%p".to_owned()),
        _ => return Some(MismatchHelp::MemberOrAddress),
    };
    let lengths = [length, Length::None, Length::L, Length::Ll, Length::Z, Length::BigL];
    let letters: &[char] = match (number.shape, letter) {
        (Shape::Float, 'e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'a' | 'A') => &[letter],
        (Shape::Float, _) => &['f'],
        (Shape::Character { .. }, _) => &['c'],
        (_, 'd' | 'i' | 'u' | 'o' | 'x' | 'X' | 'b' | 'B') => &[letter, 'd', 'u'],
        _ => &['d', 'u'],
    };
    for &letter in letters {
        for length in lengths {
            let Some(specifier) = u8::try_from(letter).ok().and_then(Specifier::new) else { continue };
            let fits = match model.language {
                Language::Rust => number.row().is_some_and(|row| accepts(length, specifier).contains(&row)),
                Language::C => fits_c(number, length, letter, model.address_size),
            };
            if fits {
                return conversion(format!("%{}{letter}", length.as_str()));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::english::mismatch::mismatch as words;
    use std::sync::Arc;

    use simple_markers_record::printf::{Piece, parse};

    use super::*;
    use crate::types::OpaqueReason;

    const C: DataModel = DataModel { language: Language::C, address_size: 8 };
    const RUST: DataModel = DataModel { language: Language::Rust, address_size: 8 };

    fn check(format: &str, of: &Type, model: DataModel) -> Option<Mismatch> {
        let Some(Ok(Piece::Conversion(conversion))) = parse(format.as_bytes()).next() else { panic!("{format}") };
        mismatch(&conversion, of, model)
    }

    fn of(name: &str, size: u64, shape: Shape) -> Type {
        Type { name: name.into(), size: Some(size), shape }
    }

    fn integer(name: &str, size: u64, signed: bool) -> Type {
        of(name, size, Shape::Integer { signed })
    }

    fn pointer(name: &str, to: Type) -> Type {
        of(name, 8, Shape::Pointer { to: Some(Arc::new(to)) })
    }

    /// Which of `formats` are accepted.
    fn accepted<'f>(formats: &'f str, of: &Type, model: DataModel) -> Vec<&'f str> {
        formats.split(' ').filter(|format| check(format, of, model).is_none()).collect()
    }

    #[test]
    fn c_goes_by_size_and_sign() {
        let all = "%d %u %hhd %hu %ld %lu %lld %llu %zd %zu %c %s %p %f";
        let char_ = of("char", 1, Shape::Character { signed: true });
        let enumeration = of("enum e", 4, Shape::Enumeration { signed: false, enumerators: Arc::new([]) });
        assert_eq!(accepted(all, &integer("int", 4, true), C), ["%d", "%c"]);
        assert_eq!(accepted(all, &integer("unsigned", 4, false), C), ["%u", "%c"]);
        assert_eq!(accepted(all, &integer("unsigned short", 2, false), C), ["%d", "%u", "%hu", "%c"]);
        assert_eq!(accepted(all, &char_, C), ["%d", "%hhd", "%hu", "%c"]);
        assert_eq!(accepted(all, &integer("long", 8, true), C), ["%ld", "%lld", "%zd"]);
        assert_eq!(accepted(all, &integer("size_t", 8, false), C), ["%lu", "%llu", "%zu"]);
        let small = DataModel { address_size: 4, ..C };
        assert_eq!(accepted(all, &integer("long", 4, true), small), ["%d", "%ld", "%zd", "%c"]);
        assert_eq!(accepted(all, &enumeration, C), ["%d", "%u", "%c"]);
        assert_eq!(accepted(all, &pointer("char *", char_.clone()), C), ["%s", "%p"]);
        assert_eq!(accepted(all, &pointer("int *", integer("int", 4, true)), C), ["%p"]);
        assert_eq!(accepted("%f %lf %Lf", &of("long double", 16, Shape::Float), C), ["%Lf"]);
        let array = of("char[3]", 3, Shape::Array { element: Arc::new(char_), count: Some(3), stride: Some(1) });
        assert_eq!(accepted(all, &array, C), ["%s", "%p"]);
        // Nothing is said of what is not known.
        let unknown = of("struct s", 1, Shape::Opaque(OpaqueReason::OnlyDeclared));
        assert_eq!(accepted(all, &unknown, C).len(), 14);
    }

    #[test]
    fn a_bit_field_that_an_int_holds_is_promoted() {
        let takes = |format: &str, of: &Type, bits: Option<u64>| {
            let Some(Ok(Piece::Conversion(conversion))) = parse(format.as_bytes()).next() else { panic!("{format}") };
            takes_promoted(&conversion, of, bits) || mismatch(&conversion, of, C).is_none()
        };
        let unsigned = integer("unsigned", 4, false);
        assert!(takes("%d", &unsigned, Some(3)) && takes("%u", &unsigned, Some(3)));
        assert!(!takes("%d", &unsigned, Some(32)) && !takes("%d", &unsigned, None));
        assert!(!takes("%ld", &unsigned, Some(3)));
        let wide = bit_field(Arc::new(integer("unsigned long", 8, false)), 20);
        assert_eq!((wide.size, takes("%d", &wide, Some(20))), (Some(4), true));
        assert_eq!(bit_field(Arc::new(integer("unsigned long", 8, false)), 40).size, Some(8));
    }

    #[test]
    fn a_whole_value_has_any_type() {
        let record = of("struct s", 8, Shape::Struct { members: Arc::new([]) });
        for form in ["%p{}", "%p{*}", "%p{a.b}", "%p{:>8}"] {
            assert_eq!(check(form, &record, C), None);
            assert_eq!(check(form, &integer("u32", 4, false), RUST), None);
        }
        assert!(check("%p", &record, C).is_some());
    }

    #[test]
    fn rust_goes_by_the_table() {
        let all = "%d %u %ld %lu %jd %zd %zu %c %s %p %f";
        assert_eq!(accepted(all, &integer("i32", 4, true), RUST), ["%d"]);
        assert_eq!(accepted(all, &integer("u64", 8, false), RUST), ["%lu"]);
        assert_eq!(accepted(all, &integer("usize", 8, false), RUST), ["%zu"]);
        assert_eq!(accepted(all, &integer("u8", 1, false), RUST), ["%u", "%c"]);
        assert_eq!(accepted(all, &of("bool", 1, Shape::Boolean), RUST), ["%d", "%u"]);
        assert_eq!(accepted(all, &of("char", 4, Shape::Character { signed: false }), RUST), ["%c"]);
        assert_eq!(accepted(all, &pointer("&i64", integer("i64", 8, true)), RUST), ["%ld", "%jd", "%p"]);
        assert_eq!(accepted(all, &pointer("*const i64", integer("i64", 8, true)), RUST), ["%p"]);
        assert_eq!(accepted(all, &integer("u128", 16, false), RUST), Vec::<&str>::new());
    }

    #[test]
    fn messages_name_the_type_and_the_help() {
        let message = |format, of: &Type, model| words(&check(format, of, model).unwrap());
        let unsigned = integer("unsigned long", 8, false);
        assert_eq!(message("%d", &unsigned, C), "`%d` given `unsigned long` (8 bytes, unsigned): use `%lu`");
        assert_eq!(
            message("%08lx", &integer("u32", 4, false), RUST),
            "`%lx` given `u32` (4 bytes, unsigned): use `%x`"
        );
        let text = pointer("char *", of("char", 1, Shape::Character { signed: true }));
        assert_eq!(message("%d", &text, C), "`%d` given `char *`: use `%s`");
        let error = message("%ls", &text, C);
        assert_eq!(error, "`%ls` is no conversion that a marker can have");
        assert_eq!(star_mismatch(&integer("int", 4, true), C), None);
        let error = star_mismatch(&integer("usize", 8, false), RUST).map(|error| words(&error));
        assert_eq!(error.as_deref(), Some("a `*` given `usize` (8 bytes, unsigned): it takes an `i32`"));
    }
}
