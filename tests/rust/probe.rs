//! Compares the kernel's behaviour for a uprobe on each of about 320 instructions with the
//! resolver's verdict on a marker there.
//!
//! Every instruction runs a known number of times with a probe on it. The test counts the hits, and
//! compares the program's results with those of a run without the probe: the kernel accepts probes
//! on some instructions but then does not execute them. Needs root, an x86-64 processor and Linux
//! 6.18 or later; otherwise the test is skipped with a message.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, thread};

use simple_markers_record::site::Site;
use simple_markers_record::{ByteOrder, SITES, STRINGS};
use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::resolve::{
    BreaksReason, Detail, ProbeCost, ProbeReason, ProbeVerdict, Request, Resolution, SitePlace, resolve_request,
};
use simple_markers_resolver::uprobe_rules::LinuxVersion;
use simple_markers_tests::tools::{self, find, run, skipped};
use simple_markers_tests::uprobes::Uprobes;
use simple_markers_tracer::sys::RunningKernel;

const TIMES: u64 = 101;

struct Test {
    offset: u64,
    address: u64,
    text: String,
    said: Said,
}

/// The resolver's verdict on a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Said {
    instruction: Option<String>,
    /// `None` if it is unknown.
    probe: Option<ProbeVerdict>,
}

/// The outcome of a run of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Outcome {
    Computed(String),
    Killed(String),
}

fn is_recent() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.parse().is_ok_and(|version: LinuxVersion| version >= LinuxVersion::new(6, 18))
}

fn tests(program: &Path) -> Vec<Test> {
    let test = |line: &str| {
        let mut fields = line.splitn(4, ' ');
        let mut next = || fields.next().expect("offset, address, bytes, text");
        let offset = next().parse().expect("an offset");
        let address = u64::from_str_radix(next().trim_start_matches("0x"), 16).expect("an address");
        let _bytes = next();
        Test { offset, address, text: next().to_owned(), said: Said::default() }
    };
    let mut tests: Vec<Test> = run(&mut Command::new(program)).lines().map(test).collect();
    let addresses: Vec<u64> = tests.iter().map(|test| test.address).collect();
    let said = said(program, &addresses);
    for test in &mut tests {
        test.said = said.get(&test.address).unwrap_or_else(|| panic!("no site for {}", test.text)).clone();
    }
    tests
}

/// The resolver's verdicts on markers at these addresses of a program. The markers are added to a
/// copy of it.
fn said(program: &Path, addresses: &[u64]) -> HashMap<u64, Said> {
    let strings = b"\0test:instruction\0probe.S\0%d\0value\0";
    let string = |text: &str| {
        let text = [b"\0", text.as_bytes(), b"\0"].concat();
        let at = strings.windows(text.len()).position(|window| window == text).expect("one of the strings");
        u32::try_from(at + 1).expect("a small offset")
    };
    let mut sites = Vec::new();
    for &pc in addresses {
        let site = Site {
            offset: 0,
            flags: 0,
            address_size: 8,
            pc,
            line: 1,
            column: 1,
            name: string("test:instruction"),
            file: string("probe.S"),
            format: string("%d"),
            args: string("value"),
            operands: 0,
            switch: None,
        };
        site.write(&mut sites, ByteOrder::Little);
    }
    let marked = program.with_extension("marked");
    let mut objcopy = Command::new("objcopy");
    for (name, bytes) in [(SITES, &*sites), (STRINGS, strings)] {
        let file = program.with_extension(name.trim_start_matches('_'));
        fs::write(&file, bytes).expect("a section");
        objcopy.arg("--add-section").arg(format!("{name}={}", file.display()));
    }
    run(objcopy.arg(program).arg(&marked));
    let bytes = fs::read(&marked).expect("the marked program");
    let Resolution { images, failures } =
        resolve_request("marked", &bytes, Request::new(Detail::Places).rules(&[&RunningKernel::find()]));
    assert_eq!(failures, []);
    let sites = images.into_iter().flat_map(|image| image.markers).flat_map(|marker| marker.sites);
    let said = |site: simple_markers_resolver::resolve::Site| {
        let Some(SitePlace::Address(Vaddr(address))) = site.place else { panic!("a site without an address") };
        (address, Said { instruction: site.instruction.as_deref().map(str::to_owned), probe: site.probe })
    };
    sites.map(said).collect()
}

/// Runs one test. Returns its outcome, and whether the kernel executed the instruction out of line.
fn outcome(program: &Path, index: usize) -> (Outcome, bool) {
    let output = tools::output(Command::new(program).args([index.to_string(), TIMES.to_string()]));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match text.trim().split_once(' ') {
        Some((hash, how)) if output.status.success() => (Outcome::Computed(hash.to_owned()), how == "stepped"),
        _ => (Outcome::Killed(output.status.to_string()), false),
    }
}

/// The program; `None` without a compiler.
fn program(folder: &Path) -> Option<PathBuf> {
    let program = folder.join("probe");
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/uprobe/probe");
    let mut compile = Command::new(find("gcc")?);
    compile.args(["-O1", "-no-pie", "-static", "-D_GNU_SOURCE"]).args([format!("{sources}.c"), format!("{sources}.S")]);
    run(compile.arg("-o").arg(&program));
    Some(program)
}

/// Counts must be right even if others add and remove events, because the kernel returns its list
/// in pieces.
#[test]
fn events_that_come_and_go_leave_the_counts_of_others_alone() {
    const HITS: u64 = 3;
    let Some(uprobes) = Uprobes::open() else {
        return skipped("events are not counted without the right to use tracefs");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let Some(original) = program(folder.path()) else { return };
    let tests = tests(&original);
    let nop = tests.iter().position(|test| test.said.instruction.as_deref() == Some("nop")).expect("a nop");
    let offsets: Vec<u64> = tests.iter().map(|test| test.offset).collect();
    thread::scope(|scope| {
        for probes in [&offsets[..], &offsets[..200], &offsets[..100]] {
            // Each test has its own program, because none may run while probes are placed on it.
            let program = folder.path().join(format!("probe{}", probes.len()));
            fs::copy(&original, &program).expect("a copy");
            let probes: Vec<u64> = probes.iter().copied().filter(|offset| *offset != offsets[nop]).collect();
            let (uprobes, hit) = (&uprobes, offsets[nop]);
            scope.spawn(move || {
                for _ in 0..8 {
                    let placed = uprobes.place(&program, &[&probes[..], &[hit]].concat());
                    let counts = placed.hits();
                    assert_eq!(counts.len(), probes.len() + 1);
                }
                let placed = uprobes.place(&program, &[&probes[..], &[hit]].concat());
                for _ in 0..HITS {
                    let _ = outcome(&program, nop);
                }
                let counts = placed.hits();
                let (hits, others) = counts.split_last().expect("a probe");
                assert_eq!(*hits, HITS * TIMES);
                assert!(others.iter().all(|hits| *hits == 0), "{others:?}");
            });
        }
    });
}

#[test]
fn the_kernel_does_what_we_say_that_it_does() {
    if !is_recent() {
        return skipped("what uprobes do is not tested on a kernel before Linux 6.18");
    }
    let Some(uprobes) = Uprobes::open() else {
        return skipped("what uprobes do is not tested without the right to use tracefs");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = program(folder.path()) else { return };

    let tests = tests(&program);
    assert!(tests.len() > 300, "{} instructions", tests.len());
    let without: Vec<_> = (0..tests.len()).map(|index| outcome(&program, index).0).collect();
    let offsets: Vec<u64> = tests.iter().map(|test| test.offset).collect();
    let placed = uprobes.place(&program, &offsets);
    let with: Vec<_> = (0..tests.len()).map(|index| outcome(&program, index)).collect();
    let hits = placed.hits();

    let mut wrong = Vec::new();
    let mut checked = 0;
    for (index, test) in tests.iter().enumerate() {
        // The processor does not have the instruction.
        if matches!(without[index], Outcome::Killed(_)) {
            continue;
        }
        checked += 1;
        let hits = hits[index];
        let (after, is_stepped) = &with[index];
        let is_same = *after == without[index];
        let is_right = match &test.said.probe {
            Some(ProbeVerdict { accepted: false, .. }) => hits == 0 && is_same,
            Some(ProbeVerdict { cost: Some(cost), .. }) => {
                hits == TIMES && is_same && (*cost == ProbeCost::Stepped) == *is_stepped
            }
            Some(ProbeVerdict { reason: Some(ProbeReason::FiresEachIteration), .. }) => hits >= TIMES && is_same,
            // Some processors do not enable UMIP, and this function keeps nothing in its red zone.
            Some(ProbeVerdict { reason: Some(ProbeReason::Breaks(how)), .. }) => {
                hits > 0 && (!is_same || matches!(how, BreaksReason::Umip | BreaksReason::RedZone))
            }
            Some(other) => panic!("{}: {other:?}", test.text),
            // The resolver knows the outcome for each of these instructions.
            None => false,
        };
        if !is_right {
            wrong.push(format!("{}: {:?}, but {hits} hits, stepped {is_stepped}, {after:?}", test.text, test.said));
        }
    }
    assert!(checked > 250, "only {checked} instructions were there to check");
    assert_eq!(wrong, Vec::<String>::new(), "of {checked}");
}
