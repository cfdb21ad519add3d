//! A shared library that records its probes, and is unloaded while threads that have recorded go on
//! (`tests/probes/unloaded.c`).

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use simple_markers_tests::fixture;
use simple_markers_tests::tools::{ended, find, run, slice};

use crate::trace::hits;
use crate::whom::is_root;

/// Hits of each cycle: 100 on each of three threads.
const IN_CYCLE: usize = 300;

/// The program and the library.
fn built(folder: &Path) -> (PathBuf, PathBuf) {
    let recorder = fixture::build(&["-p", "simple-markers-c"]).join("debug/libsimple_marker.a");
    let (program, library) = (folder.join("unloaded"), folder.join("plugin.so"));
    let gcc = || {
        let mut gcc = Command::new("gcc");
        gcc.current_dir(fixture::workspace()).args(["-O2", "-I", "markers/include"]);
        gcc
    };
    run(gcc().args(["-pthread", "tests/probes/unloaded.c", "-o"]).arg(&program));
    let mut gcc = gcc();
    gcc.args(["-shared", "-fPIC", "-DSIMPLE_MARKER_RECORDER", "tests/probes/plugin.c"]).arg(recorder);
    run(gcc.args(["-Wl,--exclude-libs,libsimple_marker.a", "-o"]).arg(&library));
    (program, library)
}

#[test]
fn a_library_that_is_unloaded_has_recorded_everything() {
    const CYCLES: usize = 20;
    let Some(babeltrace) = find("babeltrace2") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (program, library) = built(folder.path());
    // With the restartable sequences of the C library, and without any: those of the recorder are only for
    // programs.
    for tunables in ["", "glibc.pthread.rseq=0"] {
        let recordings = folder.path().join(format!("recordings{}", tunables.len()));
        std::fs::create_dir(&recordings).expect("a folder");
        let mut command = Command::new(&program);
        command.arg(&library).arg(CYCLES.to_string()).env("GLIBC_TUNABLES", tunables);
        command.env("SIMPLE_MARKERS_RECORD", "*").env("SIMPLE_MARKERS_OUTPUT", recordings.join("recording"));
        let mappings: usize = run(&mut command).trim().parse().expect("a number");
        // Of each cycle the memory of the process and the file of the thread that goes on.
        assert!(mappings < 50 + 2 * CYCLES, "{mappings} mappings");
        // Each time it is loaded it records into a folder of its own.
        let mut found = BTreeMap::new();
        for recording in std::fs::read_dir(&recordings).expect("recordings") {
            let printed = run(Command::new(&babeltrace).arg(recording.expect("a recording").path()));
            let cycle = |line: &str| line.split_once("{ cycle = ")?.1.split_once(',')?.0.parse::<usize>().ok();
            let cycles: Vec<_> = printed.lines().map(cycle).collect();
            assert!(cycles.iter().all(|cycle| *cycle == cycles[0]), "{printed}");
            found.insert(cycles[0].expect("a number"), cycles.len());
        }
        assert_eq!(found, (0..CYCLES).map(|cycle| (cycle, IN_CYCLE)).collect());
    }
}

/// A program that takes the rights of root, and executes what its arguments say. The kernel tells nothing more to who
/// asked before.
fn become_root(folder: &Path) -> String {
    let source = "#include <unistd.h>\nint main(int count, char **v) {\n\
                  return count < 2 || setresgid(0, 0, 0) || setresuid(0, 0, 0) || execv(v[1], v + 1); }\n";
    let (file, program) = (folder.join("become_root.c"), folder.join("become_root"));
    std::fs::write(&file, source).expect("the source");
    run(Command::new("gcc").args(["-D_GNU_SOURCE", "-o"]).args([&program, &file]));
    for (path, mode) in [(folder, 0o755), (&program, 0o6755)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("its user");
    }
    program.to_str().expect("UTF-8").to_owned()
}

#[test(desk = false)]
fn a_library_is_unloaded_while_a_tool_watches() {
    let folder = tempfile::tempdir().expect("a folder");
    let (program, library) = built(folder.path());
    let by_shell: &[&str] = &["sh", "-c", "\"$0\" \"$@\"; exit $?"];
    let become_root = become_root(folder.path());
    let by_user: &[&str] = &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", &become_root];
    // So many that it is unloaded all the time, and so slow that the tool sees it. Nobody looks again and again: the
    // kernel tells what a program loads that another one has started, also one with other rights.
    let mut all = vec![(&[][..], "1000", "0"), (&[], "15", "60"), (by_shell, "15", "60")];
    if is_root() {
        all.push((by_user, "15", "60"));
    }
    for (starter, cycles, milliseconds) in slice("loading and unloading", &all, &[0, 2]) {
        let mut smark = Command::new(fixture::smark());
        smark.args(["trace", "--json"]).arg(&library).args(["plugin:*", "--"]).args(starter);
        let traced = ended(smark.arg(&program).arg(&library).args([cycles, milliseconds]));
        let (errors, (found, end)) = (&traced.stderr, hits(&traced.lines()));
        assert_eq!((&end["exit"], &end["lost"]), (&0.into(), &0.into()), "{errors}");
        let mut threads: BTreeMap<_, Vec<u64>> = BTreeMap::new();
        for hit in &found {
            let value = |argument: usize| hit["args"][argument]["value"].as_u64().expect("a number");
            assert_eq!(hit["args"][3]["value"], "text");
            threads.entry((value(0), value(1))).or_default().push(value(2));
        }
        // A thread may have begun before the tool came, and then goes on to its end.
        assert!(threads.values().all(|numbers| numbers.iter().copied().eq(numbers[0]..100)), "{threads:?}");
        assert!(milliseconds == "0" || threads.len() > 3, "{starter:?}: {errors}");
    }
}
