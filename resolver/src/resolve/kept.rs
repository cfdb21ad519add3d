//! Arguments that the program keeps for a marker: an operands string becomes [`Argument`]s.

use std::sync::Arc;

use simple_markers_record::operand::{KeptValue, Operand, parse};

use super::{Argument, DeclaredArgument, Encoding, Verdict};
use crate::arch::OperandSyntax;
use crate::location::{Location, Piece, Processor, Source, operand};
use crate::text;
use crate::types::{Member, Sequence, SequenceKind, Shape, Type};

/// The declared arguments of a site, as far as its operands describe them. A malformed entry goes
/// to `bad`.
pub(super) fn arguments(
    declared: &[DeclaredArgument],
    operands: &[u8],
    processor: Processor,
    mut bad: impl FnMut(&[u8]),
) -> Vec<Argument> {
    let mut entries = parse(operands);
    let argument = |declared: &DeclaredArgument| {
        let unresolved = Argument::unresolved(&declared.text);
        match entries.next() {
            Some(Ok(Operand::Kept(kept))) => resolve(unresolved, &kept, processor),
            Some(Err(entry)) => {
                bad(entry);
                unresolved
            }
            Some(Ok(Operand::Whole { place, .. })) => whole(unresolved, &place, processor),
            Some(Ok(Operand::Text { pointer, length })) => text(unresolved, &pointer, &length, processor),
            Some(Ok(Operand::None)) | None => unresolved,
        }
    };
    declared.iter().map(argument).collect()
}

fn resolve(argument: Argument, kept: &KeptValue<'_>, processor: Processor) -> Argument {
    let parsed = operand::location(&text::from_bytes(kept.place), kept.size, processor);
    value(argument, kept, parsed, processor)
}

/// An argument that is at a place, which was `parsed`.
pub(super) fn value(
    argument: Argument,
    kept: &KeptValue<'_>,
    parsed: Option<Location>,
    processor: Processor,
) -> Argument {
    let encoding = match kept {
        KeptValue { float: true, .. } => Encoding::Float,
        KeptValue { signed: true, .. } => Encoding::Signed,
        _ => Encoding::Unsigned,
    };
    let place = text::from_bytes(kept.place);
    let immediate = operand::immediate(&place);
    let is_constant = immediate.is_some();
    let location = match (immediate, kept.float, kept.size) {
        // A float is its bits.
        (Some(bits), true, 4) => format!("= {:?}", f32::from_bits(bits as u32)),
        (Some(bits), true, _) => format!("= {:?}", f64::from_bits(bits as u64)),
        (Some(_), false, _) => format!("= {}", constant(&place)),
        // The address of a symbol.
        (None, ..) if place.starts_with('$') => format!("= {}", constant(&place)),
        (None, ..) => shown(&place, processor),
    };
    let verdict = if is_constant { Verdict::Constant } else { Verdict::Live };
    Argument {
        size: Some(kept.size.into()),
        encoding: Some(encoding),
        verdict: Some(verdict),
        is_kept: true,
        location: parsed,
        location_text: Some(location.into()),
        ..argument
    }
}

/// A whole value at an address. The debug information has its type.
fn whole(argument: Argument, pointer: &KeptValue<'_>, processor: Processor) -> Argument {
    let place = text::from_bytes(pointer.place);
    let address = operand::location(&place, pointer.size, processor);
    let address = address.and_then(|address| address.pointer(pointer.size).ok());
    Argument {
        verdict: Some(Verdict::Live),
        is_kept: true,
        location: address.map(|address| Location::whole(Source::Memory(address))),
        location_text: Some(format!("memory at {}", shown(&place, processor)).into()),
        ..argument
    }
}

/// Text at a pointer, of a length in bytes or, if that is all ones, up to the first NUL.
fn text(argument: Argument, pointer: &KeptValue<'_>, length: &KeptValue<'_>, processor: Processor) -> Argument {
    let places = [pointer, length].map(|kept| text::from_bytes(kept.place));
    let parsed = |place: &str, kept: &KeptValue<'_>| operand::location(place, kept.size, processor);
    let [start, end] = &places;
    let unused = 64u32.saturating_sub(u32::from(length.size) * 8).min(63);
    let has_nul = operand::immediate(end).is_some_and(|value| value as u64 >> unused == u64::MAX >> unused);
    let (location, words) = match (parsed(start, pointer), has_nul) {
        (start_at, true) => (start_at, shown(start, processor)),
        (Some(start_at), false) => {
            let end_at = parsed(end, length);
            let joined = end_at.and_then(|end_at| joined(&start_at, pointer.size, &end_at));
            (joined, format!("{}, length {}", shown(start, processor), shown(end, processor)))
        }
        (None, false) => (None, shown(start, processor)),
    };
    let size = if has_nul { pointer.size.into() } else { u64::from(pointer.size) + u64::from(length.size) };
    Argument {
        type_name: Some(TEXT.into()),
        size: Some(size),
        verdict: Some(Verdict::Live),
        is_kept: true,
        location,
        location_text: Some(words.into()),
        ty: (!has_nul).then(|| Arc::new(text_type(pointer.size, length.size))),
        ..argument
    }
}

/// A value whose first `size` bytes are those of one location, and the rest those of another one.
fn joined(first: &Location, size: u8, rest: &Location) -> Option<Location> {
    let [first] = &*first.pieces else { return None };
    let first = Piece { bits: Some(u64::from(size) * 8), ..first.clone() };
    Some(Location { pieces: [first].into_iter().chain(rest.pieces.iter().cloned()).collect() })
}

/// The name of the type of a text.
const TEXT: &str = "text";

/// A pointer to bytes and their number.
fn text_type(pointer: u8, length: u8) -> Type {
    let plain = |name: &str, size: u8, shape| Arc::new(Type { name: name.into(), size: Some(size.into()), shape });
    let byte = plain("u8", 1, Shape::Integer { signed: false });
    let data = plain("*const u8", pointer, Shape::Pointer { to: Some(Arc::clone(&byte)) });
    let count = plain("usize", length, Shape::Integer { signed: false });
    let member = |of, bit_offset| Member { name: "".into(), bit_offset, bit_size: None, of };
    let (data, length_at) = (member(data, 0), u64::from(pointer) * 8);
    let length_of = member(count, length_at);
    let sequence =
        Sequence { kind: SequenceKind::Text, data, offset: 0, length: length_of, element: Some(byte), capacity: None };
    let size = Some(u64::from(pointer) + u64::from(length));
    Type { name: TEXT.into(), size, shape: Shape::Sequence(Arc::new(sequence)) }
}

/// An operand as people expect it. The assembler accepts a register with or without `%`.
fn shown(place: &str, processor: Processor) -> String {
    let is_register = processor
        .set()
        .is_some_and(|set| set.operand_syntax() == OperandSyntax::Att && set.named_register(place).is_some());
    match is_register {
        true => format!("%{place}"),
        false => constant(place).to_owned(),
    }
}

/// An immediate without its sign.
fn constant(place: &str) -> &str {
    place.trim_start_matches(['$', '#'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::fetch::{Fetch, Operand as Fetched, fetch};
    use crate::location::Register;

    #[test]
    fn operands_become_locations() {
        let declared: Vec<_> = ["a", "b", "c", "d", "e", "f"]
            .map(|text| DeclaredArgument {
                text: text.into(),
                conversion: None,
                words: None,
                mistake: None,
                form: None,
            })
            .into();
        let mut bad = Vec::new();
        let args = arguments(
            &declared,
            b"-4@edi - 8f@-8(%rbp) 3@x 8@$-5 8f@$4612811918334230528",
            Processor::X86_64,
            |entry| {
                bad.push(entry.to_vec());
            },
        );
        let found: Vec<_> =
            args.iter().map(|arg| (arg.size, arg.encoding, arg.verdict, arg.location_text.as_deref())).collect();
        assert_eq!(
            found,
            [
                (Some(4), Some(Encoding::Signed), Some(Verdict::Live), Some("%edi")),
                (None, None, None, None),
                (Some(8), Some(Encoding::Float), Some(Verdict::Live), Some("-8(%rbp)")),
                (None, None, None, None),
                (Some(8), Some(Encoding::Unsigned), Some(Verdict::Constant), Some("= -5")),
                (Some(8), Some(Encoding::Float), Some(Verdict::Constant), Some("= 2.5")),
            ]
        );
        assert_eq!(bad, [b"3@x".to_vec()]);
        let texts =
            arguments(&declared, b"8@rax+8@%rdx 8@rcx+8@$-1 8@rax+8@$5 8@rax+8@$4294967295", Processor::X86_64, |_| ());
        let found: Vec<_> = texts.iter().map(|arg| (arg.size, arg.location_text.as_deref())).collect();
        assert_eq!(
            found,
            [
                (Some(16), Some("%rax, length %rdx")),
                (Some(8), Some("%rcx")),
                (Some(16), Some("%rax, length 5")),
                (Some(16), Some("%rax, length 4294967295")),
                (None, None),
                (None, None),
            ]
        );
        let values = arguments(&declared[..1], b"8@rax&8@rdx", Processor::X86_64, |_| ());
        let found: Vec<_> = values.iter().map(|arg| (arg.ty.is_none(), arg.location_text.as_deref())).collect();
        assert_eq!(found, [(true, Some("memory at %rax"))]);
        let fetched = |index: usize| fetch(texts.get(index).unwrap(), 's', false);
        let (rax, rcx) = (Fetched::Register(Register(0)), Fetched::Register(Register(2)));
        let text = |length| Ok(Fetch::Text { data: rax.clone(), offset: 0, length });
        assert_eq!(fetched(0), text(Fetched::Register(Register(1))));
        assert_eq!(fetched(1), Ok(Fetch::Pointed(rcx)));
        assert_eq!(fetched(2), text(Fetched::Constant(5)));
        let on_arm = arguments(&declared, b"8@x0 4@[sp,8]", Processor::Aarch64, |_| ());
        assert_eq!(on_arm.first().and_then(|arg| arg.location_text.as_deref()), Some("x0"));
        assert_eq!(on_arm.get(1).and_then(|arg| arg.location_text.as_deref()), Some("[sp,8]"));
    }
}
