//! Texts with a precision in exports: each tool prints what `printf` prints, or the export says that the
//! kernel reads more.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::fs;
use std::path::Path;
use std::process::Command;

use simple_markers_tests::fixture;
use simple_markers_tests::tools::{find, run};

use super::export::{bpftrace_says, built, export, gdb_says, headers};

/// Prints before it marks, so that the texts are in memory when bpftrace reads them.
const C: &str = r#"
#include <stdio.h>
#include "simple_marker.h"
__attribute__((noinline)) void cut(int n, const char *a, const char *b) {
    printf("texts:cut <%.*s> <%.3s> <%5.2s>\n", n, a, b, b);
    simple_mark_keep(texts:cut, "<%.*s> <%.3s> <%5.2s>", n, a, b, b);
}
int main(void) {
    const char *texts[] = { "", "a", "abc", "abcdef" };
    for (int n = -1; n < 6; n++)
        for (int i = 0; i < 4; i++)
            cut(n, texts[i], texts[i]);
    return 0;
}
"#;

const RUST: &str = r#"
#[inline(never)]
fn cut(n: i32, a: &str, b: &str) {
    let cut = |text: &str, most: i32| text[..usize::try_from(most).unwrap_or(9).min(text.len())].to_owned();
    simple_markers::simple_mark!(texts:cut, "<%.*s> <%.3s> <%5.2s>", n, a, b, b, options(anchor));
    println!("texts:cut <{}> <{}> <{:>5}>", cut(a, n), cut(b, 3), cut(b, 2));
}
fn main() {
    for n in -1..6 {
        for text in ["", "a", "abc", "abcdef"] {
            cut(n, std::hint::black_box(text), std::hint::black_box(&text.to_owned()));
        }
    }
}
"#;

fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().filter(|line| line.starts_with("texts:cut <")).collect();
    lines.sort_unstable();
    lines
}

/// Compares what gdb and bpftrace print with what the program prints.
fn ends_at_its_precision(program: &Path) {
    let truth = run(&mut Command::new(program));
    assert_eq!(lines(&truth).len(), 28);
    if find("gdb").is_some() {
        let (exported, said) = gdb_says(program);
        assert_eq!(lines(&said), lines(&truth), "{exported}");
    }
    if find("bpftrace").is_some() {
        let (exported, said) = bpftrace_says(program);
        if let Some(said) = said {
            assert_eq!(lines(&said), lines(&truth), "{exported}");
        }
    }
}

#[test]
fn a_text_ends_at_its_precision_in_each_tool() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("cut.c"), folder.path().join("cut"));
    fs::write(&source, C).expect("a source");
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-g", "-I"]).arg(fixture::workspace().join("markers/include"));
    run(gcc.arg(&source).arg("-o").arg(&program));
    ends_at_its_precision(&program);
    // The kernel has no such type, and the exports for it say so.
    for to in ["uprobe", "perf"] {
        let (exported, _) = export(to, &program, &[]);
        for text in ["a", "b"] {
            let says = format!("# {text} is the text up to its NUL: the kernel does not end a text at the precision");
            assert!(exported.contains(&says), "{exported}");
        }
    }
    let (exported, _) = export("stap", &program, &[]);
    for says in [" > 65536 ? 65536 : ", ", 3)", ", 2)"] {
        assert!(exported.contains("user_string_n(") && exported.contains(says), "{says} in {exported}");
    }
    if let (Some(_), Some(release)) = (find("stap"), headers()) {
        let script = folder.path().join("cut.stp");
        fs::write(&script, &exported).expect("a script");
        let mut stap = Command::new("stap");
        run(stap.args(["-g", "-p3", "-r", &release]).env("SYSTEMTAP_DIR", folder.path()).arg(&script));
    }
}

#[test]
fn a_text_of_rust_ends_at_its_precision_in_each_tool() {
    let program = built("export-texts", RUST, &["--", "-Clink-arg=-fuse-ld=bfd"]);
    ends_at_its_precision(&program);
    let (exported, _) = export("uprobe", &program, &[]);
    assert!(exported.contains("# the length of a is that of the whole text: the kernel "), "{exported}");
}
