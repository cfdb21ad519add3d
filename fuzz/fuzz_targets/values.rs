//! A type and a value from arbitrary bytes: rendered in full and for every conversion, with some
//! bits missing.
#![no_main]

use std::slice;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use simple_markers_fuzz::{Fake, byte, part};
use simple_markers_resolver::address::RuntimeAddress;
use simple_markers_resolver::location::Machine;
use simple_markers_resolver::record::ByteOrder;
use simple_markers_resolver::record::printf::{Piece, parse};
use simple_markers_resolver::types::{
    Language, Limits, Member, MemberChoice, MemoryFunction, Object, OpaqueReason, ReadContext, Sequence, SequenceKind,
    Shape, Type, Variant, Variants, printf, render, tree_of, write_json, write_lines,
};

const NAMES: [&str; 12] =
    ["int", "char", "u8", "&str", "*u8", "alloc::boxed::Box<u8>", "long double", "0", "__0", "pointer", "Some", "None"];

struct Maker<'a> {
    input: &'a [u8],
    left: usize,
}

impl Maker<'_> {
    fn number(&mut self) -> u64 {
        match byte(&mut self.input) {
            low @ ..0xf0 => low.into(),
            0xf0 => u64::MAX,
            0xf1 => u64::MAX / 8,
            0xf2 => 1 << 63,
            high => 1 << (high & 0xf) << 12,
        }
    }

    fn flag(&mut self) -> bool {
        byte(&mut self.input) & 1 == 1
    }

    fn name(&mut self) -> Arc<str> {
        NAMES[usize::from(byte(&mut self.input)) % NAMES.len()].into()
    }

    fn member(&mut self) -> Member {
        let bit_size = if self.flag() { Some(self.number()) } else { None };
        Member { name: self.name(), bit_offset: self.number(), bit_size, of: self.of() }
    }

    fn members(&mut self) -> Vec<Member> {
        (0..byte(&mut self.input) % 4).map(|_| self.member()).collect()
    }

    fn of(&mut self) -> Arc<Type> {
        let (name, has_size) = (self.name(), self.flag());
        let size = if has_size { Some(self.number()) } else { None };
        let Some(left) = self.left.checked_sub(1) else { return Arc::new(Type { name, size, shape: Shape::Void }) };
        self.left = left;
        let shape = match byte(&mut self.input) % 14 {
            0 => Shape::Integer { signed: self.flag() },
            1 => Shape::Boolean,
            2 => Shape::Character { signed: self.flag() },
            3 => Shape::Float,
            4 => Shape::Pointer { to: Some(self.of()) },
            5 => Shape::Function,
            6 => Shape::Struct { members: self.members().into() },
            7 => Shape::Union { members: self.members().into() },
            8 => {
                let discriminant = if self.flag() { Some(self.member()) } else { None };
                let variants = (0..byte(&mut self.input) % 4)
                    .map(|_| {
                        let value = i128::from(self.number() as i64);
                        let values = self.flag().then(|| vec![(value, value.wrapping_add(1))]);
                        Variant { values, name: self.name(), members: self.members() }
                    })
                    .collect();
                Shape::Variants(Arc::new(Variants { discriminant, variants, common: self.members() }))
            }
            9 => {
                let signed = self.flag();
                let enumerators =
                    (0..byte(&mut self.input) % 4).map(|_| (self.name(), i128::from(self.number() as i64))).collect();
                Shape::Enumeration { signed, enumerators }
            }
            10 => {
                let count = if self.flag() { Some(self.number()) } else { None };
                let stride = if self.flag() { Some(self.number()) } else { None };
                Shape::Array { element: self.of(), count, stride }
            }
            11 => {
                let kind = match byte(&mut self.input) % 3 {
                    0 => SequenceKind::Text,
                    1 => SequenceKind::CText,
                    _ => SequenceKind::Elements,
                };
                let (data, offset, length) = (self.member(), self.number(), self.member());
                let element = if self.flag() { Some(self.of()) } else { None };
                Shape::Sequence(Arc::new(Sequence { kind, data, offset, length, element }))
            }
            12 => Shape::Pointer { to: None },
            _ => Shape::Opaque(OpaqueReason::OnlyDeclared),
        };
        Arc::new(Type { name, size, shape })
    }
}

fuzz_target!(|input: &[u8]| {
    let mut input = input;
    let how = byte(&mut input);
    let (bytes, format, making) = (part(&mut input), part(&mut input), part(&mut input));
    let of = Maker { input: making, left: 40 }.of();
    let gone = u64::from(how >> 4)..u64::from(how >> 4) * 3;
    let optimized_out = if how & 4 == 0 { &[] } else { slice::from_ref(&gone) };
    let object = Object { bytes, optimized_out, is_cut: how & 64 != 0 };
    let memory = MemoryFunction(|address: u64, into: &mut [u8]| Fake.read(RuntimeAddress(address), into));
    let reading = ReadContext {
        byte_order: if how & 1 == 0 { ByteOrder::Little } else { ByteOrder::Big },
        language: if how & 2 == 0 { Language::C } else { Language::Rust },
        x87: how & 8 == 0,
        memory: &memory,
        limits: Limits::default(),
    };
    let rendered = render(&of, object, &reading);
    assert!(rendered.text.len() < 1 << 16, "{} bytes", rendered.text.len());
    let path = || (0..how >> 6).map(|at| NAMES[usize::from(how.wrapping_add(at)) % NAMES.len()].into()).collect();
    let members = if how & 8 == 0 { vec![path()] } else { Vec::new() };
    let tree = tree_of(&of, object, &reading, &MemberChoice { members, levels: (how & 16 == 0).then_some(how >> 5) });
    let (mut lines, mut json) = (String::new(), String::new());
    write_lines(&tree, reading.language, 0, &mut lines);
    write_json(&tree, &mut json);
    assert!(lines.len() < 1 << 18 && json.len() < 1 << 18, "{} and {} bytes", lines.len(), json.len());
    for piece in parse(format).take(4) {
        let Ok(Piece::Conversion(conversion)) = piece else { continue };
        if let Ok(printed) = printf(&conversion, &[how.into(), -3], &of, object, &reading) {
            assert!(printed.text.len() < 1 << 18);
        }
    }
});
