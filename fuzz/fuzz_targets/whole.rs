//! A type and the chunks of a whole value from arbitrary bytes: which memory is read for it, and what is
//! shown of it, with the type as a recording has it.
#![no_main]

use std::slice;

use libfuzzer_sys::fuzz_target;
use simple_markers_fuzz::types::{NAMES, TypeMaker};
use simple_markers_fuzz::{byte, part};
use simple_markers_resolver::record::ByteOrder;
use simple_markers_resolver::types::{
    FollowStep, Language, Limits, MAX_READ_STEPS, MemberChoice, MemoryChunk, MemorySnapshot, Object, ReadContext,
    ReadStep, ReadTable, TypeTable, tree_of, write_json, write_lines, write_text,
};
use simple_markers_tracer::whole;

fuzz_target!(|input: &[u8]| {
    let mut input = input;
    let how = byte(&mut input);
    let (making, bytes) = (part(&mut input), part(&mut input));
    let of = TypeMaker::new(making).of();
    let language = if how & 1 == 0 { Language::C } else { Language::Rust };
    let limits = Limits { depth: (how >> 1 & 7).into(), elements: 16, ..Limits::default() };
    let levels = (how & 16 == 0).then_some(how >> 5);

    // Every step is in the table, and every element has an end.
    let mut table = ReadTable::new();
    let start = usize::from(table.add(&of, language, &limits, levels));
    assert!(start < table.steps.len() && table.steps.len() <= MAX_READ_STEPS + 1);
    assert!(matches!(table.steps.last(), Some(ReadStep::End { .. })));
    for (number, step) in table.steps.iter().enumerate() {
        match step {
            ReadStep::Follow(FollowStep { steps, stride, .. }) => {
                assert!(usize::from(*steps) < table.steps.len() && *stride > 0);
            }
            ReadStep::Test { skip, .. } => assert!(number + usize::from(*skip) + 1 < table.steps.len()),
            ReadStep::End { .. } => {}
        }
    }

    let (types, numbers) = TypeTable::new(slice::from_ref(&of));
    let Some(number) = numbers.first().copied().flatten() else { return };
    let json = serde_json::to_string(&types).expect("types are JSON");
    let read: TypeTable = serde_json::from_str(&json).expect("what was written can be read");
    let read = read.types("types").expect("it is whole");
    let of = read.get(number).expect("the type");

    let chunks: Vec<MemoryChunk<'_>> = whole::chunks(bytes).collect();
    let value = chunks.first().map_or(&[][..], |chunk| chunk.bytes);
    let (gone, unread) = (u64::from(how >> 4)..u64::from(how >> 4) * 3, 64..128);
    let optimized_out = if how & 8 == 0 { &[] } else { slice::from_ref(&gone) };
    let unread = if how & 4 == 0 { &[] } else { slice::from_ref(&unread) };
    let object = Object { bytes: value, optimized_out, unread, is_cut: how & 64 != 0 };
    let memory = MemorySnapshot { chunks: &chunks };
    let reading = ReadContext {
        byte_order: ByteOrder::Little,
        language,
        x87: true,
        memory: &memory,
        limits,
        load_bias: whole::load_bias(bytes),
    };
    let path = Box::from([NAMES[usize::from(how) % NAMES.len()].into()]);
    let members = if how & 32 == 0 { vec![path] } else { Vec::new() };
    let tree = tree_of(of, object, &reading, &MemberChoice { members, levels });
    let (mut text, mut lines, mut json) = (String::new(), String::new(), String::new());
    write_text(&tree, language, &mut text);
    write_lines(&tree, language, 0, &mut lines);
    write_json(&tree, &mut json);
    assert!(text.len() < 1 << 18 && lines.len() < 1 << 19 && json.len() < 1 << 18);
    assert!(!text.contains('\n'));
    serde_json::from_str::<serde_json::Value>(&json).expect("it is JSON");
});
