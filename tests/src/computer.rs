//! The computers that test programs run on: this one, and those that qemu emulates. Gives the
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
    /// An emulated RISC-V with 64 bits.
    Riscv64,
}

impl Computer {
    /// The name of an emulated processor in those of its tools; `None` for this computer.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Here => None,
            Self::Aarch64 => Some("aarch64"),
            Self::Riscv64 => Some("riscv64"),
        }
    }

    /// Its processor.
    #[must_use]
    pub fn processor(self) -> Processor {
        match self {
            Self::Here => Processor::X86_64,
            Self::Aarch64 => Processor::Aarch64,
            Self::Riscv64 => Processor::Riscv64,
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
        let mut needed = vec![self.gdb().to_owned()];
        if compiler == Compiler::Clang || self == Self::Here {
            needed.push(compiler.name().to_owned());
        }
        if let Some(name) = self.name() {
            // clang uses the headers, libraries and linker of gcc.
            needed.extend([format!("{name}-linux-gnu-gcc"), format!("qemu-{name}")]);
        }
        needed.iter().all(|tool| tools::find(tool).is_some())
    }

    /// A compilation for this computer, as [`Compiler::command`] makes for the host.
    #[must_use]
    pub fn compilation(self, compiler: Compiler, language: Language) -> Command {
        let here = compiler.command(language);
        let Some(name) = self.name() else { return here };
        let mut command = match compiler {
            Compiler::Gcc => Command::new(format!("{name}-linux-gnu-{}", here.get_program().to_string_lossy())),
            Compiler::Clang => {
                let mut command = Command::new(here.get_program());
                command.arg(format!("--target={name}-linux-gnu"));
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
        let mut words = self.emulator().into_iter().chain([program.display().to_string()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        command
    }

    /// The emulator and its options; empty for the host.
    #[must_use]
    pub fn emulator(self) -> Vec<String> {
        let emulator = |name| vec![format!("qemu-{name}"), "-L".to_owned(), self.libraries().to_owned()];
        self.name().map_or_else(Vec::new, emulator)
    }

    /// The gdb that supports its processor.
    #[must_use]
    pub fn gdb(self) -> &'static str {
        if self == Self::Here { "gdb" } else { "gdb-multiarch" }
    }

    /// The folder in which gdb finds the libraries of its programs.
    #[must_use]
    pub fn libraries(self) -> &'static str {
        match self {
            Self::Here => "/",
            // Where the cross compilers of Debian have them.
            Self::Aarch64 => "/usr/aarch64-linux-gnu",
            Self::Riscv64 => "/usr/riscv64-linux-gnu",
        }
    }
}
