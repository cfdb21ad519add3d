//! Control flow: loops, iterators, and every way out of a block.

use std::hint::black_box;

use constructs_library::witness;
use simple_markers::simple_mark;

pub(crate) fn run() {
    loops(black_box(3));
    unrolled();
    assert_eq!(adapters(black_box(&[1, 2, 3, 4])), 6);
    assert_eq!(early_return(black_box(Some(1))), 1);
    assert_eq!(early_return(black_box(None)), 0);
    assert_eq!(question_mark(black_box("12")), Ok(13));
    assert!(question_mark(black_box("x")).is_err());
    assert_eq!(option(black_box(Some(1))), Some(2));
    assert_eq!(let_else(black_box(Some(3))), 3);
    assert_eq!(let_else(black_box(None)), 0);
    assert_eq!(break_with_value(black_box(10)), 16);
    assert_eq!(labelled(black_box(1)), 1);
    assert_eq!(labelled(black_box(0)), 2);
    nested_loops(black_box(2));
    match_tree(black_box(&Shape::Circle { radius: 2 }));
    match_tree(black_box(&Shape::Square(3)));
    match_tree(black_box(&Shape::Nothing));
    joined(black_box(1));
    if_let(black_box(Some(1)));
}

#[inline(never)]
fn loops(count: u32) {
    for index in 0..count {
        simple_mark!(construct:loop:for, "round %u", index); //~ live
        witness(7500);
    }
    let mut left = count;
    while left > 0 {
        simple_mark!(construct:loop:while, "%u left", left); //~ live
        witness(7501);
        left -= 1;
    }
    loop {
        simple_mark!(construct:loop:endless, "%u of %u", left, count); //~ live
        witness(7502);
        left += 1;
        if left == count {
            break;
        }
    }
}

fn unrolled() {
    for index in 0..4 {
        simple_mark!(construct:loop:unrolled, "round %d", index); //~ live 1 time in dev, live at least 2 times in release
        witness(7503);
    }
}

fn adapters(values: &[i32]) -> i32 {
    values
        .iter()
        .filter(|value| {
            simple_mark!(construct:iterator:filter, "filter %d", value); //~ live
            witness(7504);
            **value % 2 == 0
        })
        .map(|value| {
            simple_mark!(construct:iterator:map, "map %d", value); //~ live
            witness(7505);
            *value
        })
        .inspect(|value| simple_mark!(construct:iterator:inspect, "inspect %d", value)) //~ live
        .fold(0, |sum, value| {
            simple_mark!(construct:iterator:fold, "%d and %d", sum, value); //~ live
            witness(7506);
            sum + value
        })
}

#[inline(never)]
fn early_return(value: Option<i32>) -> i32 {
    if let Some(value) = value {
        simple_mark!(construct:early_return, "returning %d", value); //~ live 1 time
        witness(7507);
        return value;
    }
    simple_mark!(construct:late_return, "nothing to return"); //~ live 1 time
    witness(7508);
    0
}

#[inline(never)]
fn question_mark(text: &str) -> Result<i32, std::num::ParseIntError> {
    let value: i32 = text.parse().inspect_err(|error| {
        simple_mark!(construct:question_mark:before, "failed, %p", error); //~ live
        witness(7509);
    })?;
    simple_mark!(construct:question_mark:after, "parsed %d", value); //~ live 1 time
    witness(7510);
    Ok(value + 1)
}

#[inline(never)]
fn option(value: Option<i32>) -> Option<i32> {
    let value = value? + 1;
    simple_mark!(construct:question_mark:option, "some %d", value); //~ live 1 time
    witness(7511);
    Some(value)
}

#[inline(never)]
fn let_else(value: Option<i32>) -> i32 {
    let Some(value) = value else {
        simple_mark!(construct:let_else, "none"); //~ live 1 time
        witness(7512);
        return 0;
    };
    value
}

#[inline(never)]
fn break_with_value(limit: u32) -> u32 {
    let mut value = 1;
    loop {
        value *= 2;
        if value > limit {
            break {
                simple_mark!(construct:break_with_value, "broke with %u", value); //~ live
                witness(7513);
                value
            };
        }
    }
}

#[inline(never)]
fn labelled(value: i32) -> i32 {
    'block: {
        if value == 1 {
            simple_mark!(construct:labelled_block, "leaving with %d", value); //~ live 1 time
            witness(7514);
            break 'block value;
        }
        2
    }
}

#[inline(never)]
fn nested_loops(count: u32) {
    'outer: for row in 0..count {
        for column in 0..count {
            if row + column == count {
                simple_mark!(construct:labelled_continue, "%u, %u", row, column); //~ live
                witness(7515);
                continue 'outer;
            }
        }
    }
}

enum Shape {
    Circle { radius: u32 },
    Square(u32),
    Nothing,
}

#[inline(never)]
fn match_tree(shape: &Shape) {
    match shape {
        Shape::Circle { radius } => {
            simple_mark!(construct:match:named_field, "radius %u", radius); //~ live 1 time
            witness(7516);
        }
        Shape::Square(side @ 1..=9) => {
            simple_mark!(construct:match:bound, "side %u", side); //~ live 1 time
            witness(7517);
        }
        Shape::Square(_) | Shape::Nothing => {
            simple_mark!(construct:match:alternatives, "nothing to see"); //~ live 1 time
            witness(7518);
        }
    }
}

// The last statement on one of two paths that join: its address is that of code that both execute.
#[inline(never)]
fn joined(value: i32) {
    if value > 0 {
        witness(7519);
        simple_mark!(construct:end_of_branch, "end of a branch, %d", value); //~ live
    }
    witness(7520);
}

#[inline(never)]
fn if_let(value: Option<i32>) {
    if let Some(value @ 1..) = value {
        simple_mark!(construct:if_let, "some %d", value); //~ live 1 time
        witness(7521);
    }
}
