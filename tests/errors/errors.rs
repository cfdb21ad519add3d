//! Every error of `simple_mark!`, as the compiler prints it.

#[test]
fn errors() {
    if tools::is_recorded_compiler() {
        trybuild::TestCases::new().compile_fail("ui/*.rs");
    }
}
