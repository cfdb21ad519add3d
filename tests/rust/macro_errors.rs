//! Every error of `simple_mark!`, as the compiler prints it.

#[test]
fn errors() {
    trybuild::TestCases::new().compile_fail("ui/*.rs");
}
