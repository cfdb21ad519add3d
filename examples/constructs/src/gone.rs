//! Markers that are gone: the compiler emits no code for them, or the linker drops it.

use std::hint::black_box;

use constructs_library::witness;
use simple_markers::simple_mark;

pub(crate) fn run() {
    constant_condition();
    known_condition();
    after_return();
    impossible(black_box(3));
    empty_loop();
}

const TRACING: bool = false;

fn constant_condition() {
    if TRACING {
        // Gone in a debug build too: the compiler evaluates constants before it generates code.
        simple_mark!(construct:gone:constant_condition, "tracing"); //~ eliminated
        witness(8500);
    }
    if cfg!(any()) {
        simple_mark!(construct:gone:cfg_macro, "configured out"); //~ eliminated
        witness(8501);
    }
}

fn tracing() -> bool {
    false
}

fn known_condition() {
    // Known to be false only after `tracing` is inlined.
    if tracing() {
        simple_mark!(construct:gone:known_condition, "tracing"); //~ live in dev, eliminated in release
        witness(8502);
    }
}

#[expect(unreachable_code, reason = "this is what is tested")]
fn after_return() {
    return;
    simple_mark!(construct:gone:after_return, "not reached"); //~ eliminated
    witness(8503);
}

fn impossible(value: u8) {
    let low = value & 3;
    if low > 3 {
        simple_mark!(construct:gone:impossible, "low %hhu", low); //~ live in dev, eliminated in release
        witness(8504);
    }
    black_box(low);
}

fn empty_loop() {
    let nothing: [u8; 0] = [];
    for value in nothing {
        simple_mark!(construct:gone:empty_loop, "value %hhu", value); //~ live in dev, eliminated in release
        witness(8505);
    }
}

// The compiler generates code only for functions that are reachable from `main`; this one is not.
#[expect(dead_code, reason = "this is what is tested")]
fn never_referenced() {
    simple_mark!(construct:gone:never_referenced, "nobody calls"); //~ eliminated
    witness(8506);
}

#[expect(dead_code, reason = "this is what is tested")]
pub(crate) fn never_referenced_public() {
    simple_mark!(construct:gone:never_referenced_public, "nobody calls"); //~ eliminated
    witness(8507);
}

// Other code could link to this symbol, so the compiler generates code. The executable does not
// export it, so the linker drops it.
#[unsafe(no_mangle)]
extern "C" fn construct_gone_exported() {
    simple_mark!(construct:gone:exported, "nobody calls"); //~ discarded
    witness(8508);
    only_from_exported();
}

#[inline(never)]
fn only_from_exported() {
    simple_mark!(construct:gone:only_from_exported, "only the dead call"); //~ discarded
    witness(8509);
}
