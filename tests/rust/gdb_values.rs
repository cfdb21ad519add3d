//! `smark export --to gdb` of whole values: gdb prints them itself, and what it prints is what the program has.

use std::path::Path;
use std::process::Command;

use simple_markers_tests::fixture::{self, Fixture, smark};
use simple_markers_tests::tools::{find, run};
use simple_markers_tests::whole_values::{CompiledLanguage, compiled};

/// The lines of markers that gdb prints under the commands that `smark` writes.
fn printed(folder: &Path, program: &Path) -> Vec<String> {
    let script = folder.join("script.gdb");
    std::fs::write(&script, run(Command::new(smark()).args(["export", "--to", "gdb"]).arg(program))).expect("a script");
    let mut gdb = Command::new("gdb");
    let output = run(gdb.args(["-nx", "-batch", "-x"]).arg(&script).args(["-ex", "run"]).arg(program));
    output.lines().filter(|line| line.starts_with("shop:")).map(str::to_owned).collect()
}

const C: &str = r#"
#include "simple_marker.h"
enum state { IDLE, BUSY };
struct owner { char name[4]; int id; };
struct request { int tag; struct owner owner; double load; enum state state; unsigned a : 3; };
struct pair { long first, second; };
__attribute__((noinline)) long next(long of) { __asm__ volatile ("" : "+r"(of)); return of; }
__attribute__((noinline)) void work(struct request *r, int most, const char *text) {
    simple_mark(shop:work, "%d 100%% %p{} of \"%.*s\", %p{tag}.", r->tag, r, most, text, r);
    __asm__ volatile ("" : : "r"(r), "r"(most), "r"(text) : "memory");
}
__attribute__((noinline)) long split(void) {
    struct pair pair = { next(1), next(2) };
    simple_mark(shop:split, "%p{}", pair);
    return pair.first + pair.second;
}
int main(void) {
    struct request r = { 7, { "abc", 8 }, 1.5, BUSY, 5 };
    work(&r, 3, "text");
    return split() != 3;
}
"#;

#[test]
fn gdb_prints_structures_of_c() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = find("gdb").and_then(|_| compiled(CompiledLanguage::C, "gcc", "2", C, folder.path()));
    let Some(program) = program else { return };
    let value = "{tag = 7, owner = {name = \"abc\", id = 8}, load = 1.5, state = BUSY, a = 5}";
    let expected = [format!("shop:work 7 100% {value} of \"tex\", {value}."), "shop:split ?".to_owned()];
    assert_eq!(printed(folder.path(), &program), expected);
}

const CXX: &str = r#"
#include <map>
#include <string>
#include <vector>
#include "simple_marker.h"
namespace shop {
namespace { struct Hidden { int a; }; }
template <class T> struct Request { T tag; std::string name; std::vector<int> ids; std::map<int, std::string> names; };
__attribute__((noinline)) void work(Request<long> &r) {
    simple_mark(shop:work, "%p{} %ld", r, r.tag);
    asm volatile ("" : : "r"(&r) : "memory");
}
__attribute__((noinline)) void hide(Hidden *hidden) {
    simple_mark(shop:hide, "%p{}", hidden);
    asm volatile ("" : : "r"(hidden) : "memory");
}
}
int main() {
    shop::Request<long> r { 5, "five", { 1, 2, 3 }, { { 1, "one" } } };
    shop::work(r);
    shop::Hidden hidden { 3 };
    shop::hide(&hidden);
    struct Local { int a; } local { 8 };
    Local *p = &local;
    simple_mark(shop:local, "%p{}", p);
    asm volatile ("" : : "r"(p) : "memory");
}
"#;

/// gdb's printers for types of the library need its Python; without them it shows their members.
#[test]
fn gdb_prints_structures_of_cxx() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = find("gdb").and_then(|_| compiled(CompiledLanguage::Cpp, "g++", "2", CXX, folder.path()));
    let Some(program) = program else { return };
    let lines = printed(folder.path(), &program);
    let [work, hidden, local] = &lines[..] else { panic!("{lines:?}") };
    assert!(work.starts_with("shop:work {tag = 5, name = ") && work.ends_with("} 5"), "{work}");
    assert!(work.contains("\"five\""), "{work}");
    // gdb finds a type that a function declares only from there.
    assert_eq!((&**hidden, &**local), ("shop:hide {a = 3}", "shop:local ?"));
}

const RUST: &str = r#"
use simple_markers::simple_mark;
#[allow(dead_code)]
pub enum State { Idle, Busy { since: u64 } }
pub struct Request { pub tag: u32, pub state: State, pub pair: (u8, [u16; 2]), pub name: Option<&'static str> }
#[inline(never)]
fn work(request: &Request) {
    simple_mark!(shop:work, "%p{} %u", request, request.tag);
    std::hint::black_box(request);
}
fn main() {
    work(&Request { tag: 7, state: State::Busy { since: 9 }, pair: (1, [2, 3]), name: Some("x") });
    work(&Request { tag: 8, state: State::Idle, pair: (1, [2, 3]), name: None });
}
"#;

#[test]
fn gdb_prints_structures_of_rust() {
    if find("gdb").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let fixture = Fixture::new("gdb-values").file("src/main.rs", RUST);
    fixture::succeeds_silently(&mut fixture.rustc(&["-Copt-level=2", "-g"]));
    let lines = printed(folder.path(), &fixture.built("gdb-values"));
    let [busy, idle] = &lines[..] else { panic!("{lines:?}") };
    assert!(
        busy.starts_with("shop:work gdb_values::Request {tag: 7, state: gdb_values::State::Busy{since: 9}"),
        "{busy}"
    );
    assert!(busy.contains("pair: (1, [2, 3])") && busy.contains("Some(") && busy.ends_with("} 7"), "{busy}");
    assert!(idle.contains("gdb_values::State::Idle") && idle.contains("::None") && idle.ends_with("} 8"), "{idle}");
}
