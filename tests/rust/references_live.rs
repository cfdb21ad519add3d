//! What references of C++ refer to is what each tool reads: `smark trace` and `smark count`, the kernel,
//! bpftrace and gdb. The programs print the true values.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, smark};
use simple_markers_tests::tools::{self, find, run};
use simple_markers_tests::watched::can_watch;

use super::export::{Program, bpftrace_says, gdb_says, kernel_reads, program, sorted_lines};

/// Prints before it marks, so that the texts are in memory when the kernel reads them.
const SOURCE: &str = r#"
#include <cstdio>
#include "simple_marker.h"
#define NOINLINE __attribute__((noinline))
#define MARKED(name, format, ...) printf("refs:" #name " " format "\n", __VA_ARGS__)
struct point { int x, y; };
struct holder { int &member; const point &at; long own; };
static const char *const names[3] = { "zero", "one", "two" };
static volatile int total;

NOINLINE static void plain(int &r, const short &c, const point &p, const char *const &text, int *&pointer, int &&moved) {
    MARKED(plain, "%d %hd %d %s %d %d", r, c, p.y, text, *pointer, moved);
    simple_mark_anchor(refs:plain, "%d %hd %d %s %d %d", r, c, p.y, text, *pointer, moved);
    total += r + c + p.y + *text + *pointer + moved;
}
NOINLINE static void elements(point (&all)[2]) {
    for (auto &each : all) {
        MARKED(each, "%d %d", each.x, each.y);
        simple_mark_anchor(refs:each, "%d %d", each.x, each.y);
        total += each.x * each.y;
    }
}
NOINLINE static void bound(point &given) {
    auto &[a, b] = given;
    MARKED(bound, "%d %d", a, b);
    simple_mark_anchor(refs:bound, "%d %d", a, b);
    total += a * b;
}
NOINLINE static void members(const holder &h) {
    MARKED(members, "%d %d %ld", h.member, h.at.x, h.own);
    simple_mark_anchor(refs:members, "%d %d %ld", h.member, h.at.x, h.own);
    total += h.member + h.at.x + (int)h.own;
}
NOINLINE static void captures(int &r, long q) {
    auto inner = [&](int k) __attribute__((noinline)) {
        MARKED(captures, "%d %ld %d", r, q, k);
        simple_mark_anchor(refs:captures, "%d %ld %d", r, q, k);
        total += r + (int)q + k;
    };
    inner(r + 1);
}
int main() {
    for (int n = 0; n < 3; n++) {
        int r = n * 10 + 1, m = n + 7, *pointer = &m;
        short c = -n;
        point p = { n, n + 100 }, all[2] = { { n, 2 }, { 3, n } };
        const char *text = names[n];
        holder h = { r, p, -5L * n };
        plain(r, c, p, text, pointer, static_cast<int &&>(m));
        elements(all);
        bound(all[1]);
        members(h);
        captures(m, 1L << n);
    }
    return 0;
}
"#;

/// The arguments to count by, with their position.
const KEYS: [(&str, &str, usize); 6] = [
    ("refs:plain", "r", 0),
    ("refs:plain", "text", 3),
    ("refs:plain", "*pointer", 4),
    ("refs:each", "each.x", 0),
    ("refs:members", "h.at.x", 1),
    ("refs:captures", "q", 1),
];

fn compiled(compiler: &str, level: &str, sources: &[&Path], program: &Path) {
    let mut compile = Command::new(compiler);
    compile.args(["-std=c++17", "-g", level, "-I"]).arg(fixture::workspace().join("markers/include"));
    run(compile.args(sources).arg("-o").arg(program));
}

/// The lines of `smark trace` that are hits, as the programs print them.
fn traced(path: &Path) -> Vec<String> {
    let output = tools::output(Command::new(smark()).args(["trace", "--"]).arg(path));
    let Output { status, stdout, stderr } = output;
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let printed = String::from_utf8(stdout).expect("UTF-8");
    let hits = printed.lines().filter_map(|line| line.split_once("] ")?.1.split_once(" refs:"));
    let mut lines: Vec<String> = hits.map(|(_, hit)| format!("refs:{}", hit.replacen(": ", " ", 1))).collect();
    lines.sort_unstable();
    lines
}

fn counted_by(path: &Path, marker: &str, argument: &str) -> BTreeMap<String, u64> {
    let printed = run(Command::new(smark()).args(["count", "--json", "--by", argument, marker, "--"]).arg(path));
    let objects = printed.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    let by = objects.filter_map(|line| line.get("by").cloned()).next().expect("counts");
    let pairs = by.as_array().expect("pairs").iter().map(|pair| {
        let key = pair[0].as_str().map_or_else(|| pair[0].to_string(), str::to_owned);
        (key, pair[1].as_u64().expect("a count"))
    });
    pairs.collect()
}

/// Compares everything that reads the program with what it prints. Structured bindings may have no
/// names in the debug information: LLVM describes them since version 17.
fn compare(path: &Path, Program { truth, .. }: &Program, may_lack_bindings: bool) {
    let check = tools::output(Command::new(smark()).arg("check").arg(path));
    let found = String::from_utf8_lossy(&check.stdout);
    assert_eq!(check.status.code(), Some(0), "{found}");
    let findings: Vec<&str> = found.lines().filter(|line| line.contains("[SM")).collect();
    let are_of_bindings = findings.iter().all(|line| line.starts_with("warning[SM036]: refs:bound: "));
    assert!(findings.is_empty() || may_lack_bindings && are_of_bindings, "{found}");

    if !can_watch() {
        return;
    }
    let mut truth = truth.clone();
    truth.sort_unstable();
    let mut read = traced(path);
    if !findings.is_empty() {
        truth.retain(|line| !line.starts_with("refs:bound "));
        let is_bound = |line: &String| line.starts_with("refs:bound ");
        assert!(read.iter().filter(|line| is_bound(line)).all(|line| line.ends_with("<unreadable> <unreadable>")));
        read.retain(|line| !is_bound(line));
    }
    assert_eq!(read, truth);
    for (marker, argument, position) in KEYS {
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        for line in truth.iter().filter_map(|line| line.strip_prefix(marker)) {
            *expected.entry(line.split(' ').nth(position + 1).expect("a value").to_owned()).or_default() += 1;
        }
        assert_eq!(counted_by(path, marker, argument), expected, "{marker} by {argument}");
    }
}

#[test(cases = ROWS, desk = [3])]
fn what_a_reference_refers_to_is_read_by_every_tool((compiler, level): (&str, &str)) {
    const ROWS: [(&str, &str); 4] = [("g++", "-O0"), ("g++", "-O2"), ("clang++", "-O0"), ("clang++", "-O2")];
    if find(compiler).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("references.cc");
    fs::write(&source, SOURCE).expect("a source");
    let path = folder.path().join("references");
    compiled(compiler, level, &[&source], &path);
    let program = program(&path);
    compare(&path, &program, compiler == "clang++");
    kernel_reads(&program, &format!("references{compiler}{level}").replace(['+', '-'], ""), 45);
    if find("bpftrace").is_some() {
        let (exported, said) = bpftrace_says(&path);
        if let Some(said) = said {
            assert_eq!(sorted_lines(&said, &program), program.expected(&exported), "{compiler} {level}");
        }
    }
    if find("gdb").is_some() {
        let (exported, said) = gdb_says(&path);
        assert_eq!(sorted_lines(&said, &program), program.expected(&exported), "{compiler} {level}");
    }
}

/// A base that only another unit describes, since it defines the first virtual function.
const BASE: &str = "struct base { int total, other; base(); virtual void key(); };\n";
const DERIVED: &str = r#"
#include <cstdio>
#include "simple_marker.h"
#include "base.h"
volatile int total = 99;
struct derived : base {
    int own = 3;
    __attribute__((noinline)) void run() {
        simple_mark_anchor(refs:derived, "%d %d %d", total, other, own);
        printf("refs:derived %d %d %d\n", total, other, own);
    }
};
int main() { derived().run(); return ::total == 1; }
"#;

/// The name may be a member of the base: it is not taken for the global variable.
#[test(cases = ["g++", "clang++"])]
fn a_member_of_a_base_that_is_only_declared_is_no_global_variable(compiler: &str) {
    if !can_watch() || find(compiler).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| -> PathBuf { folder.path().join(name) };
    fs::write(file("base.h"), BASE).expect("a source");
    fs::write(file("derived.cc"), DERIVED).expect("a source");
    let definitions = "#include \"base.h\"\nbase::base() : total(7), other(8) {}\nvoid base::key() {}\n";
    fs::write(file("base.cc"), definitions).expect("a source");
    let program = file("derived");
    compiled(compiler, "-O0", &[&file("derived.cc"), &file("base.cc")], &program);
    assert_eq!(run(&mut Command::new(&program)), "refs:derived 7 8 3\n");
    assert_eq!(traced(&program), ["refs:derived <unreadable> <unreadable> 3"], "{compiler}");
}
