//! Where functions are left, beside the returns that objdump shows, and where their results are, beside
//! what programs print of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::location::Location;
use simple_markers_resolver::resolve::{Detail, FunctionExits, Reason, Request, function_exits};
use simple_markers_tests::computer::Computer;
use simple_markers_tests::fixture;
use simple_markers_tests::gdb::{Next, Session, Stopped};
use simple_markers_tests::tools::{find, run};

fn exits(path: &Path, wants: &dyn Fn(&str) -> bool) -> Vec<FunctionExits> {
    let data = std::fs::read(path).expect("the file is read");
    function_exits(&path.to_string_lossy(), &data, Request::new(Detail::Everything), wants).expect("an image")
}

/// The addresses of the returns that objdump shows, ascending.
fn returns_of_objdump(objdump: &str, path: &Path) -> Vec<u64> {
    let text = run(Command::new(objdump).args(["-d", "--no-show-raw-insn"]).arg(path));
    let mut found = Vec::new();
    for line in text.lines() {
        let Some((address, instruction)) = line.trim_start().split_once(":\t") else { continue };
        let mut words = instruction.split_whitespace().filter(|word| !matches!(*word, "repz" | "bnd" | "cs"));
        if matches!(words.next(), Some("ret" | "retq" | "retaa" | "retab")) {
            found.extend(u64::from_str_radix(address, 16));
        }
    }
    found.sort_unstable();
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

/// Compares the returns of a library. `dead` are those that objdump shows and nothing leads to, as macros of
/// assembly leave them behind a jump.
fn compare_returns(prefix: &str, name: &str, dead: usize) {
    let tool = |name: &str| format!("{prefix}{name}");
    if find(&tool("objdump")).is_none() || find(&tool("gcc")).is_none() || !cfg!(target_arch = "x86_64") {
        return;
    }
    let path = PathBuf::from(run(Command::new(tool("gcc")).arg(format!("-print-file-name={name}"))).trim());
    let (theirs, sizes) = (returns_of_objdump(&tool("objdump"), &path), sizes(&path));
    let mut unreached = 0;
    let found = exits(&path, &|symbol| !symbol.contains(".cold"));
    let (mut complete, mut compared) = (0, 0);
    for function in &found {
        assert_eq!(function.problem, None, "{}", function.symbol);
        let start = function.entry.0;
        let end = start + sizes.get(&start).copied().expect("a size");
        let inside: Vec<u64> = theirs.iter().copied().filter(|at| (start..end).contains(at)).collect();
        let ours: Vec<u64> = function.returns.iter().map(|at| at.0).collect();
        compared += ours.len();
        if function.gaps.is_empty() {
            let missing: Vec<u64> = inside.iter().copied().filter(|at| !ours.contains(at)).collect();
            unreached += missing.len();
            assert!(missing.is_empty() || dead > 0, "{}: {missing:x?}", function.symbol);
            assert_eq!(ours.len() + missing.len(), inside.len(), "{}: {ours:x?}", function.symbol);
            complete += 1;
        } else {
            assert!(ours.iter().all(|at| inside.contains(at)), "{}: {ours:x?} {inside:x?}", function.symbol);
        }
    }
    note!("{path:?}: {compared} returns of {} functions, {complete} complete, {unreached} dead", found.len());
    assert!(compared > 1000 && complete * 100 > found.len() * 95, "{compared} {complete} {}", found.len());
    assert!(unreached <= dead, "{unreached} returns are missing");
}

#[test(cases = ["libc.so.6", "libstdc++.so.6"])]
fn returns_are_those_that_objdump_shows(name: &str) {
    compare_returns("", name, 0);
}

#[test(cases = ["aarch64-linux-gnu-", "riscv64-linux-gnu-"], desk = [0])]
fn returns_of_other_processors_are_those_that_objdump_shows(prefix: &str) {
    // In glibc 2.36 one of AArch64, and those of the 110 system calls of RISC-V that are assembly.
    compare_returns(prefix, "libc.so.6", if prefix.starts_with("aarch64") { 2 } else { 150 });
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
fn compare(program: &Path) -> BTreeMap<String, String> {
    // gdb loads it at fixed addresses too, so that pointers are the same.
    let printed = run(Command::new("setarch").arg("-R").arg(program));
    let printed: BTreeMap<&str, &str> = printed.lines().filter_map(|line| line.split_once(' ')).collect();
    let found = exits(program, &|symbol| symbol.starts_with("result_"));
    assert_eq!(found.len(), printed.len() + 1, "each function but `result_nothing` prints");
    let mut refused = BTreeMap::new();
    let mut located: BTreeMap<Vaddr, (&FunctionExits, &Location, u64)> = BTreeMap::new();
    for function in &found {
        assert_eq!((&function.problem, function.gaps.len()), (&None, 0), "{}", function.symbol);
        assert!(!function.returns.is_empty() && function.tail_calls.is_empty(), "{function:?}");
        match (&function.result.location, &function.result.reason) {
            (Some(location), _) => {
                let size = function.result.size.expect("a size");
                located.extend(function.returns.iter().map(|at| (*at, (function, location, size))));
            }
            (None, Some(Reason::Result(problem))) => {
                let name: &'static str = problem.into();
                refused.insert(function.symbol.to_string(), name.to_owned());
            }
            (None, Some(Reason::ReturnsNothing)) => assert_eq!(&*function.symbol, "result_nothing"),
            (None, reason) => panic!("{}: {reason:?}", function.symbol),
        }
    }
    let session = Session::start(Computer::Here, program, "");
    let addresses: Vec<Vaddr> = located.keys().copied().collect();
    session.stop_at(&addresses, 1);
    let mut seen = Vec::new();
    while let Next::Stopped(at) = session.resume() {
        let (function, location, size) = located[&at];
        let symbol = &*function.symbol;
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
        let refused = compare(&program);
        let mut expected = vec![("result_extended", "x87"), ("result_longdouble", "x87"), ("result_vector", "type")];
        // gcc 12 does not say how a class is passed, and this one has a constructor that copies.
        if compiler == "g++" {
            expected.insert(0, ("result_counted", "class_unknown"));
        }
        let expected = expected.into_iter().map(|(name, why)| (name.to_owned(), why.to_owned()));
        assert_eq!(refused, expected.collect(), "{compiler} {level}");
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
    let refused = compare(&program);
    let expected = [("result_option", "rust_type"), ("result_small_pair", "rust_type"), ("result_two_words", "type")];
    let expected = expected.into_iter().map(|(name, why)| (name.to_owned(), why.to_owned()));
    assert_eq!(refused, expected.collect(), "{level}");
}
