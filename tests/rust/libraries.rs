//! The markers of shared libraries are watched from the first instruction of the program.

use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use simple_markers_tests::fixture;
use simple_markers_tests::tools::{ended, find, run, skipped};
use simple_markers_tests::watched::{can_watch, compile};

use super::trace::hits;

/// A library with a constructor, which runs before `main`.
fn library(name: &str) -> String {
    format!(
        r#"
        #include "simple_marker.h"
        static int count;
        __attribute__((constructor)) static void start(void) {{
            simple_mark_keep({name}:start, "%d", count);
            count++;
        }}
        void {name}(void) {{
            simple_mark_keep({name}:call, "%d", count);
            count++;
        }}"#
    )
}

/// The names and first arguments of the hits of a program, which may be started with `LD_PRELOAD`.
fn traced(preload: Option<&Path>, program: &Path) -> Vec<(String, i64)> {
    let mut smark = Command::new(fixture::smark());
    smark.args(["trace", "--json", "--"]).arg(program).envs(preload.map(|preload| ("LD_PRELOAD", preload)));
    let (hits, end) = hits(&ended(&mut smark).lines());
    assert_eq!((&end["lost"], &end["exit"]), (&0.into(), &7.into()));
    let of = |hit: &Json| (hit["marker"].as_str().expect("a name").to_owned(), hit["args"][0]["value"].as_i64());
    hits.iter().map(of).map(|(name, value)| (name, value.expect("a number"))).collect()
}

#[test]
fn constructors_of_libraries_are_seen() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let shared = ["-shared", "-fPIC"];
    let inside = folder.path().join("inside");
    std::fs::create_dir(&inside).expect("a folder");
    compile(&inside, "libdeep.so", &library("deep"), &shared);
    // A library that another library needs. It is found by the RUNPATH of that library.
    let deep = format!("-L{}", inside.display());
    let needs = ["-shared", "-fPIC", &deep, "-Wl,--no-as-needed", "-ldeep", "-Wl,-rpath,$ORIGIN/inside"];
    compile(folder.path(), "libnear.so", &library("near"), &needs);
    let preload = compile(folder.path(), "before.so", &library("before"), &shared);
    let main = "void near(void); int main(void) { near(); return 7; }";
    let folder_option = format!("-L{}", folder.path().display());
    let deeper = format!("-Wl,-rpath-link,{}", inside.display());
    let flags = [&folder_option, "-lnear", "-Wl,-rpath,$ORIGIN", &deeper];
    let near = |name: &str, flags: &[&str]| {
        let (file, program) = (folder.path().join("main.c"), folder.path().join(name));
        std::fs::write(&file, main).expect("the source is written");
        run(Command::new("gcc").arg(&file).arg("-o").arg(&program).args(flags));
        program
    };
    let expected = [("deep:start", 0), ("near:start", 0), ("before:start", 0), ("near:call", 1)];
    let expected = expected.map(|(name, value)| (name.to_owned(), value));
    for (name, option) in [("pie", "-pie"), ("fixed", "-no-pie")] {
        let program = near(name, &[&[option], &flags[..]].concat());
        assert_eq!(traced(Some(&preload), &program), expected, "{name}");
    }
    // The program is found by a symbolic link. $ORIGIN is the folder of the file.
    let link = inside.join("link");
    std::os::unix::fs::symlink(folder.path().join("pie"), &link).expect("a link");
    assert_eq!(traced(Some(&preload), &link), expected);
}

#[test]
fn the_loader_of_musl_lists_libraries() {
    if find("musl-gcc").is_none() {
        return skipped("musl-gcc is not installed");
    }
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let include = format!("-I{}", fixture::workspace().join("markers/include").display());
    let gcc = |source: &str, name: &str, flags: &[&str]| {
        let (file, to) = (folder.path().join(format!("{name}.c")), folder.path().join(name));
        std::fs::write(&file, source).expect("the source is written");
        run(Command::new("musl-gcc").args(["-g", "-O2", &include]).arg(&file).arg("-o").arg(&to).args(flags));
        to
    };
    gcc(&library("near"), "libnear.so", &["-shared", "-fPIC"]);
    let main = "void near(void); int main(void) { near(); return 7; }";
    let folder_option = format!("-L{}", folder.path().display());
    let program = gcc(main, "main", &[&folder_option, "-lnear", "-Wl,-rpath,$ORIGIN"]);
    let expected = [("near:start".to_owned(), 0), ("near:call".to_owned(), 1)];
    assert_eq!(traced(None, &program), expected);
}
