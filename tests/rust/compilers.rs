//! What compilers and linkers do with markers in Rust and C: the records are right, and nothing
//! else in the program changes.

#[macro_use]
extern crate harness;

mod asleep;
mod c_probes;
mod conversions;
mod emission;
mod ghost_blocks;
mod ghost_sites;
mod ghost_statements;
mod ghosts;
mod ghosts_attribute;
mod header;
mod header_matrix;
mod matrix;
mod targets;
mod usage;
mod whole_values;
mod zero_cost;

fn main() -> std::process::ExitCode {
    harness::main()
}
