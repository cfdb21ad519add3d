//! A probe that is off costs two instructions on x86-64. Compares the instructions that a function
//! executes while its probes are off with those of the same function without probes. What only
//! arranges them is not counted: moves between registers (a value that the probe may need is copied
//! before it is changed), jumps from one part to the next, and padding.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use simple_markers_tests::fixture;
use simple_markers_tests::image::{Code, Function, Instruction};
use simple_markers_tests::matrix::{Build, Markers, Toolchain};

/// The functions of `tests/probes/asleep.rs`, and the probes that each passes.
const FUNCTIONS: [(&str, usize); 8] = [
    ("plain", 1),
    ("computed", 1),
    ("floats", 1),
    ("text", 1),
    ("many", 1),
    ("one_arm", 1),
    ("looped", 1),
    ("copies", 3),
];

/// What a function executes while its probes are off.
struct Passed<'a> {
    instructions: Vec<&'a Instruction>,
    /// The switches that it tests, in the order of their addresses.
    switches: Vec<u64>,
}

impl Passed<'_> {
    /// The number of instructions that do not only arrange the others.
    fn work(&self) -> usize {
        let arranges = |found: &&&Instruction| match found.mnemonic.as_str() {
            "jmp" => true,
            name if name.starts_with("nop") => true,
            name => name.starts_with("mov") && found.operands.starts_with('%') && !found.operands.contains('('),
        };
        self.instructions.len() - self.instructions.iter().filter(arranges).count()
    }
}

/// Follows every branch of `function`, but not those behind the test of a switch.
fn asleep<'a>(code: &'a Code, function: &Function) -> Passed<'a> {
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
        let tested = code.before(address).next().filter(|before| {
            mnemonic == "jne"
                && before.mnemonic == "cmpl"
                && before.operands.starts_with("$0x0,")
                && before.leads_to.is_some()
        });
        if let Some(test) = tested {
            switches.extend(test.leads_to);
            next.extend(after);
            continue;
        }
        if mnemonic != "jmp" {
            next.extend(after);
        }
        if mnemonic.starts_with('j') {
            next.extend(instruction.target().map(|(address, _)| address));
        }
    }
    Passed { instructions: seen.iter().filter_map(|&address| code.at(address)).collect(), switches }
}

fn compile(build: &Build<'_>, level: &str) -> PathBuf {
    let options = ["-Cpanic=abort", "-Ccodegen-units=1", "-Cdebuginfo=2", &format!("-Copt-level={level}")];
    let mut command = build.compilation(Path::new("tests/probes/asleep.rs"), &options);
    fixture::succeeds_silently(&mut command);
    build.folder().join("libasleep.so")
}

fn named<'a>(code: &'a Code, name: &str) -> &'a Function {
    code.functions().iter().find(|function| function.name == name).unwrap_or_else(|| panic!("no function {name}"))
}

#[test]
fn a_probe_that_is_off_costs_two_instructions() {
    let toolchain = Toolchain::new();
    for level in ["1", "2", "3", "s"] {
        let with = toolchain.build(Markers::OnWithoutAlloc);
        let without = toolchain.build(Markers::Off);
        let image = compile(&with, level);
        let (with, without) = (Code::of(&image), Code::of(&compile(&without, level)));
        for (name, probes) in FUNCTIONS {
            let on = asleep(&with, named(&with, name));
            let off = asleep(&without, named(&without, name));
            let text = |path: &Passed<'_>| -> String {
                path.instructions
                    .iter()
                    .map(|found| format!("{:x} {} {}\n", found.address, found.mnemonic, found.operands))
                    .collect()
            };
            let both = || format!("-O{level} {name}\n{}\nwithout:\n{}", text(&on), text(&off));
            assert_eq!(on.switches.len(), probes, "{}", both());
            assert_eq!(on.work(), off.work() + 2 * probes, "{}", both());
            assert!(on.instructions.len() <= off.instructions.len() + 3 * probes, "{}", both());
            let distinct: BTreeSet<_> = on.switches.iter().collect();
            assert_eq!(distinct.len(), 1, "one switch for all copies: {}", both());
        }
        // Every site is anchored, has its values, and the address of a switch.
        let sites = fixture::sites(&image);
        assert_eq!(sites.iter().filter(|site| site.pc != 0).count(), 10, "-O{level}: {sites:?}");
        for site in sites.iter().filter(|site| site.pc != 0) {
            assert_eq!(site.flags & 0b101, 0b101, "{site:?}");
            assert_eq!(with.at(site.pc).map(|at| at.mnemonic.as_str()), Some("nop"), "-O{level}: {site:?}");
        }
    }
}
