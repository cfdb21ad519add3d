//! The computers that test programs run on: this one, and an AArch64 that qemu emulates. Gives the
//! compilers and the gdb for each.

use std::path::Path;
use std::process::Command;

use simple_markers_resolver::location::Processor;

use crate::header::{Compiler, Language};
use crate::tools;

/// A computer to compile programs for and to run them on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Computer {
    /// This computer, an x86-64.
    Here,
    /// An emulated AArch64.
    Aarch64,
}

/// The folder of Debian's cross compiler with the libraries for AArch64.
const AARCH64_LIBRARIES: &str = "/usr/aarch64-linux-gnu";

impl Computer {
    /// Its processor.
    #[must_use]
    pub fn processor(self) -> Processor {
        match self {
            Self::Here => Processor::X86_64,
            Self::Aarch64 => Processor::Aarch64,
        }
    }

    /// Whether the tools to compile, run and debug its programs are installed; skips the test if
    /// not, or if this computer is not an x86-64.
    #[must_use]
    pub fn has(self, compiler: Compiler) -> bool {
        if cfg!(not(target_arch = "x86_64")) {
            tools::skipped("another processor than x86-64");
            return false;
        }
        let needed = match (self, compiler) {
            (Self::Here, _) => vec![compiler.name(), "gdb"],
            // clang uses the headers, libraries and linker of gcc.
            (Self::Aarch64, Compiler::Clang) => vec!["clang", "aarch64-linux-gnu-gcc", "gdb-multiarch", "qemu-aarch64"],
            (Self::Aarch64, Compiler::Gcc) => vec!["aarch64-linux-gnu-gcc", "gdb-multiarch", "qemu-aarch64"],
        };
        needed.into_iter().all(|tool| tools::find(tool).is_some())
    }

    /// A compilation for this computer, as [`Compiler::command`] makes for the host.
    #[must_use]
    pub fn compilation(self, compiler: Compiler, language: Language) -> Command {
        let here = compiler.command(language);
        if self == Self::Here {
            return here;
        }
        let mut command = match compiler {
            Compiler::Gcc => Command::new(format!("aarch64-linux-gnu-{}", here.get_program().to_string_lossy())),
            Compiler::Clang => {
                let mut command = Command::new(here.get_program());
                command.arg("--target=aarch64-linux-gnu");
                command
            }
        };
        command.args(here.get_args());
        command.envs(here.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = here.get_current_dir() {
            command.current_dir(folder);
        }
        command
    }

    /// The command that runs a program.
    #[must_use]
    pub fn runs(self, program: &Path) -> Command {
        let mut words = self.emulator().into_iter().map(str::to_owned).chain([program.display().to_string()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        command
    }

    /// The emulator and its options; empty for the host.
    #[must_use]
    pub fn emulator(self) -> Vec<&'static str> {
        match self {
            Self::Here => Vec::new(),
            Self::Aarch64 => vec!["qemu-aarch64", "-L", AARCH64_LIBRARIES],
        }
    }

    /// The gdb that supports its processor.
    #[must_use]
    pub fn gdb(self) -> &'static str {
        match self {
            Self::Here => "gdb",
            Self::Aarch64 => "gdb-multiarch",
        }
    }

    /// The folder in which gdb finds the libraries of its programs.
    #[must_use]
    pub fn libraries(self) -> &'static str {
        match self {
            Self::Here => "/",
            Self::Aarch64 => AARCH64_LIBRARIES,
        }
    }
}
