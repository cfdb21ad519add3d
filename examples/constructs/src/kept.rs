//! Kept arguments: values that are in a register at the marker.

use std::hint::black_box;

use constructs_library::witness;
use simple_markers::simple_mark;

pub(crate) fn run() {
    places(black_box(41), black_box(&[1, 2, 3]));
    widths(black_box(-7), black_box(200), black_box(1.5), black_box(-2.25));
    promoted(black_box(-3), black_box(250), black_box(0.5));
    pointers(black_box(&5));
    expressions(black_box(&[1, 2, 3]));
    mixed(black_box(11), black_box(12), black_box(13));
    anchors(black_box(17));
    many(black_box(1));
    large(black_box(u64::MAX), black_box(i64::MIN));
    braces(black_box(19));
}

#[inline(never)]
fn places(value: u32, values: &[u64; 3]) {
    simple_mark!(construct:keep:variable, "%u", keep value); //~ live 1 time; keeps 41
    witness(8100);
    simple_mark!(construct:keep:element, "%lu", keep values[2]); //~ live 1 time; keeps 3
    witness(8101);
    let reference = &value;
    simple_mark!(construct:keep:dereferenced, "%u", keep *reference); //~ live 1 time; keeps 41
    witness(8102);
}

#[inline(never)]
fn widths(short: i16, byte: u8, single: f32, double: f64) {
    simple_mark!(construct:keep:i16, "%hd", keep short: i16); //~ live 1 time; keeps -7
    witness(8103);
    simple_mark!(construct:keep:u8, "%hhu", keep byte: u8); //~ live 1 time; keeps 200
    witness(8104);
    simple_mark!(construct:keep:f32, "%f", keep single: f32); //~ live 1 time; keeps 1.5f32
    witness(8105);
    simple_mark!(construct:keep:f64, "%g", keep double: f64); //~ live 1 time; keeps -2.25
    witness(8106);
    simple_mark!(construct:keep:named_width, "%hd", keep half: i16 = short / 2); //~ live 1 time; keeps -3
    witness(8107);
}

#[inline(never)]
fn promoted(short: i16, byte: u8, single: f32) {
    // Without a width, the type is the one that C would pass.
    simple_mark!(construct:keep:promoted, "%d %u %f", keep short, keep byte, keep single); //~ live 1 time; keeps -3 250 0.5
    witness(8108);
    let (yes, letter) = black_box((true, '\u{20ac}'));
    simple_mark!(construct:keep:bool_and_char, "%d %c", keep yes, keep letter); //~ live 1 time; keeps 1 8364
    witness(8109);
    simple_mark!(construct:keep:bool_and_char_widths, "%d %c", keep yes: bool, keep letter: char); //~ live 1 time; keeps 1 8364
    witness(8110);
}

#[inline(never)]
fn pointers(value: &u32) {
    simple_mark!(construct:keep:reference, "%p", keep value); //~ live 1 time
    witness(8111);
    simple_mark!(construct:keep:address, "%p", keep &*value); //~ live 1 time
    witness(8112);
    let pointer = black_box(0x1234 as *const u8);
    simple_mark!(construct:keep:pointer, "%p", keep pointer); //~ live 1 time; keeps 4660
    witness(8113);
}

#[inline(never)]
fn expressions(values: &[u32]) {
    simple_mark!(construct:keep:call, "%zu", keep len = values.len()); //~ live 1 time; keeps 3
    witness(8114);
    simple_mark!(construct:keep:closure, "%u", keep sum = values.iter().map(|value| value * 2).sum::<u32>()); //~ live; keeps 12
    witness(8115);
    simple_mark!(construct:keep:block, "%u", keep first = { let first = values[0]; first + 1 }); //~ live 1 time; keeps 2
    witness(8116);
    simple_mark!(construct:keep:r#type, "%u", keep r#type = values[1]); //~ live 1 time; keeps 2
    witness(8117);
}

#[inline(never)]
fn mixed(a: i32, b: i32, c: i64) {
    simple_mark!(construct:keep:mixed, "%d %d %ld", a, keep b, keep c); //~ live 1 time; keeps 12 13
    witness(8118);
    black_box(a);
    // A variable with the name `keep`.
    let keep = black_box(5);
    simple_mark!(construct:keep:not_the_keyword, "%d", keep); //~ live 1 time
    witness(8119);
    black_box(keep);
}

#[inline(never)]
fn anchors(value: u32) {
    simple_mark!(construct:anchor, "anchored", options(anchor)); //~ live 1 time
    witness(8120);
    simple_mark!(construct:anchor:place, "%u", value, options(anchor)); //~ live 1 time
    witness(8121);
    simple_mark!(construct:anchor:kept, "%u", keep value, options(anchor),); //~ live 1 time; keeps 17
    witness(8122);
    if value > 1 {
        witness(8123);
        simple_mark!(construct:anchor:end_of_branch, "passed only by this branch", options(anchor)); //~ live
    }
    witness(8124);
}

#[inline(never)]
fn many(first: u64) {
    simple_mark!(construct:keep:eight, "%lu %lu %lu %lu %lu %lu %lu %lu",
        keep a = first, keep b = first + 1, keep c = first + 2, keep d = first + 3,
        keep e = first + 4, keep f = first + 5, keep g = first + 6, keep h = first + 7); //~ live 1 time; keeps 1 2 3 4 5 6 7 8
    witness(8125);
}

#[inline(never)]
fn large(high: u64, low: i64) {
    simple_mark!(construct:keep:limits, "%lu %ld", keep high, keep low); //~ live 1 time; keeps 18446744073709551615 -9223372036854775808
    witness(8126);
}

// Braces are placeholders in the template of an assembly with operands.
#[inline(never)]
fn braces(value: u32) {
    simple_mark!("construct:keep:{braces} {0}", "{{}} {{0:x}} %u", keep value); //~ live 1 time; keeps 19
    witness(8127);
}
