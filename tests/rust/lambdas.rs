//! What lambdas of C++ and closures of Rust captured: gdb prints by an export what the program prints.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::fs;
use std::process::Command;

use simple_markers_tests::fixture::workspace;
use simple_markers_tests::oracle::builds::{self, Options, With};
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
            simple_mark(lambda:copied, "%d %d %d %d", count, this->count, (*this).step, more);
            printf("lambda:copied %d %d %d %d\n", count, this->count, (*this).step, more);
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

#[test(cases = ROWS, desk = [2, 3])]
fn what_a_lambda_captured_is_what_it_prints((compiler, level): (&str, &str)) {
    if find("gdb").is_none() || find(compiler).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("lambdas.cpp"), folder.path().join("lambdas"));
    fs::write(&source, SOURCE).expect("a source");
    const ROWS: [(&str, &str); 6] =
        [("g++", "-O0"), ("g++", "-O1"), ("g++", "-O2"), ("clang++", "-O0"), ("clang++", "-O1"), ("clang++", "-O2")];
    let mut compile = Command::new(compiler);
    compile.args(["-std=c++17", "-g", level, "-I"]).arg(workspace().join("markers/include"));
    run(compile.arg(&source).arg("-o").arg(&program));
    let truth = sorted(&run(&mut Command::new(&program)));
    assert_eq!(truth.len(), 5);
    let (exported, said) = gdb_says(&program);
    assert_eq!(sorted(&said), truth, "{compiler} {level}: {exported}");
}

fn of_lambdas(text: &str) -> Vec<String> {
    text.lines().filter(|line| line.starts_with("lambda:")).map(str::to_owned).collect()
}

/// Two compilers call lambdas in another order.
fn sorted(text: &str) -> Vec<String> {
    let mut lines = of_lambdas(text);
    lines.sort();
    lines
}

/// The closures capture members of `self`: by references, by value, and behind a reference.
const CLOSURES: &str = r#"
use std::hint::black_box;

use simple_markers::simple_mark;

struct Options { limit: u32, pair: (u8, u64) }
struct Server<'a> { options: Options, served: u32, other: &'a Options }

impl Server<'_> {
    #[inline(never)]
    fn serve(&mut self, all: &[u32]) -> u32 {
        let mut changes = |more: u32| {
            self.served += more;
            simple_mark!(lambda:changes, "%u %u %lu %u", self.options.limit, self.served, self.options.pair.1, more);
            println!("lambda:changes {} {} {} {more}", self.options.limit, self.served, self.options.pair.1);
        };
        let changes: &mut dyn FnMut(u32) = black_box(&mut changes);
        all.iter().for_each(|more| changes(*more));
        let other = self.other;
        let copies = move |more: u32| {
            simple_mark!(lambda:copies, "%u %lu %u", other.limit, other.pair.1, more);
            println!("lambda:copies {} {} {more}", other.limit, other.pair.1);
        };
        let copies: &dyn Fn(u32) = black_box(&copies);
        all.iter().for_each(|more| copies(*more));
        self.served
    }
}

fn main() {
    let other = Options { limit: 8, pair: (1, 1 << 40) };
    let mut server = Server { options: Options { limit: 7, pair: (2, 3 << 33) }, served: 5, other: &other };
    std::process::exit(i32::from(server.serve(black_box(&[1, 20, 300])) != 326));
}
"#;

#[test(desk = false)]
fn the_members_that_a_closure_captured_are_what_it_prints() {
    if find("gdb").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("closures.rs"), folder.path().join("closures"));
    fs::write(&source, CLOSURES).expect("a source");
    for level in ["0", "2"] {
        let options = Options { with: With::Rustc, level: level.to_owned(), lto: "none".to_owned(), dwarf: 5 };
        builds::program(std::slice::from_ref(&source), &options, &program).expect("it compiles");
        let truth = of_lambdas(&run(&mut Command::new(&program)));
        assert_eq!(truth.len(), 6);
        let (exported, said) = gdb_says(&program);
        assert!(!exported.contains("no variable"), "{exported}");
        let said = of_lambdas(&said);
        // With optimisation LLVM loses the closure, and nothing has a location then.
        let is_said = |said: &str, truth: &str| said == truth || level != "0" && said == "?";
        let are_said = said.iter().zip(&truth).all(|(said, truth)| {
            said.split(' ').count() == truth.split(' ').count()
                && said.split(' ').zip(truth.split(' ')).all(|(said, truth)| is_said(said, truth))
        });
        assert!(are_said && said.len() == truth.len(), "-O{level}: {said:#?}, not {truth:#?}: {exported}");
    }
}
