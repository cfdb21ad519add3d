//! Compiles the programs in C and C++.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fixture::workspace;
use crate::tools::{find, output, run, skipped};

/// A language of the programs, with its compiler and library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompiledLanguage {
    /// C.
    C,
    /// C++.
    Cpp,
}

/// Compiles a program to a folder. The compiler is that of a command, or `libc++` for clang++ with
/// libc++. `None` if it is not installed.
///
/// # Panics
///
/// The compiler fails.
#[must_use]
pub fn compiled(
    language: CompiledLanguage,
    compiler: &str,
    level: &str,
    source: &str,
    folder: &Path,
) -> Option<PathBuf> {
    let (command, library) = match compiler {
        "libc++" => ("clang++", Some("-stdlib=libc++")),
        compiler => (compiler, None),
    };
    let command = find(command)?;
    if library.is_some() {
        let mut empty = Command::new(&command);
        empty.args(library).args(["-fsyntax-only", "-include", "version", "-x", "c++", "/dev/null"]);
        if !output(&mut empty).status.success() {
            skipped("libc++ is not installed");
            return None;
        }
    }
    let (suffix, standard) = match language {
        CompiledLanguage::C => ("c", "-std=gnu11"),
        CompiledLanguage::Cpp => ("cc", "-std=c++17"),
    };
    let (file, program) = (folder.join(format!("values.{suffix}")), folder.join("values"));
    std::fs::write(&file, source).expect("the source is written");
    let mut build = Command::new(command);
    build.args(library).args([standard, "-g", "-w", &format!("-O{level}"), "-I"]);
    run(build.arg(workspace().join("markers/include")).arg(&file).arg("-o").arg(&program));
    Some(program)
}
