//! Emulated AArch64: the resolver's arguments, scopes and exactness for C programs by gcc and
//! clang, compared with gdb at each site, as `differential` and `exactness` do on this computer.

use simple_markers_tests::computer::Computer;
use simple_markers_tests::differential::{c_programs, conclude, examine_all};
use simple_markers_tests::exactness::{self, JOINS, TABLES};
use simple_markers_tests::header::Compiler;
use simple_markers_tests::tools;

/// Signs return addresses and puts landing pads (`bti`) at the targets of indirect jumps.
const PROTECTED: &str = "-mbranch-protection=standard";

const BUILDS: [(&str, &[&str]); 7] = [
    ("-O0", &[]),
    ("-O1", &[]),
    ("-O2", &[]),
    ("-O3", &[]),
    ("-Os", &[]),
    ("-O2", &["-gdwarf-4", PROTECTED]),
    ("-O2", &["-no-pie", "-fno-pie", "-fomit-frame-pointer"]),
];

fn c_is_as_gdb_reads_it(compiler: Compiler) {
    if !Computer::Aarch64.has(compiler) {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let picked: &[usize] = if compiler == Compiler::Gcc { &[2] } else { &[6] };
    let builds = tools::slice(&format!("aarch64 {}", compiler.name()), &BUILDS, picked);
    conclude(&examine_all(&c_programs(Computer::Aarch64, compiler, &builds, folder.path())), 400);
}

#[test]
fn what_gcc_describes_is_as_gdb_reads_it() {
    c_is_as_gdb_reads_it(Compiler::Gcc);
}

#[test]
fn what_clang_describes_is_as_gdb_reads_it() {
    c_is_as_gdb_reads_it(Compiler::Clang);
}

const EXACTNESS: [&[&str]; 7] =
    [&["-O0"], &["-O1"], &["-O2"], &["-O3"], &["-Os"], &["-O2", PROTECTED], &["-Os", "-fno-pie", "-no-pie"]];

#[test]
fn what_is_exact_is_hit_as_often_as_the_marker_is_passed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut all = (0, 0);
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        if !Computer::Aarch64.has(compiler) {
            continue;
        }
        let picked: &[usize] = if compiler == Compiler::Gcc { &[4, 5] } else { &[0, 3] };
        for options in tools::slice(&format!("aarch64 exactness {}", compiler.name()), &EXACTNESS, picked) {
            for source in [JOINS, TABLES] {
                let program = exactness::compile(Computer::Aarch64, compiler, source, options, folder.path());
                program.holds();
                program.is_as_before_linking();
                let (sites, unproven) = program.unproven();
                all = (all.0 + sites, all.1 + unproven);
            }
        }
    }
    note!("{} of {} sites unproven", all.1, all.0);
    assert!(all.1 * 20 < all.0 || all.0 == 0, "{} of {} sites unproven", all.1, all.0);
}
