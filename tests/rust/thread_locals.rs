//! Thread-local variables of shared objects, compared with what the program prints.

use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use simple_markers_tests::fixture;
use simple_markers_tests::tools::{find, run, skipped};
use simple_markers_tests::watched::{can_watch, compile};

use super::trace::trace;

/// Two threads change variables, and print them. A third thread has never used them.
const LIBRARY: &str = r#"
#include <stdio.h>
#include <pthread.h>
#include "simple_marker.h"
static __thread int own = 5;
__thread long shown = 100;
static __thread struct { char space[40]; short late; } large = { "", 9 };
__attribute__((noinline)) void at(int step) {
    own += step;
    shown += 1000;
    large.late += 2;
    simple_mark_anchor(local:at, "%d %d %ld %hd", step, own, shown, large.late);
    printf("said %d %d %ld %hd\n", step, own, shown, large.late);
    fflush(stdout);
}
__attribute__((noinline)) void before(void) {
    simple_mark_anchor(local:before, "%d %ld %hd", own, shown, large.late);
}
static void *second(void *unused) {
    at(3);
    at(4);
    return unused;
}
static void *third(void *unused) {
    before();
    return unused;
}
void call(void) {
    pthread_t thread;
    at(1);
    pthread_create(&thread, 0, second, 0);
    pthread_join(thread, 0);
    pthread_create(&thread, 0, third, 0);
    pthread_join(thread, 0);
    at(2);
}
"#;

const LINKED: &str = "void call(void); int main(void) { call(); return 0; }";
/// The loader takes the variable of the program for the library too.
const REPLACED: &str = "__thread long shown = 7; void call(void); int main(void) { call(); return 0; }";
const OPENED: &str = r#"
#include <dlfcn.h>
int main(int count, char **arguments) {
    void *library = dlopen(arguments[1], RTLD_NOW);
    void (*call)(void) = library ? (void (*)(void))dlsym(library, "call") : 0;
    if (call)
        call();
    return count != 2 || !call;
}
"#;

/// What the program printed, what the marker said, and the values of the thread that did not use
/// the variables.
fn watched(library: &Path, command: &[&Path]) -> (Vec<String>, Vec<String>, Vec<Json>) {
    let name = library.to_str().expect("UTF-8");
    let lines = trace(&["--json", "local:*", name], command);
    let printed = lines.iter().filter_map(|line| line.strip_prefix("said ")).map(str::to_owned).collect();
    let hits = lines.iter().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    let (mut said, mut third) = (Vec::new(), Vec::new());
    for hit in hits.filter(|hit| hit.get("marker").is_some()) {
        let values: Vec<Json> =
            hit["args"].as_array().expect("arguments").iter().map(|it| it["value"].clone()).collect();
        match hit["marker"].as_str() {
            Some("local:before") => third = values,
            _ => said.push(values.iter().map(Json::to_string).collect::<Vec<_>>().join(" ")),
        }
    }
    (printed, said, third)
}

/// A program that is linked with the library.
fn linked(folder: &Path, name: &str, source: &str, library: &Path) -> std::path::PathBuf {
    let (file, program) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&file, source).expect("the source is written");
    run(Command::new("gcc").arg("-O2").arg(&file).arg("-o").arg(&program).arg(library));
    program
}

#[test(desk = false)]
fn thread_locals_of_libraries_are_read() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let models: [&[&str]; 4] =
        [&["-ftls-model=global-dynamic"], &["-ftls-model=local-dynamic"], &["-ftls-model=initial-exec"], &["-O0"]];
    for model in models {
        let library = compile(folder.path(), "liblocal.so", LIBRARY, &[&["-shared", "-fPIC"], model].concat());
        let program = linked(folder.path(), "linked", LINKED, &library);
        let opener = compile(folder.path(), "opened", OPENED, &[]);
        let expected = ["1 6 1100 11", "3 8 1100 11", "4 12 2100 13", "2 8 2100 13"];
        for command in [&[&*program][..], &[&opener, &library]] {
            let (printed, said, third) = watched(&library, command);
            assert_eq!((&printed[..], &said), (&expected.map(str::to_owned)[..], &printed), "{model:?} {command:?}");
            // glibc allocates the variables of a library that was opened when a thread first uses them.
            let is_late = command.len() == 2 && !model.contains(&"-ftls-model=initial-exec");
            let values: [Json; 3] = match is_late {
                true => [Json::Null, Json::Null, Json::Null],
                false => [5.into(), 100.into(), 9.into()],
            };
            assert_eq!(third, values, "{model:?} {command:?}");
        }
        if !model.contains(&"-ftls-model=local-dynamic") {
            let program = linked(folder.path(), "replaced", REPLACED, &library);
            let (printed, said, _) = watched(&library, &[&program]);
            assert_eq!((&*printed[0], &said), ("1 6 1007 11", &printed), "{model:?}");
        }
    }
}

#[test]
fn what_is_not_known_of_thread_locals_is_unreadable() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    // Descriptors: only the functions behind them know where a block is.
    let flags = ["-shared", "-fPIC", "-mtls-dialect=gnu2"];
    let library = compile(folder.path(), "libdescribed.so", LIBRARY, &flags);
    let (printed, said, _) = watched(&library, &[&linked(folder.path(), "described", LINKED, &library)]);
    assert_eq!((printed.len(), &*said[0]), (4, "1 null null null"));
    if find("musl-gcc").is_none() {
        return skipped("musl-gcc is not installed");
    }
    let include = format!("-I{}", fixture::workspace().join("markers/include").display());
    let (library, program) = (folder.path().join("libmusl.so"), folder.path().join("musl"));
    let gcc = || Command::new("musl-gcc");
    let source = folder.path().join("libdescribed.so.c");
    run(gcc().args(["-g", "-O2", "-shared", "-fPIC", &include]).arg(source).arg("-o").arg(&library));
    run(gcc().arg("-O2").arg(folder.path().join("described.c")).arg("-o").arg(&program).arg(&library));
    let (printed, said, _) = watched(&library, &[&program]);
    assert_eq!((&*printed[0], &*said[0]), ("1 6 1100 11", "1 null null null"));
}
