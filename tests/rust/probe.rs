//! What the kernel does with a uprobe on each of some 320 instructions, against what the resolver says that it does.
//!
//! Every instruction is run a known number of times with a probe on it. The hits are counted, and what the program computes is compared with
//! what it computes without the probe: the kernel takes probes on some instructions and then leaves them out.
//! Needs root, an x86-64 processor and Linux 6.18 or later; says so where it has them not.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::fs;
use std::path::Path;
use std::process::Command;

use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::code::{Arch, BreaksReason, Cost, Effect, Probe, probe};
use simple_markers_tests::tools::{find, run, skipped};
use simple_markers_tests::uprobes::Uprobes;

const TIMES: u64 = 101;

struct Test {
    offset: u64,
    text: String,
    said: Probe,
}

/// What a run of the program came to.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Outcome {
    Computed(String),
    Killed(String),
}

fn is_recent() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0u32));
    (numbers.next(), numbers.next()) >= (Some(6), Some(18))
}

fn tests(program: &Path) -> Vec<Test> {
    let test = |line: &str| {
        let mut fields = line.splitn(4, ' ');
        let mut next = || fields.next().expect("offset, address, bytes, text");
        let offset = next().parse().expect("an offset");
        let at = u64::from_str_radix(next().trim_start_matches("0x"), 16).expect("an address");
        let hex = next();
        let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
        let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
        Test { offset, text: next().to_owned(), said: probe(Arch::X86_64, Vaddr(at), &bytes) }
    };
    run(&mut Command::new(program)).lines().map(test).collect()
}

/// Runs one test; what it computed, and the shortest time of one call.
fn outcome(program: &Path, index: usize) -> (Outcome, u64) {
    let output =
        Command::new(program).args([index.to_string(), TIMES.to_string()]).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match text.trim().split_once(' ') {
        Some((hash, time)) if output.status.success() => {
            (Outcome::Computed(hash.to_owned()), time.parse().expect("nanoseconds"))
        }
        _ => (Outcome::Killed(output.status.to_string()), 0),
    }
}

#[test]
fn the_kernel_does_what_we_say_that_it_does() {
    let Some(gcc) = find("gcc") else { return };
    if !is_recent() {
        return skipped("what uprobes do is not tested on a kernel before Linux 6.18");
    }
    let Some(uprobes) = Uprobes::open() else {
        return skipped("what uprobes do is not tested without the right to use tracefs");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("probe");
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/uprobe/probe");
    let mut compile = Command::new(gcc);
    compile.args(["-O1", "-no-pie", "-static", "-D_GNU_SOURCE"]).args([format!("{sources}.c"), format!("{sources}.S")]);
    run(compile.arg("-o").arg(&program));

    let tests = tests(&program);
    assert!(tests.len() > 300, "{} instructions", tests.len());
    let without: Vec<_> = (0..tests.len()).map(|index| outcome(&program, index).0).collect();
    let offsets: Vec<u64> = tests.iter().map(|test| test.offset).collect();
    let placed = uprobes.place(&program, &offsets);
    let with: Vec<_> = (0..tests.len()).map(|index| outcome(&program, index)).collect();
    let hits = placed.hits();

    let nop = tests.iter().position(|test| test.said.instruction == "nop").expect("a nop");
    let limit = with[nop].1 * 3;
    let mut wrong = Vec::new();
    let mut checked = 0;
    for (index, test) in tests.iter().enumerate() {
        // The processor has not got the instruction.
        if matches!(without[index], Outcome::Killed(_)) {
            continue;
        }
        checked += 1;
        let hits = hits[index];
        let (after, time) = &with[index];
        let is_same = *after == without[index];
        let is_right = match test.said.effect {
            Effect::Fires(cost) => hits == TIMES && is_same && (cost == Cost::Stepped) == (*time > limit),
            Effect::FiresEachIteration => hits >= TIMES && is_same,
            Effect::Refused(_) => hits == 0 && is_same,
            // Not every processor has UMIP on.
            Effect::Breaks(how) => hits > 0 && (!is_same || how == BreaksReason::Umip),
            Effect::Unknown => true,
        };
        if !is_right {
            wrong.push(format!("{}: {:?}, but {hits} hits, {time} ns, {after:?}", test.text, test.said));
        }
    }
    assert!(checked > 250, "only {checked} instructions were there to check");
    assert_eq!(wrong, Vec::<String>::new(), "of {checked}");
}
