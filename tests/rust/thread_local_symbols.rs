//! Thread-local variables of programs for AArch64, whose locations gcc and clang leave out: those that the
//! symbol table has for certain.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use simple_markers_tests::computer::Computer;
use simple_markers_tests::fixture;
use simple_markers_tests::header::{Compiler, Language};
use simple_markers_tests::tools::run;

/// Each source in a file of its own.
const SOURCES: [(&str, &str); 4] = [
    (
        "first.c",
        r#"
#include "simple_marker.h"
__thread long shared = 3;
static __thread int own = 5;
static __thread int twice = 6;
extern __thread int elsewhere;
/* It is removed, because nothing reads it. */
static int removed;
void second(void), third(void), fourth(int);
__attribute__((noinline)) void first(int step) {
    static __thread int inside = 9;
    own += step;
    twice += step;
    inside += step;
    removed = step;
    simple_mark_anchor(local:first, "%d %ld %d %d %d %d", own, shared, elsewhere, twice, removed, inside);
}
int main(void) {
    first(1);
    second();
    third();
    fourth(2);
    return 0;
}
"#,
    ),
    (
        "second.c",
        r#"
__thread int elsewhere = 10;
static __thread int twice = 11;
static __thread int removed = 12;
void second(void) {
    twice++;
    removed++;
    elsewhere++;
}
"#,
    ),
    (
        "fourth.c",
        r#"
#include "simple_marker.h"
static int same_name;
__attribute__((noinline)) void fourth(int step) {
    same_name = step;
    simple_mark_anchor(local:fourth, "%d", same_name);
}
"#,
    ),
    // A file of the same name has a variable of the name of the one that was removed.
    ("third/fourth.c", "static __thread int same_name = 13; void third(void) { same_name++; }"),
];

/// The offset of each thread-local variable, by `readelf`.
fn symbols(program: &Path) -> BTreeMap<String, u64> {
    let table = run(Command::new("readelf").args(["-sW"]).arg(program));
    let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows = rows.filter(|row| row.get(3) == Some(&"TLS"));
    rows.map(|row| (row[7].to_owned(), u64::from_str_radix(row[1], 16).expect("hex"))).collect()
}

#[test]
fn variables_without_locations_are_those_of_certain_symbols() {
    let compiler = Compiler::Gcc;
    if !Computer::Aarch64.has(compiler) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("third")).expect("a folder");
    let mut objects = Vec::new();
    for (name, source) in SOURCES {
        let file = folder.path().join(name);
        std::fs::write(&file, source).expect("the source is written");
        let object = file.with_extension("o");
        let mut command = Computer::Aarch64.compilation(compiler, Language::C);
        fixture::succeeds_silently(command.args(["-w", "-O1", "-g", "-c"]).arg(&file).arg("-o").arg(&object));
        objects.push(object);
    }
    let program = folder.path().join("program");
    let mut command = Computer::Aarch64.compilation(compiler, Language::C);
    fixture::succeeds_silently(command.args(&objects).arg("-o").arg(&program));
    let show = run(Command::new(fixture::smark()).args(["show", "--json", "local:*"]).arg(&program));
    let said: Json = serde_json::from_str(&show).expect("JSON");
    let sites = said["images"][0]["markers"].as_array().expect("markers").iter().map(|marker| &marker["sites"][0]);
    let args: Vec<Json> = sites.flat_map(|site| site["args"].as_array().expect("arguments").clone()).collect();
    let symbols = symbols(&program);
    let tls = |name: &str| match symbols[name] {
        0 => Some("*(tls)".to_owned()),
        offset => Some(format!("*(tls+{offset:#x})")),
    };
    let expected = [
        ("own", tls("own")),
        ("shared", tls("shared")),
        ("elsewhere", tls("elsewhere")),
        // Two symbols have the name; the symbol is of another file.
        ("twice", None),
        ("removed", None),
        // Its symbol has a number in its name.
        ("inside", None),
        // Its symbol is of a file with the same name.
        ("same_name", None),
    ];
    assert_eq!(args.len(), expected.len());
    for (arg, (name, location)) in args.iter().zip(expected) {
        assert_eq!(arg["text"], name);
        assert_eq!(arg["location"].as_str().map(str::to_owned), location, "{arg}");
        assert_eq!(arg["verdict"], if location.is_some() { "live" } else { "lost" }, "{arg}");
    }
}
