//! The code of a linked image, as `readelf` and `objdump` print it.
//!
//! The tests check that a marker's address is where the code of its place is. If they used the
//! project's own reader, it would only agree with itself. So this module shares nothing with the
//! reader, not even the parser of the records.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::tools;

/// The build id of an image, in hexadecimal.
///
/// # Panics
///
/// It has none, or `readelf` fails.
#[must_use]
pub fn build_id(image: &Path) -> String {
    let notes = tools::run(Command::new("readelf").arg("--notes").arg(image));
    notes.lines().find_map(|line| line.trim().strip_prefix("Build ID: ")).expect("a build id").to_owned()
}

/// The functions and instructions of an image.
pub struct Code {
    functions: Vec<Function>,
    instructions: BTreeMap<u64, Instruction>,
    /// The pointers that the loader or the linker writes, by address.
    pointers: BTreeMap<u64, u64>,
}

/// A symbol of type FUNC.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Function {
    /// Address of the first byte.
    pub start: u64,
    /// Address after the last byte.
    pub end: u64,
    /// The mangled name.
    pub name: String,
}

/// An instruction in AT&T syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Its address.
    pub address: u64,
    /// Its name, after any prefixes.
    pub mnemonic: String,
    /// Its operands as `objdump` writes them, with the symbols of addresses.
    pub operands: String,
    /// The target address of an operand relative to the instruction pointer.
    pub leads_to: Option<u64>,
}

impl Instruction {
    /// The target of a direct jump or call: its address, and the symbol there.
    #[must_use]
    pub fn target(&self) -> Option<(u64, &str)> {
        let (address, symbol) = self.operands.split_once(" <")?;
        Some((u64::from_str_radix(address, 16).ok()?, symbol.strip_suffix('>')?))
    }

    /// Whether control may go somewhere other than the next instruction.
    #[must_use]
    pub fn branches(&self) -> bool {
        self.mnemonic.starts_with('j') || self.mnemonic == "ret" || self.mnemonic == "ud2"
    }

    /// The constant that the instruction writes to `register`.
    #[must_use]
    pub fn constant_in(&self, register: &str) -> Option<u32> {
        let (constant, written) = self.operands.split_once(',')?;
        let constant = constant.strip_prefix("$0x").filter(|_| self.mnemonic == "mov" && written == register)?;
        u32::from_str_radix(constant, 16).ok()
    }
}

impl Code {
    /// Reads the code of `image`.
    ///
    /// # Panics
    ///
    /// `readelf` or `objdump` is missing or fails.
    #[must_use]
    pub fn of(image: &Path) -> Self {
        let symbols = tools::run(Command::new("readelf").args(["--symbols", "--wide"]).arg(image));
        let mut functions: Vec<_> = symbols.lines().filter_map(function).collect();
        functions.sort();
        functions.dedup();
        let listing = tools::run(Command::new("objdump").args(["-d", "--no-show-raw-insn", "--wide"]).arg(image));
        let instructions = listing.lines().filter_map(instruction).map(|found| (found.address, found)).collect();
        let relocations = tools::run(Command::new("readelf").args(["--relocs", "--wide"]).arg(image));
        let table = tools::run(Command::new("readelf").args(["--hex-dump=.got", "--wide"]).arg(image));
        let pointers = table.lines().flat_map(words).chain(relocations.lines().filter_map(pointer)).collect();
        Self { functions, instructions, pointers }
    }

    /// The functions, by address.
    #[must_use]
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The functions that contain `address` or end at it.
    pub fn functions_at(&self, address: u64) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(move |function| (function.start..=function.end).contains(&address))
    }

    /// The instructions of `function`, in the order of their addresses.
    #[must_use]
    pub fn instructions(&self, function: &Function) -> Vec<&Instruction> {
        self.instructions.range(function.start..function.end).map(|(_, instruction)| instruction).collect()
    }

    /// The instruction that starts at `address`.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<&Instruction> {
        self.instructions.get(&address)
    }

    /// The instruction after the one at `address`.
    #[must_use]
    pub fn after(&self, address: u64) -> Option<&Instruction> {
        self.instructions.range(address + 1..).next().map(|(_, instruction)| instruction)
    }

    /// The instructions before `address`, the nearest first.
    pub fn before(&self, address: u64) -> impl Iterator<Item = &Instruction> {
        self.instructions.range(..address).rev().map(|(_, instruction)| instruction)
    }

    /// The name of the function that `call` calls or jumps to: directly, through a pointer that the
    /// loader writes, or through a register that holds either.
    #[must_use]
    pub fn callee(&self, call: &Instruction) -> Option<&str> {
        let address = match call.operands.strip_prefix('*') {
            None => call.target()?.0,
            Some(_) if call.leads_to.is_some() => *self.pointers.get(&call.leads_to?)?,
            Some(register) => self.pointer_in(register, call.address)?,
        };
        self.functions.iter().find(|function| function.start == address).map(|function| function.name.as_str())
    }

    /// The address that the code before `address` writes to `register`, followed through moves
    /// between registers.
    fn pointer_in<'a>(&'a self, mut register: &'a str, address: u64) -> Option<u64> {
        let start = self.function_of(address)?.start;
        for before in self.before(address).take_while(|before| before.address >= start) {
            let Some((source, _)) = before.operands.rsplit_once(',').filter(|(_, written)| *written == register) else {
                continue;
            };
            match (before.mnemonic.as_str(), before.leads_to) {
                ("lea", Some(address)) => return Some(address),
                ("mov", Some(pointer)) => return self.pointers.get(&pointer).copied(),
                ("mov", None) if source.starts_with('%') => register = source,
                _ => return None,
            }
        }
        None
    }

    fn function_of(&self, address: u64) -> Option<&Function> {
        self.functions.iter().find(|function| (function.start..function.end).contains(&address))
    }

    /// The instructions executed from `address` on, following unconditional jumps, up to the first
    /// that may branch, leave the function or go back.
    #[must_use]
    pub fn straight_line(&self, address: u64) -> Vec<&Instruction> {
        let mut path: Vec<&Instruction> = Vec::new();
        let mut next = self.at(address);
        while let Some(instruction) = next.filter(|next| !path.contains(next)) {
            path.push(instruction);
            next = match instruction.mnemonic.as_str() {
                "jmp" => instruction.target().and_then(|(address, _)| self.at(address)),
                "call" => None,
                _ if instruction.branches() => None,
                _ => self.after(instruction.address),
            };
        }
        path
    }
}

/// `Num: Value Size Type Bind Vis Ndx Name`.
fn function(line: &str) -> Option<Function> {
    let words: Vec<_> = line.split_whitespace().collect();
    let &[_, value, size, "FUNC", _, _, section, name] = words.as_slice() else { return None };
    let start = u64::from_str_radix(value, 16).ok()?;
    let size = match size.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => size.parse().ok()?,
    };
    (section != "UND" && size > 0).then(|| Function { start, end: start + size, name: name.to_owned() })
}

/// `ADDRESS:<tab>MNEMONIC OPERANDS`.
fn instruction(line: &str) -> Option<Instruction> {
    let (address, text) = line.split_once(":\t")?;
    let address = u64::from_str_radix(address.trim(), 16).ok()?;
    // `# ADDRESS <SYMBOL>`
    let (text, comment) = text.split_once('#').unwrap_or((text, ""));
    let leads_to = comment.split_whitespace().next().and_then(|address| u64::from_str_radix(address, 16).ok());
    // A linker writes this prefix if it replaces an indirect call with a direct one.
    let text = text.trim().trim_start_matches("addr32 ");
    let (mnemonic, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    Some(Instruction { address, mnemonic: mnemonic.to_owned(), operands: operands.trim().to_owned(), leads_to })
}

/// `OFFSET INFO R_X86_64_RELATIVE ADDEND`.
fn pointer(line: &str) -> Option<(u64, u64)> {
    let words: Vec<_> = line.split_whitespace().collect();
    let &[offset, _, "R_X86_64_RELATIVE", addend] = words.as_slice() else { return None };
    Some((u64::from_str_radix(offset, 16).ok()?, u64::from_str_radix(addend, 16).ok()?))
}

/// `  0xADDRESS WORD WORD WORD WORD TEXT`: the two pointers in a row of the pointer table of a
/// statically linked program.
fn words(row: &str) -> Vec<(u64, u64)> {
    let Some((address, rest)) = row.strip_prefix("  0x").and_then(|row| row.split_at_checked(8)) else {
        return Vec::new();
    };
    let address = u64::from_str_radix(address.trim(), 16).unwrap_or_default();
    let digits: String = rest.chars().skip(1).take(36).filter(|digit| *digit != ' ').collect();
    let pointers = digits.as_bytes().chunks(16).filter_map(|digits| {
        let number = u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        (digits.len() == 16).then(|| number.swap_bytes())
    });
    (address..).step_by(8).zip(pointers).collect()
}
