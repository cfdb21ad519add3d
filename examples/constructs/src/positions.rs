//! Every position of an expression of type `()`.
#![expect(
    clippy::blocks_in_conditions,
    clippy::semicolon_if_nothing_returned,
    clippy::unit_arg,
    reason = "such positions are what is tested"
)]

use constructs_library::witness;
use simple_markers::simple_mark;

pub(crate) fn run() {
    statement();
    binding();
    tail();
    argument();
    field();
    element();
    condition();
    block();
    nested::deeper::run();
    arm(std::hint::black_box(1));
    arm(std::hint::black_box(2));
    arm(std::hint::black_box(3));
    chain();
}

fn statement() {
    simple_mark!(construct:statement, "statement"); //~ live 1 time
    witness(7100);
}

fn binding() {
    let unit: () = simple_mark!(construct:binding, "right of `=`"); //~ live 1 time
    witness(7101);
    unit
}

fn tail() {
    witness(7102);
    simple_mark!(construct:tail, "value of the function") //~ live 1 time
}

fn argument() {
    drop_unit(simple_mark!(construct:argument, "argument of a call")); //~ live 1 time
}

#[inline(always)]
fn drop_unit((): ()) {
    witness(7103);
}

struct Step {
    done: (),
}

fn field() {
    let step = Step { done: simple_mark!(construct:field, "value of a field") }; //~ live 1 time
    witness(7104);
    step.done
}

fn element() {
    let units = [simple_mark!(construct:element, "element of an array"), ()]; //~ live 1 time
    witness(7105);
    assert_eq!(units.len(), 2);
}

fn condition() {
    if {
        simple_mark!(construct:condition, "block in a condition"); //~ live 1 time
        witness(7106);
        std::hint::black_box(true)
    } {
        witness(7107);
    }
}

fn block() {
    // Two in one block, and one in its own block: the names that the macro declares do not collide.
    simple_mark!(construct:block:first, "first of two"); //~ live 1 time
    simple_mark!(construct:block:second, "second of two"); //~ live 1 time
    witness(7108);
    {
        simple_mark!(construct:block:inner, "in a block"); //~ live 1 time
        witness(7109);
    }
    #[rustfmt::skip]
    { simple_mark!(construct:one_line:first, "a"); simple_mark!(construct:one_line:second, "b") }; //~ live 1 time
    witness(7110);
    let lines = std::hint::black_box(3);
    simple_mark!(
        construct:several:lines,
        "over %d lines",
        lines,
    ); //~ live 1 time
    witness(7111);
}

mod nested {
    pub(crate) mod deeper {
        use constructs_library::witness;

        pub(crate) fn run() {
            // By its path, without a `use`.
            simple_markers::simple_mark!(construct:nested_module, "in a module of a module"); //~ live 1 time
            witness(7112);
        }
    }
}

#[inline(never)]
fn arm(value: u32) {
    match value {
        1 => simple_mark!(construct:arm:first, "value of an arm"), //~ live 1 time
        2 => {
            simple_mark!(construct:arm:block, "block of an arm"); //~ live 1 time
            witness(7113);
        }
        other if other > 2 => simple_mark!(construct:arm:guarded, "guarded arm, %u", other), //~ live 1 time
        _ => simple_mark!(construct:arm:rest, "any other"),                                  //~ live 1 time
    }
}

fn chain() {
    if std::hint::black_box(false) {
        simple_mark!(construct:chain:first, "then"); //~ live 1 time
        witness(7114);
    } else if std::hint::black_box(true) {
        simple_mark!(construct:chain:second, "else if"); //~ live 1 time
        witness(7115);
    } else {
        simple_mark!(construct:chain:last, "else"); //~ live 1 time
        witness(7116);
    }
}
