//! The crate between the program and the base crate.
#![no_std]

use base::witness;
use core::hint::black_box;
use simple_markers::simple_mark;

const TRACING: bool = false;

pub trait Stage {
    fn run(&self, value: u32) -> u32;
    fn describe(&self) -> u32 {
        simple_mark!(middle:describe, "a stage"); //~ live
        witness(201);
        1
    }
}

pub struct Add(pub u16);
pub struct Shift(pub u8);

impl Stage for Add {
    fn run(&self, value: u32) -> u32 {
        simple_mark!(middle:add, "%u + %hu", value, self.0); //~ live
        witness(202);
        value.wrapping_add(base::generic(self.0))
    }
}

impl Stage for Shift {
    fn run(&self, value: u32) -> u32 {
        if TRACING {
            simple_mark!(middle:tracing, "never"); //~ eliminated
            witness(203);
        }
        simple_mark!(middle:shift, "%u << %hhu", value, self.0, options(anchor)); //~ live
        witness(204);
        base::always(value) << (base::generic(self.0) & 3)
    }
    fn describe(&self) -> u32 {
        base::always(2)
    }
}

pub fn unroll(values: &[u32; 4]) -> u32 {
    let mut sum = 0u32;
    for value in values {
        simple_mark!(middle:unroll, "sum %u, value %u", sum, *value); //~ live
        witness(205);
        sum = sum.wrapping_add(*value);
    }
    sum
}

pub fn run(seed: u32) -> u32 {
    let stages: [&dyn Stage; 2] = [black_box(&Add(5)), black_box(&Shift(2))];
    let mut value = seed;
    for stage in stages {
        value = stage.run(value) + stage.describe();
    }
    for function in black_box(&base::TABLE) {
        value = function(value);
    }
    value = base::maybe(value) ^ unroll(&black_box([1, 2, 3, value]));
    value = value.wrapping_add(base::generic(black_box(value)));
    let closure = |value: u32| {
        simple_mark!(middle:closure, "%u", value); //~ live
        witness(206);
        value ^ 1
    };
    closure(black_box(value))
}

pub fn dead_stage(value: u32) -> u32 {
    simple_mark!(middle:dead_stage, "never called"); //~ discarded
    witness(207);
    base::always(value) + base::generic(value as u16)
}
