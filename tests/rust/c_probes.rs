//! Probes in C and C++: all copies of a probe have one switch, also those of other files and behind a
//! link-time optimiser; what is dropped takes its switch with it; on AArch64 the test takes three
//! instructions and the values are at the site; the static library records; and spans end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use simple_markers_tests::computer::Computer;
use simple_markers_tests::header::{self, Compiler, Language, Source, with_each};
use simple_markers_tests::{fixture, tools};
use tempfile::TempDir;

use crate::header::{compare, hits};

const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// Compiles each of `sources` and links them.
fn build(compiler: Compiler, sources: &[&str], options: &[&str], linking: &[&str], folder: &Path) -> PathBuf {
    let mut objects = Vec::new();
    for source in sources {
        let (language, standard) = match source.ends_with(".cc") {
            true => (Language::Cxx, "-std=c++11"),
            false => (Language::C, "-std=c99"),
        };
        let object = folder.join(source.replace('/', "-")).with_extension("o");
        let mut command = compiler.command(language);
        command.args(STRICT).args(["-g", standard, "-c", source, "-o"]).arg(&object).args(options);
        fixture::succeeds_silently(&mut command);
        objects.push(object);
    }
    let image = folder.join("image");
    let mut command = compiler.command(Language::Cxx);
    fixture::succeeds_silently(command.args(&objects).args(options).args(linking).arg("-o").arg(&image));
    image
}

const DROPPING: &str = "-Wl,--gc-sections";

/// The options of a build, and those of its linking.
const BUILDS: [(&[&str], &[&str]); 9] = [
    (&["-O0"], &[]),
    (&["-O2"], &[]),
    (&["-O3", "-fPIC"], &[DROPPING]),
    (&["-Os"], &[]),
    (&["-O2", "-ffunction-sections"], &[DROPPING]),
    (&["-O2", "-ffunction-sections"], &[DROPPING, "-fuse-ld=lld"]),
    (&["-O2", "-ffunction-sections"], &[DROPPING, "-fuse-ld=mold"]),
    (&["-O0", "-flto"], &[]),
    (&["-O2", "-flto"], &[]),
];

/// The same for gcc's and clang's other ways to divide a program that is optimised as a whole. lld
/// leaves a descriptor from each part, but only one is used.
const GCC_BUILDS: [(&[&str], &[&str]); 1] = [(&["-O2", "-flto", "-flto-partition=1to1", "-flto=2"], &[])];
const CLANG_BUILDS: [(&[&str], &[&str]); 1] = [(&["-O2", "-flto=thin"], &[DROPPING])];

fn copies_share_a_switch(compiler: Compiler) {
    if tools::find(compiler.name()).is_none() {
        return;
    }
    let sources = ["tests/probes/copies/main.cc", "tests/probes/copies/other.cc", "tests/probes/copies/third.c"];
    let own: &[(&[&str], &[&str])] = if compiler == Compiler::Gcc { &GCC_BUILDS } else { &CLANG_BUILDS };
    let all: Vec<_> = BUILDS.iter().chain(own).collect();
    let mut built = 0;
    // An ordinary one, and one with link-time optimisation.
    for (options, linking) in tools::slice(&format!("{} copies", compiler.name()), &all, &[1, BUILDS.len()]) {
        let mut linking = linking.to_vec();
        if compiler == Compiler::Clang && options.iter().any(|option| option.starts_with("-flto")) {
            linking.push("-fuse-ld=lld");
        }
        let linker = linking.iter().find_map(|option| option.strip_prefix("-fuse-ld="));
        if linker.is_some_and(|linker| tools::find(&format!("ld.{linker}")).is_none()) {
            continue;
        }
        let folder = TempDir::new().expect("a folder");
        let options = [&["-DSIMPLE_MARKER_RECORDER"][..], options].concat();
        let image = build(compiler, &sources, &options, &linking, folder.path());
        let what = format!("{} {options:?} {linking:?}", compiler.name());
        // It switches each probe on alone, and counts.
        let status = Command::new(&image).status().expect("the program starts");
        assert!(status.success(), "{what}: {status}");
        let symbols: BTreeMap<_, _> =
            header::symbols(&image).into_iter().map(|symbol| (symbol.start, symbol.name)).collect();
        let mut switches: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for site in fixture::sites(&image).into_iter().filter(|site| site.pc != 0) {
            let switch = site.switch.expect("a probe has a switch");
            let expected = format!("simple_probe:{}:{}:{}", site.name, site.line, site.file);
            assert_eq!(symbols.get(&switch), Some(&expected), "{what}");
            switches.entry(expected).or_default().insert(switch);
        }
        assert!(switches.values().all(|switches| switches.len() == 1), "{what}: {switches:?}");
        let dropped = switches.keys().filter(|name| name.contains(":dropped:")).count();
        assert_eq!(switches.len() - dropped, 9, "{what}: {switches:?}");
        built += 1;
    }
    let least = if tools::tries_everything() { 6 } else { 1 };
    assert!(built >= least, "{built} builds");
}

#[test]
fn copies_of_gcc_share_a_switch() {
    copies_share_a_switch(Compiler::Gcc);
}

#[test]
fn copies_of_clang_share_a_switch() {
    copies_share_a_switch(Compiler::Clang);
}

/// A program that does not look at its own probes: nothing but the functions needs the descriptors.
#[test(cases = with_each(["bfd", "lld", "mold"]))]
fn what_is_dropped_takes_its_switch_with_it((compiler, linker): (Compiler, &str)) {
    const TEXT: &str = "#include <simple_marker.h>\n\
        int dead(int a) { simple_probe(drop:dead, \"%d %s\", a, \"text\"); return a; }\n\
        int main(void) { simple_probe(drop:live, \"%d\", 1); return 0; }\n";
    if tools::find(compiler.name()).is_none() || tools::find(&format!("ld.{linker}")).is_none() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let source = folder.path().join("drop.c");
    std::fs::write(&source, TEXT).expect("a source");
    let image = folder.path().join("image");
    let mut command = compiler.command(Language::C);
    command.args(["-O2", "-ffunction-sections", DROPPING, &format!("-fuse-ld={linker}"), "-o"]);
    fixture::succeeds_silently(command.arg(&image).arg(&source));
    let symbols = header::symbols(&image).into_iter().map(|symbol| symbol.name);
    let names: Vec<_> = symbols.filter(|name| name.starts_with("simple_probe:") || name == "dead").collect();
    // mold drops no section whose name is an identifier of C.
    let expected = if linker == "mold" { vec!["dead:2", "live:3"] } else { vec!["live:3"] };
    let expected = expected.iter().map(|rest| format!("simple_probe:drop:{rest}:{}", source.display()));
    assert!(names.iter().cloned().eq(expected), "{} {linker}: {names:?}", compiler.name());
    let live = fixture::sites(&image).into_iter().filter(|site| site.pc != 0).map(|site| site.name);
    assert_eq!(live.collect::<Vec<_>>(), ["drop:live"], "{} {linker}", compiler.name());
}

/// What a function without branches of its own executes while its probes are off.
fn asleep(image: &Path, name: &str) -> Vec<String> {
    let symbol = header::symbols(image).into_iter().find(|symbol| symbol.name == name).expect("a function");
    let instructions = header::instructions("aarch64-linux-gnu-objdump", image);
    let mut executed = Vec::new();
    let mut address = symbol.start;
    loop {
        let text = &instructions[&address];
        executed.push(text.clone());
        address += 4;
        if text == "ret" {
            return executed;
        }
        // gcc -Os jumps over what it does if the probe is on.
        if let Some((_, target)) = text.strip_prefix("cbz").and_then(|operands| operands.split_once(", ")) {
            let target = target.split(' ').next().unwrap_or_default();
            address = u64::from_str_radix(target, 16).expect("an address");
        }
    }
}

#[test(cases = with_each(["-O1", "-O2", "-O3", "-Os"]), desk = [1, 5])]
fn aarch64_tests_a_switch_in_three_instructions((compiler, level): (Compiler, &str)) {
    if !Computer::Aarch64.has(compiler) {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let compile = |more: &[&str]| {
        let image = folder.path().join(format!("asleep{}.so", more.concat()));
        let mut command = Computer::Aarch64.compilation(compiler, Language::C);
        command.args(STRICT).args(["-std=c99", level, "-fPIC", "-shared", "-nostdlib"]).args(more);
        fixture::succeeds_silently(command.arg("tests/probes/src/asleep.c").arg("-o").arg(&image));
        image
    };
    let (with, without) = (compile(&[]), compile(&["-DSIMPLE_MARKER_OFF"]));
    for name in ["none", "plain", "floats", "five"] {
        let (with, without) = (asleep(&with, name), asleep(&without, name));
        let what = format!("{} {level} {name}: {with:?} and {without:?}", compiler.name());
        assert!(with.len() - without.len() <= 4, "{what}");
        let work = |texts: &[String]| texts.iter().filter(|text| !text.starts_with("mov")).count();
        assert_eq!(work(&with), work(&without) + 3, "{what}");
    }
}

#[test(cases = with_each(["-O0", "-O2"]))]
fn gdb_reads_the_values_of_probes_on_aarch64((compiler, level): (Compiler, &str)) {
    if !Computer::Aarch64.has(compiler) {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let source = Source::new("tests/c/probe.c");
    let image = folder.path().join("probe");
    let mut command = Computer::Aarch64.compilation(compiler, Language::C);
    command.args(STRICT).args(["-std=c11", level, "-g", "-static", "-o"]).arg(&image);
    fixture::succeeds_silently(command.arg(&source.path));
    let status = Computer::Aarch64.runs(&image).status().expect("the program starts");
    assert!(status.success(), "{} {level}: {status}", compiler.name());
    let hits = hits(Computer::Aarch64, &image, folder.path());
    let read = compare(&source, &hits, &format!("aarch64 {} {level}", compiler.name()));
    assert_eq!(read, 13, "the values that were read");
}

/// What a probe gives the recorder, and what the recorder may change.
#[test(cases = with_each(["-O0", "-O1", "-O2", "-O3", "-Os"]), desk = [2, 7])]
fn probes_give_the_recorder_their_words_on_aarch64((compiler, level): (Compiler, &str)) {
    if !Computer::Aarch64.has(compiler) {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let image = folder.path().join("words");
    for more in [&["-std=c11"][..], &["-std=c11", "-fPIC", "-pie"]] {
        let mut command = Computer::Aarch64.compilation(compiler, Language::C);
        command.args(STRICT).args(more).args([level, "-g", "-DSIMPLE_MARKER_RECORDER", "-o"]).arg(&image);
        fixture::succeeds_silently(command.arg("tests/c/probe_words.c"));
        let status = Computer::Aarch64.runs(&image).status().expect("the program starts");
        assert!(status.success(), "{} {level} {more:?}: {status}", compiler.name());
    }
}

/// No standard that the header supports warns.
#[test]
fn every_standard_compiles_probes() {
    const C: [&str; 5] = ["c99", "gnu99", "c11", "c17", "c2x"];
    const CXX: [&str; 4] = ["c++11", "c++14", "c++17", "c++20"];
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        if tools::find(compiler.name()).is_none() {
            continue;
        }
        let of = |language, standards: &'static [&'static str]| standards.iter().map(move |name| (language, *name));
        let all: Vec<_> = of(Language::C, &C).chain(of(Language::Cxx, &CXX)).collect();
        for (language, standard) in tools::slice(&format!("{} probes", compiler.name()), &all, &[0, 5]) {
            for more in [&["-DSIMPLE_MARKER_RECORDER", "-Wdeclaration-after-statement"][..], &["-DSIMPLE_MARKER_OFF"]] {
                let mut command = compiler.command(language);
                command.args(STRICT).args(["-Wshadow", &format!("-std={standard}"), "-O1", "-c", "-o", "/dev/null"]);
                // A declaration after a statement is what C++ has always had.
                command.args(more.iter().filter(|name| language == Language::C || name.starts_with("-D")));
                command.args(["-x", if language == Language::C { "c" } else { "c++" }, "tests/probes/src/asleep.c"]);
                fixture::succeeds_silently(&mut command);
            }
        }
    }
}

/// Targets without a test of their own load the switch. The program arms its probes itself.
#[test]
fn other_targets_load_the_switch() {
    // Debian puts headers that 64-bit and 32-bit share in a folder that -m32 does not search.
    const I686: [&str; 3] = ["gcc", "-m32", "-idirafter/usr/include/x86_64-linux-gnu"];
    const RISCV64: [&str; 1] = ["riscv64-linux-gnu-gcc"];
    // gcc 5 and clang 9 have no processor flags as outputs.
    const GCC_5: [&str; 2] = ["gcc", "-U__GCC_ASM_FLAG_OUTPUTS__"];
    const CLANG_9: [&str; 2] = ["clang", "-U__GCC_ASM_FLAG_OUTPUTS__"];
    let riscv = ["qemu-riscv64", "-L", "/usr/riscv64-linux-gnu"];
    let targets: [(&[&str], &[&str], u8); 4] =
        [(&I686, &[], 4), (&RISCV64, &riscv, 8), (&GCC_5, &[], 8), (&CLANG_9, &[], 8)];
    for (compiler, runner, address_size) in targets {
        let needed = [compiler[0]].into_iter().chain(runner.first().copied());
        if needed.filter(|tool| tools::find(tool).is_none()).count() > 0 || !header::links(compiler) {
            continue;
        }
        for options in [&["-O0"][..], &["-O2"], &["-O2", "-fPIC"]] {
            let folder = TempDir::new().expect("a folder");
            let image = folder.path().join("probe");
            let mut command = Command::new(compiler[0]);
            command.args(&compiler[1..]).current_dir(fixture::workspace()).args(STRICT).args(options);
            command.args(["-std=c11", "-g", "-I", "markers/include", "tests/c/probe.c", "-o"]);
            fixture::succeeds_silently(command.arg(&image));
            let mut words = runner.iter().map(std::ffi::OsStr::new).chain([image.as_os_str()]);
            tools::run(Command::new(words.next().expect("a program")).args(words));
            let sites = fixture::sites(&image);
            assert!(sites.len() >= 4, "{compiler:?} {options:?}: {sites:?}");
            let switches: BTreeSet<_> = sites.iter().map(|site| (site.address_size, site.switch)).collect();
            assert_eq!(switches.len(), 4, "{compiler:?} {options:?}: {sites:?}");
            assert!(switches.iter().all(|(size, switch)| *size == address_size && switch.is_some_and(|at| at != 0)));
        }
    }
}

/// The events that babeltrace2 prints: name and fields, without times, threads and lengths of texts.
fn events(recording: &Path) -> Vec<String> {
    let printed = tools::run(Command::new("babeltrace2").arg(recording));
    let (context, length) =
        (Regex::new(r"^.*?\) (\S+): .*\}, (\{.*\})$"), Regex::new(r"\w+__(?:stored|length) = \d+, "));
    let (context, length) = (context.expect("a pattern"), length.expect("a pattern"));
    let event = |line: &str| length.replace_all(&context.replace(line, "$1 $2"), "").into_owned();
    printed.lines().map(event).collect()
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn the_static_library_records() {
    if tools::find("babeltrace2").is_none() {
        return;
    }
    let target = fixture::build(&["-p", "simple-markers-c"]);
    let library = target.join("debug/libsimple_marker.a");
    let expected = |name: &str| {
        let text = "x".repeat(256);
        let mut lines = Vec::new();
        for (n, g) in ["short", &text, "short"].into_iter().enumerate() {
            let (a, d) = (-(n as i64), -5_000_000_000 - n as i64);
            lines.push(format!(
                "library:all {{ a = {a}, b = 65535, c = 4000000000, d = {d}, e = 1.5, f = 2.25, g = \"{g}\", h = 0x1234 }}"
            ));
            lines.push("library:none { }".to_owned());
        }
        lines.push("library:level { l = -2, none = \"\", constant = \"constant\" }".to_owned());
        lines.retain(|line| line.starts_with(name));
        lines
    };
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        if tools::find(compiler.name()).is_none() {
            continue;
        }
        for level in ["-O0", "-O2"] {
            let folder = TempDir::new().expect("a folder");
            let library = library.to_str().expect("UTF-8");
            let image = build(
                compiler,
                &["tests/probes/recorded.c"],
                &[level, "-DSIMPLE_MARKER_RECORDER"],
                &[library],
                folder.path(),
            );
            for (pattern, name) in [("*", "library:"), ("library:n*", "library:none")] {
                let recording = folder.path().join(name);
                let mut command = Command::new(&image);
                command.env("SIMPLE_MARKERS_RECORD", pattern).env("SIMPLE_MARKERS_OUTPUT", &recording);
                tools::run(&mut command);
                assert_eq!(events(&recording), expected(name), "{} {level} {pattern}", compiler.name());
            }
        }
    }
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn the_static_library_calls_handlers() {
    let library = fixture::build(&["-p", "simple-markers-c"]).join("debug/libsimple_marker.a");
    let arguments = r#"((signed char)-n, 4000000000u, n / 4.0f, "text", (void *)0x1234)"#;
    let all = |handler: u32, n: u32| {
        let values = format!("i-{n} u4000000000 f{} stext p0x1234", f64::from(n) / 4.0);
        format!(r#"{handler}: handled:all "%hhd %u %f %s %p" {arguments} handled.c:22 {values}"#)
    };
    let none = r#"1: handled:none "none" () handled.c:23"#.to_owned();
    let text = str::to_owned;
    let expected =
        [text("2"), all(1, 1), none.clone(), text("1"), all(2, 2), none.clone(), text("1"), none, text("0 -1")];
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        if tools::find(compiler.name()).is_none() {
            continue;
        }
        let folder = TempDir::new().expect("a folder");
        let library = library.to_str().expect("UTF-8");
        let options = ["-O2", "-DSIMPLE_MARKER_RECORDER"];
        let image = build(compiler, &["tests/probes/handled.c"], &options, &[library], folder.path());
        let printed = tools::run(&mut Command::new(image));
        assert_eq!(printed.lines().collect::<Vec<_>>(), expected, "{}", compiler.name());
    }
}

/// The begins and ends of spans that the program printed, and those that it recorded.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn printed_and_recorded(image: &Path, recording: &Path) -> (Vec<String>, Vec<String>) {
    let mut command = Command::new(image);
    command.env("SIMPLE_MARKERS_RECORD", "spans:*").env("SIMPLE_MARKERS_OUTPUT", recording);
    let printed = tools::run(&mut command).lines().map(str::to_owned).collect();
    let [begin, end] = [r"^spans:(\w+)_begin \{ id = (\d+), \w+ = (\d+) \}$", r"^spans:(\w+)_end \{ id = (\d+) \}$"]
        .map(|pattern| Regex::new(pattern).expect("a pattern"));
    let mut open: BTreeMap<String, String> = BTreeMap::new();
    let recorded = events(recording).into_iter().map(|event| match (begin.captures(&event), end.captures(&event)) {
        (Some(begin), _) => {
            let span = format!("{} {}", &begin[1], &begin[3]);
            assert_eq!(open.insert(begin[2].to_owned(), span.clone()), None, "{event}: two spans have the id");
            format!("begin {span}")
        }
        (_, Some(end)) => {
            let span = open.remove(&end[2]).unwrap_or_else(|| panic!("{event}: no begin"));
            assert!(span.starts_with(&end[1]), "{event} ends {span}");
            format!("end {span}")
        }
        _ => panic!("{event}"),
    });
    (printed, recorded.collect())
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn spans_end_where_their_blocks_are_left() {
    if tools::find("babeltrace2").is_none() {
        return;
    }
    let library = fixture::build(&["-p", "simple-markers-c"]).join("debug/libsimple_marker.a");
    let library = library.to_str().expect("UTF-8");
    let sources = ["tests/probes/spans/main.cc", "tests/probes/spans/third.c"];
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        if tools::find(compiler.name()).is_none() {
            continue;
        }
        for (options, linking) in tools::slice(&format!("{} spans", compiler.name()), &BUILDS, &[0, 4]) {
            let mut linking = [&[library][..], linking].concat();
            if compiler == Compiler::Clang && options.contains(&"-flto") {
                linking.push("-fuse-ld=lld");
            }
            let linker = linking.iter().find_map(|option| option.strip_prefix("-fuse-ld="));
            if linker.is_some_and(|linker| tools::find(&format!("ld.{linker}")).is_none()) {
                continue;
            }
            let folder = TempDir::new().expect("a folder");
            let options = [&["-DSIMPLE_MARKER_RECORDER", "-fexceptions"][..], options].concat();
            let image = build(compiler, &sources, &options, &linking, folder.path());
            let (printed, recorded) = printed_and_recorded(&image, &folder.path().join("recording"));
            assert_eq!((recorded.len(), &recorded), (48, &printed), "{} {options:?} {linking:?}", compiler.name());
        }
    }
}
