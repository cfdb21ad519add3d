//! Functions that were inlined: `-f` finds a marker in one, and the row names the function around it.

use std::fs;
use std::path::Path;
use std::process::Command;

use simple_markers_tests::fixture::{smark, workspace};
use simple_markers_tests::tools::{ended, find, run, skipped};

const SOURCE: &str = r#"
#include <simple_marker.h>
volatile int last;
static inline __attribute__((always_inline)) void step(int x)
{
    last = x;
    simple_mark(inlined:step, "%d", x);
}
__attribute__((noinline)) void one(int x) { step(x + 1); }
__attribute__((noinline)) void two(int x) { step(x * 3); }
int main(void) { one(last); two(last); return 0; }
"#;

/// The functions of the rows that a pattern selects, and the exit status.
fn functions(program: &Path, pattern: &str) -> (Vec<String>, i32) {
    let listed = ended(Command::new(smark()).args(["list", "-f", pattern]).arg(program));
    let rows = listed.stdout.lines().skip(1).filter_map(|line| line.split_whitespace().nth(2).map(str::to_owned));
    (rows.collect(), listed.status)
}

#[test]
fn a_marker_is_found_by_the_function_that_was_inlined() {
    if find("gcc").is_none() {
        return skipped("the program is compiled by gcc");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("inlined.c"), folder.path().join("inlined"));
    fs::write(&source, SOURCE).expect("a source");
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-g", "-I"]).arg(workspace().join("markers/include"));
    run(gcc.arg(&source).arg("-o").arg(&program));
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(functions(&program, "step"), (names(&["one", "two"]), 0));
    assert_eq!(functions(&program, "one"), (names(&["one"]), 0));
    assert_eq!(functions(&program, "s*"), (names(&["one", "two"]), 0));
    assert_eq!(functions(&program, "stop"), (Vec::new(), 1));
}
