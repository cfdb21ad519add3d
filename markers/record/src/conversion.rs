//! The one table of what a conversion accepts (`docs/section-format.md`, "Formats").
//!
//! Sizes follow clang's `-Wformat`, and signedness follows `-Wformat-signedness`. Types of the size
//! of a pointer have their own length (`z`, `t`), so a format that is right for one target is right
//! for all.

use crate::printf::Length;
use crate::specifier::Specifier;

/// A type of the table, with its Rust name if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are the types")]
pub enum Type {
    I8,
    I16,
    I32,
    I64,
    Isize,
    U8,
    U16,
    U32,
    U64,
    Usize,
    Bool,
    Char,
    F32,
    F64,
    /// `str`, `String`, `CStr`, `CString`, bytes, and pointers to C characters.
    Text,
    /// References and pointers, also `Box`, `Rc`, `Arc`, `NonNull` and functions.
    Pointer,
}

impl Type {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::Isize,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::Usize,
        Self::Bool,
        Self::Char,
        Self::F32,
        Self::F64,
        Self::Text,
        Self::Pointer,
    ];
}

/// The types that `%<length><specifier>` accepts; empty if Rust has no such conversion (`%hs`,
/// `%Lf`).
#[must_use]
pub fn accepts(length: Length, specifier: Specifier) -> &'static [Type] {
    use Type::{Bool, Char, F32, F64, I8, I16, I32, I64, Isize, Pointer, Text, U8, U16, U32, U64, Usize};
    match (specifier.letter(), length) {
        ('d' | 'i', Length::None) => &[I8, I16, I32, Bool],
        ('d' | 'i', Length::Hh) => &[I8, Bool],
        ('d' | 'i', Length::H) => &[I8, I16, Bool],
        ('d' | 'i', Length::L | Length::Ll | Length::J) => &[I64],
        ('d' | 'i', Length::Z | Length::T) => &[Isize],
        ('u' | 'o' | 'x' | 'X' | 'b' | 'B', Length::None) => &[U8, U16, U32, Bool],
        ('u' | 'o' | 'x' | 'X' | 'b' | 'B', Length::Hh) => &[U8, Bool],
        ('u' | 'o' | 'x' | 'X' | 'b' | 'B', Length::H) => &[U8, U16, Bool],
        ('u' | 'o' | 'x' | 'X' | 'b' | 'B', Length::L | Length::Ll | Length::J) => &[U64],
        ('u' | 'o' | 'x' | 'X' | 'b' | 'B', Length::Z | Length::T) => &[Usize],
        ('c', Length::None) => &[Char, U8, I8],
        ('s', Length::None) => &[Text],
        ('p', Length::None) => &[Pointer],
        ('e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'a' | 'A', Length::None | Length::L) => &[F32, F64],
        _ => &[],
    }
}

/// The types that the argument of a `*` may have: C's `int`, and the types that C promotes to it.
pub const STAR: &[Type] = &[Type::I8, Type::I16, Type::I32];

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(conversion: &str) -> &'static [Type] {
        let (length, letter) = conversion.split_at(conversion.len() - 1);
        let length = Length::ALL.into_iter().find(|known| known.as_str() == length).unwrap();
        accepts(length, Specifier::new(letter.as_bytes()[0]).unwrap())
    }

    #[test]
    fn the_table_is_the_documented_one() {
        assert_eq!(accepted("d"), [Type::I8, Type::I16, Type::I32, Type::Bool]);
        assert_eq!(accepted("hhX"), [Type::U8, Type::Bool]);
        assert_eq!(accepted("jd"), [Type::I64]);
        assert_eq!(accepted("zu"), [Type::Usize]);
        assert_eq!(accepted("c"), [Type::Char, Type::U8, Type::I8]);
        assert_eq!(accepted("lf"), [Type::F32, Type::F64]);
        for refused in ["hc", "ls", "zp", "Lf", "Ld", "hhf", "zg"] {
            assert_eq!(accepted(refused), [], "{refused}");
        }
    }
}
