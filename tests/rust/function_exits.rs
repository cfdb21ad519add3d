//! Where functions are left, beside the returns that objdump shows, and where their results are, beside
//! what programs print of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::location::Location;
use simple_markers_resolver::marks::Mark;
use simple_markers_resolver::resolve::{
    Detail, ExactnessReason, MarkReason, Marker, Origin, Reason, Request, Site, SitePlace, resolve_request,
};
use simple_markers_tests::computer::Computer;
use simple_markers_tests::fixture;
use simple_markers_tests::gdb::{Next, Session, Stopped};
use simple_markers_tests::header::{Compiler, Language};
use simple_markers_tests::tools::{find, run};

/// The markers that a mark makes.
fn marked(path: &Path, mark: &str) -> Vec<Marker> {
    let data = std::fs::read(path).expect("the file is read");
    let marks = [Mark::parse(mark).expect("a mark")];
    let request = Request::new(Detail::Everything).marks(&marks);
    let mut image = resolve_request(&path.to_string_lossy(), &data, request).images.pop().expect("an image");
    assert_eq!(image.unplaced, [], "{mark}");
    image.markers.retain(|marker| marker.is_mark);
    image.markers
}

fn address(site: &Site) -> u64 {
    match site.place {
        Some(SitePlace::Address(Vaddr(at))) => at,
        _ => panic!("no address: {site:?}"),
    }
}

/// Whether all exits of the function of a site are known.
fn is_complete(site: &Site) -> bool {
    site.exactness_reason == Some(ExactnessReason::Mark(MarkReason::Leaves))
}

/// The addresses of the returns that objdump shows.
fn returns_of_objdump(objdump: &str, path: &Path) -> BTreeSet<u64> {
    let text = run(Command::new(objdump).args(["-d", "--no-show-raw-insn"]).arg(path));
    let mut found = BTreeSet::new();
    for line in text.lines() {
        let Some((address, instruction)) = line.trim_start().split_once(":\t") else { continue };
        let mut words = instruction.split_whitespace().filter(|word| !matches!(*word, "repz" | "bnd" | "cs"));
        if matches!(words.next(), Some("ret" | "retq" | "retaa" | "retab")) {
            found.extend(u64::from_str_radix(address, 16));
        }
    }
    found
}

/// The sizes of functions by their start, as readelf prints them.
fn sizes(path: &Path) -> BTreeMap<u64, u64> {
    let text = run(Command::new("readelf").args(["--wide", "--symbols"]).arg(path));
    let mut sizes = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, value, size, "FUNC" | "IFUNC", _, _, section, ..] = words.as_slice() else { continue };
        let size = match size.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => size.parse(),
        };
        if let (Ok(start), Ok(size), true) = (u64::from_str_radix(value, 16), size, *section != "UND") {
            let known: &mut u64 = sizes.entry(start).or_default();
            *known = size.max(*known);
        }
    }
    sizes
}

/// Compares the returns of a library, whose functions symbols alone describe. At most `lost` of those that
/// objdump shows are not found: nothing leads to them, as macros of assembly leave them behind a jump, or an
/// indirect jump that is not understood does.
fn compare_returns(prefix: &str, name: &str, lost: usize) {
    let tool = |name: &str| format!("{prefix}{name}");
    if find(&tool("objdump")).is_none() || find(&tool("gcc")).is_none() || !cfg!(target_arch = "x86_64") {
        return;
    }
    let path = PathBuf::from(run(Command::new(tool("gcc")).arg(format!("-print-file-name={name}"))).trim());
    let theirs = returns_of_objdump(&tool("objdump"), &path);
    let markers = marked(&path, "*() return");
    let sites = markers.iter().flat_map(|marker| &marker.sites).filter(|site| site.origin == Origin::Return);
    let ours: BTreeSet<u64> = sites.map(address).collect();
    let other: Vec<&u64> = ours.difference(&theirs).collect();
    assert!(other.is_empty() && ours.len() > 1000, "{} returns, of which objdump does not show {other:x?}", ours.len());
    let functions: Vec<Range<u64>> = sizes(&path).into_iter().map(|(start, size)| start..start + size).collect();
    let missing = theirs.difference(&ours).filter(|at| functions.iter().any(|function| function.contains(at)));
    let missing: Vec<&u64> = missing.collect();
    note!("{path:?}: {} returns of {} functions, {} missing", ours.len(), markers.len(), missing.len());
    assert!(missing.len() <= lost, "{missing:x?}");
}

#[test(cases = ["libc.so.6", "libstdc++.so.6"])]
fn returns_are_those_that_objdump_shows(name: &str) {
    // In glibc 2.36 of Debian they are 99, in 47 functions.
    compare_returns("", name, if name.starts_with("libc.") { 110 } else { 0 });
}

#[test(cases = ["aarch64-linux-gnu-", "riscv64-linux-gnu-"], desk = [0])]
fn returns_of_other_processors_are_those_that_objdump_shows(prefix: &str) {
    // In glibc 2.36 of Debian they are 33, and 117, most of them system calls in assembly.
    compare_returns(prefix, "libc.so.6", if prefix.starts_with("aarch64") { 40 } else { 130 });
}

/// The bytes of a result at a return, in hexadecimal; `..` for one that is in no register.
fn bytes_at(machine: &Stopped<'_>, location: &Location, size: u64) -> String {
    let mut text = String::new();
    for index in 0..size {
        match location.evaluate_part(machine, size, index..index + 1) {
            Ok(byte) => byte.iter().for_each(|byte| write!(text, "{byte:02x}").expect("text")),
            Err(_) => text.push_str(".."),
        }
    }
    text
}

/// Whether two texts of bytes are the same where the second one has a byte.
fn is_same(read: &str, printed: &str) -> bool {
    read.len() == printed.len()
        && read.as_bytes().chunks(2).zip(printed.as_bytes().chunks(2)).all(|(a, b)| a == b || b == b"..")
}

/// Compares the results of the functions `result_*` of a program with what it prints. Returns the reasons
/// of those without a location, by their functions.
fn compare(computer: Computer, program: &Path) -> BTreeMap<String, String> {
    // gdb loads it at fixed addresses too, so that pointers are the same. So does an emulator.
    let printed = match computer {
        Computer::Here => run(Command::new("setarch").arg("-R").arg(program)),
        _ => run(&mut computer.runs(program)),
    };
    let printed: BTreeMap<&str, &str> = printed.lines().filter_map(|line| line.split_once(' ')).collect();
    let found = marked(program, "result_*() return \"%d\", $return");
    assert_eq!(found.len(), printed.len() + 1, "each function but `result_nothing` prints");
    let mut refused = BTreeMap::new();
    let mut located: BTreeMap<Vaddr, (&str, &Location, u64)> = BTreeMap::new();
    for function in &found {
        let path = function.name.strip_suffix("() return").expect("a return");
        let symbol = path.rsplit("::").next().expect("a name");
        for site in &function.sites {
            assert!(is_complete(site) && site.origin == Origin::Return, "{site:?}");
            let result = &site.args[0];
            match (&result.location, &result.reason) {
                (Some(location), _) => {
                    located.insert(Vaddr(address(site)), (symbol, location, result.size.expect("a size")));
                }
                (None, Some(Reason::Result(problem))) => {
                    let name: &'static str = problem.into();
                    refused.insert(symbol.to_owned(), name.to_owned());
                }
                (None, Some(Reason::ReturnsNothing)) => assert_eq!(symbol, "result_nothing"),
                (None, reason) => panic!("{symbol}: {reason:?}"),
            }
        }
    }
    let session = Session::start(computer, program, "");
    let addresses: Vec<Vaddr> = located.keys().copied().collect();
    session.stop_at(&addresses, 1);
    let mut seen = Vec::new();
    while let Next::Stopped(at) = session.resume() {
        let (symbol, location, size) = located[&at];
        let read = bytes_at(&session.stopped(), location, size);
        let expected = printed[symbol];
        assert!(is_same(&read, expected), "{symbol} in {location:?}: {read}, printed {expected}");
        seen.push(symbol);
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len() + refused.len(), printed.len(), "each function returns once");
    refused
}

#[test(cases = ["gcc", "clang", "g++", "clang++"])]
fn results_of_c_are_where_the_convention_says(compiler: &str) {
    if find(compiler).is_none() || find("gdb").is_none() || find("setarch").is_none() || !cfg!(target_arch = "x86_64") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = fixture::workspace().join("tests/calls/results.c");
    let language = if compiler.ends_with("++") { "c++" } else { "c" };
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        let program = folder.path().join(format!("results{level}"));
        let mut compile = Command::new(compiler);
        compile.args(["-g", "-w", level, "-x", language]).arg(&source).arg("-o").arg(&program);
        run(&mut compile);
        let refused = compare(Computer::Here, &program);
        let mut expected = vec![("result_extended", "x87"), ("result_longdouble", "x87"), ("result_vector", "type")];
        // gcc 12 does not say how a class is passed, and this one has a constructor that copies.
        if compiler == "g++" {
            expected.insert(0, ("result_counted", "class_unknown"));
        }
        let expected = expected.into_iter().map(|(name, why)| (name.to_owned(), why.to_owned()));
        assert_eq!(refused, expected.collect(), "{compiler} {level}");
    }
}

#[test(cases = ["aarch64", "riscv64"], desk = [1])]
fn results_on_other_processors_are_where_the_convention_says(processor: &str) {
    let computer = if processor == "aarch64" { Computer::Aarch64 } else { Computer::Riscv64 };
    let folder = tempfile::tempdir().expect("a folder");
    let source = fixture::workspace().join("tests/calls/results.c");
    for (compiler, level) in [(Compiler::Gcc, "-O0"), (Compiler::Gcc, "-O2"), (Compiler::Clang, "-O2")] {
        if !computer.has(compiler) {
            return;
        }
        let program = folder.path().join(format!("results{level}{}", compiler.name()));
        let mut compile = computer.compilation(compiler, Language::C);
        compile.args(["-g", "-w", level]).arg(&source).arg("-o").arg(&program);
        run(&mut compile);
        let refused = compare(computer, &program);
        let mut expected = vec![("result_large_array", "address_lost"), ("result_three_longs", "address_lost")];
        // AArch64 has four doubles in registers.
        if computer == Computer::Riscv64 {
            expected.push(("result_four_doubles", "address_lost"));
        }
        expected.push(("result_vector", "type"));
        let expected = expected.into_iter().map(|(name, why)| (name.to_owned(), why.to_owned()));
        assert_eq!(refused, expected.collect(), "{processor} {} {level}", compiler.name());
    }
}

#[test(cases = ["0", "1", "2", "3"], desk = [0, 3])]
fn results_of_rust_are_where_they_are_certain(level: &str) {
    if find("gdb").is_none() || find("setarch").is_none() || !cfg!(target_arch = "x86_64") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("results");
    let source = fixture::workspace().join("tests/calls/results.rs");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition=2024", "-g", "-C", &format!("opt-level={level}")]).arg(&source).arg("-o").arg(&program);
    run(&mut rustc);
    let refused = compare(Computer::Here, &program);
    let expected = [("result_option", "rust_type"), ("result_small_pair", "rust_type"), ("result_two_words", "type")];
    let expected = expected.into_iter().map(|(name, why)| (name.to_owned(), why.to_owned()));
    assert_eq!(refused, expected.collect(), "{level}");
}
