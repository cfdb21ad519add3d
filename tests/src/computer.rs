//! The computers that programs of tests run on: this one, and an AArch64 that qemu emulates, with the compilers and the gdb for each.

use std::path::Path;
use std::process::Command;

use simple_markers_resolver::location::Processor;

use crate::header::{Compiler, Language};
use crate::tools;

/// A computer that programs are compiled for, and run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Computer {
    /// This one, an x86-64.
    Here,
    /// An emulated AArch64.
    Aarch64,
}

/// Where Debian's cross compiler has the libraries of AArch64.
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

    /// Whether what compiles, runs and debugs its programs is installed; skips where it is not, as on another processor than x86-64.
    #[must_use]
    pub fn has(self, compiler: Compiler) -> bool {
        if cfg!(not(target_arch = "x86_64")) {
            tools::skipped("another processor than x86-64");
            return false;
        }
        let needed = match (self, compiler) {
            (Self::Here, _) => vec![compiler.name(), "gdb"],
            // clang finds its headers, libraries and linker where gcc has them.
            (Self::Aarch64, Compiler::Clang) => vec!["clang", "aarch64-linux-gnu-gcc", "gdb-multiarch", "qemu-aarch64"],
            (Self::Aarch64, Compiler::Gcc) => vec!["aarch64-linux-gnu-gcc", "gdb-multiarch", "qemu-aarch64"],
        };
        needed.into_iter().all(|tool| tools::find(tool).is_some())
    }

    /// A compilation for it, as [`Compiler::command`] has it for this one.
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

    /// What emulates it, with its options; empty where nothing has to.
    #[must_use]
    pub fn emulator(self) -> Vec<&'static str> {
        match self {
            Self::Here => Vec::new(),
            Self::Aarch64 => vec!["qemu-aarch64", "-L", AARCH64_LIBRARIES],
        }
    }

    /// The gdb that knows its processor.
    #[must_use]
    pub fn gdb(self) -> &'static str {
        match self {
            Self::Here => "gdb",
            Self::Aarch64 => "gdb-multiarch",
        }
    }

    /// Where gdb finds the libraries of its programs.
    #[must_use]
    pub fn libraries(self) -> &'static str {
        match self {
            Self::Here => "/",
            Self::Aarch64 => AARCH64_LIBRARIES,
        }
    }
}
