//! `smark export --to gdb` with every kind of name that compilers make. gdb's breakpoints are at our addresses, and it prints what
//! the programs print.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use regex::Regex;
use simple_markers_tests::fixture::{self, Fixture, smark};
use simple_markers_tests::tools::{self, find, run, slice};

/// Symbols: suffixes of GNU and LLVM, what gdb lexes as characters, numbers, keywords, operators and types, and characters
/// other than those of C.
const SYMBOLS: [&str; 42] = [
    "one.part.0",
    "one.cold",
    "one.isra.0",
    "one.constprop.1",
    "one.lto_priv.0",
    "one.llvm.12345",
    "one.clone.3",
    "one.cold.1",
    "one.specialized.1",
    "one.__uniq.226108714365920",
    "one.localalias",
    "one._omp_fn.0",
    "one.actor",
    "one.destroy",
    "one.resume",
    "within.0",
    "two.part.0.isra.0.cold",
    "x",
    "ab",
    "L",
    "u8",
    "U",
    "e1",
    "sizeof",
    "unsigned",
    "int",
    "struct",
    "operator",
    "this",
    "_Alignof",
    "a$b",
    "p$pc",
    "r$rax",
    "__f",
    "one_type",
    "two_of_this_file",
    "main.cold",
    "_ZN4main4mainEv",
    "_Z3oneB5cxx11v",
    "_ZThn16_N4both5otherEi",
    "_GLOBAL__sub_I_one",
    "_start.part.0",
];

fn list() -> String {
    let symbol = |(number, symbol): (usize, &&str)| format!("X({number}, \"{symbol}\")");
    format!("-DNAMES={}", SYMBOLS.iter().enumerate().map(symbol).collect::<Vec<_>>().join(" "))
}

fn source(name: &str) -> PathBuf {
    fixture::workspace().join("tests/export").join(name)
}

/// A command of a compiler with what all need.
fn compiler(name: &str, options: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(["-g", "-I"]).arg(fixture::workspace().join("markers/include")).args(options);
    command
}

/// The lines that begin with a marker's name.
fn lines(said: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = said.lines().filter_map(|line| line.rsplit('\r').next()).collect();
    lines.retain(|line| ["names:", "cc:", "rs:"].iter().any(|prefix| line.starts_with(prefix)));
    lines.sort_unstable();
    lines
}

/// Exports, lets gdb confirm the addresses, runs the program under gdb, and compares what both print.
fn compare(program: &Path, least: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("script.gdb");
    let mut export = Command::new(smark());
    // What is not exact, or doubtful, is not the subject here.
    export.args(["export", "--to", "gdb", "--verify", "--include", "all", "-o"]).arg(&script).arg(program);
    let Output { status, stderr, .. } = tools::output(&mut export);
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{}: {stderr}", program.display());
    let text = fs::read_to_string(&script).expect("a script");
    second_opinion(program, &script, &text);
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set width 0", "-x"]).arg(&script);
    let said = run(gdb.args(["-ex", "run > /dev/null"]).arg(program));
    let truth = run(&mut Command::new(program));
    let (ours, truth) = (lines(&said), lines(&truth));
    // An argument that is lost is printed as `?`, and a site that is not exact may have more hits.
    let is_left_out =
        |line: &str| text.contains(&format!("left out: {} at", line.split(' ').next().unwrap_or_default()));
    let lost: BTreeSet<&str> =
        ours.iter().filter(|line| line.contains('?')).filter_map(|line| line.split(' ').next()).collect();
    let is_known = |line: &&&str| !lost.contains(line.split(' ').next().unwrap_or_default());
    let expected: Vec<_> = truth.iter().filter(|line| !is_left_out(line)).filter(is_known).collect();
    let ours: Vec<_> = ours.iter().filter(is_known).collect();
    assert_eq!(ours, expected, "{}: {said}", program.display());
    assert!(ours.len() >= least, "{}: {} lines", program.display(), ours.len());
}

/// The addresses in the table that gdb itself prints are those of the script's comments and of `smark list`.
fn second_opinion(program: &Path, script: &Path, text: &str) {
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set width 0", "-x"]).arg(script);
    let table = run(gdb.args(["-ex", "info breakpoints"]).arg(program));
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("an address");
    let row = Regex::new(r"(?m)^\d+ +(?:dprintf|breakpoint) +keep y +(0x[0-9a-f]+)").expect("a pattern");
    let theirs: Vec<u64> = row.captures_iter(&table).map(|row| number(&row[1])).collect();
    let place = Regex::new(r"(?m)^dprintf .* \+ (0x[0-9a-f]+) : 1/0\)").expect("a pattern");
    let ours: Vec<u64> = place.captures_iter(text).map(|place| number(&place[1])).collect();
    assert_eq!(theirs, ours, "{table}");
}

#[test(cases = ROWS, desk = [0, 6])]
fn gdb_finds_functions_of_c_by_any_name((name, options): (&str, &[&str])) {
    if find("gdb").is_none() || find(name).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    const ROWS: [(&str, &[&str]); 7] = [
        ("gcc", &["-O2", "-fopenmp"]),
        ("gcc", &["-O2", "-no-pie"]),
        ("gcc", &["-O2", "-flto", "-Wl,--build-id=none"]),
        ("gcc", &["-O2", "-static-pie"]),
        ("gcc", &["-O3", "-freorder-blocks-and-partition", "-fno-inline"]),
        ("clang", &["-O2", "-flto=thin", "-fuse-ld=lld"]),
        ("clang", &["-O2", "-g3", "-fuse-ld=lld", "-Wl,--build-id"]),
    ];
    let program = folder.path().join("names");
    let mut compile = compiler(name, options);
    compile.arg(list()).args([source("names.c"), source("names_second.c")]).arg("-o").arg(&program);
    run(&mut compile);
    compare(&program, 110);
}

#[test(cases = ROWS, desk = [0])]
fn gdb_finds_functions_of_cpp_by_any_name((name, options): (&str, &[&str])) {
    if find("gdb").is_none() || find(name).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    const ROWS: [(&str, &[&str]); 3] = [("g++", &["-O2"]), ("g++", &["-O0", "-no-pie"]), ("clang++", &["-O2"])];
    let program = folder.path().join("names");
    run(compiler(name, options).arg("-std=c++20").arg(source("names.cc")).arg("-o").arg(&program));
    compare(&program, 38);
}

#[test(cases = ROWS, desk = [1])]
fn gdb_finds_functions_of_rust_by_any_name((name, flags): (&str, &[&str])) {
    if find("gdb").is_none() {
        return;
    }
    let text = fs::read_to_string(source("names.rs")).expect("the source");
    let rest =
        format!("[dependencies]\nsimple-markers = {}\n[profile.release]\ndebug = \"full\"\n", fixture::markers(""));
    // The second crate has the name of its function.
    const ROWS: [(&str, &[&str]); 3] = [
        ("export-names", &["-Csymbol-mangling-version=v0"]),
        ("main", &[]),
        ("export-names-unit", &["-Ccodegen-units=1", "-Copt-level=2"]),
    ];
    let fixture = Fixture::empty(&format!("export-names-{name}")).file("src/main.rs", &text);
    let manifest =
        format!("[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n{rest}");
    let fixture = fixture.file("Cargo.toml", &manifest);
    fixture::succeeds_silently(fixture.cargo("rustc").arg("--release").arg("--").args(flags));
    let built = fixture::target().join("release").join(name);
    let program = fixture.folder().join("program");
    fs::copy(&built, &program).expect("a copy");
    compare(&program, 30);
}

/// A gdb that is killed if it hangs: it may step for ever where someone else has a uprobe.
fn bounded_gdb() -> Command {
    let mut gdb = Command::new("timeout");
    gdb.args(["-s", "KILL", "30", "gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set width 0"]);
    gdb
}

/// Whether someone else has a uprobe where the loader tells gdb about libraries. The kernel does not pass gdb's own breakpoint on there.
fn loader_is_probed(program: &Path) -> bool {
    let mut gdb = bounded_gdb();
    gdb.args(["-ex", "starti > /dev/null"]);
    let said = run(gdb.args(["-ex", "printf \"byte %x\\n\", *(unsigned char *)&_dl_debug_state"]).arg(program));
    said.contains("byte cc")
}

/// The library has one function, by whose name gdb finds it, and the program has others of the same name.
#[test]
fn gdb_finds_a_library_by_any_name_or_refuses() {
    if find("gdb").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let in_folder = |name: &str| folder.path().join(name);
    for symbol in slice("names of libraries in gdb", &SYMBOLS, &[0, 9, 13, 14, 25]) {
        let is_plain = symbol.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
        let is_keyword = ["sizeof", "unsigned", "int", "struct", "operator", "this", "_Alignof"].contains(&symbol);
        let code = format!(
            "#include \"simple_marker.h\"\n#include <stdio.h>\n\
             int call(int) __asm__(\"{symbol}\");\n\
             int call(int x) {{ __asm__ volatile(\"\" : \"+r\"(x)); simple_mark(names:library, \"costs $arg0 %d\", x);\n\
             printf(\"names:library costs $arg0 %d\\n\", x); return x; }}\n"
        );
        let own = "extern int call(int);\nstatic int one(int x) { __asm__ volatile(\"\" : \"+r\"(x)); return x; }\n\
                   int main(void) { int ab = 1, u8 = 2, L = 3; return call(one(17) + ab + u8 + L) + one(2) == 25 ? 0 : 1; }\n";
        let own = own.replacen("call(int)", &format!("call(int) __asm__(\"{symbol}\")"), 1);
        fs::write(in_folder("library.c"), code).expect("a source");
        fs::write(in_folder("program.c"), own).expect("a source");
        let (library, program) = (in_folder("libname.so"), in_folder("program"));
        run(compiler("gcc", &["-O2", "-shared", "-fPIC"]).arg(in_folder("library.c")).arg("-o").arg(&library));
        let runpath = format!("-Wl,-rpath,{}", folder.path().display());
        run(compiler("gcc", &["-O1", &runpath])
            .args([in_folder("program.c"), library.clone()])
            .arg("-o")
            .arg(&program));
        let script = in_folder("script.gdb");
        let mut export = Command::new(smark());
        let exported = export.args(["export", "--to", "gdb", "--verify", "--force", "-o"]).arg(&script).arg(&library);
        let Output { status, stderr, .. } = tools::output(exported);
        if !status.success() {
            let said = String::from_utf8_lossy(&stderr);
            assert!(is_keyword && said.contains("gdb does not confirm the script"), "{symbol}: {said}");
            continue;
        }
        if fs::read_to_string(&script).expect("a script").contains("by which gdb could find out where it is loaded") {
            assert!(!is_plain, "{symbol}");
            continue;
        }
        // Twice: the breakpoints are set again when the library is loaded again.
        for attempt in 0..4 {
            let mut gdb = bounded_gdb();
            gdb.arg("-x").arg(&script).args(["-ex", "run > /dev/null", "-ex", "run > /dev/null"]).arg(&program);
            let Output { stdout, .. } = tools::output(&mut gdb);
            let said = String::from_utf8_lossy(&stdout);
            if lines(&said) == ["names:library costs $arg0 23"; 2] {
                break;
            }
            assert!(loader_is_probed(&program) || attempt < 3, "{symbol}: {said}");
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
        // In a program that runs, a local variable may have the name: then nothing is set.
        let mut gdb = bounded_gdb();
        gdb.args(["-ex", "break -qualified main"]);
        gdb.args(["-ex", "run > /dev/null", "-ex", "sharedlibrary", "-x"]).arg(&script);
        let said = run(gdb.args(["-ex", "continue"]).arg(&program));
        let is_local = ["ab", "u8", "L"].contains(&symbol);
        let expected = if is_local { &[][..] } else { &["names:library costs $arg0 23"] };
        assert_eq!(lines(&said), expected, "{symbol}: {said}");
    }
}

/// A script does not fit another build: nothing is set there.
#[test]
fn gdb_refuses_another_program() {
    if find("gdb").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for options in [&["-O2"][..], &["-O2", "-no-pie"], &["-O2", "-Wl,--build-id=none"]] {
        let build = |name: &str, extra: &[&str]| {
            let program = folder.path().join(name);
            let mut compile = compiler("gcc", options);
            compile.args(extra).args([source("names.c"), source("names_second.c")]).arg("-o").arg(&program);
            run(&mut compile);
            program
        };
        let program = build("program", &["-DNAMES="]);
        // All of its functions are elsewhere: where one is at the same address, its probe is right.
        let other = build("other", &["-DNAMES=X(1,\"other\")", "-falign-functions=128"]);
        let script = folder.path().join("script.gdb");
        run(Command::new(smark()).args(["export", "--to", "gdb", "--force", "-o"]).arg(&script).arg(&program));
        let mut gdb = Command::new("gdb");
        gdb.args(["-nx", "-batch", "-iex", "set debuginfod enabled off", "-x"]).arg(&script);
        let Output { stdout, stderr, .. } = tools::output(gdb.args(["-ex", "info breakpoints"]).arg(&other));
        let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert!(!stdout.contains("dprintf"), "{stdout}");
        // Where `main` is the same, each place is refused for itself.
        let refusals = ["smark: the script was made for another build", "Cannot access", "Division by zero"];
        assert!(refusals.iter().any(|why| stdout.contains(why) || stderr.contains(why)), "{stdout}{stderr}");
    }
}

#[test]
fn what_verify_needs_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("program");
    run(compiler("gcc", &["-DNAMES="]).args([source("names.c"), source("names_second.c")]).arg("-o").arg(&program));
    let verify = |to: &str, path: &Path| {
        let mut export = Command::new(smark());
        export.args(["export", "--verify", "--to", to]).arg(&program).env("PATH", path);
        let Output { status, stderr, stdout } = tools::output(&mut export);
        assert_eq!((status.code(), stdout.len()), (Some(2), 0));
        String::from_utf8_lossy(&stderr).into_owned()
    };
    let said = verify("gdb", folder.path());
    assert!(said.contains("--verify runs gdb, which is not installed"), "{said}");
    let said = verify("perf", folder.path());
    assert!(said.contains("--verify is for --to gdb"), "{said}");
    // A gdb that sets the breakpoints elsewhere.
    let lies = "#!/bin/sh\nfor i in 2 3 4 5 6 7 8 9; do echo \"smark-verify $i 1234\"; done\n";
    fs::write(folder.path().join("gdb"), lies).expect("a script");
    run(Command::new("chmod").arg("+x").arg(folder.path().join("gdb")));
    let said = verify("gdb", folder.path());
    assert!(
        said.contains("gdb does not confirm the script: names:") && said.contains("gdb's breakpoint is at 0x1234"),
        "{said}"
    );
}
