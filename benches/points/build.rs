//! Compiles `c/points.c` once for each compiler and way to write a point.

/// The ways to write a point in C. The modules of `src/lib.rs` have these names, after the
/// compiler's.
const CONTENDERS: [&str; 10] = ["none", "asm", "bare", "mark", "keep", "anchor", "fast", "switch", "ghost", "sdt"];

fn main() {
    println!("cargo::rerun-if-changed=../c");
    println!("cargo::rerun-if-changed=../../markers/include");
    for compiler in ["gcc", "clang"] {
        for contender in CONTENDERS {
            cc::Build::new()
                .compiler(compiler)
                .file("../c/points.c")
                .include("../../markers/include")
                .define(&format!("POINT_{}", contender.to_uppercase()), None)
                .define("CONTENDER", &*format!("{compiler}_{contender}"))
                .opt_level(3)
                .flag("-std=gnu11")
                .warnings_into_errors(true)
                .extra_warnings(true)
                .compile(&format!("points_{compiler}_{contender}"));
        }
    }
}
