//! What a function executes while its probes are off, on x86-64.

use std::collections::BTreeSet;
use std::fmt;

use crate::image::{Code, Function, Instruction};

/// What a function executes while its probes are off.
pub struct Passed<'a> {
    /// The instructions, in the order of their addresses.
    pub instructions: Vec<&'a Instruction>,
    /// The switches that it tests, in the order of their addresses.
    pub switches: Vec<u64>,
}

impl Passed<'_> {
    /// The number of instructions that do not only arrange the others: moves between registers (a
    /// value that the probe may need is copied before it is changed), jumps from one part to the
    /// next, returns, of which there may be several, and padding.
    #[must_use]
    pub fn work(&self) -> usize {
        let arranges = |found: &&&Instruction| match found.mnemonic.as_str() {
            "jmp" | "ret" => true,
            name if name.starts_with("nop") => true,
            name => name.starts_with("mov") && found.operands.starts_with('%') && !found.operands.contains('('),
        };
        self.instructions.len() - self.instructions.iter().filter(arranges).count()
    }
}

/// Follows every branch of `function`, but not those behind the test of a switch.
#[must_use]
pub fn asleep<'a>(code: &'a Code, function: &Function) -> Passed<'a> {
    passed(code, function, false)
}

/// The same of a function with spans, which tests whether a register is 0 for nothing else. The id
/// of a span is 0, because it was loaded from the switch.
#[must_use]
pub fn asleep_spans<'a>(code: &'a Code, function: &Function) -> Passed<'a> {
    passed(code, function, true)
}

fn passed<'a>(code: &'a Code, function: &Function, has_spans: bool) -> Passed<'a> {
    let mut seen = BTreeSet::new();
    let mut switches = Vec::new();
    let mut next = vec![function.start];
    while let Some(address) = next.pop() {
        let Some(instruction) = code.at(address).filter(|_| (function.start..function.end).contains(&address)) else {
            continue;
        };
        if !seen.insert(address) {
            continue;
        }
        let mnemonic = instruction.mnemonic.as_str();
        if mnemonic == "ret" {
            continue;
        }
        let after = code.after(address).map(|after| after.address);
        let target = instruction.target().map(|(address, _)| address);
        if has_spans && mnemonic == "jrcxz" {
            switches.extend(loaded_before(code, address));
            next.extend(target);
            continue;
        }
        // A compiler may move what does not change the flags in between.
        let keeps_flags = |name: &str| ["mov", "cvt", "lea", "pxor", "nop"].iter().any(|start| name.starts_with(start));
        let tested = code.before(address).find(|before| !keeps_flags(&before.mnemonic)).filter(|before| {
            matches!(mnemonic, "jne" | "je")
                && before.mnemonic == "cmpl"
                && before.operands.starts_with("$0x0,")
                && before.leads_to.is_some()
        });
        let is_id = |before: &&Instruction| {
            let same = before.operands.split_once(',').is_some_and(|(one, other)| one == other);
            before.mnemonic == "test" && same
                || before.mnemonic.starts_with("cmp") && before.operands.starts_with("$0x0,")
        };
        let last = code.before(address).find(|before| !keeps_flags(&before.mnemonic));
        if let (true, "jne" | "je", None, Some(test)) = (has_spans, mnemonic, tested, last.filter(is_id)) {
            // clang tests what it loaded from the switch.
            switches.extend(loaded_before(code, test.address));
            next.extend(if mnemonic == "jne" { after } else { target });
            continue;
        }
        if let Some(test) = tested {
            switches.extend(test.leads_to);
            // gcc -Os jumps over what it does if the probe is on.
            next.extend(if mnemonic == "jne" { after } else { target });
            continue;
        }
        if mnemonic != "jmp" {
            next.extend(after);
        }
        if mnemonic.starts_with('j') {
            next.extend(target);
        }
    }
    Passed { instructions: seen.iter().filter_map(|&address| code.at(address)).collect(), switches }
}

/// The address of what is loaded before an instruction, if there is no test and no jump in between.
fn loaded_before(code: &Code, address: u64) -> Option<u64> {
    let mut before = code.before(address).take_while(|it| it.mnemonic != "test" && !it.branches());
    before.find(|it| it.mnemonic == "mov" && it.leads_to.is_some())?.leads_to
}

impl fmt::Display for Passed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for found in &self.instructions {
            writeln!(f, "{:x} {} {}", found.address, found.mnemonic, found.operands)?;
        }
        Ok(())
    }
}
