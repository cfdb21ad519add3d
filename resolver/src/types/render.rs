//! Formats a complete value in the syntax of its language: `Queue { depth: 3, name: "a" }`, `{depth
//! = 3, name = "a"}`.
//!
//! Invalid values are marked (`<invalid bool 7>`), unreadable values are reported as such, and
//! omitted parts are shown as `..`.

use std::fmt::Write as _;
use std::sync::Arc;

use simple_markers_record::names::write_flags;

use super::float::Float;
use super::names::are_flags;
use super::object::{OUTSIDE, Object, ReadContext, number};
use super::wrappers::{self, pointee, short_name, transparent};
use super::{Language, Member, Sequence, SequenceKind, Shape, Type, Variants, quote};
use crate::english;

/// The result of rendering.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderedText {
    /// The text.
    pub text: String,
    /// Whether a limit caused something to be omitted.
    pub cut: bool,
}

/// Maximum nesting depth of types.
const NESTING: u32 = 64;

/// Formats the complete value of an object.
#[must_use]
pub fn render(of: &Type, object: Object<'_>, context: &ReadContext<'_>) -> RenderedText {
    let mut renderer = Renderer { context, out: RenderedText::default(), depth: 0, nesting: 0 };
    renderer.value(of, object, BitRange { bit: 0, bits: None });
    renderer.out
}

/// A position in an object.
#[derive(Clone, Copy)]
struct BitRange {
    bit: u64,
    /// The size in bits, if this is a bit-field.
    bits: Option<u64>,
}

struct Renderer<'a> {
    context: &'a ReadContext<'a>,
    out: RenderedText,
    /// Number of pointers followed.
    depth: u32,
    nesting: u32,
}

impl Renderer<'_> {
    fn push(&mut self, text: &str) {
        self.out.text.push_str(text);
    }

    fn is_rust(&self) -> bool {
        self.context.language == Language::Rust
    }

    fn value(&mut self, of: &Type, object: Object<'_>, at: BitRange) {
        if self.out.text.len() >= self.context.limits.output || self.nesting >= NESTING {
            self.out.cut = true;
            return self.push("..");
        }
        self.nesting += 1;
        if let Err(why) = self.try_value(of, object, at) {
            self.push(why);
        }
        self.nesting -= 1;
    }

    fn bits(&self, of: &Type, object: Object<'_>, at: BitRange) -> Result<(u128, u64), &'static str> {
        let size = match (at.bits, of.size) {
            (Some(bits), _) => bits,
            (None, Some(size)) => size.saturating_mul(8),
            (None, None) => return Err("<of no known size>"),
        };
        if size > 128 {
            return Err("<too large>");
        }
        Ok((object.bits(self.context.byte_order, at.bit, size)?, size))
    }

    fn try_value(&mut self, of: &Type, object: Object<'_>, at: BitRange) -> Result<(), &'static str> {
        match &of.shape {
            Shape::Void => self.push(if self.is_rust() { "()" } else { "void" }),
            Shape::Integer { signed } => {
                let (bits, size) = self.bits(of, object, at)?;
                self.integer(bits, size, *signed);
            }
            Shape::Boolean => {
                let (bits, _) = self.bits(of, object, at)?;
                match bits {
                    0 => self.push("false"),
                    1 => self.push("true"),
                    other => _ = write!(self.out.text, "<invalid bool {other}>"),
                }
            }
            Shape::Character { signed } => {
                let (bits, size) = self.bits(of, object, at)?;
                self.character(bits, size, *signed);
            }
            Shape::Float => {
                let (bits, size) = self.bits(of, object, at)?;
                let float = Float::from_bits(bits, size / 8, self.context.x87).ok_or("<a float of another format>")?;
                match float.shortest(bits, size / 8) {
                    Some(text) => self.push(&text),
                    None => _ = write!(self.out.text, "<invalid float {bits:#x}>"),
                }
            }
            Shape::Enumeration { signed, enumerators } => {
                let (bits, size) = self.bits(of, object, at)?;
                self.enumeration(number(bits, size, *signed), enumerators);
            }
            Shape::Function => {
                let (address, _) = self.bits(of, object, at)?;
                let _ = write!(self.out.text, "{address:#x}");
            }
            Shape::Pointer { .. } => self.pointer(of, object, at)?,
            Shape::Struct { members } => self.structure(of, members, object, at)?,
            Shape::Union { members } => self.members(of, members, object, at),
            Shape::Variants(variants) => self.variants(of, variants, object, at)?,
            Shape::Array { element, count, stride } => self.array(element, *count, *stride, object, at)?,
            Shape::Sequence(sequence) => self.sequence(sequence, object, at)?,
            Shape::Opaque(why) => {
                let _ = write!(self.out.text, "<{}>", english::types::opaque(why));
                let bytes =
                    of.size.filter(|size| (1..=32).contains(size)).and_then(|size| object.bytes(at.bit, size).ok());
                for (index, byte) in bytes.unwrap_or_default().iter().enumerate() {
                    let space = if index == 0 { " bytes " } else { " " };
                    let _ = write!(self.out.text, "{space}{byte:02x}");
                }
            }
        }
        Ok(())
    }

    fn integer(&mut self, bits: u128, size: u64, signed: bool) {
        let _ = match signed {
            true => write!(self.out.text, "{}", number(bits, size, true)),
            false => write!(self.out.text, "{bits}"),
        };
    }

    fn character(&mut self, bits: u128, size: u64, signed: bool) {
        match (u32::try_from(bits), size) {
            (Ok(byte @ 0..=0x7f), 8) => quote::character(&mut self.out.text, char::from(byte as u8)),
            // The character depends on the program's encoding.
            (Ok(_), 8) => self.integer(bits, size, signed),
            (Ok(code), _) => match char::from_u32(code) {
                Some(character) => quote::character(&mut self.out.text, character),
                None if size == 16 => _ = write!(self.out.text, "'\\u{{{code:x}}}'"),
                None => _ = write!(self.out.text, "<invalid char {code:#x}>"),
            },
            (Err(_), _) => self.integer(bits, size, signed),
        }
    }

    fn enumeration(&mut self, value: i128, enumerators: &[(Arc<str>, i128)]) {
        if let Some((name, _)) = enumerators.iter().find(|(_, known)| *known == value) {
            return self.push(name);
        }
        if self.is_rust() {
            let _ = write!(self.out.text, "<invalid enum {value}>");
            return;
        }
        // Single-bit enumerators are flags. They are written as the kernel's `__print_flags` does.
        let bits = |value: i128| u64::try_from(value).ok();
        match bits(value).filter(|value| *value != 0 && are_flags(enumerators)) {
            Some(flags) if enumerators.iter().any(|(_, known)| known & value != 0) => {
                let masks = enumerators.iter().filter_map(|(name, known)| Some((bits(*known)?, &**name)));
                write_flags(flags, "|", masks.filter(|(mask, _)| *mask != 0), &mut self.out.text);
            }
            _ => _ = write!(self.out.text, "{value}"),
        }
    }

    fn pointer(&mut self, of: &Type, object: Object<'_>, at: BitRange) -> Result<(), &'static str> {
        let (bits, _) = self.bits(of, object, at)?;
        let address = u64::try_from(bits).map_err(|_| "<too large>")?;
        let pointee = pointee(of);
        let to = pointee.and_then(|pointee| pointee.to);
        let is_raw = !self.is_rust() || of.name.starts_with('*');
        match to {
            Some(to) if is_raw && matches!(to.shape, Shape::Character { .. }) && to.size == Some(1) => {
                let _ = write!(self.out.text, "{address:#x}");
                if address == 0 {
                    return Ok(());
                }
                if let Some((text, ended)) = self.context.string_at(address, self.context.limits.text) {
                    self.push(" ");
                    self.text(&text, !ended);
                }
            }
            Some(to) if !is_raw && address != 0 => {
                if !self.follow(address, to, if of.name.starts_with('&') { "&" } else { "" }) {
                    let _ = write!(self.out.text, "{address:#x}");
                }
            }
            _ => _ = write!(self.out.text, "{address:#x}"),
        }
        Ok(())
    }

    /// Writes the object at an address after `prefix`. Returns `false` if it cannot be read or the
    /// pointer limit is reached.
    fn follow(&mut self, address: u64, to: &Type, prefix: &str) -> bool {
        if self.depth >= self.context.limits.depth || matches!(to.shape, Shape::Opaque(_) | Shape::Function) {
            return false;
        }
        let Some(bytes) = to.size.and_then(|size| self.context.at(address, size)) else { return false };
        self.push(prefix);
        self.depth += 1;
        self.value(to, Object::new(&bytes), BitRange { bit: 0, bits: None });
        self.depth -= 1;
        true
    }

    fn text(&mut self, bytes: &[u8], cut: bool) {
        quote::quoted(&mut self.out.text, bytes, '"');
        if cut {
            self.push("..");
            self.out.cut = true;
        }
    }

    fn structure(
        &mut self,
        of: &Type,
        members: &[Member],
        object: Object<'_>,
        at: BitRange,
    ) -> Result<(), &'static str> {
        if self.is_rust() {
            if let Some(member) = transparent(of) {
                self.value(&member.of, object, inner(at, member)?);
                return Ok(());
            }
            if let Some(pointee) = pointee(of) {
                let bit = at.bit.checked_add(pointee.bit_offset).ok_or(OUTSIDE)?;
                let address = object.bits(self.context.byte_order, bit, pointee.size.min(8).saturating_mul(8))?;
                let address = u64::try_from(address).map_err(|_| "<too large>")?;
                let shown = match pointee.to {
                    Some(to) => self.follow(address.wrapping_add(pointee.offset), to, ""),
                    None => false,
                };
                if !shown {
                    let _ = write!(self.out.text, "{address:#x}");
                }
                return Ok(());
            }
        }
        self.members(of, members, object, at);
        Ok(())
    }

    fn members(&mut self, of: &Type, members: &[Member], object: Object<'_>, at: BitRange) {
        let rust = self.is_rust();
        let is_tuple = rust && !members.is_empty() && members.iter().all(|member| tuple_index(&member.name).is_some());
        let name = short_name(&of.name);
        if rust && !name.starts_with('(') {
            self.push(name);
            if members.is_empty() {
                return;
            }
        }
        let (open, close) = match (rust, is_tuple) {
            (true, true) => ("(", ")"),
            (true, false) if name.is_empty() => ("{ ", " }"),
            (true, false) => (" { ", " }"),
            (false, _) => ("{", "}"),
        };
        self.push(open);
        for (index, member) in members.iter().enumerate() {
            if index > 0 {
                self.push(", ");
            }
            if self.out.text.len() >= self.context.limits.output {
                self.out.cut = true;
                self.push("..");
                break;
            }
            if !is_tuple && !member.name.is_empty() {
                self.push(&member.name);
                self.push(if rust { ": " } else { " = " });
            }
            match inner(at, member) {
                Ok(at) => self.value(&member.of, object, at),
                Err(why) => self.push(why),
            }
        }
        if name.starts_with('(') && members.len() == 1 {
            self.push(",");
        }
        self.push(close);
    }

    fn variants(
        &mut self,
        of: &Type,
        variants: &Variants,
        object: Object<'_>,
        at: BitRange,
    ) -> Result<(), &'static str> {
        let (chosen, value) = choose(variants, object, at.bit, self.context)?;
        let Some(chosen) = chosen else {
            let _ = write!(self.out.text, "<invalid {}: discriminant {value}>", short_name(&of.name));
            return Ok(());
        };
        match &*chosen.members {
            [member] => self.value(&member.of, object, inner(at, member)?),
            members => {
                let all = Type { name: Arc::clone(&chosen.name), size: of.size, shape: Shape::Void };
                self.members(&all, members, object, at);
            }
        }
        if !variants.common.is_empty() {
            self.push(" with ");
            let rest = Type { name: "".into(), size: of.size, shape: Shape::Void };
            self.members(&rest, &variants.common, object, at);
        }
        Ok(())
    }

    fn array(
        &mut self,
        element: &Type,
        count: Option<u64>,
        stride: Option<u64>,
        object: Object<'_>,
        at: BitRange,
    ) -> Result<(), &'static str> {
        let is_text = matches!(element.shape, Shape::Character { .. }) && element.size == Some(1);
        let Some(count) = count else { return Err("<an array of no known length>") };
        if is_text && !self.is_rust() {
            let bytes = object.bytes(at.bit, count)?;
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            let shown = end.min(self.context.limits.text);
            self.text(bytes.get(..shown).unwrap_or_default(), shown < end);
            return Ok(());
        }
        let Some(stride) = stride else { return Err("<elements of no known size>") };
        self.elements(element, count, stride, object, at.bit);
        Ok(())
    }

    fn elements(&mut self, element: &Type, count: u64, stride: u64, object: Object<'_>, start: u64) {
        let rust = self.is_rust();
        self.push(if rust { "[" } else { "{" });
        let shown = count.min(self.context.limits.elements as u64);
        for index in 0..shown {
            if index > 0 {
                self.push(", ");
            }
            if self.out.text.len() >= self.context.limits.output {
                break;
            }
            let bit = index
                .checked_mul(stride)
                .and_then(|bytes| bytes.checked_mul(8))
                .and_then(|bits| bits.checked_add(start));
            match bit {
                Some(bit) => self.value(element, object, BitRange { bit, bits: None }),
                None => self.push(OUTSIDE),
            }
        }
        if shown < count || self.out.text.len() >= self.context.limits.output {
            self.out.cut = true;
            self.push(if shown == 0 { ".." } else { ", .." });
        }
        self.push(if rust { "]" } else { "}" });
    }

    fn sequence(&mut self, sequence: &Sequence, object: Object<'_>, at: BitRange) -> Result<(), &'static str> {
        let (address, length) = ends(sequence, object, at.bit, self.context)?;
        let unreadable = |out: &mut String| _ = write!(out, "<unreadable: {length} at {address:#x}>");
        if sequence.kind != SequenceKind::Elements {
            let length = length.saturating_sub(u64::from(sequence.kind == SequenceKind::CText));
            let shown = length.min(self.context.limits.text as u64);
            match self.context.at(address, shown) {
                Some(bytes) => self.text(&bytes, shown < length),
                None => unreadable(&mut self.out.text),
            }
            return Ok(());
        }
        let Some((element, stride)) = sequence.element.as_deref().and_then(|element| Some((element, element.size?)))
        else {
            let _ = write!(self.out.text, "<{length} at {address:#x}>");
            return Ok(());
        };
        let shown = length.min(self.context.limits.elements as u64);
        match stride.checked_mul(shown).and_then(|size| self.context.at(address, size)) {
            Some(bytes) => self.elements(element, length, stride, Object::new(&bytes), 0),
            None => unreadable(&mut self.out.text),
        }
        Ok(())
    }
}

/// The position of a member.
fn inner(at: BitRange, member: &Member) -> Result<BitRange, &'static str> {
    let bit = at.bit.checked_add(member.bit_offset).ok_or(OUTSIDE)?;
    Ok(BitRange { bit, bits: member.bit_size })
}

/// The active variant and the discriminant. The variant is `None` if the discriminant selects none.
pub(super) fn choose<'t>(
    variants: &'t Variants,
    object: Object<'_>,
    start: u64,
    context: &ReadContext<'_>,
) -> Result<(Option<&'t super::Variant>, i128), &'static str> {
    let Some(discriminant) = &variants.discriminant else {
        return Ok((variants.variants.first(), 0));
    };
    let signed = match discriminant.of.shape {
        Shape::Integer { signed } | Shape::Character { signed } | Shape::Enumeration { signed, .. } => signed,
        Shape::Pointer { .. } | Shape::Boolean => false,
        _ => return Err("<a discriminant of an unknown kind>"),
    };
    let size = discriminant.bit_size.or(discriminant.of.size.and_then(|size| size.checked_mul(8))).ok_or(OUTSIDE)?;
    let bit = start.checked_add(discriminant.bit_offset).ok_or(OUTSIDE)?;
    let value = number(object.bits(context.byte_order, bit, size)?, size, signed);
    let names = |values: &Vec<(i128, i128)>| values.iter().any(|(low, high)| (*low..=*high).contains(&value));
    let named = variants.variants.iter().find(|variant| variant.values.as_ref().is_some_and(names));
    Ok((named.or_else(|| variants.variants.iter().find(|variant| variant.values.is_none())), value))
}

/// The address of the first element and the number of elements.
pub(super) fn ends(
    sequence: &Sequence,
    object: Object<'_>,
    start: u64,
    context: &ReadContext<'_>,
) -> Result<(u64, u64), &'static str> {
    let number = |member: &Member| {
        let size = member.of.size.filter(|size| *size <= 8).ok_or("<too large>")?;
        let bit = start.checked_add(member.bit_offset).ok_or(OUTSIDE)?;
        let bits = object.bits(context.byte_order, bit, size.saturating_mul(8))?;
        u64::try_from(bits).map_err(|_| "<too large>")
    };
    let (address, length) = (number(&sequence.data)?, number(&sequence.length)?);
    Ok((address.wrapping_add(sequence.offset), length))
}

/// The index of a tuple member.
fn tuple_index(name: &str) -> Option<u32> {
    name.strip_prefix("__").unwrap_or(name).parse().ok()
}

/// Whether a type is a byte of text.
pub(super) use wrappers::is_byte;

#[cfg(test)]
mod tests {
    use simple_markers_record::ByteOrder;

    use super::super::{Limits, OpaqueReason, Variant, Variants};
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
        let context = ReadContext { byte_order: ByteOrder::Little, language, x87: true, memory: &memory, limits };
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
        let object = Object { bytes: &[1], optimized_out: std::slice::from_ref(&gone) };
        let context = ReadContext {
            byte_order: ByteOrder::Little,
            language: Language::C,
            x87: true,
            memory: &|_, _| false,
            limits: Limits::default(),
        };
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
            let shape =
                Shape::Sequence(Arc::new(Sequence { kind, data, offset: 0, length, element: Some(Arc::clone(&byte)) }));
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
