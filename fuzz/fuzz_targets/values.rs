//! A type and a value from arbitrary bytes: rendered in full and for every conversion, with some
//! bits missing.
#![no_main]

use std::slice;

use libfuzzer_sys::fuzz_target;
use simple_markers_fuzz::types::{NAMES, TypeMaker};
use simple_markers_fuzz::{Fake, byte, part};
use simple_markers_resolver::address::RuntimeAddress;
use simple_markers_resolver::location::Machine;
use simple_markers_resolver::record::ByteOrder;
use simple_markers_resolver::record::printf::{Piece, parse};
use simple_markers_resolver::types::{
    Language, Limits, MemberChoice, MemoryFunction, Object, ReadContext, printf, render, tree_of, write_json,
    write_lines,
};

fuzz_target!(|input: &[u8]| {
    let mut input = input;
    let how = byte(&mut input);
    let (bytes, format, making) = (part(&mut input), part(&mut input), part(&mut input));
    let of = TypeMaker::new(making).of();
    let gone = u64::from(how >> 4)..u64::from(how >> 4) * 3;
    let optimized_out = if how & 4 == 0 { &[] } else { slice::from_ref(&gone) };
    let object = Object { bytes, optimized_out, is_cut: how & 64 != 0, ..Object::default() };
    let memory = MemoryFunction(|address: u64, into: &mut [u8]| Fake.read(RuntimeAddress(address), into));
    let reading = ReadContext {
        byte_order: if how & 1 == 0 { ByteOrder::Little } else { ByteOrder::Big },
        language: if how & 2 == 0 { Language::C } else { Language::Rust },
        x87: how & 8 == 0,
        memory: &memory,
        limits: Limits::default(),
        load_bias: None,
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
