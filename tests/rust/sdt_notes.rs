//! Notes of static probes in all files of this machine: what the resolver reads is what readelf
//! prints.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::resolve::{Detail, Exactness, Marker, Reason, Site};
use simple_markers_tests::computer::Computer;
use simple_markers_tests::fixture;
use simple_markers_tests::gdb::{Next, Session};
use simple_markers_tests::header::{Compiler, Language};
use simple_markers_tests::notes::{Note, address, files, gdb, listed_by_bpftrace, ours, readelf, resolved};
use simple_markers_tests::tools::{find, output, run, skipped, tries_everything};

#[test]
fn notes_are_those_that_readelf_prints() {
    if ["readelf", "grep"].iter().any(|tool| find(tool).is_none()) {
        return;
    }
    // To search all files takes a while.
    let files = files(Path::new(if tries_everything() { "/usr" } else { "/usr/bin" }));
    if files.is_empty() {
        return skipped("no file below /usr has notes of static probes");
    }
    let compare = |path: &PathBuf| {
        let (theirs, ours) = (readelf::notes(path), ours(&resolved(path, Detail::Names)));
        let only = |one: &BTreeSet<Note>, other| one.difference(other).take(3).cloned().collect::<Vec<_>>();
        let (missing, more) = (only(&theirs, &ours), only(&ours, &theirs));
        assert!(
            missing.is_empty() && more.is_empty(),
            "{}: only readelf has {missing:?}, only smark has {more:?}",
            path.display()
        );
        theirs.len()
    };
    let notes: usize = files.iter().map(compare).sum();
    note!("{notes} notes of {} files", files.len());
    assert!(notes > 0);
}

/// With registers and memory that are made up, the evaluator reads what gdb reads.
#[test]
fn values_are_those_that_gdb_reads() {
    if cfg!(not(target_arch = "x86_64")) {
        return skipped("another processor than x86-64");
    }
    if ["gcc", "gdb", "readelf", "grep", "bpftrace"].iter().any(|tool| find(tool).is_none()) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut compared = 0;
    let mut compare = |path: &Path, may_be_refused: bool| {
        let found = gdb::compare(path, &resolved(path, Detail::Places));
        assert_eq!(found.different, [""; 0], "{}", path.display());
        assert!(may_be_refused || found.refused.is_empty(), "{}: {:?}", path.display(), found.refused);
        let named: BTreeSet<String> = readelf::notes(path).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(listed_by_bpftrace(path), named, "{}", path.display());
        compared += found.same;
    };
    if headers(folder.path()).is_some() {
        for level in ["-O0", "-O2"] {
            let program = folder.path().join(format!("values{level}"));
            let source = fixture::workspace().join("tests/notes/values.c");
            run(Command::new("gcc").arg(level).arg(source).arg("-o").arg(&program));
            // gdb 13 parses no `f`, as in `8f@%rax`, and no thread-local symbol.
            compare(&program, true);
        }
    }
    // Many notes, or other compilers' ones, where they are installed.
    for path in
        ["/usr/lib/postgresql/15/bin/postgres", "/usr/bin/python3.11", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"]
    {
        let path = Path::new(path);
        if path.exists() && !readelf::notes(path).is_empty() {
            compare(path, true);
        }
    }
    note!("{compared} values");
    assert!(compared > 20);
}

/// The path of `sys/sdt.h`, copied to a folder without other headers of this machine; `None` if there is
/// none.
fn headers(folder: &Path) -> Option<PathBuf> {
    let mut preprocessor = Command::new("gcc");
    preprocessor.args(["-M", "-include", "sys/sdt.h", "-x", "c", "/dev/null"]);
    let needed = output(&mut preprocessor);
    if !needed.status.success() {
        skipped("there is no sys/sdt.h");
        return None;
    }
    let copies = folder.join("sys");
    fs::create_dir_all(&copies).expect("a folder");
    let needed = String::from_utf8(needed.stdout).expect("UTF-8");
    for header in needed.split_whitespace().map(Path::new).filter(|it| it.is_file()) {
        if header.parent().is_some_and(|parent| parent.ends_with("sys")) {
            fs::copy(header, copies.join(header.file_name().expect("a name"))).expect("a copy");
        }
    }
    Some(folder.to_owned())
}

#[test]
fn each_processor_has_its_operands() {
    if ["gcc", "readelf"].iter().any(|tool| find(tool).is_none()) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(headers) = headers(folder.path()) else { return };
    let source = fixture::workspace().join("tests/notes/values.c");
    let mut unread = BTreeSet::new();
    for (compiler, of) in [
        ("gcc", &[][..]),
        ("clang", &[]),
        ("gcc", &["-m32"]),
        ("gcc", &["-m32", "-fno-pie", "-no-pie"]),
        ("aarch64-linux-gnu-gcc", &[]),
        ("riscv64-linux-gnu-gcc", &[]),
    ] {
        if find(compiler).is_none() {
            continue;
        }
        for level in ["-O0", "-O1", "-O2", "-O3"] {
            let program = folder.path().join("program");
            let mut build = Command::new(compiler);
            build.args(["-g", level, "-I"]).arg(&headers).args(of).arg(&source).arg("-o").arg(&program);
            run(&mut build);
            let image = resolved(&program, Detail::Places);
            let what = format!("{compiler} {of:?} {level}");
            assert_eq!(ours(&image), readelf::notes(&program), "{what}");
            let sites = || image.markers.iter().flat_map(|marker| &marker.sites);
            assert!(sites().all(|site| site.anchored && site.exactness == Some(Exactness::Exact)), "{what}");
            assert!(sites().all(|site| site.switch.as_ref().is_some_and(|switch| switch.problem.is_none())), "{what}");
            unread.extend(sites().flat_map(|site| &site.args).filter_map(|argument| match &argument.reason {
                Some(Reason::Operand { problem, .. }) => Some(<&str>::from(problem)),
                _ => None,
            }));
        }
    }
    // The image has its symbols, so an operand is refused only if the linker changed its meaning.
    assert!(unread.is_subset(&BTreeSet::from(["relocation", "small_register", "no_symbol"])), "{unread:?}");
}

/// What is read where gdb stops an emulated program is what the program prints.
#[test]
fn values_are_those_that_an_emulated_program_prints() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(headers) = headers(folder.path()) else { return };
    let source = fixture::workspace().join("tests/notes/values.c");
    let (mut compared, mut named) = (0, BTreeSet::new());
    for computer in [Computer::Aarch64, Computer::Riscv64] {
        if !computer.has(Compiler::Gcc) {
            continue;
        }
        for options in [&["-O0"][..], &["-O2"], &["-O2", "-fno-pie", "-no-pie", "-fno-section-anchors"]] {
            if options == ["-O0"] && !tries_everything() {
                continue;
            }
            let program = folder.path().join("program");
            let mut build = computer.compilation(Compiler::Gcc, Language::C);
            if computer == Computer::Riscv64 {
                // RISC-V has no section anchors.
                build.args(options.iter().filter(|option| **option != "-fno-section-anchors"));
            } else {
                build.args(options);
            }
            run(build.args(["-g", "-static", "-I"]).arg(&headers).arg(&source).arg("-o").arg(&program));
            let printed = run(&mut computer.runs(&program));
            let image = resolved(&program, Detail::Places);
            let sites: BTreeMap<u64, (&Marker, &Site)> = image
                .markers
                .iter()
                .filter(|marker| marker.name.starts_with("values:") && &*marker.name != "values:many")
                .flat_map(|marker| marker.sites.iter().map(move |site| (marker, site)))
                .filter_map(|(marker, site)| Some((address(site.place.as_ref()?), (marker, site))))
                .collect();
            let session = Session::start(computer, &program, "");
            let bias = session.bias();
            session.stop_at(&sites.keys().map(|at| Vaddr(*at)).collect::<Vec<_>>(), 4);
            let what = format!("{computer:?} {options:?}");
            for line in printed.lines().filter(|line| !line.starts_with("many:")) {
                let Next::Stopped(at) = session.resume() else { panic!("{what}: it ended before {line}") };
                let (marker, site) = sites[&at.0.wrapping_sub(bias)];
                let (name, values) = line.split_once(": ").expect("a name");
                assert_eq!(*marker.name, *format!("values:{name}"), "{what}");
                let stopped = session.stopped();
                for (index, (argument, value)) in site.args.iter().zip(values.split(", ")).enumerate() {
                    let value = value.split_once(' ').expect("a value").1;
                    // A pointer to a variable of the stack depends on the environment.
                    if (name, index) == ("memory", 4) {
                        continue;
                    }
                    match &argument.reason {
                        Some(Reason::Operand { operand, problem }) => {
                            assert!(operand.contains(".L"), "{what}: {operand}: {problem:?}");
                        }
                        _ => {
                            let text = argument.location_text.as_deref().unwrap_or_default();
                            if text.contains("lo") {
                                named.insert(text.to_owned());
                            }
                            let is_thread_local = text.contains("tprel");
                            let read = gdb::value(argument, &stopped);
                            // qemu tells nobody where the variables of a thread are.
                            assert!(is_thread_local || read.is_some(), "{what}: {text} is not read");
                            let Some(read) = read else { continue };
                            let is_same = if value.contains('.') {
                                read.parse::<f64>().ok() == value.parse().ok()
                            } else {
                                read == value
                            };
                            assert!(is_same, "{what}: {name} arg{index} at {text}: {read}, it prints {value}");
                            compared += 1;
                        }
                    }
                }
            }
        }
    }
    note!("{compared} values, with the operands {named:?}");
}

#[test]
fn notes_may_be_in_the_separate_debug_file_alone() {
    if ["gcc", "objcopy", "strip"].iter().any(|tool| find(tool).is_none()) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    if headers(folder.path()).is_none() {
        return;
    }
    let source = fixture::workspace().join("tests/notes/values.c");
    let [whole, parts] = ["whole", "parts"].map(|name| folder.path().join(name));
    [&whole, &parts].into_iter().for_each(|folder| fs::create_dir(folder).expect("a folder"));
    run(Command::new("gcc").args(["-g", "-O2"]).arg(source).arg("-o").arg(whole.join("values")));
    fs::copy(whole.join("values"), parts.join("values")).expect("a copy");
    let tool = |name: &str, arguments: &[&str]| {
        run(Command::new(name).args(arguments).current_dir(&parts));
    };
    tool("objcopy", &["--only-keep-debug", "values", "values.debug"]);
    tool("strip", &["--remove-section=.note.stapsdt", "values"]);
    tool("objcopy", &["--add-gnu-debuglink=values.debug", "values"]);
    let listed = |folder: &Path| run(Command::new(fixture::smark()).args(["list", "-vv"]).arg(folder.join("values")));
    let whole = listed(&whole);
    assert!(whole.contains("values:numbers") && whole == listed(&parts), "{whole}{}", listed(&parts));
}
