//! Every construct of Rust that can carry a marker, and every kind of argument.
//!
//! The comment after a marker says what becomes of it; the test `emission` (`tests/rust/emission.rs`) reads the comments, and holds
//! the built program against them:
//!
//! ```text
//! //~ live                              at least one site, in every profile
//! //~ live 2 times                      exactly two
//! //~ live at least 2 times
//! //~ eliminated                        declared, and no site: the compiler emitted no code for it
//! //~ discarded                         declared, and its site says that the linker dropped the function
//! //~ absent                            not even declared: the linker did not take the object file
//! //~ live in dev, eliminated in release
//! //~ live; keeps 7 -1                  what the registers of the kept arguments hold there
//! //~ live; args x                      the arguments, where the macro that writes the marker is given them
//! ```
//!
//! `witness(N)` after a marker makes the place recognisable in a disassembly. What cannot carry a marker: a `const fn`, the value of
//! a `const` or a `static`, and an array's length: the compiler executes these itself, and does not execute assembly.

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
