//! Every error of `simple_mark!` and `simple_probe!`, as the compiler prints it.

#[macro_use]
extern crate harness;

#[test]
fn errors() {
    if tools::is_recorded_compiler() {
        trybuild::TestCases::new().compile_fail("ui/*.rs");
    }
}

fn main() -> std::process::ExitCode {
    harness::main()
}
