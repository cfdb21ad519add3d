//! A probe that is off costs two instructions on x86-64, and a span four. Compares the instructions that a function
//! executes while its probes are off with those of the same function without probes, in Rust, C and
//! C++.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use simple_markers_tests::asleep::{asleep, asleep_spans};
use simple_markers_tests::header::{Compiler, Language};
use simple_markers_tests::image::{Code, Function};
use simple_markers_tests::matrix::{Build, Markers, TOOLCHAIN};
use simple_markers_tests::{fixture, tools};

/// The functions of `tests/probes/src/asleep.rs`, and the probes that each passes.
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

/// The functions with spans, and how many each has.
const SPANS: [(&str, usize); 3] = [("spanned", 1), ("span_in_loop", 1), ("nested", 2)];

fn compile(build: &Build<'_>, level: &str) -> PathBuf {
    let options = ["-Cpanic=abort", "-Ccodegen-units=1", "-Cdebuginfo=2", &format!("-Copt-level={level}")];
    let mut command = build.compilation(Path::new("tests/probes/src/asleep.rs"), &options);
    fixture::succeeds_silently(&mut command);
    build.folder().join("libasleep.so")
}

fn named<'a>(code: &'a Code, name: &str) -> &'a Function {
    code.functions().iter().find(|function| function.name == name).unwrap_or_else(|| panic!("no function {name}"))
}

#[test(cases = ["1", "2", "3", "s"], desk = [2])]
fn a_probe_that_is_off_costs_two_instructions(level: &str) {
    let with = TOOLCHAIN.build(Markers::OnWithoutAlloc);
    let without = TOOLCHAIN.build(Markers::Off);
    let image = compile(&with, level);
    let (with, without) = (Code::of(&image), Code::of(&compile(&without, level)));
    for (name, probes) in FUNCTIONS {
        let on = asleep(&with, named(&with, name));
        let off = asleep(&without, named(&without, name));
        let both = || format!("-O{level} {name}\n{on}\nwithout:\n{off}");
        assert_eq!(on.switches.len(), probes, "{}", both());
        assert_eq!(on.work(), off.work() + 2 * probes, "{}", both());
        assert!(on.instructions.len() <= off.instructions.len() + 3 * probes, "{}", both());
        let distinct: BTreeSet<_> = on.switches.iter().collect();
        assert_eq!(distinct.len(), 1, "one switch for all copies: {}", both());
    }
    for (name, spans) in SPANS {
        let on = asleep_spans(&with, named(&with, name));
        let off = asleep_spans(&without, named(&without, name));
        let both = || format!("-O{level} {name}\n{on}\nwithout:\n{off}");
        assert_eq!(on.switches.len(), spans, "{}", both());
        assert!(on.work() <= off.work() + 4 * spans, "{}", both());
    }
    // Every site is anchored, has its values, and the address of a switch.
    let sites = fixture::sites(&image);
    assert_eq!(sites.iter().filter(|site| site.pc != 0).count(), 18, "-O{level}: {sites:?}");
    for site in sites.iter().filter(|site| site.pc != 0) {
        assert_eq!(site.flags & 0b101, 0b101, "{site:?}");
        assert_eq!(with.at(site.pc).map(|at| at.mnemonic.as_str()), Some("nop"), "-O{level}: {site:?}");
    }
}

/// The functions of `tests/probes/src/asleep.c`, and the probes that each passes.
const C_FUNCTIONS: [(&str, usize); 11] = [
    ("none", 1),
    ("plain", 1),
    ("computed", 1),
    ("floats", 1),
    ("text", 1),
    ("five", 1),
    ("eight", 1),
    ("one_arm", 1),
    ("summed", 1),
    ("followed", 1),
    ("copies", 3),
];

fn compile_c(compiler: Compiler, language: Language, options: &[&str], folder: &Path) -> PathBuf {
    let image = folder.join(format!("asleep{}", options.concat()));
    let mut command = compiler.command(language);
    command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-fno-unroll-loops"]);
    match language {
        Language::C => command.arg("-std=c99"),
        Language::Cxx => command.args(["-std=c++11", "-x", "c++"]),
    };
    command.args(options).arg("tests/probes/src/asleep.c").arg("-o").arg(&image);
    fixture::succeeds_silently(&mut command);
    image
}

const SHARED: [&str; 2] = ["-fPIC", "-shared"];
const FIXED: [&str; 4] = ["-fno-pic", "-static", "-nostdlib", "-Wl,-e,none"];

fn is_off_in_two_instructions(compiler: Compiler) {
    if tools::find(compiler.name()).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let shared = |level: &'static str| (Language::C, [&[level][..], &SHARED].concat());
    let mut builds: Vec<_> = ["-O1", "-O2", "-O3", "-Os"].into_iter().map(shared).collect();
    builds.push((Language::Cxx, [&["-O2"][..], &SHARED].concat()));
    builds.push((Language::C, [&["-O2", "-masm=intel"][..], &FIXED].concat()));
    builds.push((Language::C, [&["-O2", "-mcmodel=large"][..], &FIXED].concat()));
    for (language, mut options) in tools::slice(&format!("{} probe that is off", compiler.name()), &builds, &[0, 4]) {
        let what = format!("{} {language} {options:?}", compiler.name());
        let image = compile_c(compiler, language, &options, folder.path());
        options.push("-DSIMPLE_MARKER_OFF");
        let (with, without) = (Code::of(&image), Code::of(&compile_c(compiler, language, &options, folder.path())));
        for (name, probes) in C_FUNCTIONS {
            let (on, off) = (asleep(&with, named(&with, name)), asleep(&without, named(&without, name)));
            let both = || format!("{what} {name}\n{on}\nwithout:\n{off}");
            assert_eq!(on.switches.len(), probes, "{}", both());
            assert_eq!(on.work(), off.work() + 2 * probes, "{}", both());
            assert!(on.instructions.len() <= off.instructions.len() + 3 * probes, "{}", both());
            let distinct: BTreeSet<_> = on.switches.iter().collect();
            assert_eq!(distinct.len(), 1, "one switch for all copies: {}", both());
        }
        // clang tests what it loads from the switch with an instruction of its own, unless it does not test
        // it at the end again.
        let each = if compiler == Compiler::Clang { 5 } else { 4 };
        for (name, spans) in SPANS {
            let (on, off) = (asleep_spans(&with, named(&with, name)), asleep_spans(&without, named(&without, name)));
            let both = || format!("{what} {name}\n{on}\nwithout:\n{off}");
            assert_eq!(on.switches.len(), spans, "{}", both());
            assert!(on.work() <= off.work() + each * spans, "{}", both());
        }
    }
}

#[test]
fn a_probe_of_gcc_that_is_off_costs_two_instructions() {
    is_off_in_two_instructions(Compiler::Gcc);
}

#[test]
fn a_probe_of_clang_that_is_off_costs_two_instructions() {
    is_off_in_two_instructions(Compiler::Clang);
}
