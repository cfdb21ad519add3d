//! Tells the crate whether the target has a recorder.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(recorder)");
    let has = |of: &str, value: &str| std::env::var(format!("CARGO_CFG_TARGET_{of}")).is_ok_and(|it| it == value);
    // A recording is little-endian, and a word of it has 64 bits.
    let is_wide = has("ENDIAN", "little") && has("POINTER_WIDTH", "64");
    if has("OS", "linux") && is_wide && (has("ARCH", "x86_64") || has("ARCH", "aarch64")) {
        println!("cargo::rustc-cfg=recorder");
    }
}
