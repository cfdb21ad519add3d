//! Tells the crate whether the target has a recorder.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(recorder)");
    let target = |of: &str| std::env::var(format!("CARGO_CFG_TARGET_{of}")).unwrap_or_default();
    // A recording is little-endian, and a word of it has 64 bits.
    let is_wide = target("ENDIAN") == "little" && target("POINTER_WIDTH") == "64";
    if target("OS") == "linux" && is_wide && ["x86_64"].contains(&target("ARCH").as_str()) {
        println!("cargo::rustc-cfg=recorder");
    }
}
