//! Tells the crate what the compiler can do, and whether the program has a recorder.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // `asm!` with labels.
    let compiler = autocfg::new();
    autocfg::emit_possibility("rustc_1_87");
    compiler.emit_rustc_version(1, 87);
    // The targets of `recorder/build.rs`.
    autocfg::emit_possibility("recorder");
    let has = |of: &str, value: &str| std::env::var(format!("CARGO_CFG_TARGET_{of}")).is_ok_and(|it| it == value);
    let is_wide = has("ENDIAN", "little") && has("POINTER_WIDTH", "64");
    let is_target = has("OS", "linux") && is_wide && (has("ARCH", "x86_64") || has("ARCH", "aarch64"));
    if is_target && std::env::var_os("CARGO_FEATURE_RECORDER").is_some() {
        autocfg::emit("recorder");
    }
}
