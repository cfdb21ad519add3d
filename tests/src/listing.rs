//! Reads the assembly from the compiler, with the markers among the instructions. It decides the
//! expected address of each marker.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use crate::image::{Code, Instruction};

/// A function of an assembler listing.
#[derive(Debug)]
pub struct Function {
    /// The mangled name.
    pub name: String,
    items: Vec<Item>,
}

/// An item in a function.
#[derive(Debug)]
enum Item {
    /// An instruction, by its name.
    Instruction(String),
    /// An alignment directive, which the assembler may fill with no-operations.
    Alignment,
    /// The assembly of a marker.
    Marker(Marker),
}

/// The assembly of a marker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Marker {
    /// The marker's name, as passed to the assembler.
    pub name: String,
    /// Line and column of the marker.
    pub place: (u32, u32),
}

/// The functions of `listing`, in rustc's AT&T syntax: between `.type NAME,@function` and `.size
/// NAME`.
#[must_use]
pub fn functions(listing: &str) -> Vec<Function> {
    let mut functions = Vec::new();
    let mut current: Option<Function> = None;
    let mut in_code = true;
    let mut lines = listing.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "#APP" {
            // Takes the whole block, including its section directives.
            let assembly: Vec<_> = lines.by_ref().take_while(|line| line.trim() != "#NO_APP").collect();
            if let Some(function) = &mut current {
                inline_assembly(&assembly, &mut function.items);
            }
            continue;
        }
        let (first, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
        match first {
            ".text" => in_code = true,
            ".section" => in_code = rest.trim_start_matches('"').starts_with(".text"),
            ".type" => {
                if let Some(name) = rest.strip_suffix(",@function") {
                    current = Some(Function { name: name.to_owned(), items: Vec::new() });
                }
            }
            ".size" => functions.extend(current.take()),
            _ => {
                if let Some(function) = current.as_mut().filter(|_| in_code) {
                    function.items.extend(item(line));
                }
            }
        }
    }
    functions
}

fn item(line: &str) -> Option<Item> {
    let first = line.strip_prefix('\t')?.split_whitespace().next()?;
    match first {
        ".p2align" => Some(Item::Alignment),
        _ if first.starts_with(['.', '#']) || first.ends_with(':') => None,
        _ => Some(Item::Instruction(first.to_owned())),
    }
}

/// Handles inline assembly. The section that it writes to shows whether it is a marker.
fn inline_assembly(lines: &[&str], items: &mut Vec<Item>) {
    let record = lines.iter().position(|line| line.contains("\t.debug.simple_marker.2,"));
    if let Some(record) = record {
        let name = lines.iter().find_map(|line| line.trim().strip_prefix(".ascii\t\"")?.strip_suffix('"'));
        let mut numbers = lines[record..].iter().filter_map(|line| line.trim().strip_prefix(".long\t")?.parse().ok());
        let place = (numbers.next().expect("a line"), numbers.next().expect("a column"));
        let name = decode(name.expect("a marker has a name"));
        items.push(Item::Marker(Marker { name, place }));
    }
    items.extend(lines.iter().filter_map(|line| item(line)));
}

/// Decodes an assembler string: octal escapes, and a few single-letter escapes.
fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [byte, tail @ ..] = rest {
        rest = tail;
        bytes.push(match (byte, tail) {
            (b'\\', [a @ b'0'..=b'7', b, c, tail @ ..]) => {
                rest = tail;
                [a, b, c].iter().fold(0u8, |value, digit| value.wrapping_mul(8).wrapping_add(**digit - b'0'))
            }
            (b'\\', [letter, tail @ ..]) => {
                rest = tail;
                match letter {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'b' => 8,
                    b'f' => 12,
                    other => *other,
                }
            }
            (byte, _) => *byte,
        });
    }
    String::from_utf8(bytes).expect("names are UTF-8")
}

impl Function {
    /// The markers in the function.
    pub fn markers(&self) -> impl Iterator<Item = &Marker> {
        self.items.iter().filter_map(|item| match item {
            Item::Marker(marker) => Some(marker),
            _ => None,
        })
    }

    /// The address of each marker of the function, from its instructions in the image, which end at
    /// `end`.
    ///
    /// `Err` names the first instruction at which the listing and the image differ.
    pub fn place(&self, instructions: &[&Instruction], end: u64) -> Result<Vec<(Marker, u64)>, String> {
        let mut placed = Vec::new();
        let mut rest = instructions;
        for (index, item) in self.items.iter().enumerate() {
            match item {
                // Padding before a marker belongs before it.
                Item::Marker(marker) => placed.push((marker.clone(), rest.first().map_or(end, |next| next.address))),
                Item::Alignment => {
                    let filling = rest.iter().take_while(|instruction| is_filling(instruction)).count();
                    rest = &rest[filling.saturating_sub(self.listed_nops(index))..];
                }
                Item::Instruction(listed) => {
                    let (next, behind) =
                        rest.split_first().ok_or_else(|| format!("{}: {listed} is missing", self.name))?;
                    if !same(listed, &next.mnemonic) {
                        return Err(format!("{}: {listed} became {next:?}", self.name));
                    }
                    rest = behind;
                }
            }
        }
        match rest.first() {
            Some(next) => Err(format!("{}: {next:?} is not in the listing", self.name)),
            None => Ok(placed),
        }
    }

    /// The number of no-operations in the listing itself after the item `index`.
    fn listed_nops(&self, index: usize) -> usize {
        let behind = self.items[index..].iter().filter_map(|item| match item {
            Item::Instruction(name) => Some(name),
            _ => None,
        });
        behind.take_while(|name| *name == "nop").count()
    }
}

/// Whether an instruction is padding from an assembler: `nopw 0x0(%rax,%rax,1)`, `data16 cs nopw`,
/// `xchg %ax,%ax`.
fn is_filling(instruction: &Instruction) -> bool {
    let text = format!("{} {}", instruction.mnemonic, instruction.operands);
    text.contains("nop") || text == "xchg %ax,%ax"
}

/// Whether a compiler and a disassembler name the same instruction. One of them may write the
/// operand size. The linker may have rewritten the instruction.
fn same(listed: &str, shown: &str) -> bool {
    let bare = |name: &str| match name {
        "movabsq" => "movabs".to_owned(),
        _ => name.strip_suffix(['b', 'w', 'l', 'q']).unwrap_or(name).to_owned(),
    };
    // Linkers replace a load from the address table with the address itself.
    listed == shown || bare(listed) == shown || listed == bare(shown) || (listed, shown) == ("movq", "lea")
}

/// The address in `code` of each marker of `listing`, and the markers of functions that are not in
/// it; both sorted.
///
/// Several functions may have the same name, because each codegen unit of a crate may have a copy.
/// Each copy in the image is matched with the first unused function of the listing that has its
/// code.
///
/// # Panics
///
/// A function of the image matches no function of its name in the listing.
#[must_use]
pub fn addresses<F: Borrow<Function>>(listing: &[F], code: &Code) -> (Vec<(Marker, u64)>, Vec<Marker>) {
    let (mut placed, mut gone) = (Vec::new(), Vec::new());
    let mut marked: BTreeMap<&str, Vec<&Function>> = BTreeMap::new();
    for function in listing.iter().map(Borrow::borrow) {
        marked.entry(&function.name).or_default().push(function);
    }
    marked.retain(|_, copies| copies.iter().any(|copy| copy.markers().next().is_some()));
    for (name, mut copies) in marked {
        for linked in code.functions().iter().filter(|linked| linked.name == name) {
            let instructions = code.instructions(linked);
            let attempts: Vec<_> = copies.iter().map(|copy| copy.place(&instructions, linked.end)).collect();
            let taken = attempts.iter().position(Result::is_ok).unwrap_or_else(|| panic!("{attempts:?}"));
            placed.extend(attempts.into_iter().nth(taken).and_then(Result::ok).unwrap_or_default());
            copies.remove(taken);
        }
        gone.extend(copies.iter().flat_map(|copy| copy.markers().cloned()));
    }
    placed.sort();
    gone.sort();
    (placed, gone)
}
