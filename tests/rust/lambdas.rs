//! What lambdas of C++ captured: gdb prints by an export what the program prints.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::fs;
use std::process::Command;

use simple_markers_tests::fixture::workspace;
use simple_markers_tests::tools::{find, run};

use super::export::gdb_says;

/// `OF(..)` is the end of a lambda that is not inlined: gcc and clang take its words in another order.
const SOURCE: &str = r#"
#include <cstdio>
#include "simple_marker.h"
#ifdef __clang__
#define CHANGES __attribute__((noinline)) mutable
#else
#define CHANGES mutable __attribute__((noinline))
#endif
#define CONSTANT __attribute__((noinline))
struct Counter {
    int count, step;
    CONSTANT int copied()
    {
        auto add = [*this](int more) CHANGES {
            count += more;
            simple_mark(lambda:copied, "%d %d %d", count, step, more);
            printf("lambda:copied %d %d %d\n", count, step, more);
            return count + step + more;
        };
        count = 99;
        return add(3) + add(step) + count;
    }
    CONSTANT int shared()
    {
        auto add = [this](int more) CONSTANT {
            count += more;
            simple_mark(lambda:shared, "%d %d %d", count, this->step, more);
            printf("lambda:shared %d %d %d\n", count, this->step, more);
            return count + step + more;
        };
        return add(4) + count;
    }
};
#define MARKED(name, more) simple_mark(lambda:name, "%d %d", more, x); printf("lambda:" #name " %d %d\n", more, x)
CONSTANT int line(int x)
{
    auto one = [&](int a) CONSTANT { MARKED(one, a); return a + x; }; auto two = [=](int a) CONSTANT { MARKED(two, a); return a - x; };
    x *= 7;
    return one(x + 1) + two(x + 2);
}
int main(int argc, char **) { Counter it{argc, 5}; return it.copied() + it.shared() + line(argc + 2) == 77; }
"#;

#[test]
fn what_a_lambda_captured_is_what_it_prints() {
    if find("gdb").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("lambdas.cpp"), folder.path().join("lambdas"));
    fs::write(&source, SOURCE).expect("a source");
    let sorted = |text: &str| {
        let mut lines: Vec<String> =
            text.lines().filter(|line| line.starts_with("lambda:")).map(str::to_owned).collect();
        lines.sort();
        lines
    };
    for (compiler, level) in
        ["g++", "clang++"].into_iter().flat_map(|it| ["-O0", "-O1", "-O2"].map(|level| (it, level)))
    {
        if find(compiler).is_none() {
            continue;
        }
        let mut compile = Command::new(compiler);
        compile.args(["-std=c++17", "-g", level, "-I"]).arg(workspace().join("markers/include"));
        run(compile.arg(&source).arg("-o").arg(&program));
        let truth = sorted(&run(&mut Command::new(&program)));
        assert_eq!(truth.len(), 5);
        let (exported, said) = gdb_says(&program);
        assert_eq!(sorted(&said), truth, "{compiler} {level}: {exported}");
    }
}
