//! Compares the resolver's results for programs with binutils, gdb, llvm-dwarfdump, emulated
//! computers and the kernel.

#[macro_use]
extern crate harness;

mod counting;
mod debug_files;
mod differential;
mod emulated;
mod exactness;
mod function_exits;
mod ghost_counts;
mod kernel;
mod list;
mod marks;
mod note_names;
mod probe;
mod references;
mod sdt_notes;
mod second_opinion;
mod thread_local_symbols;
mod truth;
mod views;

fn main() -> std::process::ExitCode {
    harness::main()
}
