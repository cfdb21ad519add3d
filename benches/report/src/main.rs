//! Prints the tables of `docs/measured/cost.md` as Markdown on standard output. `benches/run` calls
//! it.
//!
//! - `report machine`: the machine of the measurements.
//! - `report functions BENCHMARK FOLDER`: the functions of the crate `points`, from the executable
//!   of the benchmark and from the folder with gungraun's callgrind files.
//! - `report inlining FOLDER`, `report file-size FOLDER`, `report classes FOLDER`, `report build-time FOLDER ROUNDS`:
//!   generates crates and C files in the folder and compiles them there.
//! - `report ghosts-rust FOLDER`, `report ghosts-c FOLDER`: builds real programs there.
//! - `report paste FILE NAME`: replaces the table NAME in a Markdown file by standard input.

mod build_time;
mod classes;
mod code;
mod contender;
mod file_size;
mod functions;
mod generate;
mod ghosts;
mod inlining;
mod machine;
mod markdown;

use std::env;
use std::io::{Read as _, stdin};
use std::path::Path;

use anyhow::{Context as _, Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let table = match arguments[..] {
        ["machine"] => machine::list()?,
        ["functions", benchmark, folder] => functions::table(Path::new(benchmark), Path::new(folder))?,
        ["inlining", folder] => inlining::table(Path::new(folder))?,
        ["file-size", folder] => file_size::table(Path::new(folder))?,
        ["classes", folder] => classes::table(Path::new(folder))?,
        ["ghosts-rust", folder] => ghosts::rust(Path::new(folder))?,
        ["ghosts-c", folder] => ghosts::c(Path::new(folder))?,
        ["build-time", folder, rounds] => {
            build_time::table(Path::new(folder), rounds.parse().context(rounds.to_owned())?)?
        }
        ["paste", file, name] => {
            let mut table = String::new();
            stdin().read_to_string(&mut table)?;
            return markdown::paste(Path::new(file), name, &table);
        }
        _ => bail!(
            "report machine | functions | inlining | file-size | classes | ghosts-rust | ghosts-c | build-time | paste: see the head of report/src/main.rs"
        ),
    };
    print!("{table}");
    Ok(())
}
