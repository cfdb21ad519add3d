//! Compares the resolver's arguments and scopes with gdb and `llvm-dwarfdump`: programs in Rust and
//! C, by rustc, gcc and clang, at several optimisation levels and DWARF versions, stopped at each
//! site (`tests/src/differential.rs`).

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use simple_markers_resolver::location::{Expr, Location, Node, Source, ValueType};
use simple_markers_resolver::resolve::{Resolution, SitePlace, Verdict};
use simple_markers_tests::computer::Computer;
use simple_markers_tests::differential::{
    Program, c_programs, compile, conclude, examine, examine_all, expected, in_path, values,
};
use simple_markers_tests::dwarfdump::{self, At, Dump};
use simple_markers_tests::header::Compiler;
use simple_markers_tests::matrix::{Markers, Toolchain};
use simple_markers_tests::second_opinion::resolve;
use simple_markers_tests::{fixture, tools};

const C: [(&str, &[&str]); 11] = [
    ("-O0", &[]),
    ("-O1", &[]),
    ("-O2", &[]),
    ("-O3", &[]),
    ("-Os", &[]),
    ("-O2", &["-gdwarf-2"]),
    ("-O2", &["-gdwarf-3"]),
    ("-O2", &["-gdwarf-4"]),
    ("-O2", &["-no-pie", "-fno-pie"]),
    ("-O2", &["-gdwarf64"]),
    ("-O0", &["-gdwarf-3", "-fomit-frame-pointer"]),
];

/// Optimisation level and DWARF version.
const RUST: [(&str, &str); 8] =
    [("0", "4"), ("1", "4"), ("2", "4"), ("3", "4"), ("s", "4"), ("2", "2"), ("2", "5"), ("0", "5")];

/// The programs of [`C`] that a slice has for each compiler.
fn picked(compiler: Compiler) -> &'static [usize] {
    match compiler {
        Compiler::Gcc => &[5, 10],
        Compiler::Clang => &[3, 4],
    }
}

fn c_is_as_gdb_reads_it(compiler: Compiler) {
    if !Computer::Here.has(compiler) {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let builds = tools::slice(&format!("differential {}", compiler.name()), &C, picked(compiler));
    conclude(&examine_all(&c_programs(Computer::Here, compiler, &builds, folder.path())), 500);
}

#[test(desk = false)]
fn what_gcc_describes_is_as_gdb_reads_it() {
    c_is_as_gdb_reads_it(Compiler::Gcc);
}

#[test]
fn what_clang_describes_is_as_gdb_reads_it() {
    c_is_as_gdb_reads_it(Compiler::Clang);
}

#[test]
fn what_rustc_describes_is_as_gdb_reads_it() {
    if tools::find("gdb").is_none() {
        return;
    }
    let toolchain = Toolchain::new();
    let build = toolchain.build(Markers::On);
    let mut programs = Vec::new();
    for source in values(".rs") {
        let text = fs::read_to_string(fixture::workspace().join(&source)).expect("a source");
        for (level, version) in tools::slice(&format!("differential {source}"), &RUST, &[0, 6]) {
            let name =
                format!("{}_{level}_{version}", Path::new(&source).file_stem().expect("a name").to_string_lossy());
            let options = [
                format!("-Copt-level={level}"),
                "-Cdebuginfo=2".to_owned(),
                format!("-Cdwarf-version={version}"),
                format!("--crate-name={name}"),
            ];
            let options: Vec<_> = options.iter().map(String::as_str).collect();
            let image = build.folder().join(&name);
            fixture::succeeds_silently(&mut build.compilation(Path::new(&source), &options));
            let row = format!("rustc {level} DWARF {version}");
            programs.push(Program {
                row,
                image,
                computer: Computer::Here,
                expected: expected(&text),
                is_plain: level == "0",
            });
        }
    }
    for level in tools::slice("differential examples", &["0", "2", "3"], &[2]) {
        for image in examples(level) {
            let row = format!("rustc {level} DWARF 4");
            programs.push(Program { row, image, computer: Computer::Here, expected: HashMap::new(), is_plain: false });
        }
    }
    conclude(&examine_all(&programs), 500);
}

/// The Rust examples, built by cargo at an optimisation level: two programs, and a library for the
/// example in C.
fn examples(level: &str) -> [PathBuf; 3] {
    // The profile `demo` has level 3, and other tests build the examples with it too.
    let profile = if level == "3" { "demo".to_owned() } else { format!("differential-{level}") };
    let inherits = if level == "0" { "dev" } else { "release" };
    let mut settings = Vec::new();
    if level != "3" {
        settings.push(format!("profile.{profile}.inherits={inherits:?}"));
        settings.push(format!("profile.{profile}.debug=\"full\""));
        settings.push(format!("profile.{profile}.opt-level={level}"));
    }
    let mut options = vec!["--offline", "--profile", &profile];
    settings.iter().for_each(|setting| options.extend(["--config", setting]));
    let packages = ["--package", "constructs", "--package", "io-queue"];
    let folder = fixture::build(&[&options[..], &packages].concat()).join(&profile);
    let mut library = fixture::cargo();
    library.current_dir(fixture::workspace()).env("CARGO_TARGET_DIR", fixture::target()).args(["rustc", "--quiet"]);
    library.args(&options).args(["--package", "ringlog", "--lib", "--crate-type", "staticlib"]);
    tools::run(&mut library);
    let ringlog = folder.join("ringlog-linked");
    let mut link = Command::new("gcc");
    link.current_dir(fixture::workspace()).args([
        "-g",
        "-O2",
        "-I",
        "examples/ringlog/include",
        "examples/ringlog/main.c",
    ]);
    link.arg(folder.join("libringlog.a")).args(["-pthread", "-ldl", "-lm", "-o"]).arg(&ringlog);
    tools::run(&mut link);
    [folder.join("constructs"), folder.join("io-queue"), ringlog]
}

/// Resolves a program, and replaces the location of each number that is a variable with a simple
/// location in the dump by one from `change`.
fn stand_in(program: &Program, change: impl Fn(Location) -> Location) -> impl Fn(&[u8]) -> Resolution {
    let dump = Dump::of(&in_path("llvm-dwarfdump-14").expect("a dump"), &program.image);
    let path = program.image.to_string_lossy().into_owned();
    move |bytes| {
        let mut resolution = resolve(&path, bytes);
        for marker in &mut resolution.images[0].markers {
            for site in &mut marker.sites {
                let (Some(function), Some(SitePlace::Address(at))) = (site.function.clone(), &site.place) else {
                    continue;
                };
                for (argument, declared) in site.args.iter_mut().zip(&*marker.args) {
                    argument.verdict = None;
                    // Not everything that these markers print as an integer has its size.
                    let mixed = ["registers:parameters", "registers:folded"].contains(&&*marker.name);
                    if declared.conversion.as_deref() != Some("%d") || mixed {
                        continue;
                    }
                    match dump.variable(&argument.text, marker.line, &function, at.0, false) {
                        At::Operations(operations, base) => {
                            argument.location = dwarfdump::location(&operations, base.as_deref()).map(&change);
                            argument.verdict = argument.location.as_ref().map(|_| Verdict::Live);
                            argument.size = Some(4);
                        }
                        At::Nothing => argument.verdict = Some(Verdict::Lost),
                        _ => {}
                    }
                }
            }
        }
        resolution
    }
}

/// The comparison accepts right answers, and reports each wrong one.
#[test]
fn wrong_answers_are_found() {
    if tools::find("gdb").is_none() || tools::find("llvm-dwarfdump-14").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (compiler, options) in [(Compiler::Gcc, "-O2"), (Compiler::Clang, "-O0"), (Compiler::Clang, "-O2")] {
        if tools::find(compiler.name()).is_none() {
            return;
        }
        let source = "tests/values/registers.c";
        let image = compile(Computer::Here, compiler, &[source], &[options], folder.path());
        let expected = expected(&fs::read_to_string(fixture::workspace().join(source)).expect("a source"));
        let program = Program {
            row: format!("{} {options}", compiler.name()),
            image,
            computer: Computer::Here,
            expected,
            is_plain: false,
        };
        let right = examine(&program, None, stand_in(&program, |location| location));
        note!("{right}");
        assert_eq!(right.complaints, Vec::<String>::new(), "{}", program.row);
        assert!(right.values >= 15 && right.expected >= 15, "{}: {right}", program.row);
        let one_more = |value: Expr| Location::whole(Source::Value(value.plus(1).expect("light")));
        let to = ValueType::Generic;
        let elsewhere = |location: Location| match location.source() {
            Some(Source::Register(register)) => one_more(Expr::new(Node::Register(*register, to)).expect("light")),
            Some(Source::Memory(address)) => {
                one_more(Expr::new(Node::Memory { address: address.clone(), size: 8, to }).expect("light"))
            }
            Some(Source::Value(value)) => one_more(value.clone()),
            _ => location,
        };
        let wrong = examine(&program, None, stand_in(&program, elsewhere));
        assert_eq!(wrong.values, 0, "{}: {wrong}", program.row);
        assert!(wrong.complaints.len() >= right.comparisons, "{}: {wrong}", program.row);
    }
}
