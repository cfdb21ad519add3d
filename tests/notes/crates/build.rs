//! Gives each writable segment pages of its own: the kernel counts in a semaphore only if one segment has its page of the file.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg=-Wl,-z,separate-loadable-segments");
}
