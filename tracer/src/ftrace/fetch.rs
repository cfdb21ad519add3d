//! What the kernel is asked to copy at a site, so that the inputs of the site can be computed later.
//!
//! The kernel copies registers, and memory at addresses that it can compute itself: a register plus
//! a number, or a pointer in such memory, and so on. All computations are done on these copies
//! (`machine`), so sites with as many registers and as long pieces of memory share one event.

use std::sync::Arc;

use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::export::uprobe;
use simple_markers_resolver::location::{Binary, Expr, Node, Register};
use simple_markers_resolver::types::ReadTable;

use crate::arch::Platform;
use crate::plan::{Input, WholeInput};

/// What is copied at a site.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fetches {
    /// The registers.
    pub registers: Vec<Register>,
    /// The kernel's text for each of them.
    names: Vec<String>,
    /// The pieces of memory. A pointer comes before what it points to.
    pub windows: Vec<Window>,
}

/// A piece of memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Its address.
    pub address: Expr,
    /// Its size in words of 8 bytes.
    pub words: u16,
    /// Whether it is on the stack or in the image, which are always there.
    pub is_mapped: bool,
    /// The kernel's text for it.
    text: String,
}

/// The sizes of what is copied. Sites that agree in it share an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// How many registers there are.
    pub registers: usize,
    /// The size of each piece of memory in words of 8 bytes.
    pub windows: Vec<u16>,
}

/// How much is copied around a number. If a copy fails, the kernel leaves zeros. A number that is
/// not 0 proves that it was read, and so does anything beside it in the same page.
pub(super) const AROUND: u16 = 8;
/// The longest array of the kernel (`MAX_ARRAY_LEN`).
pub(super) const LONGEST: u16 = 64;
/// The most words of an event. The kernel has limits of 3 KiB and of a page.
const WORDS: u16 = 320;
/// The most arguments (`MAX_TRACE_ARGS` is 128, and some are used for other things).
const ARGUMENTS: usize = 120;
/// The most bytes of the kernel's texts. A line has 4,096 with the path of the file.
const TEXTS: usize = 2800;
/// The most bytes of a text besides what is read: `m100=` and `:x64[64]`.
const NAME_AND_TYPE: usize = 13;

/// The place of a probe.
#[derive(Clone, Copy)]
pub(super) struct ProbePlace {
    platform: Platform,
    probe: Vaddr,
}

impl Fetches {
    /// What is copied for the inputs of a probe on a platform. What the kernel cannot copy is missing, and the
    /// inputs that need it cannot be computed. `reads` are the tables of the plan.
    #[must_use]
    pub fn new(inputs: &[Input], reads: &[Arc<ReadTable>], probe: Vaddr, platform: Platform) -> Self {
        let at = ProbePlace { platform, probe };
        let mut fetches = Self::default();
        for input in inputs {
            match input {
                Input::Number(value) => fetches.add(value, at),
                Input::Text { address, limit, most } => {
                    fetches.add_text(address, *most, at);
                    if let Some(limit) = limit {
                        fetches.add(limit, at);
                    }
                }
                Input::Bytes { address, length, most } => {
                    fetches.add(length, at);
                    fetches.add_text(address, *most, at);
                }
                Input::Field { .. } | Input::Recorded { .. } | Input::Whole(_) => {}
            }
        }
        // Whole values share what the others leave.
        let wholes = || inputs.iter().filter_map(whole);
        for (index, input) in wholes().enumerate() {
            let left = u16::try_from(wholes().count() - index).unwrap_or(u16::MAX);
            let most = WORDS.saturating_sub(fetches.words()) / left;
            fetches.add_whole(input, table(reads, input), most, at);
        }
        fetches
    }

    fn add_text(&mut self, address: &Expr, most: u16, at: ProbePlace) {
        self.add(address, at);
        self.add_window(address, most.div_ceil(8).clamp(1, LONGEST), at);
    }

    /// Adds the registers and the memory that a computation reads.
    pub(super) fn add(&mut self, of: &Expr, at: ProbePlace) {
        match of.node() {
            Node::Constant(_) | Node::Address(_) => {}
            Node::Register(register, _) => {
                let has_space = self.count() < ARGUMENTS && self.words() < WORDS;
                if has_space && !self.registers.contains(register) {
                    if let Ok(name) = uprobe::register(*register, at.platform.conventions().processor()) {
                        self.registers.push(*register);
                        self.names.push(name);
                    }
                }
            }
            Node::Memory { address, size, .. } => {
                self.add(address, at);
                let words = if at.is_mapped(address) { u16::from(*size).div_ceil(8).max(1) } else { AROUND };
                self.add_window(address, words, at);
            }
            Node::Binary(_, a, b) => {
                self.add(a, at);
                self.add(b, at);
            }
            Node::Unary(_, inner) | Node::Convert(_, inner) | Node::Reinterpret(_, inner) => self.add(inner, at),
            // The kernel cannot find it, or has no second probe.
            Node::ThreadLocal(_) | Node::AtEntry(_) => {}
        }
    }

    pub(super) fn add_window(&mut self, address: &Expr, words: u16, at: ProbePlace) {
        let all = self.words();
        if let Some(known) = self.windows.iter_mut().find(|window| window.address == *address) {
            if all.saturating_add(words.saturating_sub(known.words)) <= WORDS {
                known.words = known.words.max(words);
            }
            return;
        }
        let processor = at.platform.conventions().processor();
        let Ok(text) = uprobe::memory(address, at.probe, processor) else { return };
        let texts = self.windows.iter().map(|window| window.text.len() + NAME_AND_TYPE).sum::<usize>();
        let has_room = self.count() < ARGUMENTS && texts + text.len() + NAME_AND_TYPE <= TEXTS;
        if has_room && all.saturating_add(words) <= WORDS {
            self.windows.push(Window { address: address.clone(), words, is_mapped: at.is_mapped(address), text });
        }
    }

    fn count(&self) -> usize {
        self.registers.len().saturating_add(self.windows.len())
    }

    pub(super) fn words(&self) -> u16 {
        let registers = u16::try_from(self.registers.len()).unwrap_or(u16::MAX);
        self.windows.iter().fold(registers, |sum, window| sum.saturating_add(window.words))
    }

    /// The sizes of what is copied.
    #[must_use]
    pub fn shape(&self) -> Shape {
        let windows = self.windows.iter().map(|window| window.words).collect();
        Shape { registers: self.registers.len(), windows }
    }

    /// The arguments in the kernel's language.
    pub fn arguments(&self) -> impl Iterator<Item = String> {
        let registers = self.names.iter().enumerate();
        let registers = registers.map(|(number, text)| format!("{}={text}:x64", register_name(number)));
        let windows = self.windows.iter().enumerate().map(|(number, window)| match window.words {
            1 => format!("{}={}:x64", window_name(number), window.text),
            words => format!("{}={}:x64[{words}]", window_name(number), window.text),
        });
        registers.chain(windows)
    }
}

fn whole(input: &Input) -> Option<&WholeInput> {
    match input {
        Input::Whole(input) => Some(input),
        _ => None,
    }
}

/// The table of a whole value. Without one, nothing is followed.
pub(super) fn table<'r>(reads: &'r [Arc<ReadTable>], input: &WholeInput) -> &'r ReadTable {
    static NONE: ReadTable = ReadTable { steps: Vec::new() };
    reads.get(input.reads).map_or(&NONE, |table| table)
}

/// The name of the field of a register.
#[must_use]
pub fn register_name(number: usize) -> String {
    format!("r{number}")
}

/// The name of the field of a piece of memory.
#[must_use]
pub fn window_name(number: usize) -> String {
    format!("m{number}")
}

impl ProbePlace {
    /// Whether an address is on the stack or in the image.
    fn is_mapped(self, address: &Expr) -> bool {
        match address.node() {
            Node::Address(_) => true,
            Node::Register(register, _) => *register == self.platform.conventions().stack_pointer(),
            Node::Binary(Binary::Plus, base, offset) if matches!(offset.node(), Node::Constant(_)) => {
                self.is_mapped(base)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use simple_markers_resolver::location::ValueType;

    fn register(number: u16) -> Expr {
        Expr::new(Node::Register(Register(number), ValueType::Generic)).expect("a register")
    }

    fn memory(address: Expr, size: u8) -> Expr {
        Expr::new(Node::Memory { address, size, to: ValueType::Generic }).expect("memory")
    }

    #[test]
    fn inputs_become_arguments_of_the_kernel() {
        let place = Expr::new(Node::Address(Vaddr(0x1100))).expect("an address");
        let inner = memory(register(5).plus(16).expect("small"), 8);
        let inputs = [
            Input::Number(register(0)),
            Input::Number(memory(register(7).plus(8).expect("small"), 4)),
            Input::Number(memory(place, 2)),
            Input::Number(memory(inner.plus(-4).expect("small"), 1)),
            Input::Text { address: register(5), limit: None, most: 256 },
        ];
        let fetches = Fetches::new(&inputs, &[], Vaddr(0x1000), Platform::X86_64);
        let arguments: Vec<String> = fetches.arguments().collect();
        let expected = [
            "r0=%ax:x64",
            "r1=%sp:x64",
            "r2=%di:x64",
            "m0=+8(%sp):x64",
            "m1=+256(%ip):x64",
            "m2=+16(%di):x64[8]",
            "m3=-4(+16(%di)):x64[8]",
            "m4=+0(%di):x64[32]",
        ];
        assert_eq!(arguments, expected);
        assert_eq!(fetches.shape(), Shape { registers: 3, windows: vec![1, 1, 8, 8, 32] });
    }

    #[test]
    fn what_the_kernel_cannot_compute_is_missing() {
        let sum = Expr::new(Node::Binary(Binary::Plus, register(0), register(1))).expect("a sum");
        let fetches = Fetches::new(
            &[Input::Number(memory(sum, 8)), Input::Number(register(20))],
            &[],
            Vaddr(0),
            Platform::X86_64,
        );
        assert_eq!(fetches.arguments().collect::<Vec<_>>(), ["r0=%ax:x64", "r1=%dx:x64"]);
        // Many texts do not fit in an event.
        let texts = (0..20).map(|offset| register(0).plus(offset * 256).expect("small"));
        let inputs: Vec<Input> = texts.map(|address| Input::Text { address, limit: None, most: 256 }).collect();
        let fetches = Fetches::new(&inputs, &[], Vaddr(0), Platform::X86_64);
        assert_eq!((fetches.registers.len(), fetches.windows.len()), (1, 9));
    }

    #[test]
    fn each_platform_has_registers_of_its_own() {
        let inputs = [
            Input::Number(register(19)),
            Input::Number(memory(register(31).plus(8).expect("small"), 4)),
            Input::Number(memory(register(7), 4)),
        ];
        let fetches = Fetches::new(&inputs, &[], Vaddr(0x1000), Platform::Aarch64);
        let arguments: Vec<String> = fetches.arguments().collect();
        // Only the stack pointer's memory is always there.
        let expected = ["r0=%x19:x64", "r1=%sp:x64", "r2=%x7:x64", "m0=+8(%sp):x64", "m1=+0(%x7):x64[8]"];
        assert_eq!(arguments, expected);
    }
}
