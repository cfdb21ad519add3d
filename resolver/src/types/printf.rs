//! Formats a value as C's printf does for one conversion (ISO C23 7.23.6.1). Implementation-defined
//! cases follow glibc in the "C" locale, in which `'` groups nothing.

use simple_markers_record::printf::{Conversion, Count, Flags, Length};

use super::float::Float;
use super::layout::{choose, ends};
use super::object::{Object, ReadContext, number};
use super::wrappers::{is_byte, names_text, pointee, transparent};
use super::{Language, RenderedText, SequenceKind, Shape, Type, ValueProblem};
use crate::english::values::problem;
use crate::text;

/// Maximum field width and precision.
const WIDEST: usize = 1 << 14;

/// Maximum depth to which references and newtypes are followed.
const NESTING: u32 = 16;

/// Formats the value of an object according to `conversion`. `stars` contains the values of its `*`
/// arguments, in order.
///
/// Text that is not UTF-8 is escaped after padding.
///
/// # Errors
///
/// Fails if the conversion does not accept the type or if the pointed-to data cannot be read.
pub fn printf(
    conversion: &Conversion,
    stars: &[i64],
    of: &Type,
    object: Object<'_>,
    context: &ReadContext<'_>,
) -> Result<RenderedText, String> {
    let mut stars = stars.iter().copied();
    let mut count = |count: Option<Count>| match count {
        None => Ok(None),
        Some(Count::Digits(digits)) => Ok(Some(i64::from(digits))),
        Some(Count::Argument) => stars.next().map(Some).ok_or_else(|| "the value of a `*` is not known".to_owned()),
    };
    let (width, precision) = (count(conversion.width)?, count(conversion.precision)?);
    let mut flags = conversion.flags;
    // A negative width means the flag `-`. A negative precision means no precision.
    flags.minus |= width.is_some_and(|width| width < 0);
    let too_large = |_| "the width or precision is too large".to_owned();
    let bounded =
        |count: u64| usize::try_from(count).ok().filter(|count| *count <= WIDEST).ok_or(()).map_err(too_large);
    let width = bounded(width.unwrap_or(0).unsigned_abs())?;
    let precision = match precision {
        Some(precision @ 0..) => Some(bounded(precision.unsigned_abs())?),
        _ => None,
    };
    let mut writer = ConversionWriter { conversion, flags, width, precision, context, cut: false };
    let bytes = writer.argument(of, object, 0, None, 0)?;
    Ok(RenderedText { text: text::from_bytes(&bytes), cut: writer.cut })
}

struct ConversionWriter<'a> {
    conversion: &'a Conversion,
    flags: Flags,
    width: usize,
    precision: Option<usize>,
    context: &'a ReadContext<'a>,
    cut: bool,
}

impl ConversionWriter<'_> {
    fn argument(
        &mut self,
        of: &Type,
        object: Object<'_>,
        at: u64,
        bit_size: Option<u64>,
        nesting: u32,
    ) -> Result<Vec<u8>, String> {
        if nesting > NESTING {
            return Err("too many references".to_owned());
        }
        let letter = self.conversion.specifier.letter();
        if letter == 's' {
            let bytes = self.string(of, object, at, nesting)?;
            return Ok(self.padded("", &bytes, false));
        }
        if letter == 'p' {
            let address = self.address(of, object, at, nesting)?;
            return Ok(self.pointer(address));
        }
        if let Some(member) = transparent(of) {
            let at = at.checked_add(member.bit_offset).ok_or_else(outside)?;
            return self.argument(&member.of, object, at, member.bit_size, nesting + 1);
        }
        if let (Shape::Pointer { to: Some(to) }, true, true) =
            (&of.shape, of.name.starts_with('&'), self.context.language == Language::Rust)
        {
            let bytes = self.behind(of, object, at, to)?;
            return self.argument(to, Object::new(&bytes), 0, None, nesting + 1);
        }
        let refused = || format!("`%{letter}` does not take `{}`", of.name);
        let size = bit_size.or(of.size.and_then(|size| size.checked_mul(8))).ok_or_else(refused)?;
        if size > 128 {
            return Err(refused());
        }
        let bits = || object.bits(self.context.byte_order, at, size).map_err(|why| problem(&why));
        match (letter, &of.shape) {
            ('e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'a' | 'A', Shape::Float) => {
                let float = Float::from_bits(bits()?, size / 8, self.context.x87).ok_or_else(refused)?;
                let (prefix, body) = float.printf(letter, self.flags, self.precision);
                let is_number = body.starts_with(|first: char| first.is_ascii_digit()) || prefix.ends_with(['x', 'X']);
                Ok(self.padded(&prefix, body.as_bytes(), self.flags.zero && is_number))
            }
            ('c', Shape::Character { .. }) if size == 32 => {
                let code = u32::try_from(bits()?).ok().and_then(char::from_u32).ok_or("<invalid char>")?;
                Ok(self.padded("", code.encode_utf8(&mut [0; 4]).as_bytes(), false))
            }
            ('c', Shape::Character { .. } | Shape::Integer { .. }) if size <= 64 => {
                Ok(self.padded("", &[bits()? as u8], false))
            }
            ('d' | 'i', shape) => {
                let signed = is_signed(shape).ok_or_else(refused)?;
                let value = number(bits()?, size, signed);
                let value = number(value as u128, self.promoted(size).ok_or_else(refused)?, true);
                let sign = match (value < 0, self.flags.plus, self.flags.space) {
                    (true, ..) => "-",
                    (_, true, _) => "+",
                    (_, _, true) => " ",
                    _ => "",
                };
                Ok(self.digits(sign, value.unsigned_abs().to_string(), value == 0))
            }
            ('u' | 'o' | 'x' | 'X' | 'b' | 'B', shape) => {
                let signed = is_signed(shape).ok_or_else(refused)?;
                let value = number(bits()?, size, signed);
                let value = number(value as u128, self.promoted(size).ok_or_else(refused)?, false);
                Ok(self.unsigned(letter, value as u128))
            }
            _ => Err(refused()),
        }
    }

    /// The width in bits that printf gives an integer of `size` bits: 8 or 16 for `hh` and `h`,
    /// otherwise at least that of `int`. `None` if the conversion does not take an integer of this
    /// size.
    fn promoted(&self, size: u64) -> Option<u64> {
        match self.conversion.length {
            Length::Hh => (size <= 32).then_some(8),
            Length::H => (size <= 32).then_some(16),
            Length::None => (size <= 32).then_some(32),
            Length::BigL => None,
            _ => (size <= 64).then_some(size.max(32)),
        }
    }

    fn unsigned(&self, letter: char, value: u128) -> Vec<u8> {
        let is_zero = value == 0;
        let mut prefix = "";
        let mut digits = match letter {
            'u' => value.to_string(),
            'o' => format!("{value:o}"),
            'x' => format!("{value:x}"),
            'X' => format!("{value:X}"),
            _ => format!("{value:b}"),
        };
        if self.flags.alternative {
            match letter {
                // Prepend a zero unless the precision already supplies one.
                'o' if self.precision.is_none_or(|precision| precision <= digits.len())
                    && (!is_zero || self.precision == Some(0)) =>
                {
                    if is_zero {
                        return self.padded("", b"0", false);
                    }
                    digits.insert(0, '0');
                }
                'x' if !is_zero => prefix = "0x",
                'X' if !is_zero => prefix = "0X",
                'b' if !is_zero => prefix = "0b",
                'B' if !is_zero => prefix = "0B",
                _ => {}
            }
        }
        self.digits(prefix, digits, is_zero)
    }

    /// Pads the digits with the zeros that the precision requires.
    fn digits(&self, prefix: &str, mut digits: String, is_zero: bool) -> Vec<u8> {
        if let Some(precision) = self.precision {
            if precision == 0 && is_zero {
                digits.clear();
            }
            digits.insert_str(0, &"0".repeat(precision.saturating_sub(digits.len())));
        }
        self.padded(prefix, digits.as_bytes(), self.flags.zero && self.precision.is_none())
    }

    /// Pads to the field width with zeros after the prefix, or with spaces.
    fn padded(&self, prefix: &str, body: &[u8], zeros: bool) -> Vec<u8> {
        let fill = self.width.saturating_sub(prefix.len()).saturating_sub(body.len());
        let mut bytes = Vec::with_capacity(self.width.max(prefix.len().saturating_add(body.len())));
        let mut put = |byte: u8, count: usize| bytes.extend(std::iter::repeat_n(byte, count));
        match (self.flags.minus, zeros) {
            (true, _) => {
                bytes.extend(prefix.bytes().chain(body.iter().copied()));
                bytes.extend(std::iter::repeat_n(b' ', fill));
            }
            (false, true) => {
                bytes.extend(prefix.bytes());
                bytes.extend(std::iter::repeat_n(b'0', fill));
                bytes.extend(body);
            }
            (false, false) => {
                put(b' ', fill);
                bytes.extend(prefix.bytes().chain(body.iter().copied()));
            }
        }
        bytes
    }

    /// Formats `%p` as glibc does: as `%#lx`, or as `(nil)`.
    fn pointer(&self, address: u64) -> Vec<u8> {
        match address {
            0 => self.padded("", b"(nil)", false),
            _ => {
                let sign = match (self.flags.plus, self.flags.space) {
                    (true, _) => "+",
                    (_, true) => " ",
                    _ => "",
                };
                self.digits(&format!("{sign}0x"), format!("{address:x}"), false)
            }
        }
    }

    /// The address that the value holds. 0 for an `Option` that is `None`.
    fn address(&self, of: &Type, object: Object<'_>, at: u64, nesting: u32) -> Result<u64, String> {
        let refused = || format!("`%p` does not take `{}`", of.name);
        if nesting > NESTING {
            return Err(refused());
        }
        let at_bits = |bit: u64, size: u64| -> Result<u64, String> {
            let bits = object.bits(self.context.byte_order, bit, size.checked_mul(8).ok_or_else(refused)?);
            let bits = bits.map_err(|why| problem(&why))?;
            u64::try_from(bits).map_err(|_| refused())
        };
        // As with Rust's `{:p}`, the address of an `Rc` is that of its contents.
        let behind = |address: u64, offset: u64| if address == 0 { 0 } else { address.wrapping_add(offset) };
        if let Some(pointee) = pointee(of) {
            let address = at_bits(at.checked_add(pointee.bit_offset).ok_or_else(outside)?, pointee.size)?;
            return Ok(behind(address, pointee.offset));
        }
        match &of.shape {
            Shape::Function => at_bits(at, of.size.ok_or_else(refused)?),
            Shape::Sequence(sequence) => {
                let size = sequence.data.of.size.ok_or_else(refused)?;
                let address = at_bits(at.checked_add(sequence.data.bit_offset).ok_or_else(outside)?, size)?;
                Ok(behind(address, sequence.offset))
            }
            Shape::Struct { members } => {
                // `NonNull`, or the data pointer of a trait object, which precedes the vtable
                // pointer.
                let is_fat = members.iter().any(|member| &*member.name == "vtable");
                let fat = members.iter().find(|member| is_fat && &*member.name == "pointer");
                let pin = members
                    .iter()
                    .find(|member| of.name.contains("Pin<") && matches!(&*member.name, "pointer" | "__pointer"));
                let member = transparent(of).or(fat).or(pin).ok_or_else(refused)?;
                let at = at.checked_add(member.bit_offset).ok_or_else(outside)?;
                self.address(&member.of, object, at, nesting + 1)
            }
            Shape::Variants(variants) => {
                let (variant, _) = choose(variants, object, at, self.context).map_err(|why| problem(&why))?;
                let variant = variant.ok_or("<invalid>")?;
                let Some(inner) = variant.members.first() else { return Err(refused()) };
                let Shape::Struct { members } = &inner.of.shape else { return Err(refused()) };
                match (&*variant.name, &**members) {
                    ("None", _) => Ok(0),
                    ("Some", [value]) => {
                        let bit = at.checked_add(inner.bit_offset).and_then(|bit| bit.checked_add(value.bit_offset));
                        self.address(&value.of, object, bit.ok_or_else(outside)?, nesting + 1)
                    }
                    _ => Err(refused()),
                }
            }
            _ => Err(refused()),
        }
    }

    /// Reads the bytes that a pointer points to.
    fn behind(&self, of: &Type, object: Object<'_>, at: u64, to: &Type) -> Result<Vec<u8>, String> {
        let address = self.address(of, object, at, 0)?;
        let bytes = to.size.and_then(|size| self.context.at(address, size).ok());
        bytes.ok_or_else(|| format!("the memory at {address:#x} cannot be read"))
    }

    /// Reads the bytes of a text, subject to the precision and the limits.
    fn string(&mut self, of: &Type, object: Object<'_>, at: u64, nesting: u32) -> Result<Vec<u8>, String> {
        let refused = || format!("`%s` does not take `{}`", of.name);
        if nesting > NESTING || names_text(of, self.context.language, 0) == Some(false) {
            return Err(refused());
        }
        let limit = self.context.limits.text.min(self.context.limits.memory);
        let most = self.precision.unwrap_or(usize::MAX).min(limit);
        let unreadable = |address: u64| format!("the memory at {address:#x} cannot be read");
        match &of.shape {
            Shape::Sequence(sequence) => {
                let (address, length) = ends(sequence, object, at, self.context).map_err(|why| problem(&why))?;
                let length = length.saturating_sub(u64::from(sequence.kind == SequenceKind::CText));
                let wanted = self.precision.map_or(length, |precision| length.min(precision as u64));
                let read = wanted.min(limit as u64);
                self.cut |= read < wanted;
                self.context.at(address, read).map_err(|_| unreadable(address))
            }
            Shape::Array { element, count: Some(count), .. } if is_byte(element) => {
                let bytes = object.bytes(at, *count).map_err(|why| problem(&why))?;
                let end = match self.context.language {
                    Language::C => bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()),
                    Language::Rust => bytes.len(),
                };
                self.cut |= end.min(self.precision.unwrap_or(usize::MAX)) > limit;
                Ok(bytes.iter().take(end.min(most)).copied().collect())
            }
            Shape::Pointer { to: Some(to) }
                if is_byte(to) && (self.context.language == Language::C || of.name.starts_with('*')) =>
            {
                let address = self.address(of, object, at, 0)?;
                if address == 0 {
                    // glibc writes nothing if `(null)` does not fit in the precision.
                    return Ok(if self.precision.unwrap_or(6) >= 6 { b"(null)".to_vec() } else { Vec::new() });
                }
                let (bytes, ended) = self.context.string_at(address, most).map_err(|_| unreadable(address))?;
                self.cut |= !ended && self.precision.is_none_or(|precision| precision > most);
                Ok(bytes)
            }
            Shape::Variants(variants) => {
                let (variant, _) = choose(variants, object, at, self.context).map_err(|why| problem(&why))?;
                let inner = variant.and_then(|variant| variant.members.first()).ok_or_else(refused)?;
                let Shape::Struct { members } = &inner.of.shape else { return Err(refused()) };
                let [value] = &**members else { return Err(refused()) };
                let bit = at.checked_add(inner.bit_offset).and_then(|bit| bit.checked_add(value.bit_offset));
                self.string(&value.of, object, bit.ok_or_else(outside)?, nesting + 1)
            }
            _ => match pointee(of).and_then(|pointee| pointee.to) {
                Some(to) if self.context.language == Language::Rust => {
                    let bytes = self.behind(of, object, at, to)?;
                    self.string(to, Object::new(&bytes), 0, nesting + 1)
                }
                _ => Err(refused()),
            },
        }
    }
}

/// What stands for a value beyond the end of what was read.
fn outside() -> String {
    problem(&ValueProblem::Incomplete)
}

/// Whether a type that can be formatted as an integer is signed. `None` if it cannot.
fn is_signed(shape: &Shape) -> Option<bool> {
    match shape {
        Shape::Integer { signed } | Shape::Character { signed } | Shape::Enumeration { signed, .. } => Some(*signed),
        Shape::Boolean => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use simple_markers_record::printf::{Piece, parse};

    use super::super::{Member, MemoryFunction, Sequence};
    use super::*;

    fn written(format: &str, stars: &[i64], of: &Type, bytes: &[u8], language: Language) -> Result<String, String> {
        let Some(Ok(Piece::Conversion(conversion))) = parse(format.as_bytes()).next() else { panic!("{format}") };
        let memory = |address: u64, to: &mut [u8]| {
            let text = b"hello\0";
            let from = address.wrapping_sub(0x1000) as usize;
            to.iter_mut()
                .enumerate()
                .all(|(index, byte)| text.get(from.wrapping_add(index)).map(|known| *byte = *known).is_some())
        };
        let memory = MemoryFunction(memory);
        let context = ReadContext::new(language, &memory);
        printf(&conversion, stars, of, Object::new(bytes), &context).map(|written| written.text)
    }

    fn integer(name: &str, size: u64, signed: bool) -> Type {
        Type { name: name.into(), size: Some(size), shape: Shape::Integer { signed } }
    }

    fn c(format: &str, of: &Type, bytes: &[u8]) -> String {
        written(format, &[], of, bytes, Language::C).unwrap()
    }

    #[test]
    fn integers() {
        let (int, unsigned, byte) =
            (integer("int", 4, true), integer("unsigned", 4, false), integer("unsigned char", 1, false));
        let minus = (-42i32).to_le_bytes();
        assert_eq!(c("%d", &int, &minus), "-42");
        assert_eq!(c("%08.4d|", &int, &minus), "   -0042");
        assert_eq!(c("%08d", &int, &minus), "-0000042");
        assert_eq!(c("%x", &int, &minus), "ffffffd6");
        assert_eq!(c("%hhu", &int, &minus), "214");
        assert_eq!(c("%#o", &unsigned, &8u32.to_le_bytes()), "010");
        assert_eq!(c("%#.0o", &unsigned, &[0; 4]), "0");
        assert_eq!(c("%#b", &byte, &[5]), "0b101");
        assert_eq!(c("%c", &byte, b"z"), "z");
        assert_eq!(written("%*d", &[-6], &int, &minus, Language::C).unwrap(), "-42   ");
        assert_eq!(written("%.*d", &[-1], &int, &minus, Language::C).unwrap(), "-42");
        let long = integer("long", 8, true);
        let error = written("%d", &[], &long, &[0; 8], Language::C).unwrap_err();
        assert_eq!(error, "`%d` does not take `long`");
        let error = written("%99999d", &[], &int, &minus, Language::C).unwrap_err();
        assert_eq!(error, "the width or precision is too large");
        assert!(written("%*d", &[], &int, &minus, Language::C).is_err());
    }

    #[test]
    fn text_and_pointers() {
        let byte = Arc::new(integer("u8", 1, false));
        let letter = Arc::new(Type { name: "char".into(), size: Some(1), shape: Shape::Character { signed: true } });
        let pointer = Type { name: "char *".into(), size: Some(8), shape: Shape::Pointer { to: Some(letter) } };
        let bytes = 0x1000u64.to_le_bytes();
        assert_eq!(c("%-7.3s", &pointer, &bytes), "hel    ");
        assert_eq!(c("%s", &pointer, &bytes), "hello");
        assert_eq!(c("%s", &pointer, &[0; 8]), "(null)");
        assert_eq!(c("%.3s", &pointer, &[0; 8]), "");
        assert_eq!(c("%p", &pointer, &bytes), "0x1000");
        assert_eq!(c("%7p", &pointer, &[0; 8]), "  (nil)");
        let error = written("%s", &[], &pointer, &0x2000u64.to_le_bytes(), Language::C).unwrap_err();
        assert_eq!(error, "the memory at 0x2000 cannot be read");
        let word = Arc::new(integer("usize", 8, false));
        let raw =
            Arc::new(Type { name: "*u8".into(), size: Some(8), shape: Shape::Pointer { to: Some(Arc::clone(&byte)) } });
        let part =
            |bit_offset, of: &Arc<Type>| Member { name: "".into(), bit_offset, bit_size: None, of: Arc::clone(of) };
        let (data, length) = (part(0, &raw), part(64, &word));
        let sequence =
            Sequence { kind: SequenceKind::Text, data, offset: 0, length, element: Some(byte), capacity: None };
        let string = Type { name: "&str".into(), size: Some(16), shape: Shape::Sequence(Arc::new(sequence)) };
        let object = [0x1001u64.to_le_bytes(), 4u64.to_le_bytes()].concat();
        assert_eq!(written("%.2s", &[], &string, &object, Language::Rust).unwrap(), "el");
        assert_eq!(written("%s", &[], &string, &object, Language::Rust).unwrap(), "ello");
        // The value behind a reference.
        let count = Type {
            name: "&u32".into(),
            size: Some(8),
            shape: Shape::Pointer { to: Some(Arc::new(integer("u32", 4, false))) },
        };
        assert_eq!(written("%x", &[], &count, &bytes, Language::Rust).unwrap(), "6c6c6568");
        assert!(written("%x", &[], &count, &bytes, Language::C).is_err());
    }
}
