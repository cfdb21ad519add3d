//! The machine code of an ELF file: its functions, their sizes, their calls, and whether they are
//! vectorised. x86-64 only.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind, Register};
use object::{Architecture, Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind};

/// A function of the symbol table.
pub(crate) struct Function {
    /// Demangled, without the hash.
    pub(crate) name: String,
    address: u64,
    bytes: Vec<u8>,
}

impl Function {
    /// Bytes of text.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    fn instructions(&self) -> Vec<Instruction> {
        Decoder::with_ip(64, &self.bytes, self.address, DecoderOptions::NONE).into_iter().collect()
    }

    /// The number of direct calls and of jumps out of the function to `target`.
    pub(crate) fn calls(&self, target: &Self) -> usize {
        let leads_there = |instruction: &Instruction| {
            matches!(
                instruction.flow_control(),
                FlowControl::Call | FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch
            ) && instruction.near_branch_target() == target.address
        };
        self.instructions().iter().filter(|instruction| leads_there(instruction)).count()
    }

    /// Whether it has a `padd*` or `pmul*` on a vector register.
    pub(crate) fn is_vectorised(&self) -> bool {
        self.instructions().iter().any(|instruction| {
            let name = format!("{:?}", instruction.mnemonic()).to_lowercase();
            let name = name.strip_prefix('v').unwrap_or(&name);
            let is_vector = |register: Register| register.is_xmm() || register.is_ymm() || register.is_zmm();
            (name.starts_with("padd") || name.starts_with("pmul"))
                && instruction.op0_kind() == OpKind::Register
                && is_vector(instruction.op0_register())
        })
    }
}

/// The code of a file.
pub(crate) struct Code {
    functions: Vec<Function>,
}

impl Code {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let data = fs::read(path).with_context(|| path.display().to_string())?;
        let file = object::File::parse(&*data).with_context(|| path.display().to_string())?;
        ensure!(file.architecture() == Architecture::X86_64, "{}: not x86-64", path.display());
        let mut functions = Vec::new();
        for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0) {
            let Some(section) = symbol.section_index() else { continue };
            let section = file.section_by_index(section)?;
            let Some(bytes) = section.data_range(symbol.address(), symbol.size())? else { continue };
            let name = format!("{:#}", rustc_demangle::demangle(symbol.name()?));
            functions.push(Function { name, address: symbol.address(), bytes: bytes.to_vec() });
        }
        Ok(Self { functions })
    }

    /// All of its functions.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter()
    }

    /// The function of that name.
    pub(crate) fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }

    /// The function of that name, with its closures and the parts that a compiler split off.
    pub(crate) fn parts<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Function> {
        self.functions.iter().filter(move |function| {
            let rest = function.name.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::") || rest.starts_with('.'))
        })
    }
}
