//! Formats a complete value in the syntax of its language: `Queue { depth: 3, name: "a" }`, `{depth
//! = 3, name = "a"}`.
//!
//! Invalid values are marked (`<invalid bool 7>`), unreadable values are reported as such, and
//! omitted parts are shown as `..`.

use super::Type;
use super::object::{Object, ReadContext};
use super::tree_reader::tree;
use super::tree_text::write_text;

/// The result of rendering.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderedText {
    /// The text.
    pub text: String,
    /// Whether a limit caused something to be omitted.
    pub cut: bool,
}

/// Formats the complete value of an object.
#[must_use]
pub fn render(of: &Type, object: Object<'_>, context: &ReadContext<'_>) -> RenderedText {
    let tree = tree(of, object, context);
    let mut text = String::new();
    write_text(&tree, context.language, &mut text);
    RenderedText { text, cut: tree.is_cut() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{
        Language, Limits, Member, MemoryFunction, OpaqueReason, Sequence, SequenceKind, Shape, Variant, Variants,
    };
    use super::*;

    fn number_type(name: &str, size: u64, signed: bool) -> Arc<Type> {
        Arc::new(Type { name: name.into(), size: Some(size), shape: Shape::Integer { signed } })
    }

    fn member(name: &str, byte: u64, of: &Arc<Type>) -> Member {
        Member { name: name.into(), bit_offset: 8 * byte, bit_size: None, of: Arc::clone(of) }
    }

    fn structure(name: &str, size: u64, members: Vec<Member>) -> Arc<Type> {
        Arc::new(Type { name: name.into(), size: Some(size), shape: Shape::Struct { members: members.into() } })
    }

    /// Memory that contains "hello\0" at 0x1000.
    fn shown(of: &Type, bytes: &[u8], language: Language, limits: Limits) -> (String, bool) {
        let memory = |address: u64, to: &mut [u8]| {
            let from = address.checked_sub(0x1000).map(|from| from as usize);
            match from.and_then(|from| b"hello\0".get(from..from + to.len())) {
                Some(bytes) => to.copy_from_slice(bytes),
                None => return false,
            }
            true
        };
        let memory = MemoryFunction(memory);
        let context = ReadContext { limits, ..ReadContext::new(language, &memory) };
        let RenderedText { text, cut } = render(of, Object::new(bytes), &context);
        (text, cut)
    }

    fn rust(of: &Type, bytes: &[u8]) -> String {
        shown(of, bytes, Language::Rust, Limits::default()).0
    }

    fn c(of: &Type, bytes: &[u8]) -> String {
        shown(of, bytes, Language::C, Limits::default()).0
    }

    #[test]
    fn structures_are_written_as_in_their_language() {
        let (byte, int) = (number_type("u8", 1, false), number_type("i32", 4, true));
        let queue = structure("a::Queue<u8>", 8, vec![member("depth", 4, &int), member("tag", 0, &byte)]);
        let bytes = [7, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff];
        assert_eq!(rust(&queue, &bytes), "Queue { depth: -2, tag: 7 }");
        assert_eq!(c(&queue, &bytes), "{depth = -2, tag = 7}");
        let tuple = structure("(i32, u8)", 8, vec![member("__0", 4, &int), member("__1", 0, &byte)]);
        assert_eq!(rust(&tuple, &bytes), "(-2, 7)");
        let cell = structure("core::cell::Cell<i32>", 4, vec![member("value", 0, &int)]);
        assert_eq!(rust(&cell, &bytes), "7");
        let bits = Member { bit_size: Some(3), bit_offset: 1, ..member("b", 0, &int) };
        assert_eq!(c(&structure("s", 4, vec![bits]), &[0b1010, 0, 0, 0]), "{b = -3}");
        assert_eq!(c(&queue, &bytes[..6]), "{depth = <not all of it was read>, tag = 7}");
    }

    #[test]
    fn what_is_not_valid_says_so() {
        let of = |shape, size| Type { name: "t".into(), size: Some(size), shape };
        assert_eq!(rust(&of(Shape::Boolean, 1), &[7]), "<invalid bool 7>");
        assert_eq!(rust(&of(Shape::Character { signed: false }, 4), &[0, 0xd8, 0, 0]), "<invalid char 0xd800>");
        let opaque = of(Shape::Opaque(OpaqueReason::OnlyDeclared), 2);
        assert_eq!(c(&opaque, &[1, 0xab]), "<declared only> bytes 01 ab");
        let gone = 0..4;
        let object = Object { bytes: &[1], optimized_out: std::slice::from_ref(&gone), ..Object::default() };
        let memory = MemoryFunction(|_: u64, _: &mut [u8]| false);
        let context = ReadContext::new(Language::C, &memory);
        assert_eq!(render(&of(Shape::Boolean, 1), object, &context).text, "<optimised out>");
    }

    #[test]
    fn variants_are_told_apart_by_niches() {
        let (byte, int) = (number_type("u8", 1, false), number_type("u32", 4, false));
        let some = structure("Some", 4, vec![member("__0", 0, &int)]);
        let variant = |name: &str, of: &Arc<Type>, values| Variant {
            values,
            name: name.into(),
            members: vec![member(name, 0, of)],
            state: None,
        };
        let none = structure("None", 4, vec![]);
        let variants = vec![variant("None", &none, Some(vec![(0, 0), (250, 255)])), variant("Some", &some, None)];
        let variants = Variants { discriminant: Some(member("", 0, &byte)), variants, common: vec![] };
        let option =
            Type { name: "Option<u32>".into(), size: Some(4), shape: Shape::Variants(Arc::new(variants.clone())) };
        assert_eq!(rust(&option, &[0, 0, 0, 0]), "None");
        assert_eq!(rust(&option, &[251, 0, 0, 0]), "None");
        assert_eq!(rust(&option, &[5, 1, 0, 0]), "Some(261)");
        let mut all = variants;
        all.variants[1].values = Some(vec![(1, 1)]);
        let strict = Type { shape: Shape::Variants(Arc::new(all)), ..option };
        assert_eq!(rust(&strict, &[9, 0, 0, 0]), "<invalid Option: discriminant 9>");
    }

    #[test]
    fn enumerators_have_names() {
        let enumerators: Arc<[(Arc<str>, i128)]> = vec![("A".into(), 1), ("B".into(), 2), ("C".into(), 4)].into();
        let shape = Shape::Enumeration { signed: false, enumerators };
        let of = Type { name: "enum e".into(), size: Some(1), shape };
        let texts = [1, 6, 0, 9, 8, 0xc7].map(|value| c(&of, &[value]));
        assert_eq!(texts, ["A", "B|C", "0", "A|0x8", "8", "A|B|C|0xc0"]);
        // Of two enumerators for a bit the first one counts. Other enumerations have no flags.
        let enumeration = |enumerators: &[(&str, i128)]| {
            let enumerators = enumerators.iter().map(|(name, value)| (Arc::from(*name), *value)).collect();
            Type { shape: Shape::Enumeration { signed: true, enumerators }, ..of.clone() }
        };
        assert_eq!(c(&enumeration(&[("NONE", 0), ("A", 1), ("SAME", 1), ("B", 2)]), &[3]), "A|B");
        assert_eq!(c(&enumeration(&[("A", 1), ("B", 2), ("THREE", 3), ("C", 4)]), &[5]), "5");
        assert_eq!(c(&enumeration(&[("A", 1), ("BAD", -1)]), &[3]), "3");
        assert_eq!(c(&enumeration(&[("A", 1)]), &[0xff]), "-1");
        assert_eq!(rust(&of, &[3]), "<invalid enum 3>");
    }

    #[test]
    fn text_is_read_where_it_stands() {
        let letter = Arc::new(Type { name: "char".into(), size: Some(1), shape: Shape::Character { signed: true } });
        let pointer =
            Type { name: "char *".into(), size: Some(8), shape: Shape::Pointer { to: Some(Arc::clone(&letter)) } };
        let bytes = 0x1000u64.to_le_bytes();
        assert_eq!(c(&pointer, &bytes), "0x1000 \"hello\"");
        assert_eq!(c(&pointer, &0x2000u64.to_le_bytes()), "0x2000");
        let array = Type {
            name: "char[4]".into(),
            size: Some(4),
            shape: Shape::Array { element: letter, count: Some(4), stride: Some(1) },
        };
        assert_eq!(c(&array, b"a\"\0z"), "\"a\\\"\"");
        let (byte, word) = (number_type("u8", 1, false), number_type("usize", 8, false));
        let data =
            Arc::new(Type { name: "*u8".into(), size: Some(8), shape: Shape::Pointer { to: Some(Arc::clone(&byte)) } });
        let sequence = |kind| {
            let (data, length) = (member("", 0, &data), member("", 8, &word));
            let shape = Shape::Sequence(Arc::new(Sequence {
                kind,
                data,
                offset: 0,
                length,
                element: Some(Arc::clone(&byte)),
                capacity: None,
            }));
            Type { name: "&str".into(), size: Some(16), shape }
        };
        let object = [0x1001u64.to_le_bytes(), 3u64.to_le_bytes()].concat();
        assert_eq!(rust(&sequence(SequenceKind::Text), &object), "\"ell\"");
        assert_eq!(rust(&sequence(SequenceKind::CText), &object), "\"el\"");
        assert_eq!(rust(&sequence(SequenceKind::Elements), &object), "[101, 108, 108]");
        let small = Limits { elements: 2, text: 2, ..Limits::default() };
        let cut = |kind| shown(&sequence(kind), &object, Language::Rust, small);
        assert_eq!(cut(SequenceKind::Text), ("\"el\"..".to_owned(), true));
        assert_eq!(cut(SequenceKind::Elements), ("[101, 108, ..]".to_owned(), true));
        let outside = [0x1001u64.to_le_bytes(), 30u64.to_le_bytes()].concat();
        assert_eq!(rust(&sequence(SequenceKind::Text), &outside), "<unreadable: 30 at 0x1001>");
    }
}
