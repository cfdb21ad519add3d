//! Every construct of Rust that can contain a marker, and every kind of argument.
//!
//! The comment after a marker says what happens to it. The test `emission`
//! (`tests/rust/emission.rs`) compares the built program with these comments:
//!
//! ```text
//! //~ live                              at least one site, in every profile
//! //~ live 2 times                      exactly two
//! //~ live at least 2 times
//! //~ eliminated                        declared, no site: the compiler emitted no code for it
//! //~ discarded                         declared, and the linker dropped the function of its site
//! //~ absent                            not even declared: the linker did not take the object file
//! //~ live in dev, eliminated in release
//! //~ live; keeps 7 -1                  the values in the registers of the kept arguments
//! //~ live; args x                      the arguments, if another macro passes them on
//! ```
//!
//! `witness(N)` after a marker makes the place recognisable in a disassembly. A marker is not
//! allowed in a `const fn`, in the value of a `const` or a `static`, or in the length of an array:
//! the compiler evaluates these, and cannot execute assembly.

mod control;
mod conversions;
mod formats;
mod functions;
mod generics;
mod gone;
mod kept;
mod macros;
mod names;
mod places;
mod positions;
mod storage;
mod tasks;
mod text;
mod traits;

fn main() {
    positions::run();
    functions::run();
    generics::run();
    traits::run();
    control::run();
    macros::run();
    places::run();
    storage::run();
    conversions::run();
    text::run();
    kept::run();
    names::run();
    formats::run();
    tasks::run();
    gone::run();
    let (calls, sum) = constructs_library::witnessed();
    println!("{calls} witnesses, sum {sum}");
}
