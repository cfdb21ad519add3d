//! Markers inside macros: file and line are those of the outermost call, as in the debug
//! information.

use std::hint::black_box;

use constructs_library::witness;
use simple_markers::simple_mark;

macro_rules! once {
    () => {
        simple_mark!(construct:macro:once, "from a macro"); //~ live
        witness(7600);
    };
}

macro_rules! given {
    ($value:expr) => {
        simple_mark!(construct:macro:expression, "given %d", $value); //~ live; args value
        witness(7601);
    };
}

macro_rules! field {
    ($value:ident, $field:ident) => {
        simple_mark!(construct:macro:tokens, "field %u", $value.$field); //~ live; args pair.left
        witness(7602);
    };
}

macro_rules! inner {
    ($value:ident) => {
        simple_mark!(construct:macro:nested, "nested %d", $value); //~ live; args value
        witness(7603);
    };
}

macro_rules! outer {
    ($value:ident) => {{
        inner!($value);
        inner!($value);
    }};
}

macro_rules! own {
    () => {{
        let own = black_box(5);
        // This is the macro's own variable; the call site has another one of this name.
        simple_mark!(construct:macro:hygiene, "own %d", keep own); //~ live; keeps 5
        witness(7604);
    }};
}

macro_rules! kept {
    ($value:expr) => {
        simple_mark!(construct:macro:kept, "kept %d", keep sum = $value + 1); //~ live; keeps 4
        witness(7605);
    };
}

macro_rules! function {
    ($name:ident) => {
        fn $name() {
            simple_mark!(construct:macro:function, "in a function that a macro wrote"); //~ live
            witness(7606);
        }
    };
}

function!(written);

struct Pair {
    left: u32,
}

pub(crate) fn run() {
    let value = black_box(3);
    let pair = black_box(Pair { left: 1 });
    once!();
    once!();
    given!(value);
    field!(pair, left);
    outer!(value);
    let own = black_box(1);
    own!();
    kept!(value);
    written();
    black_box(own);
}
