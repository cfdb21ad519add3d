//! Functions and closures, inlined and not.

use std::hint::black_box;

use constructs_library::witness;
use simple_markers::simple_mark;

pub(crate) fn run() {
    never_inlined(black_box(1));
    let one = black_box(1);
    always_inlined(one);
    always_inlined(one + 1);
    always_inlined(one + 2);
    other_abi(black_box(4));
    closures(black_box(5));
    returned()(black_box(6));
    pointer(black_box(through_pointer as fn(i32)));
    assert_eq!(recursive(black_box(5)), 15);
    tail_recursive(black_box(3));
    inner_function();
    constructs_library::called(black_box(7));
    constructs_library::inlined(black_box(8));
    constructs_library::inlined(black_box(9));
    assert_eq!(diverging(black_box(1)), 2);
    variables(black_box(&[1, 2]));
    twice();
}

#[inline(never)]
fn never_inlined(value: i32) {
    simple_mark!(construct:inline_never, "value %d", value); //~ live 1 time
    witness(7200);
}

// Inlined in a debug build too. The function itself is never called, so no code is emitted for it.
#[inline(always)]
fn always_inlined(value: i32) {
    simple_mark!(construct:inline_always, "value %d", value); //~ live 3 times
    witness(7201);
}

#[inline(never)]
extern "C" fn other_abi(value: i32) {
    simple_mark!(construct:extern_c, "value %d", value); //~ live 1 time
    witness(7202);
}

#[inline(never)]
fn closures(value: i32) {
    let by_reference = || {
        simple_mark!(construct:closure:by_reference, "captured %d", value); //~ live
        witness(7203);
    };
    by_reference();
    let text = String::from("moved");
    let by_move = move || {
        simple_mark!(construct:closure:by_move, "captured %s", text); //~ live
        witness(7204);
        text.len()
    };
    assert_eq!(by_move(), 5);
    let with_parameter = |parameter: i32| {
        simple_mark!(construct:closure:parameter, "%d and %d", parameter, value); //~ live
        witness(7205);
    };
    with_parameter(1);
    let expression = |_: i32| simple_mark!(construct:closure:expression, "value of a closure"); //~ live
    expression(2);
    let mut count = 0;
    let mut changes = || {
        count += 1;
        simple_mark!(construct:closure:by_mutable_reference, "count %d", count); //~ live
        witness(7206);
    };
    changes();
    changes();
    assert_eq!(black_box(count), 2);
}

fn returned() -> Box<dyn Fn(i32)> {
    Box::new(|value| {
        simple_mark!(construct:closure:boxed, "value %d", value); //~ live 1 time
        witness(7207);
    })
}

fn through_pointer(value: i32) {
    simple_mark!(construct:function_pointer, "value %d", value); //~ live 1 time
    witness(7208);
}

#[inline(never)]
fn pointer(function: fn(i32)) {
    function(9);
}

// The optimiser may unroll a recursion, or turn it into a loop.
fn recursive(depth: u32) -> u32 {
    simple_mark!(construct:recursive, "depth %u", depth); //~ live
    witness(7209);
    if depth == 0 { 0 } else { depth + recursive(depth - 1) }
}

fn tail_recursive(depth: u32) {
    simple_mark!(construct:tail_recursive, "depth %u", depth); //~ live
    witness(7210);
    if depth > 0 {
        tail_recursive(depth - 1);
    }
}

fn inner_function() {
    fn inner() {
        simple_mark!(construct:inner_function, "in a function of a function"); //~ live
        witness(7211);
    }
    inner();
}

#[inline(never)]
fn diverging(value: i32) -> i32 {
    if value == 0 {
        simple_mark!(construct:before_panic, "about to panic, %d", value); //~ live 1 time
        witness(7212);
        panic!("not reached");
    }
    value + 1
}

#[inline(never)]
fn variables(values: &[i32; 2]) {
    let [first, second] = values;
    simple_mark!(construct:pattern_variables, "%d and %d", first, second); //~ live 1 time
    witness(7213);
    let value = *first;
    {
        let value = value + second;
        simple_mark!(construct:shadowed, "inner %d", value); //~ live 1 time
        witness(7214);
        black_box(value);
    }
    black_box(value);
}

// Small and called twice: the optimiser may copy its code.
#[inline]
fn small(value: i32) {
    simple_mark!(construct:inline_hint, "value %d", value); //~ live
    witness(7215);
}

fn twice() {
    small(black_box(1));
    small(black_box(2));
}
