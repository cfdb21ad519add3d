//! Emulated computers: the resolver's arguments, scopes and exactness for C programs by gcc and
//! clang, compared with gdb at each site, as `differential` and `exactness` do on this computer.

use simple_markers_tests::computer::Computer;
use simple_markers_tests::differential::{c_programs, conclude, examine_all};
use simple_markers_tests::exactness::{self, JOINS, TABLES};
use simple_markers_tests::header::Compiler;
use simple_markers_tests::tools;

/// Signs return addresses and puts landing pads (`bti`) at the targets of indirect jumps.
const PROTECTED: &str = "-mbranch-protection=standard";

/// Saves and restores registers in functions that are jumped to, without a return address in `ra`.
const OUTLINED: &str = "-msave-restore";

/// The option that is tried on a processor.
fn special(computer: Computer) -> &'static str {
    if computer == Computer::Riscv64 { OUTLINED } else { PROTECTED }
}

fn c_is_as_gdb_reads_it(computer: Computer, compiler: Compiler) {
    if !computer.has(compiler) {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let special = ["-gdwarf-4", special(computer)];
    let builds: [(&str, &[&str]); 7] = [
        ("-O0", &[]),
        ("-O1", &[]),
        ("-O2", &[]),
        ("-O3", &[]),
        ("-Os", &[]),
        ("-O2", &special),
        ("-O2", &["-no-pie", "-fno-pie", "-fomit-frame-pointer"]),
    ];
    let picked: &[usize] = if compiler == Compiler::Gcc { &[2] } else { &[6] };
    let name = format!("{} {}", computer.name().unwrap_or_default(), compiler.name());
    let builds = tools::slice(&name, &builds, picked);
    conclude(&examine_all(&c_programs(computer, compiler, &builds, folder.path())), 400);
}

#[test(desk = false)]
fn what_gcc_describes_on_aarch64_is_as_gdb_reads_it() {
    c_is_as_gdb_reads_it(Computer::Aarch64, Compiler::Gcc);
}

#[test]
fn what_clang_describes_on_aarch64_is_as_gdb_reads_it() {
    c_is_as_gdb_reads_it(Computer::Aarch64, Compiler::Clang);
}

#[test]
fn what_gcc_describes_on_riscv64_is_as_gdb_reads_it() {
    c_is_as_gdb_reads_it(Computer::Riscv64, Compiler::Gcc);
}

#[test(desk = false)]
fn what_clang_describes_on_riscv64_is_as_gdb_reads_it() {
    c_is_as_gdb_reads_it(Computer::Riscv64, Compiler::Clang);
}

/// Counts the hits of JOINS and TABLES, and returns how many sites there are, and how many of them are
/// unproven.
fn exact_is_hit_as_often_as_passed(computer: Computer) -> (usize, usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let special = ["-O2", special(computer)];
    let builds: [&[&str]; 7] =
        [&["-O0"], &["-O1"], &["-O2"], &["-O3"], &["-Os"], &special, &["-Os", "-fno-pie", "-no-pie"]];
    let mut all = (0, 0);
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        if !computer.has(compiler) {
            continue;
        }
        let picked: &[usize] = if compiler == Compiler::Gcc { &[5] } else { &[3] };
        let name = format!("{} exactness {}", computer.name().unwrap_or_default(), compiler.name());
        for options in tools::slice(&name, &builds, picked) {
            for source in [JOINS, TABLES] {
                let program = exactness::compile(computer, compiler, source, options, folder.path());
                program.holds();
                program.is_as_before_linking();
                let (sites, unproven) = program.unproven();
                all = (all.0 + sites, all.1 + unproven);
            }
        }
    }
    note!("{} of {} sites unproven", all.1, all.0);
    all
}

#[test]
fn what_is_exact_on_aarch64_is_hit_as_often_as_the_marker_is_passed() {
    let (sites, unproven) = exact_is_hit_as_often_as_passed(Computer::Aarch64);
    assert!(unproven * 20 < sites || sites == 0, "{unproven} of {sites} sites unproven");
}

#[test]
fn what_is_exact_on_riscv64_is_hit_as_often_as_the_marker_is_passed() {
    let (sites, unproven) = exact_is_hit_as_often_as_passed(Computer::Riscv64);
    assert!(unproven * 20 < sites || sites == 0, "{unproven} of {sites} sites unproven");
}
