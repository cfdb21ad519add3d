//! Tells the crate what the compiler can do.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // `asm!` with labels.
    let compiler = autocfg::new();
    autocfg::emit_possibility("rustc_1_87");
    compiler.emit_rustc_version(1, 87);
}
