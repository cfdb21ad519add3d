//! The commands as users call them, with the tools that read their output, and the documents that
//! quote them.

#[macro_use]
extern crate harness;

mod architectures;
mod cargo_smark;
mod check;
mod circles;
#[cfg(feature = "debuginfod")]
mod debuginfod;
mod export;
mod export_names;
mod export_probes;
mod export_texts;
mod fix;
mod gdb_values;
mod guide;
mod inlined;
mod lambdas;
mod note_locks;
mod readme;
mod references_live;
mod review_pages;
mod rust_files;
mod terminal;
mod type_names;

fn main() -> std::process::ExitCode {
    harness::main()
}
